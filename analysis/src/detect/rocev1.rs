//! RoCE version 1: frames that no router forwards.
//!
//! # What it detects
//! Frames of EtherType 0x8915.
//!
//! # Why it hurts
//! RoCEv1 has no IP header: it stays within one VLAN, has no DSCP and no ECN, and switches cannot spread it over
//! paths by ports. A host that uses it by accident (a GID of the wrong type) cannot reach peers behind a router.
//!
//! # How it decides
//! By the EtherType.
//!
//! # What could fool it
//! Nothing known.
//!
//! # What to do next
//! Choose a GID of type RoCE v2: `show_gids`, or `/sys/class/infiniband/DEV/ports/1/gid_attrs/types/N`; for NCCL
//! `NCCL_IB_GID_INDEX`. In tshark: `eth.type == 0x8915`
//!
//! # References
//! IBTA annex A16 (RoCE) and A17 (RoCEv2).

use super::kit::counted;
use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::survey::Survey;

pub(super) const RULE: Rule = Rule {
    code: "RT036",
    name: "rocev1",
    title: "RoCE version 1",
    severity: Severity::Info,
    needs: "packets",
    source: include_str!("rocev1.rs"),
    judge: Judge::Survey(judge),
};

fn judge(survey: &Survey, ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let totals = ledger.totals();
    if totals.rocev1_frames == 0 {
        return;
    }
    let (first, last) = (survey.first_ns.unwrap_or_default(), survey.last_ns.unwrap_or_default());
    report(
        Finding::of(&RULE, Severity::Info, format!("{} of RoCE version 1", counted(totals.rocev1_frames, "frame")))
            .during(first, last)
            .with("rocev1_frames", totals.rocev1_frames)
            .with("rocev2_frames", totals.roce_frames)
            .advice("Choose a GID of type RoCE v2, so that the traffic can be routed, classed and marked."),
    );
}
