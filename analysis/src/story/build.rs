//! From the state of a story to its report.

use std::cmp::Ordering;

use rocetop_parsers::Nanos;

use super::hole::Outcome;
use super::log::{Episode, View};
use super::report::{ByCause, Cause, EpisodeReport, Kind, Near, NearEvidence, Recovery, Retransmissions, StoryReport};
use super::run::{End, Shows, timeout_of};
use super::{Story, Sums, episodes_of};
use crate::event::FrameNo;
use crate::report::FrameRef;

/// What the flow knows and the story does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    /// `requests.seen_again`, without mirror copies.
    pub(crate) seen_again: u64,
    pub(crate) answered: bool,
    /// Most routers that requests and answers had passed.
    pub(crate) hops: (Option<u8>, Option<u8>),
    pub(crate) most_in_flight: u32,
    pub(crate) goodput_bps: Option<u64>,
}

/// Initial TTLs that are in use: Linux and most NICs (64), others (128, 255).
const INITIAL: [u8; 3] = [64, 128, 255];
/// Hops that a fabric has at most (chosen: three tiers are five, and some fabrics are joined to others); a TTL further
/// below the next initial value tells nothing. (RDMA CM and some benchmarks send 1 or other small ones.)
const HOPS: u8 = 16;

/// One path of several lacks half of a flow's packets or more. Where more than one in so many is skipped, away from the
/// responder's end, the tap may stand on such a path (chosen: between that half and what any network loses).
const ONE_PATH: u64 = 4;

/// Routers passed, by what is left of the initial TTL.
pub(crate) fn hops(ttl: u8) -> Option<u8> {
    let initial = INITIAL.into_iter().find(|&initial| ttl <= initial)?;
    Some(initial - ttl).filter(|&hops| hops <= HOPS)
}

/// NAKs about what had not passed the tap, from which on the network is known to lose packets: what is missing behind
/// such a packet, where the responder names nothing, is then taken for lost too, and not for missed by the capture
/// (chosen: one or two may be chance).
const NAMED: u64 = 3;

impl Sums {
    /// What came of the holes. What no NAK named is lost only where the network `loses`.
    fn proved(&self, loses: bool) -> Outcome {
        let (mut holes, hidden) = (self.holes, self.hidden);
        if !loses {
            holes.lost = holes.lost.saturating_sub(hidden.lost);
            holes.lost_if_in_order = holes.lost_if_in_order.saturating_sub(hidden.if_in_order);
            let unsure = hidden.lost.saturating_add(hidden.if_in_order);
            holes.lost_or_late = holes.lost_or_late.saturating_add(unsure);
        }
        holes
    }
}

/// What came of a flow's requests, all in all.
struct Verdict {
    holes: Outcome,
    /// Late behind the tap.
    late_behind: u64,
    /// The capture missed packets, and nothing else happened.
    misses: bool,
    view: View,
}

