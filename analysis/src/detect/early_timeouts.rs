//! The requester does not wait for as long as an answer takes.
//!
//! # What it detects
//! Timeouts before the answer could come: nothing was lost, and what was sent again had arrived. Where even the median
//! round trip is longer than the timeout, every message is sent several times.
//!
//! # Why it hurts
//! The link carries everything twice or more, and when the retry counter is used up the queue pair fails although
//! nothing is wrong with the path. Typical for paths of 10 ms and more with an exponent made for a machine room: over
//! 30 ms, repeats come every 10 ms or so.
//!
//! # How it decides
//! By answers that come in less than half the shortest round trip after a repeat, where the silence before it was at
//! most four times the longest and no NAK had named the packet; and by one answer more than there were repeats. Round
//! trips are measured from a request that asks for an acknowledgement to that. Where one packet alone was sent again
//! and its answer came no sooner than half the median round trip behind it, that may be one to the repeat, which may
//! have been needed: then nothing is said. A receiver that keeps what comes early acknowledges all of it once the
//! missing packet comes.
//!
//! # What could fool it
//! At the responder's end it looks like lost answers, and is not reported. A path whose delay varies a lot has such
//! timeouts now and then with any value.
//!
//! # What to do next
//! Compare the timeout that is set with how long the requests waited: the finding says it, and the setting where
//! connection managers told it. A timer that is shorter than its setting belongs to a NIC with adaptive retransmission,
//! which starts below the value: switch that off on long paths. Else set the queue pair's timeout (NCCL:
//! `NCCL_IB_TIMEOUT`) so that 4.096 us x 2^t is several times the longest round trip.
//!
//! # References
//! IBTA Volume 1, 9.7.6.1.3 (transport timer).

use super::kit::{Digest, counted, finding, road, time, waited};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::story::StoryReport;
use crate::story::report::{EpisodeReport, Kind};

pub(super) const RULE: Rule = Rule {
    code: "RT011",
    name: "early_timeouts",
    title: "the timeout is shorter than an answer takes",
    severity: Severity::Warning,
    needs: "packets of both directions, at the requester's end",
    source: include_str!("early_timeouts.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _, story) in case.stories() {
        let early = |e: &EpisodeReport| e.kind == Kind::EarlyTimeout && !may_be_needed(story, e);
        let Some(digest) = Digest::of(story, early) else { continue };
        let what = match story.timeout_ns {
            Some(ns) if too_short(story, ns) => {
                format!("the timeout ({}) is below the round trip ({})", time(ns), time(story.rtt_ns.p50))
            }
            _ => format!("{} too early, nothing was lost", counted(digest.count, "timeout")),
        };
        let mut evidence = Evidence::default()
            .with("early_timeouts", digest.count)
            .with("timeouts", story.timeouts)
            .with_harm("sent_again", digest.repeats)
            .with("rtt_count", story.rtt_ns.count)
            .with("rtt_p50_ns", story.rtt_ns.p50)
            .with("rtt_p99_ns", story.rtt_ns.p99)
            .with("rtt_max_ns", story.rtt_ns.max);
        if let Some(ns) = story.timeout_ns {
            evidence = evidence.with("timeout_ns", ns);
        }
        if let Some(ns) = story.tries_apart_ns {
            evidence = evidence.with("tries_apart_ns", ns);
        }
        let waits = waited(story, early);
        if let Some((least, most)) = waits {
            evidence = evidence.with("waited_least_ns", least).with("waited_most_ns", most);
        }
        let agreed = flow.cm.and_then(|terms| terms.ack_timeout_ns);
        if let Some(ns) = agreed {
            evidence = evidence.with("cm_ack_timeout_ns", ns);
        }
        let advice = advice(agreed, waits.map(|(least, _)| least), story.rtt_ns.max);
        let title = format!("{what}: {}", road(flow));
        report(Finding { evidence, advice, ..finding(&RULE, flow, Some(&digest), title) });
    }
}

/// Whether the answer may be one to the repeat. The story goes by the shortest round trip up to then, which is none
/// where a loss held up the answers to all that was measured; by the median of all of them it is judged again.
fn may_be_needed(story: &StoryReport, episode: &EpisodeReport) -> bool {
    // Of several repeats nobody knows which one it was, and the number of answers may prove it.
    let alone = episode.repeats <= 1;
    let took = episode.last_ns.saturating_sub(episode.first_ns);
    alone && story.rtt_ns.count != 0 && took >= story.rtt_ns.p50 / 2
}

