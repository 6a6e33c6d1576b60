//! What an answer tells: how far the responder has come, what it misses, and what a run of repeats was about.

use rocetop_parsers::{Nanos, Psn};

use super::hole::Hole;
use super::log::Mark;
use super::report::{Cause, Kind};
use super::run::{Asked, Run, Timers};
use super::{Ahead, Answer, Episode, KNOWN, Response, Story, Telling, Trouble};

/// Answers that wait to be heeded: of more, the oldest are forgotten (chosen: more are out only where a responder asks
/// again and again).
const ASKED: usize = 4;

/// A timer that ran for more than so many times the longest way was not early (chosen: a queue that fills makes several
/// times of a way, and few ways may have been measured).
pub(super) const LATE: u64 = 4;

/// A NAK for a PSN further before the first one seen is no NAK for what was late or lost just then: a window's worth
/// (chosen: 16 MB in 4 KiB packets).
const FIRST: i32 = 1 << 12;

impl Story {
    /// An answer to this flow's requests. `next` is the PSN after the highest request seen.
    #[inline(always)]
    pub(crate) fn answer(&mut self, answer: Answer, mark: Mark, next: Psn, telling: &mut Telling<'_>) {
        if !self.holes.is_empty() {
            let (psn, asked) = answer.wants();
            self.holes.iter_mut().for_each(|h| h.wanted(psn, asked));
        }
        if !self.trouble.is_none() && self.trouble.unheard.timeouts != 0 {
            self.heard_first();
        }
        match answer {
            Answer::Ack(psn) | Answer::Response(Response { psn, .. })
                if !self.trouble.is_none() && self.acked.is_some_and(|acked| psn - acked <= 0) =>
            {
                self.said_again(psn, matches!(answer, Answer::Ack(_)), mark.at);
            }
            _ => self.heard = mark.at,
        }
        match answer {
            Answer::Ack(psn) => self.ack(psn, mark, next, telling),
            Answer::Response(response) => {
                if response.standing.missing != 0 || !self.trouble.is_none() && !self.trouble.owed.is_empty() {
                    let over = self.trouble.owed.came(response, mark);
                    for episode in over {
                        self.log.add(episode, telling.room);
                    }
                }
                self.ack(response.psn, mark, next, telling);
            }
            Answer::Nak(psn) => self.nak(psn, mark, next, telling),
            Answer::Rnr(psn, timer_us) => self.rnr(psn, timer_us, mark, next, telling),
            Answer::Fatal(psn) => {
                self.before(psn, mark, next, telling);
                let episode = Episode::new(Kind::FatalNak, None, psn, psn).at(Some(mark));
                self.log.add(episode, telling.room);
            }
        }
        self.last_answer = mark;
    }

    /// The first answer: they are seen here, so what was sent again before, after a silence, was a timer's.
    #[cold]
    fn heard_first(&mut self) {
        let heard = std::mem::take(&mut self.trouble.unheard);
        let trouble = &mut *self.trouble;
        trouble.timers.add(heard);
        trouble.causes.correct(Cause::Unknown, Cause::Timeout, heard.repeats);
        if std::mem::take(&mut trouble.run.unheard) {
            (trouble.run.cause, trouble.run.asked_for) = (Cause::Timeout, true);
        }
    }

    /// An answer says what is known. `plain`: it is no response.
    #[cold]
    fn said_again(&mut self, psn: Psn, plain: bool, at: Nanos) {
        let (run, before) = (self.trouble.run, self.trouble.before);
        if run.cause == Cause::ReadReissue {
            // What it lacked comes below what it has.
            self.heard = at;
        }
        let (start, _, last) = match before {
            _ if run.repeats != 0 && psn - run.start >= 0 && psn - run.next < 0 => (run.start, run.next, run.last),
            (start, next, _) if psn - start >= 0 && psn - next < 0 => before,
            _ => return,
        };
        if !plain && psn != start {
            // Of responses that follow one another only the first tells a way there and back.
            return;
        }
        let trip = at.since(last);
        self.trouble.least_trip = self.trouble.least_trip.max(trip);
    }

    /// The shortest way there and back, or where none could be measured, what it is at least.
    pub(super) fn least_trip(&self) -> Nanos {
        self.latency.rtt_range().map_or(self.trouble.least_trip, |(least, _)| least)
    }

