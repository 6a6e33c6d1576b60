//! Requests were lost on their way.
//!
//! # What it detects
//! Request packets that were sent and did not arrive. *Lost*: they came by here only when they were sent again, so the
//! first sending vanished between the requester and this tap. *Lost or late*: one tap cannot tell whether a packet
//! vanished or came after its successors; both make the responder ask again. On a UC queue pair, which has no answers,
//! a packet that never came by may also have been missed by the capture. A timeout about a request that a NAK had named
//! is counted here, and no lost answer (RT009).
//!
//! # Why it hurts
//! Most NICs go back to the lost packet and send everything behind it again: one lost frame costs as many frames as
//! were on their way (`--json` has the ratio, as amplification). A last packet that is lost costs a timeout. UC has
//! no recovery: the message is gone.
//!
//! # How it decides
//! By the story of the flow: gaps and what filled them, NAKs about PSNs that had passed here, repeats. A packet is
//! called lost if it came less often than the packet behind it, which is sent again together with it; so one that a NIC
//! sends again alone is always "lost or late". Without any NAK or repeat it says so and is only for information. It is
//! critical where something is certain to be lost and more than 1% of the requests were sent again, and at least 10 of
//! them: operators of large training fabrics take a node out of service for a loss of throughput of 1%. What may only
//! be late is a warning.
//!
//! Of one capture the title says "at least": a packet counts once, however often its repeats were lost too, and of
//! several that are lost in a row behind the tap one draws the NAK. "Recovering" is the time from what showed the
//! losses to what mended them, where several overlap once; "goodput" is what was sent, less the repeats, over the
//! flow's whole life.
//!
//! With several captures (`--taps`) it is what was lost between them that counts, packet by packet, wherever they cover
//! the flow: what one of them alone calls lost or late was late where the other saw it. What may have been lost before
//! the first tap or behind the last is told beside it.
//!
//! # What could fool it
//! Packets in another order than they were sent in: from the requester's side they look like lost ones, hence "lost or
//! late". A path that holds a packet back while 256 others pass. A capture that misses frames at its very end, where no
//! acknowledgement shows that they arrived.
//!
//! # What to do next
//! Take a second capture nearer to the other end and name both to `analyze --taps`. Compare the counters of discards
//! and errors of the ports on the path; look at RT016 and RT017 for what the pattern of the loss suggests. The NAKs
//! that asked for lost packets, in tshark:
//!
//! ```text
//! infiniband.aeth.syndrome.opcode == 3 && infiniband.aeth.syndrome.error_code == 0
//! ```
//!
//! # References
//! IBTA Volume 1, 9.7.5.2 (NAK codes), 9.8 (unreliable service). Lumina (SIGCOMM 2023) measures go-back-N in hardware.

use super::kit::{Digest, FRAMES, count, counted, finding, near, road, whereabouts};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::report::{FlowReport, FrameRef};
use crate::story::StoryReport;
use crate::story::report::{EpisodeReport, Kind, Near};
use crate::taps::Told;

pub(super) const RULE: Rule = Rule {
    code: "RT001",
    name: "loss",
    title: "requests were lost on their way",
    severity: Severity::Critical,
    needs: "packets of the requester's direction; both directions to tell loss from a bad capture",
    source: include_str!("loss.rs"),
    judge: Judge::Connection(judge),
};

/// Repeats per hundred requests: operators of large training fabrics take a node out of service for a loss of
/// throughput of 1% (see the page).
const CRITICAL_PERCENT: u64 = 1;
/// Fewer repeats than this are one or two lost frames, which a short capture makes a large share (chosen).
const CRITICAL_REPEATS: u64 = 10;

/// What was lost, and what may have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lost {
    /// Between several taps.
    between: u64,
    /// Before this tap, or before all of them.
    certain: u64,
    /// Lost or late, as far as no other tap tells.
    unsure: u64,
}

impl Lost {
    fn of(story: &StoryReport, told: Option<&Told>) -> Self {
        let (certain, unsure) = (story.lost_before_tap + story.lost_after_tap, story.lost_or_late);
        let Some(told) = told else { return Self { between: 0, certain, unsure } };
        // The other tap saw what is missing on its side of this one, or saw it getting lost.
        let settled = if story.near == Near::Dst { told.before } else { told.behind };
        Self {
            // Each loss is told where it was seen: at the tap before it, and where repeats or gaps show it. Of some it
            // is known how many they were, and not which.
            between: if told.here == 0 && certain + unsure == 0 { 0 } else { told.requests },
            certain: if told.before { 0 } else { certain },
            unsure: if settled { 0 } else { unsure },
        }
    }

