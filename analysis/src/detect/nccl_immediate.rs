//! Empty WRITEs with immediate data: how a collective library says that a message is complete.
//!
//! # What it detects
//! WRITEs of 0 bytes with immediate: just after each large WRITE, or on their own.
//!
//! # Why it hurts
//! It does not, and it is no loss. It tells how the library is set: with adaptive routing on, NCCL sends the data as
//! a plain WRITE and a second, empty one with immediate behind it, since data may arrive out of order; with it off,
//! the data's own last packet carries the immediate. Empty ones on their own are sends of length zero.
//!
//! # How it decides
//! At least eight empty ones, each just after the Last packet of a WRITE, make the first kind when they are four of
//! five empty ones or more.
//!
//! # What could fool it
//! Any other application that works this way.
//!
//! # What to do next
//! If the network does not balance by packet, `NCCL_IB_ADAPTIVE_ROUTING=0` spares a message for each large one. In
//! tshark: `infiniband.bth.opcode == 11 && infiniband.reth.dmalen == 0`
//!
//! # References
//! NCCL `net_ib.cc` (ncclIbMultiSend: adaptive routing above `NCCL_IB_AR_THRESHOLD`, 8192 bytes).

use super::kit::counted;
use super::{Case, Finding, Judge, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    code: "RT060",
    name: "nccl_immediate",
    title: "empty WRITEs with immediate",
    severity: Severity::Info,
    needs: "packets",
    source: include_str!("nccl_immediate.rs"),
    judge: Judge::Connection(judge),
};

/// Fewer are no habit (chosen).
const HABIT: u64 = 8;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _) in case.directions() {
        let Some(habits) = &flow.habits else { continue };
        let all = habits.notices + habits.empty_writes;
        if all < HABIT {
            continue;
        }
        let adaptive = habits.notices * 5 >= all * 4;
        let title = if adaptive {
            format!("{} sends an empty WRITE with immediate after each large one: adaptive-routing mode", flow.src)
        } else {
            format!("{} sent {} with immediate: sends of length zero", flow.src, counted(all, "empty WRITE"))
        };
        report(
            Finding::of(&RULE, Severity::Info, title)
                .about(flow)
                .shown_by(habits.empty_frames.clone())
                .with("after_large", habits.notices)
                .with("alone", habits.empty_writes)
                .with("messages", flow.requests.messages)
                .advice(
                    "Nothing is wrong. Where no switch balances by packet, NCCL_IB_ADAPTIVE_ROUTING=0 spares a \
                     message.",
                ),
        );
    }
}
