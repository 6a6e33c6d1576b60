//! The capture shows requests and never an answer.
//!
//! # What it detects
//! Reliable connections with at least sixteen requests, none of which was answered by anything in the capture; all of
//! them are one finding.
//!
//! # Why it hurts
//! Without the way back nothing can be said of NAKs, timeouts, latency, or whether a request was delivered.
//!
//! # How it decides
//! A flow of requests has no known other direction, or that carries no ACK, NAK or response. Where answers came from
//! that host which belong to no known queue pair, they may be the ones: that is said apart.
//!
//! # What could fool it
//! A peer that is dead answers nothing either; then the requests are repeated. On paths with several links the way
//! back may pass another tap.
//!
//! # What to do next
//! Mirror both directions of the port, or capture the other link of the bond as well.
//!
//! # References
//! IBTA 9.7.5 (every request of a reliable connection is acknowledged).

use super::kit::part;
use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::survey::Survey;

pub(super) const RULE: Rule = Rule {
    code: "RT038",
    name: "one_direction",
    title: "only one direction was captured",
    severity: Severity::Info,
    needs: "packets",
    source: include_str!("one_direction.rs"),
    judge: Judge::Survey(judge),
};

fn judge(survey: &Survey, _: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let (unseen, untold) = survey.unanswered();
    let all: u64 = survey.pairs.values().map(|pair| pair.reliable).sum();
    let (first, last) = (survey.first_ns.unwrap_or_default(), survey.last_ns.unwrap_or_default());
    for (count, title, advice) in [
        (
            unseen,
            format!("no answers were seen for {} of requests", part(unseen, all, "flow")),
            "Capture both directions, on all links that the traffic may take.",
        ),
        (
            untold,
            format!("for {} of requests it cannot be told which answers are theirs", part(untold, all, "flow")),
            "Capture from before the connections begin: their managers tell which queue pairs belong together.",
        ),
    ] {
        if count == 0 {
            continue;
        }
        report(
            Finding::of(&RULE, Severity::Info, title)
                .during(first, last)
                .with("unanswered", count)
                .with("flows", all)
                .advice(advice),
        );
    }
}
