//! What a request tells: that something was skipped, that something comes again, and why.

use rocetop_parsers::{Nanos, Psn};

use super::hole::{Fate, Hole};
use super::log::Mark;
use super::report::{Cause, Kind};
use super::run::{Asked, End, Shows};
use super::{Ahead, Episode, LEAST_TIMER, NO_TIMER, Request, Sight, Story, Telling};

impl Story {
    /// A request of the flow, after the first.
    #[inline(always)]
    pub(crate) fn request(&mut self, request: &Request, telling: &mut Telling<'_>) {
        let quiet = request.mark.at.since(self.last_request.at.max(self.last_answer.at));
        if quiet > self.quiet.0 {
            self.quiet = (quiet, request.mark.frame);
        }
        if request.sight == Sight::New(0) && self.epsn == request.psn && self.holes.is_empty() && self.is_calm() {
            self.epsn = request.stamp.psn + 1;
        } else if request.twin
            && request.sight == Sight::Again
            && self.hole_at(request.psn).is_none()
            && !self.was_asked(request)
            && !self.trouble.run.sending
            && !self.may_be_asked_again(request)
            && request.mark.at.since(self.last_request.at) < NO_TIMER
        {
            // Two of the same in a row, at once: no sender does that unasked, but one that goes back from where it is.
            self.trouble.causes.count(Cause::Unknown);
            self.doubled(request.psn, &[self.last_request, request.mark], telling.room);
            return;
        } else {
            self.unusual(request, telling);
        }
        self.last_end = request.stamp.psn + 1;
        self.last_request = request.mark;
        if let Sight::New(_) = request.sight {
            self.top = request.stamp.psn + 1;
            self.latency.sent(request.stamp);
        }
    }

    #[cold]
    fn unusual(&mut self, request: &Request, telling: &mut Telling<'_>) {
        let Request { mark, psn, .. } = *request;
        self.resolve_copy(request, telling.room);
        self.resolve_lone(request, telling);
        let run = &self.trouble.run;
        // Once all has come again that had been sent when it began, no repeat is missing.
        let mut sending = run.sending && run.asked_for && run.next - run.upto < 0;
        match request.sight {
            Sight::New(skipped) => {
                let run = &self.trouble.run;
                let heard = self.acked.is_some_and(|acked| acked - run.start >= 0);
                let stopped = heard && self.answers_no(run, self.heard);
                sending &= !self.leave(if stopped { End::Stopped } else { End::Further { heard } });
                self.trouble.run.sending = false;
                // Nothing was skipped there: a READ of unknown length went before.
                self.latency.stretch(self.top - 1, psn - skipped - 1);
                if skipped != 0 {
                    let mut hole = Hole::new(psn - skipped, skipped, mark, false);
                    hole.early = !self.knows_its_start();
                    let alone = hole.start - self.start == 1;
                    hole.unheard = hole.early && alone && request.reliable && !request.answered;
                    self.holes.push_back(hole);
                }
            }
            Sight::First | Sight::Rest => {
                let fate = self.first(request, telling);
                self.fill(request, fate);
            }
            Sight::Again => {
                let fate = self.repeat(request, telling);
                self.fill(request, fate);
            }
        }
        if !self.trouble.is_none() && !self.trouble.owed.is_empty() {
            self.trouble.owed.requested(request);
        }
        self.frontier(request, sending || request.sight == Sight::Again);
        for hole in self.holes.iter_mut() {
            // A hole that nobody can mend any more is judged as well, later.
            hole.since += if hole.is_whole() || hole.acked { 1 } else { 0 };
        }
        self.settle(request, telling.room);
    }

    /// The sender leaves a run of repeats. Returns whether it did not repeat what had been sent behind the lost packet.
    pub(super) fn leave(&mut self, end: End) -> bool {
        let run = self.trouble.run;
        match run.shows(end) {
            Shows::All => self.trouble.sums.went_on += 1,
            Shows::Missing => {
                self.trouble.sums.selective += 1;
                if let Some(hole) = self.hole_at(run.start) {
                    hole.alone = true;
                }
                return true;
            }
            Shows::Nothing => {}
        }
        false
    }

