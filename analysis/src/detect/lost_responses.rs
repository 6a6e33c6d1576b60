//! READ or atomic responses were lost.
//!
//! # What it detects
//! Responses that were due and did not come, and that the requester then asked for again.
//!
//! # Why it hurts
//! No NAK tells of them: the requester notices by a gap in the responses, or not before its timer runs out, and asks for the
//! rest of the READ again.
//!
//! # How it decides
//! By gaps inside the range of one READ, and by READs and atomics that were asked for again.
//!
//! # What could fool it
//! A capture that misses responses; then the requester does not ask again. Hosts count what they infer as
//! `implied_nak_seq_err`.
//!
//! # What to do next
//! The responses go from the responder to the requester: look at the ports on that way. Large READs make the requester's own
//! link the place of an incast.
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
    for (flow, back, story) in case.stories().filter(|(_, _, story)| story.lost_responses != 0) {
        let digest = Digest::of(story, |e| e.kind == Kind::ResponseLost);
        let title = format!("{} lost, asked for again: {}", counted(story.lost_responses, "response"), road(flow));
        let evidence = Evidence::default()
            .with("lost_responses", story.lost_responses)
            .with("responses", back.map_or(0, |b| b.responses.packets))
            .with("read_reissues", story.retransmissions.by_cause.read_reissue)
            .with("stall_ns", story.stall_ns);
        let advice = format!("Look at the way of the responses, from {} to {}.", flow.dst, flow.src);
        report(Finding { evidence, advice, ..finding(&RULE, case, flow, digest.as_ref(), title) });
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
}
