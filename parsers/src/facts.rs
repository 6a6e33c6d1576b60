//! What one look at a frame yields: the only thing that anything downstream sees of it.

use crate::addr::Addr;
use crate::ib::aeth::Aeth;
use crate::ib::opcode::Opcode;
use crate::units::{Psn, Qpn};

/// What kind of frame it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Class {
    /// Anything that is none of the others: ARP, TCP, fragments, UDP to another port...
    #[default]
    Other,
    /// UDP destination port 4791 with a BTH.
    RoceV2,
    /// EtherType 0x8915: GRH and BTH straight on Ethernet.
    RoceV1,
    /// Native InfiniBand: LRH, with or without a GRH.
    Infiniband,
    /// PFC or global pause.
    Pause,
}

/// The encapsulation that the innermost RoCE frame was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
#[allow(missing_docs, reason = "each name is the tunnel's own")]
pub enum Tunnel {
    #[default]
    None,
    Gre,
    Erspan1,
    Erspan2,
    Erspan3,
    Vxlan,
    Geneve,
    Mpls,
}

/// A set of yes/no facts about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Flags(u16);

impl Flags {
    /// BTH: the requester wants an ACK for this packet.
    pub const ACK_REQ: Self = Self(1);
    /// BTH: solicited event.
    pub const SOLICITED: Self = Self(1 << 1);
    /// BTH: migration state.
    pub const MIGRATED: Self = Self(1 << 2);
    /// BTH: forward explicit congestion notification.
    pub const FECN: Self = Self(1 << 3);
    /// BTH: backward explicit congestion notification.
    pub const BECN: Self = Self(1 << 4);
    /// `vlan` holds a tag.
    pub const VLAN: Self = Self(1 << 5);
    /// `imm` holds immediate data, or the R_Key of an invalidate (the opcode tells).
    pub const IMM: Self = Self(1 << 6);
    /// The extended headers that the opcode names are all here: `aeth`, `dma_len`, `src_qp`, `imm` can be used.
    /// Without it the frame was cut inside them.
    pub const EXTENDED: Self = Self(1 << 7);
    /// The frame was cut before its end: payload or ICRC are not all there.
    pub const CUT: Self = Self(1 << 8);
    /// The outer IP packet carries an IPv6 header (a mapped address alone does not tell for RoCEv1).
    pub const IPV6: Self = Self(1 << 9);
    /// BTH: version and reserved bits are all clear, as every NIC sends them.
    pub const RESERVED_CLEAR: Self = Self(1 << 10);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `self` with `other` when `yes`.
    #[must_use]
    pub const fn when(self, yes: bool, other: Self) -> Self {
        if yes { self.with(other) } else { self }
    }

    /// Whether all of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// One frame, looked at once. Small and `Copy`; holds no reference into the frame.
///
/// Fields that a class does not have are zero: a pause frame has no addresses, a frame that is no RoCE no BTH. An IP
/// packet that is no RoCE still has its addresses, TOS, TTL and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Facts {
    /// Innermost source address (RoCEv1: the GRH's; InfiniBand without one: the LID).
    pub src: Addr,
    /// Innermost destination address.
    pub dst: Addr,
    /// BTH destination queue pair.
    pub dst_qp: Qpn,
    /// BTH packet sequence number.
    pub psn: Psn,
    /// DETH source queue pair (UD, RD), else 0.
    pub src_qp: Qpn,
    /// AETH, where the opcode has one.
    pub aeth: Aeth,
    /// RETH DMA length in bytes, where the opcode has one.
    pub dma_len: u32,
    /// Immediate data or the R_Key to invalidate, with [`Flags::IMM`].
    pub imm: u32,
    /// Payload bytes of the message, without extended headers, pad and ICRC.
    pub payload: u32,
    /// Offset in the frame just past the ICRC, by the length in the network header; beyond the captured bytes when cut.
    pub end: u32,
    /// Interface index inside the frame (Linux cooked v2), else 0.
    pub ifindex: u32,
    /// Offset of the innermost network header (IPv4, IPv6 or GRH; LRH when there is no GRH).
    pub l3: u16,
    /// Offset of the BTH.
    pub bth: u16,
    /// Innermost UDP source port.
    pub sport: u16,
    /// BTH partition key.
    pub pkey: u16,
    /// Innermost 802.1Q tag control information (PCP, DEI, VLAN id), with [`Flags::VLAN`].
    pub vlan: u16,
    /// Yes/no facts.
    pub flags: Flags,
    /// BTH opcode.
    pub opcode: Opcode,
    /// TOS / traffic class: DSCP in the high six bits, ECN in the low two.
    pub tos: u8,
    /// TTL / hop limit.
    pub ttl: u8,
    /// What kind of frame it is.
    pub class: Class,
    /// What it was wrapped in.
    pub tunnel: Tunnel,
    /// IP protocol of a frame of [`Class::Other`] that was read to its IP header and is no fragment.
    pub protocol: u8,
}

/// The walker hands `Facts` through queues and, in the kernel, over a 512-byte stack: it must stay small.
const _: () = assert!(size_of::<Facts>() <= 96);

impl Facts {
    /// Whether the frame carries a BTH.
    #[must_use]
    pub const fn is_rdma(&self) -> bool {
        matches!(self.class, Class::RoceV2 | Class::RoceV1 | Class::Infiniband)
    }

    /// The ECN field of the IP header (RFC 3168): 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    #[must_use]
    pub const fn ecn(&self) -> u8 {
        self.tos & 3
    }

    /// The DSCP of the IP header.
    #[must_use]
    pub const fn dscp(&self) -> u8 {
        self.tos >> 2
    }
}
