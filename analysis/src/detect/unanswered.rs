//! Nothing answers a queue pair any more.
//!
//! # What it detects
//! Requests to which no answer came until the capture ended. Where they were sent again and again, and the capture goes
//! on for longer than the requester would have waited, it has given up: completion error 12, retry counter exceeded.
//! Fewer tries are a warning: that queue pair stands still now. One sending alone is for information.
//!
//! # Why it hurts
//! The queue pair is dead and its work is flushed; a collective library ends the job. Until then it stalled for
//! every single retry.
//!
//! # How it decides
//! By the sendings of the last request: the first one and its retries. They are over for certain when the capture goes
//! on for more than four times the timeout (a requester may take that long for one retry) and for longer than all of
//! them together. Otherwise the title says that the capture may end too soon. It is critical from three retries on. A
//! request that was sent once is told where it asked for an acknowledgement a second or more before the capture's end.
//!
//! # What could fool it
//! A tap that does not see the answers: then the requests before these have none either, and fewer than three retries
//! are not reported. A capture that missed the last answer, for a request that was sent once. A program that ended by
//! itself.
//!
//! # What to do next
//! Check whether the peer is alive and still has that queue pair: the address and the QP number are in the title. If it
//! has, the path loses everything: look at routes, links and ACLs. Where the sendings passed a tap at the responder's
//! end, or with several captures (`--taps`) all taps, it says so: then the path up to there is fine. The last
//! acknowledged PSN, below the title, tells how far the transfer came; where it is missing, no acknowledgement was seen
//! at all.
//!
//! # References
//! IBTA Volume 1, 9.7.6.1.3 (transport timer), 9.9.2 (errors of requesters), 11.6.2 (completion status).

use super::kit::{Digest, finding, road, time};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::report::FlowReport;
use crate::story::StoryReport;
use crate::story::report::{Kind, Near};
use crate::taps::Told;

pub(super) const RULE: Rule = Rule {
    code: "RT004",
    name: "unanswered",
    title: "nothing answers a queue pair any more (completion error 12)",
    severity: Severity::Critical,
    needs: "packets of both directions; a capture that goes on after the last try, to be certain",
    source: include_str!("unanswered.rs"),
    judge: Judge::Connection(judge),
};

/// A requester may wait for up to four times its timeout (IBTA 9.7.6.1.3).
const LONGEST_WAIT: u64 = 4;
/// Fewer retries do not yet make a dead queue pair (chosen: one loss makes one, a bad path two).
const RETRIES: u32 = 3;
/// No answer takes so long on any path (chosen: the exponents of large training jobs make timers longer than that, and
/// a queue pair that waits for one stands still).
const STANDS_STILL: u64 = 1_000_000_000;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, back, story) in case.stories() {
        let tries = story.unanswered_tries;
        if tries == 0 {
            stands_still(case, flow, story, report);
            continue;
        }
        let digest = Digest::of(story, |e| e.kind == Kind::Unanswered);
        let (first, last) = digest.as_ref().map_or((flow.first_ns, flow.last_ns), |d| (d.first_ns, d.last_ns));
        let silence = case.end_ns.saturating_sub(last);
        let wait = story.timeout_ns.unwrap_or(0).saturating_mul(LONGEST_WAIT).max(last.saturating_sub(first));
        // One retry tells nothing of how many there would have been.
        let certain = silence > wait && tries > 1;
        let few = !certain && tries < RETRIES;
        if few && back.is_none() {
            continue;
        }
        let end = match (certain, few) {
            (true, _) => "the requester gave up",
            (_, true) => "and the capture ends",
            _ => "or the capture ends too soon",
        };
        let sendings = u64::from(tries) + 1;
        let retries = if tries == 1 { "1 retry".to_owned() } else { format!("{tries} retries") };
        let title = format!("no answer to {sendings} sendings ({retries}), {end}: {}", road(flow));
        let mut evidence = Evidence::default()
            .with("tries", u64::from(tries))
            .with("peer", flow.dst.clone())
            .with("peer_qp", u64::from(flow.dst_qp))
            .with("silence_ns", silence)
            .with("certain", if certain { "yes" } else { "no" }.to_owned());
        if let Some(psn) = story.last_acked_psn {
            evidence = evidence.with("last_acked_psn", u64::from(psn));
        }
        if let Some(ns) = story.timeout_ns {
            evidence = evidence.with("timeout_ns", ns);
        }
        let mut advice = alive(flow, story, case.told(flow));
        advice += match (certain, few) {
            (true, _) => " The requester reports completion error 12.",
            (_, true) => "",
            _ => " If it gave up here, it reports completion error 12.",
        };
        if back.is_none() {
            advice += " No answer at all was seen here: make sure that this tap sees that direction.";
        } else if !certain {
            advice += &match silence {
                0 => " The capture ends with the last sending.".to_owned(),
                ns => format!(" The capture ends {} after the last sending.", time(ns)),
            };
        }
        // Without a view of the answers it is the requester's behaviour alone that speaks.
        let severity = if back.is_some() && !few { Severity::Critical } else { Severity::Warning };
        report(Finding { severity, evidence, advice, ..finding(&RULE, flow, digest.as_ref(), title) });
    }
}

