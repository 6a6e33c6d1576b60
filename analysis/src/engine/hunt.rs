//! The hunt for the other direction of a flow: a shard's lists of unpaired flows, and what is asked of them.

use std::collections::HashMap;

use rocetop_parsers::fold::numbered;
use rocetop_parsers::ib::opcode::{Traits, Transport};
use rocetop_parsers::{Addr, sport};

use crate::engine::pairing::{Grade, Hunt, VOTES, only_port, ports_verify};
use crate::engine::shard::{Shard, hash_addresses};
use crate::event::Packet;
use crate::flow::{Flow, Index, Key, NONE};

/// Unpaired flows of one address pair that are looked at; beyond this many, a match would prove little.
const HUNTED: usize = 64;

/// Flows of one way between two hosts that may have the same source port by chance: it has 14 bits (WIRE: pairing).
/// More of them have a port that their adapter gives to all, and a hash that fits tells nothing: of 64 queue pairs with
/// one port, one in four would find a stranger whose number fits.
const SHARED: usize = 2;

impl Shard {
    /// Looks for the other direction of an unpaired flow after a packet of it.
    pub(crate) fn seek(&mut self, index: Index, packet: &Packet, traits: Traits) {
        let Some(flow) = self.flows.get(index as usize) else { return };
        let tally = &flow.counters.tally;
        // Notifications before it say nothing of the flow itself.
        if tally.packets == tally.cnps + 1 {
            if flow.transport == Transport::Ud {
                return self.seek_datagrams(index);
            }
            if let Some(only) = self.only_hunted(&flow.key, |f| ports_verify(flow, f))
                && !self.shares_port(flow)
            {
                return self.pair(index, only, Grade::PortHash);
            }
        }
        let answers = tally.acks + tally.responses;
        // An answer that points nowhere today may tomorrow; ask ever more rarely.
        if traits.any(Traits::AETH | Traits::RESPONSE) && (answers < 64 || answers.is_power_of_two()) {
            self.seek_by_answer(index, packet);
        }
    }

    /// Whether so many flows between these hosts have the source port of `flow` that it proves nothing.
    fn shares_port(&self, flow: &Flow) -> bool {
        let port = only_port(flow);
        let there = flow.key.reverse(flow.key.qp());
        [flow.key, there].iter().any(|key| self.hunted(key).filter(|(_, f)| only_port(f) == port).count() > SHARED)
    }

    fn seek_datagrams(&mut self, index: Index) {
        let Some(flow) = self.flows.get(index as usize) else { return };
        let other = flow.key.reverse(flow.src_qp);
        let wanted = flow.key.qp();
        if let Some(peer) = self.find(&other)
            && peer != index
            && self.flows.get(peer as usize).is_some_and(|p| p.peer == NONE && p.src_qp == wanted)
        {
            self.pair(index, peer, Grade::Ud);
        }
    }

    fn seek_by_answer(&mut self, index: Index, packet: &Packet) {
        let Some(flow) = self.flows.get(index as usize) else { return };
        let psn = packet.facts.psn;
        // Alone far and wide, and answered just now.
        let only = self.only_hunted(&flow.key, |f| f.transport == flow.transport && f.is_near(psn));
        let answers = |f: &Flow| f.could_answer(psn) && f.starts_at_random();
        let only = only.filter(|&i| self.flows.get(i as usize).is_some_and(answers)).unwrap_or(NONE);
        let Some(hunt) = self.flows.get_mut(index as usize).map(|f| &mut f.hunt) else { return };
        if only == NONE || only != hunt.suspect {
            (hunt.suspect, hunt.votes) = (only, 0);
        }
        // The same answer once more proves nothing more.
        hunt.votes += u8::from(only != NONE && (hunt.votes == 0 || hunt.psn != psn));
        hunt.psn = psn;
        if hunt.votes >= VOTES {
            self.pair(index, only, Grade::Ack);
        }
    }

    /// Unpaired flows of the way back, latest first, but no more than [`HUNTED`].
    fn hunted(&self, key: &Key) -> impl Iterator<Item = (Index, &Flow)> {
        let back = key.reverse(key.qp());
        let head = self.hunts.find(hash_addresses(&back), |&i| self.same_addresses(i, &back)).copied();
        let with_index = |i: Index| Some((i, self.flows.get(i as usize)?));
        std::iter::successors(head.and_then(with_index), move |(_, f)| with_index(f.hunt.next)).take(HUNTED)
    }

    /// The one of them that fits; `None` too where there are more of them than are looked at.
    fn only_hunted(&self, key: &Key, fits: impl Fn(&Flow) -> bool) -> Option<Index> {
        let mut only = None;
        for (n, (index, flow)) in self.hunted(key).enumerate() {
            if n + 1 == HUNTED || flow.key != *key && fits(flow) && only.replace(index).is_some() {
                return None;
            }
        }
        only
    }

    fn same_addresses(&self, index: Index, key: &Key) -> bool {
        self.flows.get(index as usize).is_some_and(|f| f.key.src == key.src && f.key.dst == key.dst)
    }

    pub(crate) fn link(&mut self, index: Index) {
        let Some(key) = self.flows.get(index as usize).map(|f| f.key) else { return };
        let hash = hash_addresses(&key);
        let flows = &self.flows;
        let same = |&i: &Index| flows.get(i as usize).is_some_and(|f| f.key.src == key.src && f.key.dst == key.dst);
        let rehash = |&i: &Index| flows.get(i as usize).map_or(0, |f| hash_addresses(&f.key));
        let mut next = NONE;
        match self.hunts.entry(hash, same, rehash) {
            hashbrown::hash_table::Entry::Occupied(mut head) => next = std::mem::replace(head.get_mut(), index),
            hashbrown::hash_table::Entry::Vacant(free) => {
                free.insert(index);
            }
        }
        if let Some(flow) = self.flows.get_mut(index as usize) {
            flow.hunt.next = next;
        }
        if let Some(second) = self.flows.get_mut(next as usize) {
            second.hunt.prev = index;
        }
    }

