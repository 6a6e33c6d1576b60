//! What a request tells: that something was skipped, that something comes again, and why.

use rocetop_parsers::{Nanos, Psn};

use super::hole::Hole;
use super::report::{Cause, Kind};
use super::run::{Asked, Run};
use super::{Ahead, Episode, Request, Sight, Story, Telling};

impl Story {
    /// A request of the flow, after the first.
    #[inline(always)]
    pub(crate) fn request(&mut self, request: &Request, telling: &mut Telling<'_>) {
        if request.sight == Sight::New(0) && self.epsn == request.psn && self.holes.is_empty() && !self.run.sending {
            self.epsn = request.stamp.psn + 1;
        } else if request.twin && request.sight == Sight::Again && self.hole_at(request.psn).is_none() {
            // Two of the same in a row, at once: no sender does that.
            self.sums.duplicated += 1;
            self.causes.count(Cause::Unknown);
            return;
        } else {
            self.unusual(request, telling);
        }
        self.last_end = request.stamp.psn + 1;
        self.last_request = request.mark;
        if let Sight::New(_) = request.sight {
            self.latency.sent(request.stamp);
        }
    }

    #[cold]
    fn unusual(&mut self, request: &Request, telling: &mut Telling<'_>) {
        let Request { mark, psn, .. } = *request;
        self.resolve_copy(request);
        let sending = self.run.sending && self.run.asked_for;
        for hole in &mut self.holes {
            if hole.holds(psn) {
                hole.arrive(psn, mark);
            } else if request.read && hole.start - psn > 0 && hole.start - request.stamp.psn <= 0 {
                hole.cut_off(hole.start);
            }
        }
        match request.sight {
            Sight::New(skipped) => {
                if sending
                    && self.run.cause == Cause::Nak
                    && self.run.repeats <= 1
                    && (psn - skipped) - self.run.next > 0
                {
                    // What had been sent behind the lost packet was not sent again.
                    self.sums.selective += 1;
                }
                self.run.sending = false;
                if skipped != 0 {
                    self.holes.push_back(Hole::new(psn - skipped, skipped, mark, false));
                }
            }
            Sight::First if self.asked.iter().any(|a| a.psn == psn && a.mark.at <= mark.at) => {
                self.go_back(request, telling);
            }
            // The rest of a READ, asked for again: the request itself is new.
            Sight::First if request.read && psn - self.last_end < 0 => self.go_back(request, telling),
            Sight::First => {
                // Older than the NAK: it was on its way, and no run of repeats brought it.
                let late = self.hole_at(psn).and_then(|h| h.nak).is_some_and(|nak| mark.at < nak.at);
                self.run.sending &= !late;
            }
            Sight::Again => self.repeat(request, telling),
        }
        self.frontier(request, sending || request.sight == Sight::Again);
        for hole in &mut self.holes {
            // A hole that nobody can mend any more is judged as well, later.
            hole.since += if hole.is_whole() || hole.acked { 1 } else { 0 };
        }
        self.settle(request.answered, telling.room);
    }

    /// A PSN that had been seen.
    fn repeat(&mut self, request: &Request, telling: &mut Telling<'_>) {
        let Request { mark, psn, .. } = *request;
        self.latency.again(psn);
        let goes_on = self.run.repeats != 0 && psn == self.run.next && !self.asks_for(psn);
        // A late packet among those that were sent again.
        let strays = self.run.repeats != 0 && psn - self.run.start > 0 && psn - self.run.next < 0;
        if strays && !self.asks_for(psn) && self.too_soon(mark.at) {
            self.causes.count(self.run.cause);
            return;
        }
        if !goes_on && (!self.run.sending || psn - self.last_end < 0) {
            self.go_back(request, telling);
        }
        self.run.sending = true;
        self.causes.count(self.run.cause);
        self.run.repeats += 1;
        self.run.next = request.stamp.psn + 1;
        let run = self.run;
        for hole in self.holes.iter_mut().filter(|h| psn - h.start >= 0 && mark.at > h.opened.at) {
            if run.asked_for && run.start - hole.start <= 0 && run.begun.at >= hole.opened.at {
                hole.sent_again(run.begun.frame);
            }
            if self.run.hole == Some(hole.opened.frame) {
                hole.repeats += 1;
            }
        }
    }

