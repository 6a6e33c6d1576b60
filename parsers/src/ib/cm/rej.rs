//! Reject: no connection, or none any more, and why (IBTA 12.6.7, table 108).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::ib::be;
use crate::ib::cm::CommId;
use crate::ib::mad::TransactionId;
use crate::window::Window;

mod field {
    pub(super) const LOCAL: usize = 0; // 32 bits
    pub(super) const REMOTE: usize = 4; // 32 bits
    pub(super) const MESSAGE: usize = 8; // 2 bits, then 6 reserved
    pub(super) const REASON: usize = 10; // 16 bits, after 7 of information length
}

/// A reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rej {
    /// Transaction id of the datagram.
    pub transaction: TransactionId,
    /// Number that the sender calls the connection by.
    pub local: CommId,
    /// Number that the receiver calls the connection by.
    pub remote: CommId,
    /// What was rejected: 0 a request, 1 a reply, 2 neither.
    pub message: u8,
    /// Why.
    pub reason: RejectReason,
}

impl Rej {
    /// Bytes on the wire up to the private data, which is the consumer's.
    pub const LEN: usize = 12;

    /// The message at offset `at`, just past the header of the datagram whose transaction is given.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 12 bytes are there.
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize, transaction: TransactionId) -> Result<Self, Cut> {
        let b: [u8; Self::LEN] = frame.header(at, Layer::Cm)?;
        Ok(Self {
            transaction,
            local: CommId(be::get32::<{ field::LOCAL }, { Self::LEN }>(&b)),
            remote: CommId(be::get32::<{ field::REMOTE }, { Self::LEN }>(&b)),
            message: b[field::MESSAGE] >> 6,
            reason: RejectReason(be::get16::<{ field::REASON }, { Self::LEN }>(&b)),
        })
    }

    /// The bytes on the wire up to the private data; fields that are not kept are zero.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        let mut b = [0; Self::LEN];
        be::put::<{ field::LOCAL }, 4, { Self::LEN }>(&mut b, self.local.0.to_be_bytes());
        be::put::<{ field::REMOTE }, 4, { Self::LEN }>(&mut b, self.remote.0.to_be_bytes());
        be::put::<{ field::REASON }, 2, { Self::LEN }>(&mut b, self.reason.0.to_be_bytes());
        b[field::MESSAGE] |= self.message << 6;
        b
    }
}

impl fmt::Display for Rej {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "REJ id {} peer {} {}", self.local, self.remote, self.reason)
    }
}

/// Why a connection was rejected (IBTA 12.6.7.2; Linux `ib_cm.h`, enum ib_cm_rej_reason). Unknown values are
/// kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RejectReason(pub u16);

