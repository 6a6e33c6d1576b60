//! All queue pairs between two hosts use one source port: the network takes them for one flow.
//!
//! # What it detects
//! Two queue pairs or more from one host to another, all from the same UDP source port. Also a single queue pair that
//! carries more than 1 Gb/s alone. It is information, and a warning with eight queue pairs or more that carry more
//! than 1 Gb/s through one port.
//!
//! # Why it hurts
//! Switches choose among links of equal cost by a hash of addresses and ports. One port is one path: one link is full
//! while its neighbours are idle.
//!
//! # How it decides
//! By the source ports of flows with at least sixteen data packets; a queue pair whose number is used again counts
//! once. It gives the entropy in thousandths of a bit, weighted by bytes: of the ports, and of the ports with the
//! destination queue pair, which a switch may be set to hash.
//!
//! # What could fool it
//! A fabric with one path, or with balancing by packet, does not care. A switch that hashes the destination queue
//! pair spreads them all the same.
//!
//! # What to do next
//! More queue pairs do not help while they share a port: let the driver choose ports by queue pair (flow label, LAG
//! mode), or set the switches to hash the destination queue pair. For NCCL: `NCCL_IB_QPS_PER_CONNECTION` and
//! `NCCL_IB_SPLIT_DATA_ON_QPS`.
//!
//! # References
//! IBTA annex A17.4.5.1 (source port as entropy); Linux `rdma_calc_flow_label`; RDMA over Ethernet for Distributed AI
//! Training at Meta Scale (SIGCOMM 2024), section 5 (routing).

use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::paths::entropy;
use crate::report::survey::Survey;

pub(super) const RULE: Rule = Rule {
    code: "RT045",
    name: "port_entropy",
    title: "one source port for all queue pairs",
    severity: Severity::Warning,
    needs: "packets",
    source: include_str!("port_entropy.rs"),
    judge: Judge::Survey(judge),
};

/// Queue pairs that were surely meant to spread (chosen).
const MANY: u64 = 8;
/// A rate at which the choice of a link matters, over a time that is no burst (chosen: a hundredth of a link of 100
/// Gb/s for 10 ms).
const FAST_MBPS: u64 = 1_000;
const SHORT_NS: u64 = 10_000_000;

fn judge(survey: &Survey, _: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    for ((src, dst), pair) in &survey.pairs {
        let time = pair.last_ns.saturating_sub(pair.first_ns);
        let mbps = if time >= SHORT_NS { pair.bytes.saturating_mul(8_000) / time } else { 0 };
        let queue_pairs = pair.queue_pairs();
        let one = pair.ports.count() == 1;
        if !one || queue_pairs == 1 && mbps < FAST_MBPS {
            continue;
        }
        let heavy = queue_pairs >= MANY && mbps >= FAST_MBPS;
        let severity = if heavy { Severity::Warning } else { Severity::Info };
        let port = pair.ports.first().unwrap_or_default();
        let title = match queue_pairs {
            1 => format!("one queue pair carries all {mbps} Mb/s from {src} to {dst}"),
            n => format!("all {n} queue pairs from {src} to {dst} use source port {port}"),
        };
        report(
            Finding::of(&RULE, severity, title)
                .during(pair.first_ns, pair.last_ns)
                .with("queue_pairs", queue_pairs)
                .with("ports", pair.ports.count())
                .with("bytes", pair.bytes)
                .with("mbps", mbps)
                .with("port_entropy_millibits", entropy(pair.ports.bytes()))
                .with("queue_pair_entropy_millibits", entropy(std::iter::repeat_n(1, queue_pairs as usize)))
                .advice(
                    "Let source ports differ by queue pair, or set the switches to hash the destination queue pair.",
                ),
        );
    }
}