    /// The requester goes back to an earlier PSN: a run of repeats begins.
    fn go_back(&mut self, request: &Request, telling: &mut Telling<'_>) {
        let Request { mark, psn, .. } = *request;
        let again = self.run.open && self.run.start == psn;
        let mut run = Run { start: psn, next: request.stamp.psn + 1, begun: mark, latest: mark, ..Run::default() };
        let mut stalled = None;
        let before = self.asked.len();
        // The one that names this PSN, else the latest.
        let asked = self.asked.iter().find(|a| a.psn == psn).or(self.asked.back()).copied();
        // What is still to be mended, and where this packet belongs to.
        let mending = self.holes.iter().rev().find(|h| h.holds(psn) || psn - h.start >= 0 && h.nak.is_some());
        run.hole = mending.map(|h| h.opened.frame);
        let mends = mending.map(|h| h.nak.is_some());
        match asked {
            Some(asked) if asked.rnr && psn - asked.psn <= 0 => {
                run.cause = Cause::Rnr;
                stalled = Some(mark.at.since(asked.mark.at));
                let episode = Episode::new(Kind::Rnr, Some(Cause::Rnr), psn, psn).at(Some(asked.mark)).at(Some(mark));
                self.log.add(episode, telling.room);
                self.asked.clear();
            }
            Some(asked) if !asked.rnr && asked.mark.at <= mark.at && (psn == asked.psn || !self.overdue(mark.at)) => {
                run.cause = Cause::Nak;
                self.heed(asked, request);
                self.asked.retain(|a| a.psn - psn > 0);
            }
            // Responses are missing; and at the responder's side, where none is: no timer asks for a part or so soon.
            _ if request.read
                && (self.unheard.is_some_and(|(_, end, _)| psn - end < 0)
                    || request.sight == Sight::First
                    || self.too_soon(mark.at)) =>
            {
                run.cause = Cause::ReadReissue;
                if let Some((missing, _, since)) = self.unheard.take() {
                    self.sums.responses_lost += u64::from(missing);
                    let episode = Episode::new(Kind::ResponseLost, Some(Cause::ReadReissue), psn, request.stamp.psn);
                    let episode = episode.at(Some(since)).at(Some(mark)).counting(missing, 1);
                    self.log.add(episode, telling.room);
                }
            }
            // Late originals that come between the repeats are part of the same recovery.
            _ if mends.is_some() && !self.overdue(mark.at) => {
                run.cause = if mends == Some(true) { Cause::Nak } else { self.run.cause };
            }
            // Nobody who sees only one direction can tell who asked.
            _ if !request.answered => {}
            // Too soon for any timer. One such packet is a copy that the network made; several are a sender's.
            _ if self.too_soon(mark.at) && !again => run.copy = self.holes.is_empty().then_some(self.last_end),
            _ => {
                run.cause = Cause::Timeout;
                stalled = Some(self.quiet(mark.at));
                if again {
                    self.spacing.0.0 += mark.at.since(self.run.latest.at).0;
                    self.spacing.1 += 1;
                }
                self.sums.timeouts += 1;
            }
        }
        if let Some(stalled) = stalled {
            self.sums.stall = Nanos(self.sums.stall.0.saturating_add(stalled.0));
        }
        run.open = matches!(run.cause, Cause::Timeout | Cause::ReadReissue);
        run.asked_for = stalled.is_some() || matches!(run.cause, Cause::ReadReissue) || self.asked.len() != before;
        run.sending = true;
        run.tries = 1;
        if again && run.open {
            run = Run { begun: self.run.begun, tries: self.run.tries + 1, repeats: self.run.repeats, ..run };
        } else {
            self.close_run(telling.room);
        }
        self.run = run;
    }

    /// A NAK is heeded.
    fn heed(&mut self, asked: Asked, request: &Request) {
        let times = self.nak_times.get_or_insert_default();
        times.reaction.record(request.mark.at.since(asked.mark.at));
        self.sums.restarts += 1;
        // Only where the NAK was about something that had passed the tap, or else the first repeat may have been lost.
        for hole in self.holes.iter_mut().filter(|h| request.psn - h.start <= 0) {
            hole.sent_again(request.mark.frame);
        }
        let passed = self.behind.is_some_and(|b| b.psn == asked.psn);
        self.sums.restarts_elsewhere += u64::from(passed && request.psn - asked.psn > 0);
    }

    /// Whether the lone repeat before this packet was the network's copy, or the first of many.
    fn resolve_copy(&mut self, request: &Request) {
        let Some(resume) = self.run.copy.take() else { return };
        if request.psn == resume {
            self.sums.duplicated += 1;
            self.run.sending = false;
        } else if request.sight == Sight::Again && request.psn == self.run.next {
            self.causes.correct(Cause::Timeout);
            self.sums.timeouts += 1;
            (self.run.cause, self.run.open) = (Cause::Timeout, true);
        }
    }

    /// Moves what a responder standing here would accept next.
    fn frontier(&mut self, request: &Request, again: bool) {
        let Request { mark, psn, sight, .. } = *request;
        let distance = psn - self.epsn;
        if distance == 0 {
            (self.epsn, self.ahead) = (request.stamp.psn + 1, None);
            return;
        }
        if distance < 0 {
            return;
        }
        // Whoever accepts packets in any order has no NAK to give once all are there.
        let all_there = matches!(sight, Sight::New(0)) && self.holes.iter().all(|h| h.is_whole() && h.nak.is_none());
        if all_there && self.ahead.is_some() && self.asked.is_empty() {
            (self.epsn, self.ahead) = (request.stamp.psn + 1, None);
        } else {
            self.ahead.get_or_insert(Ahead { mark, again });
        }
    }

    /// Whether an answer waits that names this PSN.
    fn asks_for(&self, psn: Psn) -> bool {
        self.asked.iter().any(|a| a.psn == psn)
    }

    /// Whether `psn` lies in a hole that is not filled.
    pub(super) fn hole_at(&mut self, psn: Psn) -> Option<&mut Hole> {
        self.holes.iter_mut().rev().find(|h| h.holds(psn))
    }
}
