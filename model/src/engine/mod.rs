//! The engine: one run of a workload over a fabric, packet by packet.
//!
//! Time jumps from event to event. Of the frames on a cable only the first has an event; a port has one only while
//! something waits for it. Frames are stored and forwarded: one is looked at when its last bit has come in.
//!
//! ```
//! use rocetop_model::engine::{Settings, Simulation, Status};
//! use rocetop_model::topology::{Cable, HostId, Star};
//! use rocetop_model::units::{Bytes, Rate, Time};
//! use rocetop_model::workload::{Flow, Workload};
//!
//! let fabric = Star { hosts: 2, cable: Cable::new(Rate::gbps(100), Time::us(1)) }.build()?;
//! let mut load = Workload::new();
//! let flow = load.add(Flow::new(HostId(0), HostId(1), Bytes(1_000_000)));
//! let mut run = Simulation::new(fabric, &load, Settings::default())?;
//! assert_eq!(run.advance(Time::NEVER, u64::MAX), Status::Done);
//! assert!(run.flow(flow).delivered.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cable;
mod check;
mod credit;
pub(crate) mod event;
pub(crate) mod eyes;
pub mod faults;
pub(crate) mod packet;
pub(crate) mod pfc;
pub(crate) mod port;
mod queue;
pub(crate) mod results;
mod setup;
mod telemetry;

pub use results::{Counters, Failure, FlowResult, PauseClock, Totals};
pub(crate) use results::{Pauses, Tally};
pub use setup::Error;
pub(crate) use setup::check_mtu;

use crate::cc::{self, Feedback};
use crate::engine::credit::Credits;
use crate::engine::event::{Event, Kind};
use crate::engine::packet::{Arena, QpId};
use crate::engine::port::{Held, Port};
use crate::engine::queue::Queue;
use crate::nic::domains::Watches;
use crate::nic::ready::Stocks;
use crate::nic::receiver::{ClockId, Receiver};
use crate::nic::selective::Repairs;
use crate::nic::sender::Sender;
use crate::nic::serve::Lists;
use crate::observe::{Losses, NicCounters, Tape};
use crate::rng::Rng;
use crate::routing::{self, Router};
use crate::switch::buffer::Pool;
use crate::switch::deadlock::{Deadlock, Detector};
use crate::switch::ecn::{Ramp, RampId};
use crate::switch::voq::Voqs;
use crate::switch::watchdog::Alarm;
use crate::table::Table;
use crate::topology::{PortId, SwitchId, Topology};
use crate::units::{Bytes, Each, Time};
use crate::workload::{FlowId, Followers, Milestone};
use crate::{nic, switch};

/// Everything that can be set about a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All that is drawn comes from this.
    pub seed: u64,
    /// The switches.
    pub switch: switch::Settings,
    /// The NICs.
    pub nic: nic::Settings,
    /// Congestion control of every queue pair.
    pub cc: cc::Settings,
    /// How switches choose among equal ways.
    pub routing: routing::Settings,
    /// What goes wrong on cables.
    pub faults: Vec<faults::Fault>,
    /// How switches notice.
    pub detection: faults::Detection,
}

impl Default for Settings {
    /// Seed 1, no congestion control, ECMP with a seed for each tier, PFC on priority 3.
    fn default() -> Self {
        Self {
            seed: 1,
            switch: switch::Settings::default(),
            nic: nic::Settings::default(),
            cc: cc::Settings::None(cc::none::Settings),
            routing: routing::Settings::Ecmp(routing::ecmp::Settings::default()),
            faults: Vec::new(),
            detection: faults::Detection::BFD,
        }
    }
}

/// A flow in motion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowState {
    pub(crate) bytes: u64,
    pub(crate) after: Time,
    pub(crate) started: Time,
    pub(crate) delivered: Time,
    pub(crate) acked: Time,
    pub(crate) qp: QpId,
    /// Its packets' numbers in the queue pair: the first, and one past the last.
    pub(crate) first: u32,
    pub(crate) end: u32,
    /// The next one of its queue pair.
    pub(crate) next: FlowId,
    /// What it still waits for.
    pub(crate) waits: u32,
    pub(crate) resent: u32,
    /// Packets that arrived with a CE mark, and CNPs that they were answered with.
    pub(crate) marked: u32,
    pub(crate) cnps: u32,
    pub(crate) seen: bool,
    pub(crate) failed: Option<Failure>,
}

