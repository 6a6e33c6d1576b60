//! The flows of a finished run, numbered, each as the report has it.

use std::collections::HashMap;

use rocetop_parsers::facts::Class;
use rocetop_parsers::fold::numbered;
use rocetop_parsers::ib::opcode::Transport;
use rocetop_parsers::{Addr, Bytes, Nanos, Qpn};

use crate::counted::View;
use crate::detect::{self, Chosen, Findings};
use crate::engine::Engine;
use crate::engine::Focus;
use crate::engine::Grade;
use crate::engine::exchanges::{CmTerms, Exchange, ExchangeReport};
use crate::event::FrameNo;
use crate::flow::copies::Mirrored;
use crate::flow::marks::Mark;
use crate::flow::{Flow, Index, NONE, SEVERAL};
use crate::report::Members;
use crate::report::{
    CapableReport, ConnectionReport, EcnReport, FlowReport, FrameRef, IcrcReport, NaksReport, Opcodes, RateReport,
    RequestsReport, ResponsesReport, TotalsReport, VlanReport,
};
use crate::taps::{Beside, Between};
use crate::totals::Totals;
use crate::totals::mix::Mix;
use crate::totals::pauses::PauseReport;

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
    mirrored: Mirrored,
    /// Exchanges of connection managers, by id: shard and place there.
    exchanges: Vec<(u32, u32)>,
    /// By requester, responder and whose queue pair: first frame and id of the exchanges, in their order.
    agreed: HashMap<(Addr, Addr, Qpn), Vec<(FrameNo, u32)>>,
    /// Names of the files, where there are several.
    files: Vec<String>,
    /// The flows, where they came counted; then there are no others.
    counted: Option<View<'a>>,
}

impl<'a> Ledger<'a> {
    /// Numbers the flows and connections of an engine whose parts were merged. `files` are the names of the captures,
    /// in their order, to tell frames apart by; one or none needs no name.
    #[must_use]
    pub fn new(engine: &'a Engine, files: Vec<String>) -> Self {
        let mut order: Vec<Seat> = Vec::new();
        let mut ids = Vec::new();
        let mirrored = engine.mirrored();
        let mut mirror_copies = engine.shards().iter().map(|s| s.doubles.copies).sum();
        for (shard, flows) in engine.shards().iter().map(|s| &s.flows).enumerate() {
            ids.push(vec![(NONE, NONE); flows.len()]);
            let live = flows.iter().enumerate().filter(|(_, f)| f.counters.tally.packets != 0);
            order.extend(live.map(|(index, flow)| {
                mirror_copies += flow.mirrored(flow_at(engine, (shard as u32, flow.peer)), mirrored).tally.packets;
                (shard as u32, index as Index)
            }));
        }
        let (exchanges, agreed) = exchanges(engine);
        let known = exchanges.iter().filter_map(|&seat| exchange_at(engine, seat));
        let counted = engine.counts().map(|counts| View::new(counts, known));
        let connections = Vec::new();
        let mut ledger =
            Self { engine, order, ids, connections, mirror_copies, mirrored, exchanges, agreed, files, counted };
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
        self.counted.as_ref().map_or(self.order.len(), View::len)
    }

