//! The maps and settings: what userland finds by name.
#![allow(unsafe_code, reason = "symbols that the loader finds by name; no other object is linked in")]

use aya_ebpf::Global;
use aya_ebpf::bindings::BPF_F_MMAPABLE;
use aya_ebpf::btf_maps::{Array, HashMap, PerCpuArray, RingBuf};
use aya_ebpf::macros::btf_map;
use rocetop_parsers::abi::{Flow, Key, Totals, Why};
use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::aeth::Aeth;
use rocetop_parsers::ib::opcode::Opcode;
use rocetop_parsers::{Addr, Class, Facts, Psn, Qpn};

/// Flows of a map, where userland says nothing else.
const FLOWS: usize = 65_536;

/// RoCEv2 over IPv4, a flow at one of the places that its key names. Userland maps it, which is why it begins with a
/// page: each flow has its cache lines to itself.
#[btf_map]
pub(crate) static FLOWS4: Array<Flow, FLOWS, { BPF_F_MMAPABLE as usize }> = Array::new();

/// All other flows, and those that find their places taken. A plain hash: no lock goes into one that evicts, and an
/// evicted flow is a figure that is gone.
#[btf_map]
pub(crate) static FLOWS6: HashMap<Key, Flow, FLOWS> = HashMap::new();

/// Sums over all frames; one entry.
#[btf_map]
pub(crate) static TOTALS: PerCpuArray<Totals, 1> = PerCpuArray::new();

/// The frame at work.
#[btf_map]
pub(crate) static WORK: PerCpuArray<Work, 1> = PerCpuArray::new();

/// What is known of the frame at work. It lies in a map and not on the stack, as the verifier forgets what it knew of a
/// map's values: what it learns on each of the many ways through the walker would otherwise go with it into the fold,
/// and from there to the ring, and it would have to follow each way with each.
///
/// Only what the fold looks at: whatever else the walker finds need not be worked out at all.
#[repr(C)]
pub(crate) struct Work {
    src: Addr,
    dst: Addr,
    dst_qp: Qpn,
    psn: Psn,
    src_qp: Qpn,
    aeth: Aeth,
    dma_len: u32,
    payload: u32,
    sport: u16,
    flags: Flags,
    opcode: Opcode,
    tos: u8,
    pub(crate) class: Class,
    /// Bytes of the frame.
    pub(crate) len: u32,
    /// Length on the wire, without FCS: a VLAN tag may be kept beside the bytes.
    pub(crate) wire: u32,
    /// Why it is to go through the ring.
    pub(crate) why: Why,
    /// PSNs skipped just before it.
    pub(crate) skipped: u32,
}

impl Work {
    /// Keeps what is needed of a frame's facts.
    #[inline(always)]
    pub(crate) fn keep(&mut self, facts: &Facts) {
        self.src = facts.src;
        self.dst = facts.dst;
        self.dst_qp = facts.dst_qp;
        self.psn = facts.psn;
        self.src_qp = facts.src_qp;
        self.aeth = facts.aeth;
        self.dma_len = facts.dma_len;
        self.payload = facts.payload;
        self.sport = facts.sport;
        self.flags = facts.flags;
        self.opcode = facts.opcode;
        self.tos = facts.tos;
        self.class = facts.class;
    }

    /// The facts that were kept.
    #[inline(always)]
    pub(crate) fn facts(&self) -> Facts {
        Facts {
            src: self.src,
            dst: self.dst,
            dst_qp: self.dst_qp,
            psn: self.psn,
            src_qp: self.src_qp,
            aeth: self.aeth,
            dma_len: self.dma_len,
            payload: self.payload,
            sport: self.sport,
            flags: self.flags,
            opcode: self.opcode,
            tos: self.tos,
            class: self.class,
            ..Facts::default()
        }
    }
}

/// Frames that userland is to see.
#[btf_map]
pub(crate) static RING: RingBuf<u8, { 1 << 22 }> = RingBuf::new();

/// Places in `FLOWS4`, less one: a power of two, less one.
#[unsafe(no_mangle)]
static MASK: Global<u32> = Global::new(FLOWS as u32 - 1);

/// The reasons for which a frame goes through the ring.
#[unsafe(no_mangle)]
static EVENTS: Global<u32> = Global::new(Why::TELLING.0);

/// With [`Why::HEADERS`]: one RoCE packet in so many.
#[unsafe(no_mangle)]
static SAMPLE: Global<u32> = Global::new(1);

#[inline(always)]
pub(crate) fn mask() -> u32 {
    MASK.load()
}

#[inline(always)]
pub(crate) fn events() -> Why {
    Why(EVENTS.load())
}

#[inline(always)]
pub(crate) fn sample() -> u32 {
    SAMPLE.load()
}
