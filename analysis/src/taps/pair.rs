//! Two taps: which packet at the one is which at the other, flow by flow, in bounded windows.

use std::collections::{BTreeSet, HashMap, VecDeque};

use rocetop_parsers::{Addr, Facts};

use super::clock::{BLURRED, Clocks, Differences};
use super::delivered::{Crowds, asks};
use super::front::Span;
use super::reads::Mtus;
use super::sight::{Kind, Named, Sight};
use super::way::{Alone, Copies, Edge, Held, Outage, Run, Way};
use super::window::{Fate, Fates, Window};
use crate::event::Packet;
use crate::flow::Key;

/// Packets of one flow at both taps that are kept before the older half is settled. A settled packet has seen at least
/// this half pass: more than what a single flow has in flight on a published path (366,000 packets, 400G x 30 ms) is
/// left to the order in which the taps are read, which follows their stamps.
const PATIENCE: usize = 1 << 16;
/// Packets of all flows that are kept (chosen: bounds the memory).
const MOST: usize = 1 << 22;
/// A capture that happens to begin within so few packets of the traffic's beginning, or to end so few before its end,
/// is less likely than one that was there in time and did not get these packets (chosen).
const EDGE: u64 = 16;
/// Otherwise nothing is judged so close to where it begins or ends as delays are seen to vary; before the first packet
/// of a flow that both saw and behind the last one this more: 16 frames of 1,500 bytes queued before 10 Gb/s.
const SLACK: i64 = 20_000;

/// Whether a flow is settled for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    No,
    /// If it is known how far the clocks are apart.
    Known,
    Any,
}

/// Two taps.
#[derive(Debug, Default)]
pub(super) struct Pair {
    /// Flows that there is room for.
    pub(super) most_flows: usize,
    pub(super) windows: Vec<Window>,
    flows: HashMap<Key, usize>,
    pub(super) ways: Vec<Way>,
    clocks: Clocks,
    pub(super) hosts: HashMap<(Addr, Addr), usize>,
    mtus: Mtus,
    /// Directions, source ports and flows that acknowledge something from there.
    pub(super) ports: BTreeSet<(usize, u16, usize)>,
    /// What was gathered since the latest packet.
    pub(super) crowds: Crowds,
    /// Packets that each tap saw before the other's first frame.
    early: [u64; 2],
    /// Packets that each tap has seen since the other's last one.
    late: [u64; 2],
    /// Packets in all windows.
    kept: usize,
    /// Packets of flows beyond those that are told apart.
    pub(super) beyond: u64,
    /// Packets that had to be settled early because too many were waiting.
    pub(super) hurried: u64,
}

impl Pair {
    pub(super) fn new(most_flows: usize) -> Self {
        Self { most_flows, ..Self::default() }
    }

