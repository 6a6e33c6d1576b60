//! The packets of one flow that two taps saw and that are not settled yet.

use std::collections::VecDeque;

use rocetop_parsers::{Nanos, Psn};

use super::align::{Group, assign, in_step};
use super::delivered::Proofs;
use super::lives::Lives;
use super::reads::Reads;
use super::sight::{Identity, Kind, Sight};
use super::tally::Tally;
use super::way::{Copies, Edge, Run};
use crate::flow::Key;
use crate::flow::headers::Place;
use crate::flow::mirror::{Glance, Look, Mirror, RECENT};

/// What became of a packet that one tap saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The other tap saw it too: the index there. Where it saw as many copies, there is no doubt which. `again`: there
    /// were several. `next`: the turn in which this tap saw the next one.
    Through { mate: usize, sure: bool, again: bool, next: u64 },
    /// The other tap did not see this copy of it.
    Alone(Copies),
    /// A second sight of the same frame by this tap itself, which a mirror made.
    Mirrored,
}

/// What became of each packet, by tap.
#[derive(Debug, Default)]
pub(super) struct Fates {
    pub(super) fates: [Vec<Fate>; 2],
    /// How far the clocks and the way set both taps apart at about that time: second stamp less first of the nearest
    /// packet that leaves no doubt.
    pub(super) apart: [Vec<Option<i64>>; 2],
}

/// One flow at two taps.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) key: Key,
    /// The direction that it belongs to.
    pub(super) way: usize,
    pub(super) seen: [VecDeque<Sight>; 2],
    /// Packets that are waited for before it is settled.
    pub(super) patience: usize,
    /// Second time stamp less first of the latest packet that both saw, of those that leave no doubt.
    pub(super) difference: Option<i64>,
    /// Of packets that both saw, the latest turn at each tap.
    pub(super) front: [u64; 2],
    /// What was seen at one tap alone and may lie outside of what the other captured.
    pub(super) edges: [Edge; 2],
    pub(super) runs: [Run; 2],
    pub(super) tallies: [Tally; 2],
    /// Some packet of this tap was seen by the other.
    pub(super) started: [bool; 2],
    /// Where each tap saw it, if at several places, and the turn of the latest packet that this knows of.
    mirrors: [Option<Box<Mirror<Identity>>>; 2],
    looked_at: [u64; 2],
    /// READs that each tap saw.
    pub(super) reads: [Reads; 2],
    /// The requests that each tap saw.
    pub(super) asked: [Lives; 2],
    /// What this flow's packets, as each tap saw them, acknowledge of the way back.
    pub(super) acked: [Lives; 2],
    /// What of its requests is acknowledged for certain.
    pub(super) proofs: Proofs,
    /// The responses that both saw, and the latest of them at the second tap.
    pub(super) answered: Lives,
    answered_until: u64,
    /// The furthest response that each tap saw.
    furthest: [Option<Psn>; 2],
    /// The latest one that was sent again, with its turn.
    resent: [Option<(u64, Psn)>; 2],
    /// The source port under which its answers are looked for.
    pub(super) port: Option<u16>,
    /// The flow that answers this one, by the hash of their ports, and how often it was looked for.
    pub(super) mate: Option<usize>,
    pub(super) looked_for_mate: u64,
}

/// PSNs within which one number is said to be beyond another: of a queue pair reused, half of all numbers are (chosen:
/// more than any window, less than a sixtieth of all numbers).
pub(super) const NEAR: i32 = 1 << 17;

impl Window {
    pub(super) fn new(key: Key, way: usize, patience: usize) -> Self {
        Self {
            key,
            way,
            seen: [VecDeque::new(), VecDeque::new()],
            patience,
            difference: None,
            front: [0; 2],
            edges: Default::default(),
            runs: Default::default(),
            tallies: Default::default(),
            started: [false; 2],
            mirrors: [None, None],
            looked_at: [0; 2],
            reads: Default::default(),
            asked: Default::default(),
            acked: Default::default(),
            proofs: Proofs::default(),
            answered: Lives::default(),
            answered_until: 0,
            furthest: [None; 2],
            resent: [None; 2],
            port: None,
            mate: None,
            looked_for_mate: 0,
        }
    }

    /// A response that tap `side` sees.
    pub(super) fn responds(&mut self, side: usize, sight: &Sight) {
        let (Some(furthest), Some(resent)) = (self.furthest.get_mut(side), self.resent.get_mut(side)) else { return };
        match furthest {
            Some(known) if (-NEAR..=0).contains(&(sight.psn - *known)) => *resent = Some((sight.turn, sight.psn)),
            _ => *furthest = Some(sight.psn),
        }
    }

    /// Whether this response that tap `side` saw was sent again, or is, or one before it later: who asked for that may
    /// have lacked this one as well, and have given up before it asked.
    pub(super) fn is_resent(&self, side: usize, sight: &Sight) -> bool {
        let resent = self.resent.get(side).copied().flatten();
        resent.is_some_and(|(turn, psn)| turn >= sight.turn && (0..=NEAR).contains(&(sight.psn - psn)))
    }

