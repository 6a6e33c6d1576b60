//! What is done with a frame that was read: the totals, its flow, the ring.
#![allow(unsafe_code, reason = "map values and helpers; each use says why it holds")]

use core::hint::black_box;

use aya_ebpf::helpers::generated;
use rocetop_parsers::abi::{Folded, Head, Key, Key4, Totals, Way, Why};
use rocetop_parsers::dissect::is_plain;
use rocetop_parsers::fold::Move;
use rocetop_parsers::ib::opcode::Traits;
use rocetop_parsers::{Bytes, Class, Facts, Link, Nanos, dissect_into};

use crate::frame::Frame;
use crate::lock;
use crate::maps::{self, RING, TOTALS, WORK, Work};
use crate::table;

/// Reads and counts a frame.
#[inline(always)]
pub(crate) fn count<F: Frame>(frame: &F, way: Way) {
    // The only entry of an array is always there.
    let Some(totals) = TOTALS.get_ptr_mut(0) else { return };
    // SAFETY: this CPU's own entry. Both hooks run with softirqs off, so neither runs inside the other.
    let totals = unsafe { &mut *totals };
    totals.seen += 1;
    let Some(work) = WORK.get_ptr_mut(0) else { return };
    // SAFETY: as above.
    let work = unsafe { &mut *work };
    (work.len, work.wire) = frame.sizes();
    totals.bytes += u64::from(work.wire);
    if is_plain(frame) {
        return;
    }
    let mut facts = Facts::default();
    if dissect_into::<0, _>(frame, Link::Ethernet, &mut facts).is_err() {
        totals.undecodable += 1;
        return;
    }
    if facts.class == Class::Other {
        return;
    }
    work.keep(&facts);
    let work = black_box(work);
    totals.named_bytes += u64::from(work.wire);
    match work.class {
        Class::RoceV2 | Class::RoceV1 => roce(work, way, totals),
        Class::Pause => {
            totals.pauses += 1;
            (work.why, work.skipped) = (Why::PAUSE.both(maps::events()), 0);
        }
        _ => return,
    }
    let work = black_box(work);
    if work.why.has(Why::CM) {
        emit::<F, { Head::FRAME_CM }>(frame, work, way, totals);
    } else if work.why != Why::default() {
        emit::<F, { Head::FRAME }>(frame, work, way, totals);
    }
}

#[inline(always)]
fn roce(work: &mut Work, way: Way, totals: &mut Totals) {
    kinds(work, totals);
    let work = black_box(work);
    let facts = &work.facts();
    (work.why, work.skipped) = (Why::default(), 0);
    match fold(facts, facts.opcode.traits(), Bytes(u64::from(work.wire)), way) {
        Some(folded) => {
            work.why = Why::of_folded(&folded);
            if let (Move::Ahead(n), _) | (_, Move::Ahead(n)) = (folded.request, folded.response) {
                work.skipped = n;
            }
        }
        None => totals.overflow += 1,
    }
    let work = black_box(work);
    let facts = &work.facts();
    let mut why = work.why.with(Why::of(facts, facts.opcode.traits()));
    if maps::events().has(Why::HEADERS) && sampled() {
        why = why.with(Why::HEADERS);
    }
    work.why = why.both(maps::events());
}

/// Counts a packet's marks and opcode.
#[inline(always)]
fn kinds(work: &Work, totals: &mut Totals) {
    let facts = work.facts();
    if let Some(ecn) = totals.ecn.get_mut(usize::from(facts.ecn() & 3)) {
        *ecn += 1;
    }
    if let Some(opcode) = totals.opcodes.get_mut(usize::from(facts.opcode.0)) {
        *opcode += 1;
    }
}

/// Whether this packet is in the sample. Chance, not every n-th: traffic has periods of its own.
#[inline(always)]
fn sampled() -> bool {
    let n = maps::sample();
    // SAFETY: takes nothing.
    n <= 1 || unsafe { generated::bpf_get_prandom_u32() } % n == 0
}

/// Adds a packet to its flow; `None` when there is no room for another flow.
#[inline(always)]
fn fold(facts: &Facts, traits: Traits, wire: Bytes, way: Way) -> Option<Folded> {
    // Flows need no better clock than the rates that are made of them.
    // SAFETY: takes nothing.
    let now = Nanos(unsafe { generated::bpf_ktime_get_coarse_ns() });
    let (key, narrow) = (Key::of(facts, way), Key4::of(facts, way));
    let flow = table::find(&key, narrow).or_else(|| table::begin(&key, narrow))?;
    // SAFETY: the entry cannot go away while the program runs, and once it is a flow's nobody changes it who does not
    // hold its lock, but for the two sums that only ever are added to in one go.
    unsafe {
        if !lock::take(&raw mut (*flow).lock) {
            lock::add(&raw mut (*flow).late_packets, 1);
            lock::add(&raw mut (*flow).late_bytes, wire.0);
            return Some(Folded { first: false, request: Move::None, response: Move::None });
        }
        // Userland may have taken the flow out meanwhile.
        let here = (*flow).is_elsewhere() || narrow.is_some_and(|narrow| (*flow).is_at(&narrow));
        let folded = if here { Some((*flow).fold(facts, traits, wire, now)) } else { None };
        lock::leave(&raw mut (*flow).lock);
        folded
    }
}

/// Sends the head and the first bytes of a frame through the ring.
#[inline(always)]
fn emit<F: Frame, const ROOM: usize>(frame: &F, work: &Work, way: Way, totals: &mut Totals) {
    let Some(mut record) = RING.reserve_bytes(Head::LEN + ROOM, 0) else {
        totals.ring_drops += 1;
        return;
    };
    // At least one byte and at most ROOM, in a way that the verifier follows: no frame is empty.
    const { assert!(ROOM.is_power_of_two()) };
    let captured = (work.len.min(ROOM as u32).wrapping_sub(1) & (ROOM as u32 - 1)) + 1;
    let vlan = frame.vlan();
    let head = Head {
        // SAFETY: takes nothing.
        time: Nanos(unsafe { generated::bpf_ktime_get_ns() }),
        wire: work.wire,
        ifindex: frame.ifindex(),
        why: work.why,
        skipped: work.skipped,
        captured,
        vlan: vlan.unwrap_or_default(),
        way: way as u8,
        flags: if vlan.is_some() { Head::VLAN } else { 0 },
    };
    let at = record.as_mut_ptr();
    // SAFETY: the record has room for a head and ROOM bytes, is aligned to eight, and `captured` is at most ROOM.
    let whole = unsafe {
        at.cast::<Head>().write(head);
        frame.copy(at.add(Head::LEN), captured)
    };
    if whole {
        record.submit(0);
    } else {
        record.discard(0);
        totals.ring_drops += 1;
    }
}