    /// A packet came by tap `side` of the two. It may have to wait before it is matched.
    pub(super) fn came(&mut self, side: usize, spans: [Span; 2]) {
        if let Some(early) = self.early.get_mut(side) {
            *early += u64::from(other(&spans, side).is_some_and(Span::is_empty));
        }
        for (tap, late) in self.late.iter_mut().enumerate() {
            *late = if tap == side { *late + 1 } else { 0 };
        }
    }

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
        let port = packet.facts.sport;
        if !sight.damaged {
            self.note_answer(index, side, &packet.facts, turn);
            self.note_nak(index, &packet.facts, turn);
        }
        let Some(window) = self.windows.get_mut(index) else { return };
        let shows = sight.shows() && !sight.damaged;
        if shows
            && sight.kind == Kind::Request
            && let Some(asked) = window.asked.get_mut(side)
        {
            sight.nth = asked.add(asks(&packet.facts), port, turn);
            sight.spurious = self.is_spurious(index, side, &sight);
        }
        let Some(window) = self.windows.get_mut(index) else { return };
        if shows && sight.kind == Kind::Response {
            window.responds(side, &sight);
        }
        if let Some(seen) = window.seen.get_mut(side) {
            // A flow of a single packet takes room for no more.
            if seen.is_empty() {
                seen.reserve_exact(1);
            }
            seen.push_back(sight);
        }
        self.crowds.clear();
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
        if self.windows.len() >= self.most_flows {
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
        self.settle(index, upto, spans, Last::No);
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
            self.settle(index, upto, spans, Last::No);
        }
        // Nothing could be settled in pairs: whatever is there goes.
        if self.kept > MOST / 4 * 3 {
            for index in 0..self.windows.len() {
                self.settle(index, turn, spans, Last::No);
            }
        }
        self.hurried += (before - self.kept) as u64;
    }

    /// Settles everything.
    pub(super) fn finish(&mut self, spans: [Span; 2]) {
        // Answers follow what requests tell of mirrors.
        let (first, then): (Vec<_>, Vec<_>) =
            (0..self.windows.len()).partition(|&w| self.windows.get(w).is_some_and(Window::is_numbered));
        // Flows without a packet that tells how far the clocks are apart follow those that have one.
        let mut waiting = Vec::new();
        for index in first.into_iter().chain(then) {
            if !self.settle(index, u64::MAX, spans, Last::Known) {
                waiting.push(index);
            }
        }
        for index in waiting {
            self.settle(index, u64::MAX, spans, Last::Any);
        }
    }

    /// Settles the packets of a flow before turn `upto`. A pair is settled together. Returns whether it did.
    fn settle(&mut self, index: usize, upto: u64, spans: [Span; 2], last: Last) -> bool {
        let Some(slot) = self.windows.get_mut(index) else { return true };
        // Taken out, since what others acknowledge has a say.
        let mut window = std::mem::replace(slot, Window::new(slot.key, slot.way, slot.patience));
        let before = window.len();
        let numbered = window.is_numbered();
        // Answers alone prove nothing: they follow what they answer.
        let peer = if numbered { [None; 2] } else { self.way_back(&window).map_or([None; 2], |way| way.mirrored) };
        let way = self.ways.get(window.way);
        let known = || way.and_then(|way| way.differences.median());
        let Fates { fates, apart } = window.fates(peer, known, self.clocks.roughly());
        if last == Last::Known && apart.iter().all(|side| side.first().is_none_or(Option::is_none)) {
            if let Some(slot) = self.windows.get_mut(index) {
                *slot = window;
            }
            return false;
        }
        if numbered && let Some(way) = self.ways.get_mut(window.way) {
            for (all, one) in way.mirrored.iter_mut().zip(window.mirrored()) {
                *all = Some(all.unwrap_or_default() || one);
            }
        }
        let seen = std::mem::take(&mut window.seen);
        self.learn(&window, &seen, &fates, upto);
        let is_held = || window.edges.iter().any(|edge| edge.count() != 0);
        if fates.iter().flatten().any(|fate| matches!(fate, Fate::Alone(_))) || is_held() {
            window.proofs = self.proofs(index, &window);
        }
        let mut both: Vec<(u64, u64)> = Vec::new();
        for side in 0..2 {
            let (Some(mine), Some(theirs)) = (seen.get(side), seen.get(1 - side)) else { continue };
            let (Some(fates), Some(apart)) = (fates.get(side), apart.get(side)) else { continue };
            let mut rest = VecDeque::new();
            for ((sight, &fate), &apart) in mine.iter().zip(fates).zip(apart) {
                let mate = if let Fate::Through { mate, .. } = fate { theirs.get(mate) } else { None };
                if sight.turn >= upto || mate.is_some_and(|m| m.turn >= upto) {
                    rest.push_back(*sight);
                    continue;
                }
                match (fate, mate) {
                    (Fate::Through { sure, again, next, .. }, Some(mate)) => {
                        self.note_late(&window, side, sight, next);
                        if side == 0 && sure {
                            both.push((sight.turn, mate.turn));
                        }
                        self.through(&mut window, side, [sight, mate], again, spans);
                    }
                    (Fate::Alone(copies), _) => {
                        let expected = self.expected(side, sight.at, apart);
                        self.alone(&mut window, side, Held { sight: *sight, copies, expected }, spans);
                    }
                    (Fate::Through { .. }, None) => {}
                    (Fate::Mirrored, _) => {
                        if let Some(alone) = self.alone_of(&window, side) {
                            alone.mirrored += 1;
                        }
                    }
                }
            }
            if let Some(seen) = window.seen.get_mut(side) {
                *seen = rest;
            }
        }
        if let Some(way) = self.ways.get_mut(window.way) {
            way.count_reordered(&mut window.front, both);
        }
        if last != Last::No {
            for side in 0..2 {
                self.end(&mut window, side, spans);
            }
        }
        self.kept -= before - window.len();
        if let Some(slot) = self.windows.get_mut(index) {
            *slot = window;
        }
        true
    }

    /// What the packets that are settled now tell of clocks and delays: before any of them is judged.
    fn learn(&mut self, window: &Window, seen: &[VecDeque<Sight>; 2], fates: &[Vec<Fate>; 2], upto: u64) {
        let Some(way) = self.ways.get_mut(window.way) else { return };
        let ([first, second], [fates, _]) = (seen, fates);
        for (sight, &fate) in first.iter().zip(fates) {
            if let Fate::Through { mate, sure: true, .. } = fate
                && let Some(mate) = second.get(mate)
                && sight.turn.max(mate.turn) < upto
            {
                way.differences.add(mate.at - sight.at);
            }
        }
        self.clocks.add(&way.differences);
    }

    /// When the other tap should have seen what tap `side` saw `at` a time, at the earliest and at the latest, by its
    /// own clock. `apart` tells how far both are apart for this flow; where nothing does, other flows tell roughly.
    fn expected(&self, side: usize, at: i64, apart: Option<i64>) -> Option<[i64; 2]> {
        let [low, high] = apart.map(|apart| [apart; 2]).or_else(|| self.clocks.apart(side))?;
        Some(if side == 0 { [at + low, at + high] } else { [at - high, at - low] })
    }

    /// Counts the doubles that tap `side` left out, by direction.
    pub(super) fn leave_out(&mut self, side: usize, doubles: impl Fn(Addr, Addr) -> u64) {
        for way in &mut self.ways {
            let count = doubles(way.src, way.dst);
            if let Some(alone) = way.alone.get_mut(side).filter(|_| count != 0) {
                alone.mirrored += count;
            }
        }
    }

    fn alone_of(&mut self, window: &Window, side: usize) -> Option<&mut Alone> {
        self.ways.get_mut(window.way)?.alone.get_mut(side)
    }

    /// A packet that both saw, in the order of tap `side`; of several copies, if it came `again`.
    fn through(&mut self, window: &mut Window, side: usize, seen: [&Sight; 2], again: bool, spans: [Span; 2]) {
        let [sight, mate] = seen;
        if window.started.get(side) == Some(&false) {
            self.judge_beginning(window, side, spans);
            if let Some(started) = window.started.get_mut(side) {
                *started = true;
            }
        } else {
            // The other capture went on.
            self.lose_held(window, side, spans);
        }
        let outage = window.runs.get_mut(side).and_then(|run| run.through(sight));
        if let Some(tally) = window.tallies.get_mut(side) {
            tally.through(sight);
        }
        self.outage(window, side, outage);
        if side == 0
            && let Some(way) = self.ways.get_mut(window.way)
        {
            way.through(sight, mate, again);
        }
    }

    /// A packet that only tap `side` saw.
    fn alone(&mut self, window: &mut Window, side: usize, held: Held, spans: [Span; 2]) {
        if held.sight.damaged {
            if let Some(alone) = self.alone_of(window, side) {
                alone.damaged += 1;
            }
            return;
        }
        let begun = window.started.get(side) == Some(&true);
        let covered = held.expected.zip(other(&spans, side)).is_some_and(|([_, at], span)| at <= span.last);
        if begun && covered && window.edges.get(side).is_some_and(Edge::is_full) {
            self.lose_held(window, side, spans);
        }
        if let Some(edge) = window.edges.get_mut(side) {
            edge.add(held);
        }
    }

    /// What tap `side` saw between two packets that both saw was lost. Where the other capture began in the midst of
    /// the traffic, what a shorter way would have brought before its first frame may have passed before.
    fn lose_held(&mut self, window: &mut Window, side: usize, spans: [Span; 2]) {
        if window.edges.get(side).is_none_or(|edge| edge.count() == 0) {
            return;
        }
        let Some(span) = other(&spans, side) else { return };
        let begin = self.beginning(window, side, span, 0);
        self.judge(window, side, |held| held.expected.is_none_or(|[at, _]| at > begin));
    }

    /// The first packet of the flow that both saw has come: what tap `side` saw before it was lost if the other capture
    /// had begun. What was due before its first frame cannot be compared, whatever was sent again later.
    fn judge_beginning(&mut self, window: &mut Window, side: usize, spans: [Span; 2]) {
        let Some(span) = other(&spans, side) else { return };
        let begin = self.beginning(window, side, span, SLACK);
        self.judge(window, side, |held| held.expected.is_some_and(|[at, _]| at > begin));
    }

    /// The captures are at their ends: what tap `side` saw behind the last packet that both saw.
    fn end(&mut self, window: &mut Window, side: usize, spans: [Span; 2]) {
        let Some(edge) = window.edges.get(side) else { return };
        if window.started.get(side) != Some(&true) {
            let count = edge.count();
            if count != 0
                && let Some(alone) = self.alone_of(window, side)
            {
                alone.unseen[0] += 1;
                alone.unseen[1] += count;
            }
            return;
        }
        let Some(span) = other(&spans, side) else { return };
        let late = edge.held.iter().filter(|held| held.expected.is_none_or(|[_, at]| at >= span.last)).count() as u64;
        let amidst = late + edge.more > EDGE || self.late.get(side).is_some_and(|&late| late > EDGE);
        let end = span.last.saturating_sub(if amidst { self.blur(window, SLACK) } else { 0 });
        let begin = self.beginning(window, side, span, 0);
        self.judge(window, side, |held| held.expected.is_some_and(|[from, to]| from > begin && to < end));
        let outage = window.runs.get_mut(side).and_then(Run::end);
        self.outage(window, side, outage);
    }

    fn outage(&mut self, window: &mut Window, side: usize, outage: Option<Outage>) {
        let Some(outage) = outage else { return };
        if let Some(alone) = self.alone_of(window, side) {
            alone.outage(outage);
        }
        if let Some(tally) = window.tallies.get_mut(side) {
            tally.outage(outage);
        }
    }

    /// Packets that tap `side` saw and that the other capture does not cover.
    fn outside(&mut self, window: &mut Window, side: usize, count: u64) {
        if count == 0 {
            return;
        }
        if let Some(alone) = self.alone_of(window, side) {
            alone.outside += count;
        }
        if let Some(tally) = window.tallies.get_mut(side) {
            tally.outside += count;
        }
    }

    /// What was held back was lost where the other tap `covers` it, and lies apart where not.
    fn judge(&mut self, window: &mut Window, side: usize, covers: impl Fn(&Held) -> bool) {
        let Some(edge) = window.edges.get_mut(side).map(std::mem::take) else { return };
        let mut outside = edge.more;
        for held in &edge.held {
            if covers(held) {
                self.lost(window, side, &held.sight, held.copies);
            } else {
                outside += 1;
            }
        }
        self.outside(window, side, outside);
    }

    /// From when on the other capture covers what tap `side` saw: where it began in the midst of that, delays that vary
    /// blur its beginning.
    fn beginning(&self, window: &Window, side: usize, span: &Span, slack: i64) -> i64 {
        let amidst = self.early.get(side).is_some_and(|&early| early > EDGE);
        span.first.saturating_add(if amidst { self.blur(window, slack) } else { 0 })
    }

    /// How much the delays of a direction vary and some `slack`, as far as a capture's edges are concerned; where it
    /// has too few packets to tell, the delays of all directions.
    fn blur(&self, window: &Window, slack: i64) -> i64 {
        let own = self.ways.get(window.way).map(|way| &way.differences).filter(|own| own.count >= EDGE);
        let jitter = own.and_then(Differences::range).map(|(min, max)| max.saturating_sub(min));
        let jitter = jitter.or_else(|| self.clocks.jitter(EDGE)).unwrap_or(BLURRED);
        jitter.saturating_add(slack).min(BLURRED)
    }

    /// A packet that the other tap should have seen.
    fn lost(&mut self, window: &mut Window, side: usize, sight: &Sight, copies: Copies) {
        let [named, refused] =
            [Named::Missing, Named::Refused].map(|how| self.is_named(how, window, sight, copies.next));
        let Some(alone) = self.ways.get_mut(window.way).and_then(|w| w.alone.get_mut(side)) else { return };
        // Of several copies one at least arrived, and who missed that may have missed them all. So it is where the
        // first one that the other tap saw was sent in vain. What the receiver was not ready for has come to it.
        if copies.spurious || refused || copies.there == 0 && Self::was_delivered(window, side, sight) {
            alone.missed += 1;
            return;
        }
        if copies.there == 0 && window.proofs.forgot(side, sight) {
            alone.forgotten += 1;
            if let Some(tally) = window.tallies.get_mut(side) {
                tally.forgot();
            }
            return;
        }
        alone.lost(sight, copies.there, named);
        let follows = window.runs.get(side).is_some_and(Run::is_open);
        if let Some(tally) = window.tallies.get_mut(side) {
            tally.lost(sight, copies.there, named, follows);
        }
        if let Some(run) = window.runs.get_mut(side) {
            run.lost(sight, window.key.qp());
        }
    }

    /// The direction of the answers to a flow.
    pub(super) fn way_back(&self, window: &Window) -> Option<&Way> {
        self.hosts.get(&(window.key.dst, window.key.src)).and_then(|&way| self.ways.get(way))
    }
}

fn other(spans: &[Span; 2], side: usize) -> Option<&Span> {
    spans.get(1 - side.min(1))
}
