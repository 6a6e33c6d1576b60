//! READ or atomic responses were lost.
//!
//! # What it detects
//! Responses that were due and did not come, and that the requester then asked for again. Some of them may only have
//! been late: they came after all, or the path does not keep the order. Those are told apart, and alone they are no
//! warning.
//!
//! # Why it hurts
//! No NAK tells of them: the requester notices by a gap in the responses, or not before its timer runs out, and asks
//! for the rest of the READ again.
//!
//! # How it decides
//! By gaps inside the range of one READ, and by READs and atomics that were asked for again. Lost is what never came
//! before the reply to the second request; of the others, each second request is counted as one that was lost or late.
//!
//! # What could fool it
//! A capture that misses responses; then the requester does not ask again. Hosts count what they infer as
//! `implied_nak_seq_err`.
//!
//! # What to do next
//! The responses go from the responder to the requester: look at the ports on that way. Large READs make the
//! requester's own link the place of an incast.
//!
//! # References
//! IBTA Volume 1, 9.7.5 (responses), 9.7.6 (what the requester makes of them).

use super::kit::{Digest, counted, finding, road};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::story::report::Kind;

pub(super) const RULE: Rule = Rule {
    code: "RT010",
    name: "lost_responses",
    title: "READ or atomic responses were lost",
    severity: Severity::Warning,
    needs: "packets of both directions",
    source: include_str!("lost_responses.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, back, story) in case.stories() {
        let lost = story.lost_responses;
        let unsure = story.episodes.iter().filter(|e| e.kind == Kind::ResponseLostOrLate).count() as u64;
        let what = match (lost, unsure) {
            (0, 0) => continue,
            (_, 0) => format!("{} lost, asked for again", counted(lost, "response")),
            (0, _) => format!("responses lost or late, asked for again {}", counted(unsure, "time")),
            _ => format!(
                "{} lost, asked for again; lost or late {} more",
                counted(lost, "response"),
                counted(unsure, "time")
            ),
        };
        // What was only late is the matter of whoever looks at the order of packets.
        let severity = if lost == 0 { Severity::Info } else { RULE.severity };
        let digest = Digest::of(story, |e| matches!(e.kind, Kind::ResponseLost | Kind::ResponseLostOrLate));
        let title = format!("{what}: {}", road(flow));
        let evidence = Evidence::default()
            .with_harm("lost_responses", lost)
            .with("lost_or_late_episodes", unsure)
            .with("responses", back.map_or(0, |b| b.responses.packets))
            .with("read_reissues", story.retransmissions.by_cause.read_reissue)
            .with("stall_ns", story.stall_ns);
        let advice = format!("Look at the way of the responses, from {} to {}.", flow.dst, flow.src);
        report(Finding { severity, evidence, advice, ..finding(&RULE, flow, digest.as_ref(), title) });
    }
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::story::StoryReport;
    use crate::story::report::Cause;

    #[test]
    fn they_are_counted() {
        let episodes = vec![episode(Kind::ResponseLost, Some(Cause::ReadReissue), 7, &[5, 9])];
        let story = StoryReport { lost_responses: 3, episodes, ..StoryReport::default() };
        let found = cases::one(&RULE, &cases::flows(story, 0));
        assert_eq!(found.title, "3 responses lost, asked for again: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(found.advice, "Look at the way of the responses, from 10.9.2.1 to 10.9.1.1.");
        assert_eq!(found.frames.len(), 2);
        assert!(cases::findings(&RULE, &cases::flows(StoryReport::default(), 0)).is_empty());
    }

    #[test]
    fn those_that_may_only_be_late_are_told_apart() {
        let late = |n: u64| episode(Kind::ResponseLostOrLate, Some(Cause::ReadReissue), 7 + n, &[5 + n, 9 + n]);
        let told = |lost_responses, lates| {
            let episodes = (0..lates).map(late).collect();
            cases::one(&RULE, &cases::flows(StoryReport { lost_responses, episodes, ..StoryReport::default() }, 0))
        };
        let both = told(3, 2);
        assert_eq!(
            both.title,
            "3 responses lost, asked for again; lost or late 2 times more: 10.9.1.1 -> 10.9.2.1 qp 20"
        );
        assert_eq!((both.severity, both.frames.len()), (Severity::Warning, 4));
        let late = told(0, 1);
        assert_eq!(late.title, "responses lost or late, asked for again 1 time: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(late.severity, Severity::Info);
    }
}