    pub(super) fn len(&self) -> usize {
        self.seen.iter().map(VecDeque::len).sum()
    }

    fn sight(&self, side: usize, index: usize) -> Option<&Sight> {
        self.seen.get(side)?.get(index)
    }

    /// The fate of every packet. `peer` tells of each tap whether it shows twice what this flow answers, `known` how
    /// far both taps are apart where this flow does not, and `roughly` what tells at least which of two copies it was.
    pub(super) fn fates(
        &mut self,
        peer: [Option<bool>; 2],
        known: impl FnOnce() -> Option<i64>,
        roughly: Option<i64>,
    ) -> Fates {
        let mut order: Vec<(Identity, usize, usize)> = Vec::with_capacity(self.len());
        for (side, seen) in self.seen.iter().enumerate() {
            order.extend(seen.iter().enumerate().map(|(index, sight)| (sight.identity, side, index)));
        }
        order.sort_unstable();
        let mut groups: Vec<[Vec<usize>; 2]> = Vec::new();
        for same in order.chunk_by(|a, b| a.0 == b.0) {
            let of = |side| same.iter().filter(|s| s.1 == side).map(|s| s.2).collect();
            groups.push([of(0), of(1)]);
        }
        let fate = Fate::Alone(Copies { here: 1, there: 0, spurious: false, next: u64::MAX });
        let mut fates = [vec![fate; self.seen[0].len()], vec![fate; self.seen[1].len()]];
        for (side, (fates, peer)) in fates.iter_mut().zip(peer).enumerate() {
            self.drop_mirrored(side, &mut groups, fates, peer);
        }
        let apart = self.pair(groups, &mut fates, known, roughly);
        Fates { fates, apart }
    }

    /// Takes second sights of one frame out of the groups, where a mirror makes them.
    fn drop_mirrored(&mut self, side: usize, groups: &mut [[Vec<usize>; 2]], fates: &mut [Fate], peer: Option<bool>) {
        self.look_for_mirrored(side, groups);
        let Some(mirror) = self.mirrors.get(side).and_then(Option::as_deref) else { return };
        if !peer.unwrap_or_else(|| mirror.has_moved()) {
            return;
        }
        let went_on = mirror.went_on();
        let early = went_on || mirror.takes_early();
        let is_mirrored = |index: usize| {
            self.sight(side, index).is_some_and(|s| match s.glance {
                Glance::First => false,
                Glance::Moved => true,
                Glance::Early => early,
                Glance::Late => went_on,
            })
        };
        for group in groups.iter_mut().filter_map(|group| group.get_mut(side)) {
            group.retain(|&index| {
                let mirrored = is_mirrored(index);
                if mirrored && let Some(fate) = fates.get_mut(index) {
                    *fate = Fate::Mirrored;
                }
                !mirrored
            });
        }
    }

    /// Looks at what came since this was done last.
    fn look_for_mirrored(&mut self, side: usize, groups: &[[Vec<usize>; 2]]) {
        let (Some(seen), Some(mirror)) = (self.seen.get_mut(side), self.mirrors.get_mut(side)) else { return };
        let Some(looked_at) = self.looked_at.get_mut(side) else { return };
        let places = |s: &Sight| s.turn > *looked_at && !s.damaged;
        let home = seen.front().map(|s| s.place);
        if mirror.is_none() && seen.iter().filter(|s| places(s)).all(|s| Some(s.place) == home) {
            *looked_at = seen.back().map_or(*looked_at, |s| s.turn);
            return;
        }
        let mut again = vec![false; seen.len()];
        for index in groups.iter().filter_map(|group| group.get(side)).flat_map(|group| group.iter().skip(1)) {
            if let Some(again) = again.get_mut(*index) {
                *again = true;
            }
        }
        let mut before: VecDeque<(Identity, Nanos)> = VecDeque::new();
        let mut latest: Option<Place> = None;
        for (sight, again) in seen.iter_mut().zip(again).filter(|(s, _)| !s.damaged) {
            let at = Nanos(sight.at.cast_unsigned());
            if sight.turn > *looked_at {
                if let Some(home) = latest.filter(|&home| mirror.is_none() && home != sight.place) {
                    *mirror = Some(Box::new(Mirror::since(std::mem::take(&mut before), home)));
                }
                if let Some(mirror) = mirror {
                    let Sight { identity, place, numbered, .. } = *sight;
                    // Whether a mirror made it is judged by all of the window, not by what was known then.
                    (sight.glance, _) = mirror.add(Look { identity, at, place, numbered, again: again && numbered });
                }
                *looked_at = sight.turn;
            }
            latest = Some(sight.place);
            if mirror.is_none() {
                if before.len() == RECENT {
                    before.pop_front();
                }
                before.push_back((sight.identity, at));
            }
        }
    }

