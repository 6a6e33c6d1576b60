//! Packets of a flow crossed a different number of routers: the path changed.
//!
//! # What it detects
//! Requests and responses, or ACKs, of one flow whose TTL (hop limit) changes from one packet to the next.
//!
//! # Why it hurts
//! It does not by itself. A path that changed explains reordering, a burst of loss and another latency at that
//! moment.
//!
//! # How it decides
//! It compares each packet with the one of its kind before, seen at the same interface. Paths of equal length have
//! equal TTLs, so most changes between equal-cost paths are not seen.
//!
//! # What could fool it
//! A mirror that shows a frame before and behind a router; where the capture holds such copies, nothing is said.
//!
//! # What to do next
//! Compare the time with the switches' logs: a link that went down, routes that were learned anew. In tshark:
//! `udp.dstport == 4791 && (ip.ttl != 63 || ipv6.hlim != 63)`
//!
//! # References
//! RFC 791, section 3.2 (TTL); RFC 8200, section 3 (hop limit).

use super::kit::{counted, road};
use super::{Case, Finding, Judge, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    code: "RT032",
    name: "ttl_change",
    title: "a flow's path changed",
    severity: Severity::Info,
    needs: "packets, behind at least one router",
    source: include_str!("ttl_change.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _) in case.directions().filter(|(flow, _)| flow.mirror_copies == 0) {
        let Some(change) = flow.marks.as_ref().and_then(|m| m.ttl_change.as_ref()) else { continue };
        let ttls: Vec<String> = flow.ttl.iter().map(u8::to_string).collect();
        let title = format!("the TTL changed {} ({}): {}", counted(change.count, "time"), ttls.join(", "), road(flow));
        report(
            Finding::of(&RULE, Severity::Info, title)
                .about(flow)
                .marked(change)
                .with("changes", change.count)
                .advice("Compare the time with link and routing events of the switches."),
        );
    }
}
