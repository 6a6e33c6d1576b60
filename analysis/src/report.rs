//! The figures of a run in the shape of the report contract (`rocetop.report/1`): integers, `None` for what cannot be
//! known. Everything that shows flows (text, JSON, TUI, exporters) reads these and nothing else.

use serde::{Serialize, Serializer};

use rocetop_parsers::facts::Class;
use rocetop_parsers::fold::numbered;
use rocetop_parsers::ib::opcode::Opcode;
use rocetop_parsers::ib::opcode::Transport;

use crate::engine::Engine;
use crate::flow::{Flow, Index, NONE, SEVERAL};
use crate::pairing::Grade;
use crate::shard::Evicted;
use crate::totals::Totals;

/// Sums over all frames.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct TotalsReport {
    pub frames: u64,
    pub bytes: u64,
    pub roce_frames: u64,
    pub rocev1_frames: u64,
    pub infiniband_frames: u64,
    pub pfc_frames: u64,
    pub other_frames: u64,
    pub undecodable_frames: u64,
    pub mirror_copies: u64,
    pub icrc: IcrcReport,
    pub ecn: EcnReport,
    pub cnp: u64,
    pub opcodes: Opcodes,
    /// Flows that made room because the table was full.
    pub evicted: EvictedReport,
    /// Flows that made room because they had been idle for longer than allowed.
    pub aged_out: EvictedReport,
}

/// Frames with a BTH by their invariant CRC.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct IcrcReport {
    pub ok: u64,
    pub bad: u64,
    pub unknown: u64,
}

/// Frames with a BTH by their ECN field.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct EcnReport {
    pub not_ect: u64,
    pub ect0: u64,
    pub ect1: u64,
    pub ce: u64,
}

/// Flows that had to make room, and what they carried.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs, reason = "plain counts")]
pub struct EvictedReport {
    pub flows: u64,
    pub packets: u64,
    pub bytes: u64,
}

impl From<Evicted> for EvictedReport {
    fn from(gone: Evicted) -> Self {
        Self { flows: gone.flows, packets: gone.packets, bytes: gone.bytes.0 }
    }
}

/// Frames by opcode, those that occur.
#[derive(Clone, Debug)]
pub struct Opcodes(Box<[u64; 256]>);

impl Opcodes {
    /// Opcode and count, in the order of the codes.
    pub fn iter(&self) -> impl Iterator<Item = (Opcode, u64)> + '_ {
        (0u8..=255).zip(self.0.iter()).filter(|&(_, &n)| n != 0).map(|(code, &n)| (Opcode(code), n))
    }
}

impl Serialize for Opcodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(opcode, n)| (opcode.to_string(), n)))
    }
}

/// One flow.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct FlowReport {
    pub id: u32,
    pub src: String,
    pub dst: String,
    pub dst_qp: u32,
    pub transport: &'static str,
    /// `rocev2`, `rocev1` or `infiniband`.
    pub class: &'static str,
    pub epoch: u32,
    pub udp_sports: Vec<u16>,
    pub dscp: Vec<u8>,
    pub vlan: Vec<VlanReport>,
    pub ttl: Vec<u8>,
    /// One of these four has more values than are listed.
    pub more_values: bool,
    /// Source queue pair, where all datagrams name the same.
    pub src_qp: Option<u32>,
    pub packets: u64,
    pub bytes: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    /// Number of the first frame, from 1.
    pub first_frame: u64,
    pub connection: u32,
    /// Path MTU in bytes: from the CM, a full payload, or the spans of READs.
    pub mtu: Option<u32>,
    pub mirror_copies: u64,
    pub icrc_bad: u32,
    pub requests: RequestsReport,
    pub responses: ResponsesReport,
    pub acks: u64,
    pub naks: NaksReport,
    pub rnr_naks: u32,
    pub cnps: u64,
    pub ce: u64,
    /// Told by a later analysis; not known yet.
    pub story: Option<()>,
}

/// An 802.1Q tag.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct VlanReport {
    pub id: u16,
    pub pcp: u8,
}

/// Request packets that a flow carries. PSN figures are `None` for transports whose PSNs do not count packets here.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct RequestsReport {
    pub packets: u64,
    pub first_psn: Option<u32>,
    pub next_psn: Option<u32>,
    pub messages: u64,
    /// Payload of the packets that are no repeats; of a READ what it asks for.
    pub message_bytes: u64,
    pub seen_again: u64,
    pub behind: u64,
    pub filled: u64,
    pub gaps: u64,
    pub gap_psns: u64,
    pub never_seen: u64,
}