    /// A PSN below the frontier, for the first time.
    fn first(&mut self, request: &Request, telling: &mut Telling<'_>) -> Fate {
        let Request { mark, psn, .. } = *request;
        self.crowd_disturbed(psn, telling);
        self.heed_behind(request);
        let asked = self.was_asked(request);
        if self.trouble.run.sending && psn == self.trouble.run.next && !(asked && self.asks_for_anew(psn, mark.at)) {
            self.trouble.run.next = request.stamp.psn + 1;
            self.trouble.run.takes(request.span());
            return self.trouble.run.fate();
        }
        let rest = request.sight == Sight::Rest && psn - self.last_end < 0;
        let goes_on = self.goes_on(psn);
        if asked && self.asks_for(psn, mark.at) || rest || !goes_on && self.overdue(mark.at) {
            // The rest of a READ, asked for again, is new itself.
            self.go_back(request, telling);
            return Fate::Repeated;
        }
        if !goes_on && !asked && !self.holes.is_empty() && self.quiet(mark.at) >= LEAST_TIMER {
            // A run of a timer's, or what was late.
            self.go_back(request, telling);
            return self.trouble.run.fate();
        }
        if goes_on || asked {
            self.trouble.lone = Some(*request);
            self.trouble.run.sending = goes_on;
            return Fate::Unsure;
        }
        if psn - self.start < 0 {
            return self.go_before(request, telling);
        }
        // Nothing can have asked for it: it is the original.
        self.trouble.run.sending = false;
        Fate::Late
    }

    /// What a NAK was about that had passed the tap, or had before the capture began, may have come again.
    fn heed_behind(&mut self, request: &Request) {
        if self.trouble.behind.is_some_and(|b| b.psn == request.psn && b.mark.at <= request.mark.at) {
            self.trouble.behind_again = true;
        }
    }

    /// One of the PSNs that were skipped has come.
    fn fill(&mut self, request: &Request, fate: Fate) {
        let Request { mark, psn, .. } = *request;
        for hole in self.holes.iter_mut() {
            if psn == hole.end() {
                hole.passed_again(mark.at);
            }
            // The rest of a READ, asked for again, is none of those that were skipped.
            if hole.holds(psn) && (request.sight == Sight::First || !hole.is_covered(psn)) {
                hole.arrive(psn, mark, fate);
                // It was the late one, not a repeat, that came alone.
                let late = fate == Fate::Late && std::mem::take(&mut hole.alone);
                self.trouble.sums.selective -= u64::from(late);
            }
            if request.read {
                hole.cover(psn + 1, request.stamp.psn);
            }
        }
        if fate == Fate::Repeated {
            self.reach(psn);
        }
    }

    /// Whether a PSN follows in the run of repeats that is under way.
    fn goes_on(&self, psn: Psn) -> bool {
        self.trouble.run.sending && psn - self.trouble.run.next >= 0
    }

    /// Whether a run that an answer had asked for is over, and a timer begins the next one where it ended. A slow
    /// sender may be silent for as long; but what was acknowledged meanwhile is sent again only where the answer was
    /// lost. And where all of the run was acknowledged and new requests followed, it is over.
    fn is_resumed(&self, request: &Request) -> bool {
        let run = &self.trouble.run;
        let served =
            run.sending && run.repeats != 0 && matches!(run.cause, Cause::Nak | Cause::Rnr | Cause::ReadReissue);
        let over = !run.sending && !run.open && run.repeats != 0;
        let told = |psn| self.acked.is_some_and(|acked| acked - psn >= 0);
        (served && told(request.psn) || over && told(request.psn - 1)) && self.overdue(request.mark.at)
    }

    /// Whether an answer waits that asks for this packet or one before it.
    fn was_asked(&self, request: &Request) -> bool {
        let asked = self.asked.iter().any(|a| request.psn - a.psn >= 0 && a.mark.at <= request.mark.at);
        asked || self.trouble.beyond.is_some_and(|(psn, _)| psn == request.psn)
    }

