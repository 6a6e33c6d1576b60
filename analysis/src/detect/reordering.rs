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
//! The late packet came, or was acknowledged, sooner than a repeat could have been, or a second copy of it followed the
//! NAK. What a sender of selective repeat sends again is told by RT001 instead.
//!
//! # What could fool it
//! The capturing host. One that takes packets from several receive queues writes them as its processors come to them,
//! and each stamps its own: then the file, and perhaps the host's software, has another order than the wire had. Such
//! packets are counted apart: their stamp is earlier than that of the packet that came ahead of them in the file
//! (`in_order_by_stamp`). `captures` in the report counts all such frames of a file (`stamped_back`); `reordercap`
//! sorts them. With several captures (`--taps`), no packet that overtakes another between the taps means that the
//! network there kept the order. Then, and where the other tap is on the receiving host, look at that host's queues.
//!
//! At the requester's end everything is still in order. What the responder acknowledges before a repeat can have come
//! was late, and is told here, with the repeats that its NAK drew all the same; what is acknowledged after a repeat may
//! have been lost, and is RT001's "lost or late". Where the answers were not seen, nor were the NAKs.
//!
//! # What to do next
//! Where most are in order by their stamps, look at the receiving host before the network: whether its NIC hands the
//! packets of one flow to one queue. Find what takes packets of one flow on several paths: per-packet load balancing,
//! adaptive routing, a bond in round-robin mode, or a path that changed. Either bind the flow to one path, or switch on
//! the NIC's acceptance of disorder.
//!
//! # References
//! IBTA Volume 1, 9.7.5.2 (NAK codes), 9.8 (unreliable service). The Linux kernel's
//! Documentation/networking/scaling.rst (RSS: which packets share a receive queue).

use super::kit::{Digest, count, counted, finding, near, road};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::story::StoryReport;
use crate::story::report::{Cause, EpisodeReport, Kind, Near};
use crate::taps::Told;

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
        let kept = |told: &Told| told.before && told.overtaken == Some(0);
        if case.told(flow).is_some_and(|told| kept(told) && told.requests >= story.reordered) {
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
            let (again, advice) = match story.retransmissions.total {
                0 => (
                    "and nothing sent again for that",
                    "Nothing was sent again because of them; look at what the NAKs of this flow are about.",
                ),
                _ => (
                    "cost not known",
                    "What they cost is not known: some of what this flow sent again may be because of them.",
                ),
            };
            (Severity::Info, again.to_owned(), advice)
        } else {
            (
                Severity::Info,
                "the answers were not seen".to_owned(),
                "Capture the other direction too: only the answers tell whether the responder minds.",
            )
        };
        let all = harmful.or_else(|| Digest::of(story, late));
        let title = format!("{} out of order, {what}: {}", counted(story.reordered, "packet"), road(flow));
        let advice = advised(story, case.told(flow), advice);
        let evidence = Evidence::default()
            .with("requests", flow.requests.packets)
            .with_harm("reordered", story.reordered)
            .with("in_order_by_stamp", story.in_order_by_stamp)
            .with("sequence_naks", back.map_or(0, |b| u64::from(b.naks.psn_sequence_error)))
            .with_harm("sent_again", all.as_ref().map_or(0, |d| d.repeats))
            .with("near", near(story.near));
        let base = finding(&RULE, flow, all.as_ref(), title);
        report(Finding { severity, evidence, advice, ..base });
    }
}

