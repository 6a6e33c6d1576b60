//! Wild packets: what an ICRC does not prove, and what fits nothing that the flow has done.
//!
//! A cut frame has no ICRC to check, and one flipped bit of its PSN is a jump over millions. So a packet whose ICRC is
//! unknown, and whose PSN is far from what its flow would send next, or its transport another, waits. It is believed
//! when the next one goes on there or when an answer names it. Where neither happens it was damaged: it is marked, and
//! left out like a frame whose ICRC is wrong.
//!
//! What is near is believed at once: a capture that was cut tells of loss and disorder as one that is whole, and damage
//! to the low bits of a PSN is rare beside them.

use rocetop_parsers::Psn;
use rocetop_parsers::fold::numbered;
use rocetop_parsers::ib::aeth::Syndrome;
use rocetop_parsers::ib::opcode::{Traits, Transport};
use rocetop_parsers::icrc::Icrc;

use crate::event::Packet;
use crate::flow::Flow;
use crate::flow::marks::Mark;

/// PSNs that belong together: more than a window of 16 MB in 4 KiB packets.
const NEAR: i32 = 1 << 12;

/// What kind of packet it is: each has PSNs of its own.
fn kind(traits: Traits) -> u8 {
    match (traits.has(Traits::REQUEST), traits.has(Traits::RESPONSE)) {
        (true, _) => REQUEST,
        (_, true) => RESPONSE,
        _ => ANSWER,
    }
}

const REQUEST: u8 = 0;
const RESPONSE: u8 = 1;
const ANSWER: u8 = 2;

/// Whether the packet with `psn` shows that the one `before` it is what it seems, where a request is due at `next`.
fn is_confirmed(before: Psn, psn: Psn, next: Psn, kind: u8) -> bool {
    let on = psn - before;
    // A repeat is followed by repeats, a jump by what comes behind it.
    on.abs() <= NEAR && (kind != REQUEST || on > 0 && (before - next > 0 || psn - next < 0))
}

/// Whether two packets are of one kind and transport.
fn alike(a: &Packet, b: &Packet) -> bool {
    let (a, b) = (a.facts.opcode, b.facts.opcode);
    a.transport() == b.transport() && kind(a.traits()) == kind(b.traits())
}

impl Flow {
    /// Whether a packet waits here.
    pub(crate) fn has_strange(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.strange.is_some())
    }

    /// Whether a packet is far from what the flow has done.
    pub(crate) fn is_strange(&self, packet: &Packet, traits: Traits, peer: Option<&Self>) -> bool {
        let facts = &packet.facts;
        // Of a queue pair whose life is over, another one is expected.
        if packet.icrc != Icrc::Unknown
            || !Self::tells_transport(facts)
            || self.transport == Transport::Cnp
            || self.ended
            || self.orphaned
        {
            return false;
        }
        if self.transport != facts.opcode.transport() {
            return true;
        }
        if !numbered(self.transport) {
            return false;
        }
        let psn = facts.psn;
        match kind(traits) {
            REQUEST if !self.counters.has_requests() => false,
            REQUEST => {
                let ahead = psn - self.counters.next_psn;
                ahead > NEAR || ahead < 0 && self.unacked - psn > NEAR.max(self.reach())
            }
            RESPONSE => {
                let asked = peer.and_then(|p| p.reads.awaited()).is_some_and(|awaited| awaited.holds(psn));
                !asked && self.reads.responses().is_some_and(|responses| (psn - responses.next()).abs() > NEAR)
            }
            _ => peer
                .is_some_and(|p| p.counters.has_requests() && (psn - p.counters.next_psn).abs() > NEAR.max(p.reach())),
        }
    }

    /// Whether a request is far from the others.
    pub(crate) fn is_far(&self, packet: &Packet) -> bool {
        (packet.facts.psn - self.counters.next_psn).abs() > NEAR
    }

    /// How far a repeat may go back.
    fn reach(&self) -> i32 {
        self.most_in_flight.saturating_mul(2).min(1 << 23).cast_signed()
    }

    /// Looks at a packet twice. Returns whether it is taken in now, and what is taken in before it.
    #[cold]
    pub(crate) fn vet(&mut self, packet: &Packet, traits: Traits, strange: bool) -> (bool, Option<Box<Packet>>) {
        let next = self.counters.next_psn;
        let marks = self.marks();
        if let Some(before) = marks.strange.take() {
            if kind(before.facts.opcode.traits()) != kind(traits) {
                if !strange {
                    marks.strange = Some(before);
                    return (true, None);
                }
            } else if alike(&before, packet) && is_confirmed(before.facts.psn, packet.facts.psn, next, kind(traits)) {
                return (true, Some(before));
            }
            marks.add(Mark::Wild, &before);
        }
        if strange {
            marks.strange = Some(Box::new(*packet));
        }
        (!strange, None)
    }

    /// A request that waits, and that an answer shows to be what it seems: it names it, or the one that it skipped.
    pub(crate) fn confirmed_by(&mut self, answer: &Packet) -> Option<Box<Packet>> {
        let facts = &answer.facts;
        let next = self.counters.next_psn;
        let waits = &mut self.marks.as_mut()?.strange;
        let psn = waits.as_ref().filter(|p| kind(p.facts.opcode.traits()) == REQUEST)?.facts.psn;
        let nak = facts.opcode.traits().has(Traits::AETH)
            && matches!(facts.aeth.syndrome(), Syndrome::Nak(_) | Syndrome::RnrNak(_));
        let named = facts.psn == psn || nak && facts.psn == next && psn - next > 0;
        if named { waits.take() } else { None }
    }

    /// The end: nothing follows what waits.
    pub(crate) fn give_up(&mut self) {
        if let Some(marks) = &mut self.marks
            && let Some(packet) = marks.strange.take()
        {
            marks.add(Mark::Wild, &packet);
        }
    }
}
