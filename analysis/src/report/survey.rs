//! What all connections of a capture add up to: by pair of hosts, and by traffic class. Findings that no single
//! connection shows rest on it. Memory follows pairs of hosts, not packets.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

use crate::detect::{Case, Ways};
use crate::report::FlowReport;
use crate::report::paths::mixed;

/// Requests that a flow must carry at least to say something about its traffic class or its kind of recovery (chosen).
pub(crate) const SOME: u64 = 16;

/// Bytes of the queue pairs that are reached from each source port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    first: Option<(u16, u64)>,
    /// Few pairs of hosts have another.
    others: Option<Box<HashMap<u16, u64, FixedState>>>,
}

impl Ports {
    /// Adds what a queue pair that is reached from this port carries.
    pub(crate) fn add(&mut self, port: u16, bytes: u64) {
        let (first, sum) = self.first.get_or_insert((port, 0));
        if *first == port {
            *sum += bytes;
        } else {
            *self.others.get_or_insert_default().entry(port).or_default() += bytes;
        }
    }

    /// The first that was seen.
    #[must_use]
    pub fn first(&self) -> Option<u16> {
        self.first.map(|(port, _)| port)
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::from(self.first.is_some()) + self.others.as_ref().map_or(0, |others| others.len() as u64)
    }

    /// The bytes of each.
    pub fn bytes(&self) -> impl Iterator<Item = u64> + Clone {
        let others = self.others.iter().flat_map(|others| others.values());
        self.first.iter().map(|(_, bytes)| bytes).chain(others).copied()
    }
}

/// Traffic from one host to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// Numbers of the connected queue pairs that flows carry requests or READ responses to.
    pub(crate) numbers: HashSet<u32, FixedState>,
    /// Bytes of these flows.
    pub bytes: u64,
    /// By UDP source port; a flow that uses several is counted at its first.
    pub ports: Ports,
    /// Time of the first packet of these flows.
    pub first_ns: u64,
    /// Time of the last.
    pub last_ns: u64,
    /// The longest time between these two in which neither data of these flows nor an answer to it came by, at most;
    /// `None` where it is not known.
    pub pause_ns: Option<u64>,
    /// Packets of all flows from the one to the other.
    pub packets: u64,
    /// Frames with a bad ICRC, of flows that were known.
    pub icrc_bad: u64,
    /// Flows that have such frames, and the first of them.
    pub damaged: Vec<u32>,
    /// CE marks on requests and responses.
    pub ce: u64,
    /// Reliable flows with some requests.
    pub reliable: u64,
    /// Those of them that nothing is known to answer.
    pub unanswered: u64,
    /// ACKs, NAKs and responses that are not known to answer anything.
    pub stray_answers: u64,
}

impl Pair {
    /// Those queue pairs; several lives of one are one.
    pub(crate) fn queue_pairs(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// Adds a flow of a connected queue pair that carries data.
    fn carry(&mut self, flow: &FlowReport) {
        let known = flow.story.as_ref().map(|story| story.silence_ns);
        if self.numbers.is_empty() {
            (self.first_ns, self.last_ns, self.pause_ns) = (flow.first_ns, flow.last_ns, known);
        } else {
            // A flow that lies between two others may end a pause that was counted: it is never longer than this.
            let apart = flow.first_ns.saturating_sub(self.last_ns).max(self.first_ns.saturating_sub(flow.last_ns));
            self.pause_ns = self.pause_ns.zip(known).map(|(pause, silence)| pause.max(silence).max(apart));
            (self.first_ns, self.last_ns) = (self.first_ns.min(flow.first_ns), self.last_ns.max(flow.last_ns));
        }
        self.numbers.insert(flow.dst_qp);
        self.bytes += flow.bytes;
        if let Some(&port) = flow.udp_sports.first() {
            self.ports.add(port, flow.bytes);
        }
    }
}

/// Traffic of RoCE in one DSCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Flows that carry data in it.
    pub flows: u64,
    /// Bytes of these flows.
    pub bytes: u64,
}

/// A flow of notifications alone: nobody answers to it and it answers nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notifier {
    /// Id of the flow.
    pub flow: u32,
    /// Its source, destination, and destination queue pair.
    pub src: String,
    #[allow(missing_docs, reason = "as src")]
    pub dst: String,
    #[allow(missing_docs, reason = "as src")]
    pub dst_qp: u32,
    /// Notifications.
    pub cnps: u64,
}

/// Notifiers that are kept (chosen: bounds the memory).
const NOTIFIERS: usize = 1024;
/// Pairs of hosts that are told apart, each way: a host that talks with four thousand others has as many. What comes
/// beyond is a scan or a flood, and makes no finding of its own.
const PAIRS: usize = 1 << 13;
/// Damaged flows named for each pair of hosts (chosen: enough to look at).
const DAMAGED: usize = 8;

/// What one flow had to do, and how long it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Id of the flow.
    pub flow: u32,
    /// Id of its connection.
    pub connection: u32,
    /// Whose requests they are.
    pub src: Rc<str>,
    /// Who gets them.
    pub dst: Rc<str>,
    /// Payload of its requests, repeats apart.
    pub bytes: u64,
    /// Time of its first packet.
    pub first_ns: u64,
    /// Time of its last.
    pub last_ns: u64,
}

