//! What detectors share: words for titles, episodes put together, the frame of a finding.

mod between;
mod episodes;
mod finding;
mod ways;
mod words;

#[cfg(test)]
pub(super) mod cases;

pub(super) use self::between::{lost_between, whereabouts};
pub(super) use self::episodes::{Digest, FRAMES, timeouts, waited};
pub use self::finding::{Evidence, Finding, Severity, Value};
pub(crate) use self::ways::{Loss, Way, Ways};
pub(super) use self::words::{count, counted, part, road, time};

use super::Rule;
use crate::report::FlowReport;
use crate::story::report::Near;

/// A finding about the requests of a flow, as bad as the rule can be: time span and frames are those of the episodes,
/// or the flow's where none was kept.
pub(super) fn finding(rule: &Rule, flow: &FlowReport, digest: Option<&Digest>, title: String) -> Finding {
    let found = Finding::of(rule, rule.severity, title).about(flow);
    match digest {
        Some(digest) => found.during(digest.first_ns, digest.last_ns).shown_by(digest.frames.clone()),
        None => found,
    }
}

/// Where the tap stands, as the report has it.
pub(super) fn near(near: Near) -> String {
    let name = match near {
        Near::Src => "src",
        Near::Dst => "dst",
        Near::Between => "between",
        Near::Unknown => "unknown",
    };
    name.to_owned()
}
