//! A sender goes back to what it had sent: a run of repeats begins, and why.

use rocetop_parsers::{Nanos, Psn};

use super::answers::LATE;
use super::hole::{Fate, Hole};
use super::report::{Cause, Kind};
use super::run::{Asked, End, Run, Timers};
use super::{
    Episode, LEAST_TIMER, LONGEST_WAY, NO_TIMER, PATIENCE, Request, SHORTEST_TIMER, SURELY_TIMER, Sight, Story, Telling,
};

impl Story {
    /// The requester goes back to an earlier PSN: a run of repeats begins.
    pub(super) fn go_back(&mut self, request: &Request, telling: &mut Telling<'_>) {
        let Request { mark, psn, .. } = *request;
        self.crowd_disturbed(psn, telling);
        if psn != self.trouble.run.next {
            self.leave(End::Back { further: psn - self.trouble.run.next > 0 });
        }
        let again = self.trouble.run.open && self.trouble.run.start == psn;
        let mut run = Run::beginning(psn, request.stamp.psn + 1, mark);
        (run.upto, run.came) = (self.top, request.span());
        (run.timed, run.atomic) = (self.quiet(mark.at) >= SHORTEST_TIMER, request.atomic);
        run.waited = self.latency.waited(psn, mark.at);
        run.follows =
            self.last_end == psn && self.holes.iter().any(|h| h.holds(psn - 1) && h.latest == self.last_request.at);
        self.explain(&mut run, request, again, telling);
        run.open = matches!(run.cause, Cause::Timeout | Cause::ReadReissue) || run.unheard;
        run.patient = self.quiet(mark.at) >= LEAST_TIMER || run.unheard;
        run.sending = true;
        run.tries = 1;
        if again && run.open {
            run = Run {
                begun: self.trouble.run.begun,
                waited: self.trouble.run.waited,
                tries: self.trouble.run.tries + 1,
                repeats: self.trouble.run.repeats,
                ..run
            };
        } else {
            self.end_run(telling);
        }
        self.trouble.run = run;
    }

    /// A packet from before the first one seen: a sender that goes back to what had passed before the capture began, or
    /// a late packet. What asked for it was before as well; what it comes to may be sent again, or late.
    pub(super) fn go_before(&mut self, request: &Request, telling: &mut Telling<'_>) -> Fate {
        let run = Run::beginning(request.psn, request.stamp.psn + 1, request.mark);
        self.leave(End::Back { further: false });
        self.end_run(telling);
        self.trouble.run = Run { patient: true, sending: true, ..run };
        self.trouble.run.fate()
    }

    /// Another run takes the place of the one before.
    fn end_run(&mut self, telling: &mut Telling<'_>) {
        let old = self.trouble.run;
        self.trouble.before = (old.start, old.next, old.last);
        self.close_run(telling.room);
    }

