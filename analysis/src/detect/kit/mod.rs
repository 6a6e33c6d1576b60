//! What detectors share: words for titles, episodes put together, the frame of a finding.

mod between;
mod episodes;
mod finding;
mod words;

#[cfg(test)]
pub(super) mod cases;

pub(super) use self::between::{lost_between, whereabouts};
pub(super) use self::episodes::{Digest, timeouts};
pub use self::finding::{Evidence, Finding, Severity, Value};
pub(super) use self::words::road;
pub(super) use self::words::{count, counted, part, time};

use super::{Case, Rule};
use crate::report::FlowReport;
use crate::story::report::Near;

/// A finding about the requests of a flow, as bad as the rule can be: time span and frames are those of the episodes, or
/// the flow's where none was kept.
pub(super) fn finding(
    rule: &Rule,
    case: &Case<'_>,
    flow: &FlowReport,
    digest: Option<&Digest>,
    title: String,
) -> Finding {
    Finding {
        code: rule.code,
        severity: rule.severity,
        title,
        flow: Some(flow.id),
        connection: Some(case.connection.id),
        first_ns: digest.map_or(flow.first_ns, |d| d.first_ns),
        last_ns: digest.map_or(flow.last_ns, |d| d.last_ns),
        frames: digest.map(|d| d.frames.clone()).unwrap_or_default(),
        evidence: Evidence::default(),
        advice: String::new(),
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
