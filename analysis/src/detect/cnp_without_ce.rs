//! A sender was told to slow down, and no mark was seen that would explain it.
//!
//! # What it detects
//! Congestion notification packets (CNPs) for a flow of which no packet was marked CE at this tap.
//!
//! # Why it hurts
//! The sender slows down. If the network is not congested, the rate is lost for nothing.
//!
//! # How it decides
//! It needs the data and the notifications of one connection. When the receiver also sent NAKs for a sequence error,
//! it says so: some network cards treat loss as congestion and notify on each of them (slow restart). That is the
//! likely reason where there are as many NAKs as notifications, and the tap is not at the sender's end, where no mark
//! can be seen yet.
//!
//! # What could fool it
//! Most often nothing is wrong: a tap at the sender's end sees the packets before a switch marks them. So this is
//! information, and tells at which end the tap stands where that is known.
//!
//! # What to do next
//! Capture at the receiver's end. No marks there either: look for lost packets, and at the receiver's counters
//! `np_ecn_marked_roce_packets` and `np_cnp_sent`, and at `roce_slow_restart_cnps` on the sender. In tshark:
//! `infiniband.bth.opcode == 0x81`
//!
//! # References
//! IBTA annex A17.9.3 and A17.9.4; Linux `mlx5` hw_counters (roce_slow_restart_cnps).

use super::kit::{counted, road};
use super::{Case, Finding, Judge, Rule, Severity};
use crate::story::report::Near;

pub(super) const RULE: Rule = Rule {
    code: "RT021",
    name: "cnp_without_ce",
    title: "congestion notifications without marks",
    severity: Severity::Info,
    needs: "packets of both directions",
    source: include_str!("cnp_without_ce.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (data, back) in case.directions() {
        let Some(back) = back else { continue };
        let Some(cnp) = back.marks.as_ref().and_then(|m| m.cnp.as_ref()) else { continue };
        let sent = data.requests.packets + data.responses.packets;
        if sent == 0 || data.ce != 0 {
            continue;
        }
        let naks = u64::from(back.naks.psn_sequence_error);
        let near = data.story.as_ref().map(|s| s.near).unwrap_or_default();
        let why = match near {
            Near::Src if naks != 0 => {
                "the tap stands before the switches that mark, and loss was reported too, which some NICs notify of"
            }
            // One NAK makes one notification at most.
            _ if naks != 0 && naks >= back.cnps => {
                "its receiver also reported lost packets: a slow restart after loss, most likely"
            }
            Near::Src => "the tap stands at the sender, before the switches that mark",
            Near::Dst => "the tap stands at the receiver, where marks would be seen",
            Near::Between | Near::Unknown => "the tap may stand before the switch that marks",
        };
        let title = format!("{} and no marked packet here, {why}: {}", counted(back.cnps, "CNP"), road(data));
        report(
            Finding::of(&RULE, Severity::Info, title)
                .about(data)
                .marked(cnp)
                .with("cnps", back.cnps)
                .with("packets", sent)
                .with("sequence_naks", naks)
                .advice(
                    "Capture at the receiver's end: marks there mean congestion; without them loss or the receiver \
                     itself causes the notifications.",
                ),
        );
    }
}
