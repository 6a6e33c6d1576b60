//! The report as one JSON object: `rocetop.report/1`. Flows are written as they are read, so a million of them take
//! no more memory than one.

use std::cell::Cell;
use std::io::{self, Write};

use rocetop_analysis::Ledger;
use rocetop_analysis::counted::NEEDS_PACKETS;
use rocetop_analysis::detect::Findings;
use rocetop_analysis::engine::exchanges::ExchangeReport;
use rocetop_analysis::report::{ConnectionReport, FlowReport, TotalsReport};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::known::{self, NEEDS_TIMES};
use super::select::Selection;
use crate::source::CaptureSummary;

/// Name and version of the contract.
pub const SCHEMA: &str = "rocetop.report/1";

/// Writes the report, and a line feed.
///
/// # Errors
/// Those of the writer.
pub fn write(
    out: &mut impl Write,
    captures: &[CaptureSummary],
    ledger: &Ledger<'_>,
    found: &Findings,
    chosen: &Selection,
) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Report { captures, ledger, found, chosen })?;
    out.write_all(b"\n")
}

/// What is written.
pub(super) struct Report<'a> {
    pub(super) captures: &'a [CaptureSummary],
    pub(super) ledger: &'a Ledger<'a>,
    pub(super) found: &'a Findings,
    pub(super) chosen: &'a Selection,
}

impl Serialize for Report<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut report = serializer.serialize_struct("report", 11)?;
        report.serialize_field("schema", SCHEMA)?;
        report.serialize_field("captures", self.captures)?;
        report.serialize_field("totals", &self.totals())?;
        let timeless = known::timeless(self.captures);
        let flows = self.flows().map(|flow| self.known(flow, timeless));
        report.serialize_field("flows", &Each(Cell::new(Some(flows))))?;
        report.serialize_field("connections", &Each(Cell::new(Some(self.connections()))))?;
        report.serialize_field("cm", &Each(Cell::new(Some(self.exchanges()))))?;
        report.serialize_field("more_cm", &self.ledger.more_exchanges())?;
        report.serialize_field("pauses", &self.ledger.pauses())?;
        report.serialize_field("paths", &self.found.paths)?;
        report.serialize_field("taps", &[(); 0])?;
        // Detectors judge packets: of sums nothing is found, and not that there is nothing.
        let found = (!self.ledger.is_counted()).then_some(&self.found.list);
        report.serialize_field("findings", &found)?;
        report.end()
    }
}

/// A flow, as far as it is known.
#[derive(Serialize)]
#[serde(untagged)]
enum Known {
    Whole(Box<FlowReport>),
    /// What needs packets or times is null.
    Partly(serde_json::Value),
    /// Cannot be written.
    None,
}

impl Report<'_> {
    fn known(&self, flow: FlowReport, timeless: bool) -> Known {
        if !self.ledger.is_counted() && !timeless {
            return Known::Whole(Box::new(flow));
        }
        let behind = flow.requests.behind != 0;
        let Ok(mut value) = serde_json::to_value(flow) else { return Known::None };
        // Messages that were sent again are counted again.
        let messages = behind.then_some("/requests/messages");
        let packets = NEEDS_PACKETS.into_iter().chain(messages).filter(|_| self.ledger.is_counted());
        for pointer in packets.chain(NEEDS_TIMES.into_iter().filter(|_| timeless)) {
            if let Some(figure) = value.pointer_mut(pointer) {
                *figure = serde_json::Value::Null;
            }
        }
        Known::Partly(value)
    }

    /// The sums, as far as they are known.
    pub(super) fn totals(&self) -> TotalsReport {
        known::totals(self.ledger, self.captures)
    }

    pub(super) fn connections(&self) -> impl Iterator<Item = ConnectionReport> + '_ {
        self.ledger.connections().filter(|c| {
            let flows = || c.flows.iter().filter_map(|&f| self.ledger.flow(f)).collect::<Vec<_>>();
            self.chosen.is_all() || self.chosen.fits(&flows())
        })
    }

    pub(super) fn exchanges(&self) -> impl Iterator<Item = ExchangeReport> + '_ {
        // Only a chosen flow needs to be looked at.
        let flows: Vec<FlowReport> = self.chosen.flow.iter().flat_map(|_| self.flows()).collect();
        self.ledger.exchanges().filter(move |exchange| self.chosen.concerns(exchange, &flows))
    }

    pub(super) fn flows(&self) -> impl Iterator<Item = FlowReport> + '_ {
        let mut ids: Option<Vec<u32>> = None;
        if !self.chosen.is_all() {
            let mut chosen: Vec<u32> = self.connections().flat_map(|c| c.flows).collect();
            chosen.sort_unstable();
            ids = Some(chosen);
        }
        let all = if ids.is_none() { 0..self.ledger.len() as u32 } else { 0..0 };
        all.chain(ids.into_iter().flatten()).filter_map(|id| self.ledger.flow(id))
    }
}

/// An iterator written as an array while it runs.
pub(super) struct Each<I>(pub(super) Cell<Option<I>>);

impl<I: Iterator<Item: Serialize>> Serialize for Each<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.take().into_iter().flatten())
    }
}