    /// Whether an answer at that time is none to what the run sent again: that takes a way there and back, and half of
    /// the shortest is surely less.
    pub(super) fn answers_no(&self, run: &Run, at: Nanos) -> bool {
        at.since(run.latest.at).0 < self.least_trip().0 / 2
    }

    /// Whether an answer now comes too soon to be one to the timer's repeat: what was sent before was not lost. Ways
    /// there and back vary with the load, and few may have been measured: where the silence was several times the
    /// longest, nothing was late by so much.
    fn is_early(&self, now: Nanos) -> bool {
        let run = &self.trouble.run;
        let longest = self.latency.rtt_range().map_or(Nanos(0), |(_, longest)| longest).max(self.trouble.least_trip);
        let likely = run.stalled.0 <= longest.0.saturating_mul(LATE);
        likely && !run.named && self.answers_no(run, now)
    }

    /// Answers up to `psn` went by unseen: what had been sent again by then may be the answers' doing, or another queue
    /// pair's first sending, and no timer's.
    pub(crate) fn answered_unseen(&mut self, psn: Psn) {
        self.latency.forget_before(psn);
        if !self.trouble.is_none() {
            self.trouble.unheard = Timers::default();
            self.trouble.run.open &= !std::mem::take(&mut self.trouble.run.unheard);
        }
    }

    /// Everything up to `psn` has arrived.
    #[inline(always)]
    fn ack(&mut self, psn: Psn, mark: Mark, next: Psn, telling: &mut Telling<'_>) {
        if psn - next >= 0 {
            // About a request that was never seen here.
            if !self.knows_its_start() {
                self.known = 0;
            }
            return;
        }
        let calm = self.trouble.is_none();
        let asked = if !calm && self.trouble.run.open { self.latency.oldest_asked() } else { None };
        let messages = &mut *telling.messages;
        self.latency.answered(psn, mark.at, |time| messages.record(time));
        if psn - self.epsn >= 0 {
            self.accepted(psn + 1, next);
        }
        if self.acked.is_none_or(|acked| psn - acked > 0) {
            self.acked = Some(psn);
            self.known = if psn - self.start >= 0 { KNOWN.min(self.known + 1) } else { self.known };
        }
        // Repeats that were on their way already have ended the wait.
        while self.asked.back().is_some_and(|a| a.rnr && psn - a.psn >= 0) {
            self.asked.pop_back();
        }
        let judged = |t: &Trouble| t.run.open || t.behind.is_some() || t.run.answers != 0 || !t.crowd.is_empty();
        if !self.holes.is_empty() || !calm && judged(&self.trouble) {
            self.judge(psn, asked, mark, telling);
        }
    }

    /// The responder has accepted everything before `end`.
    #[inline(always)]
    fn accepted(&mut self, end: Psn, next: Psn) {
        self.epsn = end;
        if self.ahead.take().is_some() {
            // What passed while it waited may have been dropped there, and will then be asked for without any new loss.
            self.doubt = Some(next);
        }
        if self.doubt.is_some_and(|doubt| end - doubt >= 0) {
            self.doubt = None;
        }
        if self.doubt.is_none() && self.holes.iter().all(Hole::is_whole) {
            self.epsn = next;
        }
    }

    /// A NAK acknowledges what came before it (IBTA 9.7.5.1.2).
    fn before(&mut self, psn: Psn, mark: Mark, next: Psn, telling: &mut Telling<'_>) {
        let news = self.acked.is_none_or(|acked| (psn - 1) - acked > 0) && psn - self.start > 0;
        if news && psn - next <= 0 {
            self.ack(psn - 1, mark, next, telling);
        }
    }