    /// A packet filled a hole, and what came before does not tell whether it was a repeat. What follows may.
    fn resolve_lone(&mut self, request: &Request, telling: &mut Telling<'_>) {
        let Some(lone) = self.trouble.lone.take() else { return };
        let repeats = !matches!(request.sight, Sight::New(_));
        let ahead = self.goes_on(lone.psn);
        // Captures of several processors write what comes at once in any order.
        let ordered = lone.mark.at <= request.mark.at;
        // What goes on where the run was, and was not asked for.
        let resumes = request.psn == self.trouble.run.next && !self.asks_for(request.psn, request.mark.at);
        let ends = lone.sight == Sight::Again && !repeats;
        let fate = if ahead && (ends || repeats && request.psn - lone.psn > 0) {
            // Those between were lost again, or were not missing.
            self.trouble.run.next = lone.stamp.psn + 1;
            self.trouble.run.skips = true;
            self.trouble.run.takes(if lone.sight == Sight::Again { 0 } else { lone.span() });
            Fate::Repeated
        } else if !ahead && lone.sight == Sight::Again {
            let answered = self.last_answer.at > lone.mark.at && self.last_answer.at < request.mark.at;
            if repeats || answered { Fate::Unsure } else { Fate::Late }
        } else if !ahead && repeats && request.psn == lone.stamp.psn + 1 {
            // The sender went back, and what came first was lost again.
            self.go_back(&lone, telling);
            Fate::Repeated
        } else if if ahead { resumes && ordered } else { request.sight == Sight::New(0) } {
            // Where new packets are missing as well, a run of repeats may have passed by with losses in between.
            Fate::Late
        } else {
            Fate::Unsure
        };
        for hole in self.holes.iter_mut().filter(|h| h.holds(lone.psn)) {
            hole.settle(lone.psn, fate);
        }
        if fate == Fate::Repeated {
            self.reach(lone.psn);
        }
    }

    /// A PSN that had been seen.
    fn repeat(&mut self, request: &Request, telling: &mut Telling<'_>) -> Fate {
        let Request { mark, psn, .. } = *request;
        self.latency.again(psn);
        self.heed_behind(request);
        let goes_on = self.trouble.run.repeats != 0 && psn == self.trouble.run.next && !self.asks_for(psn, mark.at);
        // A late packet among those that were sent again.
        let strays = self.trouble.run.sending && psn - self.trouble.run.start > 0 && psn - self.trouble.run.next < 0;
        if strays && self.trouble.run.repeats != 0 && !self.was_asked(request) && self.too_soon(mark.at) {
            let cause = self.trouble.run.cause;
            self.trouble.causes.count(cause);
            return Fate::Late;
        }
        let waited = self.asked.back().is_some_and(|a| a.rnr && a.psn == psn && a.mark.at <= mark.at);
        let asked = waited || psn != self.trouble.run.next && self.asks_for(psn, mark.at);
        let elsewhere = psn - self.last_end < 0 || asked;
        if !goes_on && (!self.trouble.run.sending || elsewhere) || self.is_resumed(request) {
            self.go_back(request, telling);
        }
        let cause = self.trouble.run.cause;
        self.trouble.causes.count(cause);
        self.trouble.run.repeats += 1;
        let counted = self.trouble.run.latest.frame == mark.frame;
        self.trouble.run.takes(if counted { 0 } else { request.span() });
        self.trouble.unheard.repeats += u64::from(self.trouble.run.unheard);
        self.trouble.run.last = mark.at;
        self.log.repeated(self.trouble.run.told);
        if self.goes_on(psn) && psn != self.trouble.run.next {
            // Those between were lost again, or this one is a late copy.
            self.trouble.lone = Some(*request);
        } else {
            self.trouble.run.next = request.stamp.psn + 1;
        }
        self.trouble.run.sending = true;
        for hole in self.holes.iter_mut().filter(|h| psn - h.start >= 0 && mark.at > h.opened.at) {
            if self.trouble.run.hole == Some(hole.opened.frame) {
                hole.repeats += 1;
            }
        }
        let run = self.trouble.run;
        if run.cause == Cause::Unknown && run.follows && run.repeats == 2 {
            // The sender went back to what came right before, and what asked for it was not seen.
            let last = run.start - 1;
            let silent = |h: &&mut Hole| h.holds(last) && h.nak.is_none();
            self.holes.iter_mut().filter(silent).for_each(|h| h.doubt(last));
        }
        if !run.asked_for && run.patient && run.repeats == 1 && self.top - run.next > 0 {
            // A sender would go on from here: alone, it is a late packet.
            self.trouble.lone = Some(*request);
        }
        run.fate()
    }

