//! Two taps: which packet at the one is which at the other, flow by flow, in bounded windows.

use std::collections::HashMap;
use std::collections::VecDeque;

use rocetop_parsers::{Addr, Facts, Nanos};

use super::reads::Mtus;
use super::sight::{Kind, Sight, acknowledges};
use super::twins::Twins;
use super::way::{Alone, Copies, Edge, Outage, Run, Way};
use super::window::{Fate, NEAR, Window, later};
use crate::event::Packet;
use crate::flow::Key;

/// Packets of one flow at both taps that are kept before the older half is settled. A settled packet has seen at least
/// this half pass: more than what a single flow has in flight on a published path (366,000 packets, 400G x 30 ms) is left
/// to the order in which the taps are read, which follows their stamps.
const PATIENCE: usize = 1 << 16;
/// Packets of all flows that are kept.
const MOST: usize = 1 << 22;
/// Flows that are told apart.
const MOST_FLOWS: usize = 1 << 18;
/// A capture that happens to begin within so few packets of the traffic's beginning, or to end so few before its end, is
/// less likely than one that was there in time and did not get these packets.
const EDGE: u64 = 16;
/// Otherwise nothing is judged so close to where it begins or ends: more than delays vary, half of what 200 kB
/// queued before 4 Mb/s take.
const BLURRED: i64 = 200_000_000;

/// First and last time stamp of a capture, all frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    first: i64,
    last: i64,
}

impl Default for Span {
    fn default() -> Self {
        Self { first: i64::MAX, last: i64::MIN }
    }
}

impl Span {
    fn is_empty(&self) -> bool {
        self.first > self.last
    }

    pub(super) fn add(&mut self, at: Nanos) {
        let at = at.0.cast_signed();
        self.first = self.first.min(at);
        self.last = self.last.max(at);
    }
}

/// Two taps.
#[derive(Debug, Default)]
pub(super) struct Pair {
    pub(super) windows: Vec<Window>,
    flows: HashMap<Key, usize>,
    pub(super) ways: Vec<Way>,
    hosts: HashMap<(Addr, Addr), usize>,
    /// What requests tell of frames that the taps show twice.
    twins: [Twins; 2],
    mtus: Mtus,
    /// Packets that each tap saw before the other's first frame.
    early: [u64; 2],
    /// Packets in all windows.
    kept: usize,
    /// Packets of flows beyond those that are told apart.
    pub(super) beyond: u64,
    /// Packets that had to be settled early because too many were waiting.
    pub(super) hurried: u64,
}

impl Pair {
    /// Adds a packet that tap `side` of the two saw as the `turn`th of all.
    pub(super) fn packet(&mut self, side: usize, packet: &Packet, turn: u64, spans: [Span; 2]) {
        let Some(index) = self.window(&packet.facts) else {
            self.beyond += 1;
            return;
        };
        let Some(window) = self.windows.get_mut(index) else { return };
        let mut sight = Sight::of(packet, turn);
        if !sight.damaged {
            self.mtus.add(&packet.facts);
            sight.rest = window.reads.get_mut(side).is_some_and(|reads| reads.is_rest(&packet.facts, self.mtus));
        }
        if let Some(early) = self.early.get_mut(side) {
            *early += u64::from(other(&spans, side).is_some_and(Span::is_empty));
        }
        if let Some(psn) = acknowledges(&packet.facts).filter(|_| !sight.damaged) {
            window.acked = later(window.acked, psn);
        }
        if let Some(seen) = window.seen.get_mut(side) {
            if let Some(answers) = self.ways.get_mut(window.way).and_then(|way| way.answers.get_mut(side)) {
                answers.add(seen, &sight);
            }
            seen.push_back(sight);
        }
        self.kept += 1;
        if window.len() >= window.patience {
            self.shorten(index, spans);
        }
        if self.kept > MOST {
            self.hurry(turn, spans);
        }
    }

    /// The other direction, where both taps saw some of it.
    pub(super) fn back(&self, way: &Way) -> Option<&Way> {
        let back = self.hosts.get(&(way.dst, way.src))?;
        self.ways.get(*back).filter(|back| back.through != 0)
    }

