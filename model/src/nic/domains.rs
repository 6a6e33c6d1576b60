//! The receiver's part of hierarchical congestion control (SYSTEMS C5): which tier marks how much of a queue pair.

use crate::cc::{DOMAINS, Domains, Feedback, above, domain};
use crate::engine::State;
use crate::engine::packet::{Packet, QpId};
use crate::table::Table;
use crate::topology::PortId;
use crate::units::Time;

/// A window of one queue pair.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    end: Time,
    packets: u32,
    marked: [u32; DOMAINS],
}

/// The windows of all queue pairs; none when nobody asks for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watches {
    rows: Table<QpId, Watch>,
}

impl Watches {
    pub(crate) fn new(feedback: &Feedback, pairs: usize) -> Self {
        Self { rows: Table::filled(Watch::default(), if feedback.domains.is_some() { pairs } else { 0 }) }
    }
}

impl State {
    /// Counts a packet that has come, and closes the window if it can.
    pub(super) fn weigh(&mut self, at: PortId, packet: &Packet, domains: &Domains) {
        let watch = &mut self.watches.rows[packet.qp];
        watch.packets += 1;
        if packet.marked > 0
            && let Some(count) = watch.marked.get_mut(domain(packet.marked))
        {
            *count += 1;
        }
        if watch.end > self.now {
            return;
        }
        // In a sample, whatever the rest of it would show.
        let seen = *watch;
        let packets = seen.packets.max(domains.sample);
        let mut tiers = seen.marked.iter().zip(domains.above_ppm);
        if seen.packets < domains.sample && !tiers.any(|(marked, most)| above(*marked, packets, most)) {
            return;
        }
        *watch = Watch { end: self.now + domains.window, ..Watch::default() };
        for ((tier, marked), most) in (1..).zip(seen.marked).zip(domains.above_ppm) {
            if above(marked, packets, most) {
                let share = u64::from(marked) * 1_000_000 / u64::from(seen.packets);
                self.send_cnp(at, packet, tier, share as u32);
            }
        }
    }
}
