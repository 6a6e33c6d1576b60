//! Counted flows in order, as the report has them: who is whose other direction, and where a flow was seen twice.

use std::collections::HashMap;

use rocetop_parsers::abi::{Flow, Way};
use rocetop_parsers::facts::Class;
use rocetop_parsers::fold::numbered;
use rocetop_parsers::ib::opcode::Transport;
use rocetop_parsers::{Addr, Qpn, sport};

use super::{Counted, Counts, sums};
use crate::engine::exchanges::Exchange;
use crate::engine::pairing::{Grade, hash_fits};
use crate::report::{ConnectionReport, FlowReport, NaksReport, RequestsReport, ResponsesReport};

/// Addresses, queue pair and class: what a flow is named by wherever it was seen.
type Name = (Addr, Addr, Qpn, u8);

/// A flow as the report has it.
struct Row<'a> {
    counted: &'a Counted,
    epoch: u32,
    /// Packets of it that were counted at other places.
    copies: u64,
    peer: Option<u32>,
    grade: Grade,
    connection: u32,
}

/// The flows, by id: in the order of their first packets.
pub(crate) struct View<'a> {
    rows: Vec<Row<'a>>,
    /// By connection: the id of its first flow.
    connections: Vec<u32>,
}

impl Row<'_> {
    fn flow(&self) -> &Flow {
        &self.counted.flow
    }

    fn name(&self) -> Name {
        name(self.counted)
    }

    fn qp(&self) -> Qpn {
        self.counted.key.tag.qp()
    }

    /// The only source port.
    fn port(&self) -> Option<u16> {
        let mut ports = self.flow().ports();
        ports.next().filter(|_| ports.next().is_none() && !self.flow().has_more_ports())
    }

    fn is_v2(&self) -> bool {
        self.counted.key.tag.class() == Class::RoceV2
    }
}

fn name(counted: &Counted) -> Name {
    let key = &counted.key;
    (key.src, key.dst, key.tag.qp(), key.tag.class() as u8)
}

/// The transport of a flow: notifications reach a queue pair whatever its own is.
fn transport(flow: &Flow) -> Transport {
    let all = [Transport::Rc, Transport::Uc, Transport::Rd, Transport::Ud, Transport::Xrc];
    all.into_iter().find(|&t| flow.transports & 1 << t as u8 != 0).unwrap_or(Transport::Cnp)
}

impl<'a> View<'a> {
    /// Puts the flows in order and pairs them: by what connection managers agreed on, by datagrams' source queue pairs,
    /// by the hash of the queue pairs in the source port, by equal ports. What answers say is not known from sums.
    pub(crate) fn new(counts: &'a Counts, exchanges: impl IntoIterator<Item = &'a Exchange>) -> Self {
        let mut view = Self { rows: rows(counts), connections: Vec::new() };
        view.pair(exchanges);
        for id in 0..view.rows.len() as u32 {
            let known = view.row(id).and_then(|row| row.peer).filter(|&peer| peer < id);
            let connection = match known.and_then(|peer| view.row(peer)) {
                Some(peer) => peer.connection,
                None => {
                    view.connections.push(id);
                    view.connections.len() as u32 - 1
                }
            };
            if let Some(row) = view.rows.get_mut(id as usize) {
                row.connection = connection;
            }
        }
        view
    }

    fn row(&self, id: u32) -> Option<&Row<'a>> {
        self.rows.get(id as usize)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Packets of all flows that were counted at more than one place.
    pub(crate) fn copies(&self) -> u64 {
        self.rows.iter().map(|row| row.copies).sum()
    }

    /// Packets of RoCEv1, at all places.
    pub(crate) fn rocev1(&self) -> u64 {
        let old = self.rows.iter().filter(|row| !row.is_v2());
        old.map(|row| sums(row.flow()).0 + row.copies).sum()
    }

