//! What a scenario came to at the level of flows, as one JSON object: `rocetop.flow_level/1`. Integers throughout:
//! nanoseconds, bytes, bits per second, counts; what did not happen is null. Of queues, losses, pauses and
//! notifications it has no figure, since there are none to be had without packets.

use rocetop_model::observe::link_names;
use rocetop_model::scenario::{Fluid, Scenario};
use serde::Serialize;

use super::played::{About, Message, ns, use_ppm};

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
    pub flows: Vec<Message>,
    /// Every port: one direction of a cable.
    pub links: Vec<Link>,
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
        let flows = played.flows().map(|(id, traffic, flow, result)| Message::new(id, traffic, flow, &result));
        let flows: Vec<Message> = flows.collect();
        let done = || flows.iter().filter(|flow| flow.acked_ns.is_some());
        let links = fabric.ports().iter().map(|(port, wired)| {
            let (line, tx_bytes) = (wired.cable.rate, outcome.carried[port].0);
            let use_ppm = use_ppm(tx_bytes, line, outcome.end);
            Link { link: names[port].clone(), rate_bps: line.0, tx_bytes, use_ppm }
        });
        Self {
            schema: SCHEMA,
            scenario: About::new(scenario, None),
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
}
