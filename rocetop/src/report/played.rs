//! What a scenario came to, packet by packet ([`super::simulation`]) or flow by flow ([`super::flow_level`]): what both
//! contracts tell in the same words.

use std::io::{self, Write};

use rocetop_model::engine::FlowResult;
use rocetop_model::scenario::Scenario;
use rocetop_model::units::{Rate, Time};
use rocetop_model::workload::{self, FlowId};
use serde::Serialize;

/// What was played.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct About {
    pub name: String,
    pub about: String,
    pub seed: u64,
    pub hosts: u32,
    pub switches: u32,
    /// Not there where it plays no part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<&'static str>,
    pub routing: &'static str,
}

impl About {
    /// What `scenario` says, its congestion control left out where flows have none.
    pub(super) fn new(scenario: &Scenario, congestion_control: Option<&'static str>) -> Self {
        Self {
            name: scenario.name.clone(),
            about: scenario.about.clone(),
            seed: scenario.settings.seed,
            hosts: scenario.fabric.hosts(),
            switches: scenario.fabric.switches(),
            congestion_control,
            routing: scenario.settings.routing.name(),
        }
    }
}

/// One message: who sent what, and when.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "each name says it")]
pub struct Message {
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

impl Message {
    /// As the model lists it.
    pub(super) fn new(id: FlowId, traffic: &str, flow: &workload::Flow, result: &FlowResult) -> Self {
        let duration = result.duration();
        Self {
            id: id.0,
            traffic: traffic.to_owned(),
            src: flow.src.0,
            dst: flow.dst.0,
            bytes: flow.bytes.0,
            started_ns: result.started.map(ns),
            delivered_ns: result.delivered.map(ns),
            acked_ns: result.acked.map(ns),
            duration_ns: duration.map(ns),
            goodput_bps: duration.and_then(|time| goodput(flow.bytes.0, time)),
        }
    }
}

impl AsRef<Self> for Message {
    fn as_ref(&self) -> &Self {
        self
    }
}

pub(super) const fn ns(time: Time) -> u64 {
    time.0 / 1_000
}

/// `bytes` in `time`, in bits per second.
fn goodput(bytes: u64, time: Time) -> Option<u64> {
    let bits = u128::from(bytes) * 8 * u128::from(Time::SECOND.0);
    bits.checked_div(u128::from(time.0)).and_then(|rate| u64::try_from(rate).ok())
}

/// What `bytes` are of what a line carries in `time`, in parts of a million.
pub(super) fn use_ppm(bytes: u64, line: Rate, time: Time) -> u64 {
    (u128::from(bytes) * 1_000_000).checked_div(u128::from(line.bytes_in(time).0)).unwrap_or(0) as u64
}

/// Writes one of the contracts as JSON, and a line feed.
///
/// # Errors
/// Those of the writer.
pub fn write(out: &mut impl Write, report: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, report)?;
    out.write_all(b"\n")
}
