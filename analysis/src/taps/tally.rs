//! What became of one flow between two taps.

use super::sight::{Kind, Sight};
use super::way::{LISTED, Outage};
use crate::event::FrameNo;

/// Packets that one tap saw and the other did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Missing {
    /// Without any copy at the other tap.
    absent: u32,
    /// With fewer copies there.
    spare: u32,
    /// Of both, those that a NAK named.
    named: u32,
    /// Besides, those of which it is forgotten whether they arrived.
    forgotten: u32,
}

impl Missing {
    /// So many of them were lost; `shown`: those without any copy were not, the capture missed them.
    pub(super) fn lost(self, missed: bool) -> u64 {
        u64::from(self.spare) + if missed { 0 } else { u64::from(self.absent) }
    }

    /// Whether some more may be lost.
    pub(super) fn is_open(self) -> bool {
        self.forgotten != 0
    }

    /// Those of them that were lost for certain, whatever the capture missed.
    pub(super) fn named(self) -> u64 {
        u64::from(self.named)
    }
}

/// Requests of a flow that were lost in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Stamps of the first and the last.
    pub(super) at: [i64; 2],
    pub(super) packets: u64,
    pub(super) frame: FrameNo,
}

/// Rows kept of each flow (chosen: more than a pattern needs, and few bytes).
const ROWS: usize = 256;
/// What a sender sends only so much later was not lost in the same row, though nothing went through between: a
/// timer ran out (chosen: timers run from about a millisecond, the packets of a message follow each other in
/// microseconds).
const PAUSE_NS: i64 = 1_000_000;

/// One flow, as one tap saw it beside the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) requests: Missing,
    /// What answers requests: responses, ACKs, NAKs.
    pub(super) answers: Missing,
    /// Stamps of the first and the last packet that both saw.
    pub(super) common: Option<[i64; 2]>,
    /// Packets that were not judged: the other capture did not cover them.
    pub(super) outside: u64,
    /// The first lost requests.
    pub(super) first: Vec<FrameNo>,
    /// Stamps of the first and the last lost request.
    pub(super) lost: Option<[i64; 2]>,
    /// Lost requests, by row: the first so many.
    pub(super) rows: Vec<Row>,
    /// Stamp of the first one that belongs to none of them; `None` where they are all.
    pub(super) rows_until: Option<i64>,
    /// The longest row of losses.
    pub(super) outage: Option<Box<Outage>>,
}

impl Tally {
    pub(super) fn through(&mut self, sight: &Sight) {
        extend(&mut self.common, sight.at);
    }

    /// A request of which it is forgotten whether it arrived.
    pub(super) fn forgot(&mut self) {
        self.requests.forgotten = self.requests.forgotten.saturating_add(1);
    }

    /// `named`: a NAK says so. `follows`: nothing went through since the last one that was lost.
    pub(super) fn lost(&mut self, sight: &Sight, others: usize, named: bool, follows: bool) {
        let missing = match sight.kind {
            Kind::Request => &mut self.requests,
            Kind::Response | Kind::Ack | Kind::Nak => &mut self.answers,
            Kind::Cnp | Kind::Other => return,
        };
        let count = if others == 0 { &mut missing.absent } else { &mut missing.spare };
        *count = count.saturating_add(1);
        missing.named = missing.named.saturating_add(u32::from(named));
        if sight.kind == Kind::Request {
            extend(&mut self.lost, sight.at);
            if self.first.len() < LISTED {
                self.first.push(sight.frame);
            }
            let room = self.rows.len() < ROWS;
            // Behind one that no row was kept for, nothing belongs to the last of them.
            let follows = follows && self.rows_until.is_none();
            match self.rows.last_mut() {
                Some(row) if follows && sight.at.saturating_sub(row.at[1]).abs() <= PAUSE_NS => {
                    (row.at[1], row.packets) = (sight.at, row.packets + 1);
                }
                _ if room => {
                    self.rows.push(Row { at: [sight.at; 2], packets: 1, frame: sight.frame });
                }
                _ => self.rows_until = Some(self.rows_until.map_or(sight.at, |at| at.min(sight.at))),
            }
        }
    }

    pub(super) fn outage(&mut self, outage: Outage) {
        if self.outage.as_ref().is_none_or(|longest| longest.packets < outage.packets) {
            self.outage = Some(Box::new(outage));
        }
    }
}

fn extend(span: &mut Option<[i64; 2]>, at: i64) {
    let [first, last] = span.get_or_insert([at, at]);
    (*first, *last) = ((*first).min(at), (*last).max(at));
}