/// READ and atomic responses that a flow carries.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct ResponsesReport {
    pub packets: u64,
    pub seen_again: u64,
    pub gaps: u64,
    pub gap_psns: u64,
}

/// NAKs by code.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs, reason = "the contract names and explains them")]
pub struct NaksReport {
    pub psn_sequence_error: u32,
    pub invalid_request: u32,
    pub remote_access_error: u32,
    pub remote_operational_error: u32,
    pub other: u32,
}

impl NaksReport {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        [
            self.psn_sequence_error,
            self.invalid_request,
            self.remote_access_error,
            self.remote_operational_error,
            self.other,
        ]
        .into_iter()
        .map(u64::from)
        .sum()
    }
}

/// One connection: two flows, or one whose other direction was not seen.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionReport {
    /// Number, in the order of the first frame.
    pub id: u32,
    /// Ids of its flows.
    pub flows: Vec<u32>,
    /// The evidence.
    pub paired_by: Grade,
}

/// Where a flow lives.
type Seat = (u32, Index);

/// The flows of a finished run in the order of their first frames, with their ids.
pub struct Ledger<'a> {
    engine: &'a Engine,
    /// By id.
    order: Vec<Seat>,
    /// By shard and index: the id and the connection.
    ids: Vec<Vec<(u32, u32)>>,
    /// By connection: the id of its first flow.
    connections: Vec<u32>,
    mirror_copies: u64,
}

impl<'a> Ledger<'a> {
    /// Numbers the flows and connections of an engine whose parts were merged.
    #[must_use]
    pub fn new(engine: &'a Engine) -> Self {
        let mut order: Vec<Seat> = Vec::new();
        let mut ids = Vec::new();
        let mut mirror_copies = 0;
        for (shard, flows) in engine.shards().iter().map(|s| &s.flows).enumerate() {
            ids.push(vec![(NONE, NONE); flows.len()]);
            let live = flows.iter().enumerate().filter(|(_, f)| f.counters.tally.packets != 0);
            order.extend(live.map(|(index, flow)| {
                mirror_copies += flow.mirrored(flow_at(engine, (shard as u32, flow.peer))).tally.packets;
                (shard as u32, index as Index)
            }));
        }
        let mut ledger = Self { engine, order, ids, connections: Vec::new(), mirror_copies };
        let engine = ledger.engine;
        ledger.order.sort_unstable_by_key(|&seat| flow_at(engine, seat).map(|f| f.first_frame));
        for id in 0..ledger.order.len() as u32 {
            let Some(&seat) = ledger.order.get(id as usize) else { continue };
            let Some(peer) = flow_at(engine, seat).map(|f| f.peer) else { continue };
            let connection = match ledger.at((seat.0, peer)) {
                // A peer that has moved on to another life does not point back.
                Some((_, known))
                    if known != NONE && flow_at(engine, (seat.0, peer)).is_some_and(|p| p.peer == seat.1) =>
                {
                    known
                }
                _ => {
                    ledger.connections.push(id);
                    ledger.connections.len() as u32 - 1
                }
            };
            if let Some(slot) = ledger.ids.get_mut(seat.0 as usize).and_then(|s| s.get_mut(seat.1 as usize)) {
                *slot = (id, connection);
            }
        }
        ledger
    }

    fn at(&self, seat: Seat) -> Option<(u32, u32)> {
        self.ids.get(seat.0 as usize)?.get(seat.1 as usize).copied()
    }

    /// Number of flows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether no flow was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Sums over all frames.
    #[must_use]
    pub fn totals(&self) -> TotalsReport {
        let t: &Totals = self.engine.totals();
        let [not_ect, ect1, ect0, ce] = t.ecn;
        let [ok, bad, unknown] = t.icrc;
        TotalsReport {
            frames: t.frames(),
            bytes: t.bytes.0,
            roce_frames: t.rocev2,
            rocev1_frames: t.rocev1,
            infiniband_frames: t.infiniband,
            pfc_frames: t.pause,
            other_frames: t.other,
            undecodable_frames: t.undecodable,
            mirror_copies: self.mirror_copies,
            icrc: IcrcReport { ok, bad, unknown },
            ecn: EcnReport { not_ect, ect0, ect1, ce },
            cnp: t.cnps(),
            opcodes: Opcodes(t.opcodes.clone()),
            evicted: self.engine.evicted().into(),
            aged_out: self.engine.aged_out().into(),
        }
    }

