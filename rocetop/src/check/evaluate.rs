//! One pass over a report: every expectation sees every part that it is about.

use rocetop_analysis::Ledger;
use serde_json::Value;

use super::file::Expectation;
use super::findings::Found;
use super::language::{Bound, That, Which};
use super::names::{Figure, Scope};
use super::shape::json;
use super::tally::{Tally, Verdict};
use super::walk::selected;
use crate::source::CaptureSummary;

/// Judges a finished run. Flows are looked at one connection at a time, so a million take no more memory than two.
#[must_use]
pub fn evaluate(expectations: &[Expectation], captures: &[CaptureSummary], ledger: &Ledger<'_>) -> Vec<Verdict> {
    let mut all = Running::new(expectations);
    all.part(Scope::Totals, &json(ledger.totals()), &[]);
    for capture in captures {
        all.part(Scope::Capture, &json(capture), &[]);
    }
    if all.needs_flows() {
        for connection in ledger.connections() {
            let flows: Vec<Value> = connection.flows.iter().filter_map(|&id| ledger.flow(id)).map(json).collect();
            all.part(Scope::Connection, &json(&connection), &flows);
            for flow in &flows {
                all.part(Scope::Flow, flow, &flows);
            }
        }
    }
    if all.needs_findings() {
        let findings = ledger.findings();
        for finding in &findings.list {
            all.part(Scope::Finding, &json(finding), &[]);
        }
        for &(code, more) in &findings.more {
            all.more_findings(code, more);
        }
    }
    all.verdicts()
}

/// Expectations on their way through a report.
pub(super) struct Running<'e>(Vec<(&'e Expectation, Met<'e>)>);

/// What one of them is about, and what it has met.
enum Met<'e> {
    Figure(&'e Figure, &'e Bound, Box<Tally>),
    Findings(Which, &'e Bound, Found),
}

impl<'e> Running<'e> {
    pub(super) fn new(expectations: &'e [Expectation]) -> Self {
        let met = |e: &'e Expectation| match &e.that {
            That::Figure { figure, bound, .. } => (e, Met::Figure(figure, bound, Box::default())),
            That::Findings { which, bound } => (e, Met::Findings(*which, bound, Found::default())),
        };
        Self(expectations.iter().map(met).collect())
    }

    fn needs_flows(&self) -> bool {
        self.0.iter().any(|(expectation, met)| match met {
            Met::Figure(figure, ..) => matches!(figure.scope, Scope::Flow | Scope::Connection),
            Met::Findings(..) => !expectation.select.is_empty(),
        })
    }

    fn needs_findings(&self) -> bool {
        self.0.iter().any(|(_, met)| match met {
            Met::Figure(figure, ..) => figure.scope == Scope::Finding,
            Met::Findings(..) => true,
        })
    }

    /// Shows a part of the report to whom it concerns; `family` are the flows of its connection. Findings come last.
    pub(super) fn part(&mut self, scope: Scope, part: &Value, family: &[Value]) {
        for (expectation, met) in &mut self.0 {
            let select = &expectation.select;
            match met {
                Met::Figure(figure, bound, tally) if figure.scope == scope && selected(select, part, family) => {
                    tally.add(figure, bound, part);
                }
                Met::Findings(which, _, found) => match scope {
                    Scope::Flow if !select.is_empty() && selected(select, part, family) => found.flow(part),
                    Scope::Finding if select.is_empty() || found.concerns(part) => found.add(*which, part),
                    _ => {}
                },
                Met::Figure(..) => {}
            }
        }
    }

    pub(super) fn more_findings(&mut self, code: &str, more: u64) {
        for (_, met) in &mut self.0 {
            if let Met::Findings(which, _, found) = met {
                found.more(*which, code, more);
            }
        }
    }

    pub(super) fn verdicts(self) -> Vec<Verdict> {
        let verdict = |(expectation, met): (&Expectation, Met<'_>)| match met {
            Met::Figure(figure, bound, tally) => tally.verdict(expectation, figure, bound),
            Met::Findings(which, bound, found) => found.verdict(expectation, which, bound),
        };
        self.0.into_iter().map(verdict).collect()
    }
}
