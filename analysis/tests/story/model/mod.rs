//! A model of one connection: a requester, a responder and four links between them, with a tap at each end and one in
//! the middle. It counts PSNs from zero and never wraps them; the taps add the first one.

mod link;
mod requester;
mod responder;
mod rng;
mod run;

pub(crate) use self::link::{Link, Toll};
pub(crate) use self::rng::Rng;
pub(crate) use self::run::{Record, Scenario, Truth, run};

/// Why the requester sent a packet again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Why {
    Nak,
    Timeout,
    Rnr,
    Reissue,
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A packet of a SEND or WRITE, by its opcode.
    Data(u8),
    Read,
    Atomic,
    Ack,
    Nak,
    /// By the code of its timer.
    Rnr(u8),
    /// A READ or atomic response, by its opcode.
    Response(u8),
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) kind: Kind,
    pub(crate) psn: u64,
    /// PSNs that a READ takes, else 1.
    pub(crate) span: u64,
    pub(crate) ack_req: bool,
    pub(crate) again: Option<Why>,
    /// Of an answer: the messages that the responder has completed.
    pub(crate) msn: u32,
}

impl Packet {
    fn request(kind: Kind, psn: u64, span: u64, ack_req: bool) -> Self {
        Self { kind, psn, span, ack_req, again: None, msn: 0 }
    }

    /// Whether it is the last request packet of its message.
    pub(crate) fn ends(&self) -> bool {
        matches!(self.kind, Kind::Data(0x02 | 0x04 | 0x08 | 0x0a) | Kind::Read | Kind::Atomic)
    }

    pub(crate) fn is_request(&self) -> bool {
        matches!(self.kind, Kind::Data(_) | Kind::Read | Kind::Atomic)
    }

    pub(crate) fn end(&self) -> u64 {
        self.psn + self.span
    }
}

/// What the requester is asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    /// Of so many packets.
    Write(u64),
    Send(u64),
    Read(u64),
    Atomic,
}

/// The request packets of all messages. An acknowledgement is asked for by the last packet of each, and every `each`
/// packets where that is not 0.
pub(crate) fn plan(messages: &[Message], each: u64) -> Vec<Packet> {
    let mut packets: Vec<Packet> = Vec::new();
    let mut psn = 0;
    for &message in messages {
        let (count, first) = match message {
            Message::Write(n) => (n, 0x06),
            Message::Send(n) => (n, 0x00),
            Message::Read(span) => {
                packets.push(Packet::request(Kind::Read, psn, span, true));
                psn += span;
                continue;
            }
            Message::Atomic => {
                packets.push(Packet::request(Kind::Atomic, psn, 1, true));
                psn += 1;
                continue;
            }
        };
        for n in 0..count {
            // First, Middle, Last; Only.
            let part = match (n, count - n) {
                (0, 1) => 4,
                (0, _) => 0,
                (_, 1) => 2,
                _ => 1,
            };
            let ack_req = n + 1 == count || each != 0 && n % each == each - 1;
            packets.push(Packet::request(Kind::Data(first + part), psn, 1, ack_req));
            psn += 1;
        }
    }
    packets
}
