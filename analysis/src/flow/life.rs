//! Where a flow may end: whether a request is that of another queue pair, which has the number now.

use rocetop_parsers::fold::{AHEAD, BACK, numbered};
use rocetop_parsers::ib::opcode::{Traits, Transport};
use rocetop_parsers::{Nanos, Psn};

use crate::event::Packet;
use crate::flow::Flow;
use crate::flow::copies::Identity;
use crate::flow::headers::Outer;
use crate::flow::mirror::{Identified, MIRRORED_WITHIN};

/// A queue pair is not made anew and connected sooner than this: that takes the calls that lead it through its states
/// (IBTA 10.3.1), and where a CM connects it three messages (IBTA 12.9); chosen, as less than those take.
pub(crate) const SILENCE: Nanos = Nanos(100_000);
/// A return to the first PSN proves a new QP only after at least this many packets (chosen: a short flow may be sent
/// again as a whole).
const RESTART: u32 = 64;

impl Flow {
    /// Whether a message starts elsewhere than at the PSN that is due.
    #[inline(always)]
    pub(crate) fn may_jump(&self, packet: &Packet, traits: Traits) -> bool {
        traits.has(Traits::REQUEST | Traits::STARTS) && packet.facts.psn != self.counters.next_psn
    }

    /// Whether such a request may begin another life: after a silence or at the first PSN, behind what was
    /// acknowledged, or ahead where all was. Returns the MSN that would show it.
    pub(crate) fn jumps(&self, packet: &Packet) -> Option<Psn> {
        let facts = &packet.facts;
        let c = &self.counters;
        let story = self.story.as_ref()?;
        // What was never acknowledged is sent again in the same life.
        let behind = facts.psn - c.next_psn < 0 && story.has_acknowledged(facts.psn);
        let jumps = behind || self.all_acked() && facts.psn - c.next_psn > 0;
        let silent = packet.at.since(c.last) >= SILENCE || self.restarts(facts.psn);
        let begins = c.has_requests() && self.recovers() && !self.orphaned && jumps && silent && self.is_at(packet);
        story.msn().filter(|_| begins)
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

    /// Whether a request has the PSN of another one that is remembered, and another opcode or payload. What is sent
    /// again is the same request (IBTA 9.7.1, duplicate requests), but for the length that a READ asks for, which is
    /// no payload: of that the rest may be asked for.
    pub(crate) fn contradicts(&self, packet: &Packet) -> bool {
        let now = Identity::of(&packet.facts);
        let first = self.opening.identity(self.counters.first_psn);
        let known = first.psn() == now.psn() && first != now && !self.may_have_wrapped();
        let known = known || self.story.as_ref().is_some_and(|story| story.remembers_another(now));
        known && self.counters.has_requests() && self.is_at(packet)
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
