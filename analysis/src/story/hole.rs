//! A hole: PSNs that were skipped here, and what came of each of them.
//!
//! A sender that goes back sends everything again from the packet that was lost. So of a PSN that was skipped and came as
//! often as the sender went back, one packet was lost; and one that came once more was only late: its own late copy, and
//! the useless repeats.

use rocetop_parsers::{Nanos, Psn};

use crate::event::FrameNo;

/// A frame of the evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) frame: FrameNo,
    pub(crate) at: Nanos,
}

/// PSNs of one hole that are told apart. What a burst loses beyond this is counted as one with the last.
const WIDEST: usize = 1024;

/// Arrivals of a PSN that is known to have been late: more than any sender sends.
const LATE: u8 = u8::MAX;

/// Skipped PSNs.
#[derive(Clone, Debug)]
pub(crate) struct Hole {
    pub(crate) start: Psn,
    pub(crate) len: u32,
    /// The packet that skipped them.
    pub(crate) opened: Mark,
    /// They had been seen before: only a responder that drops what comes out of order misses them.
    pub(crate) seen_before: bool,
    /// The NAK for it.
    pub(crate) nak: Option<Mark>,
    /// The first arrival.
    pub(crate) filled: Option<Mark>,
    /// How often the sender went back to its start or before, after it opened.
    pub(crate) restarts: u8,
    /// First packet of the last time.
    restart: FrameNo,
    /// The responder acknowledged all of it.
    pub(crate) acked: bool,
    /// Arrivals of each PSN.
    arrivals: Vec<u8>,
    /// Repeats of requests because of it.
    pub(crate) repeats: u32,
    /// Requests seen since it was whole.
    pub(crate) since: u32,
}

/// What a hole was, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) lost: u32,
    pub(crate) lost_or_late: u32,
    pub(crate) late: u32,
    pub(crate) missed: u32,
}

impl Hole {
    pub(crate) fn new(start: Psn, len: u32, opened: Mark, seen_before: bool) -> Self {
        Self {
            start,
            len,
            opened,
            seen_before,
            nak: None,
            filled: None,
            restarts: 0,
            restart: FrameNo::default(),
            acked: false,
            arrivals: vec![0; (len as usize).min(WIDEST)],
            repeats: 0,
            since: 0,
        }
    }

    pub(crate) fn end(&self) -> Psn {
        self.start + self.len
    }

    pub(crate) fn holds(&self, psn: Psn) -> bool {
        psn - self.start >= 0 && psn - self.end() < 0
    }

    /// The inside of a READ from `start` on: no request carries these PSNs.
    pub(crate) fn cut_off(&mut self, start: Psn) {
        let len = (start - self.start).max(1).unsigned_abs();
        if len < self.len {
            self.len = len;
            self.arrivals.truncate(len as usize);
        }
    }

    /// One of its PSNs came. A repeat is never older than what asks for it; so what is was late, whatever comes.
    pub(crate) fn arrive(&mut self, psn: Psn, mark: Mark) {
        self.filled.get_or_insert(mark);
        let late = mark.at <= self.nak.unwrap_or(self.opened).at;
        let at = (psn - self.start).max(0).unsigned_abs() as usize;
        if let Some(n) = self.arrivals.get_mut(at.min(WIDEST - 1)) {
            *n = if late { LATE } else { n.saturating_add(1) };
        }
    }

    /// The sender went back to its start or before, in a run of repeats that began with this packet.
    pub(crate) fn sent_again(&mut self, begun: FrameNo) {
        if self.restart != begun {
            self.restart = begun;
            self.restarts = self.restarts.saturating_add(1);
        }
    }

    /// Whether each of its PSNs has come.
    pub(crate) fn is_whole(&self) -> bool {
        self.arrivals.iter().all(|&n| n > 0)
    }