/// Everything that moves. The parts of the model that act on it stand in their own folders.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) now: Time,
    pub(crate) events: Queue,
    pub(crate) packets: Arena,
    pub(crate) ports: Table<PortId, Port>,
    pub(crate) pools: Table<SwitchId, Pool>,
    pub(crate) held: Table<PortId, Each<Held>>,
    pub(crate) ramps: Table<RampId, Ramp>,
    pub(crate) nics: Table<PortId, Lists>,
    pub(crate) senders: Table<QpId, Sender>,
    pub(crate) receivers: Table<QpId, Receiver>,
    pub(crate) clocks: Table<ClockId, Time>,
    pub(crate) watches: Watches,
    pub(crate) repairs: Repairs,
    pub(crate) stocks: Stocks,
    pub(crate) flows: Table<FlowId, FlowState>,
    pub(crate) counters: Table<PortId, Tally>,
    /// Those of hosts, whose ports come first.
    pub(crate) nic_counts: Table<PortId, NicCounters>,
    pub(crate) tape: Tape,
    pub(crate) losses: Losses,
    pub(crate) pauses: Pauses,
    pub(crate) stacks: telemetry::Stacks,
    pub(crate) voqs: Voqs,
    pub(crate) deadlocks: Detector,
    pub(crate) pfc: pfc::Pfc,
    pub(crate) credits: Credits,
    /// Whether a watchdog or credits care about each frame that is sent.
    minded: bool,
    pub(crate) fabric: Topology,
    pub(crate) router: Router,
    pub(crate) faults: faults::Faults,
    pub(crate) settings: Settings,
    pub(crate) feedback: Feedback,
    followers: Followers,
    /// Chance: of marks, and of ways.
    pub(crate) marks: Rng,
    pub(crate) ways: Rng,
    pub(crate) count: Totals,
    pub(crate) hops: u64,
    pub(crate) delivered: u64,
    /// Flows that have started, or will at a time that is set.
    pub(crate) begun: usize,
    pub(crate) done: usize,
    pub(crate) failed: usize,
}

impl State {
    /// Something about a flow has happened that others may wait for.
    pub(crate) fn reached(&mut self, id: FlowId, what: Milestone) {
        for wait in self.followers.of(id) {
            if wait.until != what {
                continue;
            }
            let flow = &mut self.flows[wait.flow];
            flow.waits -= 1;
            if flow.waits == 0 {
                self.begun += 1;
                self.events.push(self.now + flow.after, Event::new(Kind::Start, wait.flow.0));
            }
        }
    }

    /// Looks at what the events of the present slot will need. They follow one another, and each would wait for memory
    /// alone; here all wait together.
    #[inline]
    fn touch(&self) {
        let mut sum = 0;
        for event in self.events.present() {
            sum ^= match event.kind() {
                Kind::Arrive => self.packets[event.row()].size,
                Kind::Free => self.ports[event.row()].busy.0 as u32,
                _ => 0,
            };
        }
        for event in self.events.present() {
            match event.kind() {
                Kind::Arrive => {
                    let packet = &self.packets[event.row()];
                    if self.fabric.switch(packet.node).is_some() {
                        sum ^= self.held[packet.ingress][packet.priority].shared as u32;
                        let hops = self.fabric.next_hops(packet.node, packet.dst);
                        if hops.count == 1 {
                            sum ^= self.ports[hops.first].busy.0 as u32;
                        }
                    } else if packet.what == packet::What::Ack {
                        sum ^= self.senders[packet.qp].una;
                    } else {
                        sum ^= self.receivers[packet.qp].expected;
                    }
                }
                Kind::Free => {
                    let port: PortId = event.row();
                    if let Some(priority) = self.ports[port].waiting.highest() {
                        let head = self.ports[port].queues[priority].list.head;
                        sum ^= self.packets[head].size;
                    }
                }
                _ => {}
            }
        }
        std::hint::black_box(sum);
    }

    /// Plays the next event, unless it is later than `until`.
    #[inline(always)]
    fn next(&mut self, until: Time) -> Next {
        loop {
            if let Some((at, event)) = self.events.pop(until) {
                debug_assert!(at >= self.now, "time runs backwards");
                self.now = at;
                self.handle(event);
                return Next::Played;
            }
            if !self.events.is_played() {
                // What is beyond the end of the clock never happens.
                if until == Time::NEVER {
                    return Next::Nothing;
                }
                self.now = self.now.max(until);
                return Next::Later;
            }
            if !self.events.turn() {
                return Next::Nothing;
            }
            self.touch();
        }
    }

