//! VLAN tag: 4 bytes after the addresses or after another tag (IEEE 802.1Q 9.3).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::link::ethernet::EtherType;
use crate::window::Window;

mod field {
    pub(super) const TCI: usize = 0; // 802.1Q 9.6: PCP 3 bits, DEI 1 bit, VID 12 bits
    pub(super) const TYPE: usize = 2; // 16 bits: what follows the tag
}

/// A tag, from its control information on: the tag's own EtherType belongs to the header before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan([u8; Vlan::LEN]);

impl Vlan {
    /// Bytes on the wire.
    pub const LEN: usize = 4;
    /// Tags that the walker looks behind: a customer's and a service provider's.
    pub const DEPTH: usize = 2;

    /// The tag whose control information is at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 4 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Vlan).map(Self)
    }

    /// Tag control information: PCP, DEI and VLAN id together, as [`crate::Facts`] keeps it.
    #[inline(always)]
    #[must_use]
    pub const fn tci(&self) -> u16 {
        u16::from_be_bytes([self.0[field::TCI], self.0[field::TCI + 1]])
    }

    /// Priority code point, 0..=7.
    #[must_use]
    pub const fn pcp(&self) -> u8 {
        self.0[field::TCI] >> 5
    }

    /// Drop eligible.
    #[must_use]
    pub const fn dei(&self) -> bool {
        self.0[field::TCI] & 0x10 != 0
    }

    /// VLAN id, 12 bits; 0 in a tag that only carries a priority.
    #[must_use]
    pub const fn vid(&self) -> u16 {
        self.tci() & 0xfff
    }

    /// What follows the tag.
    #[inline(always)]
    #[must_use]
    pub const fn ethertype(&self) -> EtherType {
        EtherType(u16::from_be_bytes([self.0[field::TYPE], self.0[field::TYPE + 1]]))
    }

    /// A tag with the low 3 bits of `pcp`, the low 12 of `vid`, not drop eligible.
    #[must_use]
    pub const fn new(pcp: u8, vid: u16, ethertype: EtherType) -> Self {
        let [v0, v1] = (vid & 0xfff).to_be_bytes();
        let [t0, t1] = ethertype.0.to_be_bytes();
        Self([(pcp & 7) << 5 | v0, v1, t0, t1])
    }

    /// The same tag with the drop eligible bit set or clear.
    #[must_use]
    pub const fn with_dei(mut self, yes: bool) -> Self {
        self.0[field::TCI] = self.0[field::TCI] & 0xef | (yes as u8) << 4;
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Vlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VLAN {} pcp {} {}", self.vid(), self.pcp(), self.ethertype())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TAG: [u8; 4] = [0x70, 0x64, 0x08, 0x00];

    #[test]
    fn takes_apart() {
        let tag = Vlan::load(&TAG[..], 0).unwrap();
        assert_eq!((tag.pcp(), tag.dei(), tag.vid(), tag.tci()), (3, true, 100, 0x7064));
        assert_eq!(tag.ethertype(), EtherType::IPV4);
        assert_eq!(tag.to_string(), "VLAN 100 pcp 3 0x0800");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Vlan::new(3, 100, EtherType::IPV4).with_dei(true).bytes(), TAG);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Vlan::LEN {
            assert_eq!(Vlan::load(&TAG[..had], 0), Err(Cut::new(Layer::Vlan, 0, 4, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(pcp in 0u8..8, vid in 0u16..4096, dei: bool, ty: u16) {
            let built = Vlan::new(pcp, vid, EtherType(ty)).with_dei(dei);
            let read = Vlan::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!((read.pcp(), read.vid(), read.dei(), read.ethertype()), (pcp, vid, dei, EtherType(ty)));
        }
    }
}
