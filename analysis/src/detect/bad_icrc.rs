//! Frames were damaged on the way: their invariant CRC is wrong.
//!
//! # What it detects
//! RoCE frames whose ICRC does not fit their bytes, by pair of hosts.
//!
//! # Why it hurts
//! The receiver drops them silently, and few of them count it: to the sender it looks like loss, and costs a
//! retransmission or a timeout. Damage is no congestion: no buffer and no congestion control will mend it.
//!
//! # How it decides
//! The ICRC of every whole frame is computed again. Frames that the capture cut are unknown, never bad. A damaged
//! frame may lie about its addresses too, so only those that belong to a known flow are told by path; the rest is
//! told as a sum.
//!
//! # What could fool it
//! Where not one frame is good, the capture is taken before the sender's network card fills in the ICRC, or the tap
//! rewrites frames; then this is information.
//!
//! # What to do next
//! Cables, optics and connectors on that path: symbol errors and FEC counters of each port. Two taps tell on which
//! side of a switch it happens: a switch forwards damage that came with a good Ethernet checksum.
//!
//! # References
//! IBTA 7.8.1 and annex A17.4.7 (ICRC of RoCEv2).

use super::kit::counted;
use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::survey::Survey;

pub(super) const RULE: Rule = Rule {
    code: "RT040",
    name: "bad_icrc",
    title: "frames were damaged on the way",
    severity: Severity::Warning,
    needs: "packets that are not cut",
    source: include_str!("bad_icrc.rs"),
    judge: Judge::Survey(judge),
};

fn judge(survey: &Survey, ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let icrc = ledger.totals().icrc;
    if icrc.bad == 0 {
        return;
    }
    let advice = "Look at cables, optics and error counters of the ports on this path; it is not congestion.";
    let mut left = icrc.bad;
    for ((src, dst), pair) in survey.pairs.iter().filter(|(_, pair)| pair.icrc_bad != 0) {
        left = left.saturating_sub(pair.icrc_bad);
        let spans = pair.damaged.iter().filter_map(|&id| ledger.flow(id)?.marks?.icrc_bad);
        let mut found = Finding::of(
            &RULE,
            Severity::Warning,
            format!("{} damaged on the way from {src} to {dst}", counted(pair.icrc_bad, "frame")),
        );
        for span in spans {
            let first = if found.first_ns == 0 { span.first_ns } else { found.first_ns.min(span.first_ns) };
            (found.first_ns, found.last_ns) = (first, found.last_ns.max(span.last_ns));
            found.frames.extend(span.frames());
        }
        report(
            found
                .with_harm("bad", pair.icrc_bad)
                .with("good", pair.packets)
                .with("flows", pair.damaged.len() as u64)
                .advice(advice),
        );
    }
    if left == 0 {
        return;
    }
    let none_good = icrc.ok == 0;
    let severity = if none_good { Severity::Info } else { Severity::Warning };
    let title = if none_good {
        format!("none of {left} frames has a valid ICRC: the tap stands before it is computed, or changes frames")
    } else {
        format!("{left} damaged frames belong to no flow that was known by then")
    };
    let (first, last) = (survey.first_ns.unwrap_or_default(), survey.last_ns.unwrap_or_default());
    report(
        Finding::of(&RULE, severity, title)
            .during(first, last)
            .with_harm("bad", left)
            .with("good", icrc.ok)
            .advice(if none_good { "Capture behind the network card: on the wire, or at the peer." } else { advice }),
    );
}