    /// Whether each tap shows this flow's packets twice, from two places.
    pub(super) fn mirrored(&self) -> [bool; 2] {
        self.mirrors.each_ref().map(|mirror| mirror.as_deref().is_some_and(Mirror::has_moved))
    }

    /// Whether it carries packets that are evidence for or against mirrors.
    pub(super) fn is_numbered(&self) -> bool {
        self.seen.iter().flatten().any(|s| matches!(s.kind, Kind::Request | Kind::Response))
    }

    /// Pairs the copies of each packet: as many as both saw.
    fn pair(
        &mut self,
        groups: Vec<[Vec<usize>; 2]>,
        fates: &mut [Vec<Fate>; 2],
        known: impl FnOnce() -> Option<i64>,
        roughly: Option<i64>,
    ) -> [Vec<Option<i64>>; 2] {
        let [first, second] = &self.seen;
        let mut pairs = Vec::new();
        for [a, b] in groups.iter().filter(|[a, b]| a.len() == b.len()) {
            pairs.extend(in_step(first, a.clone(), second, b.clone()));
        }
        let sure = pairs.len();
        let mut fixed = [vec![None; first.len()], vec![None; second.len()]];
        for &(a, b) in &pairs {
            let [by_first, by_second] = &mut fixed;
            if let (Some(fa), Some(fb)) = (by_first.get_mut(a), by_second.get_mut(b)) {
                (*fa, *fb) = (Some(b), Some(a));
            }
        }
        let difference = |&(a, b): &(usize, usize)| Some(second.get(b)?.at - first.get(a)?.at);
        let known = self.difference.or_else(|| if sure == 0 { known() } else { None });
        let latest = pairs.iter().max_by_key(|p| p.0).and_then(difference);
        let groups: Vec<Group> = groups.into_iter().map(|[up, down]| Group { up, down }).collect();
        let roughly = known.or(roughly.filter(|_| sure == 0));
        pairs.extend(assign(first, second, &groups, &fixed[1], roughly));
        let turned: Vec<Group> = groups.iter().map(|g| Group { up: g.down.clone(), down: g.up.clone() }).collect();
        let turned_roughly = roughly.map(|d| -d);
        pairs.extend(assign(second, first, &turned, &fixed[0], turned_roughly).into_iter().map(|(b, a)| (a, b)));
        for group in &groups {
            let copies = [(&group.up, &group.down, [first, second]), (&group.down, &group.up, [second, first])];
            for (fates, (here, there, [own, seen])) in fates.iter_mut().zip(copies) {
                let earliest = there.iter().filter_map(|&index| seen.get(index)).min_by_key(|sight| sight.turn);
                let spurious = earliest.is_some_and(|sight| sight.spurious);
                for (n, &index) in here.iter().enumerate() {
                    if let Some(fate) = fates.get_mut(index) {
                        let next = here.get(n + 1).and_then(|&next| own.get(next)).map_or(u64::MAX, |sight| sight.turn);
                        *fate = Fate::Alone(Copies { here: here.len(), there: there.len(), spurious, next });
                    }
                }
            }
        }
        let mut answered = Vec::new();
        for (n, (a, b)) in pairs.into_iter().enumerate() {
            let copies = |side: usize, index: usize| match fates.get(side).and_then(|fates| fates.get(index)) {
                Some(&Fate::Alone(copies)) => (copies.here + copies.there > 2, copies.next),
                _ => (false, u64::MAX),
            };
            let through = |mate, (again, next)| Fate::Through { mate, sure: n < sure, again, next };
            let both = (through(b, copies(0, a)), through(a, copies(1, b)));
            let [first, second] = &mut *fates;
            if let (Some(fa), Some(fb)) = (first.get_mut(a), second.get_mut(b)) {
                (*fa, *fb) = both;
            }
            if let Some(sight) = self.sight(1, b).filter(|b| b.kind == Kind::Response && b.turn > self.answered_until) {
                answered.push((sight.turn, sight.psn));
            }
        }
        answered.sort_unstable_by_key(|&(turn, _)| turn);
        for (turn, psn) in answered {
            // One life has one port: these are told apart by their PSNs.
            self.answered.add([psn; 2], 0, turn);
            self.answered_until = turn;
        }
        self.difference = latest.or(known);
        let [by_first, by_second] = fixed;
        let by = |fixed: Vec<Option<usize>>, apart: &dyn Fn(usize, usize) -> Option<i64>| {
            let each = fixed.into_iter().enumerate().map(|(here, there)| apart(here, there?)).collect();
            nearest(each, known)
        };
        let by_first = by(by_first, &|a, b| difference(&(a, b)));
        [by_first, by(by_second, &|b, a| difference(&(a, b)))]
    }
}

/// Fills what is not known by what was known before, or else by what comes next, or else by what was `known`.
fn nearest(mut each: Vec<Option<i64>>, known: Option<i64>) -> Vec<Option<i64>> {
    let mut last = known.or_else(|| each.iter().copied().find_map(|e| e));
    for slot in &mut each {
        last = slot.or(last);
        *slot = last;
    }
    each
}