    fn is_certain(self) -> bool {
        self.between + self.certain != 0
    }
}

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, back, story) in case.stories() {
        let told = case.told(flow);
        let lost = Lost::of(story, told);
        if lost.between + lost.certain + lost.unsure == 0 {
            continue;
        }
        let all_arrived = told.is_some_and(|told| told.answers == Some(0));
        let fits = |e: &EpisodeReport| match e.kind {
            Kind::LostBeforeTap | Kind::LostOrLate => true,
            // No answer was lost, so it was the request.
            Kind::RequestOrAckLost => lost.between != 0 && all_arrived,
            // Elsewhere the hole that it mends has these repeats.
            Kind::RequestLost => story.near == Near::Src || lost.between != 0 && all_arrived,
            _ => false,
        };
        let digest = Digest::of(story, fits);
        let naks = back.map_or(0, |b| u64::from(b.naks.psn_sequence_error));
        let again = sent_again(story, digest.as_ref(), told);
        let recovers = !["UC", "UD"].contains(&flow.transport);
        let severity = if !lost.is_certain() && naks + again == 0 {
            // Nothing but the capture itself shows it, and that may have missed them.
            Severity::Info
        } else if lost.is_certain()
            && again >= CRITICAL_REPEATS
            && again * 100 > flow.requests.packets * CRITICAL_PERCENT
        {
            Severity::Critical
        } else {
            Severity::Warning
        };
        let mut evidence = Evidence::default()
            .with("requests", flow.requests.packets)
            .with_harm("lost_before_tap", story.lost_before_tap)
            .with_harm("lost_after_tap", story.lost_after_tap)
            .with_harm("lost_or_late", story.lost_or_late)
            .with("sequence_naks", naks)
            .with_harm("sent_again", again)
            .with("near", near(story.near));
        evidence = evidence.with("stall_ns", story.stall_ns);
        // A part of them would tell too little.
        if let Some(ns) = digest.as_ref().filter(|_| story.more_episodes == 0).map(|d| d.lasted_ns) {
            evidence = evidence.with("recovery_ns", ns);
        }
        if let Some((mbps, bps)) = story.goodput_mbps.zip(story.goodput_bps) {
            evidence = evidence.with("goodput_mbps", mbps).with("goodput_bps", bps);
        }
        // Of the episodes at hand, so that it can be added up by hand.
        if let Some(d) = digest.as_ref().filter(|d| told.is_none() && d.packets != 0 && d.repeats != 0) {
            let tenths = d.repeats * 10 / d.packets;
            evidence = evidence.with("amplification", format!("{}.{}", tenths / 10, tenths % 10));
        }
        let title = title(flow, story.near, lost, again, severity);
        let advice = match told {
            Some(told) => advice_of_taps(story, told, lost),
            None => advice(story, recovers, severity),
        };
        let found = seen_at(told, lost, finding(&RULE, flow, digest.as_ref(), title));
        report(Finding { severity, evidence: evidence.with_taps(told), advice, ..found });
    }
}

/// Requests sent again because of loss: by the episodes, or where not all of them were kept by the causes, which may
/// hold some of reordering too.
fn sent_again(story: &StoryReport, digest: Option<&Digest>, told: Option<&Told>) -> u64 {
    let by_cause = story.retransmissions.by_cause;
    match digest {
        Some(digest) if story.more_episodes == 0 => digest.repeats,
        // Timeouts of which the taps do not tell the reason.
        None if told.is_some() => 0,
        _ => by_cause.nak + by_cause.timeout,
    }
}

/// Where the taps saw it: the frames that did not arrive, and when they were sent.
fn seen_at(told: Option<&Told>, lost: Lost, found: Finding) -> Finding {
    let Some((told, [first_ns, last_ns])) = told.filter(|_| lost.between != 0).and_then(|t| Some((t, t.lost_ns?)))
    else {
        return found;
    };
    let mut frames: Vec<FrameRef> = Vec::new();
    for frame in told.outage.iter().flat_map(|o| &o.frames).chain(&told.first) {
        if frames.len() < FRAMES && !frames.contains(frame) {
            frames.push(frame.clone());
        }
    }
    found.during(first_ns, last_ns).shown_by(frames)
}