    fn window(&mut self, facts: &Facts) -> Option<usize> {
        let key = Key::of(facts);
        if let Some(&index) = self.flows.get(&key) {
            return Some(index);
        }
        if self.windows.len() >= MOST_FLOWS {
            return None;
        }
        let next = self.ways.len();
        let way = *self.hosts.entry((key.src, key.dst)).or_insert(next);
        if way == next {
            self.ways.push(Way::new(key.src, key.dst));
        }
        let index = self.windows.len();
        self.ways.get_mut(way)?.windows.push(index);
        self.windows.push(Window::new(key, way, PATIENCE));
        self.flows.insert(key, index);
        Some(index)
    }

    /// Settles the older half of a flow.
    fn shorten(&mut self, index: usize, spans: [Span; 2]) {
        let Some(window) = self.windows.get_mut(index) else { return };
        let mut turns: Vec<u64> = window.seen.iter().flatten().map(|s| s.turn).collect();
        let middle = turns.len() / 2;
        let upto = *turns.select_nth_unstable(middle).1;
        self.settle(index, upto, spans, false);
        if let Some(window) = self.windows.get_mut(index) {
            // What is left over waits for a partner: it is looked at again once there is as much news.
            window.patience = (window.len() + PATIENCE / 2).max(PATIENCE);
        }
    }

    /// Settles the older half of all packets: more flows are at work than there is room for.
    fn hurry(&mut self, turn: u64, spans: [Span; 2]) {
        let before = self.kept;
        let oldest = self.windows.iter().flat_map(|w| &w.seen).filter_map(|s| s.front()).map(|s| s.turn).min();
        let upto = oldest.map_or(turn, |oldest| oldest + (turn - oldest) / 2);
        for index in 0..self.windows.len() {
            self.settle(index, upto, spans, false);
        }
        // Nothing could be settled in pairs: whatever is there goes.
        if self.kept > MOST / 4 * 3 {
            for index in 0..self.windows.len() {
                self.settle(index, turn, spans, false);
            }
        }
        self.hurried += (before - self.kept) as u64;
    }

    /// Settles everything.
    pub(super) fn finish(&mut self, spans: [Span; 2]) {
        // Answers tell nothing of mirrors and follow what requests tell.
        let (first, then): (Vec<_>, Vec<_>) =
            (0..self.windows.len()).partition(|&w| self.windows.get(w).is_some_and(Window::is_numbered));
        for index in first.into_iter().chain(then) {
            self.settle(index, u64::MAX, spans, true);
        }
    }

    /// Settles the packets of a flow before turn `upto`. A pair is settled together.
    fn settle(&mut self, index: usize, upto: u64, spans: [Span; 2], last: bool) {
        let Some(slot) = self.windows.get_mut(index) else { return };
        // Taken out, since what others acknowledge has a say.
        let mut window = std::mem::replace(slot, Window::new(slot.key, slot.way, slot.patience));
        let before = window.len();
        let numbered = window.is_numbered();
        if !numbered {
            window.twins = self.twins;
        }
        let answers = self.way_back(&window).map(|way| way.answers).unwrap_or_default();
        let fates = window.fates(&answers);
        if numbered {
            for (all, one) in self.twins.iter_mut().zip(window.twins) {
                *all = Twins { moved: all.moved || one.moved, same: all.same || one.same };
            }
        }
        let seen = std::mem::take(&mut window.seen);
        let mut both: Vec<(u64, u64)> = Vec::new();
        for side in 0..2 {
            let (Some(mine), Some(theirs), Some(fates)) = (seen.get(side), seen.get(1 - side), fates.get(side)) else {
                continue;
            };
            let mut rest = VecDeque::new();
            for (sight, &fate) in mine.iter().zip(fates) {
                let mate = if let Fate::Through { mate, .. } = fate { theirs.get(mate) } else { None };
                if sight.turn >= upto || mate.is_some_and(|m| m.turn >= upto) {
                    rest.push_back(*sight);
                    continue;
                }
                match (fate, mate) {
                    (Fate::Through { sure, .. }, Some(mate)) => {
                        if side == 0 && sure {
                            both.push((sight.turn, mate.turn));
                        }
                        self.through(&mut window, side, sight, mate, spans);
                    }
                    (Fate::Alone(copies), _) => self.alone(&mut window, side, sight, copies, spans),
                    (Fate::Through { .. }, None) => {}
                    (Fate::Twin, _) => {
                        if let Some(alone) = self.alone_of(&window, side) {
                            alone.twins += 1;
                        }
                    }
                }
            }
            if let Some(seen) = window.seen.get_mut(side) {
                *seen = rest;
            }
        }
        self.count_reordered(&mut window, both);
        if last {
            for side in 0..2 {
                self.end(&mut window, side, spans);
            }
        }
        self.kept -= before - window.len();
        if let Some(slot) = self.windows.get_mut(index) {
            *slot = window;
        }
    }

