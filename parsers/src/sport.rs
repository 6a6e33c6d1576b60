//! How Linux chooses the UDP source port of a RoCEv2 packet: what lets a pair of queue pairs be proved from a port.
//!
//! The port is all the entropy that ECMP sees, at most 14 bits of it. It comes from a flow label; without one, from
//! the two queue pair numbers; with the RDMA connection manager over IPv4, from the TCP-like ports of the connection.

use core::fmt;

use crate::units::Qpn;

/// The lowest port that these functions give (Linux `ib_verbs.h`, IB_ROCE_UDP_ENCAP_VALID_PORT_MIN).
pub const LOWEST: u16 = 0xc000;

/// A flow label: 20 bits (IBTA 8.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct FlowLabel(u32);

impl FlowLabel {
    /// The low 20 bits of `n`.
    #[must_use]
    pub const fn new(n: u32) -> Self {
        Self(n & 0xf_ffff)
    }

    /// The label, below 2^20.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for FlowLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#07x}", self.0)
    }
}

/// The port that a flow label gives (Linux `ib_verbs.h`, rdma_flow_label_to_udp_sport): its low 14 bits, with the high
/// six folded onto them.
#[must_use]
pub const fn of_label(label: FlowLabel) -> u16 {
    LOWEST | (label.0 & 0x3fff ^ label.0 >> 14) as u16
}

/// The flow label of a connected pair that was given none (Linux `ib_verbs.h`, rdma_calc_flow_label): the product of
/// the two numbers, folded to 20 bits. The same from either end.
#[must_use]
pub const fn label_of_qps(a: Qpn, b: Qpn) -> FlowLabel {
    let mut product = a.0 as u64 * b.0 as u64;
    product ^= product >> 20;
    product ^= product >> 40;
    FlowLabel::new(product as u32)
}

/// The flow label of a connection made by the RDMA connection manager over IPv4, or IPv6 without flow information
/// (Linux `cma.c`, cma_get_roce_udp_flow_label): the requester's port times 31, plus the service's. Both ends use it.
#[must_use]
pub const fn label_of_ports(sport: u16, dport: u16) -> FlowLabel {
    FlowLabel::new(sport as u32 * 31 + dport as u32)
}

/// The port of a connected pair that was given no flow label.
#[must_use]
pub const fn of_qps(a: Qpn, b: Qpn) -> u16 {
    of_label(label_of_qps(a, b))
}

/// The port of a connection made by the RDMA connection manager.
#[must_use]
pub const fn of_ports(sport: u16, dport: u16) -> u16 {
    of_label(label_of_ports(sport, dport))
}

/// The port that Soft-RoCE gives to a datagram of queue pair `src` (Linux `rxe_qp.c`: `hash_32` of the number, 14
/// bits). Older kernels use it for connected ones too. It depends on the sender alone.
#[must_use]
pub const fn of_rxe_source(src: Qpn) -> u16 {
    LOWEST + (src.0.wrapping_mul(0x61c8_8647) >> 18) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_roce_datagrams() {
        assert_eq!(of_rxe_source(Qpn::GSI), 55410);
        assert_eq!(of_rxe_source(Qpn(0x17)), 62017);
        // A UD program of the lab: queue pair 0x32.
        assert_eq!(of_rxe_source(Qpn(0x32)), 0xc64a);
    }

    #[test]
    fn connected_pairs() {
        // Both ends are 19 in the lossy WRITE run of the lab, 18 in the run of all operations.
        assert_eq!(of_qps(Qpn(19), Qpn(19)), 49513);
        assert_eq!(of_qps(Qpn(18), Qpn(18)), 0xc144);
        // A product of 48 bits: 0xffffff squared is 0xfffffe000001, in pieces of 20 bits 0x00001, 0xfffe0 and 0xff.
        assert_eq!(label_of_qps(Qpn(0xff_ffff), Qpn(0xff_ffff)), FlowLabel::new(0x00001 ^ 0xfffe0 ^ 0xff));
        assert_eq!(of_qps(Qpn(0x1234), Qpn(0xab_cdef)), of_qps(Qpn(0xab_cdef), Qpn(0x1234)));
    }

    #[test]
    fn connection_manager() {
        // The lab's rping, over IPv4 and IPv6: the label that its connection request carries.
        assert_eq!(label_of_ports(0xa1e6, 7174), FlowLabel::new(0x3b6e0));
        assert_eq!(label_of_ports(0xadc1, 7174), FlowLabel::new(0x52665));
        assert_eq!(of_ports(0xa1e6, 7174), 0xf6ee);
        assert_eq!(FlowLabel::new(0x3b6e0).to_string(), "0x3b6e0");
    }

    #[test]
    fn a_label_is_20_bits() {
        assert_eq!(FlowLabel::new(u32::MAX).get(), 0xf_ffff);
        assert_eq!(of_label(FlowLabel::new(0xf_ffff)), 0xc000 | 0x3fff ^ 0x3f);
    }
}
