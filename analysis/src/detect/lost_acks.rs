//! Answers were lost: the requests had arrived, and were sent again for nothing.
//!
//! # What it detects
//! Timeouts after which an answer acknowledges more than what was sent again: the requests had arrived the first time,
//! only their acknowledgement had not come back. Also timeouts of which nobody can tell whether the request or its
//! answer was lost, or only late: these are for information.
//!
//! # Why it hurts
//! Each costs a timeout, during which nothing moves. It is the way back that loses, which is often another path with
//! another priority.
//!
//! # How it decides
//! At the requester's end alone, by how much the answer to a repeat acknowledges. Elsewhere a lost answer cannot be
//! told from a lost request or an early timeout. A timeout about a request that a NAK had named as missing is about
//! that request, and is not told here, unless the answers prove that one of them was lost. With several captures
//! (`--taps`) it is what was lost between them that counts, wherever they cover the flow: a timeout of which they show
//! that no answer was lost is not told here.
//!
//! # What could fool it
//! Answers that are held up for longer than the timeout; see RT011.
//!
//! # What to do next
//! Look at the path from the responder to the requester. Do the acknowledgements have the DSCP, and so the queue, of
//! the requests? Where it is in doubt, take a second capture at the other end and name both to `analyze --taps`.
//!
//! # References
//! IBTA Volume 1, 9.7.6.1.3 (lost acknowledgements and timeouts).

use super::kit::{Digest, counted, finding, lost_between, road, timeouts};
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
        let told = case.told(flow).filter(|told| told.answers.is_some());
        let between = told.and_then(|told| told.answers).unwrap_or(0);
        // Of a request that a NAK had named, nothing but another tap says that an answer was lost as well.
        let named = |e: &EpisodeReport| e.kind == Kind::RequestLost && between != 0;
        let either = |e: &EpisodeReport| e.kind == Kind::RequestOrAckLost || named(e);
        let doubtful = Digest::of(story, either).map_or(0, |d| d.count);
        // No answer was lost between the taps: what was in doubt was the request, or late.
        if certain + doubtful == 0 || told.is_some() && certain + between == 0 {
            continue;
        }
        let digest = Digest::of(story, |e| e.kind == Kind::AckLost || either(e));
        let what = match (certain, doubtful) {
            _ if between != 0 => format!("{} lost between the taps", counted(between, "answer")),
            (0, _) => {
                let stalls = timeouts(story, doubtful, either).unwrap_or_else(|| counted(doubtful, "stall"));
                format!("{stalls}: the request or its answer was lost or late")
            }
            _ if doubtful == 0 || told.is_some() => format!("{} lost", counted(certain, "answer")),
            _ => format!("{} lost, {} in doubt", counted(certain, "answer"), counted(doubtful, "stall")),
        };
        let evidence = Evidence::default()
            .with("lost_acks", certain)
            .with("request_or_ack_lost", doubtful)
            .with("timeouts", story.timeouts)
            .with("stall_ns", story.stall_ns)
            .with_harm("sent_again", story.retransmissions.by_cause.timeout)
            .with_taps(told);
        let advice = match told.filter(|_| between != 0) {
            Some(told) => lost_between(&told.places_back) + " Compare discards and errors of the ports there.",
            None if certain != 0 => format!(
                "Look at the way back, from {} to {}, and at the priority that acknowledgements have.",
                flow.dst, flow.src
            ),
            None => {
                "Take a second capture at the other end: --taps tells which of the two was lost, if any.".to_owned()
            }
        };
        let title = format!("{what}: {}", road(flow));
        // What is only in doubt costs no more than the timeouts, which have a finding of their own.
        let severity = if certain + between != 0 { Severity::Warning } else { Severity::Info };
        report(Finding { severity, evidence, advice, ..finding(&RULE, flow, digest.as_ref(), title) });
    }
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::story::StoryReport;
    use crate::story::report::Cause;
    use crate::taps::{Place, Told};

    #[test]
    fn what_is_certain_is_apart_from_what_is_not() {
        let told = |kinds: &[Kind]| {
            let episodes = kinds.iter().map(|&kind| episode(kind, Some(Cause::Timeout), 7, &[1, 2])).collect();
            let lost_acks = kinds.iter().filter(|&&kind| kind == Kind::AckLost).count() as u64;
            let story = StoryReport { timeouts: kinds.len() as u64, lost_acks, episodes, ..StoryReport::default() };
            cases::one(&RULE, &cases::flows(story, 0)).title
        };
        let road = "10.9.1.1 -> 10.9.2.1 qp 20";
        assert_eq!(told(&[Kind::AckLost]), format!("1 answer lost: {road}"));
        assert_eq!(
            told(&[Kind::RequestOrAckLost]),
            format!("1 timeout: the request or its answer was lost or late: {road}")
        );
        let early = told(&[Kind::RequestOrAckLost, Kind::EarlyTimeout]);
        assert_eq!(early, format!("1 stall: the request or its answer was lost or late: {road}"));
        let both = [Kind::AckLost, Kind::AckLost, Kind::RequestOrAckLost];
        assert_eq!(told(&both), format!("2 answers lost, 1 stall in doubt: {road}"));
    }

    #[test]
    fn the_taps_settle_the_doubt() {
        let story = |kind| {
            let lost_acks = u64::from(kind == Kind::AckLost);
            StoryReport {
                lost_acks,
                episodes: vec![episode(kind, Some(Cause::Timeout), 7, &[1])],
                ..Default::default()
            }
        };
        let told = |answers| Told {
            answers: Some(answers),
            places_back: vec![Place { from: "b.pcap".into(), to: "a.pcap".into(), lost: answers }],
            ..Told::default()
        };
        let doubt = cases::flows(story(Kind::RequestOrAckLost), 0);
        let found = cases::beside(&RULE, &doubt, told(1_019)).remove(0);
        assert_eq!(found.title, "1,019 answers lost between the taps: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(
            found.advice,
            "Lost between b.pcap and a.pcap: 1,019. Compare discards and errors of the ports there."
        );
        assert!(cases::beside(&RULE, &doubt, told(0)).is_empty());
        // What is certain was lost outside of them.
        let found = cases::beside(&RULE, &cases::flows(story(Kind::AckLost), 0), told(0)).remove(0);
        assert_eq!(found.title, "1 answer lost: 10.9.1.1 -> 10.9.2.1 qp 20");
        // Taps that do not cover the answers tell nothing.
        let found = cases::beside(&RULE, &doubt, Told { answers: None, ..told(0) }).remove(0);
        assert_eq!(
            found.advice,
            "Take a second capture at the other end: --taps tells which of the two was lost, if any."
        );
    }

    #[test]
    fn other_timeouts_are_told_elsewhere() {
        let story = |kind| StoryReport {
            timeouts: 1,
            episodes: vec![episode(kind, Some(Cause::Timeout), 7, &[1])],
            ..StoryReport::default()
        };
        for kind in [Kind::EarlyTimeout, Kind::RequestLost] {
            assert!(cases::findings(&RULE, &cases::flows(story(kind), 0)).is_empty(), "{kind:?}");
        }
        let told = Told { answers: Some(3), ..Told::default() };
        assert_eq!(cases::beside(&RULE, &cases::flows(story(Kind::RequestLost), 0), told).len(), 1);
    }
}
