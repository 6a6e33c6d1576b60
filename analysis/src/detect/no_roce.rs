//! There is no RoCE in the capture.
//!
//! # What it detects
//! Frames, and none of them RoCE of either version or InfiniBand.
//!
//! # Why it hurts
//! What was meant to be RDMA may run over TCP (NCCL falls back to sockets without saying much), or the tap does not
//! see it: RDMA traffic bypasses the host's network stack.
//!
//! # How it decides
//! By the totals; it tells how much TCP there is instead.
//!
//! # What could fool it
//! A capture filter, a tunnel that is not looked into, encryption.
//!
//! # What to do next
//! `NCCL_DEBUG=INFO` prints `NET/IB` or `NET/Socket`. To see RDMA on a host, capture on the RDMA device (`-i mlx5_0`)
//! or mirror the switch port.
//!
//! # References
//! IBTA annex A17.4.5 (UDP destination port 4791).

use super::kit::counted;
use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;

pub(super) const RULE: Rule = Rule {
    code: "RT037",
    name: "no_roce",
    title: "no RoCE in the capture",
    severity: Severity::Info,
    needs: "packets",
    source: include_str!("no_roce.rs"),
    judge: Judge::Capture(judge),
};

fn judge(ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let totals = ledger.totals();
    let foreign = ledger.mix().all;
    if totals.roce_frames + totals.rocev1_frames + totals.infiniband_frames != 0 || foreign.frames == 0 {
        return;
    }
    let instead = if foreign.tcp != 0 { format!(", {} of them TCP", foreign.tcp) } else { String::new() };
    let title = format!("none of {} is RoCE{instead}", counted(totals.frames, "frame"));
    report(
        Finding::of(&RULE, Severity::Info, title)
            .during(foreign.first_at.0, foreign.last_at.0)
            .shown_by(vec![ledger.frame(foreign.first), ledger.frame(foreign.last)])
            .with("frames", totals.frames)
            .with("tcp_frames", foreign.tcp)
            .advice("See whether the application uses RDMA at all, and whether this tap can see it."),
    );
}
