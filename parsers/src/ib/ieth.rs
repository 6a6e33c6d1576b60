//! Invalidate extended transport header: 4 bytes, the R_Key to invalidate (IBTA 5.2.11).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

/// An invalidate extended transport header, as its one field of 32 bits in host order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Ieth(pub u32);

impl Ieth {
    /// Bytes on the wire.
    pub const LEN: usize = 4;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 4 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Ieth).map(|b| Self(u32::from_be_bytes(b)))
    }

    /// The R_Key that the receiver must invalidate.
    #[must_use]
    pub const fn rkey(self) -> u32 {
        self.0
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(self) -> [u8; Self::LEN] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for Ieth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IETH rkey {:#x}", self.rkey())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A SEND Only with invalidate's, from the lab.
    const WINDOW: [u8; 4] = [0x08, 0, 0x01, 0x27];

    #[test]
    fn takes_apart() {
        let read = Ieth::load(&WINDOW[..], 0).unwrap();
        assert_eq!(read.rkey(), 0x0800_0127);
        assert_eq!(read.to_string(), "IETH rkey 0x8000127");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Ieth(0x0800_0127).bytes(), WINDOW);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Ieth::LEN {
            assert_eq!(Ieth::load(&WINDOW[..had], 0), Err(Cut::new(Layer::Ieth, 0, 4, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(value: u32) {
            prop_assert_eq!(Ieth::load(&Ieth(value).bytes()[..], 0), Ok(Ieth(value)));
        }
    }
}
