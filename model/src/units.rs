//! Units of the model: picoseconds, bits per second, cable lengths. Bytes are the parsers' own.

use std::fmt;
use std::ops::{Add, AddAssign, Index, IndexMut, Sub};

pub use rocetop_parsers::units::{Bytes, Psn, Qpn};

/// Picoseconds: since the start of the run for a time, since another time for a length. 2^64 of them are 213 days.
///
/// A byte at 800 Gb/s takes 10 ps: every usual line rate has a whole number of them for a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Time(pub u64);

impl Time {
    /// The start of the run, or no time at all.
    pub const ZERO: Self = Self(0);
    /// Never: later than any event.
    pub const NEVER: Self = Self(u64::MAX);
    /// Picoseconds in a second.
    pub const SECOND: Self = Self(1_000_000_000_000);

    /// A number of nanoseconds.
    #[must_use]
    pub const fn ns(n: u64) -> Self {
        Self(n.saturating_mul(1_000))
    }

    /// A number of microseconds.
    #[must_use]
    pub const fn us(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000))
    }

    /// A number of milliseconds.
    #[must_use]
    pub const fn ms(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000_000))
    }

    /// Time since `earlier`; zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// `n` times this.
    #[must_use]
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// Seconds, for people and for rates; not for deciding what comes first.
    #[must_use]
    pub const fn seconds(self) -> f64 {
        self.0 as f64 / Self::SECOND.0 as f64
    }
}

impl Add for Time {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.since(other)
    }
}

/// Writes the largest unit that leaves at most three decimals: `1.5us`, `12ps`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            n if n >= 1_000_000_000_000 => (1_000_000_000_000, "s"),
            n if n >= 1_000_000_000 => (1_000_000_000, "ms"),
            n if n >= 1_000_000 => (1_000_000, "us"),
            n if n >= 1_000 => (1_000, "ns"),
            n => return write!(f, "{n}ps"),
        };
        let thousandths = self.0 % unit / (unit / 1_000);
        let text = format!("{}.{thousandths:03}", self.0 / unit);
        write!(f, "{}{name}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Rate(pub u64);

impl Rate {
    /// No limit.
    pub const MAX: Self = Self(u64::MAX);

    /// A number of gigabits per second.
    #[must_use]
    pub const fn gbps(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000_000))
    }

    /// A number of megabits per second.
    #[must_use]
    pub const fn mbps(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000))
    }

    /// How long `bytes` take, rounded up so that nothing is ever faster than the line; never at rate zero.
    #[must_use]
    #[inline]
    pub const fn time_for(self, bytes: Bytes) -> Time {
        const PS_BITS: u64 = 8 * Time::SECOND.0;
        if self.0 == 0 {
            return Time::NEVER;
        }
        match bytes.0.checked_mul(PS_BITS) {
            Some(bits) => Time(bits.div_ceil(self.0)),
            None => {
                let ps = (bytes.0 as u128 * PS_BITS as u128).div_ceil(self.0 as u128);
                if ps > u64::MAX as u128 { Time::NEVER } else { Time(ps as u64) }
            }
        }
    }

    /// Whole bytes that pass in `time`.
    #[must_use]
    pub const fn bytes_in(self, time: Time) -> Bytes {
        let bytes = self.0 as u128 * time.0 as u128 / (8 * Time::SECOND.0 as u128);
        if bytes > u64::MAX as u128 { Bytes(u64::MAX) } else { Bytes(bytes as u64) }
    }
}

/// Writes `100Gb/s`, `40Mb/s`, or plain bits when neither is whole.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n > 0 && n % 1_000_000_000 == 0 => write!(f, "{}Gb/s", n / 1_000_000_000),
            n if n > 0 && n % 1_000_000 == 0 => write!(f, "{}Mb/s", n / 1_000_000),
            n => write!(f, "{n}b/s"),
        }
    }
}

/// A length of cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Metres(pub u64);

impl Metres {
    /// How long light takes one way: 5 ns a metre of fibre (a refractive index of 1.5).
    #[must_use]
    pub const fn delay(self) -> Time {
        Time::ns(self.0.saturating_mul(5))
    }
}

/// An 802.1Q priority, 0..=7: what PFC pauses and a scheduler tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Priority(u8);

