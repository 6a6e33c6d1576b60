//! What a selection that fits nothing could have been: said on standard error. That is an answer and no error: whoever
//! wants one takes `check`, where a selection of nothing fails.

use std::collections::BTreeSet;

use rocetop_analysis::Ledger;
use rocetop_analysis::report::FlowReport;

use crate::report::select::{QpNumber, Selection};

/// Queue pairs and hosts that are named (chosen: a line or two).
const NAMED: usize = 4;

/// Says so where the selection fits no connection of any of these, and what is there instead.
pub(super) fn tell(chosen: &Selection, ledgers: &[Ledger<'_>]) {
    let flows: usize = ledgers.iter().map(Ledger::len).sum();
    if chosen.is_all() || fits(chosen, ledgers) {
        return;
    }
    let qpn = chosen.qpn.as_ref().map(|qpn| format!("--qpn {qpn}"));
    let host = chosen.host.as_ref().map(|host| format!("--host {host}"));
    let asked: Vec<String> = qpn.into_iter().chain(host).collect();
    anstream::eprintln!("rocetop: no connection fits {}: none of {flows} flows", asked.join(" and "));
    if flows == 0 {
        return;
    }
    let by_qpn = Selection { qpn: chosen.qpn.clone(), ..Selection::default() };
    let by_host = Selection { host: chosen.host.clone(), ..Selection::default() };
    let mut together = chosen.qpn.is_some() && chosen.host.is_some();
    if let Some(qpn) = &chosen.qpn
        && !fits(&by_qpn, ledgers)
    {
        // Of that host, where it is there.
        let among = if fits(&by_host, ledgers) { &by_host } else { &Selection::default() };
        anstream::eprintln!("rocetop: {}", nearest(qpn, chosen_flows(among, ledgers)));
        together = false;
    }
    if chosen.host.is_some() && !fits(&by_host, ledgers) {
        let among = if fits(&by_qpn, ledgers) { &by_qpn } else { &Selection::default() };
        anstream::eprintln!("rocetop: {}", hosts(chosen_flows(among, ledgers)));
        together = false;
    }
    if together {
        anstream::eprintln!("rocetop: each of the two fits some connection, and none fits both");
    }
}

fn fits(chosen: &Selection, ledgers: &[Ledger<'_>]) -> bool {
    chosen_flows(chosen, ledgers).next().is_some()
}

fn chosen_flows<'a>(chosen: &'a Selection, ledgers: &'a [Ledger<'_>]) -> impl Iterator<Item = FlowReport> + 'a {
    ledgers.iter().flat_map(|ledger| chosen.flows(ledger))
}

/// The queue pairs whose numbers are next to what was asked for: a digit may be wrong.
fn nearest(asked: &QpNumber, flows: impl Iterator<Item = FlowReport>) -> String {
    let mut near = BTreeSet::new();
    for qp in flows.flat_map(|flow| [Some(flow.dst_qp), flow.src_qp]).flatten() {
        near.insert((qp.abs_diff(asked.number), qp));
        if near.len() > NAMED {
            near.pop_last();
        }
    }
    let near: BTreeSet<u32> = near.into_iter().map(|(_, qp)| qp).collect();
    // In the base in which it was asked for.
    let hexadecimal = asked.to_string().to_lowercase().starts_with("0x");
    let number = |qp: &u32| if hexadecimal { format!("{qp:#x}") } else { qp.to_string() };
    format!("the nearest queue pairs are {}", near.iter().map(number).collect::<Vec<_>>().join(", "))
}

/// The addresses that are there.
fn hosts(flows: impl Iterator<Item = FlowReport>) -> String {
    let mut all = BTreeSet::new();
    let mut first = Vec::new();
    for host in flows.flat_map(|flow| [flow.src, flow.dst]) {
        if first.len() < NAMED && !all.contains(&host) {
            first.push(host.clone());
        }
        all.insert(host);
    }
    let more = match all.len() - first.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("the addresses are {}{more}", first.join(", "))
}
