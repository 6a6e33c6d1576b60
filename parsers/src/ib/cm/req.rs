//! Request: one end asks the other for a connection (IBTA 12.6.5, table 106).

use core::fmt;

use crate::addr::Addr;
use crate::cut::{Cut, Layer};
use crate::ib::be;
use crate::ib::cm::ip_cm::IpCm;
use crate::ib::cm::{CommId, PathMtu, ServiceId};
use crate::ib::mad::TransactionId;
use crate::sport::FlowLabel;
use crate::units::{Psn, Qpn};
use crate::window::Window;

mod field {
    pub(super) const LOCAL: usize = 0; // 32 bits
    pub(super) const SERVICE: usize = 8; // 64 bits
    pub(super) const QPN: usize = 32; // 24 bits
    pub(super) const RESPONDER_RESOURCES: usize = 35; // 8 bits
    pub(super) const INITIATOR_DEPTH: usize = 39; // 8 bits
    pub(super) const SERVICE_TYPE: usize = 43; // 2 bits, between the CM's response timeout and flow control
    pub(super) const STARTING_PSN: usize = 44; // 24 bits
    pub(super) const RETRY_COUNT: usize = 47; // 3 bits, after the CM's own timeout
    pub(super) const PKEY: usize = 48; // 16 bits
    pub(super) const PATH_MTU: usize = 50; // 4 bits, then RDC 1
    pub(super) const RNR_RETRY: usize = 50; // 3 bits, the same byte
    pub(super) const SRC: usize = 56; // 128 bits
    pub(super) const DST: usize = 72; // 128 bits
    pub(super) const FLOW_LABEL: usize = 88; // 20 bits, then packet rate
    pub(super) const TRAFFIC_CLASS: usize = 92; // 8 bits
    pub(super) const HOP_LIMIT: usize = 93; // 8 bits
    pub(super) const ACK_TIMEOUT: usize = 95; // 5 bits, then 3 reserved
    pub(super) const PRIVATE: usize = 140; // the consumer's, and the IP-CM header's where the service is one
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Req {
    /// Transaction id of the datagram.
    pub transaction: TransactionId,
    /// Number that the sender calls the connection by.
    pub local: CommId,
    /// The service that is asked for.
    pub service: ServiceId,
    /// The requester's queue pair.
    pub qpn: Qpn,
    /// READs and atomics that the requester serves at a time.
    pub responder_resources: u8,
    /// READs and atomics that the requester has out at a time.
    pub initiator_depth: u8,
    /// Transport service: 0 RC, 1 UC, 2 RD, 3 extended (XRC).
    pub service_type: u8,
    /// First PSN that the requester expects to receive.
    pub starting_psn: Psn,
    /// Times that a packet is sent again before the connection fails, 3 bits.
    pub retry_count: u8,
    /// Partition key.
    pub pkey: u16,
    /// Path MTU.
    pub path_mtu: PathMtu,
    /// RNR NAKs that the responder may answer in a row, 3 bits; 7 = for ever.
    pub rnr_retry: u8,
    /// Address of the requester, on the primary path.
    pub src: Addr,
    /// Address of the responder, on the primary path.
    pub dst: Addr,
    /// Flow label of the primary path: what the UDP source port comes from.
    pub flow_label: FlowLabel,
    /// Traffic class of the primary path: DSCP and ECN.
    pub traffic_class: u8,
    /// Hop limit of the primary path.
    pub hop_limit: u8,
    /// Local ACK timeout: 4.096 us times two to this power, 5 bits; 0 = none.
    pub ack_timeout: u8,
    /// Addresses and ports of the RDMA connection manager, where the service is one of its own.
    pub ip: Option<IpCm>,
}

impl Req {
    /// Bytes on the wire up to the private data, which is the consumer's.
    pub const LEN: usize = 140;