impl Work {
    /// From the first packet to the last, in nanoseconds.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }
}

/// What a switch hashes of a flow that carries data, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Source.
    pub src: Rc<str>,
    /// Destination.
    pub dst: Rc<str>,
    /// Addresses and UDP source port, in one word.
    pub tuple: u64,
    /// With the destination queue pair.
    pub with_qp: u64,
    /// Bytes of the flow.
    pub bytes: u64,
}

impl Track {
    fn of(flow: &FlowReport, src: Rc<str>, dst: Rc<str>) -> Self {
        let word = |word: u64, byte: u8| mixed(word ^ u64::from(byte));
        let hosts = src.bytes().chain([0]).chain(dst.bytes()).fold(0, word);
        // A flow that uses several ports is counted at its first.
        let port = flow.udp_sports.first().copied().unwrap_or_default();
        let tuple = mixed(hosts ^ u64::from(port));
        Self { src, dst, tuple, with_qp: mixed(tuple ^ u64::from(flow.dst_qp)), bytes: flow.bytes }
    }
}

/// Flows kept to be compared with each other, and to be laid on links (chosen: bounds the memory).
const WORKS: usize = 1 << 14;

/// What connections add up to.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// What was lost on the way to each host.
    pub(crate) ways: Ways,
    /// By source and destination.
    pub pairs: BTreeMap<(Rc<str>, Rc<str>), Pair>,
    /// The names of all hosts, once.
    hosts: BTreeSet<Rc<str>>,
    /// RoCE data by DSCP.
    pub dscp: BTreeMap<u8, Class>,
    /// RoCE data by the priority of its VLAN tag.
    pub pcp: BTreeMap<u8, Class>,
    /// Flows of notifications alone.
    pub notifiers: Vec<Notifier>,
    /// What the flows had to do: the first so many of them.
    pub works: Vec<Work>,
    /// What switches hash of the flows with data: of the first so many.
    pub tracks: Vec<Track>,
    /// Flows with data beyond those.
    pub more_tracks: u64,
    /// Flows whose data is not ECN-capable, and the first.
    pub not_capable: u64,
    /// The first of these.
    pub first_not_capable: Option<u32>,
    /// Those of them that a mark could have helped: packets were missing or sent again, or they have a class of their
    /// own.
    pub exposed: u64,
    /// Flows whose data is ECN-capable.
    pub capable: u64,
    /// Time of the first packet of all flows.
    pub first_ns: Option<u64>,
    /// Time of the last.
    pub last_ns: Option<u64>,
}

impl Survey {
    /// Adds a connection.
    pub fn add(&mut self, case: &Case<'_>) {
        for (flow, peer) in case.directions() {
            self.flow(flow, peer);
            let told = case.told(flow);
            if Ways::heeds(flow, told)
                && let Some((src, dst)) = self.known(flow)
            {
                self.ways.add([&src, &dst], flow, told);
            }
        }
    }

    /// Reliable flows with requests whose answers were not seen, and those whose answers may have been: there are some
    /// from that host that nothing tells the queue pair of.
    pub fn unanswered(&self) -> (u64, u64) {
        let stray = |src: &Rc<str>, dst: &Rc<str>| {
            let back = (Rc::clone(dst), Rc::clone(src));
            self.pairs.get(&back).is_some_and(|back| back.stray_answers != 0)
        };
        self.pairs.iter().fold((0, 0), |(unseen, untold), ((src, dst), pair)| match stray(src, dst) {
            true => (unseen, untold + pair.unanswered),
            false => (unseen + pair.unanswered, untold),
        })
    }

    /// The one name of a host; `None` beyond so many: of a scan or a flood nothing is kept.
    fn host(&mut self, name: &str) -> Option<Rc<str>> {
        if let Some(host) = self.hosts.get(name) {
            return Some(Rc::clone(host));
        }
        let host: Rc<str> = (self.hosts.len() < 2 * PAIRS).then(|| name.into())?;
        self.hosts.insert(Rc::clone(&host));
        Some(host)
    }

    /// What passes from one host to another; `None` for more pairs than are told apart.
    fn pair(&mut self, src: &str, dst: &str) -> Option<&mut Pair> {
        let key = (self.host(src)?, self.host(dst)?);
        let known = self.pairs.len() < PAIRS || self.pairs.contains_key(&key);
        known.then(|| self.pairs.entry(key).or_default())
    }

    /// The hosts of a flow, where they are one of the pairs that are told apart.
    fn known(&mut self, flow: &FlowReport) -> Option<(Rc<str>, Rc<str>)> {
        let pair = (self.host(&flow.src)?, self.host(&flow.dst)?);
        self.pairs.contains_key(&pair).then_some(pair)
    }

