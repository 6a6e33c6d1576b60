//! The one packet walker: from the first byte of a frame to [`Facts`].
//!
//! The way to a RoCEv2 packet on plain Ethernet is one straight line: a load a header, no loop. Everything that
//! only captures have (tunnels, MPLS) hangs behind `DEPTH > 0` and is not compiled for the kernel.

mod ip;
mod plain;
mod tunnel;

pub use plain::is_plain;

use crate::addr::Addr;
use crate::cut::{Cut, Layer};
use crate::facts::{Class, Facts, Flags, Tunnel};
use crate::ib::grh::Grh;
use crate::ib::lrh::{Lnh, Lrh};
use crate::ib::{bth::Bth, transport};
use crate::link::erf::{self, Erf};
use crate::link::ethernet::{EtherType, Ethernet};
use crate::link::loopback::Loopback;
use crate::link::sll::{Sll1, Sll2};
use crate::link::{pause, vlan::Vlan};
use crate::net::protocol::Protocol;
use crate::window::Window;

/// What a frame starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each name is the link type's own")]
pub enum Link {
    Ethernet,
    /// LINKTYPE_RAW, LINKTYPE_IPV4, LINKTYPE_IPV6: the version nibble tells.
    RawIp,
    LinuxCooked1,
    LinuxCooked2,
    Infiniband,
    Erf,
    /// LINKTYPE_NULL.
    BsdNull,
    /// LINKTYPE_LOOP.
    BsdLoop,
}

impl Link {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Ethernet,
        Self::RawIp,
        Self::LinuxCooked1,
        Self::LinuxCooked2,
        Self::Infiniband,
        Self::Erf,
        Self::BsdNull,
        Self::BsdLoop,
    ];
}

/// Bytes of the ICRC, the last thing of every packet with a BTH (IBTA 7.8.1).
const ICRC: usize = 4;

/// The header that a walk comes to next.
#[derive(Clone, Copy)]
enum Next {
    Ethernet,
    Typed(EtherType),
    Ip,
    Lrh,
}

/// What a packet carries in a tunnel: the header to go on with, where it is, and where the tunnel's payload ends.
#[derive(Clone, Copy)]
struct Inner {
    tunnel: Tunnel,
    next: Next,
    at: usize,
    end: usize,
}

/// Where a walk leaves the tunnel that a packet carries. It is no part of the result: an error and a tunnel in one
/// enum are merged byte by byte on the way of every frame, which stalls the CPU for a third of the walk.
type Carried = Option<Inner>;

/// Walks one frame. `DEPTH` is how many encapsulations are looked into: 0 in the kernel, 2 over capture files.
///
/// GRE, ERSPAN, VXLAN and GENEVE cost one of `DEPTH` each; an MPLS stack costs none, but is not looked into at 0.
/// When RoCE is found in a tunnel, all facts are the inner packet's and [`Facts::tunnel`] names the innermost
/// encapsulation around it. When it is not, the facts are the outermost IP packet's, with [`Class::Other`].
/// A length in the frame outranks the capture: bytes past the IP total length are no part of the packet, and a
/// datagram to port 4791 that has no room for BTH and ICRC is [`Class::Other`]. Every longer one is
/// [`Class::RoceV2`]: whether it is what it says is for the ICRC to tell. Pause frames have the offset of their opcode
/// in [`Facts::l3`], for [`pause::Pause::load`].
///
/// # Errors
/// [`Cut`] when the frame ends before its kind is known, up to and including the BTH. A cut further on yields the
/// facts before it, with [`crate::facts::Flags::CUT`].
#[inline(always)]
pub fn dissect<const DEPTH: usize, W: Window + ?Sized>(frame: &W, link: Link) -> Result<Facts, Cut> {
    let mut facts = Facts::default();
    dissect_into::<DEPTH, W>(frame, link, &mut facts)?;
    Ok(facts)
}

