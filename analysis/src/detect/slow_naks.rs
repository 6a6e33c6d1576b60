//! NAKs come late, or are heeded late.
//!
//! # What it detects
//! Generation: the time from a gap to the NAK about it, at the responder's end. Reaction: the time from a NAK to the
//! first repeat, at the requester's end. One of them has a median of more than 100 us.
//!
//! # Why it hurts
//! All packets that are sent in this time are dropped by the responder and sent again: 100 us at 100 Gb/s are 1.25 MB.
//!
//! # How it decides
//! By the median of at least five NAKs, at the end where the tap stands alone: elsewhere the path's delay is in it.
//!
//! # What could fool it
//! Software (rxe, a virtual machine) is slower than a NIC, and a tap's time stamps may be late as well.
//!
//! # What to do next
//! For information: compare with the NIC's other generations and firmware versions. Loss must be removed, not answered
//! faster.
//!
//! # References
//! Lumina (SIGCOMM 2023) measures both times and finds that NICs differ a lot.

use super::kit::{Digest, count, finding, near, road, time};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::story::report::{Cause, Near};

pub(super) const RULE: Rule = Rule {
    code: "RT015",
    name: "slow_naks",
    title: "NAKs come late, or are heeded late",
    severity: Severity::Info,
    needs: "packets of both directions, at one of the ends",
    source: include_str!("slow_naks.rs"),
    judge: Judge::Connection(judge),
};

/// 1.25 MB at 100 Gb/s: more than twice what a switch chip has as buffer for one port (F9: half a megabyte).
const SLOW_NS: u64 = 100_000;
/// A median of fewer is no median.
const LEAST: u64 = 5;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _, story) in case.stories() {
        let (spread, what, who) = match story.near {
            Near::Dst => (story.nak_generation_ns, "NAKs come", &flow.dst),
            Near::Src => (story.nak_reaction_ns, "NAKs are heeded", &flow.src),
            Near::Between | Near::Unknown => continue,
        };
        if spread.count < LEAST || spread.p50 <= SLOW_NS {
            continue;
        }
        let title = format!("{what} after {} (median of {}): {}", time(spread.p50), count(spread.count), road(flow));
        let evidence = Evidence::default()
            .with("count", spread.count)
            .with("p50_ns", spread.p50)
            .with("p99_ns", spread.p99)
            .with("max_ns", spread.max)
            .with("threshold_ns", SLOW_NS)
            .with("near", near(story.near));
        let advice = format!("Compare the NIC and firmware of {who} with others; software RDMA is always slow.");
        let digest = Digest::of(story, |e| e.cause == Some(Cause::Nak));
        report(Finding { evidence, advice, ..finding(&RULE, flow, digest.as_ref(), title) });
    }
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases;
    use super::*;
    use crate::story::StoryReport;
    use crate::story::report::Spread;

    fn told(near: Near, generation: Spread, reaction: Spread) -> Vec<String> {
        let story =
            StoryReport { near, nak_generation_ns: generation, nak_reaction_ns: reaction, ..StoryReport::default() };
        cases::findings(&RULE, &cases::flows(story, 5)).into_iter().map(|f| f.title).collect()
    }

    #[test]
    fn each_is_judged_at_its_end() {
        let slow = Spread { count: 5, p50: 150_000, p99: 300_000, max: 310_000 };
        let fast = Spread { p50: 2_000, ..slow };
        let road = "10.9.1.1 -> 10.9.2.1 qp 20";
        assert_eq!(told(Near::Dst, slow, fast), [format!("NAKs come after 150 us (median of 5): {road}")]);
        assert_eq!(told(Near::Src, fast, slow), [format!("NAKs are heeded after 150 us (median of 5): {road}")]);
        assert!(told(Near::Src, slow, fast).is_empty());
        assert!(told(Near::Unknown, slow, slow).is_empty());
        assert!(told(Near::Dst, Spread { count: 4, ..slow }, fast).is_empty());
    }
}
