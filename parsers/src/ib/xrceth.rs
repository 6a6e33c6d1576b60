//! XRC extended transport header: 4 bytes, the shared receive queue that a request is for (IBTA annex A14).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

mod field {
    pub(super) const SRQ: usize = 1; // A14, 24 bits after 8 reserved
}

/// An XRC extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xrceth([u8; Xrceth::LEN]);

impl Xrceth {
    /// Bytes on the wire.
    pub const LEN: usize = 4;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 4 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Xrceth).map(Self)
    }

    /// Number of the shared receive queue at the responder.
    #[must_use]
    pub const fn srq(&self) -> u32 {
        u32::from_be_bytes([0, self.0[field::SRQ], self.0[field::SRQ + 1], self.0[field::SRQ + 2]])
    }

    /// A header with this number, of which 24 bits are kept.
    #[must_use]
    pub const fn new(srq: u32) -> Self {
        let [_, a, b, c] = srq.to_be_bytes();
        Self([0, a, b, c])
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Xrceth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "XRCETH srq {}", self.srq())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reserved byte clear, shared receive queue 0x1234.
    const SRQ: [u8; 4] = [0, 0, 0x12, 0x34];

    #[test]
    fn takes_apart() {
        let read = Xrceth::load(&SRQ[..], 0).unwrap();
        assert_eq!(read.srq(), 0x1234);
        assert_eq!(read.to_string(), "XRCETH srq 4660");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Xrceth::new(0x1234).bytes(), SRQ);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Xrceth::LEN {
            assert_eq!(Xrceth::load(&SRQ[..had], 0), Err(Cut::new(Layer::Xrceth, 0, 4, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(n in 0u32..1 << 24) {
            let read = Xrceth::load(&Xrceth::new(n).bytes()[..], 0).unwrap();
            prop_assert_eq!(read.srq(), n);
        }
    }
}
