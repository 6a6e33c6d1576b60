//! The same fabric, workload and routing as in the packet engine, with flows as fluids: between events every flow has
//! its max-min fair rate. Orders of magnitude larger and faster, and blind to queues, losses, pauses and congestion
//! control: it tells what a perfect one would reach.
//!
//! Of packets it knows the headers they add, and the time that a last one takes to pass the switches after the first
//! cable. Flows of one queue pair go one after the other. ACKs take time and no capacity (two bytes
//! in a hundred at 4 KiB); priorities are all the same.

pub mod max_min;
pub mod ways;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use crate::engine::{Error, FlowResult, check_mtu};
use crate::routing::{self, Key};
use crate::table::Table;
use crate::topology::{HostId, PortId, Topology};
use crate::units::{Bytes, Psn, Qpn, Rate, Time};
use crate::wire;
use crate::workload::{Flow, FlowId, Followers, Milestone, Workload};
use max_min::{Problem, Share, Solver, Use};
use ways::Ways;

/// What can be set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All that is drawn comes from this.
    pub seed: u64,
    /// Payload of a full packet.
    pub mtu: Bytes,
    /// How switches choose among equal ways.
    pub routing: routing::Settings,
    /// Flows that would end within this time of one another end together: fewer solutions, less exact.
    pub slack: Time,
    /// Cables that are out of use, named by either port.
    pub down: Vec<PortId>,
}

impl Default for Settings {
    /// As the packet engine's, and exact.
    fn default() -> Self {
        Self {
            seed: 1,
            mtu: Bytes(4096),
            routing: routing::Settings::Ecmp(routing::ecmp::Settings::default()),
            slack: Time::ZERO,
            down: Vec::new(),
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What became of every flow, in the workload's order.
    pub flows: Table<FlowId, FlowResult>,
    /// Bytes that crossed every cable, by the port they left by: headers and gaps included, rounded.
    pub carried: Table<PortId, Bytes>,
    /// How often rates were worked out.
    pub solutions: u64,
    /// When the last flow was acknowledged.
    pub end: Time,
}

/// The queue pair of a flow.
type Pair = (HostId, HostId, u16, u8);

fn pair(flow: &Flow) -> Pair {
    (flow.src, flow.dst, flow.lane, flow.priority.number())
}

/// What happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Start(FlowId),
    Reached(FlowId, Milestone),
}

/// A flow that is being sent.
#[derive(Clone, Debug)]
struct Running {
    id: FlowId,
    /// Bits on the wire that are left, and those there were.
    left: f64,
    all: f64,
    way: Vec<Use>,
}

/// A run in the making.
struct Run<'a> {
    fabric: &'a Topology,
    load: &'a Workload,
    settings: &'a Settings,
    now: Time,
    events: BinaryHeap<Reverse<(Time, Happening)>>,
    waits: Table<FlowId, u32>,
    followers: Followers,
    /// Flows of a queue pair that wait for the one before them; present while one is being sent.
    queues: BTreeMap<Pair, VecDeque<FlowId>>,
    numbers: BTreeMap<Pair, (Qpn, Qpn)>,
    last_number: Table<HostId, u32>,
    running: Vec<Running>,
    rates: Vec<f64>,
    changed: bool,
    ways: Ways,
    carried: Table<PortId, f64>,
    flows: Table<FlowId, FlowResult>,
}

