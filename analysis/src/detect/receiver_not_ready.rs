//! The receiver had no buffer ready for a message.
//!
//! # What it detects
//! RNR NAKs: the responder asked the requester to try again later, since no receive buffer was posted for a SEND or a
//! WRITE with immediate.
//!
//! # Why it hurts
//! The queue pair stands still for as long as the RNR timer says (10 us to 655 ms), and everything behind the refused
//! packet is sent again. No network counter shows it.
//!
//! # How it decides
//! By the syndrome of the AETH. "Stalled" is the time from each of these NAKs to its repeat. Sequence errors inside
//! such a wait belong to it: the packets behind come too early.
//!
//! # What could fool it
//! Nothing that is known: the responder says it in so many words.
//!
//! # What to do next
//! Post more receive buffers, earlier; look for a receiver whose CPU or GPU is late. With an RNR retry count below 7
//! the queue pair fails when it lasts (RT007); for a very long timer see RT006. The RNR NAKs in tshark:
//!
//! ```text
//! infiniband.aeth.syndrome.opcode == 1
//! ```
//!
//! # References
//! IBTA Volume 1, 9.7.5.2.8 (RNR NAK and its timer codes).

use super::kit::{Digest, count, counted, finding, road, time};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::report::FlowReport;
use crate::story::report::Kind;

pub(super) const RULE: Rule = Rule {
    code: "RT005",
    name: "receiver_not_ready",
    title: "the receiver had no buffer ready",
    severity: Severity::Warning,
    needs: "packets of the responder's direction",
    source: include_str!("receiver_not_ready.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, back) in case.directions().filter(|(flow, _)| flow.rnr_naks != 0) {
        let naks = u64::from(flow.rnr_naks);
        // The requests are the other direction's, which need not have been seen.
        let requester = back.and_then(|b| b.story.as_ref().map(|story| (b, story)));
        let Some((requests, story)) = requester else {
            let title = format!("{} from {}: its receiver was not ready", counted(naks, "RNR NAK"), flow.src);
            report(found(flow, None, title, Evidence::default().with("rnr_naks", naks)));
            continue;
        };
        let digest = Digest::of(story, |e| e.kind == Kind::Rnr);
        let timer =
            story.rnr_timer_us.map_or(String::new(), |us| format!(" (timer {})", time(us.saturating_mul(1_000))));
        let again = story.retransmissions.by_cause.rnr;
        let stalled = match story.stall_ns {
            0 => String::new(),
            // The time that timeouts took is in there too.
            ns if story.timeouts != 0 => format!(", stalled {} with timeouts", time(ns)),
            ns => format!(", stalled {}", time(ns)),
        };
        let naks_told = counted(naks, "RNR NAK");
        let title = format!("{naks_told}{timer}{stalled}, {} sent again: {}", count(again), road(requests));
        let mut evidence = Evidence::default()
            .with("rnr_naks", naks)
            .with("rnr_waits", story.rnr_waits)
            .with_harm("sent_again", again)
            .with("stall_ns", story.stall_ns);
        if let Some(us) = story.rnr_timer_us {
            evidence = evidence.with("rnr_timer_us", us);
        }
        report(found(requests, digest.as_ref(), title, evidence));
    }
}

fn found(flow: &FlowReport, digest: Option<&Digest>, title: String, evidence: Evidence) -> Finding {
    let advice = "Look at the receiver, not at the network: post more receive buffers, earlier, and find out what \
                  keeps the program there from doing so.";
    Finding { evidence, advice: advice.to_owned(), ..finding(&RULE, flow, digest, title) }
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::story::StoryReport;
    use crate::story::report::{ByCause, Cause, Retransmissions};

    #[test]
    fn waits_are_told_with_their_timer() {
        let by_cause = ByCause { rnr: 150, ..ByCause::default() };
        let story = StoryReport {
            retransmissions: Retransmissions { total: 150, by_cause },
            rnr_waits: 50,
            rnr_timer_us: Some(640),
            episodes: vec![episode(Kind::Rnr, Some(Cause::Rnr), 1_000, &[4, 5, 8])],
            ..StoryReport::default()
        };
        let mut flows = cases::flows(story, 50);
        flows[1].rnr_naks = 50;
        let found = cases::one(&RULE, &flows);
        assert_eq!(found.title, "50 RNR NAKs (timer 640 us), 150 sent again: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert_eq!((found.flow, found.severity, found.frames.len()), (Some(0), Severity::Warning, 3));
        // The answers alone.
        let found = cases::one(&RULE, &flows[1..]);
        assert_eq!(found.title, "50 RNR NAKs from 10.9.2.1: its receiver was not ready");
        assert_eq!(found.flow, Some(1));
    }

    #[test]
    fn ready_is_nothing_said() {
        assert!(cases::findings(&RULE, &cases::flows(StoryReport::default(), 3)).is_empty());
    }
}
