//! One pass over a report: every expectation sees every part that it is about.

use rocetop_analysis::Ledger;
use rocetop_analysis::report::TotalsReport;
use rocetop_analysis::taps::Between;
use serde_json::Value;

use super::file::Expectation;
use super::findings::Found;
use super::language::{Bound, That, Which};
use super::names::{Figure, Scope};
use super::shape::json;
use super::tally::{Tally, Verdict};
use super::walk::selected;
use crate::report::taps::Ids;
use crate::source::CaptureSummary;

/// Judges a finished run: one vantage point, or several and what lies between them. Flows are looked at one connection
/// at a time, so a million take no more memory than two.
#[must_use]
pub fn evaluate(
    expectations: &[Expectation],
    captures: &[CaptureSummary],
    ledgers: &[Ledger<'_>],
    between: &Between,
) -> Vec<Verdict> {
    let mut all = Running::new(expectations);
    // A sum has fewer figures than what it is a sum of.
    let sum = |mut sum: TotalsReport, more| {
        sum.add(&more);
        sum
    };
    let totals = ledgers.iter().map(Ledger::totals).reduce(sum).unwrap_or_default();
    all.part(Scope::Totals, &json(totals), &[]);
    for capture in captures {
        all.part(Scope::Capture, &json(capture), &[]);
    }
    for row in &between.rows {
        all.part(Scope::Tap, &json(row), &[]);
    }
    let mut ids = Ids::default();
    let mut findings = Vec::new();
    for (tap, ledger) in ledgers.iter().enumerate() {
        all.ledger(ledger, ids);
        if all.needs_findings() {
            let mut found = ledger.findings_of(None, Some((between, tap)));
            if let Some(paths) = &found.paths {
                all.part(Scope::Paths, &json(paths), &[]);
            }
            found.list.iter_mut().for_each(|finding| ids.shift_finding(finding));
            findings.push(found);
        }
        ids.pass(ledger);
    }
    for found in findings {
        for finding in &found.list {
            all.part(Scope::Finding, &json(finding), &[]);
        }
        for &(code, more) in &found.more {
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

    /// Shows what one vantage point saw, under ids of its own.
    fn ledger(&mut self, ledger: &Ledger<'_>, ids: Ids) {
        if self.needs(&[Scope::Exchange]) {
            for mut exchange in ledger.exchanges() {
                exchange.id += ids.exchanges;
                self.part(Scope::Exchange, &json(exchange), &[]);
            }
        }
        for pause in ledger.pauses() {
            self.part(Scope::Pause, &json(pause), &[]);
        }
        if !self.needs_flows() {
            return;
        }
        for mut connection in ledger.connections() {
            let flows = connection.flows.iter().filter_map(|&id| ledger.flow(id));
            let flows: Vec<Value> = flows.map(|flow| json(ids.shift_flow(flow))).collect();
            ids.shift_connection(&mut connection);
            self.part(Scope::Connection, &json(&connection), &flows);
            for flow in &flows {
                self.part(Scope::Flow, flow, &flows);
            }
        }
    }

    fn needs_flows(&self) -> bool {
        let selects = |(expectation, met): &(&Expectation, Met<'_>)| match met {
            Met::Figure(..) => false,
            Met::Findings(..) => !expectation.select.is_empty(),
        };
        self.needs(&[Scope::Flow, Scope::Connection]) || self.0.iter().any(selects)
    }

    /// Whether some figure is of one of these parts.
    fn needs(&self, scopes: &[Scope]) -> bool {
        self.0.iter().any(|(_, met)| matches!(met, Met::Figure(figure, ..) if scopes.contains(&figure.scope)))
    }

    fn needs_findings(&self) -> bool {
        self.needs(&[Scope::Finding, Scope::Paths]) || self.0.iter().any(|(_, met)| matches!(met, Met::Findings(..)))
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
