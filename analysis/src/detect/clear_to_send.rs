//! The receiver gives leave to send: clear-to-send slots, and how fast the sender follows.
//!
//! # What it detects
//! One direction writes nothing but 64-byte slots, and the other one answers with larger messages: NCCL's way of
//! admission, in which a sender starts only when the receiver has posted a buffer and said so.
//!
//! # Why it hurts
//! It does not. The time from slot to data is the sender's part of each step. When it is long, the sender had nothing
//! to send yet (compute, another step); when slots come late, the receiver is the slow one.
//!
//! # How it decides
//! At least eight slots that are nine of ten requests of their direction, and at least eight messages of the other one
//! that followed one. The delay is that from a slot to its message: the first message follows the first slot, and so
//! on. An empty WRITE just behind a large one belongs to that.
//!
//! # What could fool it
//! With several queue pairs for a connection the slots and the data may use different ones; then it is not
//! recognised. A benchmark of 64-byte WRITEs in both directions is not taken for it, since its other direction writes
//! nothing larger.
//!
//! # What to do next
//! Put the slots in a high-priority queue, so that they do not wait behind data. In tshark: `infiniband.bth.opcode ==
//! 10 && infiniband.reth.dmalen == 64`
//!
//! # References
//! NCCL `net_ib.cc` (ncclIbPostFifo, `struct ncclIbSendFifo`); RDMA over Ethernet for Distributed AI Training at Meta
//! Scale (SIGCOMM 2024), section 6 (receiver-driven admission).

use super::kit::time;
use super::{Case, Finding, Judge, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    code: "RT061",
    name: "clear_to_send",
    title: "the receiver gives leave to send",
    severity: Severity::Info,
    needs: "packets of both directions",
    source: include_str!("clear_to_send.rs"),
    judge: Judge::Connection(judge),
};

/// Fewer are no habit (chosen).
const HABIT: u64 = 8;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (data, back) in case.directions() {
        let Some((sender, receiver)) = data.habits.as_ref().zip(back.and_then(|b| b.habits.as_ref())) else { continue };
        let Some(back) = back else { continue };
        let slots = receiver.slots;
        let all_slots = slots >= HABIT && slots * 10 >= back.requests.messages * 9;
        let larger = data.requests.message_bytes > 2 * back.requests.message_bytes;
        if !all_slots || !larger || sender.slots != 0 || sender.cleared < HABIT {
            continue;
        }
        let mean = sender.cleared_mean_ns.unwrap_or_default();
        let title = format!(
            "{} sends when {} gives leave, {} after it on average ({slots} slots)",
            data.src,
            data.dst,
            time(mean)
        );
        report(
            Finding::of(&RULE, Severity::Info, title)
                .about(data)
                .shown_by(receiver.slot_frames.clone())
                .with("slots", slots)
                .with("followed", sender.cleared)
                .with("mean_ns", mean)
                .with("max_ns", sender.cleared_max_ns.unwrap_or_default())
                .advice("A long delay is the sender's: it had nothing to send yet. Late slots are the receiver's."),
        );
    }
}
