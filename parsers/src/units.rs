//! Units and ids as types: no bare integer crosses a module.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// Nanoseconds: since the epoch for a time, since an earlier time for a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Time since `earlier`; zero when the clock stepped back.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Bytes(pub u64);

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

/// A queue pair number: 24 bits (IBTA 9.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Qpn(pub u32);

impl Qpn {
    /// The general service interface: connection management runs here (IBTA 3.5.10).
    pub const GSI: Self = Self(1);
}

impl fmt::Display for Qpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A packet sequence number: 24 bits, wrapping (IBTA 9.7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Psn(u32);

impl Psn {
    const MASK: u32 = 0xff_ffff;

    /// PSNs that are told apart ahead of one, and behind it: half of all (IBTA 9.7.2), less one.
    pub const WINDOW: u32 = (1 << 23) - 1;

    /// The low 24 bits of `n`.
    #[must_use]
    pub const fn new(n: u32) -> Self {
        Self(n & Self::MASK)
    }

    /// The number, below 2^24.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl Add<u32> for Psn {
    type Output = Self;
    #[inline(always)]
    fn add(self, n: u32) -> Self {
        Self::new(self.0.wrapping_add(n))
    }
}

impl Sub<u32> for Psn {
    type Output = Self;
    #[inline(always)]
    fn sub(self, n: u32) -> Self {
        Self::new(self.0.wrapping_sub(n))
    }
}

impl Sub for Psn {
    type Output = i32;
    /// Distance from `other` to `self`, in -2^23..2^23: the sign of the 24-bit difference (IBTA 9.7.2).
    #[inline(always)]
    fn sub(self, other: Self) -> i32 {
        (self.0.wrapping_sub(other.0) << 8).cast_signed() >> 8
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psn_wraps_at_24_bits() {
        assert_eq!(Psn::new(0xff_ffff) + 1, Psn::new(0));
        assert_eq!(Psn::new(2) - Psn::new(0xff_fffe), 4);
        assert_eq!(Psn::new(0xff_fffe) - Psn::new(2), -4);
        assert_eq!(Psn::new(0x80_0000) - Psn::new(0), -0x80_0000);
        assert_eq!(Psn::new(0x7f_ffff) - Psn::new(0), 0x7f_ffff);
    }
}