    /// All flows, by id.
    pub fn flows(&self) -> impl Iterator<Item = FlowReport> + '_ {
        (0..self.order.len() as u32).filter_map(|id| self.flow(id))
    }

    /// The flow with this id.
    #[must_use]
    pub fn flow(&self, id: u32) -> Option<FlowReport> {
        let &seat = self.order.get(id as usize)?;
        let flow = flow_at(self.engine, seat)?;
        let (_, connection) = self.at(seat)?;
        Some(report(flow, flow_at(self.engine, (seat.0, flow.peer)), id, connection))
    }

    /// All connections, by id.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionReport> + '_ {
        (0u32..).zip(&self.connections).filter_map(|(id, &first)| {
            let &seat = self.order.get(first as usize)?;
            let flow = flow_at(self.engine, seat)?;
            let peer = self.at((seat.0, flow.peer)).filter(|&(_, connection)| connection == id);
            let flows = std::iter::once(first).chain(peer.map(|(flow, _)| flow)).collect();
            let paired_by = if peer.is_some() { flow.grade } else { Grade::Unpaired };
            Some(ConnectionReport { id, flows, paired_by })
        })
    }
}

fn flow_at(engine: &Engine, seat: Seat) -> Option<&Flow> {
    engine.shards().get(seat.0 as usize)?.flows.get(seat.1 as usize)
}

fn report(flow: &Flow, peer: Option<&Flow>, id: u32, connection: u32) -> FlowReport {
    let c = &flow.counters;
    let copies = flow.mirrored(peer);
    let t = &c.tally;
    let off = &copies.tally;
    let counts = numbered(flow.transport) && t.requests != 0;
    let seen_again = flow.seen_again - copies.again;
    let behind = c.behind - copies.again;
    let nak = |code: usize| t.naks.get(code).zip(off.naks.get(code)).map_or(0, |(n, o)| n - o);
    FlowReport {
        id,
        src: flow.key.src.to_string(),
        dst: flow.key.dst.to_string(),
        dst_qp: flow.key.qp().0,
        transport: flow.transport.name(),
        class: match flow.key.class() {
            Class::RoceV1 => "rocev1",
            Class::Infiniband => "infiniband",
            _ => "rocev2",
        },
        epoch: flow.epoch,
        udp_sports: if flow.key.class() == Class::RoceV2 { flow.headers.sports.values().to_vec() } else { Vec::new() },
        dscp: flow.headers.dscp.values().to_vec(),
        vlan: flow
            .headers
            .vlans
            .values()
            .iter()
            .map(|&tci| VlanReport { id: tci & 0xfff, pcp: (tci >> 13) as u8 })
            .collect(),
        ttl: flow.headers.ttls.values().to_vec(),
        more_values: flow.headers.more(),
        src_qp: (flow.transport == Transport::Ud && flow.src_qp != SEVERAL).then_some(flow.src_qp.0),
        packets: t.packets - off.packets,
        bytes: t.bytes.0 - off.bytes.0,
        first_ns: c.first.0,
        last_ns: c.last.0,
        first_frame: flow.first_frame.place(),
        connection,
        mtu: c.mtu.get(),
        mirror_copies: off.packets,
        icrc_bad: flow.icrc_bad,
        requests: RequestsReport {
            packets: t.requests - off.requests,
            first_psn: counts.then_some(c.first_psn.get()),
            next_psn: counts.then_some(c.next_psn.get()),
            messages: flow.messages() - (off.messages - copies.messages_again),
            message_bytes: flow.message_bytes.0 - copies.message_bytes.0,
            seen_again,
            behind,
            filled: behind - seen_again,
            gaps: u64::from(c.gaps),
            gap_psns: c.gap_psns,
            never_seen: flow.never_seen(),
        },
        responses: flow.responses.as_ref().map_or_else(ResponsesReport::default, |r| ResponsesReport {
            packets: t.responses - off.responses,
            seen_again: r.seen_again - copies.responses_again,
            gaps: r.gaps,
            gap_psns: r.gap_psns,
        }),
        acks: t.acks - off.acks,
        naks: NaksReport {
            psn_sequence_error: nak(0),
            invalid_request: nak(1),
            remote_access_error: nak(2),
            remote_operational_error: nak(3),
            other: t.naks_other - off.naks_other,
        },
        rnr_naks: t.rnr_naks - off.rnr_naks,
        cnps: t.cnps - off.cnps,
        ce: t.ce - off.ce,
        story: None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_flow_stays_small() {
        assert!(size_of::<crate::flow::Flow>() <= 352);
    }
}
