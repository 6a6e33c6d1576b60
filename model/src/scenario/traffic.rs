//! `[[traffic]]`: who sends what to whom. A pattern, a collective of [`collective::KINDS`], or a flow file of
//! [`format::FORMATS`].

use super::Files;
use super::reader::{Doc, Keys, Node};
use super::value::Value;
use crate::collective::{self, Job, Shape};
use crate::format::{self, Format};
use crate::rng::mix;
use crate::table::Id;
use crate::topology::{HostId, Topology};
use crate::units::{Bytes, Priority, Rate, Time};
use crate::workload::pattern::{self, Poisson, Sizes};
use crate::workload::{Flow, FlowId, Workload};

/// Flows that a scenario may have: they bound what it can cost before it has begun (chosen).
const MOST: u64 = 1 << 20;

/// Patterns that are no collectives.
const PATTERNS: &[&str] = &["background", "flow", "incast", "permutation", "poisson"];

/// What is sent.
#[derive(Clone, Debug)]
pub enum Kind {
    /// One message from every one of some hosts to each of others.
    Flow {
        /// Senders.
        from: Vec<HostId>,
        /// Receivers.
        to: Vec<HostId>,
    },
    /// A single cycle through some hosts, in an order drawn from the seed.
    Permutation(Vec<HostId>),
    /// Random arrivals between some hosts.
    Poisson {
        /// The hosts.
        among: Vec<HostId>,
        /// Sizes, load and length. Its sizes count, and not those of the traffic.
        arrivals: Poisson,
    },
    /// A steady stream.
    Background {
        /// Sender and receiver.
        pair: (HostId, HostId),
        /// How fast.
        rate: Rate,
        /// For how long.
        time: Time,
    },
    /// A flow file of another simulator. Its sizes and starts count, and its lanes.
    File {
        /// One of [`format::FORMATS`].
        format: &'static Format,
        /// What it says.
        load: Workload,
    },
    /// A collective, and compute time before each of its rounds.
    Collective {
        /// Which.
        kind: &'static collective::Kind,
        /// Ranks, in order.
        ranks: Vec<HostId>,
        /// How they hang together.
        shape: Shape,
        /// Time before each round.
        compute: Time,
    },
}

/// One entry of a scenario's traffic.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// What it is called in reports.
    pub name: String,
    /// What is sent.
    pub kind: Kind,
    /// Bytes of a message, or of a collective's buffer.
    pub bytes: Bytes,
    /// When it begins.
    pub start: Time,
    /// How often, one after the other on the same queue pair.
    pub rounds: u32,
    /// The queue pair between two hosts that it uses.
    pub lane: u16,
    /// Traffic class.
    pub priority: Priority,
    /// The most that a queue pair sends; [`Rate::MAX`] for no limit.
    pub limit: Rate,
}