fn title(flow: &FlowReport, near: Near, lost: Lost, again: u64, severity: Severity) -> String {
    let road = road(flow);
    let Lost { between, certain, unsure } = lost;
    if ["UC", "UD"].contains(&flow.transport) {
        return match between {
            0 => format!(
                "{} of {} lost for good, or missed by the capture: {road}",
                counted(certain + unsure, "packet"),
                flow.transport
            ),
            _ => {
                format!("{} of {} lost between the taps, for good: {road}", counted(between, "packet"), flow.transport)
            }
        };
    }
    if severity == Severity::Info {
        let what = if flow.requests.filled == 0 { "never came by" } else { "came late or never" };
        return format!("{} {what}, without any NAK or repeat because of it: {road}", counted(unsure, "packet"));
    }
    let parts = [
        (between, "lost between the taps"),
        (certain, if between == 0 { "lost" } else { "before them" }),
        (unsure, if between == 0 { "lost or late" } else { "lost or late outside" }),
    ];
    // A packet counts once, however often its repeats were lost as well; and behind the tap one of a row draws the NAK.
    let mut what = if between == 0 { "at least " } else { "" }.to_owned();
    let mut packets = true;
    for (n, how) in parts.into_iter().filter(|&(n, _)| n != 0) {
        let n = if std::mem::take(&mut packets) { counted(n, "packet") } else { format!(", {}", count(n)) };
        what += &format!("{n} {how}");
    }
    let again = match (again, near) {
        (0, _) => String::new(),
        (n, Near::Src) => format!(", {} sent again", count(n)),
        // Some of them may not have come this far.
        (n, _) => format!(", {} seen again here", count(n)),
    };
    format!("{what}{again}: {road}")
}

fn advice(story: &StoryReport, recovers: bool, severity: Severity) -> String {
    if severity == Severity::Info {
        return "The capture may have missed them: compare the drop counter of the capture program.".to_owned();
    }
    let place = match story.near {
        Near::Src => "This tap is at the requester's end, so look behind it, towards the responder",
        Near::Dst => "This tap is at the responder's end, so look before it, towards the requester",
        Near::Between => {
            "This tap is on the way: look before it and behind it; what is lost for certain was lost before it"
        }
        Near::Unknown => "A second capture, at the other end, shows on which side it happened",
    };
    let then = match (recovers, story.lost_or_late) {
        (false, _) => ", and the drop counter of the capture program",
        (true, 0) => "",
        (true, _) => "; only a second tap tells lost from late (--taps)",
    };
    format!("{place}: compare discards and errors of the ports there{then}.")
}

