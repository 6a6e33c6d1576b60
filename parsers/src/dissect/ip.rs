//! The walker's way through IPv4, IPv6 and UDP.

use super::{Carried, base, tunnel};
use crate::addr::Addr;
use crate::cut::{Cut, Layer};
use crate::facts::{Class, Facts, Flags};
use crate::net::ipv4::Ipv4;
use crate::net::ipv6::{Extension, Ipv6};
use crate::net::protocol::{Protocol, port};
use crate::net::udp::Udp;
use crate::window::Window;

/// Where an IP packet ends.
#[derive(Clone, Copy)]
struct Extent {
    /// Offset just past the packet.
    end: usize,
    /// The packet left its length open (segmentation by the NIC, jumbograms): the end is the capture's.
    open: bool,
}

/// A packet whose version nibble alone tells.
pub(super) fn either<const DEPTH: usize, W: Window + ?Sized>(
    frame: &W,
    at: usize,
    facts: &mut Facts,
    carried: &mut Carried,
) -> Result<(), Cut> {
    let [first]: [u8; 1] = frame.header(at, Layer::Ipv4)?;
    match first >> 4 {
        4 => v4::<DEPTH, W>(frame, at, facts, carried),
        6 => v6::<DEPTH, W>(frame, at, facts, carried),
        _ => Ok(()),
    }
}

#[inline(always)]
pub(super) fn v4<const DEPTH: usize, W: Window + ?Sized>(
    frame: &W,
    at: usize,
    facts: &mut Facts,
    carried: &mut Carried,
) -> Result<(), Cut> {
    let ip = Ipv4::load(frame, at)?;
    if ip.version() != 4 {
        return Ok(());
    }
    let total = usize::from(ip.total_len());
    let extent = Extent { end: if total == 0 { frame.len() } else { at + total }, open: total == 0 };
    facts.src = Addr::v4(ip.src());
    facts.dst = Addr::v4(ip.dst());
    facts.tos = ip.tos();
    facts.ttl = ip.ttl();
    facts.l3 = at as u16;
    facts.end = extent.end as u32;
    if ip.is_fragment() {
        return Ok(());
    }
    payload::<DEPTH, W>(frame, ip.protocol(), at + ip.header_len(), extent, facts, carried)
}

#[inline(always)]
pub(super) fn v6<const DEPTH: usize, W: Window + ?Sized>(
    frame: &W,
    at: usize,
    facts: &mut Facts,
    carried: &mut Carried,
) -> Result<(), Cut> {
    let ip = Ipv6::load(frame, at)?;
    if ip.version() != 6 {
        return Ok(());
    }
    let len = usize::from(ip.payload_len());
    // A packet of a header alone says NONE (RFC 8200 4.7); otherwise 0 leaves the length to a jumbo option (RFC 2675)
    // or to the NIC.
    let open = len == 0 && ip.next() != Protocol::NONE;
    let extent = Extent { end: if open { frame.len() } else { at + Ipv6::LEN + len }, open };
    facts.src = Addr(ip.src());
    facts.dst = Addr(ip.dst());
    facts.tos = ip.traffic_class();
    facts.ttl = ip.hop_limit();
    facts.l3 = at as u16;
    facts.end = extent.end as u32;
    facts.flags = facts.flags.with(Flags::IPV6);
    let (next, at) = match ip.next() {
        next if Extension::follows(next) => match extensions(frame, next, at + Ipv6::LEN, extent)? {
            Some(found) => found,
            None => return Ok(()),
        },
        next => (next, at + Ipv6::LEN),
    };
    payload::<DEPTH, W>(frame, next, at, extent, facts, carried)
}

/// Steps over extension headers; `None` for a fragment, or when there are more than are looked at.
#[inline(always)]
fn extensions<W: Window + ?Sized>(
    frame: &W,
    next: Protocol,
    at: usize,
    extent: Extent,
) -> Result<Option<(Protocol, usize)>, Cut> {
    let (mut next, mut at) = (next, at);
    for _ in 0..Ipv6::EXTENSIONS {
        if !Extension::follows(next) {
            break;
        }
        let extension = Extension::load(frame, at, next)?;
        let (len, had) = (extension.header_len(), extent.end.saturating_sub(at));
        if had < len {
            return Err(Cut::new(Layer::Ipv6Extension, at, len, had));
        }
        if extension.is_fragment() {
            return Ok(None);
        }
        next = extension.next();
        at += len;
    }
    Ok(if Extension::follows(next) { None } else { Some((next, at)) })
}

/// Reads what an IP packet carries.
#[inline(always)]
fn payload<const DEPTH: usize, W: Window + ?Sized>(
    frame: &W,
    protocol: Protocol,
    at: usize,
    extent: Extent,
    facts: &mut Facts,
    carried: &mut Carried,
) -> Result<(), Cut> {
    match protocol {
        Protocol::UDP => udp::<DEPTH, W>(frame, at, extent, facts, carried),
        Protocol::GRE if DEPTH > 0 => tunnel::gre(frame, at, extent.end, carried),
        other => {
            facts.protocol = other.0;
            Ok(())
        }
    }
}

#[inline(always)]
fn udp<const DEPTH: usize, W: Window + ?Sized>(
    frame: &W,
    at: usize,
    extent: Extent,
    facts: &mut Facts,
    carried: &mut Carried,
) -> Result<(), Cut> {
    let room = extent.end.saturating_sub(at);
    if room < Udp::LEN {
        return Err(Cut::new(Layer::Udp, at, Udp::LEN, room));
    }
    let udp = Udp::load(frame, at)?;
    let end = match usize::from(udp.length()) {
        0 if extent.open => extent.end,
        0 => return Err(Cut::new(Layer::Udp, at, Udp::LEN, 0)),
        length => extent.end.min(at + length),
    };
    facts.sport = udp.src_port();
    let at = at + Udp::LEN;
    // Annex A17.4.5: the destination port alone decides; a source port can be anything.
    match udp.dst_port() {
        port::ROCE_V2 => base(frame, at, end, Class::RoceV2, facts),
        port::VXLAN | port::VXLAN_LINUX if DEPTH > 0 => tunnel::vxlan(frame, at, end, carried),
        port::GENEVE if DEPTH > 0 => tunnel::geneve(frame, at, end, carried),
        _ => {
            facts.protocol = Protocol::UDP.0;
            Ok(())
        }
    }
}
