//! One direction of one queue pair's life, and what a packet does to it.

pub(crate) mod copies;
pub mod habits;
pub(crate) mod headers;
pub(crate) mod life;
pub mod marks;
pub(crate) mod mirror;
mod notice;
mod responses;
mod seen;
mod tell;
mod wild;

use rocetop_parsers::facts::{Class, Flags};
use rocetop_parsers::fold::{AHEAD, Counters, Move, numbered};
use rocetop_parsers::ib::aeth::Syndrome;
use rocetop_parsers::ib::opcode::{Opcode, Operation, Traits, Transport};
use rocetop_parsers::{Addr, Bytes, Facts, Nanos, Psn, Qpn};

use crate::engine::doubles::AT_ONCE;
use crate::engine::pairing::{Grade, Hunt};
use crate::event::{FrameNo, Packet};
use crate::flow::copies::{Again, Copies, Double, Identity, Mirrored, Share, Suspect};
use crate::flow::headers::{Headers, Outer};
use crate::flow::marks::Marks;
use crate::flow::responses::Reads;
use crate::flow::seen::Seen;
use crate::flow::tell::Opening;
use crate::story::{Sight, Standing, Story, Telling};

/// What tells flows apart: the two addresses, the destination queue pair, and how RoCE was carried.
///
/// The transport is not part of it: a QP number belongs to one QP at a time, so another transport is another life of
/// that number, a new epoch. CNPs reach a QP whatever its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) src: Addr,
    pub(crate) dst: Addr,
    /// Queue pair number in the low 24 bits, class above.
    tag: u32,
}

impl Key {
    #[inline(always)]
    pub(crate) fn of(facts: &Facts) -> Self {
        Self { src: facts.src, dst: facts.dst, tag: facts.dst_qp.0 | (facts.class as u32) << 24 }
    }

    pub(crate) fn qp(&self) -> Qpn {
        Qpn(self.tag & 0xff_ffff)
    }

    /// The key of another flow of this way, to that queue pair.
    pub(crate) fn to(&self, qp: Qpn) -> Self {
        Self { tag: qp.0 & 0xff_ffff | self.tag & 0xff00_0000, ..*self }
    }

    /// The key of the way back, to that queue pair.
    pub(crate) fn reverse(&self, qp: Qpn) -> Self {
        Self { src: self.dst, dst: self.src, ..self.to(qp) }
    }

    pub(crate) fn class(&self) -> Class {
        match self.tag >> 24 {
            c if c == Class::RoceV1 as u32 => Class::RoceV1,
            c if c == Class::Infiniband as u32 => Class::Infiniband,
            _ => Class::RoceV2,
        }
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> [u64; 5] {
        let half = |bytes: &[u8; 16]| {
            let n = u128::from_ne_bytes(*bytes);
            [n as u64, (n >> 64) as u64]
        };
        let ([a, b], [c, d]) = (half(&self.src.0), half(&self.dst.0));
        [a, b, c, d, u64::from(self.tag)]
    }
}

/// The index of a flow in its shard; `NONE` for no flow.
pub(crate) type Index = u32;
pub(crate) const NONE: Index = Index::MAX;

/// A flow.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) key: Key,
    pub(crate) counters: Counters,
    pub(crate) first_frame: FrameNo,
    pub(crate) headers: Headers,
    pub(crate) latest: Identity,
    /// Payload of the requests that are no repeats; of a READ what it asks for.
    pub(crate) message_bytes: Bytes,
    /// Repeated requests.
    pub(crate) seen_again: u32,
    /// Largest request; of a READ what it asks for, 65,535 at most.
    pub(crate) largest: u16,
    /// ECN fields seen, a bit each: of requests and responses in the low half, of everything else in the high one.
    pub(crate) ecn: u8,
    /// Rare things, and what happens over time; `None` in a flow that has nothing to tell.
    pub(crate) marks: Option<Box<Marks>>,
    seen: Seen,
    pub(crate) reads: Reads,
    /// What happened to the requests of this flow.
    pub(crate) story: Option<Box<Story>>,
    /// Next PSN that the peer has not acknowledged here.
    pub(crate) unacked: Psn,
    /// Most PSNs that were ever out without an acknowledgement.
    pub(crate) most_in_flight: u32,
    /// What the first request was, until a story begins with it.
    pub(crate) opening: Opening,
    /// Source queue pair of a datagram flow, or [`SEVERAL`].
    pub(crate) src_qp: Qpn,
    pub(crate) epoch: u32,
    /// The other direction, once paired.
    pub(crate) peer: Index,
    /// How it was paired.
    pub(crate) grade: Grade,
    pub(crate) transport: Transport,
    /// Neighbours in the list of flows of these addresses that look for a peer.
    pub(crate) hunt: Hunt,
    /// The CM said that this queue pair's life is over.
    pub(crate) ended: bool,
    /// The peer began another life, so the next packet here does too.
    pub(crate) orphaned: bool,
    /// Packets between these hosts come twice in the capture.
    pub(crate) doubled: bool,
    /// Packets of the connection wait until it shows whether another life began.
    pub(crate) held: bool,
    /// The flow has made room for another epoch and is only kept for the report.
    pub(crate) replaced: bool,
}

