//! Requests were lost on their way.
//!
//! # What it detects
//! Request packets that were sent and did not arrive. *Lost*: they came by here only when they were sent again, so the
//! first sending vanished between the requester and this tap. *Lost or late*: one tap cannot tell whether a packet vanished
//! or came after its successors; both make the responder ask again. On a UC queue pair, which has no answers, a packet that
//! never came by may also have been missed by the capture.
//!
//! # Why it hurts
//! Most NICs go back to the lost packet and send everything behind it again: one lost frame costs as many frames as were on
//! their way (the evidence has the ratio, as amplification). A last packet that is lost costs a timeout. UC has no recovery:
//! the message is gone.
//!
//! # How it decides
//! By the story of the flow: gaps and what filled them, NAKs about PSNs that had passed here, repeats. A packet is called
//! lost if it came less often than the packet behind it, which is sent again together with it; so one that a NIC sends again
//! alone is always "lost or late". Without any NAK or repeat it says so and is only for information. It is critical where
//! recovery sent more than 1% of the requests again, and at least 10 of them: operators of large training fabrics take a
//! node out of service for a loss of throughput of 1%.
//!
//! # What could fool it
//! Packets in another order than they were sent in: from the requester's side they look like lost ones, hence "lost or late".
//! A path that holds a packet back while 256 others pass.
//! A capture that misses frames at its very end, where no acknowledgement shows that they arrived.
//!
//! # What to do next
//! Take a second capture nearer to the other end. Compare the counters of discards and errors of the ports on the path; look
//! at RT016 and RT017 for what the pattern of the loss suggests. The NAKs that asked for lost packets, in tshark:
//!
//! ```text
//! infiniband.aeth.syndrome.opcode == 3 && infiniband.aeth.syndrome.error_code == 0
//! ```
//!
//! # References
//! IBTA Volume 1, 9.7.5.2 (NAK codes), 9.8 (unreliable service). Lumina (SIGCOMM 2023) measures go-back-N in hardware.

use super::kit::{Digest, count, counted, finding, near, road};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::report::FlowReport;
use crate::story::StoryReport;
use crate::story::report::{Kind, Near};

pub(super) const RULE: Rule = Rule {
    code: "RT001",
    name: "loss",
    title: "requests were lost on their way",
    severity: Severity::Critical,
    needs: "packets of the requester's direction; both directions to tell loss from a bad capture",
    source: include_str!("loss.rs"),
    judge: Judge::Connection(judge),
};

/// Repeats per hundred requests: practice J4 drains a node for a drop of throughput of 1%.
const CRITICAL_PERCENT: u64 = 1;
/// Fewer repeats than this are one or two lost frames, which a short capture makes a large share.
const CRITICAL_REPEATS: u64 = 10;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, back, story) in case.stories() {
        let lost = story.lost_before_tap + story.lost_after_tap;
        let unsure = story.lost_or_late;
        if lost + unsure == 0 {
            continue;
        }
        let digest = Digest::of(story, |e| matches!(e.kind, Kind::LostBeforeTap | Kind::LostOrLate));
        let naks = back.map_or(0, |b| u64::from(b.naks.psn_sequence_error));
        let again = sent_again(story, digest.as_ref());
        let recovers = flow.transport != "UC";
        let severity = if again >= CRITICAL_REPEATS && again * 100 > flow.requests.packets * CRITICAL_PERCENT {
            Severity::Critical
        } else if naks == 0 && again == 0 && lost == 0 {
            // Nothing but the capture itself shows it, and that may have missed them.
            Severity::Info
        } else {
            Severity::Warning
        };
        let mut evidence = Evidence::default()
            .with("requests", flow.requests.packets)
            .with("lost_before_tap", story.lost_before_tap)
            .with("lost_after_tap", story.lost_after_tap)
            .with("lost_or_late", unsure)
            .with("sequence_naks", naks)
            .with("sent_again", again)
            .with("near", near(story.near));
        // Of the episodes at hand, so that it can be added up by hand.
        if let Some(d) = digest.as_ref().filter(|d| d.packets != 0 && d.repeats != 0) {
            let tenths = d.repeats * 10 / d.packets;
            evidence = evidence.with("amplification", format!("{}.{}", tenths / 10, tenths % 10));
        }
        let title = title(flow, lost, unsure, again, severity);
        let base = finding(&RULE, case, flow, digest.as_ref(), title);
        report(Finding { severity, evidence, advice: advice(story, recovers, severity), ..base });
    }
}

/// Requests sent again because of loss: by the episodes, or where not all of them were kept by the causes, which may
/// hold some of reordering too.
fn sent_again(story: &StoryReport, digest: Option<&Digest>) -> u64 {
    let by_cause = story.retransmissions.by_cause;
    match digest {
        Some(digest) if story.more_episodes == 0 => digest.repeats,
        _ => by_cause.nak + by_cause.timeout,
    }
}

