//! From a fabric, a workload and settings to the state that a run begins with.

use std::collections::BTreeMap;

use super::credit::Credits;
use super::event::{Event, Kind};
use super::faults::Faults;
use super::packet::{Arena, QpId};
use super::pfc::Pfc;
use super::port::Port;
use super::queue::Queue;
use super::telemetry::Stacks;
use super::{FlowState, Pauses, Settings, Simulation, State, Status, Tally, Totals};
use crate::cc::Path;
use crate::nic::domains::Watches;
use crate::nic::receiver::{ClockId, Receiver};
use crate::nic::sender::{NO_FLOW, Sender};
use crate::nic::serve::Lists;
use crate::nic::{CnpPer, Recovery};
use crate::observe::{Losses, NicCounters, Tape};
use crate::rng::Rng;
use crate::routing::{Key, Router};
use crate::switch::buffer::Pool;
use crate::switch::deadlock::Detector;
use crate::switch::ecn::{Ramp, RampId};
use crate::switch::scheduler::QUANTUM;
use crate::switch::voq::Voqs;
use crate::switch::{CnpBy, Link};
use crate::table::Table;
use crate::topology::{HostId, NodeId, PortId, SwitchId, Topology};
use crate::units::{Bytes, Each, Psn, Qpn, Rate, Time};
use crate::wire;
use crate::workload::{Flow, FlowId, Followers, Workload};

/// Flows that the engine's events can name.
const MOST: usize = 1 << 28;

/// The wheel's longest frame; a PSN's worth of it must fit 32 bits, and a turn of the scheduler one of it.
const LARGEST_MTU: u64 = QUANTUM as u64 - (wire::HEADERS + wire::RETH + wire::INT) as u64;

/// Refuses an MTU that no frame has, here and where flows are fluids.
pub(crate) fn check_mtu(mtu: Bytes) -> Result<(), Error> {
    if mtu.0 == 0 || mtu.0 > LARGEST_MTU {
        return Err(Error::Mtu { mtu: mtu.0, most: LARGEST_MTU });
    }
    Ok(())
}