    /// The run of repeats has come to `psn`.
    fn reach(&mut self, psn: Psn) {
        let run = self.trouble.run;
        if !run.sending || !run.asked_for {
            return;
        }
        for hole in self.holes.iter_mut().filter(|h| psn - h.start >= 0 && run.latest.at >= h.opened.at) {
            // A sender goes back to what it has no answer for: repeats before the first that is seen may have been
            // lost. A receiver that is not ready had accepted all that came before.
            if (run.start - hole.end() < 0 || !hole.is_whole()) && !(run.cause == Cause::Rnr && hole.is_whole()) {
                hole.reached(run.begun, run.cause);
            }
        }
    }

    /// The network delivered a request twice.
    fn doubled(&mut self, psn: Psn, marks: &[Mark], room: &mut u32) {
        self.trouble.sums.duplicated += 1;
        let episode = Episode::new(Kind::DuplicatedByNetwork, None, psn, psn).counting(1, 1);
        self.log.add(marks.iter().fold(episode, |episode, &mark| episode.at(Some(mark))), room);
    }

    /// Whether the lone repeat before this packet was the network's copy, or the first of many.
    fn resolve_copy(&mut self, request: &Request, room: &mut u32) {
        let run = self.trouble.run;
        if run.copy.is_none() && !run.amid {
            return;
        }
        (self.trouble.run.copy, self.trouble.run.amid) = (None, false);
        let timed = run.copy.is_some() && run.timed || run.amid;
        if run.copy == Some(request.psn) {
            self.doubled(run.start, &[run.begun], room);
            self.trouble.run.sending = false;
        } else if request.sight == Sight::Again && request.psn == run.next && timed {
            // Of atomics, an answer behind one that was lost asks for them again after one round trip.
            let cause = if run.atomic { Cause::ReadReissue } else { Cause::Timeout };
            self.trouble.causes.correct(Cause::Unknown, cause, 1);
            self.trouble.timers.timeouts += u64::from(cause == Cause::Timeout);
            (self.trouble.run.cause, self.trouble.run.open) = (cause, true);
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
            self.ahead.get_or_insert_with(|| Box::new(Ahead { mark, again }));
        }
    }

    /// Whether an answer waits that names this PSN.
    fn asks_for(&self, psn: Psn, now: Nanos) -> bool {
        let asked = self.asked.iter().any(|a| a.psn == psn && a.mark.at <= now);
        asked || self.trouble.beyond.is_some_and(|(asked, _)| asked == psn)
    }

    /// The same, of what the run under way has not come to: a NAK that is older than a timer's run was lost.
    fn asks_for_anew(&self, psn: Psn, now: Nanos) -> bool {
        let run = &self.trouble.run;
        let older = |a: &Asked| a.psn == psn && a.mark.at <= run.begun.at;
        let served = run.cause == Cause::Timeout && psn == run.next && self.asked.iter().any(older);
        !served && self.asks_for(psn, now)
    }

    /// Whether `psn` lies in a hole that is not filled.
    pub(super) fn hole_at(&mut self, psn: Psn) -> Option<&mut Hole> {
        self.holes.iter_mut().rev().find(|h| h.holds(psn))
    }
}
