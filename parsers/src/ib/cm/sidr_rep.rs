//! Service id resolution reply: the queue pair that serves it (IBTA 12.11.2, table 120).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::ib::be;
use crate::ib::cm::{CommId, ServiceId};
use crate::ib::mad::TransactionId;
use crate::units::Qpn;
use crate::window::Window;

mod field {
    pub(super) const REQUEST: usize = 0; // 32 bits
    pub(super) const STATUS: usize = 4; // 8 bits
    pub(super) const QPN: usize = 8; // 24 bits
    pub(super) const SERVICE: usize = 12; // 64 bits
    pub(super) const QKEY: usize = 20; // 32 bits
}

/// A service id resolution reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SidrRep {
    /// Transaction id of the datagram.
    pub transaction: TransactionId,
    /// Number that the requester calls the question by.
    pub request: CommId,
    /// Whether there is one.
    pub status: SidrStatus,
    /// The queue pair, where there is one.
    pub qpn: Qpn,
    /// The service that was asked for.
    pub service: ServiceId,
    /// The Q_Key to send to it with.
    pub qkey: u32,
}

impl SidrRep {
    /// Bytes on the wire up to the private data, which is the consumer's.
    pub const LEN: usize = 24;

    /// The message at offset `at`, just past the header of the datagram whose transaction is given.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 24 bytes are there.
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize, transaction: TransactionId) -> Result<Self, Cut> {
        let b: [u8; Self::LEN] = frame.header(at, Layer::Cm)?;
        Ok(Self {
            transaction,
            request: CommId(be::get32::<{ field::REQUEST }, { Self::LEN }>(&b)),
            status: SidrStatus(b[field::STATUS]),
            qpn: Qpn(be::get24::<{ field::QPN }, { Self::LEN }>(&b)),
            service: ServiceId(be::get64::<{ field::SERVICE }, { Self::LEN }>(&b)),
            qkey: be::get32::<{ field::QKEY }, { Self::LEN }>(&b),
        })
    }

    /// The bytes on the wire up to the private data; fields that are not kept are zero.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        let mut b = [0; Self::LEN];
        be::put::<{ field::REQUEST }, 4, { Self::LEN }>(&mut b, self.request.0.to_be_bytes());
        b[field::STATUS] = self.status.0;
        be::put::<{ field::SERVICE }, 8, { Self::LEN }>(&mut b, self.service.0.to_be_bytes());
        be::put::<{ field::QKEY }, 4, { Self::LEN }>(&mut b, self.qkey.to_be_bytes());
        be::put24::<{ field::QPN }, { Self::LEN }>(&mut b, self.qpn.0);
        b
    }
}

impl fmt::Display for SidrRep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SIDR_REP id {} {} qp {} service {}", self.request, self.status, self.qpn, self.service)
    }
}

/// What a service id resolution came to (IBTA 12.11.2.2). Unknown values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct SidrStatus(pub u8);

#[allow(missing_docs, reason = "each name is the status's own")]
impl SidrStatus {
    pub const VALID: Self = Self(0);
    pub const UNSUPPORTED_SERVICE: Self = Self(1);
    pub const REJECTED: Self = Self(2);
    pub const NO_QP: Self = Self(3);
    pub const REDIRECT: Self = Self(4);
    pub const UNSUPPORTED_VERSION: Self = Self(5);
}

impl fmt::Display for SidrStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::VALID => "valid",
            Self::UNSUPPORTED_SERVICE => "service id not supported",
            Self::REJECTED => "rejected by the service",
            Self::NO_QP => "no queue pair available",
            Self::REDIRECT => "redirected",
            Self::UNSUPPORTED_VERSION => "version not supported",
            Self(other) => return write!(f, "status {other}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRANSACTION: TransactionId = TransactionId(0x2_fbbd_3b90);
    /// From the lab's udaddy.
    const LAB: [u8; 24] = [
        0x3f, 0x47, 0xe0, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x31, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x11,
        0x1c, 0x06, 0x01, 0x23, 0x45, 0x67,
    ];

    fn lab() -> SidrRep {
        SidrRep {
            transaction: TRANSACTION,
            request: CommId(0x3f47_e014),
            status: SidrStatus::VALID,
            qpn: Qpn(0x31),
            service: ServiceId(0x0111_1c06),
            qkey: 0x0123_4567,
        }
    }

    #[test]
    fn takes_apart() {
        assert_eq!(SidrRep::load(&LAB[..], 0, TRANSACTION), Ok(lab()));
        assert_eq!(lab().to_string(), "SIDR_REP id 0x3f47e014 valid qp 49 service udp port 7174");
    }

    #[test]
    fn puts_together() {
        assert_eq!(lab().bytes(), LAB);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..SidrRep::LEN {
            let cut = Cut::new(Layer::Cm, 0, 24, had);
            assert_eq!(SidrRep::load(&LAB[..had], 0, TRANSACTION), Err(cut));
        }
    }

    proptest! {
        #[test]
        fn round_trip(transaction: u64, request: u32, status: u8, qpn in 0u32..1 << 24, service: u64, qkey: u32) {
            let built = SidrRep {
                transaction: TransactionId(transaction),
                request: CommId(request),
                status: SidrStatus(status),
                qpn: Qpn(qpn),
                service: ServiceId(service),
                qkey,
            };
            prop_assert_eq!(SidrRep::load(&built.bytes()[..], 0, built.transaction), Ok(built));
        }
    }
}
