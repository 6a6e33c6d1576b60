//! FLUSH extended transport header: 4 bytes, how durable and how far (IBTA annex A19).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

mod field {
    pub(super) const PLACEMENT: u32 = 0xf; // PLT, bits 3:0 (Linux rxe_hdr.h, FETH_PLT_MASK)
    pub(super) const SELECTIVITY: u32 = 4; // SEL, bits 5:4 (FETH_SEL_SHIFT); the other 26 bits are reserved
}

/// A FLUSH extended transport header, as its four bytes in host order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Feth(pub u32);

impl Feth {
    /// Bytes on the wire.
    pub const LEN: usize = 4;
    /// Placement bit: make the data visible to everything in the responder's host.
    pub const GLOBAL: u8 = 1;
    /// Placement bit: make the data survive a power loss.
    pub const PERSISTENT: u8 = 2;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 4 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Feth).map(|b| Self(u32::from_be_bytes(b)))
    }

    /// Placement type: a set of [`Feth::GLOBAL`] and [`Feth::PERSISTENT`]; unknown bits are kept.
    #[must_use]
    pub const fn placement(self) -> u8 {
        (self.0 & field::PLACEMENT) as u8
    }

    /// Selectivity level: 0 the range in the RETH, 1 the whole memory region, others reserved.
    #[must_use]
    pub const fn selectivity(self) -> u8 {
        (self.0 >> field::SELECTIVITY & 3) as u8
    }

    /// A header with this placement and selectivity.
    #[must_use]
    pub const fn new(placement: u8, selectivity: u8) -> Self {
        Self(placement as u32 & field::PLACEMENT | (selectivity as u32 & 3) << field::SELECTIVITY)
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(self) -> [u8; Self::LEN] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for Feth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.placement() & (Self::GLOBAL | Self::PERSISTENT) {
            0 => "FETH",
            1 => "FETH global",
            2 => "FETH persistent",
            _ => "FETH global persistent",
        })?;
        match self.selectivity() {
            0 => f.write_str(" range"),
            1 => f.write_str(" region"),
            other => write!(f, " selectivity {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Both placements, whole region.
    const BOTH: [u8; 4] = [0, 0, 0, 0x13];

    #[test]
    fn takes_apart() {
        let feth = Feth::load(&BOTH[..], 0).unwrap();
        assert_eq!((feth.placement(), feth.selectivity()), (Feth::GLOBAL | Feth::PERSISTENT, 1));
        assert_eq!(feth.to_string(), "FETH global persistent region");
        assert_eq!(Feth(0xffff_ffe2).to_string(), "FETH persistent selectivity 2");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Feth::new(3, 1).bytes(), BOTH);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Feth::LEN {
            assert_eq!(Feth::load(&BOTH[..had], 0), Err(Cut::new(Layer::Feth, 0, 4, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(placement in 0u8..16, selectivity in 0u8..4) {
            let read = Feth::load(&Feth::new(placement, selectivity).bytes()[..], 0).unwrap();
            prop_assert_eq!((read.placement(), read.selectivity()), (placement, selectivity));
        }
    }
}