    #[cold]
    fn judge(&mut self, psn: Psn, asked: Option<Psn>, mark: Mark, telling: &mut Telling<'_>) {
        for hole in self.holes.iter_mut().filter(|h| h.end() - psn <= 1) {
            hole.acked = true;
        }
        self.crowd_acknowledged(psn, telling);
        if let Some(behind) = self.trouble.behind
            && psn - behind.psn >= 0
        {
            self.trouble.behind = None;
            self.close_behind(behind, telling.room);
        }
        if psn - self.trouble.run.start < 0 {
            return;
        }
        if self.trouble.run.open {
            // More than what was sent again had arrived, and beyond a packet that should have been answered long ago.
            // An answer to just that packet may be late instead; and a responder that keeps what comes early, to a
            // sender that sends only what is missing, acknowledges all of it once that one packet comes.
            let alone = self.trouble.run.repeats <= 1;
            let timed = self.trouble.run.cause == Cause::Timeout;
            let lost = timed && !alone && asked.is_some_and(|p| p - self.trouble.run.start >= 0 && psn - p > 0);
            let kind = if psn - self.trouble.run.next >= 0 && lost {
                self.trouble.sums.acks_lost += 1;
                Kind::AckLost
            } else if self.is_early(mark.at) {
                Kind::EarlyTimeout
            } else {
                self.trouble.run.in_doubt()
            };
            self.trouble.run.open = false;
            let unsure = timed && matches!(kind, Kind::RequestOrAckLost | Kind::RequestLost);
            self.trouble.run.due = unsure && asked == Some(psn) && psn - self.trouble.run.next >= -1;
            (self.trouble.run.answer, self.trouble.run.answers) = (psn, 1);
            if timed {
                self.tell_run(kind, Some(mark), telling.room);
            }
        } else if self.trouble.run.answers != 0 && self.trouble.run.answer == psn {
            self.trouble.run.answers += 1;
            // More answers than repeats: one is for the first sending, so neither that nor its answer was lost.
            if self.trouble.run.answers == self.trouble.run.repeats + 1
                && let Some(latest) = self.log.latest()
                && !self.trouble.run.named
                && latest.kind == Kind::RequestOrAckLost
                && latest.from == self.trouble.run.start
            {
                *latest = latest.of(Kind::EarlyTimeout);
            }
        } else {
            if self.trouble.run.lost_its_answer() {
                self.trouble.sums.acks_lost += 1;
                if let Some(latest) = self.log.latest()
                    && latest.from == self.trouble.run.start
                {
                    *latest = latest.of(Kind::AckLost);
                }
            }
            self.trouble.run.answers = 0;
        }
    }

    fn nak(&mut self, psn: Psn, mark: Mark, next: Psn, telling: &mut Telling<'_>) {
        // Inside an RNR wait it belongs to that: the packets behind the one that was not accepted come too early.
        if self.asked.back().is_some_and(|a| a.rnr) {
            return;
        }
        if !self.trouble.is_none() {
            let run = &mut self.trouble.run;
            // What a timer sent again had not arrived before, or the responder would not want it.
            run.named |= run.open && run.cause == Cause::Timeout && psn - run.start >= 0 && psn - run.next < 0;
        }
        self.before(psn, mark, next, telling);
        self.crowd_disturbed(psn, telling);
        if psn - self.start < 0 && self.hole_at(psn).is_none() && self.start - psn <= FIRST {
            // Before the first request seen. It may have passed before the capture began.
            self.holes.push_front(Hole::named(psn, mark, mark));
            self.start = psn;
            self.epsn = psn;
        } else {
            self.count_nak(psn, mark, telling.room);
            if psn - next <= 0 {
                self.epsn = psn;
                let ahead = Ahead { mark: Mark { frame: self.last_request.frame, at: mark.at }, again: false };
                self.ahead.get_or_insert_with(|| Box::new(ahead));
            }
        }
        self.ask(Asked { psn, mark, rnr: false });
    }

    /// Counts a NAK by what it is about: what had not passed here, what had, or the same as one before.
    fn count_nak(&mut self, psn: Psn, mark: Mark, room: &mut u32) {
        let generated = match self.hole_at(psn) {
            Some(hole) if hole.nak.is_none() => {
                hole.nak = Some(mark);
                Some((hole.start == psn).then_some(hole.opened))
            }
            _ => None,
        };
        let known = self.asked.iter().any(|a| a.psn == psn);
        let out = self.holes.iter().any(|h| h.lacks(psn));
        match generated {
            Some(Some(opened)) => {
                self.trouble.sums.naks_unseen += 1;
                self.nak_times.generation.record(mark.at.since(opened.at));
            }
            Some(None) => {}
            // Nothing was sent again yet, and the responder asks again for the same.
            None if known => self.trouble.sums.naks_repeated += 1,
            // The next one of a hole.
            None if out => self.trouble.sums.naks_unseen += 1,
            // It had been seen, as one of those that the responder dropped. If the sender was sending again, a repeat
            // is missing; if not, nothing is.
            None if psn == self.epsn && self.ahead.is_some() => {
                if let Some(Ahead { mark: ahead, again: true }) = self.ahead.as_deref().copied() {
                    self.holes.push_back(Hole::named(psn, ahead, mark));
                    self.trouble.sums.naks_unseen += 1;
                    self.nak_times.generation.record(mark.at.since(ahead.at));
                } else {
                    self.blame_late(psn);
                }
            }
            // Once more about the same packet.
            None if self.trouble.behind.is_some_and(|b| b.psn == psn) => {}
            None if psn - self.epsn < 0 => {
                if let Some(behind) = self.trouble.behind.take() {
                    self.close_behind(behind, room);
                }
                self.trouble.sums.naks_seen += 1;
                (self.trouble.behind, self.trouble.behind_again) = (Some(Asked { psn, mark, rnr: false }), false);
            }
            None => self.blame_late(psn),
        }
    }

