//! Doubles: captures that hold every frame twice, as two mirror ports in one file do, or a bridge and its port.
//!
//! Owns: which pairs of hosts are doubled, and what is held back until that is known. What a copy is where the two
//! differ in TTL, VLAN or tunnel is told flow by flow, in `flow::mirror`; here the second one looks like the first, at
//! the same interface or another one.
//!
//! A story cannot take back what it was told, so the first packets of a pair of hosts wait until it shows whether they
//! come twice: four that do not are enough to say no. From then on a second one is left out before anybody counts it.
//! A packet has one double at most: a sender's repeat and its own double are two packets of their own.

mod pair;

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use rocetop_parsers::Addr;
use rocetop_parsers::ib::cm::CmMessage;
use rocetop_parsers::icrc::Icrc;

pub(crate) use self::pair::{AT_ONCE, Held};
use self::pair::{BOTH, Count, LEAST, NEITHER, Pair, SOON, State};
use crate::event::{FrameNo, Packet};
use crate::flow::Key;

/// Pairs of hosts of a shard whose packets wait; the oldest give way, and are taken for what they look like.
const WAITING: usize = 64;
/// Packets of a shard that wait, at most; the pair that has waited longest gives way as well.
const HELD: usize = 4096;
/// Pairs remembered once it is known; of the oldest it is found out anew.
const KNOWN: usize = 4096;

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
        pair.is_some_and(|pair| matches!(pair.state, State::Doubled(_)))
    }

    /// A packet between hosts that are doubled, or not known to be single. Returns whether it is to be taken in now,
    /// after what is `ready`.
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
            if doubled == NEITHER {
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
            let mut doubled = pair.looks_doubled();
            if prevail && pair.holds() <= SOON && pair.count().nearly_all() {
                doubled = BOTH;
            }
            all.extend(pair.release(doubled, &mut self.copies));
            if doubled == NEITHER {
                *slot = None;
            }
        }
        all
    }
}
