//! The counter fold: what kernel and userland both keep of a flow without remembering single packets.
//!
//! Owns: [`Counters`], one direction of one queue pair's life, and [`Counters::fold`], which adds a packet to it. The
//! struct is the layout of the BPF map's value (`repr(C)`, no padding that matters, no pointers). What needs the set
//! of PSNs seen (repeats, holes) is built on top of it in userland, from the [`Move`] that each fold returns.

use crate::facts::{Facts, Flags};
use crate::ib::aeth::{NakCode, Syndrome};
use crate::ib::opcode::{Operation, Traits, Transport};
use crate::units::{Bytes, Nanos, Psn};

mod mtu;
pub mod responses;

pub use mtu::Mtu;
use mtu::span;

/// Where a request packet stands against the highest PSN seen before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// No request, or of a transport whose PSNs tell nothing here (UD; RD, whose PSNs belong to an EE context).
    None,
    /// The first request of the flow, or of a queue pair that has the number after it: what lies between is no gap.
    Start,
    /// The PSN that was due.
    InOrder,
    /// PSNs were skipped: this many, just before this packet.
    Ahead(u32),
    /// Below the highest next PSN seen.
    Behind,
}

/// Plain sums over packets. What every packet adds to comes first: it shares a cache line with where [`Counters`]
/// begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Tally {
    /// Packets of the flow.
    pub packets: u64,
    /// Their bytes on the wire, as captured lengths say.
    pub bytes: Bytes,
    /// Request packets.
    pub requests: u64,
    /// Request packets that end a message (Last or Only; READ and atomic requests too).
    pub messages: u64,
    /// READ and atomic responses.
    pub responses: u64,
    /// Positive acknowledgements.
    pub acks: u64,
    /// Packets marked CE.
    pub ce: u64,
    /// Congestion notification packets.
    pub cnps: u64,
    /// NAKs by code 0 to 3: sequence error, invalid request, remote access error, remote operational error.
    pub naks: [u32; 4],
    /// NAKs with any other code.
    pub naks_other: u32,
    /// Receiver-not-ready NAKs.
    pub rnr_naks: u32,
}

impl Tally {
    const NEW: Self = Self {
        packets: 0,
        bytes: Bytes(0),
        requests: 0,
        messages: 0,
        responses: 0,
        acks: 0,
        ce: 0,
        cnps: 0,
        naks: [0; 4],
        naks_other: 0,
        rnr_naks: 0,
    };

    /// Adds one packet.
    #[inline(always)]
    pub fn add(&mut self, facts: &Facts, traits: Traits, wire: Bytes) {
        self.packets += 1;
        self.bytes += wire;
        // What is rare lies elsewhere, and is left alone where there is nothing to add.
        if facts.ecn() == 3 {
            self.ce += 1;
        }
        if traits.has(Traits::REQUEST) {
            self.requests += 1;
            self.messages += u64::from(traits.has(Traits::ENDS));
        } else if traits.has(Traits::RESPONSE) {
            self.responses += 1;
        } else {
            self.add_answer(facts);
        }
    }

    /// An ACK, NAK or CNP.
    #[inline(always)]
    fn add_answer(&mut self, facts: &Facts) {
        if facts.opcode == crate::ib::opcode::Opcode::CNP {
            self.cnps += 1;
            return;
        }
        if facts.opcode.operation() != Operation::ACK || !facts.flags.has(Flags::EXTENDED) {
            return;
        }
        match facts.aeth.syndrome() {
            Syndrome::Ack(_) => self.acks += 1,
            Syndrome::RnrNak(_) => self.rnr_naks += 1,
            Syndrome::Nak(NakCode(code)) => match self.naks.get_mut(usize::from(code)) {
                Some(count) => *count += 1,
                None => self.naks_other += 1,
            },
            Syndrome::Reserved(_) => {}
        }
    }

    /// Whether twice this tally is no more than `all`, kind by kind: the rest has one of everything.
    #[must_use]
    pub fn is_within(&self, all: &Self) -> bool {
        let kinds = |t: &Self| {
            let [a, b, c, d] = t.naks;
            let rare = [a, b, c, d, t.naks_other, t.rnr_naks].map(u64::from);
            [t.packets, t.requests, t.responses, t.acks, t.cnps].into_iter().chain(rare)
        };
        kinds(self).zip(kinds(all)).all(|(mine, all)| mine * 2 <= all)
    }

