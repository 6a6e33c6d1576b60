//! Atomic extended transport header: 28 bytes, the operands of CMP_SWAP and FETCH_ADD (IBTA 9.3.4).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::ib::be;
use crate::window::Window;

mod field {
    pub(super) const ADDRESS: usize = 0; // 64 bits
    pub(super) const RKEY: usize = 8; // 32 bits
    pub(super) const SWAP_ADD: usize = 12; // 64 bits
    pub(super) const COMPARE: usize = 20; // 64 bits
}

/// An atomic extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicEth([u8; AtomicEth::LEN]);

impl AtomicEth {
    /// Bytes on the wire.
    pub const LEN: usize = 28;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 28 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::AtomicEth).map(Self)
    }

    /// Virtual address of the eight bytes in the responder's memory.
    #[must_use]
    pub const fn address(&self) -> u64 {
        be::get64::<{ field::ADDRESS }, { Self::LEN }>(&self.0)
    }

    /// Key of the responder's memory region.
    #[must_use]
    pub const fn rkey(&self) -> u32 {
        be::get32::<{ field::RKEY }, { Self::LEN }>(&self.0)
    }

    /// What to store (CMP_SWAP) or to add (FETCH_ADD).
    #[must_use]
    pub const fn swap_add(&self) -> u64 {
        be::get64::<{ field::SWAP_ADD }, { Self::LEN }>(&self.0)
    }

    /// What must be there for CMP_SWAP to store.
    #[must_use]
    pub const fn compare(&self) -> u64 {
        be::get64::<{ field::COMPARE }, { Self::LEN }>(&self.0)
    }

    /// A header with these operands.
    #[must_use]
    pub const fn new(address: u64, rkey: u32, swap_add: u64, compare: u64) -> Self {
        let mut b = [0; Self::LEN];
        be::put::<{ field::ADDRESS }, 8, { Self::LEN }>(&mut b, address.to_be_bytes());
        be::put::<{ field::RKEY }, 4, { Self::LEN }>(&mut b, rkey.to_be_bytes());
        be::put::<{ field::SWAP_ADD }, 8, { Self::LEN }>(&mut b, swap_add.to_be_bytes());
        be::put::<{ field::COMPARE }, 8, { Self::LEN }>(&mut b, compare.to_be_bytes());
        Self(b)
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for AtomicEth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "AtomicETH at {:#x} rkey {:#x} swap/add {} compare {}",
            self.address(),
            self.rkey(),
            self.swap_add(),
            self.compare()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A FETCH_ADD of 3, from the lab.
    const FETCH_ADD: [u8; 28] =
        [0, 0, 0, 0, 0x28, 0x0f, 0x40, 0, 0, 0, 0x03, 0xb3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0];

    #[test]
    fn takes_apart() {
        let eth = AtomicEth::load(&FETCH_ADD[..], 0).unwrap();
        assert_eq!((eth.address(), eth.rkey(), eth.swap_add(), eth.compare()), (0x280f_4000, 0x3b3, 3, 0));
        assert_eq!(eth.to_string(), "AtomicETH at 0x280f4000 rkey 0x3b3 swap/add 3 compare 0");
    }

    #[test]
    fn puts_together() {
        assert_eq!(AtomicEth::new(0x280f_4000, 0x3b3, 3, 0).bytes(), FETCH_ADD);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..AtomicEth::LEN {
            assert_eq!(AtomicEth::load(&FETCH_ADD[..had], 0), Err(Cut::new(Layer::AtomicEth, 0, 28, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(address: u64, rkey: u32, swap: u64, compare: u64) {
            let read = AtomicEth::load(&AtomicEth::new(address, rkey, swap, compare).bytes()[..], 0).unwrap();
            prop_assert_eq!((read.address(), read.rkey()), (address, rkey));
            prop_assert_eq!((read.swap_add(), read.compare()), (swap, compare));
        }
    }
}
