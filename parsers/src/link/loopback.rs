//! BSD loopback: four bytes that name the protocol family (tcpdump.org LINKTYPE 0, NULL, and 108, LOOP).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::link::ethernet::EtherType;
use crate::window::Window;

mod field {
    pub(super) const FAMILY: usize = 0; // 32 bits: LOOP in network order, NULL in that of the capturing host
}

/// AF_INET, everywhere.
const INET: u32 = 2;
/// AF_INET6 of Linux.
const INET6_LINUX: u32 = 10;
/// AF_INET6 of NetBSD and OpenBSD.
const INET6_NETBSD: u32 = 24;
/// AF_INET6 of FreeBSD.
const INET6_FREEBSD: u32 = 28;
/// AF_INET6 of macOS.
const INET6_MACOS: u32 = 30;

/// A loopback header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loopback([u8; Loopback::LEN]);

impl Loopback {
    /// Bytes on the wire.
    pub const LEN: usize = 4;

    /// The header at offset `at`.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 4 bytes are there.
    #[inline(always)]
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        frame.header(at, Layer::Loopback).map(Self)
    }

    /// The AF_ value. Families fit in 16 bits, which tells the order of the bytes.
    #[must_use]
    pub const fn family(&self) -> u32 {
        const F: usize = field::FAMILY;
        let family = u32::from_be_bytes([self.0[F], self.0[F + 1], self.0[F + 2], self.0[F + 3]]);
        if family >> 16 == 0 { family } else { family.swap_bytes() }
    }

    /// What follows; `None` for what is no IP.
    #[must_use]
    pub const fn ethertype(&self) -> Option<EtherType> {
        match self.family() {
            INET => Some(EtherType::IPV4),
            INET6_LINUX | INET6_NETBSD | INET6_FREEBSD | INET6_MACOS => Some(EtherType::IPV6),
            _ => None,
        }
    }

    /// A header in network order.
    #[must_use]
    pub const fn new(family: u32) -> Self {
        Self(family.to_be_bytes())
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        self.0
    }
}

impl fmt::Display for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loopback family {}", self.family())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(bytes: [u8; 4]) -> Loopback {
        Loopback::load(&bytes[..], 0).unwrap()
    }

    #[test]
    fn takes_apart() {
        assert_eq!((load([0, 0, 0, 2]).family(), load([2, 0, 0, 0]).family()), (2, 2));
        assert_eq!(load([0, 0, 0, 2]).to_string(), "loopback family 2");
        assert_eq!(load([2, 0, 0, 0]).ethertype(), Some(EtherType::IPV4));
        for family in [10, 24, 28, 30] {
            assert_eq!(load([0, 0, 0, family]).ethertype(), Some(EtherType::IPV6));
            assert_eq!(load([family, 0, 0, 0]).ethertype(), Some(EtherType::IPV6));
        }
        assert_eq!((load([0, 0, 0, 7]).ethertype(), load([0; 4]).ethertype()), (None, None));
    }

    #[test]
    fn puts_together() {
        assert_eq!(Loopback::new(30).bytes(), [0, 0, 0, 30]);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Loopback::LEN {
            assert_eq!(Loopback::load(&[0, 0, 0, 2][..had], 0), Err(Cut::new(Layer::Loopback, 0, 4, had)));
        }
    }
}
