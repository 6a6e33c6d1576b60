//! RoCE data that switches cannot mark.
//!
//! # What it detects
//! Flows whose requests and READ responses all have an ECN field of 0 (not ECN-capable).
//!
//! # Why it hurts
//! A switch whose queue grows marks packets that allow it and drops those that do not. Without the mark there is no
//! notification, and congestion control (DCQCN) never learns of the queue.
//!
//! # How it decides
//! It speaks up only where ECN matters: other flows are ECN-capable, notifications were seen, such a flow has a DSCP
//! of its own, or its packets were missing or sent again. It goes by the ECN field of flows with at least sixteen
//! data packets; management (queue pair 1) is left out. All such flows are one finding.
//!
//! # What could fool it
//! Fabrics that rely on pauses alone, or on delay, need no ECN. Hence it is information. A capture taken on a host
//! may show a field that the network card sets later.
//!
//! # What to do next
//! Set the traffic class with the ECN bits (`NCCL_IB_TC=106` is DSCP 26 with ECT(0)) or let the network card set them
//! (mlx5: `cma_roce_tos`, `ecn` for the priority). In tshark:
//! `udp.dstport == 4791 && (ip.dsfield.ecn == 0 || ipv6.tclass.ecn == 0)`
//!
//! # References
//! RFC 3168, section 5; IBTA annex A17.9.1.

use super::kit::part;
use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::survey::Survey;

pub(super) const RULE: Rule = Rule {
    code: "RT027",
    name: "not_ect",
    title: "data that switches cannot mark",
    severity: Severity::Info,
    needs: "packets",
    source: include_str!("not_ect.rs"),
    judge: Judge::Survey(judge),
};

fn judge(survey: &Survey, ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let Some(flow) = survey.first_not_capable.and_then(|id| ledger.flow(id)) else { return };
    if survey.capable == 0 && survey.exposed == 0 && ledger.totals().cnp == 0 {
        return;
    }
    let all = survey.not_capable + survey.capable;
    let title = match survey.not_capable {
        1 => format!("{} sends its data as not ECN-capable", part(1, all, "flow")),
        n => format!("{} send their data as not ECN-capable", part(n, all, "flow")),
    };
    report(
        Finding::of(&RULE, Severity::Info, title)
            .during(flow.first_ns, flow.last_ns)
            .with("flows", survey.not_capable)
            .with("capable_flows", survey.capable)
            .with("first_flow", u64::from(flow.id))
            .advice(
                "Where congestion control by ECN is wanted, set the ECN bits of the traffic class to ECT(0) or ECT(1).",
            ),
    );
}
