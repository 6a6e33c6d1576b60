//! Addresses of flows: one 16-byte form for IPv4, IPv6 and GIDs.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

/// An address as RoCE itself writes it: a GID.
///
/// IPv4 is mapped (`::ffff:a.b.c.d`, IBTA annex A17.4.4); IPv6 and GIDs are themselves; a native InfiniBand LID
/// without a GRH is kept in the last two bytes under the prefix `Addr::LID`, which no unicast address has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Addr(pub [u8; 16]);

impl Addr {
    const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    /// Prefix of a LID: the reserved multicast scope ff00::/16 (RFC 4291 2.7), never an address on the wire.
    const LID: [u8; 14] = [0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'L', b'I', b'D'];

    /// An IPv4 address, mapped.
    #[must_use]
    pub const fn v4(v4: [u8; 4]) -> Self {
        Self((0xffff_0000_0000 | u32::from_be_bytes(v4) as u128).to_be_bytes())
    }

    /// A local identifier of a native InfiniBand subnet.
    #[must_use]
    pub const fn lid(lid: u16) -> Self {
        let [h, l] = lid.to_be_bytes();
        Self([0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'L', b'I', b'D', h, l])
    }

    /// The four bytes of a mapped IPv4 address, else `None`.
    #[must_use]
    pub fn as_v4(&self) -> Option<[u8; 4]> {
        self.0.strip_prefix(&Self::MAPPED)?.first_chunk().copied()
    }

    /// The LID, for an address made by [`Addr::lid`].
    #[must_use]
    pub fn as_lid(&self) -> Option<u16> {
        Some(u16::from_be_bytes(*self.0.strip_prefix(&Self::LID)?.first_chunk()?))
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(v4) = self.as_v4() {
            Ipv4Addr::from(v4).fmt(f)
        } else if let Some(lid) = self.as_lid() {
            write!(f, "lid {lid}")
        } else {
            Ipv6Addr::from(self.0).fmt(f)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_people_type() {
        assert_eq!(Addr::v4([10, 9, 1, 1]).to_string(), "10.9.1.1");
        assert_eq!(Addr(Ipv6Addr::new(0xfd09, 1, 0, 0, 0, 0, 0, 1).octets()).to_string(), "fd09:1::1");
        assert_eq!(Addr::lid(23).to_string(), "lid 23");
        assert_eq!(Addr::lid(23).as_v4(), None);
        assert_eq!(Addr::v4([1, 2, 3, 4]).as_lid(), None);
    }
}
