//! Doubles: captures that hold every frame twice, as two mirror ports in one file do, or a bridge and its port.
//!
//! Owns: which pairs of hosts are doubled, and what is held back until that is known. What a copy is where the two differ
//! in TTL, VLAN or tunnel is told flow by flow, in `copies`; here the second one looks like the first, at the same interface
//! or another one.
//!
//! Nine in ten packets come twice, or it is no capture that doubles. A sender in trouble repeats nearly everything as well,
//! for a while; some things it never does. It does not put each repeat right behind its first packet. Repeats are not
//! acknowledged as their first packets were: a responder says again how far it has come (IBTA C9-105), and a tap that sees
//! each acknowledgement twice doubles. And both sides do not repeat it all at another interface. Each of these tells.
//!
//! A story cannot take back what it was told, so the first packets of a pair of hosts wait until it shows whether they
//! come twice: four that do not are enough to say no. From then on a second one is left out before anybody counts it.
//! A packet has one double at most: a sender's repeat and its own double are two packets of their own.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use rocetop_parsers::ib::aeth::Syndrome;
use rocetop_parsers::ib::cm::CmMessage;
use rocetop_parsers::ib::opcode::{Opcode, Traits};
use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Addr, Nanos};

use crate::event::{FrameNo, Packet};
use crate::flow::Key;
use crate::flow::copies::Identity;
use crate::flow::headers::{Outer, Place};

/// Time within which a double passes for one without a word of the peer. A network card's or bridge's double is
/// microseconds apart; a sender's repeat waits at least a round trip.
pub(crate) const AT_ONCE: Nanos = Nanos(100_000);
/// Time within which a capture delivers the double of a frame. A mirror port of 10 Gb/s that has a megabyte before it is
/// late by 0.8 ms; the shortest timers that adapters are set to are longer (4.096 us times 2^8 and more, IBTA 9.7.6.1.3).
const DOUBLED_WITHIN: Nanos = Nanos(1_000_000);
/// Packets of a pair of hosts among which a double is looked for: at line rate it comes between those that follow. The
/// first one may be [`FRUITLESS`] packets late, and proof takes as many again.
const RECENT: usize = 512;
/// Packets among which it shows that doubles come right behind their first ones. In more of them a READ that is asked for
/// again and again looks the same.
const SOON: usize = 64;
/// Packets among which none has a double: then none will have.
const FRUITLESS: usize = 256;
/// Packets without a double that prove a pair not to be doubled; a few doubles may be missing.
const LONELY: usize = 4;
/// Doubles that prove a pair to be doubled.
const PROOF: u32 = 16;
/// Doubles that prove it where the capture ends before there are more: two of a request and two of its answer may be
/// the network's, whose responder answers each.
const LEAST: u32 = 4;
/// Pairs of hosts of a shard whose packets wait; the oldest give way, and are taken for what they look like.
const WAITING: usize = 64;
/// Packets of a shard that wait, at most; the pair that has waited longest gives way as well.
const HELD: usize = 4096;
/// Pairs remembered once it is known; of the oldest it is found out anew.
const KNOWN: usize = 4096;

/// A packet that waits for the verdict.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) packet: Packet,
    pub(crate) message: Option<Box<CmMessage>>,
    double: bool,
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
struct Count {
    firsts: u32,
    doubles: u32,
    /// First ones behind the latest that has a double: theirs may still come.
    pending: u32,
    /// Doubles within [`AT_ONCE`].
    quick: u32,
    /// Doubles right behind a first packet. A sender that goes back repeats a train.
    behind: u32,
    /// Doubles of acknowledgements, which are no responses.
    acks: u32,
    /// First ones that are the third of their kind: whoever asks again and again makes these.
    third: u32,
    /// Doubles at another interface.
    moved: u32,
}

impl Count {
    /// Nine in ten have a double, and most doubles come between first packets.
    fn nearly_all(self) -> bool {
        self.doubles * 10 >= self.firsts * 9 && self.behind * 2 >= self.firsts && self.quick * 10 >= self.doubles * 9
    }

    /// Nine in ten of those have one whose double should have come.
    fn so_far(self) -> bool {
        self.doubles * 10 >= self.firsts.saturating_sub(self.pending) * 9
    }

