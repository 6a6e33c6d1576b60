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

use std::collections::HashSet;

use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::aeth::Syndrome;
use rocetop_parsers::ib::opcode::Traits;
use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Facts, Nanos, Psn};

use crate::engine::shard::Shard;
use crate::event::Packet;
use crate::flow::{Flow, Index, Key, NONE};
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

/// One direction of such a connection, as it was before the jump.
#[derive(Clone, Copy, Debug)]
struct Side {
    key: Key,
    /// Highest MSN of the answers to its requests, if any told one.
    msn: Option<Psn>,
    /// The PSN that was due, and whether all before it was acknowledged.
    next: Psn,
    all_acked: bool,
}

impl Side {
    fn of(flow: &Flow) -> Self {
        let msn = flow.story.as_ref().and_then(|story| story.msn());
        Self { key: flow.key, msn, next: flow.counters.next_psn, all_acked: flow.all_acked() }
    }
}

/// A connection whose sender may have begun anew.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    /// The direction whose requests jumped, and the other one.
    jumped: Side,
    other: Side,
    /// It is the very first PSN again, from far away.
    restarts: bool,
    /// If no answer tells, another life is what fits: see [`Flow::leaves_its_port`].
    likely: bool,
    /// From the request that jumped on.
    packets: Vec<Packet>,
}

impl Doubt {
    fn concerns(&self, key: &Key) -> bool {
        self.jumped.key == *key || self.other.key == *key
    }

    /// Whether an answer shows another life (`Some(true)`) or the same one; `None` where it tells nothing.
    fn verdict(&self, packet: &Packet) -> Option<bool> {
        let facts = &packet.facts;
        let told = facts.opcode.traits().has(Traits::AETH) && facts.flags.has(Flags::EXTENDED);
        if !told || packet.icrc == Icrc::Bad {
            return None;
        }
        let key = Key::of(facts);
        let (asked, other) = if key == self.other.key { (self.jumped, false) } else { (self.other, true) };
        let requests = |p: &&Packet| Key::of(&p.facts) == asked.key && is_request(p);
        let start = self.packets.iter().find(requests)?.facts.psn;
        if !self.concerns(&key) || facts.psn - start < 0 {
            return None;
        }
        let ends = |p: &&Packet| requests(p) && p.facts.opcode.traits().has(Traits::ENDS);
        // Each message once, however often it was sent.
        let sent: HashSet<u32> = self.packets.iter().filter(ends).map(|p| p.facts.psn.get()).collect();
        let done = || sent.iter().map(|&psn| Psn::new(psn)).filter(|&psn| facts.psn - psn >= 0);
        let msn = Psn::new(facts.aeth.msn());
        let before = asked.msn?;
        // Whether the other direction jumped back as well: then its answer may tell more.
        let theirs = if other { self.jumped } else { self.other };
        let jumps = |p: &Packet| Key::of(&p.facts) == theirs.key && p.facts.psn - theirs.next < 0;
        let both = theirs.msn.is_some() && self.packets.iter().any(|p| is_request(p) && jumps(p));
        // Messages beyond all that had been sent before, that this acknowledges: they raise the MSN in the same life.
        let fresh = done().filter(|&psn| psn - asked.next >= 0).count() as i32;
        let fits_anew = asked.all_acked && msn.get() as usize == done().count();
        let answer = matches!(facts.aeth.syndrome(), Syndrome::Ack(_));
        let counted = answer && before.get() != 0 && asked.all_acked;
        match msn - before {
            // No more than what was sent since.
            ..0 => (msn.get() as usize <= sent.len()).then_some(true),
            _ if other => None,
            more if counted && more < fresh => Some(true),
            // The answer to a repeat names the latest PSN (IBTA 9.7.5.1.2, 9.7.5.3; Linux `duplicate_request`), but
            // for that to a READ or atomic; and in the same life more messages would have taken new PSNs.
            more if fits_anew && facts.psn - asked.next < -1 && (more != 0 || counted && is_plain(facts)) => Some(true),
            // As many messages in either life.
            _ if fits_anew && both => None,
            _ => Some(fits_anew && self.likely),
        }
    }
}

/// Whether it is a request. Of a damaged frame nobody knows what it was: it tells nothing.
fn is_request(packet: &Packet) -> bool {
    packet.icrc != Icrc::Bad && packet.facts.opcode.traits().has(Traits::REQUEST)
}

/// Whether an answer is an acknowledgement, and no READ or atomic response.
fn is_plain(facts: &Facts) -> bool {
    !facts.opcode.traits().has(Traits::RESPONSE)
}

impl Shard {
    /// A request jumped, and only an answer can tell whether another life began. Returns whether it waits for that.
    #[cold]
    pub(crate) fn doubt(&mut self, index: Index, packet: &Packet, messages: &mut Times) -> bool {
        let Some(flow) = self.flows.get(index as usize).filter(|f| f.peer != NONE) else { return false };
        let Some(peer) = self.flows.get(flow.peer as usize).filter(|p| !p.replaced && !p.held) else { return false };
        if !flow.jumps(packet, peer) {
            return false;
        }
        let (jumped, other) = (Side::of(flow), Side::of(peer));
        let restarts = flow.restarts(packet.facts.psn);
        let likely = jumped.all_acked && (flow.leaves_its_port(packet) || flow.is_before_all(packet.facts.psn));
        if self.doubts.len() >= WAITING
            && let Some(oldest) = self.doubts.first()
        {
            self.resolve(0, oldest.likely, messages);
        }
        self.doubts.push(Doubt { jumped, other, restarts, likely, packets: vec![*packet] });
        self.hold([jumped.key, other.key], true);
        true
    }

    /// Takes a packet in, or keeps it where its connection waits.
    pub(crate) fn admit(&mut self, packet: &Packet, key: Key, messages: &mut Times) {
        let found = self.find(&key);
        let held = found.and_then(|i| self.flows.get(i as usize)).is_some_and(|flow| flow.held);
        let at = self.doubts.iter().position(|d| held && d.concerns(&key));
        let Some((at, doubt)) = at.and_then(|at| Some((at, self.doubts.get_mut(at)?))) else {
            return self.take(packet, key, found, messages);
        };
        let another = is_request(packet)
            && found.and_then(|i| self.flows.get(i as usize)).is_some_and(|flow| flow.contradicts(packet));
        let verdict = if another { Some(true) } else { doubt.verdict(packet) };
        let over = doubt.packets.first().is_some_and(|first| packet.at.since(first.at) > ANSWERED);
        doubt.packets.push(*packet);
        let full = doubt.packets.len() >= HELD;
        if verdict.is_some() || over || full {
            // No sender repeats that much from the very start without an answer to any of it.
            let anew = verdict.unwrap_or(doubt.likely || full && doubt.restarts);
            self.resolve(at, anew, messages);
        }
    }

    /// Takes in what waited: as another life, or as what it looks like.
    fn resolve(&mut self, at: usize, anew: bool, messages: &mut Times) {
        let Doubt { jumped, other, packets, .. } = self.doubts.remove(at);
        self.hold([jumped.key, other.key], false);
        if anew && let Some((index, first)) = self.find(&jumped.key).zip(packets.first()) {
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
        let concerns = |d: &Doubt| of.is_none_or(|key| d.concerns(key));
        while let Some((at, doubt)) = self.doubts.iter().enumerate().find(|(_, d)| concerns(d)) {
            self.resolve(at, doubt.likely, messages);
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
