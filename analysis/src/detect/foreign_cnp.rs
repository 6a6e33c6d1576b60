//! Congestion notifications that somebody else than the receiver sent.
//!
//! # What it detects
//! A flow of congestion notification packets (CNPs) alone, to a queue pair whose connection is with another address.
//!
//! # Why it hurts
//! It does not, where it is meant: some switches notify the sender themselves, which is faster than the way over the
//! receiver. It is worth knowing, since a receiver's counters then do not explain a sender's.
//!
//! # How it decides
//! By the addresses and the destination queue pair: the source of the CNPs is not the one that sends the ACKs there.
//!
//! # What could fool it
//! A receiver with several addresses. A notification for a connection that ended before the capture began is not
//! reported, as nobody else is seen to send there.
//!
//! # What to do next
//! Ask whether the switches are set to send notifications (fast CNP), and whether the source is one of them.
//!
//! # References
//! IBTA annex A17.9.3 (the receiver notifies); published practice of fabrics whose switches notify by congestion
//! domain.

use std::collections::BTreeMap;

use super::kit::counted;
use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::survey::Survey;

pub(super) const RULE: Rule = Rule {
    code: "RT024",
    name: "foreign_cnp",
    title: "congestion notifications by somebody else than the receiver",
    severity: Severity::Info,
    needs: "packets of both directions",
    source: include_str!("foreign_cnp.rs"),
    judge: Judge::Survey(judge),
};

fn judge(survey: &Survey, ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    if survey.notifiers.is_empty() {
        return;
    }
    let mut real: BTreeMap<(String, u32), Vec<String>> = BTreeMap::new();
    for notifier in &survey.notifiers {
        real.entry((notifier.dst.clone(), notifier.dst_qp)).or_default();
    }
    for flow in ledger.flows().filter(|f| f.transport != "CNP") {
        if let Some(sources) = real.get_mut(&(flow.dst, flow.dst_qp)) {
            sources.push(flow.src);
        }
    }
    for notifier in &survey.notifiers {
        let Some(sources) = real.get(&(notifier.dst.clone(), notifier.dst_qp)) else { continue };
        let Some(peer) = sources.first().filter(|_| !sources.contains(&notifier.src)) else { continue };
        let Some(flow) = ledger.flow(notifier.flow) else { continue };
        let Some(cnp) = flow.marks.as_ref().and_then(|m| m.cnp.as_ref()) else { continue };
        let title = format!(
            "{} sent {} to queue pair {} of {}, which talks with {peer}",
            notifier.src,
            counted(notifier.cnps, "CNP"),
            notifier.dst_qp,
            notifier.dst
        );
        report(
            Finding::of(&RULE, Severity::Info, title)
                .about(&flow)
                .marked(cnp)
                .with("cnps", notifier.cnps)
                .with("receiver", peer.clone())
                .advice("If the source is a switch that is set to notify senders itself, all is as it should be."),
        );
    }
}
