//! A sender was told to slow down a hundred times in a row, and did not.
//!
//! # What it detects
//! A train of a hundred congestion notifications (CNPs) and more for one queue pair, each within 100 us of the one
//! before, over which the sender kept at least nine tenths of its rate, and more than 1 Gb/s.
//!
//! # Why it hurts
//! Congestion control does not work for this sender. It takes the bandwidth of those that do slow down, and keeps the
//! queue full until a pause or a drop stops it.
//!
//! # How it decides
//! It compares the bytes sent over the first ten and the last ten intervals between the CNPs of such trains. Under
//! DCQCN a hundred cuts without a pause leave less than a thousandth of the rate. Shorter trains prove nothing, since
//! the first cuts may be small; then nothing is said.
//!
//! # What could fool it
//! A sender that the application keeps below the rate that its network card would still allow: hence the bound of 1
//! Gb/s. A capture that lost packets. A fabric with another congestion control in place of DCQCN may cut less.
//!
//! # What to do next
//! See whether the reaction point is on (mlx5: `/sys/class/net/DEV/ecn/roce_rp/enable/PRIO`), and whether
//! `rp_cnp_handled` or `rp_cnp_ignored` counts at the sender.
//!
//! # References
//! DCQCN (SIGCOMM 2015), section 3.1 (RP algorithm: rate cut by alpha/2, alpha grows by g = 1/256 with each CNP).

use super::{Case, Finding, Judge, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    code: "RT023",
    name: "no_slowdown",
    title: "a sender does not slow down when it is told to",
    severity: Severity::Warning,
    needs: "packets of both directions",
    source: include_str!("no_slowdown.rs"),
    judge: Judge::Connection(judge),
};

/// A sender slower than this may be one that its application keeps below what is allowed (chosen: a hundredth of a link
/// of 100 Gb/s).
const FAST_MBPS: u64 = 1_000;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, back) in case.directions() {
        // A mirror's copies would double the rate.
        if flow.mirror_copies + back.map_or(0, |b| b.mirror_copies) != 0 {
            continue;
        }
        let Some(reaction) = flow.habits.as_ref().and_then(|h| h.reaction.as_ref()) else { continue };
        if reaction.late_mbps < FAST_MBPS || reaction.late_mbps * 10 < reaction.early_mbps * 9 {
            continue;
        }
        let title = format!(
            "{} sent {} Mb/s at the start and {} Mb/s at the end of {} notifications in a row",
            flow.src,
            reaction.early_mbps,
            reaction.late_mbps,
            reaction.cnps / reaction.trains.max(1)
        );
        report(
            Finding::of(&RULE, Severity::Warning, title)
                .about(flow)
                .shown_by(reaction.frames.clone())
                .with("trains", reaction.trains)
                .with("cnps", reaction.cnps)
                .with("early_mbps", reaction.early_mbps)
                .with("late_mbps", reaction.late_mbps)
                .advice(
                    "Look whether the sender's reaction point is switched on for this priority, and at rp_cnp_ignored.",
                ),
        );
    }
}