impl Flow {
    pub(crate) fn new(key: Key, frame: FrameNo, epoch: u32) -> Self {
        Self {
            key,
            counters: Counters::default(),
            first_frame: frame,
            headers: Headers::default(),
            latest: Identity::default(),
            message_bytes: Bytes(0),
            seen_again: 0,
            largest: 0,
            ecn: 0,
            marks: None,
            seen: Seen::default(),
            reads: Reads::default(),
            story: None,
            opening: Opening::default(),
            unacked: Psn::default(),
            most_in_flight: 0,
            src_qp: Qpn(0),
            epoch,
            peer: NONE,
            grade: Grade::Unpaired,
            // Until a packet tells, only notifications have come.
            transport: Transport::Cnp,
            hunt: Hunt::default(),
            ended: false,
            orphaned: false,
            doubled: false,
            held: false,
            replaced: false,
        }
    }

    /// Whether the packet fixes the flow's transport.
    pub(crate) fn tells_transport(facts: &Facts) -> bool {
        facts.opcode != Opcode::CNP && facts.opcode.traits().has(Traits::KNOWN)
    }

    /// Adds a packet. `peer` is the other direction, if it is known.
    pub(crate) fn add(
        &mut self,
        packet: &Packet,
        traits: Traits,
        mut peer: Option<&mut Flow>,
        telling: &mut Telling<'_>,
    ) {
        let facts = &packet.facts;
        if self.transport == Transport::Cnp && Self::tells_transport(facts) {
            self.transport = facts.opcode.transport();
        }
        if traits.has(Traits::DETH) && facts.flags.has(Flags::EXTENDED) {
            let only = self.counters.tally.packets == 0 || self.src_qp == facts.src_qp;
            self.src_qp = if only { facts.src_qp } else { SEVERAL };
        }
        let before = self.counters.last;
        let next = self.counters.next_psn;
        let mtu = self.counters.mtu;
        self.fits(facts, traits);
        let moved = self.counters.fold(facts, traits, packet.wire, packet.at);
        let (sight, mut again) = self.see(facts, traits, moved, next);
        if !again.request && !again.message {
            self.message_bytes += message_bytes(facts, traits);
        }
        let mut standing = Standing::default();
        if let Some(peer) = peer.as_deref_mut() {
            if self.counters.mtu != mtu {
                peer.learn_mtu(self.counters.mtu.certain());
            }
            if traits.any(Traits::AETH | Traits::RESPONSE) {
                standing = self.answer(facts, traits, Some(peer));
            }
        } else if traits.has(Traits::RESPONSE) {
            standing = self.answer(facts, traits, None);
        }
        again.response = standing.again;
        self.notice(packet, traits, before, again);
        let double = self.place(packet, traits, before, again);
        if telling.on && double != Double::Mirrored {
            self.tell(packet, traits, sight, standing, double, peer, telling);
        }
    }