    /// Why the requester goes back: to mend a hole, because an answer asked for it or because none came. `again`: to
    /// where the run before began, which nothing has answered.
    fn explain(&mut self, run: &mut Run, request: &Request, again: bool, telling: &mut Telling<'_>) {
        let Request { mark, psn, .. } = *request;
        let (mut stalled, mut unsure) = (false, false);
        let last = again.then_some(self.trouble.run);
        let before = self.asked.len();
        let beyond = self.trouble.beyond.take_if(|(asked, _)| psn - *asked <= 0).filter(|&(asked, _)| asked == psn);
        // The one that names this PSN, else the latest of those that it may serve.
        let ready = || self.asked.iter().rev().filter(|a| a.mark.at <= mark.at);
        let asked = ready().find(|a| a.psn == psn).or(ready().find(|a| psn - a.psn >= 0)).copied();
        // What is still to be mended, and where this packet belongs to.
        let mending = self.holes.iter().rev().find(|h| h.holds(psn) || psn - h.start >= 0 && h.nak.is_some());
        run.hole = mending.map(|h| h.opened.frame);
        let mends = mending.map(|h| h.nak.is_some());
        match asked {
            Some(asked) if asked.rnr && psn == asked.psn => {
                run.cause = Cause::Rnr;
                stalled = true;
                self.trouble.timers.add(Timers { stall: mark.at.since(asked.mark.at), ..Timers::default() });
                let episode = Episode::new(Kind::Rnr, Some(Cause::Rnr), psn, psn).at(Some(asked.mark)).at(Some(mark));
                run.told = self.log.add(episode, telling.room);
                self.asked.clear();
            }
            Some(asked) if !asked.rnr && psn - asked.psn >= 0 && !self.is_unheeded(asked, request) => {
                (run.cause, run.exact) = (Cause::Nak, psn == asked.psn);
                self.heed(asked, request);
                if let Some((_, place)) = self.trouble.late.take_if(|(late, _)| *late == asked.psn) {
                    // It came late and cost a repeat all the same.
                    self.log.heeded(place, mark);
                    run.told = Some(place);
                }
                self.asked.retain(|a| a.psn - psn > 0);
                self.trouble.beyond = (psn - asked.psn > 0).then_some((asked.psn, mark.frame));
            }
            _ if let Some((_, before)) = beyond
                && !self.overdue(mark.at) =>
            {
                // What came before was late, and no repeat: nothing of it had been seen.
                if self.trouble.run.latest.frame == before && self.trouble.run.repeats == 0 {
                    let (from, to) = (self.trouble.run.start, self.trouble.run.next);
                    self.holes.iter_mut().for_each(|h| h.was_late(from, to));
                }
                run.cause = Cause::Nak;
            }
            _ if self.was_heeded_by_one(psn) && !self.overdue(mark.at) => {
                // It came late just when it had been asked for; of a READ or atomic, the answer may have been lost as
                // well.
                unsure = request.read || request.atomic;
                if unsure {
                    self.holes.iter_mut().for_each(Hole::passed_over);
                } else {
                    let (from, to) = (self.trouble.run.start, self.trouble.run.next);
                    self.holes.iter_mut().for_each(|h| h.was_late(from, to));
                    run.cause = Cause::Nak;
                }
            }
            _ if self.asks_for_responses(request) => {
                run.cause = Cause::ReadReissue;
                self.trouble.owed.ask(request);
                // It goes back to the first response that it lacks, wherever that is.
                self.holes.iter_mut().for_each(Hole::passed_over);
            }
            // Late originals that come between the repeats are part of the same recovery.
            _ if mends.is_some() && !self.overdue(mark.at) && !self.was_served(request) => {
                run.cause = if mends == Some(true) { Cause::Nak } else { self.trouble.run.cause };
            }
            _ => stalled = self.explain_unasked(run, request, last, telling),
        }
        run.asked_for =
            stalled || unsure || run.cause == Cause::ReadReissue || self.asked.len() != before || beyond.is_some();
    }

    /// Why it goes back where no answer is known to have asked for it; `last`: the run before, if it went back there as
    /// well and nothing has answered. Whether a timer ran out.
    fn explain_unasked(
        &mut self,
        run: &mut Run,
        request: &Request,
        last: Option<Run>,
        telling: &mut Telling<'_>,
    ) -> bool {
        let Request { mark, psn, .. } = *request;
        let quiet = self.quiet(mark.at);
        if !request.answered {
            // Nobody who sees only one direction can tell who asked. An answer may show yet that both are seen.
            run.unheard = request.reliable && self.acked.is_none() && quiet >= NO_TIMER;
            if run.unheard {
                run.stalled = quiet;
                self.trouble.unheard.ran_out(run, last);
            }
        } else if self.too_soon(mark.at) && quiet < NO_TIMER && last.is_none() {
            // Too soon for any timer. One such packet is a copy that the network made; several are a sender's, or an
            // answer just passed that came too late for a timer, or was lost behind the tap.
            let may_be = mark.at.since(self.last_request.at) < NO_TIMER && !self.was_answered(request);
            run.copy = (self.holes.is_empty() && may_be).then_some(self.last_end);
            run.amid = self.awaits(mark.at) || !may_be && run.timed;
        } else if request.atomic && self.is_implied(request) {
            run.cause = Cause::ReadReissue;
            self.holes.iter_mut().for_each(Hole::passed_over);
        } else if !run.timed {
            run.amid = self.awaits(mark.at);
        } else if self.was_answered(request) && quiet < SURELY_TIMER && last.is_none() {
            let episode = Episode::new(Kind::Unexplained, None, psn, request.stamp.psn);
            run.told = self.log.add(episode.at(Some(self.last_answer)).at(Some(mark)), telling.room);
        } else if self.trouble.run.cause != Cause::Nak || psn - self.trouble.run.next >= 0 || quiet >= LEAST_TIMER {
            // Of what a NAK had asked for, some comes late where the path does not keep the order.
            run.cause = Cause::Timeout;
            (run.stalled, run.named) = (quiet, self.is_named(psn));
            self.trouble.timers.ran_out(run, last);
            self.holes.iter_mut().for_each(Hole::timed_out);
            return true;
        }
        false
    }

