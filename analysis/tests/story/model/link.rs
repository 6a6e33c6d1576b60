//! One link, and what it does to packets.

use super::{Packet, Rng};

/// What a link does. Chances are per million packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Link {
    pub(crate) delay: u64,
    pub(crate) loss: u64,
    /// So many at first are not lost, and not late.
    pub(crate) spared: u64,
    /// Packets lost in a row, at a time.
    pub(crate) burst: u64,
    pub(crate) late: u64,
    /// How much later at most.
    pub(crate) late_by: u64,
    pub(crate) twice: u64,
    /// These are lost, counted from 0 as they come.
    pub(crate) chosen: Vec<u64>,
    /// Nothing passes from here on.
    pub(crate) dead_from: Option<u64>,
}

/// What a link has done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Toll {
    seen: u64,
    burst_left: u64,
    pub(crate) lost: Vec<Packet>,
    pub(crate) late: u64,
    pub(crate) twice: u64,
}

impl Link {
    /// When the packet arrives: not at all, once or twice.
    pub(crate) fn carry(&self, toll: &mut Toll, rng: &mut Rng, packet: &Packet, now: u64) -> Vec<u64> {
        let nth = toll.seen;
        toll.seen += 1;
        if toll.burst_left == 0 && nth >= self.spared && rng.chance(self.loss) {
            toll.burst_left = self.burst.max(1);
        }
        let unlucky = toll.burst_left > 0;
        toll.burst_left = toll.burst_left.saturating_sub(1);
        if unlucky || self.chosen.contains(&nth) || self.dead_from.is_some_and(|t| now >= t) {
            toll.lost.push(*packet);
            return Vec::new();
        }
        let mut at = now + self.delay;
        if rng.chance(self.late) && nth >= self.spared {
            toll.late += 1;
            at += rng.within(1, self.late_by.max(2));
        }
        if rng.chance(self.twice) {
            toll.twice += 1;
            return vec![at, at + rng.within(100, 3_000)];
        }
        vec![at]
    }
}