    fn add(&mut self, other: Self) {
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

#[derive(Clone, Debug)]
enum State {
    Holding(Vec<Held>),
    Doubled,
}

/// What passes between two hosts that are not known to be single.
#[derive(Clone, Debug)]
struct Pair {
    state: State,
    recent: VecDeque<Sent>,
    /// Of what the host with the lower address sends, and the other one.
    ways: [Count; 2],
    /// Time within which a double comes.
    within: Nanos,
    /// The latest that one was.
    latest: Nanos,
    /// The packet before was a first one.
    after_first: bool,
}

impl Pair {
    fn new() -> Self {
        Self {
            state: State::Holding(Vec::new()),
            recent: VecDeque::new(),
            ways: [Count::default(); 2],
            within: DOUBLED_WITHIN,
            latest: Nanos(0),
            after_first: false,
        }
    }

    /// What was counted of both ways.
    fn count(&self) -> Count {
        let [mut all, back] = self.ways;
        all.add(back);
        all
    }

    /// Whether the packet is the second one of two.
    fn is_double(&mut self, packet: &Packet, key: Key) -> bool {
        let facts = &packet.facts;
        let (identity, place) = (Identity::of(facts), Outer::of(facts, packet).place());
        let holding = matches!(self.state, State::Holding(_));
        let within = self.within;
        if !holding {
            while self.recent.pop_front_if(|s| !apart(s.at, packet.at, within)).is_some() {}
        }
        let [low, high] = &mut self.ways;
        let (way, other) = if key.src.0 <= key.dst.0 { (low, high) } else { (high, low) };
        let (mut again, mut third, mut pending) = (false, false, 0);
        for first in self.recent.iter_mut().rev().filter(|s| s.key.src == key.src) {
            if first.identity != identity || first.key != key || !first.place.is_beside(place) {
                pending += u32::from(first.proves && !first.closed);
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
                self.latest = self.latest.max(lag);
                way.doubles += 1;
                way.pending = pending;
                way.quick += u32::from(lag <= AT_ONCE);
                way.behind += u32::from(self.after_first);
                way.acks += u32::from(acknowledges(packet));
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
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        let proves = facts.opcode != Opcode::CNP && !asks && !again;
        self.recent.push_back(Sent { key, identity, place, at: packet.at, closed: false, proves });
        way.firsts += u32::from(proves);
        way.pending += u32::from(proves);
        way.third += u32::from(third);
        self.after_first = true;
        false
    }

    /// Whether packets have no double that should have come by `now`, and how many.
    fn lonely(&self, now: Nanos) -> usize {
        let old = self.recent.iter().take_while(|s| !apart(s.at, now, DOUBLED_WITHIN));
        old.filter(|s| s.proves && !s.closed).count()
    }

    /// Whether the doubles among so many packets prove it: of more than a few, all that are due by twice the time that they
    /// take have come, but for some.
    fn proves(&self, held: usize, now: Nanos) -> bool {
        let all = self.count();
        if all.doubles < PROOF {
            return false;
        }
        if held <= SOON && all.nearly_all() {
            return true;
        }
        let both = self.ways.iter().all(|way| way.so_far() && way.doubles >= LEAST);
        let never_sent = all.acks >= PROOF || all.moved * 10 >= all.doubles * 9;
        let due = |s: &&Sent| s.proves && !s.closed && !apart(s.at, now, Nanos(self.latest.0 * 2));
        both && never_sent
            && all.third * 10 <= all.doubles
            && (held <= SOON || self.recent.iter().filter(due).count() as u32 * 9 <= all.doubles)
    }

    /// The verdict, if it can be given by now.
    fn verdict(&self, held: usize, now: Nanos) -> Option<bool> {
        if self.proves(held, now) {
            return Some(true);
        }
        let fruitless = held >= FRUITLESS && self.count().doubles == 0;
        (held >= RECENT || fruitless || self.lonely(now) >= LONELY).then_some(false)
    }
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

type Hosts = (Addr, Addr);

fn hosts(key: &Key) -> Hosts {
    if key.src.0 <= key.dst.0 { (key.src, key.dst) } else { (key.dst, key.src) }
}

/// The pairs of hosts of one shard.
#[derive(Debug, Default)]
pub(crate) struct Doubles {
    /// `None` for those that are known to be single.
    pairs: HashMap<Hosts, Option<Box<Pair>>, FixedState>,
    /// What was counted of those, and of those that gave way.
    singles: Count,
    /// Those whose packets wait, and those that are known, each in the order in which they became so.
    waiting: VecDeque<Hosts>,
    known: VecDeque<Hosts>,
    /// Packets that wait.
    held: usize,
    /// The packet before, where it waits or was left out.
    latest: Option<FrameNo>,
    /// Copies left out.
    pub(crate) copies: u64,
}

impl Doubles {
    /// Whether packets between these hosts come twice.
    pub(crate) fn concern(&self, key: &Key) -> bool {
        let pair = self.pairs.get(&hosts(key)).and_then(Option::as_deref);
        pair.is_some_and(|pair| matches!(pair.state, State::Doubled))
    }

    /// A packet between hosts that are doubled, or not known to be single. Returns whether it is to be taken in now, after
    /// what is `ready`.
    pub(crate) fn sift(&mut self, packet: &Packet, key: Key, ready: &mut Vec<Held>) -> bool {
        self.latest = None;
        let hosts = hosts(&key);
        if self.held >= HELD {
            self.give_up(ready);
        }
        if !self.pairs.contains_key(&hosts) {
            if packet.icrc == Icrc::Bad {
                // Whatever it says may be false.
                return true;
            }
            self.make_room(ready);
            self.waiting.push_back(hosts);
        }
        let slot = self.pairs.entry(hosts).or_insert_with(|| Some(Box::new(Pair::new())));
        let Some(pair) = slot else { return true };
        let double = pair.is_double(packet, key);
        let State::Holding(held) = &mut pair.state else {
            if double {
                self.latest = Some(packet.frame);
                self.copies += u64::from(packet.icrc != Icrc::Bad);
            } else if pair.doubt() {
                self.singles.add(pair.count());
                *slot = None;
            }
            return !double;
        };
        held.push(Held { packet: *packet, message: None, double });
        self.held += 1;
        let all = held.len();
        let verdict = pair.verdict(all, packet.at);
        if let Some(doubled) = verdict {
            ready.extend(pair.release(doubled, &mut self.copies));
            self.held -= all;
            if !doubled {
                self.singles.add(pair.count());
                *slot = None;
            }
            self.waiting.retain(|waiting| *waiting != hosts);
            self.known.push_back(hosts);
        }
        if verdict.is_none() || ready.last().is_none_or(|last| last.packet.frame != packet.frame) {
            self.latest = Some(packet.frame);
        }
        false
    }

    /// Keeps a message with its frame, where that waits or is a copy. Returns whether it does.
    pub(crate) fn keep(&mut self, packet: &Packet, message: &CmMessage) -> bool {
        if self.latest != Some(packet.frame) {
            return false;
        }
        let pair = self.pairs.get_mut(&hosts(&Key::of(&packet.facts))).and_then(Option::as_deref_mut);
        if let Some(State::Holding(held)) = pair.map(|pair| &mut pair.state)
            && let Some(last) = held.last_mut()
        {
            last.message = Some(Box::new(*message));
        }
        true
    }

    /// Gives up the pair that has waited longest.
    fn give_up(&mut self, ready: &mut Vec<Held>) {
        if let Some(mut pair) = self.waiting.pop_front().and_then(|hosts| self.pairs.remove(&hosts)).flatten() {
            self.singles.add(pair.count());
            self.held -= pair.holds();
            ready.extend(pair.release(pair.looks_doubled(), &mut self.copies));
        }
    }

    /// Gives up the oldest of too many pairs.
    fn make_room(&mut self, ready: &mut Vec<Held>) {
        if self.waiting.len() >= WAITING {
            self.give_up(ready);
        }
        if self.known.len() >= KNOWN
            && let Some(oldest) = self.known.pop_front()
        {
            self.pairs.remove(&oldest);
        }
    }

    /// What was counted of all pairs.
    fn count(&self) -> Count {
        let mut all = self.singles;
        self.pairs.values().flatten().for_each(|pair| all.add(pair.count()));
        all
    }

    /// Whether the packets of most hosts of a capture come twice: this tells about those that are seen too briefly.
    pub(crate) fn prevail<'a>(all: impl Iterator<Item = &'a Self>) -> bool {
        let mut sum = Count::default();
        all.for_each(|doubles| sum.add(doubles.count()));
        sum.doubles >= LEAST && sum.nearly_all()
    }

    /// The end: what still waits. `prevail` tells whether the other packets of the capture come twice.
    pub(crate) fn finish(&mut self, prevail: bool) -> Vec<Held> {
        let mut all = Vec::new();
        for hosts in std::mem::take(&mut self.waiting) {
            let Some(slot) = self.pairs.get_mut(&hosts) else { continue };
            let Some(pair) = slot else { continue };
            let doubled = pair.looks_doubled() || prevail && pair.holds() <= SOON && pair.count().nearly_all();
            all.extend(pair.release(doubled, &mut self.copies));
            if !doubled {
                *slot = None;
            }
        }
        all
    }
}

impl Pair {
    fn looks_doubled(&self) -> bool {
        self.count().doubles >= LEAST && self.holds() <= SOON && self.count().nearly_all()
    }

    /// Packets that wait.
    fn holds(&self) -> usize {
        if let State::Holding(held) = &self.state { held.len() } else { 0 }
    }

    /// What waited, without the doubles if it is `doubled`. One that is not has served its time.
    fn release(&mut self, doubled: bool, copies: &mut u64) -> Vec<Held> {
        let State::Holding(mut held) = std::mem::replace(&mut self.state, State::Doubled) else { return Vec::new() };
        if doubled {
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
    fn doubt(&mut self) -> bool {
        let Count { firsts, doubles, .. } = self.count();
        if firsts < 2 * RECENT as u32 {
            return false;
        }
        self.ways = [Count::default(); 2];
        doubles * 4 < firsts * 3
    }
}
