//! Collectives: what many ranks do together, as flows that wait for one another; one file a kind (SYSTEMS J1).
//!
//! A [`Job`] adds steps to a workload. In a step some ranks send to others, each once everything has arrived that it
//! must have seen; [`Job::compute`] lets time pass between. What a rank must have seen goes on from step to step, so
//! collectives and compute gaps follow one another as they are called, rank by rank, and no rank waits for one that it
//! does not depend on.
//!
//! To add a kind: one file with a function that plays its steps, one row in [`KINDS`].

pub mod all_gather;
pub mod all_to_all;
pub mod broadcast;
pub mod hierarchical;
pub mod reduce;
pub mod reduce_scatter;
pub mod ring;
pub mod tree;

use std::collections::BTreeMap;

use crate::topology::HostId;
use crate::units::{Bytes, Rate, Time};
use crate::workload::{Flow, FlowId, Milestone, Workload};

/// A kind of collective.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name of its file.
    pub name: &'static str,
    /// Plays it: `bytes` is the buffer of one rank, as nccl-tests counts it (for all-gather, reduce-scatter and
    /// all-to-all the whole of it, not one rank's part).
    pub play: fn(&mut Job<'_>, Bytes),
    /// What algorithm bandwidth (bytes over time) is multiplied by to give bus bandwidth among `n` ranks, as a fraction
    /// (nccl-tests, doc/PERFORMANCE.md).
    pub factor: fn(u64) -> (u64, u64),
    /// The fields of [`Shape`] that it heeds, by their names.
    pub heeds: &'static [&'static str],
}

/// The most pieces that data is cut into (chosen: flows of a rank).
pub const MOST_PIECES: u64 = 1_024;

/// 2(n-1)/n: every byte is sent once to be summed and once to be spread.
const TWICE: fn(u64) -> (u64, u64) = |n| (2 * n.saturating_sub(1), n);
/// (n-1)/n: a rank keeps its own part.
const ONCE: fn(u64) -> (u64, u64) = |n| (n.saturating_sub(1), n);
/// 1: all of it crosses every rank's link.
const WHOLE: fn(u64) -> (u64, u64) = |_| (1, 1);

/// Every kind, by the name of its file.
pub const KINDS: &[Kind] = &[
    Kind { name: "all_gather", play: all_gather::play, factor: ONCE, heeds: &[] },
    Kind { name: "all_to_all", play: all_to_all::play, factor: ONCE, heeds: &[] },
    Kind { name: "broadcast", play: broadcast::play, factor: WHOLE, heeds: &["pieces"] },
    Kind { name: "hierarchical", play: hierarchical::play, factor: TWICE, heeds: &["per_server", "inside"] },
    Kind { name: "reduce", play: reduce::play, factor: WHOLE, heeds: &["pieces"] },
    Kind { name: "reduce_scatter", play: reduce_scatter::play, factor: ONCE, heeds: &[] },
    Kind { name: "ring", play: ring::play, factor: TWICE, heeds: &[] },
    Kind { name: "tree", play: tree::play, factor: TWICE, heeds: &["pieces"] },
];

impl Kind {
    /// The kind of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Bus bandwidth of `bytes` among `ranks` ranks in `time`; zero when no time passed.
    #[must_use]
    pub fn bus_bandwidth(&self, ranks: usize, bytes: Bytes, time: Time) -> Rate {
        let (up, down) = (self.factor)(ranks as u64);
        let bits = u128::from(bytes.0) * 8 * u128::from(Time::SECOND.0) * u128::from(up);
        let rate = bits.checked_div(u128::from(time.0) * u128::from(down)).unwrap_or(0);
        Rate(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

/// The least time of a ring all-reduce: 2(n-1)/n x S/B, and 2(n-1) x the latency from rank to rank.
#[must_use]
pub fn ring_floor(ranks: usize, bytes: Bytes, line: Rate, latency: Time) -> Time {
    let steps = 2 * (ranks as u64).saturating_sub(1);
    let all = bytes.0.saturating_mul(steps) / (ranks as u64).max(1);
    line.time_for(Bytes(all)) + latency.times(steps)
}

/// How the ranks of a job hang together where it matters to a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Consecutive ranks that share a server.
    pub per_server: usize,
    /// What GPUs of one server have between them (NVLink); `None`: they use the network like any others.
    pub inside: Option<Rate>,
    /// Pieces that a tree's data is cut into, so that its levels work at the same time.
    pub pieces: u64,
}

impl Default for Shape {
    /// Eight GPUs a server, 3,600 Gb/s between them (NVLink 4: 450 GB/s each way), eight pieces.
    fn default() -> Self {
        Self { per_server: 8, inside: Some(Rate::gbps(3_600)), pieces: 8 }
    }
}

/// What one rank must have seen before it goes on: what has come from others, and its own work.
#[derive(Clone, Debug, Default)]
struct Ready {
    seen: Vec<FlowId>,
    work: Option<FlowId>,
}

impl Ready {
    fn all(&self) -> impl Iterator<Item = FlowId> {
        self.seen.iter().copied().chain(self.work)
    }
}

/// Ranks that play collectives into a workload, one after the other.
#[derive(Debug)]
pub struct Job<'a> {
    load: &'a mut Workload,
    ranks: Vec<HostId>,
    ready: Vec<Ready>,
    /// The last flow from one rank to another.
    last: BTreeMap<(usize, usize), FlowId>,
    like: Flow,
    /// How the ranks hang together.
    pub shape: Shape,
}

/// One transfer of a step: from one rank to another, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Send {
    /// The sender's number.
    pub from: usize,
    /// The receiver's number.
    pub to: usize,
    /// How much. What is nothing is sent as one byte: the receiver waits for it all the same.
    pub bytes: Bytes,
}

