//! Sums over all frames.

mod bins;
pub(crate) mod mix;
pub mod pauses;
pub mod pulse;

pub use bins::Bins;
pub use pulse::Pulse;

use rocetop_parsers::abi::Totals as Frames;
use rocetop_parsers::facts::Class;
use rocetop_parsers::ib::opcode::Opcode;
use rocetop_parsers::{Bytes, Nanos};

use crate::event::Packet;

/// Sums over all frames that were read.
#[derive(Clone, Debug)]
pub struct Totals {
    /// Frames by class.
    pub rocev2: u64,
    /// EtherType 0x8915.
    pub rocev1: u64,
    /// Native InfiniBand.
    pub infiniband: u64,
    /// PFC and global pause.
    pub pause: u64,
    /// None of these.
    pub other: u64,
    /// Frames that end before their kind is known, or whose link type is unknown.
    pub undecodable: u64,
    /// Bytes on the wire of all of them.
    pub bytes: Bytes,
    /// Time of the last frame.
    pub last: Nanos,
    /// Frames with a BTH by ECN field: not-ECT, ECT(1), ECT(0), CE.
    pub ecn: [u64; 4],
    /// Frames with a BTH by ICRC: ok, bad, unknown.
    pub icrc: [u64; 3],
    /// Frames with a BTH by opcode.
    pub opcodes: Box<[u64; 256]>,
    /// Bytes on the wire of frames with a BTH, over time.
    pub rate: Box<Bins>,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            rocev2: 0,
            rocev1: 0,
            infiniband: 0,
            pause: 0,
            other: 0,
            undecodable: 0,
            bytes: Bytes(0),
            last: Nanos(0),
            ecn: [0; 4],
            icrc: [0; 3],
            opcodes: Box::new([0; 256]),
            rate: Box::default(),
        }
    }
}

impl Totals {
    /// All frames.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.rdma() + self.pause + self.other + self.undecodable
    }

    /// Frames with a BTH.
    #[must_use]
    pub fn rdma(&self) -> u64 {
        self.rocev2 + self.rocev1 + self.infiniband
    }

    /// Congestion notification packets.
    #[must_use]
    pub fn cnps(&self) -> u64 {
        self.opcodes.get(usize::from(Opcode::CNP.0)).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, packet: &Packet) {
        self.bytes += packet.wire;
        self.last = self.last.max(packet.at);
        let class = match packet.facts.class {
            Class::RoceV2 => &mut self.rocev2,
            Class::RoceV1 => &mut self.rocev1,
            Class::Infiniband => &mut self.infiniband,
            Class::Pause => &mut self.pause,
            Class::Other => &mut self.other,
        };
        *class += 1;
        if packet.facts.is_rdma() {
            // A local InfiniBand packet has no such field.
            if packet.facts.src.as_lid().is_none() {
                bump(&mut self.ecn, usize::from(packet.facts.ecn()));
            }
            self.rate.add(packet.at, packet.wire);
            bump(&mut self.icrc, packet.icrc as usize);
            bump(self.opcodes.as_mut(), usize::from(packet.facts.opcode.0));
        }
    }

    /// Adds frames that a kernel counted: all, or those that have no BTH and are no pause.
    pub(crate) fn counted(&mut self, frames: &Frames, at: Nanos, all: bool) {
        self.undecodable += frames.undecodable;
        self.other += frames.other();
        self.bytes += Bytes(frames.bytes.saturating_sub(frames.named_bytes));
        if !all {
            return;
        }
        self.last = self.last.max(at);
        self.bytes += Bytes(frames.named_bytes);
        self.pause += frames.pauses;
        // Which version of RoCE each is of is known where flows are.
        self.rocev2 += frames.roce();
        // When in the time between two looks they came nobody knows: there is no rate over time.
        sum(&mut self.ecn, &frames.ecn);
        sum(&mut self.icrc, &[0, 0, frames.roce()]);
        sum(self.opcodes.as_mut(), &frames.opcodes);
    }

    pub(crate) fn undecodable(&mut self, wire: Bytes) {
        self.bytes += wire;
        self.undecodable += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.rocev2 += other.rocev2;
        self.rocev1 += other.rocev1;
        self.infiniband += other.infiniband;
        self.pause += other.pause;
        self.other += other.other;
        self.undecodable += other.undecodable;
        self.bytes += other.bytes;
        self.last = self.last.max(other.last);
        self.rate.merge(&other.rate);
        sum(&mut self.ecn, &other.ecn);
        sum(&mut self.icrc, &other.icrc);
        sum(self.opcodes.as_mut(), other.opcodes.as_ref());
    }
}

#[inline(always)]
fn bump<const N: usize>(counts: &mut [u64; N], index: usize) {
    if let Some(count) = counts.get_mut(index) {
        *count += 1;
    }
}

fn sum<const N: usize>(into: &mut [u64; N], from: &[u64; N]) {
    for (a, b) in into.iter_mut().zip(from) {
        *a += b;
    }
}
