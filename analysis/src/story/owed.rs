//! Responses that were due and did not come: late, or lost.
//!
//! A responder answers in order, so what a later response shows to be missing had been sent. It was late if it comes
//! before anybody asks for it again, and before the reply to that: a reply begins with a First or Only (IBTA 9.7.5) at
//! the PSN that was asked for. What never came before its reply was lost, unless more comes than was asked for again.

use std::collections::VecDeque;

use rocetop_parsers::Psn;

use super::log::{Episode, Mark};
use super::report::{Cause, Kind};
use super::{Request, Sight};

/// Gaps that are told apart at once: of more, the oldest is judged as it stands (chosen: as of requests).
const GAPS: usize = 64;
/// PSNs beyond a gap until it is judged, as of requests ([`super::hole::SETTLED`]).
const SETTLED: i32 = super::hole::SETTLED.cast_signed();

/// How a response stands against those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// PSNs between the highest so far and this one; 0 below that.
    pub(crate) skipped: u32,
    /// Those of them that had been due.
    pub(crate) missing: u32,
    /// It comes below the highest, for the first time.
    pub(crate) filled: bool,
    /// This very PSN had been seen.
    pub(crate) again: bool,
}

/// A READ or atomic response, as a story needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) psn: Psn,
    pub(crate) standing: Standing,
    /// A First or Only, or of an atomic.
    pub(crate) starts: bool,
}

/// PSNs that were skipped, some of which were due.
#[derive(Clone, Copy, Debug)]
struct Gap {
    start: Psn,
    end: Psn,
    /// The response that skipped them.
    opened: Mark,
    /// Those that were due and did not come before the reply to the second request.
    owed: u32,
    /// The second request: its first and last PSN.
    asked: Option<(Psn, Psn, Mark)>,
    /// The reply to that has begun.
    begun: bool,
    /// PSNs of it that were asked for again, and that came in reply.
    wanted: u32,
    came: u32,
}

impl Gap {
    fn holds(&self, psn: Psn) -> bool {
        psn - self.start >= 0 && psn - self.end < 0
    }

    /// How many were lost before the tap, on a path that keeps the order.
    fn lost(&self) -> u32 {
        if self.asked.is_none() { 0 } else { self.owed.saturating_sub(self.came.saturating_sub(self.wanted)) }
    }

    /// Whether they were lost on any path: each was asked for again once, so its late one would have been one too many.
    fn is_certain(&self) -> bool {
        self.wanted <= self.owed && self.came >= self.wanted
    }

    fn episode(&self) -> Option<Episode> {
        let (from, to, asked) = self.asked?;
        let kind = if self.lost() == 0 { Kind::ResponseLostOrLate } else { Kind::ResponseLost };
        let episode = Episode::new(kind, Some(Cause::ReadReissue), from, to).at(Some(self.opened)).at(Some(asked));
        let episode = episode.counting(self.lost(), 1);
        Some(if self.is_certain() { episode } else { episode.if_in_order() })
    }
}

/// All of one story.
#[derive(Clone, Debug, Default)]
pub(super) struct Owed {
    gaps: VecDeque<Gap>,
    /// Responses lost for certain, and lost where the path keeps the order.
    lost: u64,
    lost_if_in_order: u64,
    /// Some response came late: the path does not keep the order.
    disorder: bool,
}

impl Owed {
    /// Whether no response is missing.
    pub(super) fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }

    /// A response came. Returns what it is too late to mend.
    pub(super) fn came(&mut self, response: Response, mark: Mark) -> impl Iterator<Item = Episode> {
        let Response { psn, standing, starts } = response;
        for gap in &mut self.gaps {
            gap.begun |= starts && gap.asked.is_some_and(|(asked, ..)| psn == asked);
            if !gap.holds(psn) {
                continue;
            }
            if standing.filled && !gap.begun {
                gap.owed = gap.owed.saturating_sub(1);
                self.disorder = true;
            } else if gap.asked.is_some() {
                gap.came = gap.came.saturating_add(1);
            }
        }
        if standing.missing != 0 {
            let start = psn - standing.skipped;
            let owed = standing.missing;
            self.gaps.push_back(Gap {
                start,
                end: psn,
                opened: mark,
                owed,
                asked: None,
                begun: false,
                wanted: 0,
                came: 0,
            });
        }
        let over = self.gaps.iter().take_while(|gap| psn - gap.end > SETTLED).count();
        let over = over.max(self.gaps.len().saturating_sub(GAPS));
        let (lost, if_in_order) = (&mut self.lost, &mut self.lost_if_in_order);
        self.gaps.drain(..over).filter_map(move |gap| {
            *if gap.is_certain() { &mut *lost } else { &mut *if_in_order } += u64::from(gap.lost());
            gap.episode()
        })
    }

    /// Whether a response at or behind `psn` is missing that nobody has asked for again.
    pub(super) fn lacks(&self, psn: Psn) -> bool {
        self.gaps.iter().any(|gap| psn - gap.end < 0 && gap.asked.is_none() && gap.owed != 0)
    }

    /// The requester goes back to ask for them.
    pub(super) fn ask(&mut self, request: &Request) {
        let Request { psn, stamp, mark, .. } = *request;
        for gap in self.gaps.iter_mut().filter(|gap| psn - gap.end < 0 && gap.asked.is_none()) {
            // Whatever lies before had come to the requester.
            if gap.holds(psn) {
                gap.start = psn;
                gap.owed = gap.owed.min((gap.end - psn).unsigned_abs());
            }
            gap.asked = Some((psn, stamp.psn, mark));
        }
    }

    /// A request that is no new one may draw replies of its own.
    pub(super) fn requested(&mut self, request: &Request) {
        if matches!(request.sight, Sight::New(_)) {
            return;
        }
        let (from, to) = (request.psn, request.stamp.psn + 1);
        for gap in self.gaps.iter_mut().filter(|gap| gap.asked.is_some()) {
            let start = if from - gap.start > 0 { from } else { gap.start };
            let end = if to - gap.end < 0 { to } else { gap.end };
            gap.wanted = gap.wanted.saturating_add((end - start).max(0).unsigned_abs());
        }
    }

    /// How many were lost in all, as it stands.
    pub(super) fn lost(&self) -> u64 {
        let counts = |gap: &&Gap| gap.is_certain() || !self.disorder;
        let left: u64 = self.gaps.iter().filter(counts).map(|gap| u64::from(gap.lost())).sum();
        left + self.lost + if self.disorder { 0 } else { self.lost_if_in_order }
    }

    /// Whether some response came late.
    pub(super) fn disorder(&self) -> bool {
        self.disorder
    }

    /// What is still under way.
    pub(super) fn episodes(&self) -> impl Iterator<Item = Episode> {
        self.gaps.iter().filter_map(Gap::episode)
    }
}