    /// Whether flows came counted: then [`NEEDS_PACKETS`](crate::counted::NEEDS_PACKETS) are not known, and nothing is
    /// found.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    /// Whether no flow was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sums over all frames.
    #[must_use]
    pub fn totals(&self) -> TotalsReport {
        let t: &Totals = self.engine.totals();
        let [not_ect, ect1, ect0, ce] = t.ecn;
        let [ok, bad, unknown] = t.icrc;
        let old = self.counted.as_ref().map_or(0, View::rocev1);
        TotalsReport {
            frames: t.frames(),
            bytes: t.bytes.0,
            roce_frames: t.rocev2.saturating_sub(old),
            rocev1_frames: t.rocev1 + old,
            infiniband_frames: t.infiniband,
            pfc_frames: t.pause,
            other_frames: t.other,
            undecodable_frames: t.undecodable,
            mirror_copies: self.mirror_copies + self.counted.as_ref().map_or(0, View::copies),
            wild: self.engine.shards().iter().map(|s| s.wild).sum(),
            icrc: IcrcReport { ok, bad, unknown },
            ecn: EcnReport { not_ect, ect0, ect1, ce },
            cnp: t.cnps(),
            opcodes: Opcodes(t.opcodes.clone()),
            rate: t.rate.series().map(|(first, width, bytes)| RateReport {
                first_ns: first.0,
                bin_ns: width.0,
                bytes: bytes.to_vec(),
            }),
            message_ns: self.engine.tells().then(|| self.engine.messages()),
            evicted: self.engine.evicted().into(),
            aged_out: self.engine.aged_out().into(),
        }
    }

    /// A frame as a reader finds it.
    #[must_use]
    pub fn frame(&self, frame: FrameNo) -> FrameRef {
        match self.files.get(usize::from(frame.file())) {
            Some(name) if self.files.len() > 1 => FrameRef::In(format!("{name}:{}", frame.place())),
            _ => FrameRef::Place(frame.place()),
        }
    }

    /// Exchanges of connection managers, by id.
    pub fn exchanges(&self) -> impl Iterator<Item = ExchangeReport> + '_ {
        (0..)
            .zip(&self.exchanges)
            .filter_map(|(id, &seat)| Some(exchange_at(self.engine, seat)?.report(id, &|frame| self.frame(frame))))
    }

    /// Exchanges that made room for newer ones.
    #[must_use]
    pub fn more_exchanges(&self) -> u64 {
        self.engine.shards().iter().map(|s| s.exchanges.forgotten).sum()
    }

    /// Pause frames by priority.
    #[must_use]
    pub fn pauses(&self) -> Vec<PauseReport> {
        self.engine.pauses().report(Nanos(self.end_ns()), &|frame| self.frame(frame))
    }

    pub(crate) fn mix(&self) -> &Mix {
        self.engine.mix()
    }

    /// What was agreed on for a flow when its connection was made.
    fn terms(&self, flow: &Flow) -> Option<CmTerms> {
        let (src, dst) = (flow.key.src, flow.key.dst);
        let known = self.agreed.get(&(src, dst, flow.key.qp()))?;
        // The latest before it began: queue pair numbers are used again.
        let &(_, id) = known.iter().rev().find(|(frame, _)| *frame < flow.first_frame)?;
        exchange_at(self.engine, *self.exchanges.get(id as usize)?)?.terms(id)
    }

    /// The frame that is found so; the first of those that two files of the same name have.
    #[must_use]
    pub fn place(&self, frame: &FrameRef) -> Option<FrameNo> {
        match frame {
            FrameRef::Place(place) => Some(FrameNo::new(0, *place)),
            FrameRef::In(text) => {
                let (name, place) = text.rsplit_once(':')?;
                let file = self.files.iter().position(|file| file == name)?;
                Some(FrameNo::new(u16::try_from(file).ok()?, place.parse().ok()?))
            }
        }
    }

    /// What a second pass needs to look closely at a flow and the other direction.
    #[must_use]
    pub fn focus(&self, id: u32) -> Option<Focus> {
        let &(shard, index) = self.order.get(id as usize)?;
        let flow = flow_at(self.engine, (shard, index))?;
        Some(Focus::on(flow.key, flow_at(self.engine, (shard, flow.peer)).map(|peer| peer.key)))
    }

    /// What a second pass needs to know the packets of these flows again.
    #[must_use]
    pub fn members(&self, ids: impl IntoIterator<Item = u32>) -> Members {
        let mut members = Members::default();
        let seats = ids.into_iter().filter_map(|id| self.order.get(id as usize));
        seats.filter_map(|&seat| flow_at(self.engine, seat)).for_each(|flow| members.add(flow));
        members
    }

    /// Time of the last frame, in nanoseconds since 1970.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.engine.totals().last.0
    }

    /// What the detectors found, the worst first. Nothing where no stories were told.
    #[must_use]
    pub fn findings(&self) -> Findings {
        self.findings_of(None, None)
    }

    /// What they found about the connections whose flows are `chosen`, or about everything. `taps` is what was found
    /// between several taps, with the index of the one that this ledger is of.
    #[must_use]
    pub fn findings_of(&self, chosen: Option<&Chosen<'_>>, taps: Option<(&Between, usize)>) -> Findings {
        if !self.engine.tells() {
            return Findings::default();
        }
        let beside = taps.map(|(between, tap)| Beside::of(between, tap, self.flows()));
        detect::findings(self, chosen, beside.as_ref())
    }

    /// All flows, by id.
    pub fn flows(&self) -> impl Iterator<Item = FlowReport> + '_ {
        (0..self.len() as u32).filter_map(|id| self.flow(id))
    }

    /// The flow with this id.
    #[must_use]
    pub fn flow(&self, id: u32) -> Option<FlowReport> {
        if let Some(view) = &self.counted {
            return view.flow(id);
        }
        let &seat = self.order.get(id as usize)?;
        let flow = flow_at(self.engine, seat)?;
        let (_, connection) = self.at(seat)?;
        let peer = flow_at(self.engine, (seat.0, flow.peer));
        let frame = |frame| self.frame(frame);
        let mut report = report((flow, peer), self.mirrored, (id, connection), self.engine.tells(), frame);
        if let Some(marks) = &flow.marks {
            if let Some(dscps) = marks.dscps(flow.headers.latest(), &flow.counters.tally) {
                [report.data_dscp, report.answer_dscp] = dscps;
            }
            report.marks = marks.report(&frame);
            report.stuck = marks.stuck(flow.unacked, &frame);
            report.habits = marks.habits.as_ref().map(|habits| habits.report(&frame));
        }
        report.cm = self.terms(flow);
        Some(report)
    }

    /// All connections, by id.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionReport> + '_ {
        let counted = self.counted.iter().flat_map(View::connections);
        counted.chain((0u32..).zip(&self.connections).filter_map(|(id, &first)| {
            let &seat = self.order.get(first as usize)?;
            let flow = flow_at(self.engine, seat)?;
            let peer = self.at((seat.0, flow.peer)).filter(|&(_, connection)| connection == id);
            let flows = std::iter::once(first).chain(peer.map(|(flow, _)| flow)).collect();
            let paired_by = if peer.is_some() { flow.grade } else { Grade::Unpaired };
            Some(ConnectionReport { id, flows, paired_by })
        }))
    }
}

