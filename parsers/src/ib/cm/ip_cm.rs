//! IP-CM header: the first 36 bytes of private data, where the RDMA connection manager puts IP addresses and a port
//! (IBTA annex A11; Linux `cma.c`, struct cma_hdr).

use core::fmt;

use crate::addr::Addr;
use crate::cut::{Cut, Layer};
use crate::ib::be;
use crate::window::Window;

mod field {
    pub(super) const VERSION: usize = 0; // major 4 bits, minor 4 bits
    pub(super) const IP_VERSION: usize = 1; // 4 bits, then 4 reserved
    pub(super) const SPORT: usize = 2; // 16 bits
    pub(super) const SRC: usize = 4; // 128 bits; IPv4 in the last 32, zeros before
    pub(super) const DST: usize = 20; // 128 bits
    pub(super) const V4: usize = 12; // where an IPv4 address begins in its 128 bits
}

/// An IP-CM header. The destination port is in the message's service id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IpCm {
    /// Version of the header, major in the high four bits; 0 today.
    pub version: u8,
    /// Version of the addresses: 4 or 6; 0 where there are none (AF_IB).
    pub ip_version: u8,
    /// Port of the requester.
    pub sport: u16,
    /// Address of the requester.
    pub src: Addr,
    /// Address of the responder.
    pub dst: Addr,
}

impl IpCm {
    /// Bytes on the wire.
    pub const LEN: usize = 36;

    /// The header at offset `at`, where the private data begin.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 36 bytes are there.
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize) -> Result<Self, Cut> {
        let b: [u8; Self::LEN] = frame.header(at, Layer::Cm)?;
        let ip_version = b[field::IP_VERSION] >> 4;
        let (src, dst) = if ip_version == 4 {
            let src = be::get32::<{ field::SRC + field::V4 }, { Self::LEN }>(&b);
            let dst = be::get32::<{ field::DST + field::V4 }, { Self::LEN }>(&b);
            (Addr::v4(src.to_be_bytes()), Addr::v4(dst.to_be_bytes()))
        } else {
            let src = be::get128::<{ field::SRC }, { Self::LEN }>(&b);
            let dst = be::get128::<{ field::DST }, { Self::LEN }>(&b);
            (Addr(src), Addr(dst))
        };
        Ok(Self {
            version: b[field::VERSION],
            ip_version,
            sport: be::get16::<{ field::SPORT }, { Self::LEN }>(&b),
            src,
            dst,
        })
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        let mut b = [0; Self::LEN];
        be::put::<0, 2, { Self::LEN }>(&mut b, [self.version, self.ip_version << 4]);
        be::put::<{ field::SPORT }, 2, { Self::LEN }>(&mut b, self.sport.to_be_bytes());
        be::put::<{ field::SRC }, 16, { Self::LEN }>(&mut b, self.src.0);
        be::put::<{ field::DST }, 16, { Self::LEN }>(&mut b, self.dst.0);
        if self.ip_version == 4 {
            // Unlike a GID, the header has no ffff before an IPv4 address.
            be::put::<{ field::SRC + field::V4 - 2 }, 2, { Self::LEN }>(&mut b, [0; 2]);
            be::put::<{ field::DST + field::V4 - 2 }, 2, { Self::LEN }>(&mut b, [0; 2]);
        }
        b
    }
}

impl fmt::Display for IpCm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ip_version == 6 {
            write!(f, "[{}]:{} to {}", self.src, self.sport, self.dst)
        } else {
            write!(f, "{}:{} to {}", self.src, self.sport, self.dst)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The lab's rping over IPv4: 10.9.1.1 port 41446 to 10.9.2.1.
    const V4: [u8; 36] = [
        0x00, 0x40, 0xa1, 0xe6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 9, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        10, 9, 2, 1,
    ];
    /// And over IPv6: fd09:1::1 port 44481 to fd09:2::1.
    const V6: [u8; 36] = [
        0x00, 0x60, 0xad, 0xc1, 0xfd, 0x09, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xfd, 0x09, 0, 2, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 1,
    ];

    #[test]
    fn takes_apart() {
        let v4 = IpCm::load(&V4[..], 0).unwrap();
        assert_eq!((v4.version, v4.ip_version, v4.sport), (0, 4, 41446));
        assert_eq!(v4.to_string(), "10.9.1.1:41446 to 10.9.2.1");
        let v6 = IpCm::load(&V6[..], 0).unwrap();
        assert_eq!(v6.to_string(), "[fd09:1::1]:44481 to fd09:2::1");
    }

    #[test]
    fn puts_together() {
        for bytes in [V4, V6] {
            assert_eq!(IpCm::load(&bytes[..], 0).unwrap().bytes(), bytes);
        }
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..IpCm::LEN {
            assert_eq!(IpCm::load(&V4[..had], 0), Err(Cut::new(Layer::Cm, 0, 36, had)));
        }
    }

    proptest! {
        #[test]
        fn round_trip(version: u8, sport: u16, v4: [[u8; 4]; 2], v6: [[u8; 16]; 2]) {
            for (ip_version, src, dst) in [(4, Addr::v4(v4[0]), Addr::v4(v4[1])), (6, Addr(v6[0]), Addr(v6[1]))] {
                let built = IpCm { version, ip_version, sport, src, dst };
                prop_assert_eq!(IpCm::load(&built.bytes()[..], 0), Ok(built));
            }
        }
    }
}
