//! Requests arrive in another order than they were sent in.
//!
//! # What it detects
//! Request packets that came by here after their successors. It is a warning where the responder took that for loss and
//! asked for a repeat, or where the queue pair is UC and drops the message. Where no NAK follows, the responder accepts
//! disorder and the fabric sprays packets over its paths: for information.
//!
//! # Why it hurts
//! A responder that wants its packets in order drops what comes early and sends a NAK; the requester then sends again
//! what had arrived all along. Nothing was lost, yet the link carries it twice.
//!
//! # How it decides
//! The late packet came sooner than a repeat could have, or a second copy of it followed the NAK.
//!
//! # What could fool it
//! At the requester's end everything is still in order; the same trouble is then RT001's "lost or late". Where the
//! answers were not seen, nor were the NAKs.
//!
//! # What to do next
//! Find what takes packets of one flow on several paths: per-packet load balancing, adaptive routing, a bond in
//! round-robin mode, or a path that changed. Either bind the flow to one path, or switch on the NIC's acceptance of
//! disorder.
//!
//! # References
//! IBTA Volume 1, 9.7.5.2 (NAK codes), 9.8 (unreliable service).

use super::kit::{Digest, count, counted, finding, near, road};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::story::report::{Cause, EpisodeReport, Kind, Near};

pub(super) const RULE: Rule = Rule {
    code: "RT002",
    name: "reordering",
    title: "requests arrive in another order than they were sent in",
    severity: Severity::Warning,
    needs: "packets of both directions, behind the place where order is lost",
    source: include_str!("reordering.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, back, story) in case.stories().filter(|(_, _, story)| story.reordered != 0) {
        // Repeats of what was lost, where another tap proves both that and that nothing was overtaken.
        if case.told(flow).is_some_and(|told| told.in_order && told.requests >= story.reordered) {
            continue;
        }
        let late = |e: &EpisodeReport| e.kind == Kind::Reordered;
        let drew = |e: &EpisodeReport| late(e) && (e.cause == Some(Cause::Nak) || e.repeats != 0);
        let harmful = Digest::of(story, drew);
        let (severity, what, advice) = if flow.transport == "UC" {
            (
                Severity::Warning,
                "and UC drops such messages".to_owned(),
                "Keep the flow on one path: a UC responder drops the message that a packet is missing from.",
            )
        } else if let Some(harmful) = &harmful {
            (
                Severity::Warning,
                // At the responder's end, as many as came.
                format!(
                    "{} {} in vain",
                    count(harmful.repeats),
                    if story.near == Near::Src { "sent again" } else { "seen again" }
                ),
                "Look for per-packet load balancing, a bond in round-robin mode or a path that changed; bind the flow \
                 to one path, or let the NIC accept disorder.",
            )
        } else if back.is_some_and(|b| b.naks.psn_sequence_error == 0) {
            (
                Severity::Info,
                "accepted without a NAK".to_owned(),
                "The responder accepts disorder, as with packet spraying; there is nothing to repair.",
            )
        } else if back.is_some() {
            let again = match story.retransmissions.total {
                0 => "and nothing sent again for that",
                _ => "and what was sent again for that is not known",
            };
            (
                Severity::Info,
                again.to_owned(),
                "These cost nothing by themselves; look at what the other NAKs of this flow are about.",
            )
        } else {
            (
                Severity::Info,
                "the answers were not seen".to_owned(),
                "Capture the other direction too: only the answers tell whether the responder minds.",
            )
        };
        let all = harmful.or_else(|| Digest::of(story, late));
        let title = format!("{} out of order, {what}: {}", counted(story.reordered, "packet"), road(flow));
        let evidence = Evidence::default()
            .with("requests", flow.requests.packets)
            .with_harm("reordered", story.reordered)
            .with("sequence_naks", back.map_or(0, |b| u64::from(b.naks.psn_sequence_error)))
            .with_harm("sent_again", all.as_ref().map_or(0, |d| d.repeats))
            .with("near", near(story.near));
        let base = finding(&RULE, flow, all.as_ref(), title);
        report(Finding { severity, evidence, advice: advice.to_owned(), ..base });
    }
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::report::FrameRef;
    use crate::story::StoryReport;
    use crate::taps::Told;

    #[test]
    fn repeats_of_what_the_taps_prove_lost_are_not_reordered() {
        let [flow, back] = cases::flows(story(Some(Cause::Nak), 3), 1);
        let flows = [flow, back];
        let told = |requests, in_order| Told { requests, in_order, ..Told::default() };
        assert_eq!(cases::beside(&RULE, &flows, told(1, true)).len(), 0);
        assert_eq!(cases::beside(&RULE, &flows, told(1, false)).len(), 1);
        assert_eq!(cases::beside(&RULE, &flows, told(0, true)).len(), 1);
    }

    fn story(cause: Option<Cause>, repeats: u64) -> StoryReport {
        let episodes = vec![EpisodeReport { repeats, ..episode(Kind::Reordered, cause, 5_000, &[7, 8, 9]) }];
        StoryReport { reordered: 1, episodes, ..StoryReport::default() }
    }

    #[test]
    fn with_a_nak_it_costs() {
        let found = cases::one(&RULE, &cases::flows(story(Some(Cause::Nak), 4), 1));
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(found.title, "1 packet out of order, 4 seen again in vain: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(found.frames, [7, 8, 9].map(FrameRef::Place));
    }

    #[test]
    fn spray_without_a_nak_is_for_information() {
        let flows = cases::flows(story(None, 0), 0);
        let found = cases::one(&RULE, &flows);
        assert_eq!(found.severity, Severity::Info);
        assert_eq!(found.title, "1 packet out of order, accepted without a NAK: 10.9.1.1 -> 10.9.2.1 qp 20");
        let found = cases::one(&RULE, &cases::flows(story(None, 0), 3));
        assert_eq!(found.severity, Severity::Info);
        assert_eq!(found.title, "1 packet out of order, and nothing sent again for that: 10.9.1.1 -> 10.9.2.1 qp 20");
        let found = cases::one(&RULE, &flows[..1]);
        assert_eq!(found.title, "1 packet out of order, the answers were not seen: 10.9.1.1 -> 10.9.2.1 qp 20");
    }

    #[test]
    fn uc_drops_the_message() {
        let mut flows = cases::flows(story(None, 0), 0);
        flows[0].transport = "UC";
        assert_eq!(cases::one(&RULE, &flows[..1]).severity, Severity::Warning);
    }
}
