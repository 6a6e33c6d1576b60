//! Cases made by hand, for the tests of detectors.

use super::super::{Case, Finding, Judge, Rule};
use crate::engine::Grade;
use crate::report::{ConnectionReport, FlowReport, FrameRef, NaksReport, RequestsReport, ResponsesReport};
use crate::story::StoryReport;
use crate::story::report::{Cause, EpisodeReport, Kind};
use crate::taps::Told;

/// When the flows of a case begin and end, and its capture ends.
pub(in crate::detect) const FIRST: u64 = 0;
pub(in crate::detect) const LAST: u64 = 1_000_000_000;
pub(in crate::detect) const END: u64 = 60_000_000_000;

/// A thousand requests of 10.9.1.1, without a story.
pub(in crate::detect) fn flow() -> FlowReport {
    FlowReport {
        id: 0,
        src: "10.9.1.1".into(),
        dst: "10.9.2.1".into(),
        dst_qp: 20,
        transport: "RC",
        class: "rocev2",
        epoch: 0,
        udp_sports: vec![49552],
        dscp: vec![0],
        vlan: Vec::new(),
        ttl: vec![64],
        more_values: false,
        src_qp: None,
        packets: 1_000,
        bytes: 1_000_000,
        first_ns: FIRST,
        last_ns: LAST,
        first_frame: 1,
        connection: 0,
        mtu: Some(1024),
        mirror_copies: 0,
        icrc_bad: 0,
        requests: RequestsReport {
            packets: 1_000,
            first_psn: Some(100),
            next_psn: Some(1_100),
            messages: 100,
            message_bytes: 1_000_000,
            seen_again: 0,
            behind: 0,
            filled: 0,
            gaps: 0,
            gap_psns: 0,
            never_seen: 0,
        },
        responses: ResponsesReport::default(),
        acks: 0,
        naks: naks(0),
        rnr_naks: 0,
        cnps: 0,
        ce: 0,
        story: None,
        ..FlowReport::default()
    }
}

/// That many sequence errors.
pub(in crate::detect) fn naks(psn_sequence_error: u32) -> NaksReport {
    NaksReport { psn_sequence_error, invalid_request: 0, remote_access_error: 0, remote_operational_error: 0, other: 0 }
}

/// Requests with this story, and the other direction, which answers with that many sequence errors.
pub(in crate::detect) fn flows(story: StoryReport, sequence_errors: u32) -> [FlowReport; 2] {
    let answers = FlowReport {
        id: 1,
        src: "10.9.2.1".into(),
        dst: "10.9.1.1".into(),
        dst_qp: 17,
        acks: 100,
        naks: naks(sequence_errors),
        ..flow()
    };
    [FlowReport { story: Some(story), ..flow() }, answers]
}

/// An episode of 100 ns about one packet, with 4 repeats.
pub(in crate::detect) fn episode(kind: Kind, cause: Option<Cause>, first_ns: u64, frames: &[u64]) -> EpisodeReport {
    EpisodeReport {
        kind,
        cause,
        first_ns,
        last_ns: first_ns + 100,
        frames: frames.iter().map(|&n| FrameRef::Place(n)).collect(),
        psn: [500, 500],
        packets: 1,
        repeats: 4,
        waited_ns: None,
    }
}

/// What a rule says about a connection of these flows, in a capture that ends then.
pub(in crate::detect) fn findings_until(rule: &Rule, flows: &[FlowReport], end_ns: u64) -> Vec<Finding> {
    judged(rule, flows, end_ns, &[])
}

/// What it says beside other taps, which tell this about the first flow.
pub(in crate::detect) fn beside(rule: &Rule, flows: &[FlowReport], told: Told) -> Vec<Finding> {
    judged(rule, flows, END, &[Some(told), None])
}

/// Lets `look` see these flows as one connection, of which the taps tell this.
pub(in crate::detect) fn case(flows: &[FlowReport], end_ns: u64, told: &[Option<Told>], look: impl FnOnce(&Case<'_>)) {
    let connection = ConnectionReport {
        id: 0,
        flows: flows.iter().map(|f| f.id).collect(),
        paired_by: if flows.len() == 2 { Grade::PortHash } else { Grade::Unpaired },
    };
    look(&Case { connection: &connection, flows, end_ns, told });
}

fn judged(rule: &Rule, flows: &[FlowReport], end_ns: u64, told: &[Option<Told>]) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Judge::Connection(judge) = rule.judge {
        case(flows, end_ns, told, |case| judge(case, &mut |finding| found.push(finding)));
    }
    assert!(found.iter().all(|f| f.title.len() <= 100 && !f.advice.is_empty()), "{found:?}");
    found
}

/// The same, in a capture that goes on for long.
pub(in crate::detect) fn findings(rule: &Rule, flows: &[FlowReport]) -> Vec<Finding> {
    findings_until(rule, flows, END)
}

/// The only finding.
pub(in crate::detect) fn one(rule: &Rule, flows: &[FlowReport]) -> Finding {
    let mut found = findings(rule, flows);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}
