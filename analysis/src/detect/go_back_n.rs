//! A NIC does not keep the rules of go-back-N.
//!
//! # What it detects
//! A responder that sends more than one sequence error for the same hole, or a requester that starts again elsewhere
//! than at the PSN that the NAK names.
//!
//! # Why it hurts
//! Each needless NAK makes the requester go back once more; a restart at the wrong PSN sends too much, or too little
//! and then waits for a timeout.
//!
//! # How it decides
//! It must happen at least three times and for at least a tenth of all sequence errors: one oddity may be the
//! network's. Restarts are judged at the requester's end alone, since elsewhere the first repeat may have been lost on
//! the way. Nothing is said where the capture lacks packets, where packets arrive out of order or twice, or of a sender
//! that was not seen to go back and send again all that followed: one that sends only what is missing has other rules.
//!
//! # What could fool it
//! A network that delivers NAKs twice.
//!
//! # What to do next
//! Compare the NIC's firmware with its release notes; show the vendor the frames of the finding.
//!
//! # References
//! IBTA Volume 1, 9.7.5.2 (one NAK a hole), 9.7.6 (restart of the requester). Lumina (SIGCOMM 2023) checks both sides.

use super::kit::{Digest, count, counted, finding, near, road};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::story::report::{Cause, Near, Recovery};

pub(super) const RULE: Rule = Rule {
    code: "RT014",
    name: "go_back_n",
    title: "a NIC does not keep the rules of go-back-N",
    severity: Severity::Warning,
    needs: "packets of both directions, with none missing",
    source: include_str!("go_back_n.rs"),
    judge: Judge::Connection(judge),
};

/// Fewer than this may be the network's doing: a NAK that was delivered twice, a repeat that was lost (chosen).
const LEAST: u64 = 3;
/// One in so many sequence errors: a NIC that breaks a rule breaks it often (chosen).
const SHARE: u64 = 10;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, back, story) in case.stories() {
        let Some(naks) = back.map(|b| u64::from(b.naks.psn_sequence_error)) else { continue };
        // Who sends only what is missing has other rules; and nobody knows whose rules hold where neither shows.
        if story.recovery != Recovery::GoBackN {
            continue;
        }
        // The packets do not show what either side knew then.
        let lacks = story.missed_by_capture + story.missed_or_before;
        if lacks + story.reordered + story.duplicated_by_network != 0 {
            continue;
        }
        let often = |n: u64| n >= LEAST && n * SHARE >= naks;
        let mut broken = Vec::new();
        if often(story.naks_repeated) {
            broken.push(format!("{} for a hole that had one", counted(story.naks_repeated, "NAK")));
        }
        if story.near == Near::Src && often(story.restarts_elsewhere) {
            broken.push(format!("{} restarts elsewhere than the NAK says", count(story.restarts_elsewhere)));
        }
        if broken.is_empty() {
            continue;
        }
        let digest = Digest::of(story, |e| e.cause == Some(Cause::Nak));
        let title = format!("{}: {}", broken.join(", "), road(flow));
        let evidence = Evidence::default()
            .with("sequence_naks", naks)
            .with("naks_repeated", story.naks_repeated)
            .with("restarts_elsewhere", story.restarts_elsewhere)
            .with("least", LEAST)
            .with("near", near(story.near));
        let advice =
            "Look at the frames of the finding and compare the firmware of both NICs with their release notes.";
        report(Finding { evidence, advice: advice.to_owned(), ..finding(&RULE, flow, digest.as_ref(), title) });
    }
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases;
    use super::*;
    use crate::story::StoryReport;

    fn story(naks_repeated: u64) -> StoryReport {
        StoryReport { naks_repeated, recovery: Recovery::GoBackN, ..StoryReport::default() }
    }

    fn told(story: StoryReport, naks: u32) -> Vec<String> {
        cases::findings(&RULE, &cases::flows(story, naks)).into_iter().map(|f| f.title).collect()
    }

    #[test]
    fn naks_again_and_again() {
        assert_eq!(told(story(3), 30), ["3 NAKs for a hole that had one: 10.9.1.1 -> 10.9.2.1 qp 20"]);
    }

    #[test]
    fn restarts_are_judged_at_the_requester_alone() {
        let story = |near| StoryReport { near, restarts_elsewhere: 4, ..story(0) };
        assert_eq!(told(story(Near::Src), 30), ["4 restarts elsewhere than the NAK says: 10.9.1.1 -> 10.9.2.1 qp 20"]);
        assert!(told(story(Near::Dst), 30).is_empty());
    }

    #[test]
    fn no_false_alarm() {
        let (few, rare) = (story(2), story(3));
        let disorder = StoryReport { reordered: 1, ..story(30) };
        let holes = StoryReport { missed_by_capture: 1, ..story(30) };
        let early = StoryReport { missed_or_before: 1, ..story(30) };
        let other = |recovery| StoryReport { recovery, ..story(30) };
        let [alone, thin, never] = [Recovery::Selective, Recovery::Unknown, Recovery::NoneSeen].map(other);
        let stories =
            [(few, 2), (rare, 31), (disorder, 30), (holes, 30), (early, 30), (alone, 30), (thin, 30), (never, 30)];
        for (story, naks) in stories {
            assert!(told(story, naks).is_empty());
        }
    }
}