    fn alone_of(&mut self, window: &Window, side: usize) -> Option<&mut Alone> {
        self.ways.get_mut(window.way)?.alone.get_mut(side)
    }

    /// A packet that both saw, in the order of tap `side`.
    fn through(&mut self, window: &mut Window, side: usize, sight: &Sight, mate: &Sight, spans: [Span; 2]) {
        let (first, second) = if side == 0 { (sight, mate) } else { (mate, sight) };
        window.difference = Some(second.at - first.at);
        if window.started.get(side) == Some(&false) {
            self.judge_beginning(window, side, spans);
            if let Some(started) = window.started.get_mut(side) {
                *started = true;
            }
        } else {
            // The other capture went on.
            self.lose_held(window, side);
        }
        let outage = window.runs.get_mut(side).and_then(|run| run.through(sight));
        if let Some(tally) = window.tallies.get_mut(side) {
            tally.through(sight);
        }
        self.outage(window, side, outage);
        if side == 0
            && let Some(way) = self.ways.get_mut(window.way)
        {
            way.through(first, second);
        }
    }

    /// A packet that only tap `side` saw.
    fn alone(&mut self, window: &mut Window, side: usize, sight: &Sight, copies: Copies, spans: [Span; 2]) {
        if sight.damaged {
            if let Some(alone) = self.alone_of(window, side) {
                alone.damaged += 1;
            }
            return;
        }
        let begun = window.started.get(side) == Some(&true);
        let covered = expected(window, side, sight).zip(other(&spans, side)).is_some_and(|(at, span)| at <= span.last);
        if begun && covered && window.edges.get(side).is_some_and(Edge::is_full) {
            self.lose_held(window, side);
        }
        if let Some(edge) = window.edges.get_mut(side) {
            edge.add(*sight, copies);
        }
    }

    /// What tap `side` saw since the last packet that both saw was lost.
    fn lose_held(&mut self, window: &mut Window, side: usize) {
        let Some(edge) = window.edges.get_mut(side).filter(|e| e.count() != 0).map(std::mem::take) else { return };
        for (sight, copies) in &edge.held {
            self.lost(window, side, sight, *copies);
        }
        self.outside(window, side, edge.more);
    }

    /// The first packet of the flow that both saw has come: what tap `side` saw before it was lost if the other capture
    /// had begun.
    fn judge_beginning(&mut self, window: &mut Window, side: usize, spans: [Span; 2]) {
        let Some(edge) = window.edges.get_mut(side).map(std::mem::take) else { return };
        let Some(span) = other(&spans, side) else { return };
        let from = |s: &Sight, first| expected(window, side, s).is_some_and(|at| at >= first);
        // Where the other capture began in the midst of the traffic, delays that vary blur its beginning.
        let amidst = self.early.get(side).is_some_and(|&early| early > EDGE);
        let begin = span.first.saturating_add(if amidst { BLURRED } else { 0 });
        // What was sent again, moments before the other tap's first frame of all, was the first loss of all.
        let first =
            |s: &Sight, copies: &Copies| !amidst && copies.there != 0 && from(s, span.first.saturating_sub(BLURRED));
        let judged = edge.held.iter().filter(|(s, c)| from(s, begin) || first(s, c));
        let judged = judged.copied().collect::<Vec<_>>();
        let outside = edge.count() - judged.len() as u64;
        for (sight, copies) in &judged {
            self.lost(window, side, sight, *copies);
        }
        self.outside(window, side, outside);
    }

