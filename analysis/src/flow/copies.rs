//! Mirror copies: the same frame seen a second time by the capture, not sent a second time.
//!
//! A switch that mirrors both its ports, or a capture on several interfaces, shows frames twice. The second one counts
//! as a copy here only if TTL, VLAN, tunnel or interface differ from the first. (Where nearly every frame of a pair of
//! hosts comes twice and looks the same, `doubles` has left the second ones out.) Otherwise it is a repeat, since
//! networks that duplicate make identical frames too. Suspects are accounted like any packet and kept in a tally beside
//! it, so that the verdict can be given at any time: a mirror's tally is taken off again.

use rocetop_parsers::fold::{Tally, numbered};
use rocetop_parsers::ib::opcode::{Opcode, Traits};
use rocetop_parsers::{Bytes, Facts, Nanos, Psn};

use crate::flow::headers::Place;
use crate::flow::message_bytes;
use crate::flow::mirror::{Glance, Identified, Look, Mirror};

/// What makes two packets of one flow the same packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Identity(u64);

impl Identity {
    #[inline(always)]
    pub(crate) fn of(facts: &Facts) -> Self {
        Self::new(facts.opcode, facts.psn, facts.aeth.0 ^ facts.payload)
    }

    /// By the AETH or payload length: the AETH tells one ACK of a PSN from the next.
    #[inline(always)]
    pub(crate) fn new(opcode: Opcode, psn: Psn, told: u32) -> Self {
        // 8, 24 and 32 bits.
        Self(u64::from(opcode.0) << 56 | u64::from(psn.get()) << 32 | u64::from(told))
    }

    pub(crate) fn opcode(self) -> Opcode {
        Opcode((self.0 >> 56) as u8)
    }

    /// What it was made of beside the opcode and the PSN.
    pub(crate) fn told(self) -> u32 {
        self.0 as u32
    }
}

impl Identified for Identity {
    fn psn(self) -> Psn {
        Psn::new((self.0 >> 32) as u32)
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
    /// Payload of copies that could not be told from new requests: datagrams.
    pub(crate) message_bytes: Bytes,
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

/// Whether a packet may be the double of one seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Double {
    No,
    /// At another place: under a mirror.
    Mirrored,
    /// At the same place, within microseconds: a capture that doubles, or a network that does.
    AtOnce,
}

impl Share {
    fn add(&mut self, facts: &Facts, traits: Traits, wire: Bytes, again: Again) {
        self.tally.add(facts, traits, wire);
        self.again += u64::from(again.request);
        self.messages_again += u64::from(again.message);
        if !again.request && !again.message {
            self.message_bytes += message_bytes(facts, traits);
        }
        self.responses_again += u64::from(again.response);
    }

    fn merge(&mut self, other: &Self) {
        self.tally.merge(&other.tally);
        self.again += other.again;
        self.messages_again += other.messages_again;
        self.message_bytes += other.message_bytes;
        self.responses_again += other.responses_again;
    }
}

/// One flow's suspects.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    mirror: Mirror<Identity>,
    /// All packets at other places.
    elsewhere: Tally,
    /// Second sights at another place.
    moved: Share,
    /// Repeats at another place of what was seen before suspicion began, right after that.
    early: Share,
    /// Repeats at another place whose first sight is not remembered.
    late: Share,
}

/// One packet as this module needs it.
#[derive(Clone, Copy)]
pub(crate) struct Suspect<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) traits: Traits,
    pub(crate) wire: Bytes,
    pub(crate) place: Place,
    pub(crate) again: Again,
    pub(crate) at: Nanos,
}

impl Copies {
    /// Suspicion begins: the packet before was `before`, at `home`.
    pub(crate) fn since(before: Identity, at: Nanos, home: Place) -> Self {
        let mirror = Mirror::since([(before, at)], home);
        let [moved, early, late] = [Share::default(); 3];
        Self { mirror, elsewhere: Tally::default(), moved, early, late }
    }

    /// A packet of a flow under suspicion. Returns whether it is a copy, as it looks by now.
    pub(crate) fn add(&mut self, suspect: Suspect<'_>) -> bool {
        let Suspect { facts, traits, wire, place, again, at } = suspect;
        let numbered = numbered(facts.opcode.transport()) && traits.any(Traits::REQUEST | Traits::RESPONSE);
        let known = again.request || again.response;
        let (glance, copy) = self.mirror.add(Look { identity: Identity::of(facts), at, place, numbered, again: known });
        if !self.mirror.is_home(place) {
            self.elsewhere.add(facts, traits, wire);
        }
        match glance {
            Glance::First => return false,
            Glance::Moved => self.moved.add(facts, traits, wire, again),
            Glance::Early => self.early.add(facts, traits, wire, again),
            Glance::Late => self.late.add(facts, traits, wire, again),
        }
        copy
    }

    /// What is to be taken off a flow of `all` packets, as the evidence stands. A flow of answers alone follows `peer`;
    /// one that is too brief to tell, what the `capture` does.
    pub(crate) fn share(&self, all: &Tally, peer: Option<(&Self, &Tally)>, capture: Mirrored) -> Share {
        let tells = |t: &Tally| t.requests + t.responses != 0;
        let judge = if tells(all) { self } else { peer.filter(|(_, t)| tells(t)).map_or(self, |(copies, _)| copies) };
        let mut share = Share::default();
        let as_others = |mirror: &Mirror<Identity>| capture.nearly_all() && mirror.is_second_elsewhere();
        if judge.mirror.has_moved() || as_others(&judge.mirror) {
            share = self.moved;
            let late = self.mirror.went_on() || as_others(&self.mirror);
            if late {
                share.merge(&self.late);
            }
            if late || self.mirror.takes_early() {
                share.merge(&self.early);
            }
            // Answers cannot prove that they are copies of what was seen before suspicion began. Where home saw
            // everything that the other places did, they are.
            if !self.mirror.saw_first_elsewhere() && self.elsewhere.is_within(all) {
                share.tally = self.elsewhere;
            }
        }
        share
    }
}

/// What the flows of a capture tell that are seen at two places for long enough.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mirrored {
    copies: u64,
    /// Packets at other places of flows that no mirror shows there.
    others: u64,
}

/// Copies of other flows that tell of a brief one (chosen: of four flows that tell for themselves).
const TELLING: u64 = 64;

impl Mirrored {
    pub(crate) fn add(&mut self, copies: &Copies) {
        if !copies.mirror.went_on() {
            return;
        }
        let count = if copies.mirror.has_moved() { &mut self.copies } else { &mut self.others };
        *count += copies.elsewhere.packets;
    }

    /// Whether what is seen at another place is a copy, nine times in ten.
    fn nearly_all(self) -> bool {
        self.copies >= TELLING && self.copies >= self.others * 9
    }
}
