//! The requester's timer ran out, and it sent again.
//!
//! # What it detects
//! Requests that were sent again because no answer came in time. Timeouts that were early (RT011) or that led to the
//! end of the queue pair (RT004) are told there.
//!
//! # Why it hurts
//! Nothing moves on the queue pair until the timer runs out: 4.096 us x 2^t for the exponent t that the application
//! set, and up to four times as long. With the exponents of large training jobs (20 to 22) one lost packet costs 4 to
//! 17 seconds.
//!
//! # How it decides
//! A repeat that no NAK and no RNR NAK asked for, after more silence than a round trip takes. The value is the largest
//! power of two of the formula that is no longer than the shortest time between two tries of one request. NICs with
//! adaptive retransmission (mlx5: `roce_adp_retrans`) start far below it, and wait for longer from try to try. Timeouts
//! about the same requests, one after the other, are one stall. A READ or atomic whose answer passed here, and that
//! comes again within 2.1 ms, has no known cause: the answer may have been lost behind the tap.
//!
//! "Stalled" is the silence on the wire before the repeats of all timeouts, and of RNR waits: how long nothing moved.
//! "Waited" is how long the oldest request had had no answer when its timer ran out for the first time: that is the
//! timer's length, or somewhat more; and less where the timer was running already when that request was sent: Soft-RoCE
//! leaves a timer alone that is pending (Linux `update_state` in `rxe_req.c`). What was sent behind that request makes
//! the stall shorter than the wait.
//!
//! # What could fool it
//! A capture that misses NAKs: the repeats that they asked for then look like a timer's.
//!
//! # What to do next
//! Find what was lost or late: RT001, RT009 and RT010 of the same flow say what they know. A timeout instead of a NAK
//! means that the last packet of a burst, the only answer, or the NAK was lost; or the requester did not heed it. Every
//! sending of one request, in tshark, with the queue pair and a PSN of the finding's episodes:
//!
//! ```text
//! infiniband.bth.destqp == 0x1c && infiniband.bth.psn == 1118485
//! ```
//!
//! # References
//! IBTA Volume 1, 9.7.6.1.3 (transport timer).

use super::kit::{Digest, counted, finding, road, time, timeouts, waited};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::report::words::timeout_exponent;
use crate::story::StoryReport;
use crate::story::report::{Cause, EpisodeReport, Kind, Near};

pub(super) const RULE: Rule = Rule {
    code: "RT003",
    name: "timeouts",
    title: "the requester's timer ran out and it sent again",
    severity: Severity::Warning,
    needs: "packets of both directions",
    source: include_str!("timeouts.rs"),
    judge: Judge::Connection(judge),
};

/// The most retries that a queue pair can have: the counter has three bits (IBTA 11.2.5, QP attributes).
const RETRIES: u64 = 7;
/// A timeout that is so many times the longest round trip can be shorter (chosen: a power of two below it still is
/// several times that).
const AMPLE: u64 = 8;
/// Round trips measured for each timeout, from which on the longest is believed (chosen): what waited longest was sent
/// again, and is not measured (Karn's rule).
const TRIPS: u64 = 8;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _, story) in case.stories() {
        if story.timeouts == 0 {
            continue;
        }
        // Too early ones and those without any answer to the end are told by other rules.
        let fits = |e: &EpisodeReport| {
            e.cause == Some(Cause::Timeout) && !matches!(e.kind, Kind::EarlyTimeout | Kind::Unanswered)
        };
        let digest = Digest::of(story, fits);
        if digest.is_none() && story.more_episodes == 0 {
            continue;
        }
        let stalled = match story.stall_ns {
            0 => String::new(),
            // What RNR waits took is in there too.
            ns if story.rnr_waits != 0 => format!(", stalled {} with RNR waits", time(ns)),
            ns => format!(", stalled {}", time(ns)),
        };
        let stalls = digest.as_ref().map_or(0, |d| d.count);
        let what = timeouts(story, stalls, fits).unwrap_or_else(|| counted(story.timeouts, "timeout"));
        let title = format!("{what}{stalled}: {}", road(flow));
        let told = case.told(flow);
        let mut evidence = Evidence::default()
            .with("timeouts", story.timeouts)
            .with("stall_ns", story.stall_ns)
            .with_harm("sent_again", story.retransmissions.by_cause.timeout);
        let waits = waited(story, fits);
        if let Some((least, most)) = waits {
            evidence = evidence.with("waited_least_ns", least).with("waited_most_ns", most);
        }
        if let Some(ns) = story.timeout_ns {
            evidence = evidence.with("timeout_ns", ns);
            if let Some(exponent) = timeout_exponent(ns) {
                evidence = evidence.with("timeout_exponent", u64::from(exponent));
            }
            if let Some(ns) = story.tries_apart_ns {
                evidence = evidence.with("tries_apart_ns", ns);
            }
        }
        let longest = story.episodes.iter().filter(|e| fits(e)).max_by_key(|e| e.last_ns.saturating_sub(e.first_ns));
        if let Some(longest) = longest.filter(|e| e.repeats > 1)
            && let (Some(from), Some(to)) = (longest.frames.first(), longest.frames.last())
        {
            evidence = evidence
                .with("longest_recovery_ns", longest.last_ns.saturating_sub(longest.first_ns))
                .with("longest_recovery_repeats", longest.repeats)
                .with("longest_recovery_frames", format!("{from} to {to}"));
        }
        let between = match told.map(|told| (told.requests, told.answers)) {
            Some((0, Some(0))) => "Nothing was lost between the taps: it was late, or lost outside of them.".to_owned(),
            Some((requests, Some(answers))) => format!(
                "Between the taps {} and {} were lost: `taps` in the report has the frames.",
                counted(requests, "request packet"),
                counted(answers, "answer")
            ),
            _ => "Find what was lost or late at these times, on both ways.".to_owned(),
        };
        let early = case.stories().any(|(.., s)| s.episodes.iter().any(|e| e.kind == Kind::EarlyTimeout));
        let least = waits.map(|(least, _)| least);
        let advice = between + &shorter(story, early, stalls, least) + &ran_before(story, least);
        let evidence = evidence.with_taps(told);
        // From when the first of these requests was sent.
        let begun = story.episodes.iter().filter(|e| fits(e));
        let begun = begun.map(|e| e.first_ns.saturating_sub(e.waited_ns.unwrap_or(0))).min();
        let found = finding(&RULE, flow, digest.as_ref(), title);
        let (first_ns, last_ns) = (begun.unwrap_or(found.first_ns), found.last_ns);
        report(Finding { evidence, advice, ..found.during(first_ns, last_ns) });
    }
}

