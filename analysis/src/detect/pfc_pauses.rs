//! Somebody stopped a sender: pause frames.
//!
//! # What it detects
//! Priority flow control (PFC) frames and global pauses, by priority: frames, resumes, and how long they stop the
//! link in all. From one percent of the capture's time on it is a warning, below it is information. In a capture
//! shorter than 1 ms, such as a simulated one, it is a warning from two pauses and one tenth of the time on: a single
//! pause frame may stop a link for a third of a millisecond.
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
//! mixed up. A capture may hold resumes alone, of pauses from before it or that it missed: then it says so. No pauses
//! seen does not mean that there are none; the counters `rx_prioN_pause` and `tx_prioN_pause` know.
//!
//! # What to do next
//! Find who sends them: a host's network card means that the receiver is the limit, a switch means congestion behind
//! it. In tshark: `macc.opcode == 0x0101 || macc.opcode == 0x0001`
//!
//! # References
//! IEEE 802.3 annex 31B (pause quanta), 31D; IEEE 802.1Qbb.

use super::kit::{counted, time};
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

/// Paused for one part in so many of the time is a warning (chosen: a hundredth of a link is worth a look).
const ONE_IN: u64 = 100;
/// In a shorter capture one pause frame alone makes a share: it stops a link of 100 Gb/s for up to 336 us (65,535
/// quanta of 512 bit times, IEEE 802.3 annex 31B).
const SHORT_NS: u64 = 1_000_000;
/// What counts there: several pauses, and one part in so many of the time (chosen).
const SHORT_PAUSES: u64 = 2;
const SHORT_ONE_IN: u64 = 10;

/// Whether that many pauses stopped the sender for a share of the captured time that matters.
fn is_much(stopped_ns: u64, pauses: u64, captured_ns: u64) -> bool {
    let reaches = |one_in: u64| stopped_ns.saturating_mul(one_in) >= captured_ns;
    if captured_ns >= SHORT_NS { reaches(ONE_IN) } else { pauses >= SHORT_PAUSES && reaches(SHORT_ONE_IN) }
}

fn judge(survey: &Survey, ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let foreign = &ledger.mix().all;
    let begins = [survey.first_ns, (foreign.frames != 0).then_some(foreign.first_at.0)];
    let end = ledger.end_ns();
    for pause in ledger.pauses() {
        let begin = begins.into_iter().flatten().chain([pause.first_ns]).min().unwrap_or_default();
        let captured = end.max(pause.last_ns) - begin;
        let pauses = pause.frames.saturating_sub(pause.resumes);
        let severity =
            if is_much(pause.stopped_400g_ns, pauses, captured) { Severity::Warning } else { Severity::Info };
        let name = pause.priority.map_or("all priorities".to_owned(), |p| format!("priority {p}"));
        let title = title(pauses, pause.resumes, &name, [pause.stopped_400g_ns, pause.stopped_100g_ns]);
        report(
            Finding::of(&RULE, severity, title)
                .during(pause.first_ns, pause.last_ns)
                .shown_by(vec![pause.first_frame, pause.last_frame])
                .with("frames", pause.frames)
                .with("resumes", pause.resumes)
                .with("quanta", pause.quanta)
                .with("stopped_100g_ns", pause.stopped_100g_ns)
                .with("stopped_400g_ns", pause.stopped_400g_ns)
                .with("capture_ns", captured)
                .advice(
                    "Find who sends them by their source MAC: a host is a slow receiver, a switch is congested behind.",
                ),
        );
    }
}

/// What was seen: pauses of `name`, or nothing but the ends of some that were not seen.
fn title(pauses: u64, resumes: u64, name: &str, stopped_ns: [u64; 2]) -> String {
    if pauses == 0 {
        return format!("{} of {name}, and none of the pauses before them", counted(resumes, "resume frame"));
    }
    let [fast, slow] = stopped_ns.map(time);
    format!("{} stopped {name}: {fast} in all at 400 Gb/s, {slow} at 100 Gb/s", counted(pauses, "pause frame"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resumes_alone_stop_nothing() {
        assert_eq!(
            title(0, 7, "priority 3", [0, 0]),
            "7 resume frames of priority 3, and none of the pauses before them"
        );
        let stopped = title(2, 1, "priority 3", [83_884, 335_539]);
        assert_eq!(stopped, "2 pause frames stopped priority 3: 83.9 us in all at 400 Gb/s, 336 us at 100 Gb/s");
    }

    #[test]
    fn a_share_of_the_time() {
        // A long capture: one percent.
        assert!(is_much(10_000, 1, 1_000_000));
        assert!(!is_much(9_999, 50, 1_000_000));
        // A short one: a third of 253 us is much where it took several pauses, one promise is not.
        assert!(is_much(81_000, 12, 253_000));
        assert!(!is_much(81_000, 1, 253_000));
        assert!(!is_much(25_000, 12, 253_000));
        assert!(is_much(25_300, 2, 253_000));
    }
}