impl Traffic {
    /// Traffic that begins with the run, once, in the class that RoCE usually has.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind, bytes: Bytes) -> Self {
        let name = name.into();
        Self { name, kind, bytes, start: Time::ZERO, rounds: 1, lane: 0, priority: Flow::PRIORITY, limit: Rate::MAX }
    }

    /// Flows that it comes to, or a few more; waits beyond a few for each flow count a 32nd of one.
    fn flows(&self) -> u64 {
        let square = |n: usize| (n as u64).saturating_mul(n as u64);
        let each = match &self.kind {
            Kind::Flow { from, to } => (from.len() as u64).saturating_mul(to.len() as u64),
            Kind::Permutation(among) => among.len() as u64,
            Kind::Poisson { arrivals, .. } => arrivals.most as u64,
            Kind::Background { .. } => 1,
            Kind::File { load, .. } => load.flows().len().max(load.waits().len() / 32) as u64,
            // A ring sends n times in each of 2(n-1) steps; a tree 2n times for each piece.
            // All of one round wait for all that their host received in the round before.
            Kind::Collective { ranks, kind, .. } if kind.name == "all_to_all" && self.rounds > 1 => {
                square(ranks.len()).saturating_mul((ranks.len() as u64).div_ceil(32))
            }
            Kind::Collective { ranks, shape, .. } => {
                let pieces = (ranks.len() as u64).saturating_mul(shape.pieces);
                square(ranks.len()).max(pieces).saturating_mul(2).saturating_add(ranks.len() as u64)
            }
        };
        each.saturating_mul(u64::from(self.rounds))
    }

    /// Whether anything crosses the fabric: from one host to another.
    fn sends(&self) -> bool {
        match &self.kind {
            Kind::Flow { from, to } => match (from.as_slice(), to.as_slice()) {
                ([from], [to]) => from != to,
                (from, to) => !from.is_empty() && !to.is_empty(),
            },
            Kind::Permutation(among) | Kind::Poisson { among, .. } | Kind::Collective { ranks: among, .. } => {
                among.len() > 1
            }
            Kind::Background { pair: (from, to), .. } => from != to,
            Kind::File { load, .. } => !load.flows().is_empty(),
        }
    }

    /// Adds its flows to a workload. What is drawn comes from `seed`.
    pub(super) fn add(&self, load: &mut Workload, seed: u64) {
        let first = load.flows().len() as u32;
        let like = Flow {
            lane: self.lane,
            priority: self.priority,
            limit: self.limit,
            ..Flow::new(HostId(0), HostId(0), self.bytes)
        };
        match &self.kind {
            Kind::Collective { kind, ranks, shape, compute } => {
                let mut job = Job::new(load, ranks.clone(), like);
                job.shape = *shape;
                if self.start > Time::ZERO {
                    job.compute(self.start);
                }
                for _ in 0..self.rounds {
                    if *compute > Time::ZERO {
                        job.compute(*compute);
                    }
                    (kind.play)(&mut job, self.bytes);
                }
                return;
            }
            Kind::Flow { from, to } => {
                for _ in 0..self.rounds {
                    for dst in to {
                        pattern::incast(load, from.iter().copied(), *dst, self.bytes);
                    }
                }
            }
            Kind::Permutation(among) => {
                for round in 0..self.rounds {
                    pattern::permutation(load, among, self.bytes, mix(seed ^ u64::from(round)));
                }
            }
            Kind::Poisson { among, arrivals } => {
                arrivals.add(load, among, seed);
            }
            Kind::File { format, load: file } => {
                load.append(file);
                let mut waits: Vec<bool> = vec![false; file.flows().len()];
                for wait in file.waits() {
                    if let Some(waits) = waits.get_mut(wait.flow.row()) {
                        *waits = true;
                    }
                }
                for (id, waits) in (first..).map(FlowId).zip(waits) {
                    let flow = load.flow_mut(id);
                    // What waits starts behind what it waits for, however late that is.
                    flow.after += if waits { Time::ZERO } else { self.start };
                    flow.limit = self.limit;
                    if !format.classes {
                        flow.priority = self.priority;
                    }
                }
                return;
            }
            Kind::Background { pair, rate, time } => {
                pattern::background(load, *pair, *rate, *time, self.priority);
            }
        }
        for flow in (first..load.flows().len() as u32).map(FlowId) {
            let flow = load.flow_mut(flow);
            flow.after += self.start;
            flow.lane = self.lane;
            flow.priority = self.priority;
            flow.limit = flow.limit.min(self.limit);
        }
    }
}

/// Some hosts: `"all"`, a number, `"0-15"`, `"0-3, 8-11"`, or a list of numbers.
fn hosts(keys: &Keys<'_>, key: &'static str, fabric: &Topology) -> Option<Vec<HostId>> {
    let node = keys.node(key)?;
    let all = fabric.hosts();
    let Hosts::Ranges(ranges) = Hosts::read(node, keys.doc, key)? else {
        return Some((0..all).map(HostId).collect());
    };
    let mut hosts = Vec::new();
    for (first, last) in ranges {
        if first > last {
            keys.fault_at(key, format!("{key}: the range {first}-{last} runs backwards; write {last}-{first}"));
            return None;
        }
        if last >= all {
            keys.fault_at(
                key,
                format!("{key}: hosts {first} to {last} are not there; the fabric has 0 to {}", all - 1),
            );
            return None;
        }
        hosts.extend((first..=last).map(HostId));
    }
    if hosts.is_empty() {
        keys.fault_at(key, format!("{key} names no host; leave it out, or name some"));
        return None;
    }
    // Ranks are in this order.
    let mut sorted = hosts.clone();
    sorted.sort_unstable();
    if let Some([twice, ..]) = sorted.windows(2).find(|pair| pair.first() == pair.last()) {
        keys.fault_at(key, format!("{key} names host {} twice", twice.0));
        return None;
    }
    Some(hosts)
}