    /// What ends a message need not fill its packet, and fits into it: the path MTU is no smaller.
    #[inline(always)]
    fn fits(&mut self, facts: &Facts, traits: Traits) {
        // Not in the fold that the kernel shares: built with it, the verifier does not take the program.
        if traits.has(Traits::ENDS) && facts.flags.has(Flags::EXTENDED) {
            self.counters.mtu.holds(facts.payload);
        }
    }

    /// Sight of a request's PSN.
    #[inline(always)]
    fn see(&mut self, facts: &Facts, traits: Traits, moved: Move, next: Psn) -> (Option<Sight>, Again) {
        let read = facts.opcode.operation() == Operation::READ_REQ;
        let mut again = Again::default();
        let mut sight = Sight::New(0);
        match moved {
            Move::None => return (None, again),
            Move::Start => {
                self.seen = Seen::starting(facts.psn);
                self.unacked = facts.psn;
                self.opening = Opening::of(facts, traits);
            }
            Move::InOrder if !read && next == facts.psn => {}
            Move::InOrder => self.jump(facts.psn, moved, next),
            Move::Ahead(skipped) => {
                self.jump(facts.psn, moved, next);
                sight = Sight::New(skipped);
            }
            Move::Behind => {
                again = self.look_back(facts, traits, read, next);
                sight = match again {
                    Again { request: true, .. } => Sight::Again,
                    Again { message: true, .. } => Sight::Rest,
                    _ => Sight::First,
                };
            }
        }
        if read || traits.has(Traits::ATOMIC_ETH) {
            let mut end = self.counters.next_psn;
            if moved == Move::Behind {
                // The frontier is others' by now.
                end = facts.psn + if read { self.counters.mtu.spans(facts.dma_len).0 } else { 1 };
            } else {
                self.seen.open(facts.psn + 1, (end - (facts.psn + 1)).unsigned_abs(), false);
            }
            // A span that only the next PSN told of is no promise: what came next may have been late.
            let sure = !read || self.counters.mtu.certain().is_some();
            self.reads.awaited_mut().ask(facts.psn, if sure { end } else { facts.psn + 1 });
        }
        let in_flight = (self.counters.next_psn - self.unacked).max(0).unsigned_abs();
        self.most_in_flight = self.most_in_flight.max(in_flight);
        self.seen.trim(self.counters.next_psn);
        (Some(sight), again)
    }

    /// The frontier moved on by more than this packet: a gap, or a READ whose span is known only now.
    #[cold]
    fn jump(&mut self, psn: Psn, moved: Move, next: Psn) {
        let skipped = if let Move::Ahead(n) = moved { n } else { 0 };
        let covered = (psn - next).max(0).unsigned_abs().saturating_sub(skipped);
        self.seen.open(next, covered, false);
        self.seen.open(next + covered, skipped, true);
    }

    /// A request below the frontier: seen before, or a hole filled.
    #[cold]
    fn look_back(&mut self, facts: &Facts, traits: Traits, read: bool, next: Psn) -> Again {
        let psn = facts.psn;
        let inside = self.seen.reaches(psn);
        let mut again = Again::default();
        match self.seen.look(psn) {
            seen::Sight::Again => again.request = true,
            // Inside a READ's range: the rest of that READ is asked for again, which is no new message. Nobody asks for
            // the rest of what has not begun to come, where that can be seen.
            seen::Sight::First if read && inside && (self.peer == NONE || self.unacked - psn >= 0) => {
                again.message = true;
            }
            seen::Sight::First | seen::Sight::Skipped => {}
        }
        again.message |= again.request && traits.has(Traits::ENDS);
        self.seen_again = self.seen_again.saturating_add(u32::from(again.request));
        if again.message {
            let count = &mut self.marks().messages_again;
            *count = count.saturating_add(1);
        }
        if read {
            let (span, _) = self.counters.mtu.spans(facts.dma_len);
            self.seen.cover(psn + 1, span - 1);
            self.seen.open(next, (self.counters.next_psn - next).max(0).unsigned_abs(), false);
        }
        again
    }

