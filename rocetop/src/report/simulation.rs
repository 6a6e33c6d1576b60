//! What a simulated run came to, as one JSON object: `rocetop.simulation/1`. Integers throughout: nanoseconds, bytes,
//! bits per second, counts; what did not happen is null.

use std::collections::BTreeMap;

use rocetop_model::engine::Totals;
use rocetop_model::observe::{NicCounters, PortCounters, address_of, link_names};
use rocetop_model::scenario::{Ended, Run, Scenario};
use rocetop_model::switch::Deadlock;
use rocetop_model::table::Table;
use rocetop_model::topology::{HostId, NodeId, PortId};
use serde::Serialize;

use super::played::{About, Message, ns, use_ppm};

/// Name and version of the contract.
pub const SCHEMA: &str = "rocetop.simulation/1";

/// A run.
#[derive(Debug, Serialize)]
pub struct Simulation {
    schema: &'static str,
    /// What was played.
    pub scenario: About,
    /// Why it ended: `done`, `stuck`, `deadlock`, `time`, `hops`; `interrupted` when somebody asked for the end.
    pub ended: &'static str,
    /// When it ended.
    pub end_ns: u64,
    /// Sums.
    pub totals: Sums,
    /// Every message.
    pub flows: Vec<Flow>,
    /// Every port: one direction of a cable.
    pub links: Vec<Link>,
    /// Every host's NIC that has something to tell.
    pub nics: Vec<Nic>,
    /// Where congestion stood, and what had to wait for it.
    pub pause_trees: Vec<Tree>,
    /// Circles of queues that waited for each other.
    pub deadlocks: Vec<Circle>,
    /// Packets that switches dropped and cables broke, by who sent them to whom.
    pub lost: Vec<LostOf>,
    /// Queues and rates over time; null unless asked for.
    pub series: Option<Series>,
}

/// Paused queues each of which waits for the next, and the last for the first.
#[derive(Debug, Serialize)]
pub struct Circle {
    /// When it closed.
    pub closed_ns: u64,
    /// When a watchdog or a cut opened it; null while nothing has.
    pub opened_ns: Option<u64>,
    /// Its queues, as `PORT, priority N`.
    pub queues: Vec<String>,
}

/// Sums over the fabric.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct Sums {
    pub flows: u64,
    pub flows_done: u64,
    pub flows_failed: u64,
    pub delivered_bytes: u64,
    pub hops: u64,
    /// Packets that switches dropped.
    pub drops: u64,
    /// Frames that cuts and bit errors of cables took.
    pub broken: u64,
    pub ce: u64,
    pub cnps: u64,
    pub pauses: u64,
    pub naks: u64,
    pub out_of_sequence: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
}

/// One message, and what it met on its way.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct Flow {
    #[serde(flatten)]
    pub message: Message,
    pub retransmissions: u32,
    pub ce: u32,
    pub cnps: u32,
    pub failed: bool,
}

impl AsRef<Message> for Flow {
    fn as_ref(&self) -> &Message {
        &self.message
    }
}

/// A port's way out.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct Link {
    pub link: String,
    pub rate_bps: u64,
    pub tx_frames: u64,
    pub tx_bytes: u64,
    pub rx_frames: u64,
    pub rx_bytes: u64,
    /// Of the line rate, gaps included, from beginning to end; in parts of a million.
    pub use_ppm: u64,
    /// Packets that came in by it and were dropped.
    pub drops: u64,
    /// Frames on their way in that a cut or a bit error took.
    pub broken: u64,
    /// Frames that left by it and were dropped or taken: the other end's `drops` and `broken`.
    pub lost: u64,
    pub ce: u64,
    /// CNPs that its switch made itself for packets on their way out.
    pub cnps: u64,
    /// Times it had to stop, and for how long.
    pub pauses: u64,
    pub paused_ns: u64,
    /// Bytes in its queues; null where it was not watched.
    pub queue: Option<Queue>,
}

/// How long a queue was.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct Queue {
    pub p50: u64,
    pub p99: u64,
    pub max: u64,
}

/// A host's NIC, by the names that Linux has for its counters.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name is Linux's own")]
pub struct Nic {
    pub host: u32,
    pub np_ecn_marked_roce_packets: u64,
    pub np_cnp_sent: u64,
    pub rp_cnp_handled: u64,
    pub out_of_sequence: u64,
    pub duplicate_request: u64,
    pub packet_seq_err: u64,
    pub local_ack_timeout_err: u64,
    pub retransmissions: u64,
}

/// Pauses that go back to one node.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct Tree {
    pub root: String,
    pub priority: u8,
    pub pauses: u64,
    pub depth: u32,
    pub ports: Vec<String>,
    pub hosts: u32,
    pub first_ns: u64,
    pub last_ns: u64,
}

/// Losses from one node to another.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct LostOf {
    /// The names of both: `h0`; `t1s0` for a switch that sent CNPs.
    pub from: String,
    pub to: String,
    /// Their addresses.
    pub src: String,
    pub dst: String,
    pub packets: u64,
}

/// Queues and rates, bin by bin.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct Series {
    pub bin_ns: u64,
    pub links: Vec<SeriesOf>,
}

/// Those of one link.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct SeriesOf {
    pub link: String,
    pub sent_bytes: Vec<u64>,
    pub peak_bytes: Vec<u64>,
}

fn circles(run: &Run) -> Vec<Circle> {
    let simulation = run.simulation();
    let circle = |found: &Deadlock| Circle {
        closed_ns: ns(found.at),
        opened_ns: found.opened.map(ns),
        queues: found.names(simulation.fabric()),
    };
    simulation.deadlocks().iter().map(circle).collect()
}

