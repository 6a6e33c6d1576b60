//! RDMA extended transport header: 16 bytes, where to write or what to read (IBTA 9.3.3).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

mod field {
    pub(super) const RKEY: usize = 8; // 9.3.3.2, 32 bits, after the virtual address (9.3.3.1, 64 bits)
    pub(super) const DMA_LEN: usize = 12; // 9.3.3.3, 32 bits
}

/// An RDMA extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth([u8; Reth::LEN]);

impl Reth {
    /// Bytes on the wire.
    pub const LEN: usize = 16;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 16 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Reth).map(Self)
    }

    /// Virtual address in the responder's memory.
    #[must_use]
    pub const fn address(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// Key of the responder's memory region.
    #[must_use]
    pub const fn rkey(&self) -> u32 {
        u32::from_be_bytes([
            self.0[field::RKEY],
            self.0[field::RKEY + 1],
            self.0[field::RKEY + 2],
            self.0[field::RKEY + 3],
        ])
    }

    /// Bytes of the whole operation, over all its packets: 0..=2^31 by the specification, read as it is.
    #[must_use]
    pub const fn dma_len(&self) -> u32 {
        u32::from_be_bytes([
            self.0[field::DMA_LEN],
            self.0[field::DMA_LEN + 1],
            self.0[field::DMA_LEN + 2],
            self.0[field::DMA_LEN + 3],
        ])
    }

    /// A header for `dma_len` bytes at `address` under `rkey`.
    #[must_use]
    pub const fn new(address: u64, rkey: u32, dma_len: u32) -> Self {
        let [a, b, c, d, e, f, g, h] = address.to_be_bytes();
        let [k0, k1, k2, k3] = rkey.to_be_bytes();
        let [l0, l1, l2, l3] = dma_len.to_be_bytes();
        Self([a, b, c, d, e, f, g, h, k0, k1, k2, k3, l0, l1, l2, l3])
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Reth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RETH {} bytes at {:#x} rkey {:#x}", self.dma_len(), self.address(), self.rkey())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A READ of one byte, from the lab.
    const READ: [u8; 16] = [0, 0, 0, 0, 0x28, 0x0f, 0x40, 0, 0, 0, 0x03, 0xb3, 0, 0, 0, 1];

    #[test]
    fn takes_apart() {
        let reth = Reth::load(&READ[..], 0).unwrap();
        assert_eq!((reth.address(), reth.rkey(), reth.dma_len()), (0x280f_4000, 0x3b3, 1));
        assert_eq!(reth.to_string(), "RETH 1 bytes at 0x280f4000 rkey 0x3b3");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Reth::new(0x280f_4000, 0x3b3, 1).bytes(), READ);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Reth::LEN {
            assert_eq!(Reth::load(&READ[..had], 0), Err(Cut::new(Layer::Reth, 0, 16, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(address: u64, rkey: u32, len: u32) {
            let read = Reth::load(&Reth::new(address, rkey, len).bytes()[..], 0).unwrap();
            prop_assert_eq!((read.address(), read.rkey(), read.dma_len()), (address, rkey, len));
        }
    }
}
