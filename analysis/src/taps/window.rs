//! The packets of one flow that two taps saw and that are not settled yet.

use std::collections::VecDeque;

use rocetop_parsers::Psn;

use super::align::{Group, assign, in_step};
use super::reads::Reads;
use super::sight::{Identity, Kind, Sight};
use super::tally::Tally;
use super::twins::{Answers, Shown, Twins, is_twin};
use super::way::{Copies, Edge, Run};
use crate::flow::Key;

/// What became of a packet that one tap saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The other tap saw it too: the index there. Where it saw as many copies, there is no doubt which.
    Through { mate: usize, sure: bool },
    /// The other tap did not see this copy of it.
    Alone(Copies),
    /// A second sight of the same frame by this tap itself.
    Twin,
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
    /// Second time stamp less first of the latest packet that both saw.
    pub(super) difference: Option<i64>,
    /// Of packets that both saw, the latest turn at each tap.
    pub(super) front: [u64; 2],
    /// What was seen at one tap alone and may lie outside of what the other captured.
    pub(super) edges: [Edge; 2],
    pub(super) runs: [Run; 2],
    pub(super) tallies: [Tally; 2],
    /// Some packet of this tap was seen by the other.
    pub(super) started: [bool; 2],
    /// Whether the tap shows frames twice.
    pub(super) twins: [Twins; 2],
    /// READs that each tap saw.
    pub(super) reads: [Reads; 2],
    /// What this flow's packets acknowledge of the way back.
    pub(super) acked: Option<Psn>,
    /// The furthest response that both saw.
    pub(super) answered: Option<Psn>,
}

/// PSNs within which one number is said to be beyond another: of a queue pair reused, half of all numbers are.
pub(super) const NEAR: i32 = 1 << 17;

/// The later of two PSNs; a far one starts anew.
pub(super) fn later(old: Option<Psn>, new: Psn) -> Option<Psn> {
    match old {
        Some(old) if (-NEAR..=0).contains(&(new - old)) => Some(old),
        _ => Some(new),
    }
}

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
            twins: Default::default(),
            reads: Default::default(),
            acked: None,
            answered: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.seen.iter().map(VecDeque::len).sum()
    }

    fn sight(&self, side: usize, index: usize) -> Option<&Sight> {
        self.seen.get(side)?.get(index)
    }

    /// The fate of every packet, by tap.
    /// By what the taps show of the answers to this flow.
    pub(super) fn fates(&mut self, answers: &[Answers; 2]) -> [Vec<Fate>; 2] {
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
        let fate = Fate::Alone(Copies { here: 1, there: 0 });
        let mut fates = [vec![fate; self.seen[0].len()], vec![fate; self.seen[1].len()]];
        for (side, (fates, answers)) in fates.iter_mut().zip(answers).enumerate() {
            self.drop_twins(side, &mut groups, fates, answers);
        }
        self.pair(groups, &mut fates);
        fates
    }

    /// Takes second sights of one frame out of the groups, where the tap makes them.
    fn drop_twins(&mut self, side: usize, groups: &mut [[Vec<usize>; 2]], fates: &mut [Fate], answers: &Answers) {
        let mut found: Vec<(usize, usize, bool)> = Vec::new();
        let mut shown = Shown::default();
        // Of each packet whether it is a second one at the same place, and whether it has a say.
        let mut second = vec![(false, false); fates.len()];
        for (n, group) in groups.iter().enumerate() {
            let Some(group) = group.get(side) else { continue };
            let Some(first) = group.first().and_then(|&index| self.sight(side, index)) else { continue };
            // A responder may well give the same answer twice in a moment: its answers prove nothing alone.
            let counts = matches!(first.kind, Kind::Request | Kind::Response);
            shown.firsts += u64::from(counts);
            shown.even += u64::from(counts && group.len() % 2 == 0);
            let mut doubled = false;
            for (&a, &b) in group.iter().zip(group.iter().skip(1)) {
                let twin = self.sight(side, a).zip(self.sight(side, b)).and_then(|(a, b)| is_twin(a, b));
                // A packet has one double at its place at most: what follows that is a repeat.
                let repeat = doubled && twin == Some(true);
                doubled = twin == Some(true) && !repeat;
                let Some(same) = twin.filter(|_| !repeat) else { continue };
                found.push((n, b, same));
                shown.same += u64::from(counts && same);
                shown.moved += u64::from(counts && !same);
                if let Some(second) = second.get_mut(b) {
                    *second = (same, counts);
                }
            }
        }
        let follows = second.iter().zip(second.iter().skip(1)).filter(|(a, b)| !a.0 && **b == (true, true));
        shown.behind = follows.count() as u64;
        let Some(twins) = self.twins.get_mut(side) else { return };
        *twins = shown.judge(answers, *twins);
        let twins = *twins;
        for (n, index, same) in found {
            if !(if same { twins.same } else { twins.moved }) {
                continue;
            }
            if let Some(group) = groups.get_mut(n).and_then(|g| g.get_mut(side)) {
                group.retain(|&i| i != index);
            }
            if let Some(fate) = fates.get_mut(index) {
                *fate = Fate::Twin;
            }
        }
    }

    /// Whether it carries packets that are evidence for or against mirrors.
    pub(super) fn is_numbered(&self) -> bool {
        self.seen.iter().flatten().any(|s| matches!(s.kind, Kind::Request | Kind::Response))
    }

    /// Pairs the copies of each packet: as many as both saw.
    fn pair(&mut self, groups: Vec<[Vec<usize>; 2]>, fates: &mut [Vec<Fate>; 2]) {
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
        let groups: Vec<Group> = groups.into_iter().map(|[up, down]| Group { up, down }).collect();
        pairs.extend(assign(first, second, &groups, &fixed[1], self.difference));
        let turned: Vec<Group> = groups.iter().map(|g| Group { up: g.down.clone(), down: g.up.clone() }).collect();
        let known = self.difference.map(|d| -d);
        pairs.extend(assign(second, first, &turned, &fixed[0], known).into_iter().map(|(b, a)| (a, b)));
        for group in &groups {
            let copies = [(&group.up, &group.down), (&group.down, &group.up)];
            for (fates, (here, there)) in fates.iter_mut().zip(copies) {
                for &index in here {
                    if let Some(fate) = fates.get_mut(index) {
                        *fate = Fate::Alone(Copies { here: here.len(), there: there.len() });
                    }
                }
            }
        }
        for (n, (a, b)) in pairs.into_iter().enumerate() {
            set(fates, a, b, n < sure);
            if let Some(sight) = self.sight(1, b).filter(|b| b.kind == Kind::Response) {
                self.answered = later(self.answered, sight.psn);
            }
        }
    }
}

fn set(fates: &mut [Vec<Fate>; 2], a: usize, b: usize, sure: bool) {
    let [first, second] = fates;
    if let (Some(fa), Some(fb)) = (first.get_mut(a), second.get_mut(b)) {
        (*fa, *fb) = (Fate::Through { mate: b, sure }, Fate::Through { mate: a, sure });
    }
}
