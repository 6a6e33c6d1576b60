//! Somebody stopped a sender: pause frames.
//!
//! # What it detects
//! Priority flow control (PFC) frames and global pauses, by priority: frames, resumes, and how long they stop the
//! link in all. From one percent of the capture's time on it is a warning, below it is information.
//!
//! # Why it hurts
//! While a priority is paused nothing of it moves, not even what goes elsewhere; the sender's own queue fills and is
//! paused in turn. A receiver that pauses is slower than its link: full buffers, a slow bus, too little memory.
//!
//! # How it decides
//! A pause lasts for its quanta, each 512 bit times, or until the next frame of its priority. A capture does not tell
//! the speed of the link, so the time is given for 100 and for 400 Gb/s, and the severity goes by the shorter of the
//! two.
//!
//! # What could fool it
//! Pause frames live on one link alone: a capture at a host or a port shows those of its own link only, and many
//! network cards keep them from captures altogether. Where the frames of several links come together, the times are
//! mixed up. No pauses seen does not mean that there are none; the counters `rx_prioN_pause` and `tx_prioN_pause`
//! know.
//!
//! # What to do next
//! Find who sends them: a host's network card means that the receiver is the limit, a switch means congestion behind
//! it. In tshark: `macc.opcode == 0x0101 || macc.opcode == 0x0001`
//!
//! # References
//! IEEE 802.3 annex 31B (pause quanta), 31D; IEEE 802.1Qbb.

use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::survey::Survey;

pub(super) const RULE: Rule = Rule {
    code: "RT025",
    name: "pfc_pauses",
    title: "pause frames stopped a sender",
    severity: Severity::Warning,
    needs: "packets of the link that is paused",
    source: include_str!("pfc_pauses.rs"),
    judge: Judge::Survey(judge),
};

/// Paused for one part in so many of the time is a warning.
const ONE_IN: u64 = 100;
/// Captures shorter than this give no share.
const SHORT_NS: u64 = 1_000_000;

fn judge(survey: &Survey, ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let foreign = &ledger.mix().all;
    let begins = [survey.first_ns, (foreign.frames != 0).then_some(foreign.first_at.0)];
    let end = ledger.end_ns();
    for pause in ledger.pauses() {
        let begin = begins.into_iter().flatten().chain([pause.first_ns]).min().unwrap_or_default();
        let time = end.max(pause.last_ns) - begin;
        let least = pause.stopped_400g_ns;
        let severity = if time >= SHORT_NS && least * ONE_IN >= time { Severity::Warning } else { Severity::Info };
        let name = pause.priority.map_or("all priorities".to_owned(), |p| format!("priority {p}"));
        let title = format!(
            "{} pause frames stopped {name} for {} us at 400 Gb/s, {} us at 100 Gb/s",
            pause.frames,
            pause.stopped_400g_ns / 1000,
            pause.stopped_100g_ns / 1000
        );
        report(
            Finding::of(&RULE, severity, title)
                .during(pause.first_ns, pause.last_ns)
                .shown_by(vec![pause.first_frame, pause.last_frame])
                .with("frames", pause.frames)
                .with("resumes", pause.resumes)
                .with("quanta", pause.quanta)
                .with("stopped_100g_ns", pause.stopped_100g_ns)
                .with("stopped_400g_ns", pause.stopped_400g_ns)
                .with("capture_ns", time)
                .advice(
                    "Find who sends them by their source MAC: a host is a slow receiver, a switch is congested behind.",
                ),
        );
    }
}
