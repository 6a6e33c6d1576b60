//! A packet as one tap saw it, and what makes it the same packet at another tap.

use rocetop_parsers::facts::Flags;
use rocetop_parsers::fold::numbered;
use rocetop_parsers::ib::aeth::{NakCode, Syndrome};
use rocetop_parsers::ib::opcode::{Opcode, Operation, Traits, Transport};
use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Facts, Nanos, Psn};

use crate::event::{FrameNo, Packet};
use crate::flow::headers::{Outer, Place};
use crate::flow::mirror::{Glance, Identified};

/// A time stamp as a number that differences and sums of two can be made of: at most of the year 2116.
pub(super) fn stamp(at: Nanos) -> i64 {
    at.0.min(i64::MAX as u64 / 2).cast_signed()
}

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Kind {
    Request,
    Response,
    Ack,
    Nak,
    Cnp,
    Other,
}

/// Number of kinds.
pub(super) const KINDS: usize = 6;

impl Kind {
    pub(super) fn of(facts: &Facts, traits: Traits) -> Self {
        if traits.has(Traits::REQUEST) {
            Self::Request
        } else if traits.has(Traits::RESPONSE) {
            Self::Response
        } else if facts.opcode == Opcode::CNP {
            Self::Cnp
        } else if facts.opcode.operation() == Operation::ACK && traits.has(Traits::AETH) {
            match facts.aeth.syndrome() {
                Syndrome::Ack(_) | Syndrome::Reserved(_) => Self::Ack,
                Syndrome::RnrNak(_) | Syndrome::Nak(_) => Self::Nak,
            }
        } else {
            Self::Other
        }
    }
}

/// What packets of one flow have in common that are the same packet, or repeats of it: kind (8 bits), PSN (24) and what
/// tells further (32).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Identity(u64);

impl Identity {
    fn of(facts: &Facts, kind: Kind) -> Self {
        let more = match kind {
            // The opcode may differ in a repeat: a READ asked for again from its middle is answered by a First.
            Kind::Request | Kind::Response if facts.opcode.transport() == Transport::Ud => {
                // Several senders may count their own PSNs.
                facts.src_qp.0 ^ facts.payload << 12
            }
            Kind::Request | Kind::Response | Kind::Cnp => 0,
            // One PSN may be acknowledged several times; MSN and credits differ.
            Kind::Ack | Kind::Nak => facts.aeth.0,
            Kind::Other => u32::from(facts.opcode.0) << 24 ^ facts.payload,
        };
        Self((kind as u64) << 56 | u64::from(facts.psn.get()) << 32 | u64::from(more))
    }
}

impl Identified for Identity {
    fn psn(self) -> Psn {
        Psn::new((self.0 >> 32) as u32)
    }
}

/// One packet at one tap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// Count of packets over all taps, in the order in which they were handed in.
    pub(super) turn: u64,
    /// The tap's own time stamp, in nanoseconds since 1970.
    pub(super) at: i64,
    pub(super) frame: FrameNo,
    pub(super) identity: Identity,
    pub(super) psn: Psn,
    pub(super) place: Place,
    pub(super) kind: Kind,
    pub(super) ttl: u8,
    pub(super) ecn: u8,
    /// Its ICRC is bad.
    pub(super) damaged: bool,
    /// Its transport repeats what is lost.
    pub(super) reliable: bool,
    /// It is a request or response, and its transport numbers these.
    pub(super) numbered: bool,
    /// It asks for the rest of an earlier READ.
    pub(super) rest: bool,
    /// Of a request that shows: its place in its life, which does not go round as PSNs do.
    pub(super) nth: i64,
    /// It had been acknowledged when it came by.
    pub(super) spurious: bool,
    /// What it is where a mirror shows packets twice.
    pub(super) glance: Glance,
}

impl Sight {
    pub(super) fn of(packet: &Packet, turn: u64) -> Self {
        let facts = &packet.facts;
        let kind = Kind::of(facts, facts.opcode.traits());
        Self {
            turn,
            at: stamp(packet.at),
            frame: packet.frame,
            identity: Identity::of(facts, kind),
            psn: facts.psn,
            place: Outer::of(facts, packet).place(),
            kind,
            ttl: facts.ttl,
            ecn: facts.ecn(),
            damaged: packet.icrc == Icrc::Bad,
            reliable: matches!(facts.opcode.transport(), Transport::Rc | Transport::Xrc),
            numbered: matches!(kind, Kind::Request | Kind::Response) && numbered(facts.opcode.transport()),
            rest: false,
            nth: 0,
            spurious: false,
            glance: Glance::First,
        }
    }
}

impl Sight {
    /// Whether other packets show that it was delivered, if it was.
    pub(super) fn shows(&self) -> bool {
        self.reliable && !self.rest && matches!(self.kind, Kind::Request | Kind::Response)
    }
}

/// What a NAK says about the request that it names (IBTA 9.7.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Named {
    /// It has not come: a sequence error.
    Missing,
    /// It has come, and the receiver was not ready for it.
    Refused,
}

/// What the packet names, if it is a NAK that tells whether that came.
pub(super) fn names(facts: &Facts) -> Option<(Named, Psn)> {
    if Kind::of(facts, facts.opcode.traits()) != Kind::Nak || !facts.flags.has(Flags::EXTENDED) {
        return None;
    }
    match facts.aeth.syndrome() {
        Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR) => Some((Named::Missing, facts.psn)),
        Syndrome::RnrNak(_) => Some((Named::Refused, facts.psn)),
        _ => None,
    }
}

/// The next PSN that the peer of this packet's receiver may forget about: what the packet acknowledges, if anything.
pub(super) fn acknowledges(facts: &Facts) -> Option<Psn> {
    let traits = facts.opcode.traits();
    match Kind::of(facts, traits) {
        Kind::Ack if facts.flags.has(Flags::EXTENDED) => Some(facts.psn + 1),
        Kind::Response => Some(facts.psn + 1),
        // A NAK acknowledges what came before it (IBTA 9.7.5.1.2).
        Kind::Nak if facts.flags.has(Flags::EXTENDED) => Some(facts.psn),
        _ => None,
    }
}
