//! What the kernel programs and userland say to each other: map keys and values, ring events, settings.
//!
//! Owns: the bytes of both sides, which is why all of it is `repr(C)`, made of integers alone, without padding in keys,
//! and has its size asserted. A value that one side writes, the other may read whatever its bits are.

mod key;
mod totals;

pub use key::{Key, Key4, Tag, Way};
pub use totals::Totals;

use crate::facts::{Facts, Flags};
use crate::fold::responses::Responses;
use crate::fold::{Counters, Move};
use crate::ib::aeth::Syndrome;
use crate::ib::opcode::{Opcode, Operation, Traits};
use crate::units::{Bytes, Nanos, Qpn};

/// UDP source ports of a flow beyond the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct Ports {
    /// Zero where none was seen yet; no sender uses port zero.
    seen: [u16; 4],
    /// Packets whose port had no room here.
    others: u32,
}

impl Ports {
    /// Adds a packet's port.
    #[inline(always)]
    fn add(&mut self, port: u16) {
        for slot in &mut self.seen {
            if *slot == port {
                return;
            }
            if *slot == 0 {
                *slot = port;
                return;
            }
        }
        self.others += 1;
    }
}

/// Value of both maps of flows: everything that is counted of one. The first 64 bytes are what a request or a response
/// that is in order reads and writes: one cache line, and with it the line of the key.
///
/// Userland copies it while packets may be added: each figure is then exact, but a packet may be in one and not yet in
/// the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Flow {
    /// 1 while a CPU adds a packet or begins a flow of this column, or userland takes the flow out, else 0. What keeps
    /// the sums whole when packets come in on several CPUs at once. The kernel's own lock costs more: it turns
    /// interrupts off and on again.
    pub lock: u32,
    /// The first UDP source port.
    port: u16,
    /// Transports seen, a bit each, by [`crate::ib::opcode::Transport`]'s number.
    pub transports: u8,
    /// Times that a queue pair began which has the number after another: [`Move::Start`], but for the first.
    pub lives: u8,
    /// Request space and sums.
    pub counters: Counters,
    /// Response space.
    pub responses: Responses,
    /// Packets that found the lock taken for so long that they are counted here and nowhere else: a CPU was taken away
    /// from under whoever held it, in the kernel or in userland.
    pub late_packets: u64,
    /// Their bytes.
    pub late_bytes: u64,
    /// Further UDP source ports.
    ports: Ports,
    /// Source queue pair of the latest datagram (DETH), else 0.
    pub src_qp: Qpn,
    /// Whose place it is, in the table of flows over IPv4; [`Flow::FREE`] or [`Flow::ELSEWHERE`] in its tag otherwise.
    key: Key4,
    /// Fills the last cache line.
    spare: [u32; 7],
}

const _: () = assert!(size_of::<Flow>() == 256);

/// What a packet did to its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folded {
    /// It was the flow's first.
    pub first: bool,
    /// In the space of requests.
    pub request: Move,
    /// In the space of responses.
    pub response: Move,
}

impl Flow {
    /// A flow that no packet was added to.
    pub const NEW: Self = Self {
        lock: 0,
        port: 0,
        transports: 0,
        lives: 0,
        counters: Counters::NEW,
        responses: Responses::NEW,
        late_packets: 0,
        late_bytes: 0,
        ports: Ports { seen: [0; 4], others: 0 },
        src_qp: Qpn(0),
        key: Key4 { src: [0; 4], dst: [0; 4], tag: Self::FREE },
        spare: [0; 7],
    };

    /// Tag of a place that no flow has.
    pub const FREE: Tag = Tag(0);
    /// Tag of a flow in the map of all other flows. No key has bits 27 to 29.
    pub const ELSEWHERE: Tag = Tag(u32::MAX);
    /// Where the addresses of the key lie in a flow, and where its tag does.
    pub const KEY: usize = core::mem::offset_of!(Self, key);
    /// As [`Flow::KEY`].
    pub const TAG: usize = Self::KEY + core::mem::offset_of!(Key4, tag);

    /// A flow that no packet was added to, for the map of all other flows.
    pub const NEW_ELSEWHERE: Self = Self { key: Key4 { src: [0; 4], dst: [0; 4], tag: Self::ELSEWHERE }, ..Self::NEW };