    /// A NAK about what had been seen, and came while the responder waited for what was late: part of what that costs.
    fn blame_late(&mut self, psn: Psn) {
        if let Some((late, _)) = &mut self.trouble.late {
            *late = psn;
        }
    }

    /// An answer asks for a repeat.
    fn ask(&mut self, asked: Asked) {
        if self.asked.len() == ASKED {
            self.asked.pop_front();
        }
        if self.asked.back().is_none_or(|a| a.psn != asked.psn || a.rnr != asked.rnr) {
            self.asked.push_back(asked);
        }
    }

    fn rnr(&mut self, psn: Psn, timer_us: u32, mark: Mark, next: Psn, telling: &mut Telling<'_>) {
        self.before(psn, mark, next, telling);
        self.trouble.sums.rnr_waits += 1;
        self.trouble.rnr_timer_us = Some(self.trouble.rnr_timer_us.map_or(timer_us, |t| t.max(timer_us)));
        if psn - next <= 0 {
            (self.epsn, self.ahead) = (psn, None);
        }
        // An answer, if not the one that was hoped for: the run before did not go unheard.
        if self.trouble.run.open && psn - self.trouble.run.start >= 0 {
            self.trouble.run.open = false;
            self.tell_run(self.trouble.run.in_doubt(), Some(mark), telling.room);
        }
        // A NAK for what came before may be on its way still, and is heeded first.
        self.asked.retain(|a| !a.rnr && a.psn - psn < 0);
        self.ask(Asked { psn, mark, rnr: true });
    }

    /// A NAK about what had passed the tap has been answered: one packet was lost or late behind it. If it was answered
    /// before it could be sent again, it was late.
    fn close_behind(&mut self, behind: Asked, room: &mut u32) {
        let waits = self.asked.iter().any(|a| a.psn == behind.psn && a.mark == behind.mark);
        let unheeded = waits && !self.trouble.behind_again;
        let kind = if unheeded { Kind::Reordered } else { Kind::LostOrLate };
        let sum = if unheeded { &mut self.trouble.sums.late_behind } else { &mut self.trouble.sums.behind };
        *sum += 1;
        let mended =
            (self.trouble.run.cause == Cause::Nak && self.trouble.run.start == behind.psn).then_some(self.trouble.run);
        let cause = mended.map(|_| Cause::Nak);
        let episode = Episode::new(kind, cause, behind.psn, behind.psn).at(Some(behind.mark));
        let repeats = mended.map_or(0, |run| run.repeats);
        let place = self.log.add(episode.at(mended.map(|run| run.begun)).counting(1, repeats), room);
        if mended.is_some() {
            self.trouble.run.told = place;
        } else if unheeded {
            self.trouble.late = place.map(|place| (behind.psn, place));
        }
    }

    /// Another run begins before it is known what this one was.
    pub(super) fn close_run(&mut self, room: &mut u32) {
        if self.trouble.run.open && self.trouble.run.cause == Cause::Timeout {
            self.tell_run(self.trouble.run.in_doubt(), None, room);
        }
    }

    fn tell_run(&mut self, kind: Kind, answer: Option<Mark>, room: &mut u32) {
        let run = self.trouble.run;
        let episode = Episode::new(kind, Some(run.cause), run.start, run.next - 1);
        let episode = episode.at(Some(run.begun)).at(Some(run.latest)).at(answer).after(run.waited.time);
        self.trouble.run.told = self.log.add(episode.counting(0, run.repeats), room);
    }
}
