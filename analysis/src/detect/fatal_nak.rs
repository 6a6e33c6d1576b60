//! A responder refused a request for good: the queue pair has failed.
//!
//! # What it detects
//! A NAK with one of the codes that no repeat can mend: invalid request, remote access error, remote operational error.
//!
//! # Why it hurts
//! Both queue pairs go to the error state and all their outstanding work is flushed. A collective library sees a
//! completion error (10 is remote access, 11 remote operation, 9 remote invalid request) and ends the job.
//!
//! # How it decides
//! By the syndrome of the AETH alone. The PSN of the NAK is that of the request packet that was refused; where one
//! queue pair sent several such NAKs, of the first, and none where they differ in their code.
//!
//! # What could fool it
//! A frame that was damaged on the way; its ICRC tells, and frames with a bad one are not counted.
//!
//! # What to do next
//! Remote access error: the R_Key or the address range of a WRITE, READ or atomic is wrong, or the memory was
//! deregistered meanwhile. Invalid request: a SEND longer than the buffer that was posted for it, or an operation that
//! the queue pair was not opened for. Remote operational error: the responder's side failed; read its log.
//!
//! What was asked for, the opcode with R_Key, address and length, is in the request itself, which the advice gives a
//! filter for. Of a message of several packets the first one has them, a few PSNs before. The NAKs in tshark:
//!
//! ```text
//! infiniband.aeth.syndrome.opcode == 3 && infiniband.aeth.syndrome.error_code > 0
//! ```
//!
//! # References
//! IBTA Volume 1, 9.7.5.2.3 to 9.7.5.2.5 (NAK codes), table 46 (syndromes).

use super::kit::{Digest, finding};
use super::{Case, Evidence, Finding, Judge, Rule, Severity};
use crate::report::FlowReport;
use crate::story::StoryReport;
use crate::story::report::Kind;

pub(super) const RULE: Rule = Rule {
    code: "RT008",
    name: "fatal_nak",
    title: "a responder refused a request for good",
    severity: Severity::Critical,
    needs: "packets of the responder's direction",
    source: include_str!("fatal_nak.rs"),
    judge: Judge::Connection(judge),
};

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, back) in case.directions() {
        let codes = [
            (flow.naks.invalid_request, "invalid request"),
            (flow.naks.remote_access_error, "remote access error"),
            (flow.naks.remote_operational_error, "remote operational error"),
        ];
        // The requests that failed are the other direction's, and so is their story.
        let story = back.and_then(|b| b.story.as_ref());
        let digest = story.and_then(|s| Digest::of(s, |e| e.kind == Kind::FatalNak));
        // Of several codes nobody knows whose the first PSN is.
        let alone = codes.iter().filter(|&&(count, _)| count != 0).count() == 1;
        let refused = |s: &StoryReport| s.episodes.iter().find(|e| e.kind == Kind::FatalNak).map(|e| e.psn[0]);
        let psn = story.filter(|_| alone).and_then(refused);
        for (count, name) in codes.into_iter().filter(|&(count, _)| count != 0) {
            // Of the two numbers the one that is known: a flow has that of the receiver.
            let title = match back {
                Some(b) => format!("{} qp {} refused a request of {}: {name}", flow.src, b.dst_qp, flow.dst),
                None => format!("{} refused a request of {} qp {}: {name}", flow.src, flow.dst, flow.dst_qp),
            };
            let mut evidence = Evidence::default().with("naks", u64::from(count)).with("error", name.to_owned());
            if let Some(psn) = psn {
                evidence = evidence.with("psn", u64::from(psn));
            }
            let advice = advice(back.zip(psn));
            report(Finding { evidence, advice, ..finding(&RULE, flow, digest.as_ref(), title) });
        }
    }
}

/// What to do; of the refused request the flow and the PSN, where they are known.
fn advice(refused: Option<(&FlowReport, u32)>) -> String {
    let usual = "Look at the application and the memory registration at both ends, not at the network.";
    match refused {
        Some((flow, psn)) => format!(
            "{usual} Its operation, R_Key, address and length are in the request: `infiniband.bth.destqp == {} && \
             infiniband.bth.psn == {psn}` in tshark, or the first packet of that message.",
            flow.dst_qp
        ),
        None => usual.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::report::FrameRef;
    use crate::story::StoryReport;

    #[test]
    fn the_error_has_its_name() {
        let episodes = vec![episode(Kind::FatalNak, None, 7, &[4])];
        let mut flows = cases::flows(StoryReport { episodes, ..StoryReport::default() }, 0);
        flows[1].naks.remote_access_error = 1;
        let found = cases::one(&RULE, &flows);
        assert_eq!(found.title, "10.9.2.1 qp 20 refused a request of 10.9.1.1: remote access error");
        assert!(
            found.advice.contains("`infiniband.bth.destqp == 20 && infiniband.bth.psn == 500`"),
            "{}",
            found.advice
        );
        assert!(found.evidence.0.contains(&("psn", Value::Number(500))));
        assert_eq!((found.severity, found.flow, found.first_ns), (Severity::Critical, Some(1), 7));
        assert_eq!(found.frames, [FrameRef::Place(4)]);
        // The answers alone are enough.
        let alone = cases::one(&RULE, &flows[1..]);
        assert_eq!(alone.title, "10.9.2.1 refused a request of 10.9.1.1 qp 17: remote access error");
    }

    #[test]
    fn a_sequence_error_can_be_mended() {
        assert!(cases::findings(&RULE, &cases::flows(StoryReport::default(), 3)).is_empty());
    }
}