/// Plays a workload to its end.
///
/// # Errors
/// A workload that cannot be played, an MTU that no frame has, a fabric without a way for it.
pub fn run(fabric: &Topology, load: &Workload, settings: &Settings) -> Result<Outcome, Error> {
    load.check(fabric.hosts())?;
    check_mtu(settings.mtu)?;
    let mut ways = Ways::new(fabric, settings.routing.begin(fabric, settings.seed), settings.seed);
    for port in &settings.down {
        ways.take_out(fabric, *port);
    }
    let empty = FlowResult { started: None, delivered: None, acked: None, resent: 0, marked: 0, cnps: 0, failed: None };
    let mut run = Run {
        fabric,
        load,
        settings,
        now: Time::ZERO,
        events: BinaryHeap::new(),
        waits: Table::filled(0, load.flows().len()),
        followers: Followers::new(load),
        queues: BTreeMap::new(),
        numbers: BTreeMap::new(),
        last_number: Table::filled(0x100, fabric.hosts() as usize),
        running: Vec::new(),
        rates: Vec::new(),
        changed: false,
        ways,
        carried: Table::filled(0.0, fabric.ports().len()),
        flows: Table::filled(empty, load.flows().len()),
    };
    for wait in load.waits() {
        run.waits[wait.flow] += 1;
    }
    for (id, flow) in load.flows().iter() {
        if run.waits[id] == 0 {
            run.events.push(Reverse((flow.after, Happening::Start(id))));
        }
    }
    let solutions = run.play()?;
    let carried = run.carried.rows().iter().map(|bits| Bytes((bits / 8.0 + 0.5) as u64)).collect();
    let end = run.flows.rows().iter().filter_map(|flow| flow.acked).max().unwrap_or_default();
    Ok(Outcome { flows: run.flows, carried, solutions, end })
}