/// As reports have it.
pub(crate) fn class_name(class: Class) -> &'static str {
    match class {
        Class::RoceV1 => "rocev1",
        Class::Infiniband => "infiniband",
        _ => "rocev2",
    }
}

fn flow_at(engine: &Engine, seat: Seat) -> Option<&Flow> {
    engine.shards().get(seat.0 as usize)?.flows.get(seat.1 as usize)
}

fn exchange_at(engine: &Engine, (shard, place): (u32, u32)) -> Option<&Exchange> {
    engine.shards().get(shard as usize)?.exchanges.get(place as usize)
}

type Agreed = HashMap<(Addr, Addr, Qpn), Vec<(FrameNo, u32)>>;

/// Numbers the exchanges by their first frames, and notes which flows they are about.
fn exchanges(engine: &Engine) -> (Vec<(u32, u32)>, Agreed) {
    let mut order = Vec::new();
    for (shard, exchanges) in (0..).zip(engine.shards().iter().map(|s| &s.exchanges)) {
        order.extend((0..).zip(exchanges.iter()).map(|(place, e)| (e.first, (shard, place), e)));
    }
    order.sort_unstable_by_key(|&(first, seat, _)| (first, seat));
    let mut agreed = Agreed::new();
    for (id, &(first, _, e)) in (0..).zip(&order) {
        let ways = [(e.requester, e.responder, e.responder_qp), (e.responder, e.requester, e.requester_qp)];
        for (src, dst, qp) in ways {
            if let Some(qp) = qp {
                agreed.entry((src, dst, qp)).or_default().push((first, id));
            }
        }
    }
    (order.into_iter().map(|(_, seat, _)| seat).collect(), agreed)
}

