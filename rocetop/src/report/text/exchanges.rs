//! What connection managers agreed on, the exchanges that led to nothing first.

use std::cmp::Reverse;
use std::io::{self, Write};

use rocetop_analysis::Ledger;
use rocetop_analysis::engine::exchanges::{CmTerms, ExchangeReport, State};

use super::figures::{counted, duration};
use super::files::Files;
use super::findings::offset;
use super::page::{BAD, HEAD, PLAIN, Page};

/// An RNR retry count that never ends (IBTA 9.7.5.2.8).
const FOR_EVER: u8 = 7;

/// Writes `top` of the exchanges that fit; nothing where there is none. `start` is when the captures began, in ns.
pub(super) fn write<W: Write>(
    page: &mut Page<'_, W>,
    ledger: &Ledger<'_>,
    files: &Files,
    start: u64,
    top: usize,
    fits: impl Fn(&ExchangeReport) -> bool,
) -> io::Result<()> {
    let mut states: Vec<(State, u64)> = Vec::new();
    let mut shown: Vec<ExchangeReport> = Vec::new();
    for exchange in ledger.exchanges().filter(|exchange| fits(exchange)) {
        match states.iter_mut().find(|(state, _)| *state == exchange.state) {
            Some((_, n)) => *n += 1,
            None => states.push((exchange.state, 1)),
        }
        shown.push(exchange);
        // Now and then, so that many take no more memory than a few.
        if shown.len() > top.saturating_mul(2).saturating_add(64) {
            keep(&mut shown, top);
        }
    }
    if states.is_empty() {
        return Ok(());
    }
    keep(&mut shown, top);
    states.sort_by_key(|&(state, n)| (state.is_agreed(), Reverse(n)));
    let all: u64 = states.iter().map(|(_, n)| n).sum();
    let words: Vec<String> = states.iter().map(|(state, n)| format!("{n} {}", says(*state))).collect();
    page.gap()?;
    page.words(HEAD, "", &format!("{} of connection managers: {}", counted(all, "exchange"), words.join(", ")))?;
    for exchange in &shown {
        one(page, exchange, files, start)?;
    }
    match all - shown.len() as u64 {
        0 => Ok(()),
        n => page.words(PLAIN, "", &format!("and {}; --top shows more", counted(n, "more exchange"))),
    }
}

/// Keeps those to be shown.
fn keep(exchanges: &mut Vec<ExchangeReport>, top: usize) {
    exchanges.sort_by_key(|e| (e.state.is_agreed(), e.id));
    exchanges.truncate(top);
}

fn one<W: Write>(page: &mut Page<'_, W>, e: &ExchangeReport, files: &Files, start: u64) -> io::Result<()> {
    let end = |host: &str, qp: Option<u32>| match qp {
        Some(qp) => format!("{host} qp {qp}"),
        None => host.to_owned(),
    };
    let mut figures = vec![format!("{} -> {}", end(&e.requester, e.requester_qp), end(&e.responder, e.responder_qp))];
    figures.extend(e.service_port.map(|port| format!("port {port}")));
    figures.push(match (&e.reject_reason, e.reject_code) {
        (Some(reason), Some(code)) => format!("{}: {reason} ({code})", says(e.state)),
        _ => says(e.state).to_owned(),
    });
    let style = if e.state.is_agreed() { PLAIN } else { BAD };
    page.figures(style, &format!("{:>12}  ", offset(e.first_ns.saturating_sub(start))), &figures)?;
    let messages = e.messages.iter().map(|step| match step.count {
        1 => step.message.clone(),
        n => format!("{} x{n}", step.message),
    });
    let frames = match [&e.first_frame, &e.last_frame].map(|frame| files.place(frame)) {
        [first, last] if first == last => format!("frame {first}"),
        [first, last] => format!("frames {first} to {last}"),
    };
    let figures = [messages.collect::<Vec<_>>().join(", "), frames];
    page.figures(PLAIN, "              ", &figures)?;
    e.terms.as_ref().map_or(Ok(()), |terms| page.figures(PLAIN, "              ", &agreed(terms)))
}

fn agreed(terms: &CmTerms) -> Vec<String> {
    let mut figures: Vec<String> = terms.path_mtu.map(|mtu| format!("path MTU {mtu}")).into_iter().collect();
    figures.push(match terms.ack_timeout_ns {
        Some(ns) => format!("ACK timeout {} ({})", terms.ack_timeout_exponent, duration(ns)),
        None => "no ACK timeout".to_owned(),
    });
    figures.push(format!("retries {}", terms.retry_count));
    figures.push(match terms.rnr_retry {
        FOR_EVER => "RNR retries for ever".to_owned(),
        n => format!("RNR retries {n}"),
    });
    figures
}

fn says(state: State) -> &'static str {
    match state {
        State::Requested => "not answered",
        State::Replied => "answered, not confirmed",
        State::Established => "connected",
        State::Disconnecting => "asked to disconnect",
        State::Disconnected => "disconnected",
        State::Resolved => "resolved",
        State::Rejected => "refused",
    }
}
