//! Atomic ACK extended transport header: 8 bytes, what was in memory before the operation (IBTA 5.2.9).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

/// An atomic ACK extended transport header, as the value it carries: its one field fills it (64 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct AtomicAckEth(pub u64);

impl AtomicAckEth {
    /// Bytes on the wire.
    pub const LEN: usize = 8;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 8 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::AtomicAckEth).map(|b| Self(u64::from_be_bytes(b)))
    }

    /// The eight bytes that the operation found.
    #[must_use]
    pub const fn original(self) -> u64 {
        self.0
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(self) -> [u8; Self::LEN] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for AtomicAckEth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AtomicAckETH original {}", self.original())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An atomic response that found 5, from the lab.
    const FOUND_5: [u8; 8] = [0, 0, 0, 0, 0, 0, 0, 5];

    #[test]
    fn takes_apart() {
        let eth = AtomicAckEth::load(&FOUND_5[..], 0).unwrap();
        assert_eq!(eth.original(), 5);
        assert_eq!(eth.to_string(), "AtomicAckETH original 5");
    }

    #[test]
    fn puts_together() {
        assert_eq!(AtomicAckEth(5).bytes(), FOUND_5);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..AtomicAckEth::LEN {
            assert_eq!(AtomicAckEth::load(&FOUND_5[..had], 0), Err(Cut::new(Layer::AtomicAckEth, 0, 8, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(original: u64) {
            prop_assert_eq!(AtomicAckEth::load(&AtomicAckEth(original).bytes()[..], 0), Ok(AtomicAckEth(original)));
        }
    }
}
