//! Whether what a tap did not see arrived all the same: the answers of the same connection tell.
//!
//! Queue pairs of two hosts may count from the same PSN, and an answer does not name whose it is. Where the source
//! ports are the hash of both queue pairs, they tell; so does a port that no other flow of the two hosts has. Else
//! answers prove nothing of a flow but where each flow that they may belong to has some of its own; of those that may
//! be its answers, one has to acknowledge the packet: better a loss too few than one that was none.
//!
//! A queue pair number may be used again, and its PSNs then start elsewhere: what was asked and acknowledged is kept by
//! such lives, and answers prove nothing of any life but the one in which they came.

use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::opcode::Operation;
use rocetop_parsers::{Facts, Psn, Qpn};

use super::lives::{Life, Lives};
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

    fn holds(self, psn: Psn) -> bool {
        psn - self.first >= 0 && psn - self.last <= 0
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
pub(super) struct Proof {
    side: usize,
    /// The turns in which that life was.
    turns: [u64; 2],
    asked: Reach,
    upto: Psn,
}

impl Proof {
    /// Whether a request that tap `side` saw was acknowledged.
    fn covers(&self, side: usize, sight: &Sight) -> bool {
        let [from, to] = self.turns;
        self.side == side
            && (from..to).contains(&sight.turn)
            && self.asked.holds(sight.psn)
            && is_beyond(self.upto, sight.psn)
    }
}

/// One life of a flow and the turns in which it was; the queue pair that it goes to.
pub(super) type Lived = (Life, [u64; 2], Qpn);

pub(super) fn may_answer((answer, [came, _], _): &Lived, (asked, [from, to], _): &Lived) -> bool {
    (from..to).contains(&came) && answer.reach.may_answer(asked.reach)
}

pub(super) fn ports_fit((asked, _, to): &Lived, (answer, _, back): &Lived) -> bool {
    hash_fits((asked.port, *to), (answer.port, *back))
}

impl Pair {
    /// What is acknowledged for certain of the requests of a flow.
    pub(super) fn proofs(&self, window: &Window) -> Vec<Proof> {
        let Some(&back) = self.hosts.get(&(window.key.dst, window.key.src)) else { return Vec::new() };
        let of = |way: usize| self.ways.get(way).into_iter().flat_map(|way| &way.windows);
        let all = |way: usize| of(way).filter_map(|&index| self.windows.get(index));
        let mut proofs = Vec::new();
        for (side, lives) in window.asked.iter().enumerate() {
            if lives.is_empty() {
                continue;
            }
            let lived = |window: &Window, lives: &dyn Fn(&Window) -> Option<&Lives>| -> Vec<Lived> {
                let qp = window.key.qp();
                lives(window).into_iter().flat_map(Lives::each).map(|(life, turns)| (life, turns, qp)).collect()
            };
            let answers =
                |side: usize| -> Vec<Lived> { all(back).flat_map(|w| lived(w, &|w| w.acked.get(side))).collect() };
            // A tap of one direction leaves the other one to its neighbour.
            let answers = Some(answers(side)).filter(|own| !own.is_empty()).unwrap_or_else(|| answers(1 - side));
            // This flow is taken out while it is settled: these are the others.
            let others: Vec<Lived> = all(window.way).flat_map(|w| lived(w, &|w| w.asked.get(side))).collect();
            for asked in lived(window, &|w| w.asked.get(side)) {
                if let Some(upto) = acknowledged(&asked, &others, &answers) {
                    proofs.push(Proof { side, turns: asked.1, asked: asked.0.reach, upto });
                }
            }
        }
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
                Kind::Request => window.proofs.iter().any(|proof| proof.covers(side, sight)),
                _ => false,
            }
    }
}

/// Up to where requests are acknowledged for certain, by some of these `answers`, of which some may belong to
/// `others`.
pub(super) fn acknowledged(asked: &Lived, others: &[Lived], answers: &[Lived]) -> Option<Psn> {
    let fitting: Vec<&Lived> = answers.iter().filter(|answer| may_answer(answer, asked)).collect();
    let last = |answer: &&Lived| answer.0.reach.last;
    let least = |a: Psn, b: Psn| if b - a < 0 { b } else { a };
    if let Some(least) =
        fitting.iter().copied().filter(|answer| ports_fit(asked, answer)).map(|a| last(&a)).reduce(least)
    {
        return Some(least);
    }
    // No other flow of the two hosts has that port: neither one that asks, nor one that answers.
    if let Some(port) = asked.0.port
        && others.iter().all(|other| other.0.port.is_some_and(|other| other != port))
        && let mut same = answers.iter().filter(|answer| answer.0.port != Some(port))
        && same.clone().count() + 1 == answers.len()
        && same.all(|answer| answer.0.port.is_some())
    {
        return fitting.iter().copied().find(|answer| answer.0.port == Some(port)).map(|a| last(&a));
    }
    let rivals = others.iter().filter(|&other| fitting.iter().any(|answer| may_answer(answer, other)));
    let rivals: Vec<&Lived> = rivals.take(RIVALS.max(fitting.len())).collect();
    // A rival that has answers which can be nobody else's needs none of these.
    let is_own = |answer: &Lived, rival: &Lived| {
        let askers = others.iter().filter(|other| may_answer(answer, other)).take(2).count();
        may_answer(answer, rival) && !may_answer(answer, asked) && askers == 1
    };
    let needs = |rival: &&&Lived| {
        rivals.len() > RIVALS || answers.len() > RIVALS || !answers.iter().any(|answer| is_own(answer, rival))
    };
    if rivals.iter().filter(needs).count() >= fitting.len() {
        return None;
    }
    fitting.iter().map(last).reduce(|a, b| if b - a > 0 { b } else { a })
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
