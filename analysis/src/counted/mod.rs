//! Flows that a kernel counted: sums, where no packet was handed over.
//!
//! Owns: the latest sums of each flow at each place (`Counts`) and how they read as flows and connections (`view`).
//! What needs the set of packets (repeats, holes that were filled, stories) cannot be known from sums:
//! [`NEEDS_PACKETS`].

mod view;

use std::collections::{HashMap, VecDeque};

use rocetop_parsers::abi::{Flow, Key, Totals as Frames};
use rocetop_parsers::{Bytes, Nanos};

use crate::engine::Engine;
use crate::engine::shard::Evicted;
use crate::totals::pulse::Pulse;
pub(crate) use view::View;

/// The sums of a flow, at one place, from its first packet on.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// The interface, by its place among those that are watched.
    pub iface: u32,
    /// Which flow, and which way it passed.
    pub key: Key,
    /// The sums, with times since 1970.
    pub flow: Flow,
    /// It had been silent and made room in the kernel's table: its next packet begins it anew.
    pub over: bool,
}

/// Figures of a flow that only packets tell, as JSON pointers into its report.
pub const NEEDS_PACKETS: [&str; 14] = [
    "/first_frame",
    "/dscp",
    "/vlan",
    "/ttl",
    "/more_values",
    "/icrc_bad",
    "/data_dscp",
    "/answer_dscp",
    "/data_ecn",
    "/requests/message_bytes",
    "/requests/seen_again",
    "/requests/filled",
    "/requests/never_seen",
    "/responses/seen_again",
];

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    seats: Vec<Counted>,
    /// Those that may still grow.
    living: HashMap<(u32, Key), u32>,
    /// The others, the earliest first.
    past: VecDeque<u32>,
    most: usize,
    evicted: Evicted,
}

impl Counts {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), ..Self::default() }
    }

    /// Takes in a flow's sums.
    fn put(&mut self, counted: &Counted) {
        let key = (counted.iface, counted.key);
        let seat = match self.living.get(&key) {
            Some(&seat) => seat,
            None => {
                let seat = self.seat(counted);
                self.living.insert(key, seat);
                seat
            }
        };
        if let Some(slot) = self.seats.get_mut(seat as usize) {
            *slot = *counted;
        }
        if counted.over {
            self.living.remove(&key);
            self.past.push_back(seat);
        }
    }

    /// A seat for a flow. Those that live are bounded by the tables of the kernel; what is past makes room.
    fn seat(&mut self, counted: &Counted) -> u32 {
        if self.living.len() + self.past.len() >= self.most
            && let Some(seat) = self.past.pop_front()
            && let Some(gone) = self.seats.get(seat as usize)
        {
            let (packets, bytes) = sums(&gone.flow);
            self.evicted = [self.evicted, Evicted { flows: 1, packets, bytes }].into_iter().sum();
            return seat;
        }
        self.seats.push(*counted);
        self.seats.len() as u32 - 1
    }

    /// Flows that had to make room here.
    pub(crate) fn evicted(&self) -> Evicted {
        self.evicted
    }

    fn iter(&self) -> impl Iterator<Item = &Counted> {
        self.living.values().chain(&self.past).filter_map(|&seat| self.seats.get(seat as usize))
    }

    /// What it came to so far; connections are known to the view.
    pub(crate) fn pulse(&self) -> Pulse {
        let mut pulse = Pulse { seen_again: None, ..Pulse::default() };
        for Counted { flow, .. } in self.iter() {
            let tally = &flow.counters.tally;
            pulse.naks += tally.naks.iter().map(|&n| u64::from(n)).sum::<u64>() + u64::from(tally.naks_other);
            pulse.rnr_naks += u64::from(tally.rnr_naks);
            pulse.gaps += u64::from(flow.counters.gaps) + u64::from(flow.responses.gaps);
        }
        pulse.connections = View::new(self, []).connections().count() as u64;
        pulse
    }
}

/// Packets and bytes of a flow, those included that found its lock taken.
fn sums(flow: &Flow) -> (u64, Bytes) {
    let tally = &flow.counters.tally;
    (tally.packets + flow.late_packets, tally.bytes + Bytes(flow.late_bytes))
}

impl Engine {
    /// Takes in the latest sums of a flow, where [`Config::counted`](crate::Config::counted) says that flows are
    /// counted.
    pub fn counters(&mut self, counted: &Counted) {
        if let Some(counts) = self.counts_mut() {
            counts.put(counted);
        }
    }

    /// Adds frames that a kernel counted and that were not handed over: all of them where flows are counted, else those
    /// that have no BTH.
    pub fn frames(&mut self, frames: &Frames, at: Nanos) {
        let counted = self.counts_mut().is_some();
        self.totals_mut().counted(frames, at, counted);
    }
}

#[cfg(test)]
mod tests;
