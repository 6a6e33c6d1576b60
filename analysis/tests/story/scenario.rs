//! Random scenarios in which nothing goes wrong; a test adds what shall.

use crate::model::{Link, Message, Rng, Scenario};

/// What requests are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mix {
    /// WRITEs and SENDs.
    Sent,
    /// READs of several packets, with WRITEs between them.
    Read,
    /// All, and atomics.
    All,
}

/// A clean run of 100 to 400 PSNs. The timer is far longer than any way there and back.
pub(crate) fn clean(seed: u64, mix: Mix) -> Scenario {
    let mut rng = Rng::new(seed);
    let most = rng.within(100, 400);
    let longest = rng.one_of(&[1, 2, 4, 16, 64]);
    let (mut messages, mut psns) = (Vec::new(), 0);
    while psns < most {
        let n = rng.within(1, longest + 1);
        let message = match (mix, rng.within(0, 4)) {
            (Mix::Sent, 0..2) | (Mix::Read, 0) | (Mix::All, 0) => Message::Write(n),
            (Mix::Sent, _) | (Mix::All, 1) => Message::Send(n),
            (Mix::Read, _) | (Mix::All, 2) => Message::Read(n.min(16)),
            (Mix::All, _) => Message::Atomic,
        };
        psns += match message {
            Message::Write(n) | Message::Send(n) | Message::Read(n) => n,
            Message::Atomic => 1,
        };
        messages.push(message);
    }
    let mut link = || Link { delay: rng.within(500, 10_000), ..Link::default() };
    let links = [link(), link(), link(), link()];
    let gap = rng.within(80, 1_500);
    Scenario {
        seed,
        messages,
        ack_each: rng.one_of(&[0, 0, 1, 4, 16]),
        // Every third run wraps.
        start: if rng.within(0, 3) == 0 { 0xff_ffff - rng.within(0, 90) as u32 } else { rng.next() as u32 & 0xff_ffff },
        window: rng.one_of(&[64, 65, 96, 256]),
        gap,
        think: rng.within(100, 3_000),
        coalesce: rng.one_of(&[0, 0, 0, 2_000, 10_000]),
        rto: rng.within(1_000_000, 3_000_000),
        retries: 7,
        not_ready: Vec::new(),
        rnr_code: 14,
        silent_rest: true,
        acks_every_duplicate: rng.within(0, 2) == 0,
        selective: false,
        any_order: false,
        unreliable: false,
        links,
    }
}
