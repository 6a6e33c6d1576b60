//! Mirror copies: the same frame seen a second time by the capture, not sent a second time.
//!
//! A switch that mirrors both its ports, or a capture on several interfaces, shows frames twice. The second one counts
//! as a copy here only if TTL, VLAN, tunnel or interface differ from the first. (Where nearly every frame of a pair of
//! hosts comes twice and looks the same, `doubles` has left the second ones out.) Otherwise it is a repeat, since networks
//! that duplicate make identical frames too. Suspects are accounted like any packet and kept in a tally beside it, so that
//! the verdict can be given at any time: a mirror's tally is taken off again.

use std::collections::VecDeque;

use rocetop_parsers::fold::{Tally, numbered};
use rocetop_parsers::ib::opcode::{Opcode, Traits};
use rocetop_parsers::{Bytes, Facts, Nanos, Psn};

use crate::flow::headers::{Few, Place};
use crate::flow::message_bytes;

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

    fn psn(self) -> Psn {
        Psn::new((self.0 >> 32) as u32)
    }

    pub(crate) fn opcode(self) -> Opcode {
        Opcode((self.0 >> 56) as u8)
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

/// Time within which a mirror of the same capture delivers the copy of a frame from another port: queues between the two
/// ports take milliseconds at most, a path that failed is noticed by a timeout of tens of them.
pub(crate) const MIRRORED_WITHIN: Nanos = Nanos(20_000_000);
/// Packets of one flow remembered while it is seen at several places.
const RECENT: usize = 64;
/// Copies below this many prove little: a lone message that is resent looks the same.
const LEAST: u64 = 16;

/// A packet sent, and the places where it was seen: one bit each.
#[derive(Clone, Copy, Debug)]
struct Sent {
    identity: Identity,
    at: Nanos,
    places: u8,
}

/// One flow's suspects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    /// The first is home: where the flow was seen before suspicion began.
    places: Few<Place, 7>,
    recent: VecDeque<Sent>,
    /// Packets at home since suspicion began.
    at_home: u64,
    /// All packets at other places.
    elsewhere: Tally,
    /// Some numbered packet was first seen elsewhere.
    first_elsewhere: bool,
    /// Second sights at another place.
    moved: Share,
    /// Repeats at another place whose first sight is not remembered: copies only where both places went on.
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
    const HOME: u8 = 1;

    /// Suspicion begins: the packet before was `before`, at `home`.
    pub(crate) fn since(before: Identity, at: Nanos, home: Place) -> Self {
        let recent = VecDeque::from([Sent { identity: before, at, places: Self::HOME }]);
        Self { places: Few::of(home), recent, ..Self::default() }
    }

    /// A packet of a flow under suspicion. Returns whether it is a copy, as it looks by now.
    pub(crate) fn add(&mut self, suspect: Suspect<'_>) -> bool {
        let Suspect { facts, traits, wire, place, again, at } = suspect;
        self.places.add(place);
        // Places beyond the ones kept share the last bit.
        let bit = 1 << self.places.values().iter().position(|&p| p == place).unwrap_or(7);
        if bit == Self::HOME {
            self.at_home += 1;
        } else {
            self.elsewhere.add(facts, traits, wire);
        }
        let identity = Identity::of(facts);
        // The first sight of a numbered packet is nobody's copy; answers and datagrams have no such proof.
        let numbered = numbered(facts.opcode.transport()) && traits.any(Traits::REQUEST | Traits::RESPONSE);
        let known = again.request || again.response;
        if known || !numbered {
            // The latest sending of this packet that was not seen at this place yet. Clocks of other files may be far off.
            let one_clock = self.places.values().first().is_some_and(|home| home.same_clock(place));
            let near = |s: &Sent| !one_clock || at.since(s.at) <= MIRRORED_WITHIN;
            let open = |s: &&mut Sent| s.identity == identity && s.places & bit == 0 && near(s);
            if let Some(sent) = self.recent.iter_mut().rev().find(open) {
                sent.places |= bit;
                self.moved.add(facts, traits, wire, again);
                return self.looks_moved();
            }
            let here = |s: &Sent| s.identity == identity && s.places & bit != 0;
            // What goes on with the next PSN after the latest has moved with the flow.
            let goes_on = self.recent.back().is_some_and(|latest| facts.psn - latest.identity.psn() == 1);
            if known && bit != Self::HOME && !goes_on && !self.recent.iter().any(here) {
                let share = if one_clock { &mut self.late } else { &mut self.moved };
                share.add(facts, traits, wire, again);
                return self.looks_late(at, one_clock);
            }
        }
        self.first_elsewhere |= numbered && !known && bit != Self::HOME;
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Sent { identity, at, places: bit });
        false
    }

    /// Whether second sights are copies, as it looks by now: most of what was sent had one, or nearly all that came
    /// elsewhere are. A bond shows each packet at one of its links, and a repeat that takes the other one is none.
    fn looks_moved(&self) -> bool {
        let (moved, elsewhere) = (self.moved.tally.packets, self.elsewhere.packets);
        let sent = (self.at_home + elsewhere).saturating_sub(moved);
        moved * 2 > sent || moved * 10 >= elsewhere * 9
    }

    /// Whether repeats whose first sight is not remembered are copies, as it looks by now: home went on, or nothing new
    /// came elsewhere so soon after it. A flow that only moved goes on elsewhere, with what was not seen at home.
    fn looks_late(&self, at: Nanos, one_clock: bool) -> bool {
        let late = self.late.tally.packets + self.moved.tally.packets;
        let home_goes_on = self.at_home * 4 >= self.elsewhere.packets && late * 10 >= self.elsewhere.packets * 9;
        let soon = self.recent.back().is_some_and(|s| !one_clock || at.since(s.at) <= MIRRORED_WITHIN);
        home_goes_on || !self.first_elsewhere && soon
    }

    /// Whether both places saw the flow go on, as they do under a mirror and not after a failure.
    fn went_on(&self) -> bool {
        self.at_home >= LEAST && self.at_home * 4 >= self.elsewhere.packets
    }

    /// Whether second sights are half of what either place saw at least. A flow that only changed its path saw nothing
    /// more at its first one.
    fn has_moved(&self) -> bool {
        let late = if self.went_on() { self.late.tally.packets } else { 0 };
        let (moved, elsewhere) = (self.moved.tally.packets + late, self.elsewhere.packets);
        let both = moved * 2 >= self.at_home.min(elsewhere) && self.at_home >= LEAST;
        // Where home saw nothing more, nine in ten have to be second sights: a new path begins with repeats, too.
        let after = if self.at_home == 0 { moved * 10 >= elsewhere * 9 } else { moved * 2 >= elsewhere };
        moved != 0 && (both || after)
    }

    /// What is to be taken off a flow of `all` packets, as the evidence stands. A flow of answers alone follows `peer`.
    pub(crate) fn share(&self, all: &Tally, peer: Option<(&Self, &Tally)>) -> Share {
        let tells = |t: &Tally| t.requests + t.responses != 0;
        let judge = if tells(all) { self } else { peer.filter(|(_, t)| tells(t)).map_or(self, |(copies, _)| copies) };
        let mut share = Share::default();
        if judge.has_moved() {
            share = self.moved;
            if self.went_on() {
                share.merge(&self.late);
            }
            // Answers cannot prove that they are copies of what was seen before suspicion began. Where home saw
            // everything that the other places did, they are.
            if !self.first_elsewhere && self.elsewhere.is_within(all) {
                share.tally = self.elsewhere;
            }
        }
        share
    }
}