impl Story {
    pub(crate) fn report(&self, around: &Around, frame: impl Fn(FrameNo) -> FrameRef) -> StoryReport {
        let evidence = NearEvidence {
            naks_for_unseen: self.trouble.sums.naks_unseen,
            naks_for_seen: self.trouble.sums.naks_seen,
            request_hops: around.hops.0,
            answer_hops: around.hops.1,
        };
        let near = near(&evidence);
        let verdict = self.verdict(near, around);
        let Verdict { holes, view, .. } = verdict;
        let whole = self.trouble.sums.naks_unseen == 0 && holes == Outcome::default();
        let unanswered =
            if self.trouble.run.open && self.trouble.run.cause == Cause::Timeout { self.trouble.run.tries } else { 0 };
        let acks_lost = self.trouble.sums.acks_lost + u64::from(self.trouble.run.lost_its_answer());
        StoryReport {
            near,
            near_evidence: evidence,
            retransmissions: self.retransmissions(around.seen_again),
            lost_before_tap: u64::from(holes.lost),
            lost_after_tap: 0,
            lost_or_late: u64::from(holes.lost_or_late)
                + self.trouble.sums.behind
                + u64::from(self.trouble.behind.is_some()),
            reordered: u64::from(holes.late) + verdict.late_behind,
            in_order_by_stamp: u64::from(holes.in_order),
            duplicated_by_network: if view.fall_together { 0 } else { self.trouble.sums.duplicated },
            // Certain at the requester's side alone: a responder's tap cannot tell it from an early timeout.
            lost_acks: if near == Near::Src { acks_lost } else { 0 },
            // At the responder's side none is lost before the tap.
            lost_responses: if near == Near::Dst { 0 } else { self.trouble.owed.lost() },
            missed_by_capture: u64::from(holes.missed),
            recovery: self.recovery(),
            nak_generation_ns: self.nak_times.generation.spread(),
            nak_reaction_ns: self.nak_times.reaction.spread(),
            message_ns: self.latency.message(),
            rtt_ns: self.latency.rtt(),
            timeout_ns: self.trouble.timers.spacing.and_then(timeout_of).map(|Nanos(n)| n),
            tries_apart_ns: self.trouble.timers.spacing.map(|Nanos(n)| n),
            tries_grow: self.trouble.timers.grow,
            waited_behind_ns: self.trouble.timers.behind.map(|Nanos(n)| n),
            timeouts: self.trouble.timers.timeouts,
            rnr_timer_us: self.trouble.rnr_timer_us.map(u64::from),
            rnr_waits: self.trouble.sums.rnr_waits,
            rnr_unresolved: self.asked.back().is_some_and(|a| a.rnr),
            stall_ns: self.trouble.timers.stall.0,
            silence_ns: self.quiet.0.0,
            silence_before: (self.quiet.0 != Nanos(0)).then(|| frame(self.quiet.1)),
            most_in_flight: around.most_in_flight,
            goodput_mbps: around.goodput_bps.map(|bps| bps / 1_000_000),
            goodput_bps: around.goodput_bps,
            messages_completed: self.progress.completed(),
            message_size: self.sizes.report(),
            credits_least: self.progress.credits(),
            last_acked_psn: self.acked.map(rocetop_parsers::Psn::get),
            unanswered_tries: unanswered,
            unanswered_since_ns: self.acked.and_then(|_| self.unanswered_since()).map(|Nanos(n)| n),
            naks_repeated: self.trouble.sums.naks_repeated,
            // Certain at the requester alone, where nothing can be missing: elsewhere the first repeats may have been
            // lost.
            restarts_elsewhere: if near == Near::Src && whole { self.trouble.sums.restarts_elsewhere } else { 0 },
            episodes: self.episodes(&verdict, near, around, frame),
            more_episodes: u64::from(self.log.more()),
            listed_until_ns: self.log.until().map(|Nanos(n)| n),
            missed_or_before: u64::from(holes.early),
        }
    }

    /// When the oldest request was sent that still waits for its answer.
    fn unanswered_since(&self) -> Option<Nanos> {
        let latest = self.last_request.at;
        self.latency.oldest_wait(latest).map(|Nanos(wait)| Nanos(latest.0.saturating_sub(wait)))
    }

    /// What came of all that was skipped: what is still under way when the capture ends is judged as it stands.
    fn verdict(&self, near: Near, around: &Around) -> Verdict {
        let mut sums = self.trouble.sums;
        self.holes.iter().for_each(|hole| sums.judge(hole, around.answered));
        let loses = sums.naks_unseen >= NAMED;
        let mut holes = sums.proved(loses);
        holes.lost_or_late = holes.lost_or_late.saturating_add(self.trouble.crowd.packets());
        let mut late_behind = self.trouble.sums.late_behind;
        let disorder = holes.late != 0 || late_behind != 0;
        // Of a sender that sends only what is missing, a repeat looks like a packet that was late. Who goes back would
        // have sent something again that was there.
        let alone = match self.recovery() {
            Recovery::Selective => true,
            Recovery::Unknown => around.seen_again == 0,
            Recovery::GoBackN | Recovery::NoneSeen => false,
        };
        let alone = alone && holes.in_order == 0;
        if alone {
            let late = u64::from(std::mem::take(&mut holes.late)) + std::mem::take(&mut late_behind);
            holes.lost_or_late = holes.lost_or_late.saturating_add(u32::try_from(late).unwrap_or(u32::MAX));
        }
        let in_order = holes.late == 0 && late_behind == 0;
        let if_in_order = std::mem::take(&mut holes.lost_if_in_order);
        let sum = if in_order { &mut holes.lost } else { &mut holes.lost_or_late };
        *sum = sum.saturating_add(if_in_order);
        // A capture that is known to miss packets, or that sees one path of several, may have missed the first sending;
        // and nothing is lost before a tap at the end that sends.
        let skipped = u64::from(holes.lost) + u64::from(holes.lost_or_late) + u64::from(holes.late);
        let one_path = near != Near::Dst && skipped * ONE_PATH > u64::from((self.top - self.start).unsigned_abs());
        let whole = holes.missed.max(holes.early) == 0 && near != Near::Src && !one_path;
        if !whole {
            holes.lost_or_late = holes.lost_or_late.saturating_add(std::mem::take(&mut holes.lost));
        }
        // Where packets overtake each other, the first sending and a repeat can come one right behind the other.
        let fall_together = disorder && self.trouble.sums.restarts + self.trouble.timers.timeouts != 0;
        let misses = self.only_misses(around.seen_again);
        if misses {
            holes.missed = holes.missed.saturating_add(std::mem::take(&mut holes.lost_or_late));
        }
        let responses_in_order = !self.trouble.owed.disorder();
        Verdict {
            holes,
            late_behind,
            misses,
            view: View { in_order, responses_in_order, fall_together, whole, loses, alone },
        }
    }