    /// An ACK, NAK or response for the peer's requests. Returns how a response stands.
    fn answer(&mut self, facts: &Facts, traits: Traits, mut peer: Option<&mut Flow>) -> Standing {
        let mut standing = Standing::default();
        if traits.has(Traits::RESPONSE) {
            let awaited = peer.as_deref().and_then(|p| p.reads.awaited());
            let next;
            (standing, next) = self.reads.respond(facts, traits, awaited);
            if let Some(peer) = peer.as_deref_mut() {
                peer.reads.awaited_mut().answered(next);
            }
        }
        if let Some(peer) = peer {
            peer.acknowledged(facts, traits);
        }
        standing
    }

    /// An answer to requests of this flow says how far they have come.
    fn acknowledged(&mut self, facts: &Facts, traits: Traits) {
        if !facts.flags.has(Flags::EXTENDED) && traits.has(Traits::AETH) {
            return;
        }
        if traits.has(Traits::RESPONSE) {
            self.fits(facts, traits);
        }
        // A NAK acknowledges what came before it (IBTA 9.7.5.1.2).
        let naked = facts.opcode.operation() == Operation::ACK
            && !matches!(facts.aeth.syndrome(), Syndrome::Ack(_) | Syndrome::Reserved(_));
        let unacked = if naked { facts.psn } else { facts.psn + 1 };
        let valid = self.counters.has_requests() && unacked - self.counters.next_psn <= 0;
        if valid && unacked - self.unacked > 0 {
            self.unacked = unacked;
        }
    }

    /// The other direction became known by this very packet, which is an answer to it.
    pub(crate) fn catch_up(&mut self, packet: &Packet, traits: Traits, peer: &mut Flow, telling: &mut Telling<'_>) {
        if traits.any(Traits::AETH | Traits::RESPONSE) {
            peer.acknowledged(&packet.facts, traits);
            // Earlier answers went by when nobody knew whose they were: this one tells no time of what they answered.
            if let Some(story) = peer.story.as_deref_mut().filter(|_| self.answers() > 1) {
                story.answered_unseen(packet.facts.psn);
            }
            // The same goes for the other direction, and nothing of it is answered by this packet.
            if let Some(story) = self.story.as_deref_mut().filter(|_| peer.answers() != 0) {
                story.answered_unseen(self.counters.next_psn);
            }
            if telling.on {
                self.tell(packet, traits, None, Standing::default(), Double::No, Some(peer), telling);
            }
        }
    }

    /// ACKs, NAKs and responses that it carries.
    fn answers(&self) -> u64 {
        let t = &self.counters.tally;
        t.acks + t.responses + self.refusals()
    }

    /// NAKs that it carries.
    fn refusals(&self) -> u64 {
        let t = &self.counters.tally;
        t.naks.iter().chain([&t.naks_other, &t.rnr_naks]).map(|&n| u64::from(n)).sum()
    }

    /// Where the packet was seen, and whether it is a copy.
    #[inline(always)]
    fn place(&mut self, packet: &Packet, traits: Traits, before: Nanos, again: Again) -> Double {
        let facts = &packet.facts;
        let outer = Outer::of(facts, packet);
        let last = self.headers.latest();
        let identity = Identity::of(facts);
        let first = self.counters.tally.packets == 1;
        let twin = identity == self.latest && !first && packet.at.since(before) <= AT_ONCE;
        let differs = self.headers.add(outer, facts) && !first;
        if differs && outer.differs(last) && outer.same_tap(last) {
            let tally = self.counters.tally;
            self.marks().headers(packet, traits, last, outer, &tally);
        }
        let moved = differs && outer.place() != last.place();
        let numbered = traits.any(Traits::REQUEST | Traits::RESPONSE) && numbered(facts.opcode.transport());
        let repeats = again.request || again.response || !numbered;
        let mut double = if twin && repeats { Double::AtOnce } else { Double::No };
        if moved || self.marks.as_ref().is_some_and(|m| m.copies.is_some()) {
            let latest = self.latest;
            let begin = || Box::new(Copies::since(latest, before, last.place()));
            let copies = self.marks().copies.get_or_insert_with(begin);
            let (at, wire, place) = (packet.at, packet.wire, outer.place());
            if copies.add(Suspect { facts, traits, wire, place, again, at }) {
                double = Double::Mirrored;
            }
        }
        self.latest = identity;
        double
    }

