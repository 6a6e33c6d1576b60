//! What a scenario came to at the level of flows, as one JSON object: `rocetop.flow_level/1`. Integers throughout:
//! nanoseconds, bytes, bits per second, counts; what did not happen is null. Of queues, losses, pauses and
//! notifications it has no figure, since there are none to be had without packets.

use std::io::{self, Write};

use rocetop_model::engine::FlowResult;
use rocetop_model::observe::link_names;
use rocetop_model::scenario::{Fluid, Scenario};
use rocetop_model::workload::{self, FlowId};
use serde::Serialize;

use super::simulation::{ns, rate};

/// Name and version of the contract.
pub const SCHEMA: &str = "rocetop.flow_level/1";

/// A scenario at the level of flows.
#[derive(Debug, Serialize)]
pub struct FlowLevel {
    schema: &'static str,
    /// What was played.
    pub scenario: About,
    /// When the last flow was acknowledged.
    pub end_ns: u64,
    /// Sums.
    pub totals: Sums,
    /// Every message.
    pub flows: Vec<Flow>,
    /// Every port: one direction of a cable.
    pub links: Vec<Link>,
}

/// What was played.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct About {
    pub name: String,
    pub about: String,
    pub seed: u64,
    pub hosts: u32,
    pub switches: u32,
    pub routing: &'static str,
}

/// Sums over the fabric.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct Sums {
    pub flows: u64,
    pub flows_done: u64,
    pub delivered_bytes: u64,
    /// How often rates were worked out.
    pub solutions: u64,
}

/// One message.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct Flow {
    pub id: u32,
    pub traffic: String,
    pub src: u32,
    pub dst: u32,
    pub bytes: u64,
    pub started_ns: Option<u64>,
    pub delivered_ns: Option<u64>,
    pub acked_ns: Option<u64>,
    /// From its start to the arrival of its last byte.
    pub duration_ns: Option<u64>,
    pub goodput_bps: Option<u64>,
}

/// A port's way out.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct Link {
    pub link: String,
    pub rate_bps: u64,
    /// Headers and gaps included; acknowledgements are left out.
    pub tx_bytes: u64,
    /// Of the line rate, from beginning to end; in parts of a million.
    pub use_ppm: u64,
}

impl FlowLevel {
    /// What `scenario` came to.
    #[must_use]
    pub fn new(scenario: &Scenario, played: &Fluid) -> Self {
        let (fabric, outcome) = (played.fabric(), played.outcome());
        let names = link_names(fabric);
        let flows: Vec<Flow> = played.flows().map(flow).collect();
        let done = || flows.iter().filter(|flow| flow.acked_ns.is_some());
        let links = fabric.ports().iter().map(|(port, wired)| {
            let (line, tx_bytes) = (wired.cable.rate, outcome.carried[port].0);
            let all = u128::from(line.bytes_in(outcome.end).0);
            let use_ppm = (u128::from(tx_bytes) * 1_000_000).checked_div(all).unwrap_or(0) as u64;
            Link { link: names[port].clone(), rate_bps: line.0, tx_bytes, use_ppm }
        });
        Self {
            schema: SCHEMA,
            scenario: About {
                name: scenario.name.clone(),
                about: scenario.about.clone(),
                seed: scenario.settings.seed,
                hosts: fabric.hosts(),
                switches: fabric.switches(),
                routing: scenario.settings.routing.name(),
            },
            end_ns: ns(outcome.end),
            totals: Sums {
                flows: flows.len() as u64,
                flows_done: done().count() as u64,
                delivered_bytes: done().fold(0, |sum, flow| sum.saturating_add(flow.bytes)),
                solutions: outcome.solutions,
            },
            links: links.collect(),
            flows,
        }
    }

    /// Writes it as JSON, and a line feed.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        out.write_all(b"\n")
    }
}

fn flow((id, traffic, flow, result): (FlowId, &str, &workload::Flow, FlowResult)) -> Flow {
    let duration = result.duration();
    Flow {
        id: id.0,
        traffic: traffic.to_owned(),
        src: flow.src.0,
        dst: flow.dst.0,
        bytes: flow.bytes.0,
        started_ns: result.started.map(ns),
        delivered_ns: result.delivered.map(ns),
        acked_ns: result.acked.map(ns),
        duration_ns: duration.map(ns),
        goodput_bps: duration.and_then(|time| rate(flow.bytes.0, time)),
    }
}
