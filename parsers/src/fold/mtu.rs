//! The path MTU of a flow, as far as its packets tell: a READ's span in PSNs depends on it.

use crate::units::Psn;

/// What is known of the path MTU that a READ's span in PSNs depends on.
///
/// A CM exchange or the payload of a First or Middle packet settles it; until then each READ whose successor's PSN is
/// seen narrows the five that IBTA allows (IBTA 9.7.2: a READ takes ceil(length / PMTU) PSNs, at least one). That is a
/// guess, as the successor may be late; a payload that the guess has no room for proves it wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Mtu {
    known: u16,
    candidates: u16,
}

impl Default for Mtu {
    fn default() -> Self {
        Self::NEW
    }
}

impl Mtu {
    pub(super) const NEW: Self = Self { known: 0, candidates: 0b1_1111 };

    /// The path MTU in bytes, once it is known.
    #[must_use]
    #[inline(always)]
    pub const fn get(self) -> Option<u32> {
        match (self.known, self.candidates) {
            (0, c) if c.count_ones() == 1 => Some(256 << c.trailing_zeros()),
            (0, _) => None,
            (n, _) => Some(n as u32),
        }
    }

    /// The same, where no guess is part of it.
    #[must_use]
    #[inline(always)]
    pub const fn certain(self) -> Option<u32> {
        if self.known == 0 { None } else { Some(self.known as u32) }
    }

    /// A payload that need not fill its packet (Last or Only): the path MTU is no smaller.
    #[inline(always)]
    pub fn holds(&mut self, bytes: u32) {
        if self.known != 0 {
            return;
        }
        let fits = |bit: u16| u16::from(bytes <= 256 << bit) << bit;
        let fits = fits(0) | fits(1) | fits(2) | fits(3) | fits(4);
        if fits != 0 {
            self.candidates = if self.candidates & fits == 0 { fits } else { self.candidates & fits };
        }
    }

    /// A payload that fills a packet (First or Middle), or the CM's word: the largest counts.
    #[inline(always)]
    pub fn learn(&mut self, bytes: u32) {
        if bytes > u32::from(self.known) {
            self.known = bytes.min(u32::from(u16::MAX)) as u16;
        }
    }

    /// PSNs that a READ of `length` bytes takes, fewest and most under what is known.
    #[must_use]
    #[inline(always)]
    pub fn spans(self, length: u32) -> (u32, u32) {
        match self.get() {
            Some(mtu) => (span(length, mtu), span(length, mtu)),
            None => {
                let largest = 256 << (15u32.saturating_sub(self.candidates.leading_zeros()) & 7);
                let smallest = 256 << (self.candidates.trailing_zeros() & 7);
                (span(length, largest), span(length, smallest))
            }
        }
    }

    /// Whether `bytes` may be the whole packets of so many PSNs.
    #[inline(always)]
    pub(super) fn divides(self, bytes: u32, psns: i32) -> bool {
        (0..5).any(|bit| self.candidates & 1 << bit != 0 && i64::from(psns) * (256 << bit) == i64::from(bytes))
    }

    /// Keeps only the MTUs under which a READ of `length` takes `psns`, if there are any.
    #[inline(always)]
    pub fn narrow(&mut self, length: u32, psns: u32) {
        let fits = (0..5).filter(|bit| span(length, 256 << bit) == psns).fold(0, |all, bit| all | 1 << bit);
        if self.candidates & fits != 0 {
            self.candidates &= fits;
        }
    }
}

/// PSNs of a READ of `length` bytes under this path MTU: ceil(length / mtu), at least one (IBTA 9.7.2). More than half
/// of all PSNs are never out at once (IBTA 9.7.2), whatever a length field says.
#[inline(always)]
pub(super) const fn span(length: u32, mtu: u32) -> u32 {
    // The kernel has no panic for a division by zero, so none may be left in the code.
    let Some(whole) = length.checked_div(mtu) else { return 1 };
    match whole + (whole * mtu != length) as u32 {
        0 => 1,
        n if n > Psn::WINDOW => Psn::WINDOW,
        n => n,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_too_large_for_the_guess_proves_it_wrong() {
        let mut mtu = Mtu::NEW;
        // Three requests between are late: it looks like 256.
        mtu.narrow(1024, 4);
        assert_eq!((mtu.get(), mtu.certain()), (Some(256), None));
        mtu.holds(256);
        assert_eq!(mtu.spans(1024), (4, 4));
        mtu.holds(817);
        assert_eq!((mtu.get(), mtu.spans(1024), mtu.spans(4096)), (None, (1, 1), (1, 4)));
        mtu.holds(65_535);
        assert_eq!(mtu.spans(4096), (1, 4));
        mtu.learn(1024);
        assert_eq!((mtu.get(), mtu.certain()), (Some(1024), Some(1024)));
    }
}
