//! Doubles: captures that hold every frame twice, as two mirror ports in one file do, or a bridge and its port.
//!
//! Owns: which pairs of hosts are doubled, and what is held back until that is known. What a copy is where the two differ
//! in TTL, VLAN, tunnel or interface is told flow by flow, in `copies`; here the second one looks like the first.
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

/// Time within which a capture delivers the double of a frame that looks exactly the same. A network card's or bridge's
/// double is microseconds apart; a sender's repeat waits at least a round trip.
pub(crate) const DOUBLED_WITHIN: Nanos = Nanos(100_000);
/// Packets of a pair of hosts among which a double is looked for: at line rate it comes between those that follow.
const RECENT: usize = 64;
/// Packets without a double that prove a pair not to be doubled; a few doubles may be missing.
const LONELY: usize = 4;
/// Doubles that prove a pair to be doubled.
const PROOF: u32 = 16;
/// Doubles that prove it where the capture ends before there are more: two of a request and two of its answer may be
/// the network's, whose responder answers each.
const LEAST: u32 = 4;
/// Pairs of hosts of a shard whose packets wait; the oldest give way, and are taken for what they look like.
const WAITING: usize = 64;
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
    /// Notifications are all alike, and prove nothing.
    proves: bool,
}

/// How many packets were first ones and doubles.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    firsts: u32,
    doubles: u32,
    /// Doubles right behind a first packet. A sender that goes back repeats a train.
    behind: u32,
}

impl Count {
    /// Nine in ten have a double, and most doubles come between first packets.
    fn nearly_all(self) -> bool {
        self.doubles * 10 >= self.firsts * 9 && self.behind * 2 >= self.firsts
    }

    fn add(&mut self, other: Self) {
        self.firsts += other.firsts;
        self.doubles += other.doubles;
        self.behind += other.behind;
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
    count: Count,
    /// The packet before was a first one.
    after_first: bool,
}

impl Pair {
    fn new() -> Self {
        Self { state: State::Holding(Vec::new()), recent: VecDeque::new(), count: Count::default(), after_first: false }
    }

    /// Whether the packet is the second one of two.
    fn is_double(&mut self, packet: &Packet, key: Key) -> bool {
        let facts = &packet.facts;
        let (identity, place) = (Identity::of(facts), Outer::of(facts, packet).place());
        let proves = facts.opcode != Opcode::CNP;
        let same = |s: &&mut Sent| {
            !s.closed && s.identity == identity && s.key == key && s.place == place && apart(s.at, packet.at)
        };
        if let Some(first) = self.recent.iter_mut().rev().find(same) {
            first.closed = true;
            self.count.doubles += u32::from(proves);
            self.count.behind += u32::from(proves && self.after_first);
            self.after_first = false;
            return true;
        }
        if asks_again(packet) && matches!(self.state, State::Holding(_)) {
            // What is sent again now was asked for. Where doubles are known to come, each packet has its own.
            self.recent.iter_mut().filter(|s| s.key.src != key.src).for_each(|s| s.closed = true);
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Sent { key, identity, place, at: packet.at, closed: false, proves });
        self.count.firsts += u32::from(proves);
        self.after_first = true;
        false
    }

    /// Packets whose double should have come by `now`.
    fn lonely(&self, now: Nanos) -> usize {
        let later = |s: &Sent| s.proves && !s.closed && !apart(s.at, now);
        self.recent.iter().filter(|s| later(s)).count()
    }

    /// The verdict, if it can be given by now.
    fn verdict(&self, held: usize, now: Nanos) -> Option<bool> {
        if self.count.doubles >= PROOF && self.count.nearly_all() {
            return Some(true);
        }
        (held >= RECENT || self.lonely(now) >= LONELY).then_some(false)
    }
}

/// Whether two stamps are no further apart than those of doubles. Clocks may go back.
fn apart(a: Nanos, b: Nanos) -> bool {
    a.0.abs_diff(b.0) <= DOUBLED_WITHIN.0
}

/// A NAK of any kind.
fn asks_again(packet: &Packet) -> bool {
    let facts = &packet.facts;
    let answers = facts.opcode.traits().has(Traits::AETH) && !facts.opcode.traits().has(Traits::RESPONSE);
    answers && matches!(facts.aeth.syndrome(), Syndrome::Nak(_) | Syndrome::RnrNak(_))
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
                self.singles.add(pair.count);
                *slot = None;
            }
            return !double;
        };
        held.push(Held { packet: *packet, message: None, double });
        let all = held.len();
        let verdict = pair.verdict(all, packet.at);
        if let Some(doubled) = verdict {
            ready.extend(pair.release(doubled, &mut self.copies));
            if !doubled {
                self.singles.add(pair.count);
                *slot = None;
            }
            self.waiting.retain(|waiting| *waiting != hosts);
            self.known.push_back(hosts);
        }
        if verdict.is_none_or(|doubled| doubled && double) {
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

    /// Gives up the oldest of too many pairs.
    fn make_room(&mut self, ready: &mut Vec<Held>) {
        if self.waiting.len() >= WAITING
            && let Some(mut pair) = self.waiting.pop_front().and_then(|hosts| self.pairs.remove(&hosts)).flatten()
        {
            self.singles.add(pair.count);
            ready.extend(pair.release(pair.looks_doubled(), &mut self.copies));
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
        self.pairs.values().flatten().for_each(|pair| all.add(pair.count));
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
            let doubled = pair.looks_doubled() || prevail && pair.count.nearly_all();
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
        self.count.doubles >= LEAST && self.count.nearly_all()
    }

    /// What waited, without the doubles if it is `doubled`. One that is not has served its time.
    fn release(&mut self, doubled: bool, copies: &mut u64) -> Vec<Held> {
        let State::Holding(mut held) = std::mem::replace(&mut self.state, State::Doubled) else { return Vec::new() };
        if doubled {
            // Damaged ones are counted as such.
            *copies += held.iter().filter(|h| h.double && h.packet.icrc != Icrc::Bad).count() as u64;
            held.retain(|h| !h.double);
        }
        held
    }

    /// A packet of a doubled pair that is a first one: whether there were no doubles to most of the latest.
    fn doubt(&mut self) -> bool {
        let Count { firsts, doubles, behind } = self.count;
        if firsts < 2 * RECENT as u32 {
            return false;
        }
        self.count = Count { firsts: firsts / 2, doubles: doubles / 2, behind: behind / 2 };
        doubles * 4 < firsts * 3
    }
}