    /// What it was, by all that was seen. `answered` tells whether answers can be seen here at all.
    pub(crate) fn outcome(&self, answered: bool) -> Outcome {
        let mut outcome = Outcome::default();
        for (n, &came) in self.arrivals.iter().enumerate() {
            // The last one stands for all that are not told apart.
            let weight = if n + 1 == WIDEST { self.len - n as u32 } else { 1 };
            let sum = match came {
                0 if self.acked && self.nak.is_none() && self.restarts == 0 && !self.seen_before => &mut outcome.missed,
                0 => &mut outcome.lost_or_late,
                n if n > self.restarts && (answered || n > 1) => &mut outcome.late,
                // Where no answer can be seen, a selective repeat looks like a late packet.
                _ if self.seen_before || self.restarts == 0 => &mut outcome.lost_or_late,
                _ => &mut outcome.lost,
            };
            *sum += weight;
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(frame: u64) -> Mark {
        Mark { frame: FrameNo::new(0, frame), at: Nanos(frame * 1000) }
    }

    fn hole(arrivals: &[u32]) -> Hole {
        let mut hole = Hole::new(Psn::new(0xff_fffe), 3, mark(10), false);
        hole.nak = Some(mark(11));
        hole.sent_again(FrameNo::new(0, 20));
        for (frame, &psn) in (20..).zip(arrivals) {
            hole.arrive(Psn::new(psn), mark(frame));
        }
        hole
    }

    #[test]
    fn as_often_as_it_was_sent_again_is_lost_and_once_more_is_late() {
        let outcome = hole(&[0xff_fffe, 0xff_ffff, 0, 0xff_ffff]).outcome(true);
        assert_eq!(outcome, Outcome { lost: 2, late: 1, ..Outcome::default() });
    }

    #[test]
    fn a_sender_that_goes_back_twice_sends_three_times() {
        let mut hole = hole(&[0xff_fffe, 0xff_ffff, 0]);
        hole.sent_again(FrameNo::new(0, 40));
        hole.sent_again(FrameNo::new(0, 40));
        hole.arrive(Psn::new(0), mark(41));
        assert_eq!(hole.outcome(true), Outcome { lost: 3, ..Outcome::default() });
    }

    #[test]
    fn acknowledged_without_a_word_is_missed_by_the_capture() {
        let mut hole = Hole::new(Psn::new(5), 2, mark(1), false);
        assert_eq!(hole.outcome(true), Outcome { lost_or_late: 2, ..Outcome::default() });
        hole.acked = true;
        assert_eq!(hole.outcome(true), Outcome { missed: 2, ..Outcome::default() });
    }

    #[test]
    fn filled_without_a_repeat_is_late() {
        let mut hole = Hole::new(Psn::new(5), 1, mark(1), false);
        hole.arrive(Psn::new(5), mark(2));
        assert_eq!(hole.outcome(true), Outcome { late: 1, ..Outcome::default() });
        assert_eq!(hole.outcome(false), Outcome { lost_or_late: 1, ..Outcome::default() });
    }

    #[test]
    fn what_is_older_than_its_nak_was_late() {
        let mut hole = hole(&[]);
        hole.arrive(Psn::new(0), mark(11));
        assert_eq!(hole.outcome(true), Outcome { late: 1, lost_or_late: 2, ..Outcome::default() });
    }

    #[test]
    fn what_had_been_seen_before_is_never_certain() {
        let mut hole = Hole::new(Psn::new(5), 1, mark(1), true);
        hole.sent_again(FrameNo::new(0, 3));
        hole.arrive(Psn::new(5), mark(3));
        assert_eq!(hole.outcome(true), Outcome { lost_or_late: 1, ..Outcome::default() });
    }

    #[test]
    fn a_wide_hole_keeps_its_sum() {
        let mut hole = Hole::new(Psn::new(0), 5_000, mark(1), false);
        hole.acked = true;
        assert_eq!(hole.outcome(true).missed, 5_000);
    }
}