    /// Adds another tally, as when copies turn out to be repeats.
    pub fn merge(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.requests += other.requests;
        self.responses += other.responses;
        self.messages += other.messages;
        self.acks += other.acks;
        self.ce += other.ce;
        self.cnps += other.cnps;
        for (mine, theirs) in self.naks.iter_mut().zip(other.naks) {
            *mine += theirs;
        }
        self.naks_other += other.naks_other;
        self.rnr_naks += other.rnr_naks;
    }
}

/// The length of a READ whose RETH was cut. No READ has it: the longest message is 2^31 bytes (IBTA 9.7.7).
const LENGTH_CUT: u32 = u32::MAX;

/// One direction of one queue pair's life. What every request looks at comes first, as it does in [`Tally`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counters {
    /// Highest next PSN. While a READ of unknown span is the last request: the least that it can be.
    pub next_psn: Psn,
    /// Length of that READ, whose PSN is `open_psn`; 0 when the last request's span is known.
    open_read: u32,
    open_psn: Psn,
    /// What is known of the path MTU.
    pub mtu: Mtu,
    /// Time of the latest packet.
    pub last: Nanos,
    /// Sums.
    pub tally: Tally,
    /// PSNs that forward jumps skipped.
    pub gap_psns: u64,
    /// Request packets below the highest next PSN.
    pub behind: u64,
    /// Time of the first packet.
    pub first: Nanos,
    /// Forward jumps.
    pub gaps: u32,
    /// PSN of the first request.
    pub first_psn: Psn,
}

/// A forward jump of at least this many PSNs to the start of a message is a new queue pair. 65,536 packets of 4 KiB are
/// 268 MB lost in one piece, more than a switch buffers (64-128 MB a chip in what fabric builders publish).
pub const AHEAD: i32 = 1 << 16;
/// A backward jump beyond this to the start of a message is a new queue pair. The most in flight on a published path is
/// 1.5 GB (400G x 30 ms, 3,000 km), 366,000 packets of 4 KiB.
pub const BACK: i32 = 1 << 19;

impl Counters {
    /// Nothing counted: [`Default`] for what the compiler evaluates.
    pub const NEW: Self = Self {
        next_psn: Psn::new(0),
        open_read: 0,
        open_psn: Psn::new(0),
        mtu: Mtu::NEW,
        last: Nanos(0),
        tally: Tally::NEW,
        gap_psns: 0,
        behind: 0,
        first: Nanos(0),
        gaps: 0,
        first_psn: Psn::new(0),
    };

    /// Whether a request has been seen.
    #[must_use]
    pub const fn has_requests(&self) -> bool {
        self.tally.requests != 0
    }

    /// Adds a packet, and says where it stands.
    #[inline(always)]
    pub fn fold(&mut self, facts: &Facts, traits: Traits, wire: Bytes, now: Nanos) -> Move {
        if self.tally.packets == 0 {
            self.first = now;
        }
        self.last = now;
        if traits.any(Traits::REQUEST | Traits::RESPONSE)
            && !traits.has(Traits::ENDS)
            && facts.flags.has(Flags::EXTENDED)
        {
            self.mtu.learn(facts.payload);
        }
        let moved = if traits.has(Traits::REQUEST) { self.request(facts, traits) } else { Move::None };
        self.tally.add(facts, traits, wire);
        moved
    }

    /// PSN accounting of a request.
    #[inline(always)]
    fn request(&mut self, facts: &Facts, traits: Traits) -> Move {
        if !numbered(facts.opcode.transport()) {
            return Move::None;
        }
        let psn = facts.psn;
        let read = facts.opcode.operation() == Operation::READ_REQ;
        let was_open = self.open_read != 0;
        if was_open {
            self.close_read(psn, read, facts);
        }
        if !self.has_requests() {
            self.first_psn = psn;
            self.advance(psn, read, facts);
            return Move::Start;
        }
        let distance = psn - self.next_psn;
        if distance == 0 {
            self.advance(psn, read, facts);
            return Move::InOrder;
        }
        if traits.has(Traits::STARTS) && !(-BACK..AHEAD).contains(&distance) {
            self.advance(psn, read, facts);
            return Move::Start;
        }
        if distance < 0 {
            self.behind += 1;
            let end = psn + if read { self.read_span(facts) } else { 1 };
            if end - self.next_psn > 0 {
                self.next_psn = end;
            }
            return Move::Behind;
        }
        self.advance(psn, read, facts);
        self.gaps += 1;
        self.gap_psns += u64::from(distance.unsigned_abs());
        Move::Ahead(distance.unsigned_abs())
    }

