//! Lives: whether a sender whose PSNs jump sends again, or is another queue pair of the same number.
//!
//! A queue pair that is made anew may start at the PSN of the one before it, or near: collective libraries start all at
//! 0. The jump alone looks like a repeat, or like a gap. The answer tells: the MSN counts the messages that a queue
//! pair has completed, from 0, and the answer to a repeat carries the current one, so that it never goes back in one
//! life (IBTA 9.7.7, generation of the MSN; Linux `rxe_qp_init_resp` and `duplicate_request`). So does a request that
//! is another one than that which had its PSN.
//!
//! Owns: the packets of a connection from such a jump to the first answer that tells. Few flows ever have one: what was
//! sent was acknowledged, and then there was a silence.

use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::aeth::Syndrome;
use rocetop_parsers::ib::opcode::Traits;
use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Nanos, Psn};

use crate::engine::shard::Shard;
use crate::event::Packet;
use crate::flow::{Index, Key, NONE};
use crate::story::Times;

/// Packets of a connection that wait for an answer at most: a window of a hundred messages and their answers (chosen:
/// what waits must be bounded).
const HELD: usize = 256;
/// Time within which an answer comes if one comes: ways there and back take tens of milliseconds, and a receiver that
/// is not ready is asked again after 655.36 ms at most (IBTA 9.7.5.2.8) (chosen: the next round number).
const ANSWERED: Nanos = Nanos(1_000_000_000);
/// Connections of a shard that wait; of more the oldest is taken for what it looks like (chosen: few ever wait at once,
/// and each keeps up to [`HELD`] packets).
const WAITING: usize = 16;

/// A connection whose sender may have begun anew.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    requests: Key,
    answers: Key,
    /// Highest MSN before, the PSN that was due, and whether all before it was acknowledged.
    msn: Psn,
    next: Psn,
    all_acked: bool,
    /// It is the very first PSN again, from far away.
    restarts: bool,
    /// From the request that jumped on.
    packets: Vec<Packet>,
}

impl Doubt {
    /// Whether an answer shows another life (`Some(true)`) or the same one; `None` where it tells nothing.
    fn verdict(&self, packet: &Packet) -> Option<bool> {
        let facts = &packet.facts;
        let told = facts.opcode.traits().has(Traits::AETH) && facts.flags.has(Flags::EXTENDED);
        let start = self.packets.first()?.facts.psn;
        if !told || packet.icrc == Icrc::Bad || Key::of(facts) != self.answers || facts.psn - start < 0 {
            return None;
        }
        let ends = |p: &&Packet| Key::of(&p.facts) == self.requests && p.facts.opcode.traits().has(Traits::ENDS);
        let sent = self.packets.iter().filter(ends).count() as u32;
        let acked = self.packets.iter().filter(ends).filter(|p| facts.psn - p.facts.psn >= 0).count() as u32;
        let msn = Psn::new(facts.aeth.msn());
        match msn - self.msn {
            // No more than what was sent since.
            ..0 => (msn.get() <= sent).then_some(true),
            // What is new, and acknowledged, would have raised it in the same life; if it is counted at all.
            0 => {
                let counted = matches!(facts.aeth.syndrome(), Syndrome::Ack(_)) && acked != 0 && self.msn.get() != 0;
                Some(counted && self.all_acked && start - self.next >= 0)
            }
            // So few messages before: in the same life it would take new PSNs to complete more, if none was out.
            _ => Some(self.all_acked && msn.get() == acked && facts.psn - self.next < -1),
        }
    }
}

impl Shard {
    /// A request jumped, and only an answer can tell whether another life began. Returns whether it waits for that.
    #[cold]
    pub(crate) fn doubt(&mut self, index: Index, packet: &Packet, messages: &mut Times) -> bool {
        let Some(flow) = self.flows.get(index as usize).filter(|f| f.peer != NONE) else { return false };
        let Some(peer) = self.flows.get(flow.peer as usize).filter(|p| !p.replaced && !p.held) else { return false };
        let Some(msn) = flow.jumps(packet) else { return false };
        let (requests, answers, next) = (flow.key, peer.key, flow.counters.next_psn);
        let (all_acked, restarts) = (flow.all_acked(), flow.restarts(packet.facts.psn));
        if self.doubts.len() >= WAITING {
            self.resolve(0, false, messages);
        }
        self.doubts.push(Doubt { requests, answers, msn, next, all_acked, restarts, packets: vec![*packet] });
        self.hold([requests, answers], true);
        true
    }

    /// Takes a packet in, or keeps it where its connection waits.
    pub(crate) fn admit(&mut self, packet: &Packet, key: Key, messages: &mut Times) {
        let found = self.find(&key);
        let held = found.and_then(|i| self.flows.get(i as usize)).is_some_and(|flow| flow.held);
        let at = self.doubts.iter().position(|d| held && (d.requests == key || d.answers == key));
        let Some((at, doubt)) = at.and_then(|at| Some((at, self.doubts.get_mut(at)?))) else {
            return self.take(packet, key, found, messages);
        };
        let another = packet.icrc != Icrc::Bad
            && doubt.requests == key
            && packet.facts.opcode.traits().has(Traits::REQUEST)
            && found.and_then(|i| self.flows.get(i as usize)).is_some_and(|flow| flow.contradicts(packet));
        let verdict = if another { Some(true) } else { doubt.verdict(packet) };
        let over = doubt.packets.first().is_some_and(|first| packet.at.since(first.at) > ANSWERED);
        doubt.packets.push(*packet);
        let full = doubt.packets.len() >= HELD;
        if verdict.is_some() || over || full {
            // No sender repeats that much from the very start without an answer to any of it.
            let anew = verdict.unwrap_or(full && doubt.restarts);
            self.resolve(at, anew, messages);
        }
    }

    /// Takes in what waited: as another life, or as what it looks like.
    fn resolve(&mut self, at: usize, anew: bool, messages: &mut Times) {
        let Doubt { requests, answers, packets, .. } = self.doubts.remove(at);
        self.hold([requests, answers], false);
        if anew && let Some((index, first)) = self.find(&requests).zip(packets.first()) {
            self.renew(index, first);
        }
        self.resolving = true;
        for packet in &packets {
            let key = Key::of(&packet.facts);
            self.take(packet, key, self.find(&key), messages);
        }
        self.resolving = false;
    }

    /// The end, or the end of this flow's life: no answer will tell.
    pub(crate) fn resolve_all(&mut self, of: Option<&Key>, messages: &mut Times) {
        let concerns = |d: &Doubt| of.is_none_or(|key| d.requests == *key || d.answers == *key);
        while let Some(at) = self.doubts.iter().position(concerns) {
            self.resolve(at, false, messages);
        }
    }

    fn hold(&mut self, keys: [Key; 2], held: bool) {
        for key in keys {
            if let Some(flow) = self.find(&key).and_then(|i| self.flows.get_mut(i as usize)) {
                flow.held = held;
            }
        }
    }
}
