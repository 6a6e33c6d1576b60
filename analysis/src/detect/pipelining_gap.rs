//! The sender rests between its messages: the link is idle, and it is not the network's doing.
//!
//! # What it detects
//! At least fifty large messages (64 KiB and more) that each began 5 to 50 us after the packet before, where these
//! gaps are a tenth or more of the time that they span.
//!
//! # Why it hurts
//! A message of 128 KiB takes 2.6 us at 400 Gb/s. With a gap of 10 us after each the link is used for a fifth of the
//! time: "13 GB/s where 49 are possible".
//!
//! # How it decides
//! By the time from the last packet of the flow to the First packet of the next large message. Shorter gaps are a
//! network card's own pace, longer ones are compute or waiting, and neither counts. Nothing is said of flows with
//! repeats or marks, where the network may be the cause.
//!
//! # What could fool it
//! A tap far from the sender, behind queues. An application that shares its network card with others.
//!
//! # What to do next
//! More in flight at a time: larger slices or more channels (`NCCL_BUFFSIZE`, `NCCL_IB_QPS_PER_CONNECTION`,
//! `NCCL_MIN_NCHANNELS`), deeper send queues. Look at the processor that posts the work.
//!
//! # References
//! Reports of users (a gap of 10 to 12 us for each step of 128 KiB); NCCL documentation, environment variables.

use super::kit::time;
use super::{Case, Finding, Judge, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    code: "RT062",
    name: "pipelining_gap",
    title: "the sender rests between its messages",
    severity: Severity::Info,
    needs: "packets near the sender",
    source: include_str!("pipelining_gap.rs"),
    judge: Judge::Connection(judge),
};

/// Fewer steps are no rhythm (chosen).
const STEPS: u64 = 50;
/// The gaps are at least one part in so many of the flow's time (chosen: less is not worth a look).
const ONE_IN: u64 = 10;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, _) in case.directions() {
        let Some(habits) = &flow.habits else { continue };
        let life = flow.last_ns.saturating_sub(flow.first_ns);
        if habits.steps < STEPS || habits.step_gap_ns * ONE_IN < life || flow.requests.seen_again != 0 || flow.ce != 0 {
            continue;
        }
        let (gap, step) = (habits.step_gap_ns / habits.steps, habits.step_bytes / habits.steps);
        let title = format!(
            "{} rests {} before each of {} messages of {} KiB: the sender, not the network",
            flow.src,
            time(gap),
            habits.steps,
            step / 1024
        );
        report(
            Finding::of(&RULE, Severity::Info, title)
                .about(flow)
                .shown_by(habits.step_frames.clone())
                .with("steps", habits.steps)
                .with("mean_gap_ns", gap)
                .with("mean_bytes", step)
                .with("gaps_ns", habits.step_gap_ns)
                .with("flow_ns", life)
                .advice("Keep more messages in flight at a time: larger slices, more channels, more queue pairs."),
        );
    }
}