impl<'a> Job<'a> {
    /// A job of `ranks`, which all begin with the run. `like` has what all its flows share: lane, priority, limit.
    pub fn new(load: &'a mut Workload, ranks: Vec<HostId>, like: Flow) -> Self {
        let ready = vec![Ready::default(); ranks.len()];
        Self { load, ranks, ready, last: BTreeMap::new(), like, shape: Shape::default() }
    }

    /// How many ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// Lets every rank compute for `time` before it sends again.
    pub fn compute(&mut self, time: Time) {
        for rank in self.all() {
            self.compute_at(rank, time);
        }
    }

    /// Lets one rank compute for `time` before it sends again: more than the others' makes it a straggler (SYSTEMS J2).
    pub fn compute_at(&mut self, rank: usize, time: Time) {
        let (Some(ready), Some(&host)) = (self.ready.get_mut(rank), self.ranks.get(rank)) else { return };
        let work = self.load.add(Flow::work(host, time));
        for on in ready.all() {
            self.load.wait(work, on, Milestone::Delivered);
        }
        *ready = Ready { seen: Vec::new(), work: Some(work) };
    }

    /// Makes some ranks wait for one another.
    fn meet(&mut self, ranks: &[usize]) {
        let mut all: Vec<_> = ranks.iter().filter_map(|rank| self.ready.get(*rank)).flat_map(Ready::all).collect();
        all.sort_unstable();
        all.dedup();
        for rank in ranks {
            if let Some(ready) = self.ready.get_mut(*rank) {
                *ready = Ready { seen: all.clone(), work: None };
            }
        }
    }

    /// Plays something for each piece of the data. A piece depends on what was seen before the first, and on nothing of
    /// the others; afterwards a rank has seen all of them.
    fn pieces(&mut self, bytes: Bytes, play: impl Fn(&mut Self, Bytes)) {
        let count = self.shape.pieces.clamp(1, MOST_PIECES);
        let before = self.ready.clone();
        let mut after: Vec<Ready> = vec![Ready::default(); before.len()];
        for piece in 0..count {
            self.ready.clone_from(&before);
            play(self, Self::part(bytes, piece, count));
            for (after, ready) in after.iter_mut().zip(&self.ready) {
                after.seen.extend(&ready.seen);
                after.work = ready.work;
            }
        }
        for ready in &mut after {
            ready.seen.sort_unstable();
            ready.seen.dedup();
        }
        self.ready = after;
    }

    /// Plays a step; the flows in the order of `sends`. A rank that is not there, or that would send to its own host,
    /// is left out.
    pub fn step(&mut self, sends: &[Send]) -> Vec<FlowId> {
        let mut flows = Vec::new();
        let mut arrived: Vec<(usize, FlowId)> = Vec::new();
        for send in sends {
            let (Some(&src), Some(&dst)) = (self.ranks.get(send.from), self.ranks.get(send.to)) else { continue };
            let Some(ready) = self.ready.get(send.from).filter(|_| src != dst) else { continue };
            let id = self.load.add(Flow { src, dst, bytes: Bytes(send.bytes.0.max(1)), ..self.like });
            for on in ready.all() {
                self.load.wait(id, on, Milestone::Delivered);
            }
            // Both may be ready at once, and they share a queue pair: the first goes first.
            if let Some(before) = self.last.insert((send.from, send.to), id) {
                self.load.wait(id, before, Milestone::Started);
            }
            arrived.push((send.to, id));
            flows.push(id);
        }
        // What a rank received in this step stands for all that its sender had seen before.
        for (rank, _) in &arrived {
            if let Some(ready) = self.ready.get_mut(*rank) {
                ready.seen.clear();
            }
        }
        for (rank, id) in arrived {
            if let Some(ready) = self.ready.get_mut(rank) {
                ready.seen.push(id);
            }
        }
        flows
    }

    /// Part `part` of `bytes` cut into `of` parts that differ by a byte at most.
    #[must_use]
    pub fn part(bytes: Bytes, part: u64, of: u64) -> Bytes {
        let at = |n: u64| (u128::from(bytes.0) * u128::from(n)).checked_div(u128::from(of)).unwrap_or(0) as u64;
        Bytes(at(part + 1).saturating_sub(at(part)))
    }

    /// Passes parts round a ring of `members`: in step `s` member `i` sends part `i + offset - s` to the next.
    fn round(&mut self, members: &[usize], bytes: Bytes, offset: usize) {
        let n = members.len();
        for step in 0..n.saturating_sub(1) {
            let pairs = members.iter().zip(members.iter().cycle().skip(1));
            let sends: Vec<Send> = pairs
                .enumerate()
                .map(|(i, (&from, &to))| {
                    let part = (i + offset + n - step) % n;
                    Send { from, to, bytes: Self::part(bytes, part as u64, n as u64) }
                })
                .collect();
            self.step(&sends);
        }
    }

    /// The numbers of all ranks.
    fn all(&self) -> Vec<usize> {
        (0..self.ranks.len()).collect()
    }
}

#[cfg(test)]
mod tests;