/// What to do: `agreed` is what the connection manager told, `waited` how long a request waited at least until it was
/// sent again too early, `trip` the longest round trip, in ns.
fn advice(agreed: Option<u64>, waited: Option<u64>, trip: u64) -> String {
    let (after, longest) = match waited {
        Some(ns) => {
            (format!("A request was sent again {} after it was first sent", time(ns)), format!(" ({})", time(trip)))
        }
        None => ("A request was sent again too early".to_owned(), String::new()),
    };
    match (agreed, waited) {
        // A timer may run for longer than the value, never for less (IBTA 9.7.6.1.3).
        (Some(set), Some(ns)) if ns < set => format!(
            "{after}; connection managers agreed on a timeout of {}. This timer did not follow the setting, so raising \
             it need not help: look for adaptive retransmission in the NIC, and find what makes answers late.",
            time(set)
        ),
        _ => format!(
            "{after}. If a longer timeout is set, this timer does not follow the setting: look for adaptive \
             retransmission in the NIC. Else raise it (NCCL: NCCL_IB_TIMEOUT) until 4.096 us x 2^t is several times \
             the longest round trip{longest}. Find what makes answers late."
        ),
    }
}

/// Whether it is the value that is wrong, not a path that was slow for once.
fn too_short(story: &StoryReport, timeout_ns: u64) -> bool {
    story.rtt_ns.count != 0 && timeout_ns < story.rtt_ns.p50
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::engine::exchanges::CmTerms;
    use crate::story::report::{Cause, Spread};

    fn story(rtt: u64) -> StoryReport {
        StoryReport {
            timeouts: 2,
            timeout_ns: Some(8_388_608),
            rtt_ns: Spread { count: 40, p50: rtt, p99: 40_000_000, max: 41_000_000 },
            episodes: [3, 9].map(|n| episode(Kind::EarlyTimeout, Some(Cause::Timeout), n, &[n, n + 1])).to_vec(),
            ..StoryReport::default()
        }
    }

    #[test]
    fn a_value_below_the_path_is_named() {
        let found = cases::one(&RULE, &cases::flows(story(30_000_000), 0));
        assert_eq!(found.title, "the timeout (8.39 ms) is below the round trip (30 ms): 10.9.1.1 -> 10.9.2.1 qp 20");
    }

    #[test]
    fn a_timer_is_compared_with_its_setting() {
        let mut late = story(400_000);
        late.episodes[0].waited_ns = Some(104_400_000);
        let mut flows = cases::flows(late, 0);
        let found = cases::one(&RULE, &flows);
        assert_eq!(
            found.advice,
            "A request was sent again 104 ms after it was first sent. If a longer timeout is set, this timer does not \
             follow the setting: look for adaptive retransmission in the NIC. Else raise it (NCCL: NCCL_IB_TIMEOUT) \
             until 4.096 us x 2^t is several times the longest round trip (41 ms). Find what makes answers late."
        );
        let told = |ms: u64| {
            let (exchange, path_mtu, retry_count, rnr_retry) = (0, None, 7, 7);
            let (ack_timeout_exponent, ack_timeout_ns) = (16, Some(ms * 1_000_000));
            Some(CmTerms { exchange, path_mtu, ack_timeout_exponent, ack_timeout_ns, retry_count, rnr_retry })
        };
        flows[0].cm = told(268);
        let found = cases::one(&RULE, &flows);
        assert_eq!(
            found.advice,
            "A request was sent again 104 ms after it was first sent; connection managers agreed on a timeout of 268 \
             ms. This timer did not follow the setting, so raising it need not help: look for adaptive retransmission \
             in the NIC, and find what makes answers late."
        );
        assert!(found.evidence.0.contains(&("cm_ack_timeout_ns", Value::Number(268_000_000))));
        flows[0].cm = told(67);
        assert!(cases::one(&RULE, &flows).advice.contains(" Else raise it "));
    }

    /// A receiver that keeps what comes early: the packet sent again was lost, and a round trip behind it all that
    /// waited for it is acknowledged.
    #[test]
    fn an_answer_a_round_trip_behind_the_repeat_may_be_its_own() {
        let took = |ns: u64, repeats: u64| {
            let early = episode(Kind::EarlyTimeout, Some(Cause::Timeout), 8_455_868, &[256, 259]);
            let early = EpisodeReport { last_ns: 8_455_868 + ns, repeats, ..early };
            let story = StoryReport { episodes: vec![early], ..story(20_400) };
            cases::findings(&RULE, &cases::flows(story, 0)).len()
        };
        assert_eq!(took(20_328, 1), 0);
        assert_eq!(took(10_200, 1), 0);
        // It was on its way before the repeat could arrive; or there were several, and more answers than that.
        assert_eq!(took(10_199, 1), 1);
        assert_eq!(took(25_800_000, 6), 1);
    }

    #[test]
    fn else_the_path_was_slow_for_once() {
        let found = cases::one(&RULE, &cases::flows(story(400_000), 0));
        assert_eq!(found.title, "2 timeouts too early, nothing was lost: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(found.frames.len(), 4);
    }
}
