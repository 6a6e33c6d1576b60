//! Packets arrive marked, and the receiver never tells the sender.
//!
//! # What it detects
//! At least ten requests or READ responses of a flow were marked CE over more than a millisecond, the way back was
//! seen, and it carried no congestion notification (CNP).
//!
//! # Why it hurts
//! The switches ask for less and nobody passes it on: the sender keeps its rate, the queue stays full, and what
//! follows is a pause or a drop.
//!
//! # How it decides
//! A receiver sends one CNP at most every 50 us, so ten marks over a millisecond leave room for several.
//! Notifications are looked for in the flow that carries the ACKs, and by any source in every flow to the same queue
//! pair. Adapters may send them by address or by port instead of by queue pair: where the receiver notifies the same
//! sender on another queue pair, it is information, since the sender may slow down as a whole.
//!
//! # What could fool it
//! A tap in the middle of a network may see the ACKs and not the CNPs, which have a source port of their own and may
//! take another way. Fabrics that control congestion by delay or by the ACKs' own bits send no CNPs on purpose.
//! Software RoCE (rxe) sends none.
//!
//! # What to do next
//! See whether the notification point is on (mlx5: `/sys/class/net/DEV/ecn/roce_np/enable/PRIO`) and whether
//! `np_cnp_sent` counts at the receiver.
//!
//! # References
//! IBTA annex A17.9.3 (a CNP for packets marked CE); DCQCN (SIGCOMM 2015), section 3.1 (NP algorithm, 50 us).

use std::collections::BTreeSet;

use super::kit::{counted, road};
use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::FlowReport;
use crate::report::survey::Survey;

pub(super) const RULE: Rule = Rule {
    code: "RT022",
    name: "ce_without_cnp",
    title: "marks that the receiver never passes on",
    severity: Severity::Warning,
    needs: "packets of both directions, behind the congested switch",
    source: include_str!("ce_without_cnp.rs"),
    judge: Judge::Survey(judge),
};

/// Marks that leave no doubt, and the time that they must be spread over.
const MARKS: u64 = 10;
const OVER_NS: u64 = 1_000_000;

fn judge(survey: &Survey, ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    if survey.pairs.values().all(|pair| pair.ce < MARKS) {
        return;
    }
    // A switch may notify in the receiver's place.
    let told: BTreeSet<(&str, u32)> = survey.notifiers.iter().map(|n| (n.dst.as_str(), n.dst_qp)).collect();
    // Who notifies whom, on whatever queue pair.
    let notifies: BTreeSet<(String, String)> =
        ledger.flows().filter(|flow| flow.cnps != 0).map(|flow| (flow.src, flow.dst)).collect();
    for connection in ledger.connections() {
        let flows: Vec<FlowReport> = connection.flows.iter().filter_map(|&id| ledger.flow(id)).collect();
        let case = super::Case { connection: &connection, flows: &flows, end_ns: ledger.end_ns(), told: &[] };
        for (data, back) in case.directions() {
            let Some(ce) = data.marks.as_ref().and_then(|m| m.ce.as_ref()) else { continue };
            let Some(back) = back else { continue };
            let answers = back.acks + back.naks.total() + back.responses.packets;
            if ce.count < MARKS
                || ce.last_ns - ce.first_ns < OVER_NS
                || answers == 0
                || back.cnps != 0
                || told.contains(&(data.src.as_str(), back.dst_qp))
            {
                continue;
            }
            let elsewhere = notifies.contains(&(data.dst.clone(), data.src.clone()));
            let (severity, what) = if elsewhere {
                (Severity::Info, "its receiver notifies this sender on other queue pairs alone")
            } else {
                (Severity::Warning, "not one CNP came back")
            };
            let title = format!("{} and {what}: {}", counted(ce.count, "marked packet"), road(data));
            report(
                Finding::of(&RULE, severity, title)
                    .about(data)
                    .marked(ce)
                    .with_harm("ce", ce.count)
                    .with("answers", answers)
                    .with("cnps", 0)
                    .advice("Look whether the receiver's notification point is switched on for this priority."),
            );
        }
    }
}