    #[inline(always)]
    fn advance(&mut self, psn: Psn, read: bool, facts: &Facts) {
        if !read {
            self.next_psn = psn + 1;
            return;
        }
        let (fewest, most) = self.spans(facts);
        self.next_psn = psn + fewest;
        if fewest != most {
            self.open_read = if facts.flags.has(Flags::EXTENDED) { facts.dma_len } else { LENGTH_CUT };
            self.open_psn = psn;
        }
    }

    /// Fewest and most PSNs of a READ request; anything where its RETH was cut.
    #[inline(always)]
    fn spans(&self, facts: &Facts) -> (u32, u32) {
        if facts.flags.has(Flags::EXTENDED) { self.mtu.spans(facts.dma_len) } else { (1, Psn::WINDOW) }
    }

    #[inline(always)]
    fn read_span(&self, facts: &Facts) -> u32 {
        self.spans(facts).0
    }

    /// Settles the span of the last READ by the request that follows it, or leaves it open while the next packet is
    /// no new request. A span that no MTU explains is taken as it is: until the MTU is known nothing is called a gap.
    #[inline(always)]
    fn close_read(&mut self, psn: Psn, read: bool, facts: &Facts) {
        let ahead = psn - self.open_psn;
        if self.mtu.get().is_some() && self.open_read != LENGTH_CUT {
            self.settle();
        } else if ahead > 0 && psn - self.next_psn >= 0 {
            // A READ of what is left of this one may be the same READ, asked for again: then its PSN tells of the
            // packets that came, not of the span.
            let rest = read && facts.dma_len < self.open_read;
            if self.open_read != LENGTH_CUT && !(rest && self.mtu.divides(self.open_read - facts.dma_len, ahead)) {
                self.mtu.narrow(self.open_read, ahead.unsigned_abs());
            }
            self.next_psn = psn;
            self.open_read = 0;
        }
    }

    /// Settles the span of the last READ once the path MTU is known from elsewhere (the peer's responses, the CM).
    #[inline(always)]
    pub fn settle(&mut self) {
        if let (true, Some(mtu)) = (self.open_read != 0 && self.open_read != LENGTH_CUT, self.mtu.get()) {
            let end = self.open_psn + span(self.open_read, mtu);
            if end - self.next_psn > 0 {
                self.next_psn = end;
            }
            self.open_read = 0;
        }
    }
}

