//! A responder refused a request for good: the queue pair has failed.
//!
//! # What it detects
//! A NAK with one of the codes that no repeat can mend: invalid request, remote access error, remote operational error.
//!
//! # Why it hurts
//! Both queue pairs go to the error state and all their outstanding work is flushed. A collective library sees a
//! completion error (10 is remote access, 11 remote operation, 9 remote invalid request) and ends the job.
//!
//! # How it decides
//! By the syndrome of the AETH alone.
//!
//! # What could fool it
//! A frame that was damaged on the way; its ICRC tells, and frames with a bad one are not counted.
//!
//! # What to do next
//! Remote access error: the R_Key or the address range of a WRITE, READ or atomic is wrong, or the memory was deregistered
//! meanwhile. Invalid request: a SEND longer than the buffer that was posted for it, or an operation that the queue pair was
//! not opened for. Remote operational error: the responder's side failed; read its log. The same frames in tshark:
//! `infiniband.aeth.syndrome.error_code > 0 && infiniband.aeth.syndrome.opcode == 3`
//!
//! # References
//! IBTA Volume 1, 9.7.5.2.3 to 9.7.5.2.5 (NAK codes), table 46 (syndromes).

use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::marks::SpanReport;

pub(super) const RULE: Rule = Rule {
    code: "RT008",
    name: "fatal_nak",
    title: "a responder refused a request for good",
    severity: Severity::Critical,
    needs: "packets of the responder's direction",
    source: include_str!("fatal_nak.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _) in case.directions() {
        let codes = [
            (flow.naks.invalid_request, "invalid request"),
            (flow.naks.remote_access_error, "remote access error"),
            (flow.naks.remote_operational_error, "remote operational error"),
        ];
        let span = flow.marks.as_ref().and_then(|m| m.fatal_nak.as_ref());
        for (count, name) in codes.into_iter().filter(|&(count, _)| count != 0) {
            report(Finding {
                code: RULE.code,
                severity: Severity::Critical,
                title: format!("{} refused a request of {}: {name}", flow.src, flow.dst),
                flow: Some(flow.id),
                connection: Some(case.connection.id),
                first_ns: span.map_or(flow.first_ns, |s| s.first_ns),
                last_ns: span.map_or(flow.last_ns, |s| s.last_ns),
                frames: span.map(SpanReport::frames).unwrap_or_default(),
                evidence: Evidence::default().with("naks", u64::from(count)).with("error", name.to_owned()),
                advice: "Look at the application and the memory registration at both ends, not at the network."
                    .to_owned(),
            });
        }
    }
}
