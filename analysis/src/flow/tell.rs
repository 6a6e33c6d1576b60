//! What a flow tells its story, and the story of its peer.

use rocetop_parsers::facts::Flags;
use rocetop_parsers::fold::numbered;
use rocetop_parsers::ib::aeth::{NakCode, Syndrome, rnr_timer_us};
use rocetop_parsers::ib::opcode::{Opcode, Operation, Traits, Transport};
use rocetop_parsers::{Bytes, Facts, Nanos, Psn};

use crate::event::{FrameNo, Packet};
use crate::flow::copies::{Double, Identity};
use crate::flow::{Flow, message_bytes};
use crate::report::FrameRef;
use crate::short::short;
use crate::story::{
    Answer, Around, Mark, Part, Request, Response, Sight, Stamp, Standing, Story, StoryReport, Telling, hops,
};

/// What a request starts, ends and asks for, and what tells it from another one. Four bytes: every flow keeps its
/// first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opening {
    /// Payload, which is less than 64 KiB; of a READ what it asks for, in short, if it says that.
    size: u16,
    opcode: Opcode,
    bits: u8,
}

impl Opening {
    const ACK_REQ: u8 = 1;
    /// It says how much it moves: no atomic does, nor a READ that was cut before its RETH.
    const SIZED: u8 = 2;

    #[inline(always)]
    pub(crate) fn of(facts: &Facts, traits: Traits) -> Self {
        let read = facts.opcode.operation() == Operation::READ_REQ;
        let atomic = traits.has(Traits::ATOMIC_ETH);
        // What a READ or an atomic asks for is an answer of another kind.
        let ack_req = facts.flags.has(Flags::ACK_REQ) && !atomic && !read;
        let sized = !atomic && (!read || facts.flags.has(Flags::EXTENDED));
        let bits = if ack_req { Self::ACK_REQ } else { 0 } | if sized { Self::SIZED } else { 0 };
        let size = if read && sized { short(facts.dma_len) } else { facts.payload as u16 };
        Self { size, opcode: facts.opcode, bits }
    }

    /// As the clock has it, with this PSN as its last.
    #[inline(always)]
    fn stamp(self, psn: Psn, at: Nanos) -> Stamp {
        let traits = self.opcode.traits();
        let (starts, ends) = (traits.has(Traits::STARTS), traits.has(Traits::ENDS));
        Stamp { psn, at, starts, ends, ack_req: self.bits & Self::ACK_REQ != 0 }
    }

    /// What tells the request, whose PSN was this, from another one.
    #[inline(always)]
    pub(crate) fn identity(self, psn: Psn) -> Identity {
        Identity::new(self.opcode, psn, u32::from(self.size))
    }

    /// What the request says of its message's size: it moves `bytes`, and full packets carry `mtu`.
    #[inline(always)]
    fn part(self, bytes: u32, mtu: Option<u32>) -> Part {
        let traits = self.opcode.traits();
        match (traits.has(Traits::STARTS), traits.has(Traits::ENDS)) {
            _ if self.bits & Self::SIZED == 0 => Part::Middle,
            (true, true) => Part::Whole(bytes),
            (true, false) => Part::First,
            (false, true) => Part::Last(bytes, mtu),
            (false, false) => Part::Middle,
        }
    }
}

impl Flow {
    /// Whether a lost packet is sent again here.
    pub(crate) fn recovers(&self) -> bool {
        matches!(self.transport, Transport::Rc | Transport::Xrc)
    }

