//! A glance at a frame, for the kernel: most frames of most hosts are no RoCE, and should cost next to nothing.

use crate::ib::be::get16;
use crate::link::ethernet::{EtherType, Ethernet};
use crate::net::ipv4::Ipv4;
use crate::net::protocol::{Protocol, port};
use crate::net::udp::Udp;
use crate::window::Window;

/// Ethernet, IPv4 without options, and UDP.
const GLANCE: usize = Ethernet::LEN + Ipv4::LEN + Udp::LEN;
const ETHERTYPE: usize = 12;
/// Version and header length, and the TOS behind them.
const VERSION: usize = Ethernet::LEN;
const TOTAL: usize = Ethernet::LEN + 2;
/// The TTL before it, and the protocol.
const PROTOCOL: usize = Ethernet::LEN + 8;
const DST_PORT: usize = Ethernet::LEN + Ipv4::LEN + 2;
const LENGTH: usize = DST_PORT + 2;

/// Whether an Ethernet frame surely is none that [`dissect`](super::dissect()) finds anything in at depth 0: IPv4
/// without tags or options, whole as far as UDP goes, and not for RoCE. `false` says nothing.
#[inline(always)]
pub fn is_plain<W: Window + ?Sized>(frame: &W) -> bool {
    let Some(b) = frame.load::<GLANCE>(0) else { return false };
    if get16::<ETHERTYPE, GLANCE>(&b) != EtherType::IPV4.0 {
        return false;
    }
    let version = get16::<VERSION, GLANCE>(&b) >> 8;
    if version != 0x45 || usize::from(get16::<TOTAL, GLANCE>(&b)) < Ipv4::LEN + Udp::LEN {
        return false;
    }
    if get16::<PROTOCOL, GLANCE>(&b) & 0xff != u16::from(Protocol::UDP.0) {
        return true;
    }
    get16::<DST_PORT, GLANCE>(&b) != port::ROCE_V2 && usize::from(get16::<LENGTH, GLANCE>(&b)) >= Udp::LEN
}
