//! The report of several taps as one JSON object: the flows, connections and findings of each under ids of their own,
//! and what lies between the taps.

use std::io::{self, Write};

use rocetop_analysis::Ledger;
use rocetop_analysis::detect::Findings;
use rocetop_analysis::engine::exchanges::ExchangeReport;
use rocetop_analysis::report::{ConnectionReport, FlowReport, TotalsReport};
use rocetop_analysis::taps::Between;
use rocetop_analysis::totals::pauses::PauseReport;
use rocetop_analysis::{Finding, taps::TapReport};
use serde::Serialize;

use super::json::{Report, SCHEMA};
use super::select::Selection;
use crate::source::CaptureSummary;

/// Something of one tap.
#[derive(Serialize)]
struct Of<'a, T> {
    tap: &'a str,
    #[serde(flatten)]
    what: T,
}

#[derive(Serialize)]
struct Whole<'a> {
    schema: &'static str,
    captures: &'a [CaptureSummary],
    totals: Option<TotalsReport>,
    flows: Vec<Of<'a, FlowReport>>,
    connections: Vec<Of<'a, ConnectionReport>>,
    cm: Vec<Of<'a, ExchangeReport>>,
    more_cm: u64,
    pauses: Vec<Of<'a, PauseReport>>,
    taps: &'a [TapReport],
    findings: Vec<Of<'a, Finding>>,
}

/// The ids of the taps before, which those of a tap go on from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ids {
    flows: u32,
    connections: u32,
    /// Of connection managers.
    pub(crate) exchanges: u32,
}

impl Ids {
    pub(crate) fn shift_flow(self, mut flow: FlowReport) -> FlowReport {
        flow.id += self.flows;
        flow.connection += self.connections;
        flow.cm.iter_mut().for_each(|terms| terms.exchange += self.exchanges);
        flow
    }

    pub(crate) fn shift_connection(self, connection: &mut ConnectionReport) {
        connection.id += self.connections;
        connection.flows.iter_mut().for_each(|flow| *flow += self.flows);
    }

    pub(crate) fn shift_finding(self, finding: &mut Finding) {
        finding.flow = finding.flow.map(|flow| flow + self.flows);
        finding.connection = finding.connection.map(|connection| connection + self.connections);
    }

    /// Goes on to the next tap.
    pub(crate) fn pass(&mut self, ledger: &Ledger<'_>) {
        self.flows += ledger.len() as u32;
        self.connections += ledger.connections().count() as u32;
        self.exchanges += ledger.exchanges().count() as u32;
    }
}

/// Writes the report, and a line feed. `captures`, `ledgers` and `found` are those of the taps, in their order.
///
/// # Errors
/// Those of the writer.
pub fn write(
    out: &mut impl Write,
    captures: &[CaptureSummary],
    ledgers: &[Ledger<'_>],
    found: &[Findings],
    between: &Between,
    chosen: &Selection,
) -> io::Result<()> {
    let mut totals: Option<TotalsReport> = None;
    let mut whole = Whole {
        schema: SCHEMA,
        captures,
        totals: None,
        flows: Vec::new(),
        connections: Vec::new(),
        cm: Vec::new(),
        more_cm: 0,
        pauses: Vec::new(),
        taps: &between.rows,
        findings: Vec::new(),
    };
    let mut ids = Ids::default();
    for ((capture, ledger), found) in captures.iter().zip(ledgers).zip(found) {
        let (tap, report) = (capture.path.as_str(), Report { captures, ledger, found, chosen });
        match &mut totals {
            Some(sum) => sum.add(&report.totals()),
            None => totals = Some(report.totals()),
        }
        whole.flows.extend(report.flows().map(|flow| Of { tap, what: ids.shift_flow(flow) }));
        whole.connections.extend(report.connections().map(|mut what| {
            ids.shift_connection(&mut what);
            Of { tap, what }
        }));
        whole.cm.extend(ledger.exchanges().map(|mut what| {
            what.id += ids.exchanges;
            Of { tap, what }
        }));
        whole.more_cm += ledger.more_exchanges();
        whole.pauses.extend(ledger.pauses().into_iter().map(|what| Of { tap, what }));
        whole.findings.extend(found.list.iter().cloned().map(|mut what| {
            ids.shift_finding(&mut what);
            Of { tap, what }
        }));
        ids.pass(ledger);
    }
    whole.totals = totals;
    whole.findings.sort_by_cached_key(|f| f.what.rank());
    serde_json::to_writer(&mut *out, &whole)?;
    out.write_all(b"\n")
}
