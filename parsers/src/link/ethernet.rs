//! Ethernet II: 14 bytes before the payload (IEEE 802.3 3.1.1), and the EtherTypes that matter here.

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::window::Window;

mod field {
    pub(super) const DST: usize = 0; // 3.2.3, 48 bits
    pub(super) const SRC: usize = 6; // 3.2.5, 48 bits
    pub(super) const TYPE: usize = 12; // 3.2.6, 16 bits
}

/// What a frame's payload is. Unknown values, and the lengths that 802.3 puts here below 0x600, are kept as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct EtherType(pub u16);

#[allow(missing_docs, reason = "each name is the protocol's own")]
impl EtherType {
    pub const IPV4: Self = Self(0x0800);
    pub const ARP: Self = Self(0x0806);
    pub const IPV6: Self = Self(0x86dd);
    /// 802.1Q customer tag.
    pub const VLAN: Self = Self(0x8100);
    /// 802.1ad service tag.
    pub const QINQ: Self = Self(0x88a8);
    /// Service tag of switches older than 802.1ad.
    pub const QINQ_OLD: Self = Self(0x9100);
    pub const MPLS: Self = Self(0x8847);
    /// MPLS with an upstream-assigned label (RFC 5332 3).
    pub const MPLS_UPSTREAM: Self = Self(0x8848);
    /// 802.3x pause and 802.1Qbb PFC.
    pub const MAC_CONTROL: Self = Self(0x8808);
    /// RoCEv1 (annex A16.4).
    pub const ROCE_V1: Self = Self(0x8915);
    /// Ethernet in GRE and GENEVE (RFC 1701, RFC 7637 3.2).
    pub const BRIDGED: Self = Self(0x6558);
    pub const ERSPAN2: Self = Self(0x88be);
    pub const ERSPAN3: Self = Self(0x22eb);

    /// Whether a 4-byte tag follows.
    #[inline(always)]
    #[must_use]
    pub const fn is_tag(self) -> bool {
        matches!(self, Self::VLAN | Self::QINQ | Self::QINQ_OLD)
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.0)
    }
}

/// A hardware address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Where pause frames go: no bridge forwards it (802.3 31B.1).
    pub const PAUSE: Self = Self([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([a, b, c, d, e, g]) = self;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// An Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet([u8; Ethernet::LEN]);

impl Ethernet {
    /// Bytes on the wire.
    pub const LEN: usize = 14;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 14 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Ethernet).map(Self)
    }

    /// Destination address.
    #[must_use]
    pub const fn dst(&self) -> Mac {
        let [a, b, c, d, e, f, ..] = self.0;
        Mac([a, b, c, d, e, f])
    }

    /// Source address.
    #[must_use]
    pub const fn src(&self) -> Mac {
        let [_, _, _, _, _, _, a, b, c, d, e, f, ..] = self.0;
        Mac([a, b, c, d, e, f])
    }

    /// What follows.
    #[inline(always)]
    #[must_use]
    pub const fn ethertype(&self) -> EtherType {
        EtherType(u16::from_be_bytes([self.0[field::TYPE], self.0[field::TYPE + 1]]))
    }

    /// A header with these fields.
    #[must_use]
    pub const fn new(dst: Mac, src: Mac, ethertype: EtherType) -> Self {
        let (Mac([a, b, c, d, e, f]), Mac([g, h, i, j, k, l])) = (dst, src);
        let [m, n] = ethertype.0.to_be_bytes();
        Self([a, b, c, d, e, f, g, h, i, j, k, l, m, n])
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

const _: () = assert!(field::SRC == field::DST + 6 && field::TYPE == field::SRC + 6);

impl fmt::Display for Ethernet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ethernet {} > {} {}", self.src(), self.dst(), self.ethertype())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PFC: [u8; 14] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0, 0, 0, 0, 0x17, 0x88, 0x08];

    #[test]
    fn takes_apart() {
        let eth = Ethernet::load(&PFC[..], 0).unwrap();
        assert_eq!(eth.dst(), Mac::PAUSE);
        assert_eq!(eth.src(), Mac([2, 0, 0, 0, 0, 0x17]));
        assert_eq!(eth.ethertype(), EtherType::MAC_CONTROL);
        assert_eq!(eth.to_string(), "Ethernet 02:00:00:00:00:17 > 01:80:c2:00:00:01 0x8808");
    }

    #[test]
    fn puts_together() {
        let eth = Ethernet::new(Mac::PAUSE, Mac([2, 0, 0, 0, 0, 0x17]), EtherType::MAC_CONTROL);
        assert_eq!(eth.bytes(), PFC);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Ethernet::LEN {
            assert_eq!(Ethernet::load(&PFC[..had], 0), Err(Cut::new(Layer::Ethernet, 0, 14, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(dst: [u8; 6], src: [u8; 6], ty: u16) {
            let built = Ethernet::new(Mac(dst), Mac(src), EtherType(ty));
            let read = Ethernet::load(&built.bytes()[..], 0).unwrap();
            prop_assert_eq!((read.dst(), read.src(), read.ethertype()), (Mac(dst), Mac(src), EtherType(ty)));
            prop_assert_eq!(EtherType(ty).is_tag(), [0x8100, 0x88a8, 0x9100].contains(&ty));
        }
    }
}