/// Whether a shorter timeout would do: not where the timer runs out before answers come, nor where retries were used up
/// in a row. Where the tap does not see what the timer saw, nothing is said.
fn shorter(story: &StoryReport, early: bool, stalls: u64, least_ns: Option<u64>) -> String {
    let in_a_row = story.timeouts.saturating_sub(stalls) + 1;
    let trip = story.rtt_ns.max;
    let is_known = story.near == Near::Src && trip != 0 && story.rtt_ns.count >= TRIPS * story.timeouts;
    match least_ns {
        _ if early => " Do not shorten the timeout: it ran out too early as well (RT011).".to_owned(),
        _ if in_a_row > 1 && stalls != 0 && story.more_episodes == 0 && story.unanswered_tries == 0 => format!(
            " Do not shorten the timeout: up to {in_a_row} ran out in a row, and a queue pair has {RETRIES} retries at \
             most."
        ),
        Some(least) if is_known && least >= trip.saturating_mul(AMPLE) => format!(
            " A shorter timeout would cost less per loss: the requests waited for {} at least, and the longest round \
             trip took {}.",
            time(least),
            time(trip)
        ),
        _ => String::new(),
    }
}

/// Why a request waited for less than the timer takes, where one did and it shows.
fn ran_before(story: &StoryReport, least_ns: Option<u64>) -> String {
    let Some(least) = least_ns.filter(|&least| story.timeout_ns.is_some_and(|timeout| least < timeout)) else {
        return String::new();
    };
    let why = if story.tries_grow {
        "the times between tries grow, as they do with adaptive retransmission"
    } else if story.waited_behind_ns == Some(least) {
        "the timer was running when it was sent"
    } else {
        return String::new();
    };
    format!(" A request was sent again after {}, sooner than the timer takes: {why}.", time(least))
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::story::report::Spread;
    use crate::taps::Told;

    fn story(timeouts: u64, kind: Kind) -> StoryReport {
        StoryReport {
            timeouts,
            stall_ns: 134_217_728,
            timeout_ns: Some(67_108_864),
            episodes: vec![episode(kind, Some(Cause::Timeout), 9_000, &[3, 5])],
            ..StoryReport::default()
        }
    }

    #[test]
    fn they_are_counted_with_their_cost() {
        let found = cases::one(&RULE, &cases::flows(story(2, Kind::RequestOrAckLost), 0));
        assert_eq!(found.title, "2 timeouts in a row, stalled 134 ms: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.evidence.0.contains(&("timeout_exponent", Value::Number(14))));
        assert!(found.evidence.0.contains(&("longest_recovery_frames", Value::Text("3 to 5".into()))));
        assert_eq!(
            found.advice,
            "Find what was lost or late at these times, on both ways. Do not shorten the timeout: up to 2 ran out in a \
             row, and a queue pair has 7 retries at most."
        );
        let waits = StoryReport { rnr_waits: 1, ..story(1, Kind::RequestOrAckLost) };
        let found = cases::one(&RULE, &cases::flows(waits, 0));
        assert_eq!(found.title, "1 timeout, stalled 134 ms with RNR waits: 10.9.1.1 -> 10.9.2.1 qp 20");
    }

    #[test]
    fn a_wait_that_was_shorter_than_the_timer_is_explained() {
        let told_of = |waited, behind: Option<u64>, tries_grow| {
            let (tries_apart_ns, waited_behind_ns) = (Some(70_000_000), behind);
            let story = story(1, Kind::RequestOrAckLost);
            let mut story = StoryReport { tries_apart_ns, waited_behind_ns, tries_grow, ..story };
            story.episodes[0].waited_ns = Some(waited);
            cases::one(&RULE, &cases::flows(story, 0))
        };
        let told = |waited| told_of(waited, Some(waited), false);
        let found = told(60_000_000);
        assert!(found.evidence.0.contains(&("tries_apart_ns", Value::Number(70_000_000))));
        assert_eq!(
            found.advice,
            "Find what was lost or late at these times, on both ways. A request was sent again after 60 ms, sooner \
             than the timer takes: the timer was running when it was sent."
        );
        assert!(!told(68_000_000).advice.contains("sooner"));
        // Nothing was out when that one was sent; or no timer of one length.
        assert!(!told_of(60_000_000, None, false).advice.contains("sooner"));
        assert!(!told_of(60_000_000, Some(65_000_000), false).advice.contains("sooner"));
        assert_eq!(
            told_of(4_000_000, Some(4_000_000), true).advice,
            "Find what was lost or late at these times, on both ways. A request was sent again after 4 ms, sooner than \
             the timer takes: the times between tries grow, as they do with adaptive retransmission."
        );
    }

    #[test]
    fn a_shorter_timeout_is_advised_only_where_it_is_ample() {
        let trip = |max| Spread { count: 9, p50: max, p99: max, max };
        let mut alone = story(1, Kind::RequestOrAckLost);
        alone.episodes[0].waited_ns = Some(134_000_000);
        (alone.episodes[0].first_ns, alone.episodes[0].last_ns) = (900_000_000, 900_000_100);
        (alone.near, alone.rtt_ns) = (Near::Src, trip(16_000_000));
        let found = cases::one(&RULE, &cases::flows(alone.clone(), 0));
        assert_eq!(
            found.advice,
            "Find what was lost or late at these times, on both ways. A shorter timeout would cost less per loss: the \
             requests waited for 134 ms at least, and the longest round trip took 16 ms."
        );
        assert_eq!((found.first_ns, found.last_ns), (766_000_000, 900_000_100));
        assert!(found.evidence.0.contains(&("waited_least_ns", Value::Number(134_000_000))));
        let plain = "Find what was lost or late at these times, on both ways.";
        let advice = |story| cases::one(&RULE, &cases::flows(story, 0)).advice;
        assert_eq!(advice(StoryReport { rtt_ns: trip(17_000_000), ..alone.clone() }), plain);
        assert_eq!(advice(StoryReport { near: Near::Dst, ..alone.clone() }), plain);
        assert_eq!(advice(StoryReport { rtt_ns: Spread { count: 7, ..trip(16_000_000) }, ..alone.clone() }), plain);
        alone.episodes.push(episode(Kind::EarlyTimeout, Some(Cause::Timeout), 9_000, &[8]));
        alone.timeouts = 2;
        assert_eq!(advice(alone), format!("{plain} Do not shorten the timeout: it ran out too early as well (RT011)."));
    }

    #[test]
    fn the_taps_say_what_was_lost() {
        let advice = |requests, answers| {
            let told = Told { requests, answers: Some(answers), ..Told::default() };
            cases::beside(&RULE, &cases::flows(story(1, Kind::RequestOrAckLost), 0), told).remove(0).advice
        };
        assert!(
            advice(5_239, 1).contains("Between the taps 5,239 request packets and 1 answer were lost: "),
            "{}",
            advice(5_239, 1)
        );
        assert!(advice(0, 0).contains("Nothing was lost between the taps: it was late, or lost outside of them."));
    }

    #[test]
    fn early_ones_and_those_without_an_answer_are_told_elsewhere() {
        for kind in [Kind::EarlyTimeout, Kind::Unanswered] {
            assert!(cases::findings(&RULE, &cases::flows(story(4, kind), 0)).is_empty(), "{kind:?}");
            // Of those that were not kept nobody else tells.
            let more = StoryReport { more_episodes: 1, ..story(4, kind) };
            assert_eq!(cases::findings(&RULE, &cases::flows(more, 0)).len(), 1, "{kind:?}");
        }
    }
}
