//! Mirror copies: the same frame seen a second time by the capture, not sent a second time.
//!
//! A switch that mirrors both its ports, or a capture on several interfaces, shows frames twice. The second one counts
//! as a copy only if TTL, VLAN, tunnel or interface differ from the first, or if nearly every frame of the flow is
//! doubled within microseconds; otherwise it is a repeat, since networks that duplicate make identical frames too
//! (`WIRE.md`, Frames). Suspects are accounted like any packet and kept in a tally beside it, so that the verdict can
//! be given at any time: a mirror's tally is taken off again.

use std::collections::VecDeque;

use rocetop_parsers::fold::Tally;
use rocetop_parsers::ib::opcode::Traits;
use rocetop_parsers::{Bytes, Facts, Nanos};

use crate::headers::{Few, Place};

/// What makes two packets of one flow the same packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Identity(u64);

impl Identity {
    #[inline(always)]
    pub(crate) fn of(facts: &Facts) -> Self {
        // Opcode (8 bits), PSN (24), AETH or payload length (32): the AETH tells one ACK of a PSN from the next.
        Self(
            u64::from(facts.opcode.0) << 56
                | u64::from(facts.psn.get()) << 32
                | u64::from(facts.aeth.0 ^ facts.payload),
        )
    }
}

/// What the copies of a flow added to its account.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    pub(crate) tally: Tally,
    /// Repeated requests: each is also behind.
    pub(crate) again: u64,
    /// Repeated Last or Only packets.
    pub(crate) messages_again: u64,
    /// Repeated responses.
    pub(crate) responses_again: u64,
}

/// What the accounting said of a packet: whether it had been seen before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Again {
    pub(crate) request: bool,
    pub(crate) message: bool,
    pub(crate) response: bool,
}

impl Share {
    fn add(&mut self, facts: &Facts, traits: Traits, wire: Bytes, again: Again) {
        self.tally.add(facts, traits, wire);
        self.again += u64::from(again.request);
        self.messages_again += u64::from(again.message);
        self.responses_again += u64::from(again.response);
    }
}

/// Time within which a mirror delivers the copy of a frame that looks exactly the same. A network card's or bridge's
/// double is microseconds apart; a sender's repeat waits at least a round trip.
const DOUBLED_WITHIN: Nanos = Nanos(100_000);
/// Packets of one flow remembered while it is seen at several places.
const RECENT: usize = 64;
/// Doubles below this many prove nothing: a lone message that is resent looks the same.
const LEAST_DOUBLES: u64 = 16;

/// One flow's suspects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    home: Place,
    recent: VecDeque<(Identity, Few<Place, 4>)>,
    at_home: u64,
    elsewhere: u64,
    /// Second sights at another place.
    moved: Share,
    /// Second sights at the same place, within microseconds.
    doubled: Share,
}

/// One packet as this module needs it.
#[derive(Clone, Copy)]
pub(crate) struct Suspect<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) traits: Traits,
    pub(crate) wire: Bytes,
    pub(crate) at: Nanos,
    pub(crate) place: Place,
    pub(crate) again: Again,
}

impl Copies {
    /// Suspicion begins: the packet before was `before`, at `home`.
    pub(crate) fn since(before: Identity, home: Place) -> Self {
        Self { home, recent: VecDeque::from([(before, Few::of(home))]), ..Self::default() }
    }

    /// A packet of a flow under suspicion; `before` is the time of the one before it, `twin` whether they are the same.
    pub(crate) fn add(&mut self, suspect: Suspect<'_>, before: Nanos, twin: bool) {
        let Suspect { facts, traits, wire, at, place, again } = suspect;
        let identity = Identity::of(facts);
        if place == self.home {
            self.at_home += 1;
        } else {
            self.elsewhere += 1;
        }
        // The latest sending of this packet that was not seen at this place yet.
        let sent = self.recent.iter_mut().rev().find(|(other, at)| *other == identity && !at.values().contains(&place));
        if let Some((_, places)) = sent {
            places.add(place);
            self.moved.add(facts, traits, wire, again);
            return;
        }
        if twin && at.since(before) <= DOUBLED_WITHIN {
            self.doubled.add(facts, traits, wire, again);
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((identity, Few::of(place)));
    }

    /// What is to be taken off a flow of `packets`, as the evidence stands.
    pub(crate) fn verdict(&self, packets: u64) -> Share {
        let mut share = Share::default();
        let moved = self.moved.tally.packets;
        // Half of what either place saw at least. A flow that only changed its path saw nothing more at its first one.
        let both = moved * 2 >= self.at_home.min(self.elsewhere) && self.at_home >= LEAST_DOUBLES;
        if moved != 0 && (both || moved * 2 >= self.elsewhere) {
            share = self.moved;
        }
        let doubled = self.doubled.tally.packets;
        // Nine in ten of the packets that are no copies have one.
        if doubled >= LEAST_DOUBLES && doubled * 10 >= (packets - doubled) * 9 {
            share.tally.merge(&self.doubled.tally);
            share.again += self.doubled.again;
            share.messages_again += self.doubled.messages_again;
            share.responses_again += self.doubled.responses_again;
        }
        share
    }
}