    /// The message at offset `at`, just past the header of the datagram whose transaction is given.
    ///
    /// # Errors
    /// [`Cut`] when fewer than 140 bytes are there.
    pub fn load<W: Window + ?Sized>(frame: &W, at: usize, transaction: TransactionId) -> Result<Self, Cut> {
        let b: [u8; Self::LEN] = frame.header(at, Layer::Cm)?;
        let mut read = Self {
            transaction,
            local: CommId(be::get32::<{ field::LOCAL }, { Self::LEN }>(&b)),
            service: ServiceId(be::get64::<{ field::SERVICE }, { Self::LEN }>(&b)),
            qpn: Qpn(be::get24::<{ field::QPN }, { Self::LEN }>(&b)),
            responder_resources: b[field::RESPONDER_RESOURCES],
            initiator_depth: b[field::INITIATOR_DEPTH],
            service_type: b[field::SERVICE_TYPE] >> 1 & 3,
            starting_psn: Psn::new(be::get24::<{ field::STARTING_PSN }, { Self::LEN }>(&b)),
            retry_count: b[field::RETRY_COUNT] & 7,
            pkey: be::get16::<{ field::PKEY }, { Self::LEN }>(&b),
            path_mtu: PathMtu(b[field::PATH_MTU] >> 4),
            rnr_retry: b[field::RNR_RETRY] & 7,
            src: Addr(be::get128::<{ field::SRC }, { Self::LEN }>(&b)),
            dst: Addr(be::get128::<{ field::DST }, { Self::LEN }>(&b)),
            flow_label: FlowLabel::new(be::get32::<{ field::FLOW_LABEL }, { Self::LEN }>(&b) >> 12),
            traffic_class: b[field::TRAFFIC_CLASS],
            hop_limit: b[field::HOP_LIMIT],
            ack_timeout: b[field::ACK_TIMEOUT] >> 3,
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
        be::put::<{ field::LOCAL }, 4, { Self::LEN }>(&mut b, self.local.0.to_be_bytes());
        be::put::<{ field::SERVICE }, 8, { Self::LEN }>(&mut b, self.service.0.to_be_bytes());
        b[field::RESPONDER_RESOURCES] = self.responder_resources;
        b[field::INITIATOR_DEPTH] = self.initiator_depth;
        be::put::<{ field::PKEY }, 2, { Self::LEN }>(&mut b, self.pkey.to_be_bytes());
        be::put::<{ field::SRC }, 16, { Self::LEN }>(&mut b, self.src.0);
        be::put::<{ field::DST }, 16, { Self::LEN }>(&mut b, self.dst.0);
        b[field::TRAFFIC_CLASS] = self.traffic_class;
        b[field::HOP_LIMIT] = self.hop_limit;
        be::put24::<{ field::QPN }, { Self::LEN }>(&mut b, self.qpn.0);
        b[field::SERVICE_TYPE] |= (self.service_type & 3) << 1;
        be::put24::<{ field::STARTING_PSN }, { Self::LEN }>(&mut b, self.starting_psn.get());
        b[field::RETRY_COUNT] |= self.retry_count & 7;
        b[field::PATH_MTU] |= self.path_mtu.0 << 4;
        b[field::RNR_RETRY] |= self.rnr_retry & 7;
        be::put::<{ field::FLOW_LABEL }, 4, { Self::LEN }>(&mut b, (self.flow_label.get() << 12).to_be_bytes());
        b[field::ACK_TIMEOUT] |= self.ack_timeout << 3;
        b
    }
}

impl fmt::Display for Req {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "REQ id {} service {} qp {} psn {} mtu {} retry {} rnr {} timeout 2^{}",
            self.local,
            self.service,
            self.qpn,
            self.starting_psn,
            self.path_mtu,
            self.retry_count,
            self.rnr_retry,
            self.ack_timeout
        )?;
        match self.ip {
            Some(ip) => write!(f, " {ip}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRANSACTION: TransactionId = TransactionId(0x2_fbbd_3b90);
    /// From the lab's rping, with the 36 bytes of its IP-CM header.
    const LAB: [u8; 176] = [
        0x90, 0x3b, 0xbd, 0xfb, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x06, 0x1c, 0x06, 0x00, 0x09,
        0x00, 0xff, 0xfe, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x15, 0x01,
        0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0xa0, 0x21, 0xaf, 0xad, 0xa7, 0xff, 0xff, 0x37, 0xf0, 0xff, 0xff,
        0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x0a, 0x09, 0x01, 0x01,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x0a, 0x09, 0x02, 0x01, 0x3b, 0x6e,
        0x00, 0x00, 0x00, 0x40, 0x00, 0x98, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0xa1, 0xe6,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x09, 0x01, 0x01, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x09, 0x02, 0x01,
    ];

    fn lab() -> Req {
        Req {
            transaction: TRANSACTION,
            local: CommId(0x903b_bdfb),
            service: ServiceId(0x0106_1c06),
            qpn: Qpn(21),
            responder_resources: 1,
            initiator_depth: 1,
            service_type: 0,
            starting_psn: Psn::new(0x21_afad),
            retry_count: 7,
            pkey: 0xffff,
            path_mtu: PathMtu(3),
            rnr_retry: 7,
            src: Addr::v4([10, 9, 1, 1]),
            dst: Addr::v4([10, 9, 2, 1]),
            flow_label: FlowLabel::new(0x3_b6e0),
            traffic_class: 0,
            hop_limit: 64,
            ack_timeout: 19,
            ip: Some(IpCm {
                version: 0,
                ip_version: 4,
                sport: 0xa1e6,
                src: Addr::v4([10, 9, 1, 1]),
                dst: Addr::v4([10, 9, 2, 1]),
            }),
        }
    }

    #[test]
    fn takes_apart() {
        assert_eq!(Req::load(&LAB[..], 0, TRANSACTION), Ok(lab()));
        assert_eq!(
            lab().to_string(),
            "REQ id 0x903bbdfb service tcp port 7174 qp 21 psn 2207661 mtu 1024 retry 7 rnr 7 timeout 2^19 \
            10.9.1.1:41446 to 10.9.2.1"
        );
    }

    #[test]
    fn puts_together() {
        // Bytes of what is not kept (GUID, CM timeouts and retries, LIDs, packet rate) are zero in ours.
        let bytes = lab().bytes();
        for range in [0..16, 24..43, 44..47, 48..51, 56..91, 92..140] {
            assert_eq!(bytes[range.clone()], LAB[range.clone()], "{range:?}");
        }
    }

    #[test]
    fn cut_at_every_length() {
        for had in 0..Req::LEN {
            let cut = Cut::new(Layer::Cm, 0, 140, had);
            assert_eq!(Req::load(&LAB[..had], 0, TRANSACTION), Err(cut));
        }
    }

    proptest! {
        #[test]
        fn round_trip(
            transaction: u64, local: u32, service: u64, qpn in 0u32..1 << 24, responder_resources: u8,
            initiator_depth: u8, service_type in 0u8..4, starting_psn in 0u32..1 << 24, retry_count in 0u8..8,
            pkey: u16, path_mtu in 0u8..16, rnr_retry in 0u8..8, src: [u8; 16], dst: [u8; 16],
            flow_label in 0u32..1 << 20, traffic_class: u8, hop_limit: u8, ack_timeout in 0u8..32,
        ) {
            let built = Req {
                transaction: TransactionId(transaction),
                local: CommId(local),
                service: ServiceId(service),
                qpn: Qpn(qpn),
                responder_resources,
                initiator_depth,
                service_type,
                starting_psn: Psn::new(starting_psn),
                retry_count,
                pkey,
                path_mtu: PathMtu(path_mtu),
                rnr_retry,
                src: Addr(src),
                dst: Addr(dst),
                flow_label: FlowLabel::new(flow_label),
                traffic_class,
                hop_limit,
                ack_timeout,
                ip: None,
            };
            prop_assert_eq!(Req::load(&built.bytes()[..], 0, built.transaction), Ok(built));
        }
    }
}