/// Hosts as a text names them.
enum Hosts {
    All,
    /// First and last of each range.
    Ranges(Vec<(u32, u32)>),
}

impl Value for Hosts {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        let Some(text) = node.get_ref().as_str() else {
            return Some(Self::Ranges(Vec::<u32>::read(node, doc, key)?.into_iter().map(|n| (n, n)).collect()));
        };
        if text == "all" {
            return Some(Self::All);
        }
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
        };
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        if ranges.is_none() {
            doc.fault(node.span().start, format!("{key} is hosts: \"all\", \"0-15\", \"0-3, 8-11\", 7 or [0, 2]"));
        }
        ranges.map(Self::Ranges)
    }
}

/// Reads all entries.
pub(super) fn traffic(all: Vec<Keys<'_>>, fabric: &Topology, files: Files<'_>) -> Vec<Traffic> {
    let mut traffic = Vec::new();
    let mut flows = 0_u64;
    for keys in all {
        let Some(one) = entry(&keys, fabric, files) else { continue };
        flows = flows.saturating_add(one.flows());
        if flows > MOST {
            keys.fault(format!("up to here the traffic has {flows} flows; a scenario may have {MOST}"));
            break;
        }
        keys.done();
        traffic.push(one);
    }
    traffic
}

fn entry(keys: &Keys<'_>, fabric: &Topology, files: Files<'_>) -> Option<Traffic> {
    let mut names: Vec<&'static str> = PATTERNS.to_vec();
    names.extend(format::FORMATS.iter().map(|format| format.name));
    names.extend(collective::KINDS.iter().map(|kind| kind.name));
    names.sort_unstable();
    if keys.node("kind").is_none() {
        keys.fault(format!("[[traffic]] needs a kind, one of {}", names.join(", ")));
    }
    let word = keys.name("kind", &names)?;
    let everyone = || (0..fabric.hosts()).map(HostId).collect::<Vec<_>>();
    let among = || hosts(keys, "among", fabric).or_else(|| keys.node("among").is_none().then(everyone));
    let needed = |key: &'static str| {
        if keys.node(key).is_none() {
            keys.fault(format!("{word} needs {key}, such as {key} = 1"));
        }
        hosts(keys, key, fabric)
    };
    let kind = match word {
        "flow" | "incast" => {
            let to = needed("to")?;
            let from = hosts(keys, "from", fabric).or_else(|| keys.node("from").is_none().then(everyone))?;
            Kind::Flow { from, to }
        }
        "permutation" => Kind::Permutation(among()?),
        "poisson" => Kind::Poisson { among: among()?, arrivals: poisson(keys, fabric)? },
        "background" => {
            let one = |key: &'static str| match needed(key)?.as_slice() {
                [host] => Some(*host),
                _ => {
                    keys.fault_at(key, format!("{key} is one host here"));
                    None
                }
            };
            let pair = (one("from")?, one("to")?);
            let (rate, time) = (keys.need("rate", "\"10 Gb/s\"")?, keys.need_some("time", "\"1 ms\"")?);
            Kind::Background { pair, rate, time }
        }
        word => match Format::named(word) {
            Some(format) => Kind::File { format, load: file(keys, format, fabric, files)? },
            None => collective_of(keys, collective::Kind::named(word)?, among()?)?,
        },
    };
    let sized = !matches!(kind, Kind::Poisson { .. } | Kind::Background { .. } | Kind::File { .. });
    let bytes = if sized { keys.need_some("bytes", "\"1 MB\"")? } else { Bytes(1) };
    let mut traffic = Traffic::new(keys.get("name").unwrap_or_else(|| word.to_owned()), kind, bytes);
    traffic.start = finite(keys, "start")?;
    // Flow files have some things themselves.
    let said: &[&'static str] = match traffic.kind {
        Kind::File { format, .. } if format.classes => &["lane", "priority"],
        Kind::File { .. } => &["lane"],
        _ => &[],
    };
    for key in said {
        keys.refuse(key, &format!("a {word} file has that of each flow; leave it out"));
    }
    if !said.contains(&"lane") {
        keys.set("lane", &mut traffic.lane);
    }
    if !said.contains(&"priority") {
        keys.set("priority", &mut traffic.priority);
    }
    keys.set("limit", &mut traffic.limit);
    if sized {
        keys.set_some("rounds", &mut traffic.rounds);
    }
    if !traffic.sends() {
        keys.fault(format!("{word}: nothing is sent: it needs a host that sends to another"));
        return None;
    }
    Some(traffic)
}

