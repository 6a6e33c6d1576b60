//! The RNR timer is so long that one late buffer stops a queue pair for a long time.
//!
//! # What it detects
//! RNR NAKs with a timer of more than 100 ms. Code 0 is the longest of all, 655.36 ms, and not the shortest; it is what
//! a program gets that never sets the field.
//!
//! # Why it hurts
//! A receiver that is late by a microsecond costs the whole timer. Somebody measured 721 instead of 203,347 operations
//! a second for this reason alone.
//!
//! # How it decides
//! By the timer code of the RNR NAKs. The codes above 100 ms begin at 122.88 ms, four times what UCX sets (30 ms), and
//! two hundred times what the examples of libibverbs set (code 12, 0.64 ms).
//!
//! # What could fool it
//! Nothing that is known.
//!
//! # What to do next
//! Set `min_rnr_timer` when the receiver's queue pair goes to RTR: 12 is usual. The timer is the receiver's, though the
//! sender waits. Then see RT005 for why the receiver was late.
//!
//! # References
//! IBTA Volume 1, 9.7.5.2.8 (timer codes). UCX, `RNR_TIMEOUT` in `rc_iface.c`.

use super::kit::{Digest, finding, road, time};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::story::report::Kind;

pub(super) const RULE: Rule = Rule {
    code: "RT006",
    name: "long_rnr_timer",
    title: "the RNR timer is very long",
    severity: Severity::Warning,
    needs: "packets of both directions",
    source: include_str!("long_rnr_timer.rs"),
    judge: Judge::Connection(judge),
};

/// Between the codes for 81.92 and 122.88 ms (IBTA 9.7.5.2.8); see the page.
const LONG_US: u64 = 100_000;
/// Code 0 (IBTA 9.7.5.2.8).
const CODE_0_US: u64 = 655_360;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _, story) in case.stories() {
        let Some(us) = story.rnr_timer_us.filter(|&us| us > LONG_US) else { continue };
        let digest = Digest::of(story, |e| e.kind == Kind::Rnr);
        let code = if us == CODE_0_US { " (code 0)" } else { "" };
        let title = format!("the RNR timer is {}{code}: {}", time(us.saturating_mul(1_000)), road(flow));
        let evidence = Evidence::default()
            .with("rnr_timer_us", us)
            .with("threshold_us", LONG_US)
            .with("rnr_waits", story.rnr_waits)
            .with("stall_ns", story.stall_ns);
        let advice =
            format!("Set min_rnr_timer of the queue pair at {}: 12 (0.64 ms) is usual, 0 is the longest.", flow.dst);
        report(Finding { evidence, advice, ..finding(&RULE, flow, digest.as_ref(), title) });
    }
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases;
    use super::*;
    use crate::story::StoryReport;

    #[test]
    fn code_0_is_the_longest() {
        let story = |us| StoryReport { rnr_waits: 1, rnr_timer_us: Some(us), ..StoryReport::default() };
        let found = cases::one(&RULE, &cases::flows(story(655_360), 0));
        assert_eq!(found.title, "the RNR timer is 655 ms (code 0): 10.9.1.1 -> 10.9.2.1 qp 20");
        let found = cases::one(&RULE, &cases::flows(story(122_880), 0));
        assert_eq!(found.title, "the RNR timer is 123 ms: 10.9.1.1 -> 10.9.2.1 qp 20");
        assert!(cases::findings(&RULE, &cases::flows(story(81_920), 0)).is_empty());
    }
}
