//! Reliable datagram extended transport header: 4 bytes, the end-to-end context (IBTA 9.3.1).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

mod field {
    pub(super) const EECN: usize = 1; // 9.3.1, 24 bits after 8 reserved
}

/// A reliable datagram extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rdeth([u8; Rdeth::LEN]);

impl Rdeth {
    /// Bytes on the wire.
    pub const LEN: usize = 4;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 4 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Rdeth).map(Self)
    }

    /// Number of the end-to-end context at the receiver.
    #[must_use]
    pub const fn eecn(&self) -> u32 {
        u32::from_be_bytes([0, self.0[field::EECN], self.0[field::EECN + 1], self.0[field::EECN + 2]])
    }

    /// A header with this number, of which 24 bits are kept.
    #[must_use]
    pub const fn new(eecn: u32) -> Self {
        let [_, a, b, c] = eecn.to_be_bytes();
        Self([0, a, b, c])
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Rdeth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RDETH eec {}", self.eecn())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reserved byte clear, end-to-end context 0x1234.
    const EEC: [u8; 4] = [0, 0, 0x12, 0x34];

    #[test]
    fn takes_apart() {
        let read = Rdeth::load(&EEC[..], 0).unwrap();
        assert_eq!(read.eecn(), 0x1234);
        assert_eq!(read.to_string(), "RDETH eec 4660");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Rdeth::new(0x1234).bytes(), EEC);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Rdeth::LEN {
            assert_eq!(Rdeth::load(&EEC[..had], 0), Err(Cut::new(Layer::Rdeth, 0, 4, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(n in 0u32..1 << 24) {
            let read = Rdeth::load(&Rdeth::new(n).bytes()[..], 0).unwrap();
            prop_assert_eq!(read.eecn(), n);
        }
    }
}
