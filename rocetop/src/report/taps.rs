//! The report of several taps as one JSON object: the flows, connections and findings of each under ids of their own,
//! and what lies between the taps.

use std::cell::Cell;
use std::io::{self, Write};

use rocetop_analysis::Finding;
use rocetop_analysis::Ledger;
use rocetop_analysis::detect::Findings;
use rocetop_analysis::report::{ConnectionReport, FlowReport, TotalsReport};
use rocetop_analysis::taps::Between;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::json::{Each, Report, SCHEMA};
use super::select::Selection;
use crate::source::CaptureSummary;

/// Something of one tap.
#[derive(serde::Serialize)]
struct Of<'a, T> {
    tap: &'a str,
    #[serde(flatten)]
    what: T,
}

/// The ids of the taps before, which those of a tap go on from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ids {
    flows: u32,
    connections: u32,
    /// Of connection managers.
    pub(crate) exchanges: u32,
}

impl Ids {
    /// Of a flow, that which it has in a report of its own capture alone.
    pub(crate) fn alone(self, flow: u32) -> u32 {
        flow.saturating_sub(self.flows)
    }

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
    let mut parts = Vec::new();
    let mut totals: Option<TotalsReport> = None;
    let mut findings: Vec<Of<'_, Finding>> = Vec::new();
    let mut ids = Ids::default();
    for ((capture, ledger), found) in captures.iter().zip(ledgers).zip(found) {
        let (tap, report) = (capture.path.as_str(), Report { captures, ledger, found, chosen });
        match &mut totals {
            Some(sum) => sum.add(&report.totals()),
            None => totals = Some(report.totals()),
        }
        findings.extend(found.list.iter().cloned().map(|mut what| {
            ids.shift_finding(&mut what);
            Of { tap, what }
        }));
        parts.push(Part { tap, report, ids });
        ids.pass(ledger);
    }
    findings.sort_by_cached_key(|f| f.what.rank());
    serde_json::to_writer(&mut *out, &Whole { captures, totals, parts, between, findings })?;
    out.write_all(b"\n")
}

/// One tap, and the ids of those before.
struct Part<'a> {
    tap: &'a str,
    report: Report<'a>,
    ids: Ids,
}

/// All of it. What may be long is built while it is written.
struct Whole<'a> {
    captures: &'a [CaptureSummary],
    totals: Option<TotalsReport>,
    parts: Vec<Part<'a>>,
    between: &'a Between,
    findings: Vec<Of<'a, Finding>>,
}

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = || self.parts.iter();
        let flows = parts().flat_map(|p| p.report.flows().map(|flow| Of { tap: p.tap, what: p.ids.shift_flow(flow) }));
        let connections = parts().flat_map(|p| {
            p.report.connections().map(|mut what| {
                p.ids.shift_connection(&mut what);
                Of { tap: p.tap, what }
            })
        });
        let exchanges = parts().flat_map(|p| {
            p.report.exchanges().map(|mut what| {
                what.id += p.ids.exchanges;
                Of { tap: p.tap, what }
            })
        });
        let pauses = parts().flat_map(|p| p.report.ledger.pauses().into_iter().map(|what| Of { tap: p.tap, what }));
        let more: u64 = parts().map(|p| p.report.ledger.more_exchanges()).sum();
        let mut whole = serializer.serialize_struct("report", 10)?;
        whole.serialize_field("schema", SCHEMA)?;
        whole.serialize_field("captures", self.captures)?;
        whole.serialize_field("totals", &self.totals)?;
        whole.serialize_field("flows", &Each(Cell::new(Some(flows))))?;
        whole.serialize_field("connections", &Each(Cell::new(Some(connections))))?;
        whole.serialize_field("cm", &Each(Cell::new(Some(exchanges))))?;
        whole.serialize_field("more_cm", &more)?;
        whole.serialize_field("pauses", &Each(Cell::new(Some(pauses))))?;
        whole.serialize_field("taps", &self.between.rows)?;
        whole.serialize_field("findings", &self.findings)?;
        whole.end()
    }
}
