//! VXLAN: 8 bytes, then an Ethernet frame (RFC 7348 5).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

mod field {
    pub(super) const FLAGS: usize = 0; // bit 3 of the first byte: I, the network id is valid; the rest reserved
    pub(super) const VNI: usize = 4; // 24 bits, 8 reserved
}

/// A VXLAN header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vxlan([u8; Vxlan::LEN]);

impl Vxlan {
    /// Bytes on the wire.
    pub const LEN: usize = 8;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 8 bytes are there.
    #[inline]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Vxlan).map(Self)
    }

    /// The I flag, which every VXLAN packet must have set.
    #[must_use]
    pub const fn valid(&self) -> bool {
        self.0[field::FLAGS] & 0x08 != 0
    }

    /// Network identifier, 24 bits.
    #[must_use]
    pub const fn vni(&self) -> u32 {
        u32::from_be_bytes([0, self.0[field::VNI], self.0[field::VNI + 1], self.0[field::VNI + 2]])
    }

    /// A header of the low 24 bits of `vni`.
    #[must_use]
    pub const fn new(vni: u32) -> Self {
        let [_, a, b, c] = vni.to_be_bytes();
        Self([0x08, 0, 0, 0, a, b, c, 0])
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Vxlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VXLAN {}", self.vni())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: [u8; 8] = [0x08, 0, 0, 0, 0x00, 0x13, 0x88, 0];

    #[test]
    fn takes_apart() {
        let vxlan = Vxlan::load(&HEADER[..], 0).unwrap();
        assert_eq!((vxlan.valid(), vxlan.vni()), (true, 5000));
        assert_eq!(vxlan.to_string(), "VXLAN 5000");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Vxlan::new(5000).bytes(), HEADER);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Vxlan::LEN {
            assert_eq!(Vxlan::load(&HEADER[..had], 0), Err(Cut::new(Layer::Vxlan, 0, 8, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(vni in 0u32..1 << 24) {
            let read = Vxlan::load(&Vxlan::new(vni).bytes()[..], 0).unwrap();
            prop_assert_eq!((read.vni(), read.valid()), (vni, true));
        }
    }
}
