//! The findings that an expectation is about, and how many there are.

use std::collections::HashSet;

use rocetop_analysis::Severity;
use serde_json::Value;

use super::file::Expectation;
use super::language::{Bound, SEVERITIES, Which};
use super::tally::Verdict;
use super::value::{Measured, Number};
use crate::report::text::figures::counted;

/// What one expectation has met.
#[derive(Default)]
pub(super) struct Found {
    /// Flows that were selected, and their connections.
    flows: HashSet<u64>,
    connections: HashSet<u64>,
    listed: u64,
    /// Those that the report counts but does not list, where they may be meant.
    unlisted: u64,
    /// Of those listed.
    codes: HashSet<String>,
    /// The first few, as a person reads them.
    shown: Vec<String>,
}

impl Found {
    /// Takes in a selected flow.
    pub(super) fn flow(&mut self, flow: &Value) {
        self.flows.extend(number(flow, "id"));
        self.connections.extend(number(flow, "connection"));
    }

    /// Whether a finding is about a selected flow or its connection.
    pub(super) fn concerns(&self, finding: &Value) -> bool {
        match number(finding, "flow") {
            Some(flow) => self.flows.contains(&flow),
            None => number(finding, "connection").is_some_and(|c| self.connections.contains(&c)),
        }
    }

    /// Counts a finding, if it is one of these.
    pub(super) fn add(&mut self, which: Which, finding: &Value) {
        /// So many are named, with twice as many frames each.
        const SHOWN: usize = 3;
        let text = |name: &str| finding.get(name).and_then(Value::as_str).unwrap_or_default();
        let severity = SEVERITIES.iter().find(|(name, _)| *name == text("severity")).map(|(_, s)| *s);
        let meant = match which {
            Which::Any => true,
            Which::Severity(least) => severity.unwrap_or(Severity::Critical) >= least,
            Which::Code(code) => text("code") == code,
        };
        if !meant {
            return;
        }
        self.listed += 1;
        if !self.codes.contains(text("code")) {
            self.codes.insert(text("code").to_owned());
        }
        if self.shown.len() < SHOWN {
            let frames = finding.get("frames").and_then(Value::as_array).into_iter().flatten();
            let frames: Vec<String> = frames.take(SHOWN * 2).map(frame).collect();
            let frames = if frames.is_empty() { String::new() } else { format!("; frames {}", frames.join(", ")) };
            self.shown.push(format!("{} {}: {}{frames}", text("code"), text("severity"), text("title")));
        }
    }

    /// Findings of a code beyond those that the report lists: the worst of each code, and of these the first.
    pub(super) fn more(&mut self, which: Which, code: &str, more: u64) {
        let meant = match which {
            Which::Any => true,
            Which::Code(wanted) => wanted == code,
            // None is worse than those listed.
            Which::Severity(_) => self.codes.contains(code),
        };
        self.unlisted += if meant { more } else { 0 };
    }

    /// The end.
    pub(super) fn verdict(self, expectation: &Expectation, which: Which, bound: &Bound) -> Verdict {
        let mut verdict =
            Verdict { holds: false, wanted: bound.to_string(), measured: String::new(), notes: self.shown };
        let selects = !expectation.select.is_empty();
        if selects && self.flows.is_empty() {
            return Verdict::none(expectation, "no flow is selected".to_owned(), bound);
        }
        // What is not listed has neither a flow that could be asked for nor a severity.
        let most = self.listed + self.unlisted;
        let least = if selects || matches!(which, Which::Severity(_)) { self.listed } else { most };
        verdict.measured = if least == most { most.to_string() } else { format!("{least} to {most}") };
        verdict.holds = (least..=most).all(|n| bound.keeps(&Measured::Number(Number::Whole(n.into()))));
        let more = most - verdict.notes.len() as u64;
        if verdict.holds {
            verdict.notes.clear();
        } else if more != 0 {
            verdict.notes.push(format!("and {}", counted(more, "more finding")));
        }
        verdict
    }
}

fn number(part: &Value, name: &str) -> Option<u64> {
    part.get(name).and_then(Value::as_u64)
}

/// A frame's number, or its file and number.
fn frame(frame: &Value) -> String {
    frame.as_str().map_or_else(|| frame.to_string(), str::to_owned)
}
