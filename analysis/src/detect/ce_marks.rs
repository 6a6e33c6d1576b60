//! Switches marked packets of a flow: they met a queue that was longer than the marking threshold.
//!
//! # What it detects
//! Requests and READ responses with both ECN bits set (CE). Below one packet in a hundred it is information: that is
//! how congestion control works. From one in a hundred on it is a warning, if at least a hundred packets tell.
//!
//! # Why it hurts
//! Each mark makes the receiver send a congestion notification, and the sender slows down. Some marks are the price
//! of full links; many of them mean that a queue stays full: latency grows, and a pause or a drop is near.
//!
//! # How it decides
//! By the ECN field of requests and responses; marks on ACKs are counted apart and decide nothing. Mirror copies are
//! not counted where they are known as such.
//!
//! # What could fool it
//! A tap before the congested switch sees no marks. A sender that sets CE itself is broken, and looks like
//! congestion.
//!
//! # What to do next
//! Look which flows share the marked flow's way, and whether they arrive together (incast). Compare the switch's
//! marking threshold with the link's speed; ask whether the sender slows down after the notifications. The same
//! frames in tshark: `udp.dstport == 4791 && (ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3)`
//!
//! # References
//! RFC 3168, section 5 (CE); IBTA annex A17.9.1 (ECN of RoCEv2); DCQCN (SIGCOMM 2015), section 3.

use super::kit::{count, counted, road};
use super::{Case, Finding, Judge, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    code: "RT020",
    name: "ce_marks",
    title: "packets were marked by a congested switch",
    severity: Severity::Warning,
    needs: "packets, behind the congested switch",
    source: include_str!("ce_marks.rs"),
    judge: Judge::Connection(judge),
};

/// Marks are a warning from one packet in so many.
const ONE_IN: u64 = 100;
/// Fewer packets do not make a share.
const ENOUGH: u64 = 100;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _) in case.directions() {
        let Some(ce) = flow.marks.as_ref().and_then(|m| m.ce.as_ref()) else { continue };
        let data = flow.requests.packets + flow.responses.packets;
        // Marks count a mirror's copies; the flow's own figure does not, but has the marks on ACKs.
        let marked = ce.count.min(flow.ce);
        let severity = if data >= ENOUGH && marked * ONE_IN >= data { Severity::Warning } else { Severity::Info };
        let title = format!("{} of {} marked CE: {}", count(marked), counted(data, "packet"), road(flow));
        report(
            Finding::of(&RULE, severity, title)
                .about(flow)
                .marked(ce)
                .with_harm("ce", marked)
                .with("packets", data)
                .with("ppm", (marked * 1_000_000).checked_div(data).unwrap_or_default())
                .advice("Find the queue that is full: which flows meet there, and does the sender slow down?"),
        );
    }
}