/// The `usual` advice, but where the stamps of most packets or other taps speak against the network.
fn advised(story: &StoryReport, told: Option<&Told>, usual: &str) -> String {
    let (stamped, all) = (story.in_order_by_stamp, story.reordered);
    let stamps = format!("By their stamps {} of {} came in order", count(stamped), count(all));
    // Half of them or more.
    if stamped * 2 >= all {
        return format!(
            "{stamps}: the disorder may be the capturing host's, which takes packets from several receive queues. Look \
             there first: whether its NIC hands a flow to one queue (RSS, RPS)."
        );
    }
    let behind = told.is_some_and(|told| told.behind);
    let advice = if told.is_some_and(|told| told.overtaken == Some(0)) {
        // What is behind this tap was late behind the last.
        let then = if behind {
            "Look behind the last tap, and at the receiving host: whether its NIC hands a flow to one queue (RSS, RPS)."
        } else {
            "What looks late may be a repeat of what was lost, or came so to the first tap."
        };
        format!("No packet overtook another between the taps, so it is not the network there. {then}")
    } else if behind {
        format!(
            "{usual} A tap on the receiving host shows the disorder of that host's own queues too: see first how many \
             came in order by the stamps there."
        )
    } else {
        usual.to_owned()
    };
    if stamped == 0 { advice } else { format!("{stamps}. {advice}") }
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::report::FrameRef;
    use crate::story::report::Retransmissions;

    #[test]
    fn repeats_of_what_the_taps_prove_lost_are_not_reordered() {
        let [flow, back] = cases::flows(story(Some(Cause::Nak), 3), 1);
        let flows = [flow, back];
        let told = |requests, overtaken| Told { requests, before: true, overtaken: Some(overtaken), ..Told::default() };
        assert_eq!(cases::beside(&RULE, &flows, told(1, 0)).len(), 0);
        assert_eq!(cases::beside(&RULE, &flows, told(1, 3)).len(), 1);
        assert_eq!(cases::beside(&RULE, &flows, told(0, 0)).len(), 1);
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
        assert_eq!(
            found.advice,
            "Nothing was sent again because of them; look at what the NAKs of this flow are about."
        );
        let retransmissions = Retransmissions { total: 436, ..Retransmissions::default() };
        let found = cases::one(&RULE, &cases::flows(StoryReport { retransmissions, ..story(None, 0) }, 3));
        let title = "1 packet out of order, cost not known: 10.9.1.1 -> 10.9.2.1 qp 20";
        assert_eq!(found.title, title);
        assert!(found.advice.starts_with("What they cost is not known: "), "{}", found.advice);
        let found = cases::one(&RULE, &flows[..1]);
        assert_eq!(found.title, "1 packet out of order, the answers were not seen: 10.9.1.1 -> 10.9.2.1 qp 20");
    }

    #[test]
    fn what_is_in_order_by_its_stamps_points_at_the_host() {
        let stamped = |reordered, in_order_by_stamp| {
            let story = StoryReport { reordered, in_order_by_stamp, ..story(Some(Cause::Nak), 4) };
            cases::one(&RULE, &cases::flows(story, 1))
        };
        let (most, few) = (stamped(182, 178), stamped(182, 90));
        assert_eq!(most.title, "182 packets out of order, 4 seen again in vain: 10.9.1.1 -> 10.9.2.1 qp 20");
        let start = "By their stamps 178 of 182 came in order: the disorder may be the capturing host's";
        assert!(most.advice.starts_with(start) && !most.advice.contains("bond"), "{}", most.advice);
        let start = "By their stamps 90 of 182 came in order. Look for per-packet load balancing, a bond";
        assert!(few.advice.starts_with(start), "{}", few.advice);
    }

    #[test]
    fn taps_that_saw_none_overtaken_clear_the_network_between_them() {
        let flows = cases::flows(story(Some(Cause::Nak), 4), 1);
        let advice = |overtaken| {
            let found = cases::beside(&RULE, &flows, Told { overtaken, ..Told::default() });
            found[0].advice.clone()
        };
        assert!(advice(Some(0)).starts_with("No packet overtook another between the taps"));
        assert!(advice(Some(1)).contains("a bond"));
        assert!(advice(None).contains("a bond"));
    }

    #[test]
    fn what_is_late_behind_the_first_tap_may_be_the_receiving_hosts() {
        let flows = cases::flows(story(Some(Cause::Nak), 4), 1);
        let advice = |overtaken| {
            let found = cases::beside(&RULE, &flows, Told { overtaken, behind: true, ..Told::default() });
            found[0].advice.clone()
        };
        assert!(advice(Some(0)).contains("receiving host: whether its NIC hands a flow to one queue"));
        assert!(advice(Some(1)).ends_with("see first how many came in order by the stamps there."));
        assert!(advice(Some(1)).contains("a bond"));
    }

    #[test]
    fn uc_drops_the_message() {
        let mut flows = cases::flows(story(None, 0), 0);
        flows[0].transport = "UC";
        assert_eq!(cases::one(&RULE, &flows[..1]).severity, Severity::Warning);
    }
}