    /// All episodes in the order of time, as the verdict lets them be told.
    fn episodes(
        &self,
        verdict: &Verdict,
        near: Near,
        around: &Around,
        frame: impl Fn(FrameNo) -> FrameRef,
    ) -> Vec<EpisodeReport> {
        let holes_left = self.holes.iter().flat_map(|h| episodes_of(h, around.answered));
        let holes_left = self.trouble.crowd.episodes(Kind::LostOrLate).chain(holes_left);
        let holes_left = holes_left.map(|e| if verdict.misses { e.of(Kind::MissedByCapture) } else { e });
        let kept = self.log.kept().iter().copied().chain(holes_left).chain(self.trouble.owed.episodes());
        let episodes = kept.chain(self.unfinished()).map(|e| e.seen_in(verdict.view));
        let ack_lost = self.trouble.run.lost_its_answer();
        let lost = |e: Episode| {
            let unsure = matches!(e.kind, Kind::RequestOrAckLost | Kind::RequestLost);
            if ack_lost && unsure && e.from == self.trouble.run.start { e.of(Kind::AckLost) } else { e }
        };
        let mut episodes: Vec<EpisodeReport> = episodes.map(|e| told(&lost(e), near, &frame)).collect();
        episodes.sort_by_key(|e| e.first_ns);
        episodes
    }

    /// Whether the capture is known to miss packets and nothing else ever happened: then it missed those, too, whose
    /// answer it does not hold any more.
    fn only_misses(&self, seen_again: u64) -> bool {
        let sums = &self.trouble.sums;
        let Outcome { lost, lost_if_in_order, lost_or_late, late, missed, early, .. } = sums.holes;
        let asked = sums.naks_seen + sums.naks_unseen + self.trouble.timers.timeouts + sums.rnr_waits + seen_again;
        missed.max(early) != 0 && lost == 0 && lost_if_in_order == 0 && late == 0 && lost_or_late == 0 && asked == 0
    }

    /// The repeats by cause. What copies took off the total, and what came before the story began, has no known cause.
    fn retransmissions(&self, total: u64) -> Retransmissions {
        let [nak, timeout, rnr, read_reissue] =
            [Cause::Nak, Cause::Timeout, Cause::Rnr, Cause::ReadReissue].map(|c| self.trouble.causes.of(c));
        let known = nak + timeout + rnr + read_reissue;
        let by_cause = match total.checked_sub(known) {
            Some(unknown) => ByCause { nak, timeout, rnr, read_reissue, unknown },
            None => ByCause { unknown: total, ..ByCause::default() },
        };
        Retransmissions { total, by_cause }
    }

    fn recovery(&self) -> Recovery {
        let (sums, run) = (&self.trouble.sums, &self.trouble.run);
        let shows = run.shows(End::Capture);
        let went_on = sums.went_on + u64::from(shows == Shows::All);
        let selective = sums.selective + u64::from(shows == Shows::Missing);
        // Where what is missing comes here for the first time, runs lose their ends before the tap.
        let cut_short = sums.naks_unseen > sums.naks_seen;
        match sums.restarts {
            0 => Recovery::NoneSeen,
            _ => habit(selective, went_on, cut_short.then(|| self.trouble.causes.of(Cause::Nak))),
        }
    }

    /// What no answer has come for by the end of the capture.
    fn unfinished(&self) -> Option<Episode> {
        let run = &self.trouble.run;
        if run.open && run.cause == Cause::Timeout {
            let episode = Episode::new(Kind::Unanswered, Some(run.cause), run.start, run.next - 1);
            return Some(
                episode.at(Some(run.begun)).at(Some(run.latest)).after(run.waited.time).counting(0, run.repeats),
            );
        }
        let asked = self.asked.back().filter(|a| a.rnr)?;
        Some(Episode::new(Kind::Rnr, None, asked.psn, asked.psn).at(Some(asked.mark)))
    }
}

/// Packets that came again though they had been here, for each run that looks selective, from which on these were cut
/// short (chosen: a sender that sends only what is missing sends hardly any of them).
const CUT_SHORT: u64 = 10;