/// A request that was sent once and waits for its answer for longer than any takes.
fn stands_still(case: &Case<'_>, flow: &FlowReport, story: &StoryReport, report: &mut dyn FnMut(Finding)) {
    let Some(since) = story.unanswered_since_ns else { return };
    let waited = case.end_ns.saturating_sub(since);
    // What was refused has its answer, and what waits for a receiver its own finding.
    let refused = story.rnr_unresolved || story.episodes.iter().any(|e| e.kind == Kind::FatalNak);
    if waited < STANDS_STILL || refused {
        return;
    }
    let title = format!("no answer for {} to the last request, and the capture ends: {}", time(waited), road(flow));
    let evidence = Evidence::default().with("waited_ns", waited).with("tries", 0);
    let advice = alive(flow, story, case.told(flow)) + " If nothing stands still there, the capture missed the answer.";
    let found = finding(&RULE, flow, None, title).during(since, case.end_ns);
    report(Finding { severity: Severity::Info, evidence, advice, ..found });
}

/// Where to look for what does not answer: not at the path, as far as the sendings are known to have come.
fn alive(flow: &FlowReport, story: &StoryReport, told: Option<&Told>) -> String {
    let (dst, qp) = (&flow.dst, flow.dst_qp);
    if story.near == Near::Dst {
        return format!(
            "What was sent passed here, at the responder's end: the path up to here is fine. Its queue pair or its \
             host does not answer: check that {dst} is alive and that its queue pair {qp} still exists."
        );
    }
    if told.is_some_and(|told| told.behind && told.requests == 0 && told.answers == Some(0)) {
        return format!(
            "Nothing was lost up to the last tap. If that stands at {dst}, the path is fine, and its queue pair {qp} \
             or the host does not answer: check that it still exists."
        );
    }
    format!("Check that {dst} is reachable and that its queue pair {qp} still exists.")
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::super::kit::cases::{self, LAST, episode};
    use super::*;
    use crate::story::StoryReport;
    use crate::story::report::{Cause, EpisodeReport};

    fn story(tries: u32) -> StoryReport {
        let last = EpisodeReport {
            first_ns: LAST - 270_000_000,
            last_ns: LAST,
            ..episode(Kind::Unanswered, Some(Cause::Timeout), 0, &[6, 10, 14, 18, 22])
        };
        StoryReport {
            unanswered_tries: tries,
            timeouts: u64::from(tries) - 1,
            timeout_ns: Some(67_108_864),
            last_acked_psn: Some(1_118_484),
            episodes: vec![last],
            ..StoryReport::default()
        }
    }

    #[test]
    fn certain_where_the_capture_goes_on() {
        let found = cases::one(&RULE, &cases::flows(story(5), 0));
        assert_eq!(
            found.title,
            "no answer to 6 sendings (5 retries), the requester gave up: 10.9.1.1 -> 10.9.2.1 qp 20"
        );
        assert_eq!(found.severity, Severity::Critical);
        for (name, value) in [("last_acked_psn", 1_118_484), ("peer_qp", 20), ("tries", 5)] {
            assert!(found.evidence.0.contains(&(name, Value::Number(value))), "{name}");
        }
        assert_eq!(found.frames.len(), 5);
        // Two retries are enough then.
        assert_eq!(cases::findings(&RULE, &cases::flows(story(2), 0)).len(), 1);
    }

    #[test]
    fn sendings_that_came_to_the_other_end_clear_the_path() {
        let [flow, back] = cases::flows(story(5), 0);
        assert!(
            cases::one(&RULE, &[flow.clone(), back.clone()]).advice.starts_with("Check that 10.9.2.1 is reachable")
        );
        let near = StoryReport { near: Near::Dst, ..story(5) };
        let found = cases::one(&RULE, &cases::flows(near, 0));
        let here = "What was sent passed here, at the responder's end: the path up to here is fine. Its queue pair or";
        assert!(found.advice.starts_with(here), "{}", found.advice);
        let told = |told| cases::beside(&RULE, &[flow.clone(), back.clone()], told)[0].advice.clone();
        let all = Told { behind: true, answers: Some(0), ..Told::default() };
        assert!(
            told(all.clone()).starts_with("Nothing was lost up to the last tap. If that stands at 10.9.2.1, the path")
        );
        // Some did not arrive, or their answers, or no tap stands behind this one.
        for told in [
            told(Told { requests: 1, ..all.clone() }),
            told(Told { answers: Some(1), ..all.clone() }),
            told(Told { answers: None, ..all.clone() }),
            told(Told { behind: false, ..all }),
        ] {
            assert!(told.starts_with("Check that 10.9.2.1 is reachable"), "{told}");
        }
    }

    #[test]
    fn else_it_says_so() {
        // Four timeouts are 268 ms, the tries took 270 ms.
        let found = cases::findings_until(&RULE, &cases::flows(story(5), 0), LAST + 270_000_000);
        let title = "no answer to 6 sendings (5 retries), or the capture ends too soon: 10.9.1.1 -> 10.9.2.1 qp 20";
        assert_eq!(found[0].title, title);
        assert!(found[0].advice.ends_with(" The capture ends 270 ms after the last sending."));
        assert_eq!(found[0].severity, Severity::Critical);
    }

    #[test]
    fn few_tries_are_a_queue_pair_that_stands_still() {
        let found = cases::findings_until(&RULE, &cases::flows(story(1), 0), LAST + 20_000_000_000);
        assert_eq!(
            found[0].title,
            "no answer to 2 sendings (1 retry), and the capture ends: 10.9.1.1 -> 10.9.2.1 qp 20"
        );
        assert_eq!(found[0].severity, Severity::Warning);
        assert!(!found[0].advice.contains("error 12"), "{}", found[0].advice);
        // Where no answer is seen, nobody can tell.
        assert!(cases::findings_until(&RULE, &cases::flows(story(2), 0)[..1], LAST).is_empty());
    }

    #[test]
    fn one_sending_that_waits_for_long_is_told() {
        let waits = StoryReport { unanswered_since_ns: Some(LAST), ..StoryReport::default() };
        let until = |ns| cases::findings_until(&RULE, &cases::flows(waits.clone(), 0), LAST + ns);
        assert!(until(999_999_999).is_empty());
        let found = until(20_000_000_000);
        assert_eq!(
            found[0].title,
            "no answer for 20 s to the last request, and the capture ends: 10.9.1.1 -> 10.9.2.1 qp 20"
        );
        assert_eq!((found[0].severity, found[0].first_ns), (Severity::Info, LAST));
        let refused = StoryReport { rnr_unresolved: true, ..waits.clone() };
        assert!(cases::findings_until(&RULE, &cases::flows(refused, 0), LAST + 20_000_000_000).is_empty());
    }

    #[test]
    fn a_capture_that_ends_with_the_last_try() {
        let found = cases::findings_until(&RULE, &cases::flows(story(5), 0), LAST);
        assert!(found[0].advice.ends_with(" The capture ends with the last sending."), "{}", found[0].advice);
    }

    #[test]
    fn answers_that_were_never_seen_are_a_doubt() {
        let found = cases::one(&RULE, &cases::flows(story(5), 0)[..1]);
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.advice.ends_with("make sure that this tap sees that direction."));
    }
}