/// Why a run cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The workload does not fit the fabric, or itself.
    #[error(transparent)]
    Workload(#[from] crate::workload::Error),
    /// A packet size that no frame has.
    #[error("an MTU of {mtu} bytes; it must be between 1 and {most}")]
    Mtu {
        /// What was asked for.
        mtu: u64,
        /// The most there can be.
        most: u64,
    },
    /// Headroom for all ports does not fit into the buffer.
    #[error(
        "switch {switch}: headroom for {ports} ports takes {headroom} bytes, but its buffer has {buffer}; give it a \
         larger buffer, shorter cables or fewer lossless priorities"
    )]
    Headroom {
        /// The switch.
        switch: String,
        /// Its ports.
        ports: u32,
        /// What they need.
        headroom: u64,
        /// What there is.
        buffer: u64,
    },
    /// Credits for less than a frame: nothing could ever be sent.
    #[error(
        "switch {switch} grants credits for {grant} bytes, less than a frame of {frame}; give its buffer a larger \
         headroom, or \"exact\""
    )]
    Grant {
        /// The switch.
        switch: String,
        /// What it grants to a port and priority.
        grant: u64,
        /// A full frame.
        frame: u64,
    },
    /// More flows than can be numbered.
    #[error("{is} flows, more than the {most} that the model can number")]
    Flows {
        /// How many.
        is: u64,
        /// How many there may be.
        most: u64,
    },
    /// More packets in a queue pair than can be numbered.
    #[error(
        "flow {flow}: up to it its queue pair has {is} packets, more than the {most} that the model can number; send \
         less, or give it a lane of its own"
    )]
    Packets {
        /// The flow with which they are too many.
        flow: u32,
        /// How many.
        is: u64,
        /// How many there may be.
        most: u64,
    },
    /// More kinds of marking than ports can tell apart.
    #[error("{is} different markings, more than the {most} that the model can tell apart")]
    Markings {
        /// How many.
        is: u64,
        /// How many there may be.
        most: u64,
    },
    /// Two settings that exclude each other.
    #[error("{0}")]
    Together(&'static str),
    /// CNPs that switches cannot make.
    #[error("{0}")]
    Notices(&'static str),
    /// No way leads there.
    #[error("flow {flow}: no way leads from host {src} to host {dst}")]
    NoWay {
        /// The flow.
        flow: u32,
        /// Its source.
        src: u32,
        /// Its destination.
        dst: u32,
    },
}

impl Error {
    /// The flow that it is about, if it is about one.
    #[must_use]
    pub const fn flow(&self) -> Option<u32> {
        match self {
            Self::Workload(error) => error.flow(),
            Self::NoWay { flow, .. } | Self::Packets { flow, .. } => Some(*flow),
            _ => None,
        }
    }
}

impl Simulation {
    /// A run of `load` over `fabric` that stands at time zero.
    ///
    /// # Errors
    /// A workload that cannot be played, settings that fit neither the fabric nor themselves.
    pub fn new(fabric: Topology, load: &Workload, settings: Settings) -> Result<Self, Error> {
        load.check(fabric.hosts())?;
        check_mtu(settings.nic.mtu)?;
        if load.flows().len() >= MOST {
            return Err(Error::Flows { is: load.flows().len() as u64, most: MOST as u64 });
        }
        if settings.nic.receives.is_some() && settings.nic.recovery == Recovery::Selective {
            return Err(Error::Together(
                "receives are counted with go-back-N alone; leave out one of receives and selective",
            ));
        }
        let by_switch = settings.switch.cnp_by == CnpBy::Switch;
        if by_switch && !settings.cc.feedback().cnp {
            return Err(Error::Notices(
                "switches make CNPs only for a congestion control that takes them for marks: dcqcn",
            ));
        }
        let mut ports = ports(&fabric, &settings);
        let pools = pools(&fabric, &ports, &settings)?;
        let credits = Credits::new(&fabric, &settings.switch, &ports, full(&settings));
        if by_switch && settings.switch.lossless.has(settings.nic.cnp_priority) {
            return Err(Error::Notices(
                "neither headroom nor credits are there for what a switch makes itself; give CNPs a priority that is \
                not lossless",
            ));
        }
        let near = near(&fabric, settings.nic.mtu.0);
        let router = settings.routing.begin(&fabric, settings.seed);
        let pairs = Pairs::new(&fabric, load, &settings, &router)?;
        let ramps = ramps(&fabric, &settings, &mut ports)?;
        let hosts = fabric.hosts() as usize;
        let faults = Faults::new(&fabric, &settings.faults, settings.detection, settings.seed);
        let mut state = State {
            now: Time::ZERO,
            events: Queue::new(near, ports.len(), settings.seed),
            // A large vector that grows leaves its old places behind; this one need not grow in most runs.
            packets: Arena::with_room((ports.len() * 64).min(1 << 18)),
            pools,
            held: Table::filled(Each::default(), ports.len()),
            ramps,
            nics: Table::filled(Lists::default(), hosts),
            watches: Watches::new(&settings.cc.feedback(), pairs.senders.len()),
            repairs: BTreeMap::new(),
            stocks: BTreeMap::new(),
            senders: pairs.senders,
            receivers: pairs.receivers,
            clocks: pairs.clocks,
            flows: pairs.flows,
            counters: Table::filled(Tally::default(), ports.len()),
            nic_counts: Table::filled(NicCounters::default(), hosts),
            tape: Tape::default(),
            losses: Losses::new(),
            stacks: Stacks::default(),
            voqs: Voqs::default(),
            deadlocks: Detector::new(&fabric),
            pfc: Pfc::default(),
            minded: settings.switch.watchdog.is_some() || credits.any(),
            credits,
            pauses: Pauses::new(settings.switch.lossless, ports.len()),
            ports,
            router,
            faults,
            feedback: settings.cc.feedback(),
            followers: Followers::new(load),
            marks: Rng::named(settings.seed, "marks"),
            ways: Rng::named(settings.seed, "ways"),
            count: Totals::default(),
            hops: 0,
            delivered: 0,
            begun: 0,
            done: 0,
            failed: 0,
            fabric,
            settings,
        };
        for wait in load.waits() {
            state.flows[wait.flow].waits += 1;
        }
        for (at, event) in state.faults.events() {
            state.events.push(at, event);
        }
        for (id, flow) in state.flows.iter() {
            if flow.waits == 0 {
                state.begun += 1;
                state.events.push(flow.after, Event::new(Kind::Start, id.0));
            }
        }
        Ok(Self { state, status: Status::Running })
    }
}

/// How far ahead most events lie: the longest common cable and a full frame on it.
fn near(fabric: &Topology, mtu: u64) -> Time {
    let frame = Bytes(mtu + u64::from(wire::HEADERS + wire::GAP));
    // The median cable: a few long ones shall not make slots that are too wide for all the others.
    let mut spans: Vec<Time> =
        fabric.ports().rows().iter().map(|port| port.cable.delay + port.cable.rate.time_for(frame)).collect();
    let middle = spans.len() / 2;
    if spans.is_empty() {
        return Time::us(1);
    }
    *spans.select_nth_unstable(middle).1
}

/// The longest frame.
fn full(settings: &Settings) -> u32 {
    let int = if settings.cc.feedback().telemetry { wire::INT } else { 0 };
    settings.nic.mtu.0 as u32 + wire::HEADERS + wire::RETH + int
}

fn ports(fabric: &Topology, settings: &Settings) -> Table<PortId, Port> {
    let frame = full(settings);
    let wired = fabric.ports();
    let make = |port: &crate::topology::Port| {
        let cable = port.cable;
        let mut made = Port::new(port.peer, wired[port.peer].node, fabric.tier(port.node), cable);
        let next = wired[port.peer].node;
        made.lower = (fabric.tier(next), next) < (fabric.tier(port.node), port.node);
        if fabric.switch(port.node).is_some() && !settings.switch.lossless.is_empty() {
            let buffer = settings.switch.buffer(fabric.tier(port.node));
            made.headroom = buffer.headroom(cable.rate, cable.delay, frame).0;
        }
        made
    };
    wired.rows().iter().map(make).collect()
}

fn pools(fabric: &Topology, ports: &Table<PortId, Port>, settings: &Settings) -> Result<Table<SwitchId, Pool>, Error> {
    let lossless = u64::from(settings.switch.lossless.0.count_ones());
    let mut pools = Table::new();
    for switch in (0..fabric.switches()).map(SwitchId) {
        let node = fabric.node(switch);
        let all = fabric.ports_of(node);
        let buffer = settings.switch.buffer(fabric.tier(node)).per_port.0.saturating_mul(u64::from(all.count));
        let headroom =
            all.ports().fold(0_u64, |sum, port| sum.saturating_add(ports[port].headroom.saturating_mul(lossless)));
        let least = u64::from(full(settings));
        let grant = all.ports().map(|port| ports[port].headroom).min().unwrap_or(least);
        if settings.switch.buffer(fabric.tier(node)).link == Link::Credits && lossless > 0 && grant < least {
            return Err(Error::Grant { switch: fabric.name(node), grant, frame: least });
        }
        if headroom >= buffer {
            return Err(Error::Headroom { switch: fabric.name(node), ports: all.count, headroom, buffer });
        }
        pools.push(Pool { size: buffer - headroom, used: 0 });
    }
    Ok(pools)
}

/// The different markings of all ports, each of which is given its own: a fabric has few.
fn ramps(
    fabric: &Topology,
    settings: &Settings,
    ports: &mut Table<PortId, Port>,
) -> Result<Table<RampId, Ramp>, Error> {
    let marking = &settings.switch.marking;
    let mut ramps: Table<RampId, Ramp> = Table::new();
    for (wired, port) in fabric.ports().rows().iter().zip(ports.rows_mut()) {
        let tier = usize::from(fabric.tier(wired.node));
        let found = tier.checked_sub(1).and_then(|tier| marking.get(tier).or(marking.last()));
        let ramp = found.map_or(Ramp::NEVER, |marking| Ramp::new(marking, wired.cable.rate));
        let known = ramps.iter().find(|(_, other)| **other == ramp).map(|(id, _)| id);
        let id = known.unwrap_or_else(|| ramps.push(ramp));
        port.marking = u8::try_from(id.0)
            .map_err(|_| Error::Markings { is: u64::from(id.0) + 1, most: u64::from(u8::MAX) + 1 })?;
    }
    Ok(ramps)
}

impl FlowState {
    fn new(flow: &Flow, qp: QpId) -> Self {
        Self {
            bytes: flow.bytes.0,
            after: flow.after,
            started: Time::NEVER,
            delivered: Time::NEVER,
            acked: Time::NEVER,
            qp,
            first: 0,
            end: 0,
            next: NO_FLOW,
            waits: 0,
            resent: 0,
            marked: 0,
            cnps: 0,
            seen: false,
            failed: None,
        }
    }
}

/// The queue pairs of a workload.
struct Pairs {
    senders: Table<QpId, Sender>,
    receivers: Table<QpId, Receiver>,
    clocks: Table<ClockId, Time>,
    flows: Table<FlowId, FlowState>,
}

impl Pairs {
    fn new(fabric: &Topology, load: &Workload, settings: &Settings, router: &Router) -> Result<Self, Error> {
        let mut pairs =
            Self { senders: Table::new(), receivers: Table::new(), clocks: Table::new(), flows: Table::new() };
        let mut known: BTreeMap<(HostId, HostId, u16, u8), QpId> = BTreeMap::new();
        let mut of_pair: BTreeMap<(HostId, HostId), ClockId> = BTreeMap::new();
        let mut numbers: Table<HostId, u32> = Table::filled(0x100, fabric.hosts() as usize);
        let mut packets: Table<QpId, u64> = Table::new();
        if settings.nic.cnp_per == CnpPer::Port {
            pairs.clocks = Table::filled(Time::ZERO, fabric.hosts() as usize);
        }
        for (id, flow) in load.flows().iter() {
            if flow.is_work() {
                pairs.flows.push(FlowState::new(flow, QpId::NONE));
                continue;
            }
            let key = (flow.src, flow.dst, flow.lane, flow.priority.number());
            let qp = match known.get(&key) {
                Some(qp) => *qp,
                None => {
                    let clock = match settings.nic.cnp_per {
                        CnpPer::Qp => pairs.clocks.push(Time::ZERO),
                        CnpPer::Port => ClockId(flow.dst.0),
                        CnpPer::Ip => {
                            let clocks = &mut pairs.clocks;
                            *of_pair.entry((flow.src, flow.dst)).or_insert_with(|| clocks.push(Time::ZERO))
                        }
                    };
                    let mut number = |host: HostId| {
                        numbers[host] += 1;
                        Qpn(numbers[host])
                    };
                    let qpns = (number(flow.src), number(flow.dst));
                    let way = Way::of(fabric, flow, settings);
                    let way = way.ok_or(Error::NoWay { flow: id.0, src: flow.src.0, dst: flow.dst.0 })?;
                    packets.push(0);
                    let qp = pairs.add(fabric, flow, qpns, &way, settings, router, clock);
                    *known.entry(key).or_insert(qp)
                }
            };
            let sender = &mut pairs.senders[qp];
            sender.limit = sender.limit.min(flow.limit);
            // Room for one more, so that "one past the last" has a number.
            let most = u64::from(u32::MAX) - 1;
            let is = packets[qp].saturating_add(flow.bytes.0.div_ceil(settings.nic.mtu.0));
            if is > most {
                return Err(Error::Packets { flow: id.0, is, most });
            }
            packets[qp] = is;
            pairs.flows.push(FlowState::new(flow, qp));
        }
        Ok(pairs)
    }

    #[allow(clippy::too_many_arguments, reason = "each is one thing that a queue pair is made of")]
    fn add(
        &mut self,
        fabric: &Topology,
        flow: &Flow,
        (src_qpn, dst_qpn): (Qpn, Qpn),
        way: &Way,
        settings: &Settings,
        router: &Router,
        clock: ClockId,
    ) -> QpId {
        // Linux derives the port from both numbers (parsers::sport), so both directions have the same.
        let sport = rocetop_parsers::sport::of_label(rocetop_parsers::sport::label_of_qps(src_qpn, dst_qpn));
        let there = Key { src: flow.src, dst: flow.dst, sport, qp: dst_qpn, psn: Psn::new(0) };
        let back = Key { src: flow.dst, dst: flow.src, qp: src_qpn, ..there };
        let port = fabric.ports_of(flow.src.into()).first;
        self.receivers.push(Receiver {
            expected: 0,
            packets: 0,
            marked: 0,
            asked: false,
            messages: 0,
            back: src_qpn,
            ack_priority: settings.nic.ack_priority.unwrap_or(flow.priority),
            src: flow.src,
            entropy: router.entropy(&back),
            clock,
        });
        self.senders.push(Sender {
            due: Time::ZERO,
            next: 0,
            una: 0,
            end: 0,
            top: 0,
            first: 0,
            last: 0,
            tail: 0,
            entropy: router.entropy(&there),
            port,
            dst: flow.dst,
            flow: NO_FLOW,
            oldest: NO_FLOW,
            newest: NO_FLOW,
            list: QpId::NONE,
            priority: flow.priority,
            listed: false,
            paced: false,
            watched: false,
            broken: None,
            asleep: false,
            away: 0,
            holes: 0,
            tries: 0,
            patience: Time::ZERO,
            limit: flow.limit,
            cc: settings.cc.begin(&way.path, Time::ZERO),
            key: there,
        })
    }
}

/// What a queue pair can know of its way.
struct Way {
    path: Path,
}

impl Way {
    fn of(fabric: &Topology, flow: &Flow, settings: &Settings) -> Option<Self> {
        let mtu = settings.nic.mtu;
        let int = if settings.cc.feedback().telemetry { wire::INT } else { 0 };
        let data = Bytes(mtu.0 + u64::from(wire::HEADERS + wire::GAP + int));
        let ack = Bytes(u64::from(wire::ACK + wire::GAP + int));
        let mut path = Path { line: Rate(0), base_rtt: Time::ZERO, mtu, hops: 0, tier: 0 };
        let mut at = NodeId::from(flow.src);
        while at != NodeId::from(flow.dst) {
            let hops = fabric.next_hops(at, flow.dst);
            if hops.count == 0 || path.hops == u8::MAX {
                return None;
            }
            let port = fabric.ports()[hops.first];
            let cable = port.cable;
            if path.hops == 0 {
                path.line = cable.rate;
            }
            path.hops += 1;
            path.base_rtt += cable.delay.times(2) + cable.rate.time_for(data) + cable.rate.time_for(ack);
            at = fabric.ports()[port.peer].node;
            path.tier = path.tier.max(fabric.tier(at));
        }
        Some(Self { path })
    }
}