    /// Whether no frame is on its way, nor about to be.
    fn is_quiet(&self) -> bool {
        self.packets.live() == 0 && self.ports.rows().iter().all(|port| port.due.is_empty())
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        match event.kind() {
            Kind::Arrive => self.arrive(event.row()),
            Kind::Free => self.free(event.row()),
            Kind::Pace => self.pace(event.row()),
            Kind::Retry => self.retry(event.row()),
            Kind::Start => self.start(event.row()),
            Kind::Fault => self.fault(event.row()),
            Kind::Tick => self.tick(event.row()),
        }
    }
}

/// What became of the attempt to play an event.
enum Next {
    Played,
    /// It is later.
    Later,
    /// There is none any more.
    Nothing,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It can go on.
    Running,
    /// Every flow has arrived and is acknowledged.
    Done,
    /// Nothing will happen any more, and some flows have not arrived: their queue pairs broke, they wait for such, or
    /// they would begin after the end of the clock.
    Stuck,
    /// Nothing will happen any more, and a circle of paused queues holds frames for ever (`Simulation::deadlocks`).
    Deadlock,
}

/// One run.
#[derive(Debug)]
pub struct Simulation {
    pub(crate) state: State,
    status: Status,
}

impl Simulation {
    /// Plays on up to time `until`, but no more than `most` events: call it again, show how far it is, or drop it.
    pub fn advance(&mut self, until: Time, most: u64) -> Status {
        let state = &mut self.state;
        let mut left = most;
        while self.status == Status::Running && left > 0 {
            if state.done == state.flows.len() {
                self.status = Status::Done;
                break;
            }
            match state.next(until) {
                Next::Played => left -= 1,
                Next::Later => break,
                Next::Nothing if state.deadlocks.is_locked() => self.status = Status::Deadlock,
                Next::Nothing => self.status = Status::Stuck,
            }
        }
        if cfg!(debug_assertions) {
            state.check();
        }
        self.status
    }

    /// After the last flow: plays on up to time `until`, but no more than `most` events, as long as a frame is on its
    /// way: repeats, CNPs and pauses that nobody waits for. Whether all have come to their end.
    pub fn settle(&mut self, until: Time, most: u64) -> bool {
        let state = &mut self.state;
        for _ in 0..most {
            match if state.is_quiet() { Next::Nothing } else { state.next(until) } {
                Next::Played => {}
                Next::Later => return false,
                Next::Nothing => return true,
            }
        }
        state.is_quiet()
    }

    /// Plays to the end.
    pub fn run(&mut self) -> Status {
        self.advance(Time::NEVER, u64::MAX)
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.state.now
    }

    /// The fabric.
    #[must_use]
    pub const fn fabric(&self) -> &Topology {
        &self.state.fabric
    }

    /// What became of a flow of the workload.
    #[must_use]
    pub fn flow(&self, id: FlowId) -> FlowResult {
        FlowResult::of(&self.state.flows[id])
    }

    /// What became of all flows, in the workload's order.
    pub fn flows(&self) -> impl Iterator<Item = FlowResult> {
        self.state.flows.rows().iter().map(FlowResult::of)
    }

    /// Payload of a flow that its receiver has taken so far.
    #[must_use]
    pub fn received(&self, id: FlowId) -> Bytes {
        let flow = &self.state.flows[id];
        if !flow.seen {
            return Bytes(0);
        }
        let packets = self.state.receivers[flow.qp].expected.clamp(flow.first, flow.end) - flow.first;
        Bytes((u64::from(packets) * self.state.settings.nic.mtu.0).min(flow.bytes))
    }

    /// What happened in all.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.state.totals()
    }

    /// What a port has counted.
    #[must_use]
    pub fn counters(&self, port: PortId) -> Counters {
        self.state.counters(port)
    }

    /// Every circle of paused queues that closed, in the order of their closing.
    #[must_use]
    pub fn deadlocks(&self) -> &[Deadlock] {
        self.state.deadlocks.found()
    }

    /// Every alarm of a watchdog.
    #[must_use]
    pub fn alarms(&self) -> &[Alarm] {
        &self.state.pfc.alarms
    }

    /// Bytes that wait in all queues of a port.
    #[must_use]
    pub fn queue(&self, port: PortId) -> Bytes {
        Bytes(self.state.ports[port].queued)
    }
}
