//! The receiver was never ready, and the requester gave up.
//!
//! # What it detects
//! A last RNR NAK that no repeat ever followed. Where the capture goes on for longer than the receiver had asked to
//! wait, the requester has given up: completion error 13, RNR retry counter exceeded.
//!
//! # Why it hurts
//! The queue pair is in the error state and its work is flushed.
//!
//! # How it decides
//! By what comes after the last RNR NAK of the flow. It is certain when the capture goes on for more than four times
//! the RNR timer, as long as a requester's timers may take, and for longer than the longest wait before it; otherwise
//! the title says that the capture may end too soon.
//!
//! # What could fool it
//! A program that ended by itself during the wait; a capture that misses the repeat.
//!
//! # What to do next
//! The receiver posted no buffer for as long as all tries took: find out why. An RNR retry count of 7 waits for ever,
//! which trades an error for a stall.
//!
//! # References
//! IBTA Volume 1, 9.7.5.2.8 (RNR NAK), 11.6.2 (completion status).

use super::kit::{Digest, counted, finding, road, time};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::story::report::{EpisodeReport, Kind};

pub(super) const RULE: Rule = Rule {
    code: "RT007",
    name: "rnr_retry_exceeded",
    title: "the receiver was never ready (completion error 13)",
    severity: Severity::Critical,
    needs: "packets of both directions; a capture that goes on after the last RNR NAK, to be certain",
    source: include_str!("rnr_retry_exceeded.rs"),
    judge: Judge::Connection(judge),
};

/// As for the transport timer (IBTA 9.7.6.1.3), since the timer's own clause has no upper bound.
const LONGEST_WAIT: u64 = 4;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, back, story) in case.stories().filter(|(_, _, story)| story.rnr_unresolved) {
        let Some(last) = story.episodes.iter().rev().find(|e| e.kind == Kind::Rnr) else { continue };
        let tries = tries(&story.episodes, last);
        let silence = case.end_ns.saturating_sub(last.last_ns);
        let timer = story.rnr_timer_us.unwrap_or(0).saturating_mul(1_000);
        let waits = story.episodes.iter().filter(|e| e.kind == Kind::Rnr);
        let longest = waits.map(|e| e.last_ns.saturating_sub(e.first_ns)).max().unwrap_or(0);
        let certain = silence > timer.saturating_mul(LONGEST_WAIT).max(longest);
        // One refusal at the end of a capture is an RNR wait like others.
        if !certain && tries < 2 {
            continue;
        }
        let end = if certain { "RNR retry exceeded" } else { "RNR retry exceeded, or the capture ends too soon" };
        let title = format!("{end}: {}", road(flow));
        let mut evidence = Evidence::default()
            .with("tries", tries)
            .with("psn", u64::from(last.psn.first().copied().unwrap_or(0)))
            .with("rnr_naks", back.map_or(0, |b| u64::from(b.rnr_naks)))
            .with("silence_ns", silence)
            .with("certain", if certain { "yes" } else { "no" }.to_owned());
        if let Some(us) = story.rnr_timer_us {
            evidence = evidence.with("rnr_timer_us", us);
        }
        let mut advice = format!(
            "Find out why {} posted no receive buffer; {} completion error 13 after {}.",
            flow.dst,
            if certain { "the requester reports" } else { "if the requester gave up here, it reports" },
            counted(tries, "RNR NAK")
        );
        if !certain {
            advice += &match silence {
                0 => " The capture ends with the last one.".to_owned(),
                ns => format!(" The capture ends {} after the last one.", time(ns)),
            };
        }
        let digest = Digest::of(story, |e| e.kind == Kind::Rnr && e.psn == last.psn);
        report(Finding { evidence, advice, ..finding(&RULE, flow, digest.as_ref(), title) });
    }
}

/// RNR waits in a row for the same PSN, to the last.
fn tries(episodes: &[EpisodeReport], last: &EpisodeReport) -> u64 {
    let waits = episodes.iter().rev().filter(|e| e.kind == Kind::Rnr);
    waits.take_while(|e| e.psn == last.psn).count() as u64
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::report::FrameRef;
    use crate::story::StoryReport;
    use crate::story::report::Cause;

    fn story(waits: u64) -> StoryReport {
        let wait = |n: u64| episode(Kind::Rnr, Some(Cause::Rnr), n * 8_000_000, &[2 * n + 2, 2 * n + 3]);
        StoryReport {
            rnr_unresolved: true,
            rnr_waits: waits,
            rnr_timer_us: Some(2_560),
            episodes: (0..waits).map(wait).collect(),
            ..StoryReport::default()
        }
    }

    #[test]
    fn certain_where_the_capture_goes_on() {
        let found = cases::one(&RULE, &cases::flows(story(4), 0));
        assert_eq!(found.title, "RNR retry exceeded: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!(found.severity, Severity::Critical);
        assert_eq!(found.frames, [2, 3, 4, 5, 6, 7, 8, 9].map(FrameRef::Place));
    }

    #[test]
    fn else_it_says_so() {
        let found = cases::findings_until(&RULE, &cases::flows(story(4), 0), 24_000_100);
        let title = "RNR retry exceeded, or the capture ends too soon: 10.9.1.1 -> 10.9.2.1 qp 20";
        assert_eq!(found[0].title, title);
        assert!(cases::findings_until(&RULE, &cases::flows(story(1), 0), 100).is_empty());
    }

    #[test]
    fn a_receiver_that_became_ready_is_told_elsewhere() {
        let story = StoryReport { rnr_unresolved: false, ..story(4) };
        assert!(cases::findings(&RULE, &cases::flows(story, 0)).is_empty());
    }
}
