//! A connection request was sent again and again, and nobody answered.
//!
//! # What it detects
//! Requests (REQ) or service resolutions (SIDR_REQ) of the connection manager that were sent at least twice, with no
//! reply, reject or receipt in the capture.
//!
//! # Why it hurts
//! The application waits for a minute and more, and then fails: rdma_cm reports "unreachable".
//!
//! # How it decides
//! By the numbers that the connection managers give to the exchange. A request that was sent once may have been sent
//! at the end of the capture, so it is not reported.
//!
//! # What could fool it
//! A capture of one direction alone: where the peer sent nothing at all, it is said, and it is information.
//!
//! # What to do next
//! Is the peer up, and does its RDMA device have this address? Is UDP port 4791 open on the way? In tshark:
//! `infiniband.mad.attributeid in {0x0010, 0x0017}` (REQ, SIDR_REQ)
//!
//! # References
//! IBTA 12.9.8 (retries of CM messages); Linux `cma.c` (CMA_MAX_CM_RETRIES, 15).

use std::collections::BTreeSet;

use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::engine::exchanges::{ExchangeReport, State};
use crate::report::survey::Survey;

pub(super) const RULE: Rule = Rule {
    code: "RT051",
    name: "cm_unanswered",
    title: "a connection request that nobody answered",
    severity: Severity::Warning,
    needs: "packets of the connection's setup, both directions",
    source: include_str!("cm_unanswered.rs"),
    judge: Judge::Survey(judge),
};

fn tries(exchange: &ExchangeReport) -> u32 {
    exchange.times("REQ") + exchange.times("SIDR_REQ")
}

fn judge(survey: &Survey, ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let silent = |e: &ExchangeReport| e.state == State::Requested && e.messages.iter().all(|m| m.by_requester);
    // Hosts whose own frames this tap has seen.
    let mut seen: Option<BTreeSet<&str>> = None;
    for exchange in ledger.exchanges().filter(|e| silent(e) && tries(e) > 1) {
        let seen = seen.get_or_insert_with(|| survey.pairs.keys().map(|(src, _)| &**src).collect());
        let speaks = seen.contains(exchange.responder.as_str());
        let severity = if speaks { Severity::Warning } else { Severity::Info };
        let service = exchange.service.clone().unwrap_or_else(|| "an unknown service".to_owned());
        let rest = if speaks { "" } else { ", which sent nothing at all in this capture" };
        let title = format!(
            "{} asked {} times for {service} on {} without an answer{rest}",
            exchange.requester,
            tries(&exchange),
            exchange.responder
        );
        report(
            Finding::of(&RULE, severity, title)
                .during(exchange.first_ns, exchange.last_ns)
                .shown_by(vec![exchange.first_frame.clone(), exchange.last_frame.clone()])
                .with("tries", u64::from(tries(&exchange)))
                .with("service", service)
                .with("exchange", u64::from(exchange.id))
                .advice("Is the peer's RDMA device up with this address, and is UDP port 4791 open on the way?"),
        );
    }
}
