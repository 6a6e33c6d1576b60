//! Immediate data: 4 bytes that the receiver finds in its completion (IBTA 5.2.10).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

/// Immediate data, as its one field of 32 bits in host order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct ImmDt(pub u32);

impl ImmDt {
    /// Bytes on the wire.
    pub const LEN: usize = 4;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 4 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::ImmDt).map(|b| Self(u32::from_be_bytes(b)))
    }

    /// The value, as the sender's program gave it.
    #[must_use]
    pub const fn data(self) -> u32 {
        self.0
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(self) -> [u8; Self::LEN] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for ImmDt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImmDt {:#010x}", self.data())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A SEND Only with immediate's, from the lab: a program's 7 in its own byte order.
    const SEVEN: [u8; 4] = [0x07, 0, 0, 0];

    #[test]
    fn takes_apart() {
        let read = ImmDt::load(&SEVEN[..], 0).unwrap();
        assert_eq!(read.data(), 0x0700_0000);
        assert_eq!(read.to_string(), "ImmDt 0x07000000");
    }

    #[test]
    fn puts_together() {
        assert_eq!(ImmDt(0x0700_0000).bytes(), SEVEN);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..ImmDt::LEN {
            assert_eq!(ImmDt::load(&SEVEN[..had], 0), Err(Cut::new(Layer::ImmDt, 0, 4, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(value: u32) {
            prop_assert_eq!(ImmDt::load(&ImmDt(value).bytes()[..], 0), Ok(ImmDt(value)));
        }
    }
}