impl Run<'_> {
    fn play(&mut self) -> Result<u64, Error> {
        let capacity = self.fabric.ports().rows().iter().map(|port| port.cable.rate.0 as f64).collect();
        let mut problem = Problem::new(capacity);
        let mut solver = Solver::default();
        let mut solutions = 0;
        loop {
            while let Some(&Reverse((at, what))) = self.events.peek().filter(|event| event.0.0 <= self.now) {
                self.events.pop();
                debug_assert!(at <= self.now, "time runs backwards");
                match what {
                    Happening::Start(id) => self.start(id)?,
                    Happening::Reached(id, until) => self.reached(id, until),
                }
            }
            if self.changed {
                self.changed = false;
                solutions += 1;
                problem.clear(self.fabric.ports().len());
                for flow in &self.running {
                    let limit = self.load.flows()[flow.id].limit;
                    // A rate limit is a cable that the flow has for itself.
                    let own =
                        (limit != Rate::MAX).then(|| Use { link: problem.link(limit.0 as f64), share: Share::ALL });
                    problem.flow(flow.way.iter().copied().chain(own));
                }
                solver.solve(&problem, &mut self.rates);
            }
            let event = self.events.peek().map(|event| event.0.0);
            let first =
                self.running.iter().zip(&self.rates).map(|(flow, rate)| flow.left / rate).min_by(f64::total_cmp);
            let ends = first.map(|seconds| {
                let ps = (seconds * Time::SECOND.0 as f64).ceil();
                self.now + if ps < u64::MAX as f64 { Time(ps as u64) } else { Time::NEVER }
            });
            let next = match (event, ends) {
                (None, None) => return Ok(solutions),
                (Some(at), None) | (None, Some(at)) => at,
                (Some(a), Some(b)) => a.min(b),
            };
            // What is left would go on behind the end of all time.
            if next == Time::NEVER {
                return Ok(solutions);
            }
            self.pass(next)?;
        }
    }

    /// Lets time pass, and ends the flows that are through.
    fn pass(&mut self, until: Time) -> Result<(), Error> {
        let seconds = until.since(self.now).seconds();
        let slack = self.settings.slack.seconds();
        self.now = until;
        let mut ended = Vec::new();
        for (row, (flow, rate)) in self.running.iter_mut().zip(&self.rates).enumerate() {
            flow.left -= rate * seconds;
            // Less than a bit is what rounding left.
            if flow.left <= (rate * slack).max(1.0) {
                ended.push(row);
            }
        }
        // From the end, so that the rows before stay what they are.
        for row in ended.into_iter().rev() {
            let flow = self.running.swap_remove(row);
            self.rates.swap_remove(row);
            self.end(flow)?;
        }
        Ok(())
    }

    fn start(&mut self, id: FlowId) -> Result<(), Error> {
        let flow = self.load.flows()[id];
        if flow.is_work() {
            for until in [Milestone::Started, Milestone::Delivered, Milestone::Acked] {
                self.reached(id, until);
            }
            return Ok(());
        }
        self.reached(id, Milestone::Started);
        if let Some(queue) = self.queues.get_mut(&pair(&flow)) {
            queue.push_back(id);
            return Ok(());
        }
        self.queues.insert(pair(&flow), VecDeque::new());
        self.send(id, &flow)
    }

    /// A flow begins to flow.
    fn send(&mut self, id: FlowId, flow: &Flow) -> Result<(), Error> {
        let mut number = |host: HostId| {
            self.last_number[host] += 1;
            Qpn(self.last_number[host])
        };
        let (src, dst) = *self.numbers.entry(pair(flow)).or_insert_with(|| (number(flow.src), number(flow.dst)));
        let sport = rocetop_parsers::sport::of_label(rocetop_parsers::sport::label_of_qps(src, dst));
        let key = Key { src: flow.src, dst: flow.dst, sport, qp: dst, psn: Psn::new(0) };
        let way = self.ways.find(self.fabric, &key, self.now);
        let way = way.ok_or(Error::NoWay { flow: id.0, src: flow.src.0, dst: flow.dst.0 })?;
        let all = wire::message(flow.bytes, self.settings.mtu).0 as f64 * 8.0;
        self.running.push(Running { id, left: all, all, way });
        self.changed = true;
        Ok(())
    }

    /// All of a flow has left its host.
    fn end(&mut self, flow: Running) -> Result<(), Error> {
        self.changed = true;
        self.ways.leave(&flow.way);
        for used in &flow.way {
            self.carried[PortId(used.link)] += flow.all * used.share.get();
        }
        let wanted = self.load.flows()[flow.id];
        // The last packet passes the other cables after the first; the ACK comes back by as many.
        let last = Bytes(wanted.bytes.0.min(self.settings.mtu.0) + u64::from(wire::HEADERS + wire::GAP));
        let ack = Bytes(u64::from(wire::ACK + wire::GAP));
        let (mut there, mut back) = (Time::ZERO, Time::ZERO);
        for (nth, port) in self.fabric.way(wanted.src, wanted.dst).into_iter().flatten().enumerate() {
            let cable = self.fabric.ports()[port].cable;
            there += cable.delay + if nth > 0 { cable.rate.time_for(last) } else { Time::ZERO };
            back += cable.delay + cable.rate.time_for(ack);
        }
        let delivered = self.now + there;
        self.events.push(Reverse((delivered, Happening::Reached(flow.id, Milestone::Delivered))));
        self.events.push(Reverse((delivered + back, Happening::Reached(flow.id, Milestone::Acked))));
        let next = self.queues.get_mut(&pair(&wanted)).and_then(VecDeque::pop_front);
        match next {
            Some(id) => self.send(id, &self.load.flows()[id]),
            None => {
                self.queues.remove(&pair(&wanted));
                Ok(())
            }
        }
    }

    fn reached(&mut self, id: FlowId, until: Milestone) {
        let result = &mut self.flows[id];
        match until {
            Milestone::Started => result.started = Some(self.now),
            Milestone::Delivered => result.delivered = Some(self.now),
            Milestone::Acked => result.acked = Some(self.now),
        }
        for wait in self.followers.of(id).iter().filter(|wait| wait.until == until) {
            let waits = &mut self.waits[wait.flow];
            *waits -= 1;
            if *waits == 0 {
                let at = self.now + self.load.flows()[wait.flow].after;
                self.events.push(Reverse((at, Happening::Start(wait.flow))));
            }
        }
    }
}

#[cfg(test)]
mod tests;
