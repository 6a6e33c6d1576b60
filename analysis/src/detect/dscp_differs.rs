//! The two directions of a connection travel in different classes.
//!
//! # What it detects
//! Data (requests, READ responses) of one direction has another DSCP, or another VLAN priority, than data or ACKs of
//! the other.
//!
//! # Why it hurts
//! One direction has the lossless queue and the other one the default queue, where it is dropped or waits behind
//! everything else. The typical report is "one direction is slow". ACKs in the default class are common and most
//! often harmless.
//!
//! # How it decides
//! Notifications are left out, since they have a class of their own. It is information; it becomes a warning when
//! both directions carry data in different classes and requests of one direction alone were lost or repeated.
//!
//! # What could fool it
//! A switch that rewrites the DSCP makes the two ends of a path look different: compare captures of both ends.
//!
//! # What to do next
//! Give both ends the same traffic class (`NCCL_IB_TC`, `cma_roce_tos`), and map ACKs to a high-priority queue on
//! purpose or to the data's. In tshark, for data of DSCP 26:
//! `udp.dstport == 4791 && (ip.dsfield.dscp != 26 || ipv6.tclass.dscp != 26)`
//!
//! # References
//! RFC 2474 (DSCP); IEEE 802.1Q (priority); IBTA annex A17.4.1.

use super::{Case, Finding, Judge, Rule, Severity};
use crate::report::FlowReport;

pub(super) const RULE: Rule = Rule {
    code: "RT030",
    name: "dscp_differs",
    title: "the two directions travel in different classes",
    severity: Severity::Warning,
    needs: "packets of both directions",
    source: include_str!("dscp_differs.rs"),
    judge: Judge::Connection(judge),
};

/// The DSCP of data, else of answers, where there is one alone.
fn class(flow: &FlowReport) -> Option<(u8, bool)> {
    match (flow.data_dscp.as_slice(), flow.answer_dscp.as_slice()) {
        (&[dscp], _) => Some((dscp, true)),
        ([], &[dscp]) => Some((dscp, false)),
        _ => None,
    }
}

fn priority(flow: &FlowReport) -> Option<Option<u8>> {
    match flow.vlan.as_slice() {
        [] => Some(None),
        [tag] => Some(Some(tag.pcp)),
        _ => None,
    }
}

fn harmed(flow: &FlowReport) -> bool {
    flow.requests.seen_again + flow.requests.gaps != 0
}

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    let [one, two] = case.flows else { return };
    if one.mirror_copies + two.mirror_copies != 0 {
        return;
    }
    let (Some((a, a_data)), Some((b, b_data))) = (class(one), class(two)) else { return };
    let tags = priority(one).zip(priority(two)).filter(|(a, b)| a != b);
    if a == b && tags.is_none() {
        return;
    }
    let name = |data: bool| if data { "data" } else { "ACKs" };
    let mut title =
        format!("{} from {} with DSCP {a}, {} from {} with DSCP {b}", name(a_data), one.src, name(b_data), two.src);
    let tag = |pcp: Option<u8>| pcp.map_or("untagged".to_owned(), |pcp| format!("priority {pcp}"));
    if let Some((a, b)) = tags {
        title += &format!(" ({} and {})", tag(a), tag(b));
    }
    let one_sided = a_data && b_data && harmed(one) != harmed(two);
    let severity = if one_sided { Severity::Warning } else { Severity::Info };
    report(
        Finding::of(&RULE, severity, title)
            .about(one)
            .with("dscp", u64::from(a))
            .with("dscp_back", u64::from(b))
            .with_harm("repeats", one.requests.seen_again)
            .with("repeats_back", two.requests.seen_again)
            .advice("Give both ends the same traffic class, or make sure that the switches treat both as lossless."),
    );
}