/// [`dissect`] straight to where the facts are to be: to copy what was written field by field stalls the CPU.
///
/// # Errors
/// As [`dissect`]; `facts` then hold nothing of use.
#[inline(always)]
pub fn dissect_into<const DEPTH: usize, W: Window + ?Sized>(
    frame: &W,
    link: Link,
    facts: &mut Facts,
) -> Result<(), Cut> {
    // Offsets in `Facts` have 16 bits: one level of headers takes at most 9 KiB of them (four IPv6 extensions).
    const { assert!(DEPTH <= 4) };
    *facts = Facts::default();
    match link {
        Link::Ethernet => whole::<DEPTH, W>(frame, Next::Ethernet, 0, facts),
        _ => other_link::<DEPTH, W>(frame, link, facts),
    }
}

/// Reads the packet at `at` and what it carries.
#[inline(always)]
fn whole<const DEPTH: usize, W: Window + ?Sized>(
    frame: &W,
    next: Next,
    at: usize,
    facts: &mut Facts,
) -> Result<(), Cut> {
    let mut carried = None;
    packet::<DEPTH, W>(frame, next, at, facts, &mut carried)?;
    close(frame, facts);
    match carried {
        Some(inner) if DEPTH > 0 => tunnel::walk::<DEPTH, W>(frame, inner, facts),
        _ => Ok(()),
    }
}

/// Marks what the capture cut.
#[inline(always)]
fn close<W: Window + ?Sized>(frame: &W, facts: &mut Facts) {
    facts.flags = facts.flags.when(!frame.holds(facts.end as usize), Flags::CUT);
}

/// Steps over the header that a capture puts before the first real one. Out of line, as it is rare.
#[inline(never)]
fn other_link<const DEPTH: usize, W: Window + ?Sized>(frame: &W, link: Link, facts: &mut Facts) -> Result<(), Cut> {
    let (next, at) = match link {
        Link::Ethernet => (Next::Ethernet, 0),
        Link::RawIp => (Next::Ip, 0),
        Link::Infiniband => (Next::Lrh, 0),
        Link::LinuxCooked1 => match Sll1::load(frame, 0)?.ethertype() {
            Some(ethertype) => (Next::Typed(ethertype), Sll1::LEN),
            None => return Ok(()),
        },
        Link::LinuxCooked2 => {
            let sll = Sll2::load(frame, 0)?;
            facts.ifindex = sll.ifindex();
            match sll.ethertype() {
                Some(ethertype) => (Next::Typed(ethertype), Sll2::LEN),
                None => return Ok(()),
            }
        }
        Link::BsdNull | Link::BsdLoop => match Loopback::load(frame, 0)?.ethertype() {
            Some(ethertype) => (Next::Typed(ethertype), Loopback::LEN),
            None => return Ok(()),
        },
        Link::Erf => {
            let record = Erf::load(frame, 0)?;
            let next = match record.kind() {
                kind if kind.is_ethernet() => Next::Ethernet,
                erf::Kind::INFINIBAND => Next::Lrh,
                erf::Kind::IPV4 | erf::Kind::IPV6 => Next::Ip,
                _ => return Ok(()),
            };
            match record.frame_at(frame, 0)? {
                Some(at) => (next, at),
                None => return Ok(()),
            }
        }
    };
    whole::<DEPTH, W>(frame, next, at, facts)
}

/// Reads one packet from its link header on.
#[inline(always)]
fn packet<const DEPTH: usize, W: Window + ?Sized>(
    frame: &W,
    next: Next,
    at: usize,
    facts: &mut Facts,
    carried: &mut Carried,
) -> Result<(), Cut> {
    match next {
        Next::Ethernet => {
            let ethernet = Ethernet::load(frame, at)?;
            typed::<DEPTH, W>(frame, ethernet.ethertype(), at + Ethernet::LEN, facts, carried)
        }
        Next::Typed(ethertype) => typed::<DEPTH, W>(frame, ethertype, at, facts, carried),
        Next::Ip => ip::either::<DEPTH, W>(frame, at, facts, carried),
        Next::Lrh => lrh(frame, at, facts),
    }
}

