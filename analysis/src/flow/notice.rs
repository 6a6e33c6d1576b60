//! What a packet shows that is rare, and where it is noted down. Nothing here allocates for a packet like those before.

use rocetop_parsers::Nanos;
use rocetop_parsers::facts::Flags;
use rocetop_parsers::fold::numbered;
use rocetop_parsers::ib::aeth::{NakCode, Syndrome};
use rocetop_parsers::ib::opcode::{Opcode, Operation, Traits};

use crate::event::Packet;
use crate::flow::copies::Again;
use crate::flow::habits::{self, Habits};
use crate::flow::marks::{Mark, Marks};
use crate::flow::{Flow, message_bytes};

impl Flow {
    /// Looks for what is rare, after the packet was accounted.
    #[inline(always)]
    pub(crate) fn notice(&mut self, packet: &Packet, traits: Traits, before: Nanos, again: Again) {
        let facts = &packet.facts;
        let data = traits.any(Traits::REQUEST | Traits::RESPONSE);
        self.ecn |= 1 << (facts.ecn() | if data { 0 } else { 4 });
        if facts.ecn() == 3 || !data {
            self.mark(packet, data);
        }
        if data && !traits.has(Traits::ENDS) && self.counters.mtu.get().is_some_and(|mtu| facts.payload < mtu) {
            self.marks().small(packet);
        }
        if again.request {
            if let Some(marks) = &mut self.marks {
                marks.repeated(packet);
            }
        } else if traits.has(Traits::REQUEST | Traits::STARTS) {
            let size = message_bytes(facts, traits).0.min(u64::from(u16::MAX)) as u16;
            if size > self.largest {
                self.grow(packet, size);
            }
            let gap = packet.at.since(before);
            if habits::notable(facts, traits, gap) || self.marks.as_ref().is_some_and(|m| m.habits.is_some()) {
                self.start(packet, traits, gap);
            }
        }
    }

    /// A message starts that may belong to a pattern.
    #[cold]
    fn start(&mut self, packet: &Packet, traits: Traits, gap: Nanos) {
        let after_write = self.latest.opcode().operation() == Operation::WRITE_LAST;
        self.habits().message(packet, traits, gap, after_write);
    }

    /// A request larger than all before it.
    #[cold]
    fn grow(&mut self, packet: &Packet, size: u16) {
        let passed = std::mem::replace(&mut self.largest, size);
        if passed != 0 && numbered(self.transport) {
            self.marks().grew(packet, passed, size);
        }
    }

    fn mark(&mut self, packet: &Packet, data: bool) {
        let facts = &packet.facts;
        if facts.ecn() == 3 {
            self.marks().add(if data { Mark::Ce } else { Mark::CeOnAnswer }, packet);
        }
        if facts.opcode == Opcode::CNP {
            self.marks().add(Mark::Cnp, packet);
        } else if !data
            && facts.opcode.operation() == Operation::ACK
            && facts.flags.has(Flags::EXTENDED)
            && matches!(facts.aeth.syndrome(), Syndrome::Nak(code) if code != NakCode::PSN_SEQUENCE_ERROR)
        {
            self.marks().add(Mark::FatalNak, packet);
        }
    }

    #[cold]
    pub(crate) fn marks(&mut self) -> &mut Marks {
        self.marks.get_or_insert_default()
    }

    /// The peer of a notification or of a clear-to-send slot has something to note down.
    #[cold]
    pub(crate) fn habits(&mut self) -> &mut Habits {
        self.marks().habits.get_or_insert_default()
    }
}
