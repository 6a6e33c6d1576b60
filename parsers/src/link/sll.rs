//! Linux cooked captures, what `-i any` writes: v1 of 16 bytes and v2 of 20 (tcpdump.org LINKTYPE 113 and 276).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::link::ethernet::EtherType;
use crate::window::Window;

mod field {
    pub(super) mod v1 {
        pub(in super::super) const DIRECTION: usize = 0; // 16 bits
        pub(in super::super) const HARDWARE: usize = 2; // ARPHRD_ value, 16 bits
        pub(in super::super) const PROTOCOL: usize = 14; // 16 bits, after the address' length and 8 bytes of it
    }
    pub(super) mod v2 {
        pub(in super::super) const PROTOCOL: usize = 0; // 16 bits, 16 reserved
        pub(in super::super) const IFINDEX: usize = 4; // 32 bits
        pub(in super::super) const HARDWARE: usize = 8; // ARPHRD_ value, 16 bits
        pub(in super::super) const DIRECTION: usize = 10; // 8 bits, then the address' length and 8 bytes of it
    }
}

/// Which way a packet went. Unknown values are kept as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Direction(pub u16);

#[allow(missing_docs, reason = "each name is the libpcap's own")]
impl Direction {
    pub const TO_US: Self = Self(0);
    pub const BROADCAST: Self = Self(1);
    pub const MULTICAST: Self = Self(2);
    pub const TO_OTHERS: Self = Self(3);
    pub const FROM_US: Self = Self(4);
}

/// ARPHRD_NETLINK: the protocol field is then a netlink family, no EtherType.
const NETLINK: u16 = 824;

/// A cooked header, version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sll1([u8; Sll1::LEN]);

impl Sll1 {
    /// Bytes on the wire.
    pub const LEN: usize = 16;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 16 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::LinuxCooked).map(Self)
    }

    /// Which way the packet went.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        Direction(u16::from_be_bytes([self.0[field::v1::DIRECTION], self.0[field::v1::DIRECTION + 1]]))
    }

    /// ARPHRD_ value of the device.
    #[must_use]
    pub const fn hardware(&self) -> u16 {
        u16::from_be_bytes([self.0[field::v1::HARDWARE], self.0[field::v1::HARDWARE + 1]])
    }

    /// What follows; `None` for a device whose protocol field is not an EtherType.
    #[must_use]
    pub const fn ethertype(&self) -> Option<EtherType> {
        if self.hardware() == NETLINK {
            return None;
        }
        Some(EtherType(u16::from_be_bytes([self.0[field::v1::PROTOCOL], self.0[field::v1::PROTOCOL + 1]])))
    }

    /// A header of an Ethernet device with no address.
    #[must_use]
    pub const fn new(direction: Direction, ethertype: EtherType) -> Self {
        let ([d0, d1], [t0, t1]) = (direction.0.to_be_bytes(), ethertype.0.to_be_bytes());
        Self([d0, d1, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, t0, t1])
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Sll1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SLL direction {} hardware {}", self.direction().0, self.hardware())
    }
}

/// A cooked header, version 2: the same and the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sll2([u8; Sll2::LEN]);

impl Sll2 {
    /// Bytes on the wire.
    pub const LEN: usize = 20;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 20 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::LinuxCooked).map(Self)
    }

    /// Which way the packet went.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        Direction(self.0[field::v2::DIRECTION] as u16)
    }

    /// ARPHRD_ value of the device.
    #[must_use]
    pub const fn hardware(&self) -> u16 {
        u16::from_be_bytes([self.0[field::v2::HARDWARE], self.0[field::v2::HARDWARE + 1]])
    }

    /// Index of the device on the capturing host.
    #[must_use]
    pub const fn ifindex(&self) -> u32 {
        const I: usize = field::v2::IFINDEX;
        u32::from_be_bytes([self.0[I], self.0[I + 1], self.0[I + 2], self.0[I + 3]])
    }

    /// What follows; `None` for a device whose protocol field is not an EtherType.
    #[must_use]
    pub const fn ethertype(&self) -> Option<EtherType> {
        if self.hardware() == NETLINK {
            return None;
        }
        Some(EtherType(u16::from_be_bytes([self.0[field::v2::PROTOCOL], self.0[field::v2::PROTOCOL + 1]])))
    }

    /// A header of an Ethernet device with no address.
    #[must_use]
    pub const fn new(direction: Direction, ethertype: EtherType, ifindex: u32) -> Self {
        let ([t0, t1], [i0, i1, i2, i3]) = (ethertype.0.to_be_bytes(), ifindex.to_be_bytes());
        Self([t0, t1, 0, 0, i0, i1, i2, i3, 0, 1, direction.0 as u8, 6, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Sll2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SLL2 interface {} direction {} hardware {}", self.ifindex(), self.direction().0, self.hardware())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V1: [u8; 16] = [0, 4, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x00];
    const V2: [u8; 20] = [0x86, 0xdd, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 0, 0, 0, 0, 0, 0, 0, 0];

    #[test]
    fn takes_apart() {
        let v1 = Sll1::load(&V1[..], 0).unwrap();
        assert_eq!((v1.direction(), v1.hardware()), (Direction::FROM_US, 1));
        assert_eq!(v1.ethertype(), Some(EtherType::IPV4));
        assert_eq!(v1.to_string(), "SLL direction 4 hardware 1");
        let v2 = Sll2::load(&V2[..], 0).unwrap();
        assert_eq!((v2.direction(), v2.hardware(), v2.ifindex()), (Direction::FROM_US, 1, 3));
        assert_eq!(v2.ethertype(), Some(EtherType::IPV6));
        assert_eq!(v2.to_string(), "SLL2 interface 3 direction 4 hardware 1");
    }

    #[test]
    fn puts_together() {
        assert_eq!(Sll1::new(Direction::FROM_US, EtherType::IPV4).bytes(), V1);
        assert_eq!(Sll2::new(Direction::FROM_US, EtherType::IPV6, 3).bytes(), V2);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Sll1::LEN {
            assert_eq!(Sll1::load(&V1[..had], 0), Err(Cut::new(Layer::LinuxCooked, 0, 16, had)));
        }
        for had in 0..Sll2::LEN {
            assert_eq!(Sll2::load(&V2[..had], 0), Err(Cut::new(Layer::LinuxCooked, 0, 20, had)));
        }
    }

    #[test]
    fn netlink_has_no_ethertype() {
        let (mut v1, mut v2) = (V1, V2);
        v1[2..4].copy_from_slice(&824u16.to_be_bytes());
        v2[8..10].copy_from_slice(&824u16.to_be_bytes());
        assert_eq!(Sll1::load(&v1[..], 0).unwrap().ethertype(), None);
        assert_eq!(Sll2::load(&v2[..], 0).unwrap().ethertype(), None);
    }

    proptest! {
        #[test]
        fn round_trip(direction in 0u16..256, ty: u16, ifindex: u32) {
            let v1 = Sll1::load(&Sll1::new(Direction(direction), EtherType(ty)).bytes()[..], 0).unwrap();
            prop_assert_eq!((v1.direction(), v1.ethertype()), (Direction(direction), Some(EtherType(ty))));
            let v2 = Sll2::load(&Sll2::new(Direction(direction), EtherType(ty), ifindex).bytes()[..], 0).unwrap();
            prop_assert_eq!((v2.direction(), v2.ethertype()), (Direction(direction), Some(EtherType(ty))));
            prop_assert_eq!(v2.ifindex(), ifindex);
        }
    }
}
