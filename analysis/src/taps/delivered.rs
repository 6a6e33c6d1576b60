//! Whether what a tap did not see arrived all the same: the answers of the same connection tell.
//!
//! Queue pairs of two hosts may count from the same PSN, and an answer does not name whose it is. Where the source
//! ports are the hash of both queue pairs, they tell; so does a port that no other flow of the two hosts has. Else
//! answers prove nothing of a flow but where each flow that they may belong to has some of its own; of those that may
//! be its answers, one has to acknowledge the packet: better a loss too few than one that was none.
//!
//! A queue pair number may be used again, and its PSNs then start elsewhere: what was asked and acknowledged is kept by
//! such lives, and answers prove nothing of any life but the one in which they came.

use std::collections::HashMap;

use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::opcode::Operation;
use rocetop_parsers::{Facts, Psn, Qpn, sport};

use super::crowd::Crowd;
use super::lives::Life;
use super::pair::Pair;
use super::sight::{Kind, Sight};
use super::window::{NEAR, Window};
use crate::engine::pairing::hash_fits;

/// PSNs behind the first request seen that may still be acknowledged: in flight when the capture began
/// (chosen: 64 MB of 4 KiB packets, what a 400G path of more than a millisecond holds).
const IN_FLIGHT: i32 = 1 << 14;
/// The least that a packet of a response carries, all but the last (IBTA 9.4.1).
const LEAST_MTU: u32 = 256;
/// Of more flows that the answers may belong to nobody finds out which has its own (chosen: bounds the work, which
/// grows with the square).
pub(super) const RIVALS: usize = 32;
/// Of more answers that may be a flow's nobody finds out whether they are enough for all (chosen: bounds the work,
/// which grows with the square).
const CROWD: usize = 1 << 13;

/// The first and the furthest of a flow's PSNs, of the latest ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    first: Psn,
    last: Psn,
}

impl Reach {
    /// With those of one more packet. Far ones start anew.
    pub(super) fn with(reach: Option<Self>, [from, to]: [Psn; 2]) -> Self {
        let Some(old) = reach.filter(|old| old.is_near(from)) else {
            return Self { first: from, last: to };
        };
        let last = if to - old.last > 0 { to } else { old.last };
        let first = if from - old.first < 0 { from } else { old.first };
        // Of numbers that go round only the latest can be compared.
        Self { first: if last - first > NEAR { last - NEAR.unsigned_abs() } else { first }, last }
    }

    /// Whether what acknowledges these may answer requests that reach as far as that.
    fn may_answer(self, asked: Self) -> bool {
        self.last - asked.last <= 1 && self.first - asked.first >= -IN_FLIGHT
    }

    pub(super) fn last(self) -> Psn {
        self.last
    }

    /// Whether these go on from where the others were.
    pub(super) fn is_near(self, psn: Psn) -> bool {
        (-NEAR..=NEAR).contains(&(psn - self.last))
    }
}

pub(super) fn is_beyond(acked: Psn, psn: Psn) -> bool {
    (1..=NEAR).contains(&(acked - psn))
}

/// The PSNs that a request takes: a READ those of its response, of which there are at most so many.
pub(super) fn asks(facts: &Facts) -> [Psn; 2] {
    let is_read = facts.opcode.operation() == Operation::READ_REQ && facts.flags.has(Flags::EXTENDED);
    let more = if is_read { facts.dma_len.div_ceil(LEAST_MTU).saturating_sub(1) } else { 0 };
    [facts.psn, facts.psn + more.min(NEAR.unsigned_abs())]
}

/// Up to where the requests of one life of a flow are acknowledged for certain, as one tap saw them.
#[derive(Clone, Copy, Debug)]
struct Proof {
    side: usize,
    /// The turns in which that life was.
    turns: [u64; 2],
    /// The place in that life.
    upto: i64,
}

/// What answers tell about the requests of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Proofs {
    all: Vec<Proof>,
    /// By tap: before that turn they tell nothing any more.
    forgotten: [u64; 2],
}

impl Proofs {
    /// Whether a request that tap `side` saw was acknowledged.
    fn cover(&self, side: usize, sight: &Sight) -> bool {
        self.all.iter().any(|&Proof { side: of, turns: [from, to], upto }| {
            of == side && (from..to).contains(&sight.turn) && sight.nth < upto
        })
    }