/// Reads what an EtherType announces, behind two tags at most.
#[inline(always)]
fn typed<const DEPTH: usize, W: Window + ?Sized>(
    frame: &W,
    ethertype: EtherType,
    at: usize,
    facts: &mut Facts,
    carried: &mut Carried,
) -> Result<(), Cut> {
    let (mut ethertype, mut at) = (ethertype, at);
    const { assert!(Vlan::DEPTH == 2) };
    if ethertype.is_tag() {
        (ethertype, at) = tag(frame, at, facts)?;
        if ethertype.is_tag() {
            (ethertype, at) = tag(frame, at, facts)?;
        }
    }
    match ethertype {
        EtherType::IPV4 => ip::v4::<DEPTH, W>(frame, at, facts, carried),
        EtherType::IPV6 => ip::v6::<DEPTH, W>(frame, at, facts, carried),
        EtherType::ROCE_V1 => grh(frame, at, usize::MAX, Class::RoceV1, facts),
        EtherType::MAC_CONTROL => mac_control(frame, at, facts),
        EtherType::MPLS | EtherType::MPLS_UPSTREAM if DEPTH > 0 => tunnel::mpls(frame, at, carried),
        _ => Ok(()),
    }
}

/// Reads a tag; the innermost one stays in the facts.
#[inline(always)]
fn tag<W: Window + ?Sized>(frame: &W, at: usize, facts: &mut Facts) -> Result<(EtherType, usize), Cut> {
    let tag = Vlan::load(frame, at)?;
    facts.vlan = tag.tci();
    facts.flags = facts.flags.with(Flags::VLAN);
    Ok((tag.ethertype(), at + Vlan::LEN))
}

/// The opcode alone tells: a pause frame to another address than 01:80:C2:00:00:01 stops a sender as well (802.3
/// 31B.1).
#[inline(always)]
fn mac_control<W: Window + ?Sized>(frame: &W, at: usize, facts: &mut Facts) -> Result<(), Cut> {
    if let Some(len) = pause::Opcode::load(frame, at)?.frame_len() {
        facts.class = Class::Pause;
        facts.l3 = at as u16;
        facts.end = (at + len) as u32;
    }
    Ok(())
}

fn lrh<W: Window + ?Sized>(frame: &W, at: usize, facts: &mut Facts) -> Result<(), Cut> {
    let lrh = Lrh::load(frame, at)?;
    let end = at + lrh.packet_len();
    facts.l3 = at as u16;
    match lrh.lnh() {
        Lnh::Local => {
            facts.src = Addr::lid(lrh.slid());
            facts.dst = Addr::lid(lrh.dlid());
            base(frame, at + Lrh::LEN, end, Class::Infiniband, facts)
        }
        Lnh::Global => grh(frame, at + Lrh::LEN, end, Class::Infiniband, facts),
        Lnh::RawEtherType | Lnh::RawIpv6 => Ok(()),
    }
}

/// `limit` is where the link header ends the packet, if it does.
#[inline(always)]
fn grh<W: Window + ?Sized>(frame: &W, at: usize, limit: usize, class: Class, facts: &mut Facts) -> Result<(), Cut> {
    // A packet that its own length keeps from holding the GRH is cut by that, whatever follows in the capture.
    if limit.saturating_sub(at) < Grh::LEN {
        return Err(Cut::new(Layer::Grh, at, Grh::LEN, limit.saturating_sub(at)));
    }
    let grh = Grh::load(frame, at)?;
    if grh.version() != 6 {
        return Ok(());
    }
    facts.src = grh.src();
    facts.dst = grh.dst();
    facts.tos = grh.traffic_class();
    facts.ttl = grh.hop_limit();
    facts.l3 = at as u16;
    if grh.next() != Protocol::IBA {
        return Ok(());
    }
    let bth = at + Grh::LEN;
    base(frame, bth, limit.min(bth + usize::from(grh.payload_len())), class, facts)
}

/// Reads the transport at `at` of a packet that ends at `end`; one without room for BTH and ICRC is none.
#[inline(always)]
fn base<W: Window + ?Sized>(frame: &W, at: usize, end: usize, class: Class, facts: &mut Facts) -> Result<(), Cut> {
    facts.end = end as u32;
    if end.saturating_sub(at) >= Bth::LEN + ICRC {
        facts.class = class;
        transport::fill(frame, at, end, facts)?;
    }
    Ok(())
}
