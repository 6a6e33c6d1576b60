//! What passes between two hosts, and whether it comes twice.
//!
//! Nine in ten packets come twice, or it is no capture that doubles. A sender in trouble repeats nearly everything as
//! well, for a while; some things it never does. It does not put each repeat right behind its first packet. Repeats are
//! not acknowledged as their first packets were: a responder says again how far it has come (IBTA C9-105), and a tap
//! that sees each acknowledgement twice doubles; but for a queue pair that is made anew, whose responder starts over
//! after a silence, with the first of several. Both sides do not repeat it all at another interface. And a sender
//! that goes back meanwhile sends nothing new: where the packets of more than that time come again after one and the
//! same time, without exception, a mirror doubles them; those of one way, or of both. Each of these tells.

use std::collections::VecDeque;

use rocetop_parsers::Nanos;
use rocetop_parsers::ib::aeth::Syndrome;
use rocetop_parsers::ib::cm::CmMessage;
use rocetop_parsers::ib::opcode::{Opcode, Traits};
use rocetop_parsers::icrc::Icrc;

use crate::event::Packet;
use crate::flow::Key;
use crate::flow::copies::Identity;
use crate::flow::headers::{Outer, Place};
use crate::flow::life::SILENCE;

/// Time within which a double passes for one without a word of the peer. A network card's or bridge's double is
/// microseconds apart; a sender's repeat waits at least a round trip (chosen: between the two).
pub(crate) const AT_ONCE: Nanos = Nanos(100_000);
/// Time within which a capture delivers the double of a frame. A mirror port of 10 Gb/s that has a megabyte before it
/// is late by 0.8 ms; the shortest timers that adapters are set to are longer (4.096 us times 2^8 and more, IBTA
/// 9.7.6.1.3).
const DOUBLED_WITHIN: Nanos = Nanos(1_000_000);
/// Packets of a pair of hosts among which a double is looked for: at line rate it comes between those that follow. The
/// first one may be [`FRUITLESS`] packets late, and proof takes as many again.
const RECENT: usize = 512;
/// Packets among which it shows that doubles come right behind their first ones. In more of them a READ that is asked
/// for again and again looks the same (chosen).
pub(super) const SOON: usize = 64;
/// Packets among which none has a double: then none will have (chosen: a megabyte before a mirror port, in 4 KiB
/// packets).
const FRUITLESS: usize = 256;
/// Packets without a double that prove a pair not to be doubled; a few doubles may be missing (chosen: of healthy
/// traffic the first few tell, and it need not wait).
const LONELY: usize = 4;
/// Doubles that prove a pair to be doubled (chosen: no network doubles so many in a row).
const PROOF: u32 = 16;
/// Doubles that prove it where the capture ends before there are more: two of a request and two of its answer may be
/// the network's, whose responder answers each.
pub(super) const LEAST: u32 = 4;
/// Doubles come after the same time where the shortest and the longest are no further apart than this part of it: the
/// queue before a mirror port varies. A clock that counts microseconds is allowed for ([`TICK`]) (chosen: the wait of a
/// sender that goes back spreads from a round trip to a timeout, which is many times that).
const STEADY: u64 = 4;
/// The coarsest clock that captures usually have: classic pcap counts microseconds.
const TICK: Nanos = Nanos(1_000);
/// Packets of so many times that time must have come again: a sender goes back after one of them (chosen: twice may be
/// chance).
const TIMES: u64 = 3;

/// A packet that waits for the verdict.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) packet: Packet,
    pub(crate) message: Option<Box<CmMessage>>,
    pub(super) double: bool,
}

/// A packet that a double may follow.
#[derive(Clone, Copy, Debug)]
struct Sent {
    key: Key,
    identity: Identity,
    place: Place,
    at: Nanos,
    /// No double can follow any more: it came, or an answer shows that another one would be a repeat.
    closed: bool,
    /// Notifications are all alike, and prove nothing; nor does what is sent again or asks for it.
    proves: bool,
}

