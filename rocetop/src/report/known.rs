//! What a report may say of times: nothing, where the frames have none (pcapng's simple packet blocks).

use rocetop_analysis::Ledger;
use rocetop_analysis::report::TotalsReport;

use crate::source::CaptureSummary;

/// Figures of a flow that are not known where frames have no times.
pub(super) const NEEDS_TIMES: [&str; 10] = [
    "/first_ns",
    "/last_ns",
    "/story/nak_generation_ns",
    "/story/nak_reaction_ns",
    "/story/message_ns",
    "/story/rtt_ns",
    "/story/timeout_ns",
    "/story/tries_apart_ns",
    "/story/stall_ns",
    "/story/silence_ns",
];

/// Whether no frame of these captures has a time.
pub(super) fn timeless(captures: &[CaptureSummary]) -> bool {
    captures.iter().any(CaptureSummary::is_timeless) && captures.iter().all(|c| c.first_ns.is_none())
}

/// The sums, as far as they are known.
pub(super) fn totals(ledger: &Ledger<'_>, captures: &[CaptureSummary]) -> TotalsReport {
    let mut totals = ledger.totals();
    if timeless(captures) {
        (totals.rate, totals.message_ns) = (None, None);
    }
    totals
}
