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
//! power of two of the formula that is no longer than the shortest wait. NICs with adaptive retransmission start far
//! below it. Timeouts about the same requests, one after the other, are one stall.
//!
//! The silence is that on the wire before the repeats, which shows how long nothing moved. The timer itself ran for
//! longer: from the oldest request without an answer, and what the queue pair sent behind that is no silence.
//!
//! # What could fool it
//! A capture that misses NAKs: the repeats that they asked for then look like a timer's.
//!
//! # What to do next
//! Find what was lost: RT001, RT009 and RT010 of the same flow say what they know. A timeout instead of a NAK means
//! that the last packet of a burst, or the only answer, was lost. Every sending of one request, in tshark, with the
//! queue pair and a PSN of the finding's episodes:
//!
//! ```text
//! infiniband.bth.destqp == 0x1c && infiniband.bth.psn == 1118485
//! ```
//!
//! # References
//! IBTA Volume 1, 9.7.6.1.3 (transport timer).

use super::kit::{Digest, counted, finding, road, time, timeouts};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::story::report::{Cause, EpisodeReport, Kind};

pub(super) const RULE: Rule = Rule {
    code: "RT003",
    name: "timeouts",
    title: "the requester's timer ran out and it sent again",
    severity: Severity::Warning,
    needs: "packets of both directions",
    source: include_str!("timeouts.rs"),
    judge: Judge::Connection(judge),
};

/// The unit of the transport timer (IBTA 9.7.6.1.3).
const UNIT_NS: u64 = 4_096;

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
        let silence = match story.stall_ns {
            0 => String::new(),
            // What RNR waits took is in there too.
            ns if story.rnr_waits != 0 => format!(", {} of silence with RNR waits", time(ns)),
            ns => format!(", {} of silence", time(ns)),
        };
        let stalls = digest.as_ref().map_or(0, |d| d.count);
        let what = timeouts(story, stalls, fits).unwrap_or_else(|| counted(story.timeouts, "timeout"));
        let title = format!("{what}{silence}: {}", road(flow));
        let told = case.told(flow);
        let mut evidence = Evidence::default()
            .with("timeouts", story.timeouts)
            .with("stall_ns", story.stall_ns)
            .with_harm("sent_again", story.retransmissions.by_cause.timeout);
        if let Some(ns) = story.timeout_ns {
            evidence = evidence.with("timeout_ns", ns);
            if let Some(exponent) = exponent(ns) {
                evidence = evidence.with("timeout_exponent", exponent);
            }
        }
        let longest = story.episodes.iter().filter(|e| fits(e)).max_by_key(|e| e.last_ns.saturating_sub(e.first_ns));
        let mut outage = String::new();
        if let Some(longest) = longest.filter(|e| e.repeats > 1)
            && let (Some(from), Some(to)) = (longest.frames.first(), longest.frames.last())
        {
            let ns = longest.last_ns.saturating_sub(longest.first_ns);
            evidence = evidence
                .with("longest_stall_ns", ns)
                .with("longest_stall_repeats", longest.repeats)
                .with("longest_stall_frames", format!("{from} to {to}"));
            let repeats = counted(longest.repeats, "request");
            outage = format!("The longest stall: {repeats} sent again within {}. ", time(ns));
        }
        let between = match told.map(|told| (told.requests, told.answers)) {
            Some((0, Some(0))) => {
                "Nothing was lost between the taps: it was late, or lost outside of them. A shorter".to_owned()
            }
            Some((requests, Some(answers))) => format!(
                "Between the taps {} and {} were lost: RT001 and RT009 say where. A shorter",
                counted(requests, "request"),
                counted(answers, "answer")
            ),
            _ => "Find what was lost at these times, on both ways; a shorter".to_owned(),
        };
        let value = story.timeout_ns.map_or(String::new(), |ns| format!("The timeout in use is about {}. ", time(ns)));
        let advice = format!(
            "{value}{outage}{between} timeout hurts less per loss, but must stay well above the longest round trip."
        );
        let evidence = evidence.with_taps(told);
        report(Finding { evidence, advice, ..finding(&RULE, flow, digest.as_ref(), title) });
    }
}

/// The exponent t of 4.096 us x 2^t, where the value is one of these.
fn exponent(ns: u64) -> Option<u64> {
    let t = (ns / UNIT_NS).checked_ilog2()?;
    (UNIT_NS.checked_shl(t) == Some(ns)).then_some(u64::from(t))
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::story::StoryReport;
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
        assert_eq!(found.title, "2 timeouts in 1 stall, 134 ms of silence: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.evidence.0.contains(&("timeout_exponent", Value::Number(14))));
        assert!(found.evidence.0.contains(&("longest_stall_frames", Value::Text("3 to 5".into()))));
        assert_eq!(
            found.advice,
            "The timeout in use is about 67.1 ms. The longest stall: 4 requests sent again within 100 ns. Find what \
             was lost at these times, on both ways; a shorter timeout hurts less per loss, but must stay well above \
             the longest round trip."
        );
        let waits = StoryReport { rnr_waits: 1, ..story(1, Kind::RequestOrAckLost) };
        let found = cases::one(&RULE, &cases::flows(waits, 0));
        assert_eq!(found.title, "1 timeout, 134 ms of silence with RNR waits: 10.9.1.1 -> 10.9.2.1 qp 20");
    }

    #[test]
    fn the_taps_say_what_was_lost() {
        let advice = |requests, answers| {
            let told = Told { requests, answers: Some(answers), ..Told::default() };
            cases::beside(&RULE, &cases::flows(story(1, Kind::RequestOrAckLost), 0), told).remove(0).advice
        };
        assert!(
            advice(5_239, 1).contains("Between the taps 5,239 requests and 1 answer were lost: "),
            "{}",
            advice(5_239, 1)
        );
        assert!(advice(0, 0).contains("Nothing was lost between the taps: it was late, or lost outside of them. "));
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

    #[test]
    fn exponents() {
        assert_eq!(exponent(4_096), Some(0));
        assert_eq!(exponent(4_294_967_296), Some(20));
        assert_eq!(exponent(5_000), None);
        assert_eq!(exponent(0), None);
    }
}