/// How many packets of one way were first ones and doubles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    firsts: u32,
    pub(super) doubles: u32,
    /// First ones behind the latest that has a double: theirs may still come.
    pending: u32,
    /// Doubles within [`AT_ONCE`].
    quick: u32,
    /// Doubles right behind a first packet. A sender that goes back repeats a train.
    behind: u32,
    /// Doubles of acknowledgements, which are no responses, and not of a flow that may have started over.
    acks: u32,
    /// First ones that are the third of their kind: whoever asks again and again makes these.
    third: u32,
    /// Doubles at another interface.
    moved: u32,
    /// Whether the doubles since the latest first one began with all of a flow, after a silence: it may be another life
    /// of the queue pair. Nothing before there are any.
    starts_over: Option<bool>,
}

impl Count {
    /// Nine in ten have a double, and most doubles come between first packets. A responder that says again and again
    /// how far it has come makes pairs of its own, and thirds.
    pub(super) fn nearly_all(self) -> bool {
        if self.third * 4 > self.doubles {
            return false;
        }
        self.doubles * 10 >= self.firsts * 9 && self.behind * 2 >= self.firsts && self.quick * 10 >= self.doubles * 9
    }

    /// Nine in ten of those have one whose double should have come.
    fn so_far(self) -> bool {
        self.doubles * 10 >= self.firsts.saturating_sub(self.pending) * 9
    }

    pub(super) fn add(&mut self, other: Self) {
        self.firsts += other.firsts;
        self.doubles += other.doubles;
        self.pending += other.pending;
        self.quick += other.quick;
        self.behind += other.behind;
        self.acks += other.acks;
        self.third += other.third;
        self.moved += other.moved;
    }
}

/// What one way of a pair looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Doubled,
    /// None comes twice, where nobody asks for it.
    Single,
    Unseen,
    Unclear,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    Holding(Vec<Held>),
    Doubled(Ways),
}

/// Which of the two ways is doubled.
pub(super) type Ways = [bool; 2];
pub(super) const BOTH: Ways = [true; 2];
pub(super) const NEITHER: Ways = [false; 2];

/// What passes between two hosts that are not known to be single.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) state: State,
    recent: VecDeque<Sent>,
    /// Of what the host with the lower address sends, and the other one.
    ways: [Count; 2],
    /// Time within which a double comes.
    within: Nanos,
    /// The soonest and the latest that one was.
    soonest: Nanos,
    latest: Nanos,
    /// The first packet since anything was asked for again, and the last one that has a double.
    begun: Nanos,
    reached: Nanos,
    /// Somebody asked for something again.
    asked: bool,
    /// The packet before was a first one.
    after_first: bool,
}

impl Pair {
    pub(super) fn new() -> Self {
        Self {
            state: State::Holding(Vec::new()),
            recent: VecDeque::new(),
            ways: [Count::default(); 2],
            within: DOUBLED_WITHIN,
            soonest: Nanos(u64::MAX),
            latest: Nanos(0),
            begun: Nanos(u64::MAX),
            reached: Nanos(0),
            asked: false,
            after_first: false,
        }
    }

    /// What was counted of both ways.
    pub(super) fn count(&self) -> Count {
        let [mut all, back] = self.ways;
        all.add(back);
        all
    }

