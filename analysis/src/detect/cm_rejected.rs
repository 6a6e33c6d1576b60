//! A connection was refused.
//!
//! # What it detects
//! A reject (REJ) of the connection manager, or a service resolution (SIDR) that names no queue pair, with its
//! reason.
//!
//! # Why it hurts
//! The application gets no connection: rdma_cm reports the event "rejected", with the reason as its status.
//!
//! # How it decides
//! By the message and its reason code. Reason 28 (consumer) is an application's own no, such as a server that is
//! full, and is information.
//!
//! # What could fool it
//! Some applications probe for a service and expect the refusal.
//!
//! # What to do next
//! Invalid service id (8): nobody listens on that port there. Stale connection (10): the peer still has the queue
//! pair of an earlier life. Invalid path MTU or GID: compare the two hosts' settings. In tshark:
//! `infiniband.mad.attributeid in {0x0012, 0x0018}` (REJ, SIDR_REP)
//!
//! # References
//! IBTA 12.6.7 and 12.6.7.2 (REJ and its reasons), 12.11.2 (SIDR_REP); Linux `ib_cm.h`.

use rocetop_parsers::ib::cm::rej::RejectReason;

use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::engine::exchanges::{Purpose, State};

pub(super) const RULE: Rule = Rule {
    code: "RT050",
    name: "cm_rejected",
    title: "a connection was refused",
    severity: Severity::Warning,
    needs: "packets of the connection's setup",
    source: include_str!("cm_rejected.rs"),
    judge: Judge::Capture(judge),
};

fn judge(ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    for exchange in ledger.exchanges().filter(|e| e.state == State::Rejected) {
        let code = exchange.reject_code.unwrap_or_default();
        let own = exchange.purpose == Purpose::Connect && code == RejectReason::CONSUMER.0;
        let severity = if own { Severity::Info } else { Severity::Warning };
        let reason = exchange.reject_reason.clone().unwrap_or_default();
        let service = exchange.service.clone().unwrap_or_else(|| "an unknown service".to_owned());
        let what = match exchange.purpose {
            Purpose::Connect => "connection",
            Purpose::Resolve => "service resolution",
        };
        let plain = if exchange.purpose == Purpose::Connect && code == RejectReason::INVALID_SERVICE_ID.0 {
            ", no such service"
        } else {
            ""
        };
        let title = format!(
            "the {what} of {} to {service} on {} was refused: {reason}{plain} ({code})",
            exchange.requester, exchange.responder
        );
        report(
            Finding::of(&RULE, severity, title)
                .during(exchange.first_ns, exchange.last_ns)
                .shown_by(exchange.messages.iter().map(|m| m.first_frame.clone()).collect())
                .with("reason", reason)
                .with("reason_code", u64::from(code))
                .with("service", service)
                .with("exchange", u64::from(exchange.id))
                .advice("Look at the side that refused: does the service listen, and does it have what was asked for?"),
        );
    }
}
