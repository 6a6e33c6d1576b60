//! The shared buffer: who may use how much of it, and when to say stop.
//!
//! All ports of a switch share one pool. A frame is on account of the port and priority it came in by. In a lossless
//! priority that account may grow to `alpha` x what is free of the pool (dynamic thresholds: Choudhury, Hahne 1998); at
//! that point the other end is told to stop (XOFF), and what still comes stands in the port's own headroom. It is let
//! go (XON) when the headroom is empty and the account a bit below the threshold. Or the headroom is granted
//! beforehand, as credits, and nobody need be stopped ([`Link`]; `engine::credit` has their way). In other priorities
//! the same rule bounds the queue that a frame goes to, and what does not fit is dropped.

use crate::units::{Bytes, Metres, Rate, Time};

/// How much headroom a lossless port and priority has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// What can be on its way in the worst case, in per cent of that: 100 loses nothing.
    Exact {
        /// Per cent.
        percent: u32,
    },
    /// As much everywhere.
    Fixed(Bytes),
    /// None: the pool is all there is.
    None,
}

/// How a switch keeps what comes in by a lossless priority within its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Link {
    /// PFC: whoever sends is told to stop.
    #[default]
    Pfc,
    /// Credits, as InfiniBand has them (SYSTEMS C13): whoever sends may send no more than the headroom, which is
    /// granted to it, and needs no pool.
    Credits,
}

/// The buffer of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The chip's memory for each of its ports, headroom included.
    pub per_port: Bytes,
    /// What one account may have of the free pool, in 256ths.
    pub alpha_256: u32,
    /// What keeps the other end of a lossless priority from sending too much.
    pub link: Link,
    /// Headroom of every port and lossless priority; with [`Link::Credits`] what is granted to the other end. An exact
    /// one is then just what keeps the line full.
    pub headroom: Headroom,
    /// How far below its threshold an account must fall before XON.
    pub hysteresis: Bytes,
    /// The time that the other end takes to obey a pause; headroom covers it.
    pub response: Time,
}

impl Default for Buffer {
    /// Half a megabyte a port (SYSTEMS F9), an eighth of what is free for one account (the DCQCN paper has the
    /// dynamic threshold with 8 in the denominator's place), exact headroom, XON two frames lower.
    fn default() -> Self {
        Self {
            per_port: Bytes(500_000),
            alpha_256: 32,
            link: Link::Pfc,
            headroom: Headroom::Exact { percent: 100 },
            hysteresis: Bytes(8_192),
            response: Time::ZERO,
        }
    }
}

impl Buffer {
    /// Whether an account is so low in its pool that the other end may go on, its headroom being empty.
    #[inline(always)]
    pub(crate) const fn low(&self, shared: u64, pool: &Pool) -> bool {
        shared == 0 || shared.saturating_add(self.hysteresis.0) <= pool.threshold(self.alpha_256)
    }

    /// Headroom of a port and priority whose cable has a given rate and delay, and whose frames are at most `frame`
    /// bytes.
    ///
    /// In the worst case the pause frame waits for a frame that has just begun, travels, and finds the other end at the
    /// start of a frame; all that is on the cable still comes, and the frame that crossed the threshold counts too.
    #[must_use]
    pub fn headroom(&self, rate: Rate, delay: Time, frame: u32) -> Bytes {
        match self.headroom {
            Headroom::None => Bytes(0),
            Headroom::Fixed(bytes) => bytes,
            Headroom::Exact { percent } => {
                let exact = exact(rate, delay.times(2) + self.response, frame);
                Bytes(exact.0.saturating_mul(u64::from(percent)) / 100)
            }
        }
    }
}

/// What a common driver reserves behind XOFF for a cable and an MTU: (301 + 2.16 x metres) bytes for each Gb/s, and
/// 2.72 MTU (Linux, mlx5 `en/port_buffer.c`: `calculate_xoff`). Its 17 ns a metre are generous: light takes 10 there
/// and back.
#[must_use]
pub const fn driver_xoff(rate: Rate, length: Metres, mtu: Bytes) -> Bytes {
    let per_gbps = 301_u64.saturating_add(length.0.saturating_mul(216) / 100);
    Bytes(per_gbps.saturating_mul(rate.0 / 1_000_000) / 1_000 + mtu.0.saturating_mul(272) / 100)
}

fn exact(rate: Rate, away: Time, frame: u32) -> Bytes {
    use crate::wire::{GAP, PAUSE};
    let waits = u64::from(frame + GAP) + u64::from(PAUSE + GAP);
    Bytes(rate.bytes_in(away + rate.time_for(Bytes(waits))).0 + 2 * u64::from(frame))
}

/// The pool of one switch in use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pool {
    pub(crate) size: u64,
    pub(crate) used: u64,
}

impl Pool {
    /// What one account may have.
    #[inline(always)]
    pub(crate) const fn threshold(&self, alpha_256: u32) -> u64 {
        self.size.saturating_sub(self.used).saturating_mul(alpha_256 as u64) >> 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_covers_what_is_on_its_way() {
        let buffer = Buffer::default();
        // 100G, 1 us: 25,000 B on the cable and back, a frame and a pause that wait, two frames: 1,082 + 84 + 2 x
        // 1,062.
        assert_eq!(buffer.headroom(Rate::gbps(100), Time::us(1), 1_062), Bytes(25_000 + 1_166 + 2_124));
        let less = Buffer { headroom: Headroom::Exact { percent: 70 }, ..buffer };
        assert_eq!(less.headroom(Rate::gbps(100), Time::us(1), 1_062), Bytes(19_803));
        assert_eq!(Buffer { headroom: Headroom::None, ..buffer }.headroom(Rate(1), Time(1), 1), Bytes(0));
    }

    /// MTU 9216.
    #[test]
    fn what_a_driver_reserves() {
        let of = |gbps, metres| driver_xoff(Rate::gbps(gbps), Metres(metres), Bytes(9_216)).0;
        assert_eq!([of(100, 100), of(400, 100), of(800, 300)], [76_767, 231_867, 784_267]);
        assert_eq!(of(400, 3_000_000), 2_592_145_467);
    }

    #[test]
    fn the_threshold_falls_as_the_pool_fills() {
        let pool = Pool { size: 1_024_000, used: 0 };
        assert_eq!(pool.threshold(32), 128_000);
        assert_eq!(Pool { used: 512_000, ..pool }.threshold(32), 64_000);
        assert_eq!(Pool { used: 2_000_000, ..pool }.threshold(32), 0);
        // More than can be counted is not a little.
        assert_eq!(Pool { size: u64::MAX, used: 0 }.threshold(u32::MAX), u64::MAX >> 8);
        let buffer = Buffer { hysteresis: Bytes(u64::MAX), ..Buffer::default() };
        assert!(buffer.low(0, &pool) && !buffer.low(1, &pool));
    }
}