    /// Whether the packet is the second one of two.
    pub(super) fn is_double(&mut self, packet: &Packet, key: Key) -> bool {
        let facts = &packet.facts;
        let (identity, place) = (Identity::of(facts), Outer::of(facts, packet).place());
        let holding = match self.state {
            State::Holding(_) => true,
            State::Doubled(ways) if ways.get(way_of(&key)) == Some(&true) => false,
            State::Doubled(_) => return false,
        };
        let within = self.within;
        if !holding {
            while self.recent.pop_front_if(|s| !apart(s.at, packet.at, within)).is_some() {}
        }
        let [low, high] = &mut self.ways;
        let (way, other) = if way_of(&key) == 0 { (low, high) } else { (high, low) };
        let (mut again, mut third, mut pending) = (false, false, 0);
        // The latest first one of this flow, and how many of them are open behind the one that this may double.
        let (mut latest, mut open) = (None, 0);
        let mut sent = self.recent.iter_mut().rev().filter(|s| s.key.src == key.src);
        while let Some(first) = sent.next() {
            if first.identity != identity || first.key != key || !first.place.is_beside(place) {
                pending += u32::from(first.proves && !first.closed);
                if first.key == key {
                    latest.get_or_insert(first.at);
                    open += u32::from(first.proves && !first.closed);
                }
                continue;
            }
            if first.closed || !apart(first.at, packet.at, within) {
                again |= first.closed && !first.proves;
                third |= first.closed && first.proves;
                continue;
            }
            first.closed = true;
            if first.proves {
                let lag = Nanos(first.at.0.abs_diff(packet.at.0));
                (self.soonest, self.latest) = (self.soonest.min(lag), self.latest.max(lag));
                self.reached = self.reached.max(first.at);
                way.doubles += 1;
                way.pending = pending;
                way.quick += u32::from(lag <= AT_ONCE);
                way.behind += u32::from(self.after_first);
                let silent = open != 0 && latest.is_some_and(|at| !apart(at, packet.at, SILENCE));
                let starts_over = way.starts_over.get_or_insert_with(|| silent && !sent.any(|s| s.key == key));
                way.acks += u32::from(acknowledges(packet) && !*starts_over);
                way.moved += u32::from(first.place != place);
            }
            self.after_first = false;
            return true;
        }
        let asks = asks_again(packet);
        if asks && holding {
            // What is sent again now was asked for. Where doubles are known to come, each packet has its own.
            for sent in self.recent.iter_mut().filter(|s| s.key.src != key.src && !s.closed) {
                sent.closed = true;
                other.firsts = other.firsts.saturating_sub(u32::from(std::mem::take(&mut sent.proves)));
            }
            other.pending = 0;
            (self.asked, self.begun) = (true, packet.at);
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        let proves = facts.opcode != Opcode::CNP && !asks && !again;
        self.begun = self.begun.min(packet.at);
        self.recent.push_back(Sent { key, identity, place, at: packet.at, closed: false, proves });
        way.starts_over = None;
        way.firsts += u32::from(proves);
        way.pending += u32::from(proves);
        way.third += u32::from(third);
        self.after_first = true;
        false
    }

    /// How many packets of a way have no double that should have come by `now`, if one comes within that time.
    fn lonely(&self, way: usize, within: Nanos, now: Nanos) -> usize {
        let of_way = self.recent.iter().filter(|s| way_of(&s.key) == way);
        of_way.filter(|s| s.proves && !s.closed && !apart(s.at, now, within)).count()
    }

    /// The ways whose packets all come again after the same time, and have for longer than a sender that goes back
    /// would send nothing new. Of both, a few doubles in each tell; of one alone, as many as prove it.
    fn steady(&self, least: u32, now: Nanos) -> Ways {
        let all = self.count();
        let alike = apart(self.soonest, self.latest, TICK.max(Nanos(self.soonest.0 / STEADY)));
        let long = self.reached.since(self.begun).0 > self.latest.0.saturating_mul(TIMES);
        if !alike || !long || all.doubles < least || all.third * 10 > all.doubles {
            return NEITHER;
        }
        // Who loses something of every window goes back again and again, each time after about the same time.
        let exact = apart(self.soonest, self.latest, TICK);
        match [0, 1].map(|way| self.look(way, now)) {
            [Look::Doubled, Look::Doubled] => BOTH,
            _ if all.doubles < PROOF || !exact => NEITHER,
            [Look::Doubled, Look::Unseen] | [Look::Unseen, Look::Doubled] => BOTH,
            [Look::Doubled, Look::Single] => [true, false],
            [Look::Single, Look::Doubled] => [false, true],
            _ => NEITHER,
        }
    }

    /// What one way looks like, by all that are due by twice the time that a double takes.
    fn look(&self, way: usize, now: Nanos) -> Look {
        let Some(count) = self.ways.get(way) else { return Look::Unclear };
        let lonely = self.lonely(way, Nanos(self.latest.0 * 2), now);
        if count.firsts == 0 {
            Look::Unseen
        } else if count.doubles >= LEAST && count.so_far() && lonely as u32 * 9 <= count.doubles {
            Look::Doubled
        } else if count.doubles == 0 && lonely >= LONELY && !self.asked {
            Look::Single
        } else {
            Look::Unclear
        }
    }

    /// Whether the doubles among so many packets prove it: of more than a few, all that are due by twice the time that
    /// they take have come, but for some.
    fn proves(&self, held: usize, now: Nanos) -> Ways {
        let all = self.count();
        if all.doubles < PROOF {
            return NEITHER;
        }
        if held <= SOON && all.nearly_all() {
            return BOTH;
        }
        let steady = self.steady(PROOF, now);
        if steady != NEITHER {
            return steady;
        }
        let both = self.ways.iter().all(|way| way.so_far() && way.doubles >= LEAST);
        let never_sent = all.acks >= PROOF || all.moved * 10 >= all.doubles * 9;
        let due = || (0..2).map(|way| self.lonely(way, Nanos(self.latest.0 * 2), now)).sum::<usize>();
        let proved =
            both && never_sent && all.third * 10 <= all.doubles && (held <= SOON || due() as u32 * 9 <= all.doubles);
        if proved { BOTH } else { NEITHER }
    }

    /// The verdict, if it can be given by now.
    pub(super) fn verdict(&self, held: usize, now: Nanos) -> Option<Ways> {
        let proved = self.proves(held, now);
        if proved != NEITHER {
            return Some(proved);
        }
        let fruitless = held >= FRUITLESS && self.count().doubles == 0;
        let lonely = [0, 1].map(|way| self.lonely(way, DOUBLED_WITHIN, now));
        // One way may be doubled alone.
        let hope = self.ways.iter().zip(lonely).any(|(way, lonely)| way.doubles >= LEAST && lonely == 0);
        let over = held >= RECENT || fruitless || lonely.iter().sum::<usize>() >= LONELY && !hope;
        over.then_some(NEITHER)
    }

    /// What it looks like when there is nothing more to wait for.
    pub(super) fn looks_doubled(&self) -> Ways {
        if self.count().doubles >= LEAST && self.holds() <= SOON && self.count().nearly_all() {
            return BOTH;
        }
        self.steady(2 * LEAST, self.recent.back().map_or(Nanos(0), |last| last.at))
    }

    /// Packets that wait.
    pub(super) fn holds(&self) -> usize {
        if let State::Holding(held) = &self.state { held.len() } else { 0 }
    }

    /// What waited, without the doubles of the ways that are `doubled`. A pair that is not has served its time.
    pub(super) fn release(&mut self, doubled: Ways, copies: &mut u64) -> Vec<Held> {
        let state = std::mem::replace(&mut self.state, State::Doubled(doubled));
        let State::Holding(mut held) = state else { return Vec::new() };
        if doubled != NEITHER {
            // Later ones come as late as these did, or nearly.
            self.within = Nanos(self.latest.0 * 2).clamp(AT_ONCE, DOUBLED_WITHIN);
            // What was taken for sent again, when that was not known yet, may have been a double.
            let ways = self.ways;
            self.recent.clear();
            for h in &mut held {
                h.double = self.is_double(&h.packet, Key::of(&h.packet.facts));
            }
            self.ways = ways;
            // Damaged ones are counted as such.
            *copies += held.iter().filter(|h| h.double && h.packet.icrc != Icrc::Bad).count() as u64;
            held.retain(|h| !h.double);
        }
        held
    }

    /// A packet of a doubled pair that is a first one: whether there were no doubles to most of the latest.
    pub(super) fn doubt(&mut self) -> bool {
        let Count { firsts, doubles, .. } = self.count();
        if firsts < 2 * RECENT as u32 {
            return false;
        }
        self.ways = [Count::default(); 2];
        doubles * 4 < firsts * 3
    }
}

/// The lower address's way, or the other one.
fn way_of(key: &Key) -> usize {
    usize::from(key.src.0 > key.dst.0)
}

/// Whether two stamps are no further apart than that. Clocks may go back.
fn apart(a: Nanos, b: Nanos, within: Nanos) -> bool {
    a.0.abs_diff(b.0) <= within.0
}

/// An acknowledgement of any kind, but no response.
fn acknowledges(packet: &Packet) -> bool {
    let traits = packet.facts.opcode.traits();
    traits.has(Traits::AETH) && !traits.has(Traits::RESPONSE)
}

/// A NAK of any kind.
fn asks_again(packet: &Packet) -> bool {
    acknowledges(packet) && matches!(packet.facts.aeth.syndrome(), Syndrome::Nak(_) | Syndrome::RnrNak(_))
}