    /// Whether so much time has passed since a NAK that it seems to have been lost, and a timer sends again.
    fn is_unheeded(&self, asked: Asked, request: &Request) -> bool {
        if request.psn != asked.psn {
            return self.overdue(request.mark.at);
        }
        let heeded = self.nak_times.reaction.max();
        let longest = heeded.map_or_else(|| self.patience(Nanos(0)).max(LONGEST_WAY), |max| self.patience(max));
        self.quiet(request.mark.at) > longest
    }

    /// Whether a NAK had said that `psn` or one behind it was missing, before a timer sends them again; and no answer
    /// that it has come since.
    fn is_named(&self, psn: Psn) -> bool {
        let (run, behind) = (&self.trouble.run, self.trouble.behind);
        let missing = |named: Psn| named - psn >= 0 && self.acked.is_none_or(|acked| named - acked > 0);
        self.asked.iter().any(|a| !a.rnr && missing(a.psn))
            || behind.is_some_and(|b| missing(b.psn))
            || run.start == psn && missing(psn) && (run.cause == Cause::Nak || run.named)
    }

    /// Whether a request has waited for its answer for so long that a timer may run out, though others are sent.
    fn awaits(&self, now: Nanos) -> bool {
        let way = self.latency.rtt_range().map(|(_, max)| max);
        let longest = way.map_or(PATIENCE.0, |max| LEAST_TIMER.0.max(max.0.saturating_mul(LATE)));
        self.latency.oldest_wait(now).is_some_and(|wait| wait.0 > longest)
    }

    /// Whether a READ or atomic is repeated because responses are missing; and at the responder's side, where none is:
    /// no timer asks for a part or so soon. (Of an atomic that comes again soon, other causes are looked for first.)
    fn asks_for_responses(&self, request: &Request) -> bool {
        let Request { psn, read, atomic, sight, .. } = *request;
        // Nobody who sees only one direction can tell whether a NAK had asked for it.
        let soon = || request.answered && self.is_implied(request);
        (read || atomic) && self.trouble.owed.lacks(psn) || read && (sight == Sight::Rest || soon())
    }

    /// Whether an atomic was answered after a NAK for it had been heeded: then it is the answer that was lost.
    fn was_served(&self, request: &Request) -> bool {
        let run = &self.trouble.run;
        let heeded = run.cause == Cause::Nak && run.repeats != 0 && request.psn - run.start >= 0;
        request.atomic && heeded && self.acked.is_some_and(|acked| acked - request.psn >= 0)
    }

    /// Whether what seemed to heed a NAK from `psn` on had never been seen before, so that it may have been late.
    fn was_heeded_by_one(&self, psn: Psn) -> bool {
        let run = &self.trouble.run;
        run.cause == Cause::Nak && run.start == psn && run.repeats == 0 && run.next - run.start > 0
    }

    /// Whether a READ or atomic was answered here: the network's copy of it and one that was sent again, because the
    /// answer was lost behind the tap, look alike.
    pub(super) fn was_answered(&self, request: &Request) -> bool {
        (request.read || request.atomic) && self.has_acknowledged(request.psn)
    }

    /// Whether it may be asked for again at once: it was answered, or nobody here can tell.
    pub(super) fn may_be_asked_again(&self, request: &Request) -> bool {
        (request.read || request.atomic) && !request.answered || self.was_answered(request)
    }

    /// Whether an answer behind the lost one has told of it, as it seems, and no timer. What comes twice in a row may
    /// as well be the network's copy.
    fn is_implied(&self, request: &Request) -> bool {
        self.may_be_implied(request) && !self.overdue(request.mark.at) && !request.twin
    }

    /// Whether an answer behind the lost one may have told of it (an implied NAK; mlx5 counts `implied_nak_seq_err`).
    /// Of one response where nothing behind it was ever answered, only a timer tells.
    fn may_be_implied(&self, request: &Request) -> bool {
        request.psn != request.stamp.psn || self.acked.is_some_and(|acked| acked - request.psn > 0)
    }

    /// A NAK is heeded.
    fn heed(&mut self, asked: Asked, request: &Request) {
        self.nak_times.reaction.record(request.mark.at.since(asked.mark.at));
        self.trouble.sums.restarts += 1;
        // Only where the NAK was about something that had passed the tap, or else the first repeat may have been lost.
        let passed = self.trouble.behind.is_some_and(|b| b.psn == asked.psn);
        self.trouble.sums.restarts_elsewhere += u64::from(passed && request.psn - asked.psn > 0);
    }
}