    /// Whether it cannot be known any more if a request that tap `side` saw was acknowledged.
    pub(super) fn forgot(&self, side: usize, sight: &Sight) -> bool {
        let before = self.forgotten.get(side).copied().unwrap_or_default();
        sight.shows() && sight.kind == Kind::Request && sight.turn < before
    }
}

/// One life of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lived {
    /// The flow, by index.
    pub(super) flow: usize,
    /// The queue pair that it goes to.
    pub(super) to: Qpn,
    pub(super) life: Life,
    /// The turns in which it was.
    pub(super) turns: [u64; 2],
}

impl Lived {
    pub(super) fn may_answer(&self, asked: &Self) -> bool {
        let [from, to] = asked.turns;
        (from..to).contains(&self.turns[0]) && self.life.reach.may_answer(asked.life.reach)
    }

    pub(super) fn port_fits(&self, asked: &Self) -> bool {
        hash_fits((asked.life.port, asked.to), (self.life.port, self.to))
    }

    /// The source ports that its answers may come from, where it has one: the same, or the one of its queue pair.
    pub(super) fn ports_of_answers(&self) -> impl Iterator<Item = u16> + use<> {
        let same = self.life.port;
        let own = same.map(|_| sport::of_rxe_source(self.to));
        same.into_iter().chain(own.filter(|_| own != same))
    }

    pub(super) fn last(&self) -> Psn {
        self.life.reach.last
    }
}

/// All lives of the flows of each direction, by tap, and whether it is what they acknowledge or what they ask; as long
/// as no packet comes.
pub(super) type Crowds = HashMap<(usize, usize, bool), Crowd>;

impl Pair {
    /// What is acknowledged for certain of the requests of a flow, which is taken out while it is settled.
    pub(super) fn proofs(&mut self, index: usize, window: &Window) -> Proofs {
        let mut proofs = Proofs::default();
        let Some(&back) = self.hosts.get(&(window.key.dst, window.key.src)) else { return proofs };
        let mut crowds = std::mem::take(&mut self.crowds);
        let of = |way: usize, side: usize, acked: bool| {
            let windows = self.ways.get(way).into_iter().flat_map(|way| &way.windows).filter_map(|&flow| {
                let window = if flow == index { Some(window) } else { self.windows.get(flow) };
                Some((flow, window?))
            });
            Crowd::of(windows, side, acked)
        };
        for (side, lives) in window.asked.iter().enumerate().filter(|(_, lives)| !lives.is_empty()) {
            for (way, side, acked) in [(window.way, side, false), (back, side, true), (back, 1 - side, true)] {
                crowds.entry((way, side, acked)).or_insert_with(|| of(way, side, acked));
            }
            let answers = |side: usize| crowds.get(&(back, side, true));
            // A tap of one direction leaves the other one to its neighbour.
            let answers = answers(side).filter(|own| !own.is_empty()).or_else(|| answers(1 - side));
            let Some((others, answers)) = crowds.get(&(window.way, side, false)).zip(answers) else { continue };
            let mut forgotten = lives.forgotten().max(answers.forgotten());
            for (life, turns) in lives.each() {
                let asked = Lived { flow: index, to: window.key.qp(), life, turns };
                match acknowledged(&asked, others, answers) {
                    Acked::Upto(psn) => {
                        let upto = life.nth + i64::from(psn - life.reach.last);
                        proofs.all.push(Proof { side, turns, upto });
                    }
                    Acked::Nothing => {}
                    Acked::Unknown => forgotten = forgotten.max(turns[1]),
                }
            }
            if let Some(slot) = proofs.forgotten.get_mut(side) {
                *slot = forgotten;
            }
        }
        self.crowds = crowds;
        proofs
    }

    /// Whether a packet that tap `side` alone saw arrived: a request that was acknowledged, a response that the
    /// requester did not ask for again though it had later ones (out of order, it has to: mlx5
    /// counts `implied_nak_seq_err`).
    pub(super) fn was_delivered(window: &Window, side: usize, sight: &Sight) -> bool {
        let answered = || window.answered.upto(sight.turn, sight.psn).is_some_and(|upto| is_beyond(upto, sight.psn));
        sight.shows()
            && match sight.kind {
                Kind::Response => answered() && !window.is_resent(side, sight),
                Kind::Request => window.proofs.cover(side, sight),
                _ => false,
            }
    }
}

