//! A short look at a frame, for who only wants to know whose it is.

use crate::addr::Addr;
use crate::dissect::Link;
use crate::ib::bth::Bth;
use crate::link::ethernet::{EtherType, Ethernet};
use crate::net::ipv4::Ipv4;
use crate::net::ipv6::Ipv6;
use crate::net::protocol::{Protocol, port};
use crate::net::udp::Udp;
use crate::window::Window;

/// Source and destination address of a plain RoCEv2 frame: Ethernet without tags, IPv4 without options or IPv6
/// without extension headers, UDP to port 4791, and a BTH that was captured.
///
/// `None` tells nothing: only the walker knows. Otherwise [`dissect`](crate::dissect()) is sure to yield facts with
/// these addresses, at any depth.
#[inline(always)]
pub fn endpoints<W: Window + ?Sized>(frame: &W, link: Link) -> Option<(Addr, Addr)> {
    if link != Link::Ethernet {
        return None;
    }
    let at = Ethernet::LEN;
    match Ethernet::load(frame, 0).ok()?.ethertype() {
        EtherType::IPV4 => {
            let ip = Ipv4::load(frame, at).ok()?;
            let plain = ip.version() == 4 && ip.header_len() == Ipv4::LEN && !ip.is_fragment();
            let pair = (Addr::v4(ip.src()), Addr::v4(ip.dst()));
            (plain && leads_to_bth(frame, ip.protocol(), at + Ipv4::LEN, usize::from(ip.total_len()), Ipv4::LEN))
                .then_some(pair)
        }
        EtherType::IPV6 => {
            let ip = Ipv6::load(frame, at).ok()?;
            let pair = (Addr(ip.src()), Addr(ip.dst()));
            (ip.version() == 6 && leads_to_bth(frame, ip.next(), at + Ipv6::LEN, usize::from(ip.payload_len()), 0))
                .then_some(pair)
        }
        _ => None,
    }
}

/// Whether the walk goes on to the BTH behind the UDP header at `at`. `len` is what the IP header says, of which
/// `header` bytes lie before.
#[inline(always)]
fn leads_to_bth<W: Window + ?Sized>(frame: &W, protocol: Protocol, at: usize, len: usize, header: usize) -> bool {
    protocol == Protocol::UDP
        && len >= header + Udp::LEN
        && Udp::load(frame, at).is_ok_and(|udp| udp.length() != 0 && udp.dst_port() == port::ROCE_V2)
        && Bth::load(frame, at + Udp::LEN).is_ok()
}