    fn work(&mut self, flow: &FlowReport) {
        if flow.requests.packets < SOME || flow.transport == "UD" || self.works.len() >= WORKS {
            return;
        }
        let (Some(src), Some(dst)) = (self.host(&flow.src), self.host(&flow.dst)) else { return };
        let work = Work {
            flow: flow.id,
            connection: flow.connection,
            src,
            dst,
            bytes: flow.requests.message_bytes,
            first_ns: flow.first_ns,
            last_ns: flow.last_ns,
        };
        self.works.push(work);
    }

    fn track(&mut self, flow: &FlowReport) {
        match (self.host(&flow.src), self.host(&flow.dst)) {
            (Some(src), Some(dst)) if self.tracks.len() < WORKS => self.tracks.push(Track::of(flow, src, dst)),
            _ => self.more_tracks += 1,
        }
    }

    fn flow(&mut self, flow: &FlowReport, peer: Option<&FlowReport>) {
        self.work(flow);
        self.first_ns = Some(self.first_ns.map_or(flow.first_ns, |t| t.min(flow.first_ns)));
        self.last_ns = Some(self.last_ns.map_or(flow.last_ns, |t| t.max(flow.last_ns)));
        if flow.transport == "CNP" && self.notifiers.len() < NOTIFIERS {
            let (src, dst) = (flow.src.clone(), flow.dst.clone());
            self.notifiers.push(Notifier { flow: flow.id, src, dst, dst_qp: flow.dst_qp, cnps: flow.cnps });
        }
        let data = flow.requests.packets + flow.responses.packets;
        // Queue pair 1 is management, which has a class and ports of its own.
        let carries = data >= SOME && flow.dst_qp > 1;
        // Switches hash what has UDP.
        if carries && flow.transport != "UD" && !flow.udp_sports.is_empty() {
            self.track(flow);
        }
        let answers = |f: &FlowReport| f.acks + f.naks.total() + f.responses.packets;
        let reliable = flow.transport == "RC" && flow.requests.packets >= SOME;
        let mut beyond = Pair::default();
        let pair = self.pair(&flow.src, &flow.dst).unwrap_or(&mut beyond);
        pair.stray_answers += if peer.is_none() { answers(flow) } else { 0 };
        pair.reliable += u64::from(reliable);
        pair.unanswered += u64::from(reliable && peer.is_none_or(|p| answers(p) == 0));
        pair.packets += flow.packets;
        pair.icrc_bad += u64::from(flow.icrc_bad);
        if flow.icrc_bad != 0 && pair.damaged.len() < DAMAGED {
            pair.damaged.push(flow.id);
        }
        if !carries {
            return;
        }
        pair.ce += flow.marks.as_ref().and_then(|m| m.ce.as_ref()).map_or(0, |ce| ce.count);
        if flow.transport != "UD" {
            pair.carry(flow);
        }
        if let &[dscp] = flow.data_dscp.as_slice() {
            let class = self.dscp.entry(dscp).or_default();
            class.flows += 1;
            class.bytes += flow.bytes;
        }
        if let [tag] = flow.vlan.as_slice() {
            let class = self.pcp.entry(tag.pcp).or_default();
            class.flows += 1;
            class.bytes += flow.bytes;
        }
        if flow.class != "infiniband" {
            match flow.data_ecn {
                ecn if ecn.ect => self.capable += 1,
                ecn if ecn.not_ect => {
                    self.not_capable += 1;
                    let missing = flow.requests.seen_again + flow.requests.gaps + flow.responses.gaps != 0;
                    self.exposed += u64::from(missing || flow.data_dscp.iter().any(|&dscp| dscp != 0));
                    self.first_not_capable.get_or_insert(flow.id);
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(dst_qp: u32, epoch: u32, [first_ns, last_ns, silence_ns]: [u64; 3]) -> FlowReport {
        let story = Some(crate::story::StoryReport { silence_ns, ..Default::default() });
        FlowReport { dst_qp, epoch, first_ns, last_ns, bytes: 10, story, ..FlowReport::default() }
    }

    #[test]
    fn lives_of_a_queue_pair_are_one_queue_pair() {
        let mut pair = Pair::default();
        (0..5).for_each(|epoch| pair.carry(&flow(17, epoch, [0, 9, 0])));
        assert_eq!((pair.queue_pairs(), pair.bytes), (1, 50));
        pair.carry(&flow(18, 0, [0, 9, 0]));
        assert_eq!(pair.queue_pairs(), 2);
    }

    #[test]
    fn pauses_are_those_of_a_flow_and_those_between_flows() {
        let mut pair = Pair::default();
        pair.carry(&flow(17, 0, [100, 200, 30]));
        assert_eq!(pair.pause_ns, Some(30));
        pair.carry(&flow(18, 0, [250, 300, 20]));
        assert_eq!(pair.pause_ns, Some(50));
        // Whichever comes first.
        pair.carry(&flow(19, 0, [0, 20, 1]));
        assert_eq!((pair.pause_ns, pair.first_ns, pair.last_ns), (Some(80), 0, 300));
        pair.carry(&FlowReport { story: None, ..flow(20, 0, [0, 20, 1]) });
        assert_eq!(pair.pause_ns, None);
    }
}
