//! Service id resolution request: which queue pair serves this service? (IBTA 12.11.1, table 119).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::ib::be;
use crate::ib::cm::ip_cm::IpCm;
use crate::ib::cm::{CommId, ServiceId};
use crate::ib::mad::TransactionId;
use crate::window::Window;

mod field {
    pub(super) const REQUEST: usize = 0; // 32 bits
    pub(super) const PKEY: usize = 4; // 16 bits
    pub(super) const SERVICE: usize = 8; // 64 bits
    pub(super) const PRIVATE: usize = 16; // the consumer's, and the IP-CM header's where the service is one
}

/// A service id resolution request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SidrReq {
    /// Transaction id of the datagram.
    pub transaction: TransactionId,
    /// Number that the requester calls the question by.
    pub request: CommId,
    /// Partition key.
    pub pkey: u16,
    /// The service that is asked for.
    pub service: ServiceId,
    /// Addresses and ports of the RDMA connection manager, where the service is one of its own.
    pub ip: Option<IpCm>,
}

impl SidrReq {
    /// Bytes on the wire up to the private data, which is the consumer's.
    pub const LEN: usize = 16;

    /// The message at offset `at`, just past the header of the datagram whose transaction is given.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 16 bytes are there.
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize, transaction: TransactionId) -> Result<Self, Cut> {
        let b: [u8; Self::LEN] = frame.header(at, Layer::Cm)?;
        let mut read = Self {
            transaction,
            request: CommId(be::get32::<{ field::REQUEST }, { Self::LEN }>(&b)),
            pkey: be::get16::<{ field::PKEY }, { Self::LEN }>(&b),
            service: ServiceId(be::get64::<{ field::SERVICE }, { Self::LEN }>(&b)),
            ip: None,
        };
        if read.service.is_ip() {
            read.ip = IpCm::load(frame, at + field::PRIVATE).ok();
        }
        Ok(read)
    }

    /// The bytes on the wire up to the private data; fields that are not kept are zero.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        let mut b = [0; Self::LEN];
        be::put::<{ field::REQUEST }, 4, { Self::LEN }>(&mut b, self.request.0.to_be_bytes());
        be::put::<{ field::PKEY }, 2, { Self::LEN }>(&mut b, self.pkey.to_be_bytes());
        be::put::<{ field::SERVICE }, 8, { Self::LEN }>(&mut b, self.service.0.to_be_bytes());
        b
    }
}

impl fmt::Display for SidrReq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SIDR_REQ id {} service {}", self.request, self.service)?;
        match self.ip {
            Some(ip) => write!(f, " {ip}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::Addr;
    use proptest::prelude::*;

    const TRANSACTION: TransactionId = TransactionId(0x2_fbbd_3b90);
    /// From the lab's udaddy, with the 36 bytes of its IP-CM header.
    const LAB: [u8; 52] = [
        0x3f, 0x47, 0xe0, 0x14, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x11, 0x1c, 0x06, 0x00, 0x40,
        0x89, 0xc4, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x09, 0x01, 0x01,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x09, 0x02, 0x01,
    ];

    fn lab() -> SidrReq {
        SidrReq {
            transaction: TRANSACTION,
            request: CommId(0x3f47_e014),
            pkey: 0xffff,
            service: ServiceId(0x0111_1c06),
            ip: Some(IpCm {
                version: 0,
                ip_version: 4,
                sport: 0x89c4,
                src: Addr::v4([10, 9, 1, 1]),
                dst: Addr::v4([10, 9, 2, 1]),
            }),
        }
    }

    #[test]
    fn takes_apart() {
        assert_eq!(SidrReq::load(&LAB[..], 0, TRANSACTION), Ok(lab()));
        assert_eq!(lab().to_string(), "SIDR_REQ id 0x3f47e014 service udp port 7174 10.9.1.1:35268 to 10.9.2.1");
    }

    #[test]
    fn puts_together() {
        assert_eq!(lab().bytes(), LAB[..SidrReq::LEN]);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..SidrReq::LEN {
            let cut = Cut::new(Layer::Cm, 0, 16, had);
            assert_eq!(SidrReq::load(&LAB[..had], 0, TRANSACTION), Err(cut));
        }
    }

    proptest! {
        #[test]
        fn round_trip(transaction: u64, request: u32, pkey: u16, service: u64) {
            let built = SidrReq {
                transaction: TransactionId(transaction),
                request: CommId(request),
                pkey,
                service: ServiceId(service),
                ip: None,
            };
            prop_assert_eq!(SidrReq::load(&built.bytes()[..], 0, built.transaction), Ok(built));
        }
    }
}