    /// The captures are at their ends: what tap `side` saw behind the last packet that both saw.
    fn end(&mut self, window: &mut Window, side: usize, spans: [Span; 2]) {
        let Some(edge) = window.edges.get_mut(side).map(std::mem::take) else { return };
        if window.difference.is_none() {
            if edge.count() != 0
                && let Some(alone) = self.alone_of(window, side)
            {
                alone.unseen[0] += 1;
                alone.unseen[1] += edge.count();
            }
            return;
        }
        let Some(span) = other(&spans, side) else { return };
        let upto = |s: &Sight, last| expected(window, side, s).is_some_and(|at| at <= last);
        let late = edge.held.iter().filter(|(s, _)| !upto(s, span.last)).count() as u64 + edge.more;
        let end = span.last.saturating_sub(if late > EDGE { BLURRED } else { 0 });
        let judged = edge.held.iter().filter(|(s, _)| upto(s, end)).copied().collect::<Vec<_>>();
        for (sight, copies) in &judged {
            self.lost(window, side, sight, *copies);
        }
        self.outside(window, side, edge.count() - judged.len() as u64);
        let outage = window.runs.get_mut(side).and_then(Run::end);
        self.outage(window, side, outage);
    }

    fn outage(&mut self, window: &mut Window, side: usize, outage: Option<Outage>) {
        if let Some(alone) = self.alone_of(window, side) {
            alone.outage(outage);
        }
        if let Some(tally) = window.tallies.get_mut(side) {
            tally.outage(outage);
        }
    }

    /// Packets that tap `side` saw and that the other capture does not cover.
    fn outside(&mut self, window: &mut Window, side: usize, count: u64) {
        if let Some(alone) = self.alone_of(window, side) {
            alone.outside += count;
        }
        if let Some(tally) = window.tallies.get_mut(side) {
            tally.outside += count;
        }
    }

    /// A packet that the other tap should have seen.
    fn lost(&mut self, window: &mut Window, side: usize, sight: &Sight, copies: Copies) {
        let delivered = sight.shows() && copies == Copies { here: 1, there: 0 } && self.was_delivered(window, sight);
        let Some(alone) = self.ways.get_mut(window.way).and_then(|w| w.alone.get_mut(side)) else { return };
        if delivered {
            alone.missed += 1;
            return;
        }
        alone.lost(sight, copies.there);
        if let Some(tally) = window.tallies.get_mut(side) {
            tally.lost(sight, copies.there);
        }
        if let Some(run) = window.runs.get_mut(side) {
            run.lost(sight, window.key.qp());
        }
    }

    /// The direction of the answers to a flow.
    fn way_back(&self, window: &Window) -> Option<&Way> {
        self.hosts.get(&(window.key.dst, window.key.src)).and_then(|&way| self.ways.get(way))
    }

    /// Whether a packet that was sent once and seen by one tap alone arrived all the same: a request that was
    /// acknowledged without a repeat, a response that the requester did not ask for again though it had later ones
    /// (IBTA 9.7.5.2.8: out of order, it has to).
    fn was_delivered(&self, window: &Window, sight: &Sight) -> bool {
        let beyond = |psn: Option<_>| psn.is_some_and(|psn| (1..=NEAR).contains(&(psn - sight.psn)));
        match sight.kind {
            Kind::Response => beyond(window.answered),
            Kind::Request => {
                let back =
                    self.way_back(window).into_iter().flat_map(|w| &w.windows).filter_map(|&w| self.windows.get(w));
                back.into_iter().any(|back| beyond(back.acked))
            }
            _ => false,
        }
    }

    /// Counts what overtook what: a packet is late that comes behind one that was sent after it (RFC 4737, 3.3).
    fn count_reordered(&mut self, window: &mut Window, mut both: Vec<(u64, u64)>) {
        let Some(way) = self.ways.get_mut(window.way) else { return };
        let late = |front: &mut u64, turn: u64| {
            let late = turn < *front;
            *front = turn.max(*front);
            u64::from(late)
        };
        both.sort_unstable_by_key(|b| b.1);
        way.reordered[0] += both.iter().map(|b| late(&mut window.front[0], b.0)).sum::<u64>();
        both.sort_unstable_by_key(|b| b.0);
        way.reordered[1] += both.iter().map(|b| late(&mut window.front[1], b.1)).sum::<u64>();
    }
}

/// When the other tap should have seen a packet, by its own clock; `None` before anything tells.
fn expected(window: &Window, side: usize, sight: &Sight) -> Option<i64> {
    let difference = window.difference?;
    Some(if side == 0 { sight.at + difference } else { sight.at - difference })
}

fn other(spans: &[Span; 2], side: usize) -> Option<&Span> {
    spans.get(1 - side.min(1))
}