    pub(crate) fn unlink(&mut self, index: Index) {
        let Some(flow) = self.flows.get_mut(index as usize) else { return };
        let (prev, next) = (flow.hunt.prev, flow.hunt.next);
        (flow.hunt.prev, flow.hunt.next) = (NONE, NONE);
        let hash = hash_addresses(&flow.key);
        if let Some(after) = self.flows.get_mut(next as usize) {
            after.hunt.prev = prev;
        }
        if let Some(before) = self.flows.get_mut(prev as usize) {
            before.hunt.next = next;
        } else if let Ok(mut head) = self.hunts.find_entry(hash, |&i| i == index) {
            if next == NONE {
                head.remove();
            } else {
                *head.get_mut() = next;
            }
        }
    }

    pub(crate) fn pair(&mut self, a: Index, b: Index, grade: Grade) {
        self.unlink(a);
        self.unlink(b);
        if let Ok([one, two]) = self.flows.get_disjoint_mut([a as usize, b as usize]) {
            (one.peer, one.grade) = (b, grade);
            (two.peer, two.grade) = (a, grade);
            let (mine, theirs) = (one.counters.mtu.certain(), two.counters.mtu.certain());
            one.learn_mtu(theirs);
            two.learn_mtu(mine);
        }
    }

    /// Pairs what the evidence of the whole capture allows, the best first.
    pub(crate) fn settle(&mut self) {
        self.settle_by_hash();
        self.settle_by_answers();
        self.settle_by_ports();
    }

    /// A flow that waits for its other direction.
    fn waiting(&self, index: Index) -> Option<&Flow> {
        self.flows.get(index as usize).filter(|f| waits(f))
    }

    /// Pairs by answers that only ever pointed to one flow.
    fn settle_by_answers(&mut self) {
        for index in 0..self.flows.len() as Index {
            let Some(Hunt { suspect, psn, .. }) = self.waiting(index).map(|f| f.hunt) else { continue };
            let Some(key) = self.waiting(suspect).filter(|f| f.is_near(psn)).map(|f| f.key) else { continue };
            if self.only_hunted(&key, |f| f.hunt.suspect == suspect) == Some(index) {
                self.pair(index, suspect, Grade::Ack);
            }
        }
    }

    /// Pairs by equal ports that no other flow of these hosts has.
    fn settle_by_ports(&mut self) {
        let ports = self.ports();
        for index in 0..self.flows.len() as Index {
            let Some(flow) = self.waiting(index) else { continue };
            let Some(port) = only_port(flow) else { continue };
            let only = |src, dst| ports.get(&(src, dst, port)).copied().flatten();
            let Some(other) = only(flow.key.dst, flow.key.src).filter(|&i| i != index) else { continue };
            if only(flow.key.src, flow.key.dst) == Some(index)
                && self.waiting(other).is_some_and(|f| f.transport == flow.transport)
            {
                self.pair(index, other, Grade::Ports);
            }
        }
    }

    /// Pairs by port hash what had too many rivals when it came.
    fn settle_by_hash(&mut self) {
        let mut by_port: HashMap<(Addr, Addr, u16), Vec<Index>> = HashMap::new();
        // Those that found their other direction by now use the port as well.
        for (index, flow) in (0..).zip(&self.flows).filter(|(_, f)| lives(f)) {
            if let Some(port) = only_port(flow) {
                by_port.entry((flow.key.src, flow.key.dst, port)).or_default().push(index);
            }
        }
        for index in 0..self.flows.len() as Index {
            let Some(flow) = self.waiting(index) else { continue };
            let Some(port) = only_port(flow) else { continue };
            // The way back has the same port, or that of its sender's own hash: the queue pair that this flow goes to.
            let ports = [port, sport::of_rxe_source(flow.key.qp())];
            let ports = ports.get(..if ports[0] == ports[1] { 1 } else { 2 }).unwrap_or_default();
            let of = |src, dst, port| by_port.get(&(src, dst, port)).filter(|l| l.len() <= SHARED);
            if of(flow.key.src, flow.key.dst, port).is_none() {
                continue;
            }
            let back = |&port: &u16| of(flow.key.dst, flow.key.src, port);
            let fits = |&&i: &&Index| i != index && self.waiting(i).is_some_and(|f| ports_verify(flow, f));
            let mut fits = ports.iter().filter_map(back).flatten().filter(fits);
            if let (Some(&only), None) = (fits.next(), fits.next()) {
                self.pair(index, only, Grade::PortHash);
            }
        }
    }

    /// Who uses a source port between two addresses, of all flows that live: the one, or `None` for several.
    fn ports(&self) -> HashMap<(Addr, Addr, u16), Option<Index>> {
        let mut ports = HashMap::new();
        for (index, flow) in (0..).zip(&self.flows) {
            if lives(flow)
                && let Some(port) = only_port(flow)
            {
                ports.entry((flow.key.src, flow.key.dst, port)).and_modify(|one| *one = None).or_insert(Some(index));
            }
        }
        ports
    }
}

/// Whether a flow is the latest life of its queue pair number.
fn lives(flow: &Flow) -> bool {
    !flow.replaced && flow.counters.tally.packets != 0
}

/// Whether a flow is one that a peer is looked for: connected, alive, alone.
fn waits(flow: &Flow) -> bool {
    flow.peer == NONE && lives(flow) && numbered(flow.transport)
}