/// What several taps prove, and where to look then.
fn advice_of_taps(story: &StoryReport, told: &Told, lost: Lost) -> String {
    if lost.between != 0 {
        return whereabouts(told) + " Compare discards and errors of the ports between these taps.";
    }
    let place = match story.near {
        Near::Dst => "before the first tap, towards the requester",
        _ if told.before => "behind the last tap, towards the responder",
        _ if told.behind => "before the first tap, towards the requester",
        _ => "outside of what lies between them",
    };
    format!("Nothing was lost between the taps. Look {place}: compare discards and errors of the ports there.")
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::story::report::{ByCause, Cause, Retransmissions};
    use crate::taps::{OutageReport, Place};

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
        assert_eq!(found.title, "at least 2 packets lost, 8 sent again: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!((found.severity, found.flow, found.first_ns, found.last_ns), (Severity::Warning, Some(0), 0, 1_100));
        assert_eq!(found.frames, [1, 2, 11, 12].map(FrameRef::Place));
        let value = |name| found.evidence.0.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone());
        assert_eq!(value("amplification"), Some(Value::Text("4.0".into())));
        assert_eq!(value("sequence_naks"), Some(Value::Number(2)));
        assert_eq!(value("recovery_ns"), Some(Value::Number(200)));
    }

    #[test]
    fn more_than_one_request_in_a_hundred_sent_again_is_critical() {
        let found = cases::one(&RULE, &cases::flows(story(3, 0, 3), 3));
        assert_eq!(found.title, "at least 3 packets lost, 12 sent again: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(found.severity, Severity::Critical);
    }

    #[test]
    fn what_may_only_be_late_is_a_warning() {
        let found = cases::one(&RULE, &cases::flows(story(0, 3, 3), 3));
        assert_eq!(found.title, "at least 3 packets lost or late, 12 sent again: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(found.severity, Severity::Warning);
    }

    #[test]
    fn the_responders_end_sees_the_repeats_that_arrive() {
        let story = StoryReport { near: Near::Dst, ..story(2, 0, 2) };
        let found = cases::one(&RULE, &cases::flows(story, 2));
        assert_eq!(found.title, "at least 2 packets lost, 8 seen again here: 10.9.1.1 -> 10.9.2.1 qp 20");
    }

    /// The requester's tap, before which there is none.
    fn told(requests: u64) -> Told {
        let lost = (requests != 0).then(|| Place { from: "a.pcap".into(), to: "b.pcap".into(), lost: requests });
        let places = lost.into_iter().collect();
        Told { requests, here: requests, answers: Some(0), behind: true, places, ..Told::default() }
    }

    #[test]
    fn the_taps_count_what_was_lost_between_them() {
        let outage = OutageReport {
            dst_qp: 20,
            packets: 4_000,
            last_through_ns: Some(1_000_000),
            first_lost_ns: 1_500_000,
            last_lost_ns: 400_000_000,
            first_through_ns: Some(401_000_000),
            frames: [7, 8, 90, 95].map(FrameRef::Place).into(),
        };
        let told = Told {
            first: [8, 9].map(FrameRef::Place).into(),
            lost_ns: Some([1_500_000, 500_000_000]),
            outage: Some(outage),
            ..told(5_239)
        };
        let flows = cases::flows(story(0, 3, 3), 3);
        let found = cases::beside(&RULE, &flows, told.clone()).remove(0);
        assert_eq!(found.title, "5,239 packets lost between the taps, 12 sent again: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!((found.severity, found.first_ns, found.last_ns), (Severity::Critical, 1_500_000, 500_000_000));
        assert_eq!(found.frames, [7, 8, 90, 95, 9].map(FrameRef::Place));
        assert_eq!(
            found.advice,
            "Lost between a.pcap and b.pcap: 5,239. The longest row: 4,000 packets, within 400 ms. Compare discards \
             and errors of the ports between these taps."
        );
        let value = |name| found.evidence.0.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone());
        assert_eq!(value("requests_lost_between_taps"), Some(Value::Number(5_239)));
        assert_eq!(value("lost_in_a_row_ns"), Some(Value::Number(400_000_000)));
        // What this tap shows nothing of is told all the same, and where no answer was lost every timeout is the
        // requests'.
        let mut quiet = story(0, 0, 1);
        quiet.episodes[0].kind = Kind::RequestOrAckLost;
        let flows = cases::flows(quiet, 0);
        let found = cases::beside(&RULE, &flows, told).remove(0);
        assert_eq!(found.title, "5,239 packets lost between the taps, 4 sent again: 10.9.1.1 -> 10.9.2.1 qp 20");
    }

    #[test]
    fn losses_of_which_nobody_knows_which_they_were_are_told() {
        // The other capture missed a few frames as well, so that of each single packet it is in doubt.
        let doubtful = Told { lost_ns: Some([1_000, 2_000]), ..told(192) };
        let flows = cases::flows(story(0, 0, 0), 0);
        let found = cases::beside(&RULE, &flows, doubtful.clone()).remove(0);
        assert_eq!(found.title, "192 packets lost between the taps: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!((found.severity, found.frames.len()), (Severity::Warning, 0));
        // At the tap behind them nothing shows, and they are told at the one before.
        let behind = Told { here: 0, before: true, behind: false, ..doubtful };
        assert!(cases::beside(&RULE, &flows, behind).is_empty());
    }

    #[test]
    fn what_the_other_tap_saw_was_only_late() {
        assert!(cases::beside(&RULE, &cases::flows(story(0, 3, 3), 3), told(0)).is_empty());
        // At the responder's end it was late before this tap.
        let at_end = StoryReport { near: Near::Dst, ..story(0, 3, 3) };
        let behind = Told { before: true, behind: false, ..told(0) };
        assert!(cases::beside(&RULE, &cases::flows(at_end.clone(), 3), behind.clone()).is_empty());
        // But what one tap sees outside of both stays.
        let found = cases::beside(&RULE, &cases::flows(story(0, 3, 3), 3), behind).remove(0);
        assert_eq!(found.title, "at least 3 packets lost or late, 12 sent again: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(
            found.advice,
            "Nothing was lost between the taps. Look behind the last tap, towards the responder: compare discards and \
             errors of the ports there."
        );
        let found = cases::beside(&RULE, &cases::flows(at_end, 3), told(0)).remove(0);
        assert_eq!(found.title, "at least 3 packets lost or late, 12 seen again here: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert!(found.advice.contains("before the first tap"), "{}", found.advice);
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
        assert_eq!(found.title, "at least 1 packet lost, 11 sent again: 10.9.1.1 -> 10.9.2.1 qp 20");
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
