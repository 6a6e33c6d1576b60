//! Frames that a tap shows twice: a mirror of two ports, or a card or bridge that doubles, and no repeats of a sender.

use std::collections::VecDeque;

use super::sight::{Kind, Sight};
use crate::engine::doubles::AT_ONCE;
use crate::flow::copies::MIRRORED_WITHIN;

/// What of the frames that a tap shows twice are no repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Twins {
    /// Those at another place: a mirror.
    pub(super) moved: bool,
    /// Those at the same place.
    pub(super) same: bool,
}

/// Packets that are evidence enough for a mirror.
const LEAST: u64 = 16;
/// Packets of a flow among which the double of an answer is looked for.
const LOOK: usize = 512;
/// Answers that come twice, beside requests that do: one of them may be a repeat's.
const FEW: u64 = 4;
/// Answers after which it is known.
const ENOUGH: u64 = 4096;

/// Where `b` may be the same frame as `a`, seen a second time: whether it was at the same place.
pub(super) fn is_twin(a: &Sight, b: &Sight) -> Option<bool> {
    let same = a.place == b.place;
    ((b.at - a.at).abs() <= if same { AT_ONCE } else { MIRRORED_WITHIN }.0.cast_signed()).then_some(same)
}

/// What a tap shows of one host's answers to another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    /// Acknowledgements that come once or twice at once, and those that come twice.
    acks: u64,
    twice: u64,
    /// What asks for packets again.
    naks: u64,
}

impl Answers {
    /// A packet, and what the tap saw of its flow before.
    ///
    /// A responder answers repeats by how far it has come (IBTA C9-105), so that these make one answer come many times:
    /// such an answer tells nothing. The others come once where nothing doubles.
    pub(super) fn add(&mut self, before: &VecDeque<Sight>, sight: &Sight) {
        match sight.kind {
            Kind::Nak => self.naks += 1,
            Kind::Ack if self.acks < ENOUGH => {
                let near = |s: &&Sight| s.at.abs_diff(sight.at) <= AT_ONCE.0;
                let lately = before.iter().rev().take(LOOK).take_while(near);
                match lately.filter(|s| s.identity == sight.identity && s.place == sight.place).count() {
                    0 => self.acks += 1,
                    1 => self.twice += 1,
                    2 => {
                        self.acks = self.acks.saturating_sub(1);
                        self.twice = self.twice.saturating_sub(1);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn come_twice(&self) -> bool {
        self.twice >= FEW && self.twice * 10 >= self.acks * 9
    }
}

/// What a tap shows of one flow's requests and responses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shown {
    pub(super) firsts: u64,
    /// First ones of which there are two, four, ... copies.
    pub(super) even: u64,
    /// Second ones, by place.
    pub(super) same: u64,
    pub(super) moved: u64,
    /// Second ones at the same place that follow a first one.
    pub(super) behind: u64,
}

impl Shown {
    /// The verdict, by what the tap shows of the answers; of a few packets what was known `before` may stand.
    pub(super) fn judge(&self, answers: &Answers, before: Twins) -> Twins {
        if self.firsts >= LEAST {
            return Twins { moved: self.moved * 2 >= self.firsts, same: self.are_doubles(answers) };
        }
        // Of a few packets only another place of nearly every one tells more than chance.
        Twins { moved: before.moved || self.moved != 0 && self.moved * 10 >= self.firsts * 9, ..before }
    }

    /// A mirror doubles what passes both its ports; a card or bridge that doubles does so with nearly everything, and
    /// each just once. A sender in trouble may do that as well, when a whole burst was refused. It doubles no answers,
    /// and it sends a row again, of which one second packet follows a first one: most do only if the rows are of one
    /// packet, and then each has its NAK, since no timer is as short as [`AT_ONCE`].
    fn are_doubles(&self, answers: &Answers) -> bool {
        let nearly_all = self.same * 10 >= self.firsts * 9 && self.even * 10 >= self.firsts * 9;
        let interleaved = self.behind * 3 >= self.firsts * 2 && self.behind > answers.naks * 2;
        nearly_all && (interleaved || answers.come_twice())
    }
}