    /// Whether it is this flow's place.
    #[inline(always)]
    #[must_use]
    pub const fn is_at(&self, key: &Key4) -> bool {
        self.key.is(key)
    }

    /// Whether it lies in the map of all other flows.
    #[inline(always)]
    #[must_use]
    pub const fn is_elsewhere(&self) -> bool {
        self.key.tag.0 == Self::ELSEWHERE.0
    }

    /// Whether it is nobody's place.
    #[inline(always)]
    #[must_use]
    pub const fn is_free(&self) -> bool {
        self.key.tag.0 == Self::FREE.0
    }

    /// Makes a free place that of `key`, all but the tag, by which it is found: that is for the caller to write last.
    #[inline(always)]
    pub const fn prepare(&mut self, key: &Key4) {
        self.counters.mtu = Counters::NEW.mtu;
        self.key.src = key.src;
        self.key.dst = key.dst;
    }

    /// The key of its place, which is taken from it: what counts of a flow is the same wherever it lies.
    #[must_use]
    pub const fn unplace(&mut self) -> Key4 {
        core::mem::replace(&mut self.key, Self::NEW.key)
    }

    /// UDP source ports, the first five, in the order in which they were first seen. One is the rule; several tell of a
    /// NIC that spreads a queue pair over paths.
    pub fn ports(&self) -> impl Iterator<Item = u16> {
        core::iter::once(self.port).chain(self.ports.seen).take_while(|port| *port != 0)
    }

    /// Whether there were more ports than are kept.
    #[must_use]
    pub const fn has_more_ports(&self) -> bool {
        self.ports.others != 0
    }

    /// Adds a packet of the flow.
    #[inline(always)]
    pub fn fold(&mut self, facts: &Facts, traits: Traits, wire: Bytes, now: Nanos) -> Folded {
        let first = self.counters.tally.packets == 0;
        let request = self.counters.fold(facts, traits, wire, now);
        let response = self.responses.fold(facts, traits);
        if request == Move::Start && self.counters.tally.requests > 1 {
            self.lives = self.lives.saturating_add(1);
        }
        if self.port != facts.sport {
            if first {
                self.port = facts.sport;
            } else {
                self.ports.add(facts.sport);
            }
        }
        let transport = 1 << (facts.opcode.0 >> 5);
        if self.transports & transport == 0 {
            self.transports |= transport;
        }
        if traits.has(Traits::DETH) && facts.flags.has(Flags::EXTENDED) {
            self.src_qp = facts.src_qp;
        }
        Folded { first, request, response }
    }
}

/// Why a frame went through the ring: one bit a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Why(pub u32);

impl Why {
    /// First packet of a flow.
    pub const FIRST: Self = Self(1);
    /// Request PSNs were skipped just before it, or response PSNs inside one response.
    pub const GAP: Self = Self(1 << 1);
    /// NAK.
    pub const NAK: Self = Self(1 << 2);
    /// Receiver-not-ready NAK.
    pub const RNR: Self = Self(1 << 3);
    /// Congestion notification.
    pub const CNP: Self = Self(1 << 4);
    /// To queue pair 1: connection management, as a rule.
    pub const CM: Self = Self(1 << 5);
    /// PFC or global pause.
    pub const PAUSE: Self = Self(1 << 6);
    /// Headers of RoCE packets are wanted, and this is one of those in the sample.
    pub const HEADERS: Self = Self(1 << 7);

    /// What is rare and telling: all but [`Why::HEADERS`].
    pub const TELLING: Self = Self(0x7f);
    /// Every reason.
    pub const ALL: Self = Self(0xff);

    /// Both.
    #[inline(always)]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those in both.
    #[inline(always)]
    #[must_use]
    pub const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether all of `other` are in.
    #[inline(always)]
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// `other`, if `yes`.
    #[inline(always)]
    const fn when(yes: bool, other: Self) -> Self {
        if yes { other } else { Self(0) }
    }

