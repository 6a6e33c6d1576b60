//! The clock of an interface: ticks of `if_tsresol`, shifted by `if_tsoffset` (4.2).

use rocetop_parsers::Nanos;

/// How an interface's 64-bit time stamps become nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    tick: Tick,
    /// Nanoseconds to add.
    offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tick {
    /// Nanoseconds a tick.
    Whole(u64),
    /// Ticks a nanosecond; 0 = more than 64 bits can count.
    Part(u64),
    /// Ticks a second, as the exponent of a power of two.
    Binary(u8),
}

impl Default for Clock {
    /// Microseconds, as without an `if_tsresol` option.
    fn default() -> Self {
        Self::new(6, 0)
    }
}

impl Clock {
    /// The clock of an `if_tsresol` byte and an `if_tsoffset` in seconds.
    ///
    /// The most significant bit of `resolution` chooses between a negative power of 10 (0) and of 2 (1); the rest is
    /// the exponent.
    #[must_use]
    pub const fn new(resolution: u8, offset_seconds: i64) -> Self {
        let exponent = resolution & 0x7f;
        let tick = if resolution & 0x80 != 0 {
            Tick::Binary(exponent)
        } else if exponent <= 9 {
            Tick::Whole(10u64.pow(9 - exponent as u32))
        } else if exponent <= 28 {
            Tick::Part(10u64.pow(exponent as u32 - 9))
        } else {
            Tick::Part(0)
        };
        Self { tick, offset: offset_seconds.saturating_mul(1_000_000_000) }
    }

    /// Time since the epoch. What does not fit is the nearest that does: no file makes a clock wrap.
    #[inline]
    #[must_use]
    pub fn at(self, ticks: u64) -> Nanos {
        let nanos = match self.tick {
            Tick::Whole(nanos) => ticks.saturating_mul(nanos),
            Tick::Part(per_nano) => ticks.checked_div(per_nano).unwrap_or(0),
            Tick::Binary(exponent) => {
                let nanos = (u128::from(ticks) * 1_000_000_000) >> exponent;
                u64::try_from(nanos).unwrap_or(u64::MAX)
            }
        };
        Nanos(nanos.saturating_add_signed(self.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds() {
        assert_eq!(Clock::default().at(3), Nanos(3000));
        assert_eq!(Clock::new(9, 0).at(3), Nanos(3));
        assert_eq!(Clock::new(0, 0).at(3), Nanos(3_000_000_000));
        assert_eq!(Clock::new(12, 0).at(3_999), Nanos(3));
        assert_eq!(Clock::new(0x80 | 10, 0).at(1536), Nanos(1_500_000_000));
        assert_eq!(Clock::new(0x80 | 30, 0).at(1 << 30), Nanos(1_000_000_000));
    }

    #[test]
    fn offsets_shift_both_ways() {
        assert_eq!(Clock::new(9, 2).at(3), Nanos(2_000_000_003));
        assert_eq!(Clock::new(9, -2).at(5_000_000_000), Nanos(3_000_000_000));
        assert_eq!(Clock::new(9, -2).at(1), Nanos(0));
    }

    #[test]
    fn no_resolution_overflows() {
        for resolution in 0..=u8::MAX {
            for offset in [i64::MIN, -1, 0, 1, i64::MAX] {
                let clock = Clock::new(resolution, offset);
                assert!(clock.at(0) <= clock.at(u64::MAX));
            }
        }
    }
}
