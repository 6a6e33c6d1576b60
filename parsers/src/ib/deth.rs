//! Datagram extended transport header: 8 bytes, Q_Key and source queue pair (IBTA 9.3.2).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::units::Qpn;
use crate::window::Window;

mod field {
    pub(super) const QKEY: usize = 0; // 9.3.2, 32 bits
    pub(super) const SRC_QP: usize = 5; // 9.3.2, 24 bits after 8 reserved
}

/// A datagram extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deth([u8; Deth::LEN]);

impl Deth {
    /// Bytes on the wire.
    pub const LEN: usize = 8;

    /// The Q_Key of the general service interface, which MADs on QP1 carry (IBTA 10.2.5).
    pub const GSI_QKEY: u32 = 0x8001_0000;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 8 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Deth).map(Self)
    }

    /// Queue key: must match the receiving queue pair's.
    #[must_use]
    pub const fn qkey(&self) -> u32 {
        u32::from_be_bytes([
            self.0[field::QKEY],
            self.0[field::QKEY + 1],
            self.0[field::QKEY + 2],
            self.0[field::QKEY + 3],
        ])
    }

    /// Queue pair that sent the datagram.
    #[must_use]
    pub const fn src_qp(&self) -> Qpn {
        Qpn(u32::from_be_bytes([0, self.0[field::SRC_QP], self.0[field::SRC_QP + 1], self.0[field::SRC_QP + 2]]))
    }

    /// A header with this key and source.
    #[must_use]
    pub const fn new(qkey: u32, src_qp: Qpn) -> Self {
        let [k0, k1, k2, k3] = qkey.to_be_bytes();
        let [_, q0, q1, q2] = src_qp.0.to_be_bytes();
        Self([k0, k1, k2, k3, 0, q0, q1, q2])
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Deth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DETH from qp {} qkey {:#010x}", self.src_qp(), self.qkey())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A connection request's, from the lab.
    const CM: [u8; 8] = [0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01];

    #[test]
    fn takes_apart() {
        let deth = Deth::load(&CM[..], 0).unwrap();
        assert_eq!((deth.qkey(), deth.src_qp()), (Deth::GSI_QKEY, Qpn::GSI));
        assert_eq!(deth.to_string(), "DETH from qp 1 qkey 0x80010000");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Deth::new(Deth::GSI_QKEY, Qpn::GSI).bytes(), CM);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Deth::LEN {
            assert_eq!(Deth::load(&CM[..had], 0), Err(Cut::new(Layer::Deth, 0, 8, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(qkey: u32, qp in 0u32..1 << 24) {
            let read = Deth::load(&Deth::new(qkey, Qpn(qp)).bytes()[..], 0).unwrap();
            prop_assert_eq!((read.qkey(), read.src_qp()), (qkey, Qpn(qp)));
        }
    }
}
