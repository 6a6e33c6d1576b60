//! Whether what a tap did not see arrived all the same: the answers of the same connection tell.
//!
//! Queue pairs of two hosts may count from the same PSN, and an answer does not name whose it is. Where the source
//! ports are the hash of both queue pairs, they tell. Else answers prove nothing of a flow but where each flow that
//! they may belong to has some of its own; of those that may be its answers, one has to acknowledge the packet: better
//! a loss too few than one that was none.

use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::opcode::Operation;
use rocetop_parsers::{Facts, Psn};

use super::pair::Pair;
use super::sight::{Kind, Sight};
use super::window::{NEAR, Window};
use crate::engine::pairing::hash_fits;

/// PSNs behind the first request seen that may still be acknowledged: in flight when the capture began
/// (chosen: 64 MB of 4 KiB packets, what a 400G path of more than a millisecond holds).
const IN_FLIGHT: i32 = 1 << 14;
/// The least that a packet of a response carries, all but the last (IBTA 9.4.1).
const LEAST_MTU: u32 = 256;

/// The first and the furthest of a flow's PSNs, of the latest ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    first: Psn,
    last: Psn,
}

impl Reach {
    /// With those of one more packet. Far ones start anew.
    pub(super) fn with(reach: Option<Self>, [from, to]: [Psn; 2]) -> Self {
        let Some(old) = reach.filter(|old| (-NEAR..=NEAR).contains(&(from - old.last))) else {
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
}

fn is_beyond(acked: Psn, psn: Psn) -> bool {
    (1..=NEAR).contains(&(acked - psn))
}

/// The PSNs that a request takes: a READ those of its response, of which there are at most so many.
pub(super) fn asks(facts: &Facts) -> [Psn; 2] {
    let is_read = facts.opcode.operation() == Operation::READ_REQ && facts.flags.has(Flags::EXTENDED);
    let more = if is_read { facts.dma_len.div_ceil(LEAST_MTU).saturating_sub(1) } else { 0 };
    [facts.psn, facts.psn + more.min(NEAR.unsigned_abs())]
}

impl Pair {
    /// Up to where the requests of a flow are acknowledged for certain.
    pub(super) fn acknowledged(&self, window: &Window) -> Option<Psn> {
        let asked = window.asked?;
        let of = |way: usize| self.ways.get(way).into_iter().flat_map(|way| &way.windows);
        let all = |way: usize| of(way).filter_map(|&index| self.windows.get(index));
        let back = self.hosts.get(&(window.key.dst, window.key.src)).copied()?;
        let fits = |w: &&Window| w.acked.is_some_and(|acked| acked.may_answer(asked));
        let own = all(back).filter(fits).filter(|w| hash_fits(window.road(), w.road()));
        if let Some(least) = own.filter_map(|w| w.acked).map(|a| a.last).reduce(|a, b| if b - a < 0 { b } else { a }) {
            return Some(least);
        }
        let answers: Vec<Reach> = all(back).filter(fits).filter_map(|w| w.acked).collect();
        // This flow is taken out while it is settled: these are the others.
        let others = all(window.way).filter_map(|w| w.asked);
        let others = others.filter(|&asked| answers.iter().any(|answer| answer.may_answer(asked)));
        if others.take(answers.len()).count() >= answers.len() {
            return None;
        }
        answers.into_iter().map(|answer| answer.last).reduce(|a, b| if b - a > 0 { b } else { a })
    }

    /// Whether a packet that one tap alone saw arrived: a request that was acknowledged, a response that the requester
    /// did not ask for again though it had later ones (out of order, it has to: mlx5
    /// counts `implied_nak_seq_err`).
    pub(super) fn was_delivered(window: &Window, sight: &Sight) -> bool {
        let proof = match sight.kind {
            Kind::Response => window.answered,
            Kind::Request => window.proof,
            _ => None,
        };
        sight.shows() && proof.is_some_and(|psn| is_beyond(psn, sight.psn))
    }
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