/// How a sender recovers, by the runs of repeats that look selective and those that went on to the end. `again`:
/// packets that came again though they had been here, where runs lose their ends before the tap; then those of a sender
/// that goes back look selective.
fn habit(selective: u64, went_on: u64, again: Option<u64>) -> Recovery {
    match (selective.cmp(&went_on), again) {
        (Ordering::Greater, Some(again)) if again > selective => {
            let clear = went_on != 0 && again / CUT_SHORT >= selective;
            if clear { Recovery::GoBackN } else { Recovery::Unknown }
        }
        (Ordering::Greater, _) => Recovery::Selective,
        (Ordering::Less, _) => Recovery::GoBackN,
        // Nothing shows it, or as much speaks for either.
        (Ordering::Equal, _) => Recovery::Unknown,
    }
}

/// The end that the tap stands at: by TTL where that tells, else by what NAKs were about.
fn near(evidence: &NearEvidence) -> Near {
    match (evidence.request_hops, evidence.answer_hops) {
        (Some(0), Some(1..)) => return Near::Src,
        (Some(1..), Some(0)) => return Near::Dst,
        (Some(1..), Some(1..)) => return Near::Between,
        _ => {}
    }
    // By a clear majority (chosen): a capture may miss the packet that a NAK is about, or see what is lost behind it.
    const MORE: u64 = 3;
    let (before, behind) = (evidence.naks_for_unseen, evidence.naks_for_seen);
    match (before, behind) {
        (0, 0) => Near::Unknown,
        _ if before >= MORE * behind => Near::Dst,
        _ if behind >= MORE * before => Near::Src,
        _ => Near::Between,
    }
}

fn told(episode: &Episode, near: Near, frame: &impl Fn(FrameNo) -> FrameRef) -> EpisodeReport {
    // Only at the requester's side does an answer say what became of the first one.
    let kind = match (episode.kind, near) {
        (Kind::AckLost, Near::Between | Near::Unknown) => Kind::RequestOrAckLost,
        (
            Kind::AckLost | Kind::EarlyTimeout | Kind::RequestOrAckLost | Kind::RequestLost | Kind::ResponseLost,
            Near::Dst,
        ) => Kind::Unexplained,
        (kind, _) => kind,
    };
    EpisodeReport {
        kind,
        cause: episode.cause,
        first_ns: episode.first.0,
        last_ns: episode.last.0,
        frames: episode.shown().map(frame).collect(),
        psn: [episode.from.get(), episode.to.get()],
        packets: u64::from(episode.packets),
        repeats: u64::from(episode.repeats),
        waited_ns: Some(episode.waited.0).filter(|&ns| ns != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(unseen: u64, seen: u64, request: Option<u8>, answer: Option<u8>) -> NearEvidence {
        NearEvidence {
            naks_for_unseen: unseen,
            naks_for_seen: seen,
            request_hops: request.and_then(hops),
            answer_hops: answer.and_then(hops),
        }
    }

    #[test]
    fn most_runs_tell_the_habit() {
        assert_eq!(habit(0, 0, None), Recovery::Unknown);
        assert_eq!(habit(2, 2, None), Recovery::Unknown);
        assert_eq!(habit(3, 2, None), Recovery::Selective);
        assert_eq!(habit(2, 3, None), Recovery::GoBackN);
    }

    #[test]
    fn one_run_to_the_end_does_not_outweigh_many_that_were_not() {
        // Where ends are lost before the tap.
        assert_eq!(habit(14, 1, Some(20)), Recovery::Unknown);
        assert_eq!(habit(14, 0, Some(1_000)), Recovery::Unknown);
        assert_eq!(habit(14, 1, Some(14)), Recovery::Selective);
        // As Soft-RoCE, which goes back, was seen at the receiver.
        assert_eq!(habit(14, 2, Some(1_682)), Recovery::GoBackN);
    }

    #[test]
    fn ttl_tells_the_end() {
        assert_eq!(near(&evidence(0, 0, Some(64), Some(63))), Near::Src);
        assert_eq!(near(&evidence(0, 9, Some(253), Some(255))), Near::Dst);
        assert_eq!(near(&evidence(0, 0, Some(62), Some(63))), Near::Between);
        assert_eq!(near(&evidence(0, 0, Some(64), Some(64))), Near::Unknown);
        assert_eq!(near(&evidence(0, 0, Some(1), Some(64))), Near::Unknown);
    }

    #[test]
    fn else_a_majority_of_naks_does() {
        assert_eq!(near(&evidence(27, 5, None, None)), Near::Dst);
        assert_eq!(near(&evidence(1, 6, Some(64), Some(64))), Near::Src);
        assert_eq!(near(&evidence(4, 6, None, None)), Near::Between);
    }
}