    /// A packet that is no mirror copy: a request for this flow's story, or an answer for that of its peer.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "each is a fact about one packet, and none belongs to another")]
    pub(crate) fn tell(
        &mut self,
        packet: &Packet,
        traits: Traits,
        sight: Option<Sight>,
        standing: Standing,
        double: Double,
        peer: Option<&mut Flow>,
        telling: &mut Telling<'_>,
    ) {
        let facts = &packet.facts;
        let mark = Mark { frame: packet.frame, at: packet.at };
        if let Some(sight) = sight {
            if self.counters.tally.requests < 2 {
                // A flood of single packets has no story to allocate for.
                if self.counters.tally.packets > 1 && self.story.is_none() {
                    self.story = Some(Box::new(self.begin(mark, telling.closely, 0)));
                }
                return;
            }
            let read = facts.opcode.operation() == Operation::READ_REQ;
            let says = Opening::of(facts, traits);
            let span =
                if read && facts.flags.has(Flags::EXTENDED) { self.counters.mtu.spans(facts.dma_len).0 } else { 1 };
            let stamp = says.stamp(facts.psn + (span - 1), packet.at);
            let reliable = self.recovers();
            let answered = self.peer != crate::flow::NONE && reliable;
            let twin = double == Double::AtOnce;
            let atomic = traits.has(Traits::ATOMIC_ETH);
            let request = Request { mark, psn: facts.psn, stamp, sight, read, atomic, twin, answered, reliable };
            let Bytes(bytes) = message_bytes(facts, traits);
            let part = says.part(bytes as u32, self.counters.mtu.get());
            let newest = if sight == Sight::Again { 0 } else { bytes };
            let story = self.story_from_first(telling.closely, newest);
            if sight != Sight::Again {
                story.measure(facts.psn, part);
                story.remember(says.identity(facts.psn));
            }
            story.request(&request, telling);
        } else if let Some(peer) = peer
            && peer.counters.has_requests()
            && let Some(answer) = answer(facts, traits, standing)
        {
            let next = peer.counters.next_psn;
            let story = peer.story_from_first(telling.closely, 0);
            if traits.has(Traits::AETH) && facts.flags.has(Flags::EXTENDED) {
                story.progressed(facts.aeth);
            }
            story.answer(answer, mark, next, telling);
            if !story.knows_its_start() {
                let messages = peer.messages();
                peer.story.iter_mut().for_each(|story| story.counts_from(messages));
            }
        }
    }

    /// The story, begun with the first request if it was not yet: it moved all but the `newest` bytes.
    #[inline(always)]
    fn story_from_first(&mut self, closely: bool, newest: u64) -> &mut Story {
        let story = self.story.take().unwrap_or_else(|| Box::new(self.begin(self.first(), closely, newest)));
        self.story.insert(story)
    }

    /// The flow's first packet. It is its first request where no story began with that: see [`Self::tell`].
    fn first(&self) -> Mark {
        Mark { frame: self.first_frame, at: self.counters.first }
    }

    /// The story as the first request leaves it.
    fn begin(&self, first: Mark, closely: bool, newest: u64) -> Story {
        let psn = self.counters.first_psn;
        let mut story = Story::starting(self.opening.stamp(psn, first.at), self.opening.identity(psn), first, closely);
        let bytes = self.message_bytes.0.saturating_sub(newest);
        if self.counters.tally.requests == 1 && numbered(self.transport) {
            // A READ takes more than its own PSN.
            story.stretch(psn, self.counters.next_psn - 1);
        }
        story.measure(psn, self.opening.part(u32::try_from(bytes).unwrap_or(u32::MAX), None));
        story
    }

    /// The story as the report has it; `None` where the flow carries no requests.
    pub(crate) fn story(
        &self,
        peer: Option<&Flow>,
        seen_again: u64,
        bytes: Bytes,
        frame: impl Fn(FrameNo) -> FrameRef,
    ) -> Option<StoryReport> {
        // CNPs that a switch makes come from nearer.
        let hops = |flow: &Flow| flow.headers.ttls.values().iter().filter_map(|&ttl| hops(ttl)).max();
        if self.counters.tally.requests == 0 {
            return None;
        }
        let time = self.counters.last.since(self.counters.first).0;
        let bits = u128::from(bytes.0) * 8_000_000_000;
        let goodput_bps = bits.checked_div(u128::from(time)).map(|bps| u64::try_from(bps).unwrap_or(u64::MAX));
        let around = Around {
            seen_again,
            answered: peer.is_some() || numbered(self.transport) && !self.recovers(),
            hops: (hops(self), peer.and_then(hops)),
            goodput_bps,
            most_in_flight: if numbered(self.transport) { self.most_in_flight } else { 0 },
        };
        Some(match &self.story {
            Some(story) => story.report(&around, frame),
            None => self.begin(self.first(), false, 0).report(&around, frame),
        })
    }
}

/// What an answer says to the requester; `None` for what is none, or was cut.
#[inline(always)]
fn answer(facts: &Facts, traits: Traits, standing: Standing) -> Option<Answer> {
    if traits.has(Traits::RESPONSE) {
        let starts = traits.has(Traits::STARTS);
        return Some(Answer::Response(Response { psn: facts.psn, standing, starts }));
    }
    if !traits.has(Traits::AETH) || !facts.flags.has(Flags::EXTENDED) {
        return None;
    }
    Some(match facts.aeth.syndrome() {
        Syndrome::Ack(_) => Answer::Ack(facts.psn),
        Syndrome::RnrNak(code) => Answer::Rnr(facts.psn, rnr_timer_us(code)),
        Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR) => Answer::Nak(facts.psn),
        Syndrome::Nak(_) => Answer::Fatal(facts.psn),
        Syndrome::Reserved(_) => return None,
    })
}