fn report(
    (flow, peer): (&Flow, Option<&Flow>),
    mirrored: Mirrored,
    (id, connection): (u32, u32),
    tells: bool,
    frame: impl Fn(FrameNo) -> FrameRef,
) -> FlowReport {
    let c = &flow.counters;
    let copies = flow.mirrored(peer, mirrored);
    let t = &c.tally;
    let off = &copies.tally;
    let counts = numbered(flow.transport) && t.requests != 0;
    let seen_again = u64::from(flow.seen_again) - copies.again;
    let own_dscp = |yes: bool| if yes { flow.headers.dscp.values().to_vec() } else { Vec::new() };
    let behind = c.behind - copies.again;
    let message_bytes = Bytes(flow.message_bytes.0 - copies.message_bytes.0);
    let story = if tells { flow.story(peer, seen_again, message_bytes, frame) } else { None };
    let nak = |code: usize| t.naks.get(code).zip(off.naks.get(code)).map_or(0, |(n, o)| n - o);
    FlowReport {
        id,
        src: flow.key.src.to_string(),
        dst: flow.key.dst.to_string(),
        dst_qp: flow.key.qp().0,
        transport: flow.transport.name(),
        class: class_name(flow.key.class()),
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
        // Clocks may run backward.
        first_ns: c.first.0.min(c.last.0),
        last_ns: c.last.0.max(c.first.0),
        first_frame: flow.first_frame.place(),
        connection,
        mtu: c.mtu.get(),
        mirror_copies: off.packets,
        icrc_bad: flow.marks.as_ref().map_or(0, |m| m.count(Mark::BadIcrc).min(u64::from(u32::MAX)) as u32),
        requests: RequestsReport {
            packets: t.requests - off.requests,
            first_psn: counts.then_some(c.first_psn.get()),
            next_psn: counts.then_some(c.next_psn.get()),
            messages: flow.messages() - (off.messages - copies.messages_again),
            message_bytes: message_bytes.0,
            seen_again,
            behind,
            filled: behind - seen_again,
            gaps: u64::from(c.gaps),
            gap_psns: c.gap_psns,
            never_seen: flow.never_seen(),
        },
        responses: flow.reads.responses().map_or_else(ResponsesReport::default, |r| ResponsesReport {
            packets: t.responses - off.responses,
            seen_again: r.seen_again - copies.responses_again,
            gaps: r.gaps,
            gap_psns: r.gap_psns,
        }),
        acks: t.acks - off.acks,
        naks: NaksReport::of([0, 1, 2, 3].map(nak), t.naks_other - off.naks_other),
        rnr_naks: t.rnr_naks - off.rnr_naks,
        cnps: t.cnps - off.cnps,
        ce: t.ce - off.ce,
        // All packets had the same headers, or marks would say more.
        data_dscp: own_dscp(t.requests + t.responses != 0),
        answer_dscp: own_dscp(t.requests + t.responses + t.cnps != t.packets),
        data_ecn: CapableReport { not_ect: flow.ecn & 1 != 0, ect: flow.ecn & 0b1110 != 0 },
        marks: None,
        habits: None,
        stuck: None,
        cm: None,
        story,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_flow_stays_small() {
        assert!(size_of::<crate::flow::Flow>() <= 344, "{}", size_of::<crate::flow::Flow>());
    }

    #[test]
    fn what_flows_tell_stays_small() {
        assert!(size_of::<crate::flow::marks::Marks>() <= 120, "{}", size_of::<crate::flow::marks::Marks>());
        assert!(size_of::<crate::flow::habits::Habits>() <= 512, "{}", size_of::<crate::flow::habits::Habits>());
    }
}
