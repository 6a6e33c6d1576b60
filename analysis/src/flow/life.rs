//! Where a flow may end: whether a request is that of another queue pair, which has the number now.

use rocetop_parsers::fold::{AHEAD, BACK, numbered};
use rocetop_parsers::ib::opcode::{Operation, Traits, Transport};
use rocetop_parsers::{Nanos, Psn};

use crate::event::Packet;
use crate::flow::copies::Identity;
use crate::flow::headers::Outer;
use crate::flow::mirror::{Identified, MIRRORED_WITHIN};
use crate::flow::tell::Opening;
use crate::flow::{Flow, NONE};

/// A queue pair is not made anew and connected sooner than this: that takes the calls that lead it through its states
/// (IBTA 10.3.1), and where a CM connects it three messages (IBTA 12.9); chosen, as less than those take.
pub(crate) const SILENCE: Nanos = Nanos(100_000);
/// A return to the first PSN proves a new QP only after at least this many packets (chosen: a short flow may be sent
/// again as a whole), and so does one from another port where no answers are seen.
const RESTART: u32 = 64;

impl Flow {
    /// Whether a message starts elsewhere than at the PSN that is due.
    #[inline(always)]
    pub(crate) fn may_jump(&self, packet: &Packet, traits: Traits) -> bool {
        traits.has(Traits::REQUEST | Traits::STARTS) && packet.facts.psn != self.counters.next_psn
    }

    /// Whether such a request may begin another life: after a silence or at the first PSN, behind what was
    /// acknowledged, or ahead where all was; and an MSN of either direction would show it.
    pub(crate) fn jumps(&self, packet: &Packet, peer: &Self) -> bool {
        let facts = &packet.facts;
        let c = &self.counters;
        let told = |flow: &Self| flow.story.as_ref().is_some_and(|story| story.msn().is_some());
        // What was never acknowledged is sent again in the same life; but answers may have gone by unknown.
        let acknowledged = match &self.story {
            Some(story) if told(self) => story.has_acknowledged(facts.psn),
            _ => told(peer),
        };
        let behind = facts.psn - c.next_psn < 0 && acknowledged;
        let jumps = behind || self.all_acked() && facts.psn - c.next_psn > 0;
        let silent = packet.at.since(c.last) >= SILENCE || self.restarts(facts.psn);
        (told(self) || behind)
            && c.has_requests()
            && self.recovers()
            && !self.orphaned
            && jumps
            && silent
            && self.is_at(packet)
    }

    /// Whether a packet comes from another source port than all before it, after a silence. A queue pair keeps its port
    /// (Linux computes it when the queue pair is set up: `rdma_get_udp_sport`), unless somebody moves it on purpose to
    /// another path (rdma-core `mlx5dv_modify_qp_udp_sport`), as after a timeout. So it is no proof, but says which of
    /// two lives a packet belongs to that fits both.
    pub(crate) fn leaves_its_port(&self, packet: &Packet) -> bool {
        let sports = &self.headers.sports;
        let kept = !sports.more() && matches!(sports.values(), [only] if *only != packet.facts.sport);
        kept && self.is_at(packet) && packet.at.since(self.counters.last) >= SILENCE
    }

    /// Whether a sender may go back to this PSN after a timeout, where no answers tell what it has out: a little, and
    /// not to where this life began, as another one does.
    fn may_go_back_to(&self, psn: Psn) -> bool {
        let back = self.counters.next_psn - psn;
        back > 0 && back.unsigned_abs() <= RESTART && psn - self.counters.first_psn > 0
    }

    /// Whether a PSN lies before the first that was seen: nobody saw it sent for the first time.
    pub(crate) fn is_before_all(&self, psn: Psn) -> bool {
        psn - self.counters.first_psn < 0
    }

    /// Whether no request waits for an answer.
    pub(crate) fn all_acked(&self) -> bool {
        self.unacked == self.counters.next_psn
    }