    /// The path MTU, learned from the other direction or the CM.
    pub(crate) fn learn_mtu(&mut self, mtu: Option<u32>) {
        let Some(mtu) = mtu else { return };
        let next = self.counters.next_psn;
        self.counters.mtu.learn(mtu);
        self.counters.settle();
        let grown = (self.counters.next_psn - next).max(0).unsigned_abs();
        if grown != 0 {
            self.seen.open(next, grown, false);
            self.reads.awaited_mut().ask(next, self.counters.next_psn);
            if let Some(story) = &mut self.story {
                story.stretch(next - 1, self.counters.next_psn - 1);
            }
        }
    }

    /// What mirror copies added to this flow. A flow of answers alone follows its peer, a brief one the `capture`.
    pub(crate) fn mirrored(&self, peer: Option<&Flow>, capture: Mirrored) -> Share {
        let all = &self.counters.tally;
        let peer = peer.and_then(|p| Some((p.copies()?, &p.counters.tally)));
        self.copies().map_or_else(Share::default, |copies| copies.share(all, peer, capture))
    }

    pub(crate) fn copies(&self) -> Option<&Copies> {
        self.marks.as_ref()?.copies.as_deref()
    }

    /// Distinct messages: Last or Only packets less the repeated ones.
    pub(crate) fn messages(&self) -> u64 {
        self.counters.tally.messages - self.marks.as_ref().map_or(0, |m| u64::from(m.messages_again))
    }

    /// PSNs skipped and never filled.
    pub(crate) fn never_seen(&self) -> u64 {
        self.seen.never_seen()
    }

    /// Whether some request of this flow could be acknowledged with `psn`, not long ago.
    pub(crate) fn could_answer(&self, psn: Psn) -> bool {
        let behind = self.counters.next_psn - psn;
        self.counters.has_requests() && behind > 0 && behind <= RECENT && self.seen.reaches(psn)
    }

    /// Whether PSNs near `psn` are in use here: then they do not tell this flow from another.
    pub(crate) fn is_near(&self, psn: Psn) -> bool {
        self.counters.has_requests() && (self.counters.next_psn - psn).abs() <= AHEAD
    }

    /// Whether the PSNs of this flow began at random. Collective libraries start every queue pair at 0, and what all
    /// have in common tells nobody apart.
    pub(crate) fn starts_at_random(&self) -> bool {
        self.counters.first_psn.get() >= AHEAD.unsigned_abs()
    }
}

/// Datagrams of one flow come from several queue pairs: a number that none has.
pub(crate) const SEVERAL: Qpn = Qpn(u32::MAX);

/// What a request moves: its payload, or what a READ asks for by its RETH.
#[inline(always)]
pub(crate) fn message_bytes(facts: &Facts, traits: Traits) -> Bytes {
    let read = facts.opcode.operation() == Operation::READ_REQ;
    let bytes = if read { facts.dma_len } else { facts.payload };
    Bytes(if traits.has(Traits::REQUEST) { u64::from(bytes) } else { 0 })
}

/// An answer that tells flows apart names one of this many latest PSNs: more than a window of 16 MB in 4 KiB packets,
/// and the PSN of a stranger is among them once in 4,096 times.
const RECENT: i32 = 1 << 12;
