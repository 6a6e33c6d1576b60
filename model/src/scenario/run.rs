//! Playing a scenario, and collecting what is seen of it.

use super::Scenario;
use crate::engine::{FlowResult, Simulation, Status};
use crate::observe::{Seen, Trees, Watch};
use crate::units::Time;
use crate::workload::{Flow, FlowId, Workload};

/// Events between two looks at what was seen: they bound what must be kept meanwhile (chosen).
const CHUNK: u64 = 1 << 18;

/// What clear-to-send messages are called among the flows.
const CLEAR_TO_SEND: &str = "clear to send";

/// What a scenario sends.
#[derive(Debug)]
pub(super) struct Load {
    flows: Workload,
    /// One past the last flow of each entry of the traffic, and of clear-to-send where there is admission.
    ends: Vec<u32>,
    /// The name of each.
    names: Vec<String>,
}

impl Load {
    pub(super) fn new(scenario: &Scenario, flows: Workload, ends: Vec<u32>) -> Self {
        let names = scenario.traffic.iter().map(|traffic| traffic.name.clone()).chain([CLEAR_TO_SEND.to_owned()]);
        Self { flows, ends, names: names.collect() }
    }

    pub(super) const fn flows(&self) -> &Workload {
        &self.flows
    }

    pub(super) fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Messages that cross the fabric: the name of their traffic, what was to be sent, what became of it.
    pub(super) fn messages(
        &self,
        result: impl Fn(FlowId) -> FlowResult,
    ) -> impl Iterator<Item = (FlowId, &str, &Flow, FlowResult)> {
        self.flows.flows().iter().filter(|(_, flow)| !flow.is_work()).map(move |(id, flow)| {
            let entry = self.ends.partition_point(|end| *end <= id.0);
            (id, self.names.get(entry).map_or("", String::as_str), flow, result(id))
        })
    }
}

/// Who takes what is seen while a run goes on.
pub trait Sink {
    /// A tap has seen a frame. Calls are in the order of time.
    fn seen(&mut self, _seen: &Seen) {}
}

/// Nobody looks.
impl Sink for () {}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every flow has arrived and is acknowledged, and what nobody waited for has come to its end too: taps on both
    /// sides of a link have seen the same frames.
    Done,
    /// Nothing will happen any more, and some flows have not arrived: queue pairs broke, or wait for such, or the clock
    /// ended.
    Stuck,
    /// Queues wait for each other in a circle (see [`Simulation::deadlocks`]), and some flows will never arrive.
    Deadlock,
    /// The scenario's time is over.
    Time,
    /// As many hops as the scenario allows.
    Hops,
}

/// A scenario in motion.
#[derive(Debug)]
pub struct Run {
    simulation: Simulation,
    watch: Watch,
    trees: Trees,
    load: Load,
    until: Time,
    hops: u64,
    ended: Option<Ended>,
}

impl Run {
    pub(super) fn new(scenario: &Scenario, simulation: Simulation, watch: Watch, load: Load) -> Self {
        Self {
            simulation,
            watch,
            trees: Trees::default(),
            load,
            until: scenario.until,
            hops: scenario.hops,
            ended: None,
        }
    }

    /// Plays on for a while and hands over what was seen; why it ended, once it has.
    pub fn step(&mut self, sink: &mut impl Sink) -> Option<Ended> {
        if self.ended.is_some() {
            return self.ended;
        }
        let target = self.watch.next().min(self.until);
        let status = self.simulation.advance(target, CHUNK);
        let settled = status != Status::Done || self.simulation.settle(target, CHUNK);
        self.simulation.seen(|seen| sink.seen(seen));
        let turns = self.simulation.turns();
        self.trees.add(self.simulation.fabric(), &turns);
        let now = self.simulation.now();
        let late = now >= self.until;
        let used = self.simulation.totals().hops >= self.hops;
        self.ended = match status {
            Status::Done if settled || late || used => Some(Ended::Done),
            Status::Stuck => Some(Ended::Stuck),
            Status::Deadlock => Some(Ended::Deadlock),
            Status::Running if late => Some(Ended::Time),
            Status::Running if used => Some(Ended::Hops),
            Status::Done | Status::Running => None,
        };
        if now >= self.watch.next() || self.ended.is_some() {
            self.watch.look(&mut self.simulation);
        }
        self.ended
    }

    /// Plays to the end.
    pub fn finish(&mut self, sink: &mut impl Sink) -> Ended {
        loop {
            if let Some(ended) = self.step(sink) {
                return ended;
            }
        }
    }

    /// Why it ended; `None` while it has not.
    #[must_use]
    pub const fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// The engine's own results.
    #[must_use]
    pub const fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// Series of queues and rates.
    #[must_use]
    pub const fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Trees of pauses.
    #[must_use]
    pub const fn trees(&self) -> &Trees {
        &self.trees
    }

    /// Messages that cross the fabric: the name of their traffic, what was to be sent, what became of it.
    pub fn flows(&self) -> impl Iterator<Item = (FlowId, &str, &Flow, FlowResult)> {
        self.load.messages(|id| self.simulation.flow(id))
    }
}
