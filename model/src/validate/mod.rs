//! The model against what is known: closed forms and published figures, one file a subject.
//!
//! Every check measures something in a run and sets it beside a target that does not come from the model.
//! `cargo xtask validate` prints the whole table; its exit code says whether all of it holds.

mod admission;
mod dcqcn;
mod domains;
mod effects;
mod fairness;
mod headroom;
mod incast;
mod links;
mod queues;
mod watchdog;

use crate::cc;
use crate::engine::{Settings, Simulation, Status};
use crate::topology::{HostId, PortId, Topology};
use crate::units::{Bytes, Time};
use crate::workload::Workload;

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What was looked at.
    pub name: String,
    /// What it should be, and by whose word.
    pub target: String,
    /// What the model does.
    pub measured: String,
    /// Whether that will do.
    pub pass: bool,
    /// The set-up and the mechanism, in a paragraph; empty where the name says it.
    pub how: &'static str,
}

/// A subject: its name, and what measures it.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The name of its file.
    pub name: &'static str,
    /// Measures it. Takes seconds to minutes in a release build.
    pub run: fn() -> Vec<Row>,
}

/// Every subject.
pub const SUBJECTS: &[Subject] = &[
    Subject { name: "admission", run: || rows(admission::CHECKS) },
    Subject { name: "dcqcn", run: dcqcn::run },
    Subject { name: "domains", run: || rows(domains::CHECKS) },
    Subject { name: "effects", run: effects::run },
    Subject { name: "fairness", run: || rows(fairness::CHECKS) },
    Subject { name: "headroom", run: headroom::run },
    Subject { name: "incast", run: || rows(incast::CHECKS) },
    Subject { name: "links", run: || rows(links::CHECKS) },
    Subject { name: "queues", run: || rows(queues::CHECKS) },
    Subject { name: "watchdog", run: || rows(watchdog::CHECKS) },
];

/// An experiment with a known outcome: what is looked at, by whose word the target is, and how it is set up.
struct Check {
    name: &'static str,
    source: &'static str,
    how: &'static str,
    run: fn() -> Result<Verdict, Error>,
}

/// What an experiment found.
struct Verdict {
    target: String,
    measured: String,
    pass: bool,
}

/// Runs experiments. What cannot run does not pass, and says why.
fn rows(checks: &[Check]) -> Vec<Row> {
    let row = |check: &Check| {
        let failed = |error: Error| Verdict { target: String::from("a run"), measured: error.to_string(), pass: false };
        let Verdict { target, measured, pass } = (check.run)().unwrap_or_else(failed);
        let target = format!("{target} [{}]", check.source);
        Row { name: String::from(check.name), target, measured, pass, how: check.how }
    };
    checks.iter().map(row).collect()
}

/// Mean and standard deviation; zeros for nothing.
fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n;
    (mean, square.sqrt())
}

/// Why an experiment could not be made: a fault of the model.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Fabric(#[from] crate::topology::Error),
    #[error(transparent)]
    Workload(#[from] crate::workload::Error),
    #[error(transparent)]
    Engine(#[from] crate::engine::Error),
    #[error("the run ended as {status:?} at {at}: {totals:?}")]
    Unfinished { status: Status, at: Time, totals: Box<crate::engine::Totals> },
}

/// Settings with a packet size and a congestion control, and the rest as it is.
fn settings(mtu: u64, cc: cc::Settings) -> Settings {
    let mut settings = Settings { cc, ..Settings::default() };
    settings.nic.mtu = Bytes(mtu);
    settings
}

/// Plays to the end, and says what was played if there is none.
fn finish(fabric: Topology, load: &Workload, settings: Settings) -> Result<Simulation, Error> {
    let mut run = Simulation::new(fabric, load, settings)?;
    match run.run() {
        Status::Done => Ok(run),
        status => Err(Error::Unfinished { status, at: run.now(), totals: Box::new(run.totals()) }),
    }
}

/// When the last flow had arrived.
fn last(run: &Simulation) -> Time {
    run.flows().filter_map(|flow| flow.delivered).max().unwrap_or(Time::NEVER)
}

/// Lengths of a port's queue, in bytes, at every `step` from `from` to `to`.
fn watch(run: &mut Simulation, port: PortId, from: Time, to: Time, step: Time) -> Vec<u64> {
    let mut lengths = Vec::new();
    let mut at = from;
    while at < to {
        run.advance(at, u64::MAX);
        lengths.push(run.queue(port).0);
        at += step;
    }
    lengths
}

/// The mean of some lengths.
fn mean(lengths: &[u64]) -> f64 {
    lengths.iter().sum::<u64>() as f64 / lengths.len().max(1) as f64
}

/// The length that a share of all lengths does not exceed.
fn quantile(lengths: &[u64], share: f64) -> u64 {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let row = (share * sorted.len() as f64) as usize;
    sorted.get(row.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0)
}

/// A host's own port, and the switch's port to it.
fn ports(fabric: &Topology, host: HostId) -> (PortId, PortId) {
    let own = fabric.ports_of(host.into()).first;
    (own, fabric.ports()[own].peer)
}

/// Gb/s of frames, gaps included, that `bytes` in `time` are.
fn gbps(bytes: u64, time: Time) -> f64 {
    bytes as f64 * 8.0 / time.seconds() / 1e9
}

/// Asserts what the table asks.
#[cfg(test)]
fn all_pass(checks: &[Check]) {
    for row in rows(checks) {
        assert!(row.pass, "{}: {}, not {}", row.name, row.measured, row.target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_three() {
        assert_eq!(spread(&[1.0, 3.0, 5.0, 3.0]), (3.0, 2.0_f64.sqrt()));
        assert_eq!(spread(&[]), (0.0, 0.0));
    }

    #[test]
    fn quantiles_of_lengths() {
        let lengths: Vec<u64> = (0..100).rev().collect();
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|share| quantile(&lengths, share)), [0, 50, 99, 99]);
        assert_eq!(quantile(&[], 0.5), 0);
    }

    #[test]
    fn the_list_and_the_folder_agree() {
        let mut found: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/validate"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "mod")
            .collect();
        found.sort();
        assert_eq!(found, SUBJECTS.iter().map(|subject| subject.name).collect::<Vec<_>>());
    }
}