    pub(crate) fn connections(&self) -> impl Iterator<Item = ConnectionReport> + '_ {
        (0..).zip(&self.connections).filter_map(|(id, &first)| {
            let row = self.row(first)?;
            let flows = std::iter::once(first).chain(row.peer).collect();
            Some(ConnectionReport { id, flows, paired_by: row.grade })
        })
    }

    fn pair(&mut self, exchanges: impl IntoIterator<Item = &'a Exchange>) {
        let mut names: HashMap<Name, u32> = HashMap::new();
        let mut ports: HashMap<(Addr, Addr, u16), Vec<u32>> = HashMap::new();
        for (id, row) in (0..).zip(&self.rows) {
            // The latest life of a queue pair number is the one that can have a peer now.
            names.insert(row.name(), id);
            if let Some(port) = row.port().filter(|_| row.is_v2() && numbered(transport(row.flow()))) {
                ports.entry((row.counted.key.src, row.counted.key.dst, port)).or_default().push(id);
            }
        }
        for e in exchanges {
            let (Some(requester), Some(responder)) = (e.requester_qp, e.responder_qp) else { continue };
            let there = names.get(&(e.requester, e.responder, responder, Class::RoceV2 as u8));
            let back = names.get(&(e.responder, e.requester, requester, Class::RoceV2 as u8));
            if let (Some(&there), Some(&back)) = (there, back) {
                self.join(there, back, Grade::Cm);
            }
        }
        for id in 0..self.rows.len() as u32 {
            let Some(row) = self.row(id) else { continue };
            let (src, dst, _, class) = row.name();
            if transport(row.flow()) == Transport::Ud {
                let wanted = row.qp();
                let other = names.get(&(dst, src, row.flow().src_qp, class)).copied();
                let fits = |o: &u32| self.row(*o).is_some_and(|o| o.flow().src_qp == wanted);
                if let Some(other) = other.filter(|&o| o != id).filter(fits) {
                    self.join(id, other, Grade::Ud);
                }
                continue;
            }
            let Some(port) = row.port() else { continue };
            let own = sport::of_rxe_source(row.qp());
            let near = [port, own].into_iter().take(if port == own { 1 } else { 2 });
            let near = near.filter_map(|p| ports.get(&(dst, src, p))).flatten().copied();
            let mut fits = near.filter(|&o| o != id && self.row(o).is_some_and(|o| verify(row, o)));
            if let (Some(only), None) = (fits.next(), fits.next()) {
                self.join(id, only, Grade::PortHash);
                continue;
            }
            let alone = |src, dst| match ports.get(&(src, dst, port)).map(Vec::as_slice) {
                Some(&[only]) => Some(only),
                _ => None,
            };
            if let (Some(_), Some(other)) = (alone(src, dst), alone(dst, src).filter(|&o| o != id))
                && self.row(other).is_some_and(|o| transport(o.flow()) == transport(row.flow()))
            {
                self.join(id, other, Grade::Ports);
            }
        }
    }

    /// Two flows are one connection, unless one of them has a peer already.
    fn join(&mut self, a: u32, b: u32, grade: Grade) {
        if [a, b].iter().any(|&id| self.row(id).is_none_or(|row| row.peer.is_some())) {
            return;
        }
        for (id, peer) in [(a, b), (b, a)] {
            if let Some(row) = self.rows.get_mut(id as usize) {
                (row.peer, row.grade) = (Some(peer), grade);
            }
        }
    }

    /// The flow with this id. What is in [`NEEDS_PACKETS`](super::NEEDS_PACKETS) is blank.
    pub(crate) fn flow(&self, id: u32) -> Option<FlowReport> {
        let row = self.row(id)?;
        let (flow, key) = (row.flow(), &row.counted.key);
        let (c, t) = (&flow.counters, &flow.counters.tally);
        let transport = transport(flow);
        let (packets, bytes) = sums(flow);
        let counts = numbered(transport) && t.requests != 0;
        Some(FlowReport {
            id,
            src: key.src.to_string(),
            dst: key.dst.to_string(),
            dst_qp: row.qp().0,
            transport: transport.name(),
            class: if row.is_v2() { "rocev2" } else { "rocev1" },
            epoch: row.epoch,
            udp_sports: if row.is_v2() { flow.ports().collect() } else { Vec::new() },
            src_qp: (transport == Transport::Ud).then_some(flow.src_qp.0),
            packets,
            bytes: bytes.0,
            first_ns: c.first.0,
            last_ns: c.last.0,
            connection: row.connection,
            mtu: c.mtu.get(),
            mirror_copies: row.copies,
            requests: RequestsReport {
                packets: t.requests,
                first_psn: counts.then_some(c.first_psn.get()),
                next_psn: counts.then_some(c.next_psn.get()),
                messages: t.messages,
                behind: c.behind,
                gaps: u64::from(c.gaps),
                gap_psns: c.gap_psns,
                ..RequestsReport::default()
            },
            responses: ResponsesReport {
                packets: t.responses,
                gaps: u64::from(flow.responses.gaps),
                gap_psns: flow.responses.gap_psns,
                ..ResponsesReport::default()
            },
            acks: t.acks,
            naks: NaksReport::of(t.naks, t.naks_other),
            rnr_naks: t.rnr_naks,
            cnps: t.cnps,
            ce: t.ce,
            ..FlowReport::default()
        })
    }
}

/// Whether the source ports of two flows are the hash of their queue pair numbers.
fn verify(a: &Row<'_>, b: &Row<'_>) -> bool {
    hash_fits((a.port(), a.qp()), (b.port(), b.qp()))
}

/// One row for each life of each flow: of several places the one that saw most of it stands for it, and what the others
/// saw are copies.
fn rows(counts: &Counts) -> Vec<Row<'_>> {
    let mut all: Vec<&Counted> = counts.iter().collect();
    let first = |c: &Counted| c.flow.counters.first;
    let place = |c: &Counted| (c.iface, c.key.tag.way() == Way::Out);
    all.sort_unstable_by_key(|c| (name(c), place(c), first(c)));
    let mut rows = Vec::new();
    for same in all.chunk_by(|a, b| name(a) == name(b)) {
        let packets = |lives: &[&Counted]| lives.iter().map(|c| sums(&c.flow).0).sum::<u64>();
        let places = same.chunk_by(|a, b| place(a) == place(b));
        // Of two that saw the same, the first.
        let Some(most) = places.rev().max_by_key(|lives| packets(lives)) else { continue };
        let mut copies = packets(same) - packets(most);
        for (epoch, &counted) in (0..).zip(most) {
            let copies = std::mem::take(&mut copies);
            rows.push(Row { counted, epoch, copies, peer: None, grade: Grade::Unpaired, connection: 0 });
        }
    }
    let order = |row: &Row<'_>| (first(row.counted), row.name(), row.epoch);
    rows.sort_unstable_by_key(order);
    rows
}