/// A time that comes.
fn finite(keys: &Keys<'_>, key: &'static str) -> Option<Time> {
    let time: Time = keys.get(key).unwrap_or_default();
    if time == Time::NEVER {
        keys.fault_at(key, format!("{key} is never: nothing would be sent; leave the traffic out"));
        return None;
    }
    Some(time)
}

/// The flows of a file that is named.
fn file(keys: &Keys<'_>, format: &Format, fabric: &Topology, files: Files<'_>) -> Option<Workload> {
    let name: String = keys.need("file", "\"flows.cm\"")?;
    let short = super::reader::short(&name).escape_debug().to_string();
    let no = |why: String| {
        keys.fault_at("file", format!("{short}: {why}"));
        None
    };
    let text = match files(&name) {
        Ok(text) => text,
        Err(why) => return no(why),
    };
    match (format.read)(&text, fabric.hosts()) {
        Ok(load) => Some(load),
        Err(error) => no(error.to_string()),
    }
}

fn poisson(keys: &Keys<'_>, fabric: &Topology) -> Option<Poisson> {
    let line = fabric.ports().rows().first().map_or(Rate(0), |port| port.cable.rate);
    let sizes = match keys.node("sizes").map(|node| node.get_ref().as_str()) {
        Some(Some("web_search")) => Sizes::web_search(),
        Some(Some(word)) => {
            keys.fault_at("sizes", super::reader::unknown_word("sizes", word, &["web_search"]));
            return None;
        }
        _ => Sizes::fixed(keys.need_some("sizes", "\"web_search\" or sizes = 65536")?),
    };
    let percent = keys.need_some("load_percent", "50")?;
    let until: Time = keys.need_some("time", "\"1 ms\"")?;
    let mut most = 100_000_u32;
    keys.set_some("most", &mut most);
    Some(Poisson { sizes, line, percent, until, most: most as usize })
}

fn collective_of(keys: &Keys<'_>, kind: &'static collective::Kind, ranks: Vec<HostId>) -> Option<Kind> {
    // A network of hosts with one NIC each, unless something else is said.
    let mut shape = Shape { per_server: 1, inside: None, ..Shape::default() };
    let heeds = |key: &'static str| {
        let heeded = kind.heeds.contains(&key);
        if !heeded {
            let all = collective::KINDS.iter().filter(|kind| kind.heeds.contains(&key)).map(|kind| kind.name);
            keys.refuse(key, &format!("only {} can have it; leave it out", all.collect::<Vec<_>>().join(", ")));
        }
        heeded
    };
    if heeds("per_server") {
        let mut per_server = 1_u32;
        keys.set_some("per_server", &mut per_server);
        shape.per_server = per_server as usize;
    }
    if heeds("inside") {
        keys.set("inside", &mut shape.inside);
    }
    if heeds("pieces") {
        keys.set_some("pieces", &mut shape.pieces);
    }
    let compute = finite(keys, "compute")?;
    Some(Kind::Collective { kind, ranks, shape, compute })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_collective_has_a_patterns_name() {
        assert!(
            format::FORMATS
                .iter()
                .all(|format| { !PATTERNS.contains(&format.name) && collective::Kind::named(format.name).is_none() })
        );
        assert!(collective::KINDS.iter().all(|kind| !PATTERNS.contains(&kind.name)));
    }
}