/// Whether the PSNs of a flow of this transport count its packets one by one.
#[inline(always)]
#[must_use]
pub const fn numbered(transport: Transport) -> bool {
    matches!(transport, Transport::Rc | Transport::Uc | Transport::Xrc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ib::aeth::Aeth;
    use crate::ib::opcode::Opcode;

    fn packet(opcode: u8, psn: u32, payload: u32, dma_len: u32) -> Facts {
        Facts {
            opcode: Opcode(opcode),
            psn: Psn::new(psn),
            payload,
            dma_len,
            flags: Flags::EXTENDED,
            ..Facts::default()
        }
    }

    fn feed(counters: &mut Counters, facts: &Facts) -> Move {
        counters.fold(facts, facts.opcode.traits(), Bytes(100), Nanos(1))
    }

    #[test]
    fn gap_fill_and_repeat() {
        let mut c = Counters::default();
        assert_eq!(feed(&mut c, &packet(4, 0xff_fffe, 8, 0)), Move::Start);
        assert_eq!(feed(&mut c, &packet(4, 0xff_ffff, 8, 0)), Move::InOrder);
        assert_eq!(feed(&mut c, &packet(4, 2, 8, 0)), Move::Ahead(2));
        assert_eq!(feed(&mut c, &packet(4, 0, 8, 0)), Move::Behind);
        assert_eq!((c.gaps, c.gap_psns, c.behind, c.next_psn), (1, 2, 1, Psn::new(3)));
        assert_eq!(c.tally.messages, 4);
    }

    #[test]
    fn a_number_that_is_used_again_is_no_gap() {
        let mut c = Counters::default();
        for (psn, moved) in [
            (100, Move::Start),
            (101 + (1 << 16), Move::Start),
            (102 + (2 << 16) - 1, Move::Ahead((1 << 16) - 1)),
            (0x90_0000, Move::Start),
            (0x90_0001 - (1 << 19), Move::Behind),
            (0x90_0000 - (1 << 19), Move::Start),
        ] {
            assert_eq!(feed(&mut c, &packet(4, psn, 8, 0)), moved, "{psn}");
        }
        // In the middle of a message nobody begins.
        assert_eq!(feed(&mut c, &packet(1, 0x80_0000, 8, 0)), Move::Behind);
        assert_eq!((c.gaps, c.gap_psns, c.behind), (1, (1 << 16) - 1, 2));
    }

    #[test]
    fn read_span_from_the_next_request() {
        let mut c = Counters::default();
        feed(&mut c, &packet(12, 10, 0, 16_384));
        assert_eq!(c.mtu.get(), None);
        assert_eq!(feed(&mut c, &packet(12, 26, 0, 16_384)), Move::InOrder);
        assert_eq!(c.mtu.get(), Some(1024));
        assert_eq!(c.next_psn, Psn::new(42));
        assert_eq!(feed(&mut c, &packet(12, 43, 0, 16_384)), Move::Ahead(1));
    }

    #[test]
    fn unknown_mtu_is_no_gap() {
        let mut c = Counters::default();
        feed(&mut c, &packet(12, 10, 0, 16_384));
        assert_eq!(feed(&mut c, &packet(4, 1000, 8, 0)), Move::InOrder);
        assert_eq!(c.gaps, 0);
    }

    #[test]
    fn a_cut_reth_is_no_gap() {
        let mut c = Counters::default();
        c.mtu.learn(1024);
        for psn in [0, 4, 8] {
            let read = Facts { flags: Flags::default(), ..packet(12, psn, 0, 0) };
            assert_ne!(feed(&mut c, &read), Move::Ahead(3));
        }
        assert_eq!((c.gaps, c.behind, c.next_psn), (0, 0, Psn::new(9)));
    }

    #[test]
    fn a_read_inside_an_open_one_is_no_step() {
        let mut c = Counters::default();
        feed(&mut c, &packet(12, 10, 0, 16_384));
        assert_eq!(feed(&mut c, &packet(12, 12, 0, 8_192)), Move::Behind);
        assert_eq!((c.behind, c.next_psn), (1, Psn::new(14)));
    }

    #[test]
    fn the_rest_of_a_read_tells_no_mtu() {
        let mut c = Counters::default();
        for (psn, length) in [(100, 4096), (102, 2048), (104, 4096), (108, 4096)] {
            feed(&mut c, &packet(12, psn, 0, length));
        }
        assert_eq!((c.gaps, c.mtu.get()), (0, Some(1024)));
    }

    #[test]
    fn a_length_beyond_all_psns_is_bounded() {
        let mut c = Counters::default();
        feed(&mut c, &packet(12, 0, 0, u32::MAX - 1));
        assert_eq!(feed(&mut c, &packet(7, (1 << 23) + (1 << 20), 256, 0)), Move::Ahead((1 << 20) + 1));
    }

    #[test]
    fn mtu_from_elsewhere_settles_the_last_read() {
        let mut c = Counters::default();
        feed(&mut c, &packet(12, 10, 0, 16_384));
        assert_eq!(c.next_psn, Psn::new(14));
        c.mtu.learn(1024);
        c.settle();
        assert_eq!(c.next_psn, Psn::new(26));
    }

    #[test]
    fn answers_by_kind() {
        let mut c = Counters::default();
        for syndrome in [0x1f, 0x20, 0x60, 0x61, 0x62, 0x63, 0x64, 0x40] {
            let mut ack = packet(0x11, 5, 0, 0);
            ack.aeth = Aeth(syndrome << 24);
            assert_eq!(feed(&mut c, &ack), Move::None);
        }
        let t = c.tally;
        assert_eq!((t.acks, t.rnr_naks, t.naks, t.naks_other), (1, 1, [1; 4], 1));
        feed(&mut c, &packet(0x81, 0, 16, 0));
        assert_eq!(c.tally.cnps, 1);
    }

    #[test]
    fn ud_has_no_order() {
        let mut c = Counters::default();
        assert_eq!(feed(&mut c, &packet(0x64, 5, 8, 0)), Move::None);
        assert_eq!(feed(&mut c, &packet(0x64, 1, 8, 0)), Move::None);
        assert_eq!((c.gaps, c.behind, c.tally.messages), (0, 0, 2));
    }
}