/// Up to where requests are acknowledged for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acked {
    Upto(Psn),
    Nothing,
    /// Too many flows have answers that may be theirs.
    Unknown,
}

impl Acked {
    fn of(upto: Option<Psn>) -> Self {
        upto.map_or(Self::Nothing, Self::Upto)
    }
}

/// Up to where requests are acknowledged for certain, by some of these `answers`, of which some may belong to
/// `others`.
pub(super) fn acknowledged(asked: &Lived, others: &Crowd, answers: &Crowd) -> Acked {
    let least = |a: Psn, b: Psn| if b - a < 0 { b } else { a };
    let furthest = |a: Psn, b: Psn| if b - a > 0 { b } else { a };
    let by_port = || answers.fitting_ports(asked).filter(|answer| answer.may_answer(asked));
    if let Some(least) = by_port().filter(|answer| answer.port_fits(asked)).map(Lived::last).reduce(least) {
        return Acked::Upto(least);
    }
    // No other flow of the two hosts has that port: neither one that asks, nor one that answers.
    if let Some(port) = asked.life.port
        && others.is_port_of(port, asked.flow)
        && answers.is_once(port)
    {
        return Acked::of(by_port().find(|answer| answer.life.port == Some(port)).map(Lived::last));
    }
    let reach = asked.life.reach;
    let fitting = answers.between(reach.first - IN_FLIGHT.unsigned_abs(), reach.last + 1);
    let fitting: Vec<&Lived> = fitting.filter(|answer| answer.may_answer(asked)).take(CROWD + 1).collect();
    let Some(upto) = fitting.iter().map(|answer| answer.last()).reduce(furthest) else { return Acked::Nothing };
    if fitting.len() > CROWD {
        return Acked::Unknown;
    }
    // All that fit are near one another, so that their extremes tell of the most what they cannot be answers of.
    let from = fitting.iter().map(|answer| answer.last()).reduce(least).unwrap_or(upto);
    let latest = fitting.iter().map(|answer| answer.life.reach.first).reduce(furthest).unwrap_or(upto);
    let others_between = |from: Psn, latest: Psn| {
        let end = latest + IN_FLIGHT.unsigned_abs() + NEAR.unsigned_abs();
        others.between(from - 1, end).filter(|other| other.flow != asked.flow)
    };
    let rivals = others_between(from, latest).filter(|other| fitting.iter().any(|answer| answer.may_answer(other)));
    let rivals: Vec<&Lived> = rivals.take(RIVALS.max(fitting.len())).collect();
    // A rival that has answers which can be nobody else's needs none of these.
    let is_own = |answer: &Lived, rival: &Lived| {
        answer.may_answer(rival) && !answer.may_answer(asked) && {
            let askers = others_between(answer.last(), answer.life.reach.first);
            askers.filter(|other| answer.may_answer(other)).take(2).count() == 1
        }
    };
    let many = rivals.len() > RIVALS || answers.len() > RIVALS;
    let needs = |rival: &&&Lived| many || !answers.all().any(|answer| is_own(answer, rival));
    if rivals.iter().filter(needs).count() >= fitting.len() { Acked::Nothing } else { Acked::Upto(upto) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(first: u32, last: u32) -> Reach {
        Reach { first: Psn::new(first), last: Psn::new(last) }
    }

    #[test]
    fn answers_fit_what_was_asked() {
        let asked = reach(1_000, 2_000);
        assert!(reach(1_001, 2_001).may_answer(asked));
        assert!(reach(990, 1_500).may_answer(asked), "in flight when the capture began");
        assert!(!reach(1_001, 2_002).may_answer(asked), "never asked");
        assert!(!reach(0xff_0000, 1_500).may_answer(asked), "another's");
    }

    #[test]
    fn a_reach_keeps_to_the_latest() {
        let mut all = None;
        for psn in [0xff_fff0, 0xff_ffff, 5, 2] {
            all = Some(Reach::with(all, [Psn::new(psn), Psn::new(psn)]));
        }
        assert_eq!(all, Some(reach(0xff_fff0, 5)));
        assert_eq!(Reach::with(all, [Psn::new(0x40_0000); 2]), reach(0x40_0000, 0x40_0000));
        assert_eq!(Reach::with(Some(reach(0, 131_072)), [Psn::new(131_082); 2]), reach(10, 131_082));
    }
}
