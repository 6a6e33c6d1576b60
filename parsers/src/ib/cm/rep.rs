//! Reply: the responder accepts the connection (IBTA 12.6.8, table 110).

use core::fmt;

use crate::cut::{Cut, Layer};
use crate::ib::be;
use crate::ib::cm::CommId;
use crate::ib::mad::TransactionId;
use crate::units::{Psn, Qpn};
use crate::window::Window;

mod field {
    pub(super) const LOCAL: usize = 0; // 32 bits
    pub(super) const REMOTE: usize = 4; // 32 bits
    pub(super) const QPN: usize = 12; // 24 bits
    pub(super) const STARTING_PSN: usize = 20; // 24 bits
    pub(super) const RESPONDER_RESOURCES: usize = 24; // 8 bits
    pub(super) const INITIATOR_DEPTH: usize = 25; // 8 bits
    pub(super) const TARGET_ACK_DELAY: usize = 26; // 5 bits, then failover 2 and flow control 1
    pub(super) const RNR_RETRY: usize = 27; // 3 bits, then SRQ 1 and 4 reserved
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rep {
    /// Transaction id of the datagram.
    pub transaction: TransactionId,
    /// Number that the sender calls the connection by.
    pub local: CommId,
    /// Number that the receiver calls the connection by.
    pub remote: CommId,
    /// The responder's queue pair.
    pub qpn: Qpn,
    /// First PSN that the responder expects to receive.
    pub starting_psn: Psn,
    /// READs and atomics that the responder serves at a time.
    pub responder_resources: u8,
    /// READs and atomics that the responder has out at a time.
    pub initiator_depth: u8,
    /// Longest delay of its ACKs: 4.096 us times two to this power, 5 bits.
    pub target_ack_delay: u8,
    /// RNR NAKs that the requester may answer in a row, 3 bits; 7 = for ever.
    pub rnr_retry: u8,
}

impl Rep {
    /// Bytes on the wire up to the private data, which is the consumer's.
    pub const LEN: usize = 36;

    /// The message at offset `at`, just past the header of the datagram whose transaction is given.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 36 bytes are there.
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize, transaction: TransactionId) -> Result<Self, Cut> {
        let b: [u8; Self::LEN] = frame.header(at, Layer::Cm)?;
        Ok(Self {
            transaction,
            local: CommId(be::get32::<{ field::LOCAL }, { Self::LEN }>(&b)),
            remote: CommId(be::get32::<{ field::REMOTE }, { Self::LEN }>(&b)),
            qpn: Qpn(be::get24::<{ field::QPN }, { Self::LEN }>(&b)),
            starting_psn: Psn::new(be::get24::<{ field::STARTING_PSN }, { Self::LEN }>(&b)),
            responder_resources: b[field::RESPONDER_RESOURCES],
            initiator_depth: b[field::INITIATOR_DEPTH],
            target_ack_delay: b[field::TARGET_ACK_DELAY] >> 3,
            rnr_retry: b[field::RNR_RETRY] >> 5,
        })
    }

    /// The bytes on the wire up to the private data; fields that are not kept are zero.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::LEN] {
        let mut b = [0; Self::LEN];
        be::put::<{ field::LOCAL }, 4, { Self::LEN }>(&mut b, self.local.0.to_be_bytes());
        be::put::<{ field::REMOTE }, 4, { Self::LEN }>(&mut b, self.remote.0.to_be_bytes());
        b[field::RESPONDER_RESOURCES] = self.responder_resources;
        b[field::INITIATOR_DEPTH] = self.initiator_depth;
        be::put24::<{ field::QPN }, { Self::LEN }>(&mut b, self.qpn.0);
        be::put24::<{ field::STARTING_PSN }, { Self::LEN }>(&mut b, self.starting_psn.get());
        b[field::TARGET_ACK_DELAY] |= self.target_ack_delay << 3;
        b[field::RNR_RETRY] |= self.rnr_retry << 5;
        b
    }
}

impl fmt::Display for Rep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "REP id {} peer {} qp {} psn {}", self.local, self.remote, self.qpn, self.starting_psn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRANSACTION: TransactionId = TransactionId(0x2_fbbd_3b90);
    /// From the lab's rping.
    const LAB: [u8; 36] = [
        0x93, 0x3b, 0xbd, 0xfb, 0x90, 0x3b, 0xbd, 0xfb, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x15, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x5a, 0x17, 0xee, 0x00, 0x01, 0x01, 0x78, 0xe0, 0x00, 0x09, 0x00, 0xff, 0xfe, 0x00, 0x02, 0x01,
    ];

    fn lab() -> Rep {
        Rep {
            transaction: TRANSACTION,
            local: CommId(0x933b_bdfb),
            remote: CommId(0x903b_bdfb),
            qpn: Qpn(21),
            starting_psn: Psn::new(0x5a_17ee),
            responder_resources: 1,
            initiator_depth: 1,
            target_ack_delay: 15,
            rnr_retry: 7,
        }
    }

    #[test]
    fn takes_apart() {
        assert_eq!(Rep::load(&LAB[..], 0, TRANSACTION), Ok(lab()));
        assert_eq!(lab().to_string(), "REP id 0x933bbdfb peer 0x903bbdfb qp 21 psn 5904366");
    }

    #[test]
    fn puts_together() {
        // All but the GUID of the responder's adapter, which is not kept.
        assert_eq!(lab().bytes()[..28], LAB[..28]);
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Rep::LEN {
            let cut = Cut::new(Layer::Cm, 0, 36, had);
            assert_eq!(Rep::load(&LAB[..had], 0, TRANSACTION), Err(cut));
        }
    }

    proptest! {
        #[test]
        fn round_trip(
            transaction: u64, local: u32, remote: u32, qpn in 0u32..1 << 24, starting_psn in 0u32..1 << 24,
            responder_resources: u8, initiator_depth: u8, target_ack_delay in 0u8..32, rnr_retry in 0u8..8,
        ) {
            let built = Rep {
                transaction: TransactionId(transaction),
                local: CommId(local),
                remote: CommId(remote),
                qpn: Qpn(qpn),
                starting_psn: Psn::new(starting_psn),
                responder_resources,
                initiator_depth,
                target_ack_delay,
                rnr_retry,
            };
            prop_assert_eq!(Rep::load(&built.bytes()[..], 0, built.transaction), Ok(built));
        }
    }
}