    /// Whether a request that [`jumps`](Self::jumps) is the very first PSN again, from where no sender goes back that
    /// far: another life, if no answer comes to tell.
    pub(crate) fn restarts(&self, psn: Psn) -> bool {
        let c = &self.counters;
        let back = (c.next_psn - psn).max(0).unsigned_abs();
        psn == c.first_psn && self.all_acked() && back > 2 * self.most_in_flight.max(RESTART / 2)
    }

    /// Whether this request begins another life of the QP number, by its PSN alone.
    ///
    /// A new QP starts a message at a PSN of its own choice. Within the reach of what a real sender has in flight a
    /// jump is loss or repetition, unless an answer tells; beyond it, it is not.
    pub(crate) fn begins_anew(&self, packet: &Packet, traits: Traits) -> bool {
        let facts = &packet.facts;
        let c = &self.counters;
        if !traits.has(Traits::REQUEST | Traits::STARTS) || !c.has_requests() || !numbered(facts.opcode.transport()) {
            return false;
        }
        let ahead = facts.psn - c.next_psn;
        // Where no answers are known to be seen, nothing else will tell.
        if ahead != 0 && self.peer == NONE && self.leaves_its_port(packet) && !self.may_go_back_to(facts.psn) {
            return true;
        }
        if ahead >= 0 {
            return ahead >= if self.ended { 1 } else { AHEAD };
        }
        if self.ended && facts.psn - self.unacked < 0 {
            return true;
        }
        if self.contradicts(packet) {
            return true;
        }
        let here = self.is_at(packet);
        // Nobody sends again on UC (IBTA 9.8), and what the network delays or doubles is not that late.
        if self.transport == Transport::Uc
            && here
            && packet.at.since(c.last) > MIRRORED_WITHIN
            && !self.seen.lacks(facts.psn)
        {
            return true;
        }
        // Where no story is told, nothing else will tell.
        let restarts = self.story.is_none() && here && self.restarts(facts.psn);
        restarts || ahead < -BACK || self.seen.below(facts.psn) > AHEAD.unsigned_abs()
    }

    /// Whether a request has the PSN of another one that is remembered, and is not that one. What is sent again is the
    /// same request (IBTA 9.7.1, duplicate requests).
    pub(crate) fn contradicts(&self, packet: &Packet) -> bool {
        let facts = &packet.facts;
        let now = Opening::of(facts, facts.opcode.traits()).identity(facts.psn);
        let first = self.opening.identity(self.counters.first_psn);
        let known = self.story.as_ref().and_then(|story| story.remembered(facts.psn));
        let known = known.or(Some(first).filter(|first| first.psn() == facts.psn && !self.may_have_wrapped()));
        let another = known.is_some_and(|known| self.is_another(known, now));
        another && self.counters.has_requests() && self.is_at(packet)
    }

    /// Whether `now` cannot be `known` once more. Of a READ a part may be asked for again, and no more than it asked
    /// for (Linux `duplicate_request`: the same or a subset); and while something of it is missing, up to its end.
    fn is_another(&self, known: Identity, now: Identity) -> bool {
        if known.opcode() != now.opcode() || known.opcode().operation() != Operation::READ_REQ {
            return known != now;
        }
        let (known, now) = (known.told(), now.told());
        known != 0 && now != 0 && (now > known || now < known && self.all_acked())
    }

    /// Whether PSNs may have come round to the first one: no payload is smaller than the least path MTU, 256 bytes
    /// (IBTA 4.4), but for that of a message's last packet.
    fn may_have_wrapped(&self) -> bool {
        self.counters.tally.requests + self.message_bytes.0 / 256 >= 1 << 24
    }

    /// Whether the packet was seen where the one before it was: at another place it is a second tap whose clock is
    /// late.
    fn is_at(&self, packet: &Packet) -> bool {
        Outer::of(&packet.facts, packet).place() == self.headers.latest().place()
    }
}
