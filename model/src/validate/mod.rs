//! The model against what is known: closed forms, published figures, and directions that practice reports.
//!
//! A [`Check`] is a small experiment with a target from somewhere else. The checks of one subject stand in one file;
//! [`CHECKS`] has all of them. Each also runs as a test of its file, so that the table never says what the tests do not.

mod admission;
mod domains;
mod fairness;
mod incast;
mod queues;

use crate::cc;
use crate::engine::{Settings, Simulation, Status};
use crate::topology::{HostId, PortId, Topology};
use crate::units::{Bytes, Time};
use crate::workload::Workload;

/// An experiment with a known outcome.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// What is looked at, in a few words.
    pub name: &'static str,
    /// Where the target comes from.
    pub source: &'static str,
    /// The set-up, and where the outcome needs it, the mechanism: one paragraph.
    pub how: &'static str,
    run: fn() -> Result<Verdict, Error>,
}

impl Check {
    /// Runs it. What cannot run does not pass, and says why.
    #[must_use]
    pub fn run(&self) -> Row {
        let Self { name, source, .. } = *self;
        match (self.run)() {
            Ok(Verdict { target, measured, pass }) => Row { name, source, target, measured, pass },
            Err(error) => Row { name, source, target: String::from("a run"), measured: error.to_string(), pass: false },
        }
    }
}

/// A row of the validation table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What was looked at.
    pub name: &'static str,
    /// Where the target comes from.
    pub source: &'static str,
    /// What it should be.
    pub target: String,
    /// What it is.
    pub measured: String,
    /// Whether that is good enough.
    pub pass: bool,
}

/// Every check, by subject.
pub const CHECKS: &[&[Check]] = &[queues::CHECKS, fairness::CHECKS, incast::CHECKS, admission::CHECKS, domains::CHECKS];

/// What an experiment found.
struct Verdict {
    target: String,
    measured: String,
    pass: bool,
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

#[cfg(test)]
fn all_pass(checks: &[Check]) {
    for check in checks {
        let row = check.run();
        assert!(row.pass, "{}: {} for {}", row.name, row.measured, row.target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = CHECKS.iter().flat_map(|checks| checks.iter()).map(|check| check.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn quantiles_of_lengths() {
        let lengths: Vec<u64> = (0..100).rev().collect();
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|share| quantile(&lengths, share)), [0, 50, 99, 99]);
        assert_eq!(quantile(&[], 0.5), 0);
    }
}
