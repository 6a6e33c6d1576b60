//! Answers were lost: the requests had arrived, and were sent again for nothing.
//!
//! # What it detects
//! Timeouts after which an answer acknowledges more than what was sent again: the requests had arrived the first time, only
//! their acknowledgement had not come back. Also timeouts of which nobody can tell whether the request or its answer was lost.
//!
//! # Why it hurts
//! Each costs a timeout, during which nothing moves. It is the way back that loses, which is often another path with another
//! priority.
//!
//! # How it decides
//! At the requester's end alone, by how much the answer to a repeat acknowledges. Elsewhere a lost answer cannot be told from
//! a lost request or an early timeout.
//!
//! # What could fool it
//! Answers that are held up for longer than the timeout; see RT011.
//!
//! # What to do next
//! Look at the path from the responder to the requester. Do the acknowledgements have the DSCP, and so the queue, of the
//! requests?
//!
//! # References
//! IBTA Volume 1, 9.7.6.1.3 (lost acknowledgements and timeouts).

use super::kit::{Digest, counted, finding, road};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::story::report::{EpisodeReport, Kind};

pub(super) const RULE: Rule = Rule {
    code: "RT009",
    name: "lost_acks",
    title: "answers were lost, or requests or their answers",
    severity: Severity::Warning,
    needs: "packets of both directions; the requester's end to be certain",
    source: include_str!("lost_acks.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _, story) in case.stories() {
        let certain = story.lost_acks;
        let either = |e: &EpisodeReport| e.kind == Kind::RequestOrAckLost;
        let doubtful = Digest::of(story, either).map_or(0, |d| d.count);
        if certain + doubtful == 0 {
            continue;
        }
        let digest = Digest::of(story, |e| e.kind == Kind::AckLost || either(e));
        let what = match (certain, doubtful) {
            (_, 0) => format!("{} lost", counted(certain, "answer")),
            (0, _) => format!("{}: the request or its answer was lost", counted(doubtful, "timeout")),
            _ => format!("{} lost, {} in doubt", counted(certain, "answer"), counted(doubtful, "timeout")),
        };
        let evidence = Evidence::default()
            .with("lost_acks", certain)
            .with("request_or_ack_lost", doubtful)
            .with("timeouts", story.timeouts)
            .with("stall_ns", story.stall_ns)
            .with("sent_again", story.retransmissions.by_cause.timeout);
        let advice = if certain != 0 {
            format!(
                "Look at the way back, from {} to {}, and at the priority that acknowledgements have.",
                flow.dst, flow.src
            )
        } else {
            "Take a second capture at the other end: it tells which of the two was lost.".to_owned()
        };
        let title = format!("{what}: {}", road(flow));
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
    fn what_is_certain_is_apart_from_what_is_not() {
        let told = |kinds: &[Kind]| {
            let episodes = kinds.iter().map(|&kind| episode(kind, Some(Cause::Timeout), 7, &[1, 2])).collect();
            let lost_acks = kinds.iter().filter(|&&kind| kind == Kind::AckLost).count() as u64;
            let story = StoryReport { lost_acks, episodes, ..StoryReport::default() };
            cases::one(&RULE, &cases::flows(story, 0)).title
        };
        let road = "10.9.1.1 -> 10.9.2.1 qp 20";
        assert_eq!(told(&[Kind::AckLost]), format!("1 answer lost: {road}"));
        assert_eq!(told(&[Kind::RequestOrAckLost]), format!("1 timeout: the request or its answer was lost: {road}"));
        let both = [Kind::AckLost, Kind::AckLost, Kind::RequestOrAckLost];
        assert_eq!(told(&both), format!("2 answers lost, 1 timeout in doubt: {road}"));
    }

    #[test]
    fn other_timeouts_are_told_elsewhere() {
        let episodes = vec![episode(Kind::EarlyTimeout, Some(Cause::Timeout), 7, &[1])];
        let story = StoryReport { timeouts: 1, episodes, ..StoryReport::default() };
        assert!(cases::findings(&RULE, &cases::flows(story, 0)).is_empty());
    }
}