impl Simulation {
    /// What a run of `scenario` came to.
    #[must_use]
    pub fn new(scenario: &Scenario, run: &Run, series: bool) -> Self {
        let simulation = run.simulation();
        let flows: Vec<Flow> = flows(run);
        let names = link_names(simulation.fabric());
        Self {
            schema: SCHEMA,
            scenario: About::new(scenario, Some(scenario.settings.cc.name())),
            ended: match run.ended() {
                Some(Ended::Done) => "done",
                Some(Ended::Stuck) => "stuck",
                Some(Ended::Deadlock) => "deadlock",
                Some(Ended::Time) => "time",
                Some(Ended::Hops) => "hops",
                None => "interrupted",
            },
            end_ns: ns(simulation.now()),
            totals: sums(&simulation.totals(), &flows),
            flows,
            links: links(run, &names),
            nics: nics(run),
            pause_trees: trees(run, &names),
            deadlocks: circles(run),
            lost: lost(run),
            series: series.then(|| self::series(run, &names)),
        }
    }
}

fn sums(totals: &Totals, flows: &[Flow]) -> Sums {
    Sums {
        flows: flows.len() as u64,
        flows_done: flows.iter().filter(|flow| flow.message.acked_ns.is_some()).count() as u64,
        flows_failed: totals.failed,
        delivered_bytes: totals.delivered.0,
        hops: totals.hops,
        drops: totals.drops,
        broken: totals.broken,
        ce: totals.marks,
        cnps: totals.cnps,
        pauses: totals.pauses,
        naks: totals.naks,
        out_of_sequence: totals.out_of_order,
        retransmissions: totals.resent,
        timeouts: totals.timeouts,
    }
}

fn flows(run: &Run) -> Vec<Flow> {
    run.flows()
        .map(|(id, traffic, flow, result)| Flow {
            message: Message::new(id, traffic, flow, &result),
            retransmissions: result.resent,
            ce: result.marked,
            cnps: result.cnps,
            failed: result.failed.is_some(),
        })
        .collect()
}

fn links(run: &Run, names: &Table<PortId, String>) -> Vec<Link> {
    let simulation = run.simulation();
    let (fabric, now) = (simulation.fabric(), simulation.now());
    let mut queues: BTreeMap<_, _> = BTreeMap::new();
    for watch in run.watch().ports() {
        let [p50, p99] = [50, 99].map(|percent| watch.queue.percentile(percent).0);
        queues.insert(watch.port, Queue { p50, p99, max: watch.queue.most().0 });
    }
    let all = simulation.port_counters();
    all.iter()
        .map(|(port, counters)| {
            let PortCounters {
                tx_frames,
                tx_bytes,
                rx_frames,
                rx_bytes,
                marks,
                cnps,
                drops,
                broken,
                rx_pauses,
                paused,
            } = *counters;
            let line = fabric.ports()[port].cable.rate;
            let there = &all[fabric.ports()[port].peer];
            Link {
                link: names[port].clone(),
                rate_bps: line.0,
                tx_frames,
                tx_bytes: tx_bytes.0,
                rx_frames,
                rx_bytes: rx_bytes.0,
                use_ppm: use_ppm(simulation.counters(port).bytes, line, now),
                drops,
                broken,
                lost: there.drops + there.broken,
                ce: marks,
                cnps,
                pauses: rx_pauses,
                paused_ns: ns(paused),
                queue: queues.get(&port).copied(),
            }
        })
        .collect()
}

fn nics(run: &Run) -> Vec<Nic> {
    let simulation = run.simulation();
    let hosts = (0..simulation.fabric().hosts()).map(|host| (host, simulation.nic_counters(HostId(host))));
    let of = |(host, counters): (u32, NicCounters)| Nic {
        host,
        np_ecn_marked_roce_packets: counters.marked,
        np_cnp_sent: counters.cnps_sent,
        rp_cnp_handled: counters.cnps_handled,
        out_of_sequence: counters.out_of_sequence,
        duplicate_request: counters.duplicates,
        packet_seq_err: counters.naks,
        local_ack_timeout_err: counters.timeouts,
        retransmissions: counters.resent,
    };
    hosts.filter(|(_, counters)| *counters != NicCounters::default()).map(of).collect()
}

fn lost(run: &Run) -> Vec<LostOf> {
    let simulation = run.simulation();
    let fabric = simulation.fabric();
    let of = |(&(from, to), &packets): (&(NodeId, HostId), &u64)| LostOf {
        from: fabric.name(from),
        to: fabric.name(to.into()),
        src: address_of(fabric, from).to_string(),
        dst: address_of(fabric, to.into()).to_string(),
        packets,
    };
    simulation.losses().iter().map(of).collect()
}

fn trees(run: &Run, names: &Table<PortId, String>) -> Vec<Tree> {
    let fabric = run.simulation().fabric();
    let trees = run.trees().trees().into_iter();
    trees
        .map(|tree| Tree {
            root: fabric.name(tree.root),
            priority: tree.priority.number(),
            pauses: tree.pauses,
            depth: tree.depth,
            ports: tree.ports.iter().map(|port| names[*port].clone()).collect(),
            hosts: tree.ports.iter().filter(|port| port.0 < fabric.hosts()).count() as u32,
            first_ns: ns(tree.first),
            last_ns: ns(tree.last),
        })
        .collect()
}

fn series(run: &Run, names: &Table<PortId, String>) -> Series {
    let links = run.watch().ports().iter().map(|watch| SeriesOf {
        link: names[watch.port].clone(),
        sent_bytes: watch.points.iter().map(|point| point.sent.0).collect(),
        peak_bytes: watch.points.iter().map(|point| point.peak.0).collect(),
    });
    Series { bin_ns: ns(run.watch().bin()), links: links.collect() }
}
