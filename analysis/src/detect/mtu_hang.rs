//! Small messages pass, and the first larger one is sent again and again without an answer.
//!
//! # What it detects
//! A reliable connection whose requests up to some size were acknowledged, whose first larger request was sent at
//! least four times, and on which nothing from that one on was ever answered.
//!
//! # Why it hurts
//! The connection hangs until its retries are spent ("error 12"), and again after each attempt to set it up. It looks
//! like a dead peer, but pings and small messages pass.
//!
//! # How it decides
//! By the size of request packets (of a READ, by what it asks for), the repeats of the first one that is larger than
//! all before it, and the highest PSN that the other side acknowledged. A NAK of any kind is an answer, and then this
//! rule is silent.
//!
//! # What could fool it
//! A path that died just when the first larger message was sent looks the same. So does a capture that misses the way
//! back, hence answers to the earlier requests must have been seen.
//!
//! # What to do next
//! Compare the MTU on both hosts and on each switch of the path: a RoCE path MTU of 4096 needs an interface MTU of at
//! least 4200. `ping -M do -s 4172 PEER` shows the same hang without RDMA.
//!
//! # References
//! IBTA 9.7.5.1 (acknowledgement), 9.7.6.1.3 (retry), annex A17.4.5 (frames: 4096 bytes and headers).

use super::{Case, Finding, Judge, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    code: "RT034",
    name: "mtu_hang",
    title: "the first larger message is never answered",
    severity: Severity::Warning,
    needs: "packets of both directions",
    source: include_str!("mtu_hang.rs"),
    judge: Judge::Connection(judge),
};

/// Repeats that are no accident of the end of the capture.
const REPEATS: u32 = 3;

fn judge(case: &Case<'_>, report: &mut dyn FnMut(Finding)) {
    for (flow, peer) in case.directions() {
        let (Some(stuck), Some(peer)) = (&flow.stuck, peer) else { continue };
        let refused = peer.naks.total() + u64::from(peer.rnr_naks) != 0;
        let answers = peer.acks + peer.responses.packets;
        if stuck.repeats < REPEATS || flow.transport != "RC" || refused || answers == 0 {
            continue;
        }
        let title = format!(
            "{} bytes from {} to {} were sent {} times without an answer; requests up to {} bytes pass",
            stuck.bytes,
            flow.src,
            flow.dst,
            u64::from(stuck.repeats) + 1,
            stuck.passed_bytes
        );
        report(
            Finding::of(&RULE, Severity::Warning, title)
                .about(flow)
                .during(flow.first_ns, stuck.last_ns)
                .shown_by(vec![stuck.first_frame.clone(), stuck.last_frame.clone()])
                .with("passed_bytes", u64::from(stuck.passed_bytes))
                .with("stuck_bytes", u64::from(stuck.bytes))
                .with_harm("repeats", u64::from(stuck.repeats))
                .with("psn", u64::from(stuck.psn))
                .advice("Compare the MTU on both hosts and on every switch between them."),
        );
    }
}