impl Priority {
    /// How many there are.
    pub const COUNT: usize = 8;

    /// The low three bits of `n`.
    #[must_use]
    pub const fn new(n: u8) -> Self {
        Self(n & 7)
    }

    /// The number, below eight.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The set that holds this one alone.
    #[must_use]
    pub const fn bit(self) -> u8 {
        1 << self.0
    }
}

/// One value for each priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Each<T>(pub [T; Priority::COUNT]);

impl<T> Index<Priority> for Each<T> {
    type Output = T;
    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "a priority is below eight")]
    fn index(&self, priority: Priority) -> &T {
        &self.0[usize::from(priority.0 & 7)]
    }
}

impl<T> IndexMut<Priority> for Each<T> {
    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "a priority is below eight")]
    fn index_mut(&mut self, priority: Priority) -> &mut T {
        &mut self.0[usize::from(priority.0 & 7)]
    }
}

/// A set of priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Priorities(pub u8);

impl Priorities {
    /// No priority.
    pub const NONE: Self = Self(0);
    /// All eight.
    pub const ALL: Self = Self(0xff);

    /// Whether there is none.
    #[must_use]
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has `priority`.
    #[must_use]
    #[inline(always)]
    pub const fn has(self, priority: Priority) -> bool {
        self.0 & priority.bit() != 0
    }

    /// With `priority`.
    #[must_use]
    #[inline(always)]
    pub const fn with(self, priority: Priority) -> Self {
        Self(self.0 | priority.bit())
    }

    /// Without those of `other`.
    #[must_use]
    #[inline(always)]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Those in both.
    #[must_use]
    #[inline(always)]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The highest.
    #[must_use]
    #[inline(always)]
    pub const fn highest(self) -> Option<Priority> {
        match self.0 {
            0 => None,
            bits => Some(Priority(7 - bits.leading_zeros() as u8)),
        }
    }

    /// All of them, the lowest first.
    pub fn iter(self) -> impl Iterator<Item = Priority> {
        (0..8).map(Priority).filter(move |priority| self.has(*priority))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_at_line_rate() {
        assert_eq!(Rate::gbps(800).time_for(Bytes(1)), Time(10));
        assert_eq!(Rate::gbps(400).time_for(Bytes(4178)), Time(83_560));
        assert_eq!(Rate::gbps(100).time_for(Bytes(1000)), Time::ns(80));
        assert_eq!(Rate(3).time_for(Bytes(1)), Time(2_666_666_666_667));
        assert_eq!(Rate(0).time_for(Bytes(1)), Time::NEVER);
        // Too many bits for 64 bits on the way, not in the end: 1 TB at 400G is 20 s.
        assert_eq!(Rate::gbps(400).time_for(Bytes(1_000_000_000_000)), Time(20_000_000_000_000));
        assert_eq!(Rate(1).time_for(Bytes(u64::MAX)), Time::NEVER);
    }

    #[test]
    fn bytes_of_a_long_link() {
        // SYSTEMS F11: 400G x 30 ms.
        assert_eq!(Rate::gbps(400).bytes_in(Time::ms(30)), Bytes(1_500_000_000));
        assert_eq!(Metres(3_000_000).delay(), Time::ms(15));
    }

    #[test]
    fn sets_of_priorities() {
        let set = Priorities::NONE.with(Priority::new(3)).with(Priority::new(6));
        assert_eq!(set, Priorities(0b0100_1000));
        assert_eq!(set.highest(), Some(Priority::new(6)));
        assert_eq!(set.without(Priorities(0x40)).iter().collect::<Vec<_>>(), [Priority::new(3)]);
        assert_eq!(Priorities::NONE.highest(), None);
    }

    #[test]
    fn times_and_rates_are_written_short() {
        let texts = [Time(12), Time(1_500), Time::us(55), Time(4_064_123_456), Time::SECOND].map(|t| t.to_string());
        assert_eq!(texts, ["12ps", "1.5ns", "55us", "4.064ms", "1s"]);
        assert_eq!([Rate::gbps(100), Rate::mbps(40), Rate(7)].map(|r| r.to_string()), ["100Gb/s", "40Mb/s", "7b/s"]);
    }
}