#[allow(missing_docs, reason = "each name is the reason's own")]
impl RejectReason {
    pub const NO_QP: Self = Self(1);
    pub const NO_EEC: Self = Self(2);
    pub const NO_RESOURCES: Self = Self(3);
    pub const TIMEOUT: Self = Self(4);
    pub const UNSUPPORTED: Self = Self(5);
    pub const INVALID_COMM_ID: Self = Self(6);
    pub const INVALID_COMM_INSTANCE: Self = Self(7);
    pub const INVALID_SERVICE_ID: Self = Self(8);
    pub const INVALID_TRANSPORT: Self = Self(9);
    pub const STALE_CONNECTION: Self = Self(10);
    pub const NO_RDC: Self = Self(11);
    pub const INVALID_GID: Self = Self(12);
    pub const INVALID_LID: Self = Self(13);
    pub const INVALID_SL: Self = Self(14);
    pub const INVALID_TRAFFIC_CLASS: Self = Self(15);
    pub const INVALID_HOP_LIMIT: Self = Self(16);
    pub const INVALID_PACKET_RATE: Self = Self(17);
    pub const INVALID_ALT_GID: Self = Self(18);
    pub const INVALID_ALT_LID: Self = Self(19);
    pub const INVALID_ALT_SL: Self = Self(20);
    pub const INVALID_ALT_TRAFFIC_CLASS: Self = Self(21);
    pub const INVALID_ALT_HOP_LIMIT: Self = Self(22);
    pub const INVALID_ALT_PACKET_RATE: Self = Self(23);
    pub const PORT_AND_CM_REDIRECT: Self = Self(24);
    pub const PORT_REDIRECT: Self = Self(25);
    pub const INVALID_PATH_MTU: Self = Self(26);
    pub const INSUFFICIENT_RESPONDER_RESOURCES: Self = Self(27);
    pub const CONSUMER: Self = Self(28);
    pub const INVALID_RNR_RETRY: Self = Self(29);
    pub const DUPLICATE_LOCAL_COMM_ID: Self = Self(30);
    pub const INVALID_CLASS_VERSION: Self = Self(31);
    pub const INVALID_FLOW_LABEL: Self = Self(32);
    pub const INVALID_ALT_FLOW_LABEL: Self = Self(33);
    pub const VENDOR_OPTION: Self = Self(35);
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::NO_QP => "no queue pair available",
            Self::NO_EEC => "no EE context available",
            Self::NO_RESOURCES => "no resources available",
            Self::TIMEOUT => "timeout",
            Self::UNSUPPORTED => "unsupported request",
            Self::INVALID_COMM_ID => "invalid communication id",
            Self::INVALID_COMM_INSTANCE => "invalid communication instance",
            Self::INVALID_SERVICE_ID => "invalid service id",
            Self::INVALID_TRANSPORT => "invalid transport service type",
            Self::STALE_CONNECTION => "stale connection",
            Self::NO_RDC => "RDC does not exist",
            Self::INVALID_GID => "primary remote port GID rejected",
            Self::INVALID_LID => "primary remote port LID rejected",
            Self::INVALID_SL => "invalid primary SL",
            Self::INVALID_TRAFFIC_CLASS => "invalid primary traffic class",
            Self::INVALID_HOP_LIMIT => "invalid primary hop limit",
            Self::INVALID_PACKET_RATE => "invalid primary packet rate",
            Self::INVALID_ALT_GID => "alternate remote port GID rejected",
            Self::INVALID_ALT_LID => "alternate remote port LID rejected",
            Self::INVALID_ALT_SL => "invalid alternate SL",
            Self::INVALID_ALT_TRAFFIC_CLASS => "invalid alternate traffic class",
            Self::INVALID_ALT_HOP_LIMIT => "invalid alternate hop limit",
            Self::INVALID_ALT_PACKET_RATE => "invalid alternate packet rate",
            Self::PORT_AND_CM_REDIRECT => "port and CM redirection",
            Self::PORT_REDIRECT => "port redirection",
            Self::INVALID_PATH_MTU => "invalid path MTU",
            Self::INSUFFICIENT_RESPONDER_RESOURCES => "insufficient responder resources",
            Self::CONSUMER => "consumer reject",
            Self::INVALID_RNR_RETRY => "RNR retry count rejected",
            Self::DUPLICATE_LOCAL_COMM_ID => "duplicate local communication id",
            Self::INVALID_CLASS_VERSION => "invalid class version",
            Self::INVALID_FLOW_LABEL => "invalid primary flow label",
            Self::INVALID_ALT_FLOW_LABEL => "invalid alternate flow label",
            Self::VENDOR_OPTION => "vendor option not supported",
            Self(other) => return write!(f, "reject reason {other}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRANSACTION: TransactionId = TransactionId(0x2_fbbd_3b90);
    /// From the lab's rping without a listener.
    const LAB: [u8; 12] = [0x00, 0x00, 0x00, 0x00, 0x3a, 0x47, 0xe0, 0x14, 0x00, 0x00, 0x00, 0x08];

    fn lab() -> Rej {
        Rej {
            transaction: TRANSACTION,
            local: CommId(0),
            remote: CommId(0x3a47_e014),
            message: 0,
            reason: RejectReason(8),
        }
    }

    #[test]
    fn takes_apart() {
        assert_eq!(Rej::load(&LAB[..], 0, TRANSACTION), Ok(lab()));
        assert_eq!(lab().to_string(), "REJ id 0x00000000 peer 0x3a47e014 invalid service id");
    }

    #[test]
    fn puts_together() {
        assert_eq!(lab().bytes(), LAB);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Rej::LEN {
            let cut = Cut::new(Layer::Cm, 0, 12, had);
            assert_eq!(Rej::load(&LAB[..had], 0, TRANSACTION), Err(cut));
        }
    }

    proptest! {
        #[test]
        fn round_trip(transaction: u64, local: u32, remote: u32, message in 0u8..4, reason: u16) {
            let built = Rej {
                transaction: TransactionId(transaction),
                local: CommId(local),
                remote: CommId(remote),
                message,
                reason: RejectReason(reason),
            };
            prop_assert_eq!(Rej::load(&built.bytes()[..], 0, built.transaction), Ok(built));
        }
    }
}