    /// The reasons that lie in the packet itself.
    #[inline(always)]
    #[must_use]
    pub fn of(facts: &Facts, traits: Traits) -> Self {
        // Most packets are requests or responses: one test, and done.
        if traits.any(Traits::REQUEST | Traits::RESPONSE) {
            let cm = facts.dst_qp.0 == Qpn::GSI.0 && facts.opcode.0 == Opcode::UD_SEND_ONLY.0;
            return Self::when(cm, Self::CM);
        }
        if facts.opcode.0 == Opcode::CNP.0 {
            return Self::CNP;
        }
        if facts.opcode.operation().0 != Operation::ACK.0 || !facts.flags.has(Flags::EXTENDED) {
            return Self(0);
        }
        match facts.aeth.syndrome() {
            Syndrome::Nak(_) => Self::NAK,
            Syndrome::RnrNak(_) => Self::RNR,
            Syndrome::Ack(_) | Syndrome::Reserved(_) => Self(0),
        }
    }

    /// The reasons that lie in what came before the packet.
    #[inline(always)]
    #[must_use]
    pub const fn of_folded(folded: &Folded) -> Self {
        let gap = matches!(folded.request, Move::Ahead(_)) || matches!(folded.response, Move::Ahead(_));
        Self::when(folded.first, Self::FIRST).with(Self::when(gap, Self::GAP))
    }
}

/// What stands before the frame's bytes in the ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Head {
    /// Since the machine started (`CLOCK_MONOTONIC`).
    pub time: Nanos,
    /// Length on the wire, without FCS.
    pub wire: u32,
    /// Interface.
    pub ifindex: u32,
    /// Why it is here.
    pub why: Why,
    /// PSNs skipped just before it, with [`Why::GAP`].
    pub skipped: u32,
    /// Bytes of the frame that follow.
    pub captured: u32,
    /// VLAN tag that the kernel keeps beside the frame, with [`Head::VLAN`].
    pub vlan: u16,
    /// [`Way`], by its number.
    pub way: u8,
    /// [`Head::VLAN`], or nothing.
    pub flags: u8,
}

impl Head {
    /// Bytes of a head.
    pub const LEN: usize = 32;
    /// The frame has a VLAN tag that is not among its bytes.
    pub const VLAN: u8 = 1;
    /// Bytes of a frame that are kept: every header that RoCE has, with a few to spare. This and the next are powers of
    /// two, since a mask is how the verifier is shown what a length can be.
    pub const FRAME: usize = 128;
    /// Bytes kept of a frame to queue pair 1: all of it. Ethernet with two tags, IPv6, UDP, BTH, DETH, the 256 bytes of
    /// a MAD (IBTA 13.4.2) and the ICRC are 350.
    pub const FRAME_CM: usize = 512;
}

const _: () = assert!(size_of::<Head>() == Head::LEN);

/// A frame out of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// What the kernel says about it.
    pub head: Head,
    /// Its first bytes.
    pub bytes: &'a [u8],
}

impl<'a> Event<'a> {
    /// Reads a record of the ring; `None` when it is none of ours.
    #[must_use]
    pub fn read(record: &'a [u8]) -> Option<Self> {
        let (head, bytes) = record.split_first_chunk::<{ Head::LEN }>()?;
        let (words, []) = head.as_chunks::<4>() else { return None };
        let &[t0, t1, wire, ifindex, why, skipped, captured, [v0, v1, way, flags]] = words.first_chunk::<8>()?;
        let [[t0, t1, t2, t3], [t4, t5, t6, t7]] = [t0, t1];
        let head = Head {
            time: Nanos(u64::from_ne_bytes([t0, t1, t2, t3, t4, t5, t6, t7])),
            wire: u32::from_ne_bytes(wire),
            ifindex: u32::from_ne_bytes(ifindex),
            why: Why(u32::from_ne_bytes(why)),
            skipped: u32::from_ne_bytes(skipped),
            captured: u32::from_ne_bytes(captured),
            vlan: u16::from_ne_bytes([v0, v1]),
            way,
            flags,
        };
        Some(Self { head, bytes: bytes.get(..head.captured as usize)? })
    }

    /// Which way the frame went.
    #[must_use]
    pub const fn way(&self) -> Way {
        if self.head.way == Way::Out as u8 { Way::Out } else { Way::In }
    }
}
