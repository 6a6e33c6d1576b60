//! The walker's way into tunnels: not compiled for the kernel, which sees no mirrors.

use super::{Carried, Inner, Next, close, packet};
use crate::cut::{Cut, Layer};
use crate::facts::{Class, Facts, Flags, Tunnel};
use crate::link::ethernet::EtherType;
use crate::link::mpls::Mpls;
use crate::net::erspan::Erspan;
use crate::net::geneve::Geneve;
use crate::net::gre::Gre;
use crate::net::vxlan::Vxlan;
use crate::window::Window;

/// Bytes of a pseudowire control word (RFC 4385 3).
const CONTROL_WORD: usize = 4;

/// A frame as a tunnel carries it: nothing past the outer packet's end belongs to it.
struct Within<'a, W: ?Sized> {
    frame: &'a W,
    end: usize,
}

impl<W: Window + ?Sized> Window for Within<'_, W> {
    #[inline(always)]
    fn load<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        if at.checked_add(N)? > self.end { None } else { self.frame.load(at) }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.frame.len().min(self.end)
    }
}

/// Follows tunnels from the packet with these facts, which stay when there is no RoCE in them.
#[inline(never)]
pub(super) fn walk<const DEPTH: usize, W: Window + ?Sized>(
    frame: &W,
    inner: Inner,
    found: &mut Facts,
) -> Result<(), Cut> {
    let mut outer = *found;
    let (mut last, mut end, mut next) = (outer, usize::MAX, Some(inner));
    let (mut depth, mut stacks) = (DEPTH, 1);
    // At most DEPTH tunnels, and one label stack before and after each.
    for _ in 0..2 * DEPTH + 1 {
        let Some(inner) = next else { break };
        let mut facts = Facts { tunnel: inner.tunnel, ifindex: outer.ifindex, ..Facts::default() };
        if inner.tunnel == Tunnel::Mpls {
            if stacks == 0 {
                break;
            }
            stacks -= 1;
            // A stack is no packet of its own: the tag before it still holds.
            facts.vlan = last.vlan;
            facts.flags = facts.flags.when(last.flags.has(Flags::VLAN), Flags::VLAN);
        } else {
            if depth == 0 {
                break;
            }
            depth -= 1;
            stacks = 1;
        }
        end = end.min(inner.end);
        let within = Within { frame, end };
        next = None;
        packet::<DEPTH, _>(&within, inner.next, inner.at, &mut facts, &mut next)?;
        close(&within, &mut facts);
        if facts.is_rdma() {
            *found = facts;
            return Ok(());
        }
        if inner.tunnel == Tunnel::Mpls && depth == DEPTH && !matches!(facts.class, Class::Pause) {
            outer = facts;
        }
        last = facts;
    }
    *found = outer;
    Ok(())
}

/// The label stack at `at`. What is below it says so by its first nibble only (RFC 4928 3): 4 and 6 are IP, 0 is a
/// control word and, as a guess, Ethernet behind it.
#[inline(never)]
pub(super) fn mpls<W: Window + ?Sized>(frame: &W, at: usize, carried: &mut Carried) -> Result<(), Cut> {
    let Some(at) = Mpls::below(frame, at)? else { return Ok(()) };
    let [first]: [u8; 1] = frame.header(at, Layer::Mpls)?;
    let (next, at) = match first >> 4 {
        4 | 6 => (Next::Ip, at),
        0 => (Next::Ethernet, at + CONTROL_WORD),
        _ => return Ok(()),
    };
    *carried = Some(Inner { tunnel: Tunnel::Mpls, next, at, end: frame.len() });
    Ok(())
}

/// Whether a packet that ends at `end` has room for a tunnel header of `len` bytes at `at`: one that has not carries
/// nothing, which is not a cut.
fn fits(at: usize, len: usize, end: usize) -> bool {
    end.saturating_sub(at) >= len
}

#[inline(never)]
pub(super) fn gre<W: Window + ?Sized>(frame: &W, at: usize, end: usize, carried: &mut Carried) -> Result<(), Cut> {
    if !fits(at, Gre::LEN, end) {
        return Ok(());
    }
    let gre = Gre::load(frame, at)?;
    if gre.version() != 0 || gre.has_routing() {
        return Ok(());
    }
    let at = at + gre.header_len();
    let (tunnel, next, at) = match gre.protocol() {
        // Type I has no sequence number, which is what tells it from type II (draft-foschiano-erspan-03 4.1).
        EtherType::ERSPAN2 if !gre.has_sequence() => (Tunnel::Erspan1, Next::Ethernet, at),
        EtherType::ERSPAN2 if fits(at, Erspan::LEN2, end) => {
            let erspan = Erspan::load2(frame, at)?;
            if erspan.version() != 1 {
                return Ok(());
            }
            (Tunnel::Erspan2, Next::Ethernet, at + erspan.header_len())
        }
        EtherType::ERSPAN3 if fits(at, Erspan::LEN3, end) => {
            let erspan = Erspan::load3(frame, at)?;
            let next = match (erspan.version(), erspan.frame_type()) {
                (2, 0) => Next::Ethernet,
                (2, 2) => Next::Ip,
                _ => return Ok(()),
            };
            (Tunnel::Erspan3, next, at + erspan.header_len())
        }
        EtherType::BRIDGED => (Tunnel::Gre, Next::Ethernet, at),
        other @ (EtherType::IPV4 | EtherType::IPV6 | EtherType::MPLS | EtherType::MPLS_UPSTREAM) => {
            (Tunnel::Gre, Next::Typed(other), at)
        }
        _ => return Ok(()),
    };
    *carried = Some(Inner { tunnel, next, at, end });
    Ok(())
}

#[inline(never)]
pub(super) fn vxlan<W: Window + ?Sized>(frame: &W, at: usize, end: usize, carried: &mut Carried) -> Result<(), Cut> {
    if !fits(at, Vxlan::LEN, end) || !Vxlan::load(frame, at)?.valid() {
        return Ok(());
    }
    *carried = Some(Inner { tunnel: Tunnel::Vxlan, next: Next::Ethernet, at: at + Vxlan::LEN, end });
    Ok(())
}

#[inline(never)]
pub(super) fn geneve<W: Window + ?Sized>(frame: &W, at: usize, end: usize, carried: &mut Carried) -> Result<(), Cut> {
    if !fits(at, Geneve::LEN, end) {
        return Ok(());
    }
    let geneve = Geneve::load(frame, at)?;
    if geneve.version() != 0 || geneve.control() {
        return Ok(());
    }
    let next = match geneve.protocol() {
        EtherType::BRIDGED => Next::Ethernet,
        other @ (EtherType::IPV4 | EtherType::IPV6 | EtherType::MPLS) => Next::Typed(other),
        _ => return Ok(()),
    };
    *carried = Some(Inner { tunnel: Tunnel::Geneve, next, at: at + geneve.header_len(), end });
    Ok(())
}
