//! MPLS label stack: entries of 4 bytes up to the one marked as the bottom (RFC 3032 2.1).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

mod field {
    pub(super) const LABEL: usize = 0; // 20 bits
    pub(super) const CLASS: usize = 2; // low nibble: traffic class 3 bits (RFC 5462), bottom of stack 1 bit
    pub(super) const TTL: usize = 3;
}

/// One entry of a label stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mpls([u8; Mpls::LEN]);

impl Mpls {
    /// Bytes on the wire.
    pub const LEN: usize = 4;
    /// Entries that [`Mpls::below`] looks through.
    pub const DEPTH: usize = 4;

    /// The entry at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 4 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Mpls).map(Self)
    }

    /// Offset past the stack that starts at `at`; `None` when it is deeper than [`Mpls::DEPTH`].
    ///
    /// # Errors
    /// [`Cut`] when the frame ends inside the stack.
    pub fn below<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Option<usize>, Cut> {
        let mut at = at;
        for _ in 0..Self::DEPTH {
            let entry = Self::load(frame, at)?;
            at += Self::LEN;
            if entry.bottom() {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// The label, 20 bits.
    #[must_use]
    pub const fn label(&self) -> u32 {
        u32::from_be_bytes([0, self.0[field::LABEL], self.0[field::LABEL + 1], self.0[field::CLASS]]) >> 4
    }

    /// Traffic class, 0..=7.
    #[must_use]
    pub const fn class(&self) -> u8 {
        self.0[field::CLASS] >> 1 & 7
    }

    /// The last entry of the stack.
    #[must_use]
    pub const fn bottom(&self) -> bool {
        self.0[field::CLASS] & 1 != 0
    }

    /// Time to live.
    #[must_use]
    pub const fn ttl(&self) -> u8 {
        self.0[field::TTL]
    }

    /// The bottom of a stack: the low 20 bits of `label`, class 0.
    #[must_use]
    pub const fn new(label: u32, ttl: u8) -> Self {
        let [_, a, b, c] = (label << 4 & 0xff_fff0 | 1).to_be_bytes();
        Self([a, b, c, ttl])
    }

    /// The same entry with the low 3 bits of `class`.
    #[must_use]
    pub const fn with_class(mut self, class: u8) -> Self {
        self.0[field::CLASS] = self.0[field::CLASS] & 0xf1 | (class & 7) << 1;
        self
    }

    /// The same entry, at the bottom or not.
    #[must_use]
    pub const fn with_bottom(mut self, yes: bool) -> Self {
        self.0[field::CLASS] = self.0[field::CLASS] & 0xfe | yes as u8;
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Mpls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MPLS {} tc {} ttl {}", self.label(), self.class(), self.ttl())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENTRY: [u8; 4] = [0x00, 0x01, 0x0b, 0x3f];

    #[test]
    fn takes_apart() {
        let entry = Mpls::load(&ENTRY[..], 0).unwrap();
        assert_eq!((entry.label(), entry.class(), entry.bottom(), entry.ttl()), (16, 5, true, 63));
        assert_eq!(entry.to_string(), "MPLS 16 tc 5 ttl 63");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Mpls::new(16, 63).with_class(5).bytes(), ENTRY);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Mpls::LEN {
            assert_eq!(Mpls::load(&ENTRY[..had], 0), Err(Cut::new(Layer::Mpls, 0, 4, had)));
        }
    }

    #[test]
    fn finds_the_bottom() {
        let upper = Mpls::new(17, 63).with_bottom(false).bytes();
        let lower = Mpls::new(18, 63).bytes();
        assert_eq!(Mpls::below(&lower[..], 0), Ok(Some(4)));
        assert_eq!(Mpls::below(&[upper, upper, upper, lower].concat()[..], 0), Ok(Some(16)));
        assert_eq!(Mpls::below(&[upper, upper, upper, upper, lower].concat()[..], 0), Ok(None));
        assert_eq!(Mpls::below(&upper[..], 0), Err(Cut::new(Layer::Mpls, 4, 4, 0)));
    }

    proptest! {
        #[test]
        fn round_trip(label in 0u32..1 << 20, class in 0u8..8, bottom: bool, ttl: u8) {
            let built = Mpls::new(label, ttl).with_class(class).with_bottom(bottom);
            let read = Mpls::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!((read.label(), read.class(), read.bottom(), read.ttl()), (label, class, bottom, ttl));
        }
    }
}
