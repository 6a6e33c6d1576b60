//! The capture lacks packets that the network delivered.
//!
//! # What it detects
//! Requests that never came by here, though the responder acknowledged them and nobody sent them again.
//!
//! # Why it hurts
//! It does not hurt the traffic. It hurts the analysis: counts are too low, and what the missing packets would have
//! explained stays unexplained.
//!
//! # How it decides
//! A gap without NAK and without repeat that an acknowledgement covers. Among a flow's first packets only where the MSN
//! or four answers show that the gap did not pass before the capture began.
//!
//! # What could fool it
//! A flow that takes two paths of which this tap sees one.
//!
//! # What to do next
//! Capture with a larger buffer (`tcpdump -B`), fewer bytes a packet (`-s 128`: the headers are enough) or a filter.
//! Compare the drop counter of the capture program: a pcapng often has it (interface statistics), and then the report
//! says under the name of the capture how many frames that missed (`captures[].drops`). That of an RDMA device always
//! says 0.
//!
//! # References
//! IBTA Volume 1, 9.7.5.1.2 (what an acknowledgement covers).

use super::kit::{Digest, counted, finding, road};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::story::report::Kind;

pub(super) const RULE: Rule = Rule {
    code: "RT013",
    name: "missed_by_capture",
    title: "the capture lacks packets that the network delivered",
    severity: Severity::Info,
    needs: "packets of both directions",
    source: include_str!("missed_by_capture.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _, story) in case.stories().filter(|(_, _, story)| story.missed_by_capture != 0) {
        let digest = Digest::of(story, |e| e.kind == Kind::MissedByCapture);
        let title = format!("the capture lacks {}: {}", counted(story.missed_by_capture, "packet"), road(flow));
        let evidence = Evidence::default()
            .with("requests", flow.requests.packets)
            .with("missed_by_capture", story.missed_by_capture);
        let advice = "The network is not to blame. Capture with a larger buffer, fewer bytes a packet or a filter.";
        report(Finding { evidence, advice: advice.to_owned(), ..finding(&RULE, flow, digest.as_ref(), title) });
    }
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::story::StoryReport;

    #[test]
    fn it_is_for_information() {
        let episodes = vec![episode(Kind::MissedByCapture, None, 7, &[5, 6])];
        let story = StoryReport { missed_by_capture: 12, episodes, ..StoryReport::default() };
        let found = cases::one(&RULE, &cases::flows(story, 0));
        assert_eq!(found.title, "the capture lacks 12 packets: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(found.severity, Severity::Info);
        assert!(cases::findings(&RULE, &cases::flows(StoryReport::default(), 0)).is_empty());
    }
}