fn title(flow: &FlowReport, lost: u64, unsure: u64, again: u64, severity: Severity) -> String {
    let road = road(flow);
    if flow.transport == "UC" {
        return format!("{} of UC lost for good, or missed by the capture: {road}", counted(lost + unsure, "packet"));
    }
    if severity == Severity::Info {
        let what = if flow.requests.filled == 0 { "never came by" } else { "came late or never" };
        return format!("{} {what}, without any NAK or repeat because of it: {road}", counted(unsure, "packet"));
    }
    let what = match (lost, unsure) {
        (_, 0) => format!("{} lost", counted(lost, "packet")),
        (0, _) => format!("{} lost or late", counted(unsure, "packet")),
        _ => format!("{} lost, {} lost or late", counted(lost, "packet"), count(unsure)),
    };
    let again = if again == 0 { String::new() } else { format!(", {} sent again", count(again)) };
    format!("{what}{again}: {road}")
}

fn advice(story: &StoryReport, recovers: bool, severity: Severity) -> String {
    if severity == Severity::Info {
        return "The capture may have missed them: compare the drop counter of the capture program.".to_owned();
    }
    let place = match story.near {
        Near::Src => "This tap is at the requester's end, so look behind it, towards the responder",
        Near::Dst => "This tap is at the responder's end, so look before it, towards the requester",
        Near::Between => "This tap is on the way: what is lost for certain was lost before it, the rest behind it",
        Near::Unknown => "A second capture, at the other end, shows on which side it happened",
    };
    let then = match (recovers, story.lost_or_late) {
        (false, _) => ", and the drop counter of the capture program",
        (true, 0) => "",
        (true, _) => "; only a second tap tells lost from late",
    };
    format!("{place}: compare discards and errors of the ports there{then}.")
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::report::FrameRef;
    use crate::story::report::{ByCause, Cause, Retransmissions};

    fn story(lost: u64, unsure: u64, episodes: u64) -> StoryReport {
        let kind = if lost == 0 { Kind::LostOrLate } else { Kind::LostBeforeTap };
        StoryReport {
            near: Near::Src,
            lost_before_tap: lost,
            lost_or_late: unsure,
            episodes: (0..episodes)
                .map(|n| episode(kind, Some(Cause::Nak), n * 1_000, &[10 * n + 1, 10 * n + 2]))
                .collect(),
            ..StoryReport::default()
        }
    }

    #[test]
    fn lost_packets_are_a_warning() {
        let found = cases::one(&RULE, &cases::flows(story(2, 0, 2), 2));
        assert_eq!(found.title, "2 packets lost, 8 sent again: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!((found.severity, found.flow, found.first_ns, found.last_ns), (Severity::Warning, Some(0), 0, 1_100));
        assert_eq!(found.frames, [1, 2, 11, 12].map(FrameRef::Place));
        let value = |name| found.evidence.0.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone());
        assert_eq!(value("amplification"), Some(Value::Text("4.0".into())));
        assert_eq!(value("sequence_naks"), Some(Value::Number(2)));
    }

    #[test]
    fn more_than_one_request_in_a_hundred_sent_again_is_critical() {
        let found = cases::one(&RULE, &cases::flows(story(0, 3, 3), 3));
        assert_eq!(found.title, "3 packets lost or late, 12 sent again: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(found.severity, Severity::Critical);
    }

    #[test]
    fn the_causes_stand_in_for_episodes_that_were_not_kept() {
        let by_cause = ByCause { nak: 9, timeout: 2, ..ByCause::default() };
        let story = StoryReport {
            retransmissions: Retransmissions { total: 11, by_cause },
            more_episodes: 1,
            ..story(1, 0, 1)
        };
        let found = cases::one(&RULE, &cases::flows(story, 2));
        assert_eq!(found.title, "1 packet lost, 11 sent again: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(found.severity, Severity::Critical);
    }

    #[test]
    fn nobody_asked_is_no_loss() {
        let mut quiet = story(0, 1, 1);
        quiet.episodes[0].repeats = 0;
        let found = cases::one(&RULE, &cases::flows(quiet.clone(), 0));
        assert_eq!(found.severity, Severity::Info);
        assert_eq!(
            found.title,
            "1 packet never came by, without any NAK or repeat because of it: 10.9.1.1 -> 10.9.2.1 qp 20"
        );
        let mut flows = cases::flows(quiet, 0);
        flows[0].transport = "UC";
        let found = cases::one(&RULE, &flows[..1]);
        assert_eq!(found.severity, Severity::Info);
        assert_eq!(found.title, "1 packet of UC lost for good, or missed by the capture: 10.9.1.1 -> 10.9.2.1 qp 20");
    }

    #[test]
    fn nothing_lost_is_nothing_said() {
        assert!(cases::findings(&RULE, &cases::flows(StoryReport::default(), 0)).is_empty());
    }
}
