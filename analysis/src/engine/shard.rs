//! The flow table of one virtual shard: every flow between the address pairs that hash here.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use rocetop_parsers::ib::cm::CmMessage;
use rocetop_parsers::ib::opcode::{Opcode, Traits, Transport};
use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Bytes, Nanos};

use crate::engine::Config;
use crate::engine::Focus;
use crate::engine::Grade;
use crate::engine::cm::Cm;
use crate::engine::doubles::{Doubles, Held};
use crate::engine::exchanges::Exchanges;
use crate::engine::lives::Doubt;
use crate::event::Packet;
use crate::flow::habits::is_slot;
use crate::flow::marks::Mark;
use crate::flow::{Flow, Index, Key, NONE};
use crate::story::{Telling, Times};

/// Flows that had to make room, so that the sums stay checkable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Flows.
    pub flows: u64,
    /// Packets that were accounted to them.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
}

impl std::iter::Sum for Evicted {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), |a, b| Self {
            flows: a.flows + b.flows,
            packets: a.packets + b.packets,
            bytes: a.bytes + b.bytes,
        })
    }
}

/// Flows looked at to find the one idle for longest when the table is full.
const SAMPLE: usize = 8;
/// Episodes of a shard beyond the few that every flow may keep: 64 shards keep five megabytes of them.
const ROOM: u32 = 1024;
/// Episodes of a connection in focus: 75 megabytes of them.
const FOCUS_ROOM: u32 = 1 << 20;

/// How stories are told here.
#[derive(Debug)]
struct Stories {
    /// Whether they are.
    on: bool,
    /// The episodes that there is room for beyond each flow's own few.
    room: u32,
    /// The connection that is looked at closely, and the room that it has for itself.
    focus: Option<Focus>,
    focus_room: u32,
}

impl Stories {
    #[inline(always)]
    fn of<'a>(&'a mut self, key: &Key, messages: &'a mut Times) -> Telling<'a> {
        let closely = self.focus.is_some_and(|focus| focus.is_on(key));
        let room = if closely { &mut self.focus_room } else { &mut self.room };
        Telling { on: self.on, messages, room, closely }
    }
}

/// One shard.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) flows: Vec<Flow>,
    free: Vec<Index>,
    keys: HashTable<Index>,
    /// By directed address pair: the first unpaired flow.
    pub(crate) hunts: HashTable<Index>,
    cm: Cm,
    pub(crate) exchanges: Exchanges,
    pub(crate) doubles: Doubles,
    most: usize,
    idle: Option<Nanos>,
    hand: usize,
    /// Some packet had to wait until the next one told what it was, so that others are looked at twice.
    wary: bool,
    /// Those that wait, and those that nothing told of.
    pub(crate) wild: u64,
    /// Connections whose packets wait until it shows whether another life began.
    pub(crate) doubts: Vec<Doubt>,
    /// They are being taken in.
    pub(crate) resolving: bool,
    stories: Stories,
    /// Dropped because the table was full.
    pub(crate) evicted: Evicted,
    /// Dropped because they had been idle for longer than the option allows.
    pub(crate) aged_out: Evicted,
}

const HASH: FixedState = FixedState::with_seed(0);

#[inline(always)]
pub(crate) fn hash_key(key: &Key) -> u64 {
    hash(key.words())
}

pub(crate) fn hash_addresses(key: &Key) -> u64 {
    let [a, b, c, d, _] = key.words();
    hash([a, b, c, d])
}

/// Word by word: as a slice of bytes the same takes twice the time.
#[inline(always)]
fn hash<const N: usize>(words: [u64; N]) -> u64 {
    let mut hasher = HASH.build_hasher();
    for word in words {
        hasher.write_u64(word);
    }
    hasher.finish()
}

impl Shard {
    pub(crate) fn new(most: usize, config: &Config) -> Self {
        Self {
            flows: Vec::new(),
            free: Vec::new(),
            keys: HashTable::new(),
            hunts: HashTable::new(),
            cm: Cm::default(),
            exchanges: Exchanges::default(),
            doubles: Doubles::default(),
            most: most.max(2),
            idle: config.idle,
            hand: 0,
            wary: false,
            wild: 0,
            doubts: Vec::new(),
            resolving: false,
            stories: Stories { on: config.stories, room: ROOM, focus: config.focus, focus_room: FOCUS_ROOM },
            evicted: Evicted::default(),
            aged_out: Evicted::default(),
        }
    }

    /// Takes in a connection management message.
    pub(crate) fn connection_message(&mut self, packet: &Packet, message: &CmMessage, messages: &mut Times) {
        if !self.doubles.keep(packet, message) {
            self.manager(packet, message, messages);
        }
    }

    fn manager(&mut self, packet: &Packet, message: &CmMessage, messages: &mut Times) {
        self.exchanges.message(packet, message);
        let Some(ended) = self.cm.message(Key::of(&packet.facts), message) else { return };
        self.resolve_all(Some(&ended), messages);
        let Some(index) = self.find(&ended) else { return };
        let Some(flow) = self.flows.get_mut(index as usize) else { return };
        flow.ended = true;
        let peer = flow.peer;
        if let Some(peer) = self.flows.get_mut(peer as usize) {
            peer.ended = true;
        }
    }

    /// Adds a packet that carries a BTH.
    #[inline(always)]
    pub(crate) fn packet(&mut self, packet: &Packet, messages: &mut Times) {
        let key = Key::of(&packet.facts);
        let found = self.find(&key);
        if found.and_then(|i| self.flows.get(i as usize)).is_none_or(|flow| flow.doubled | flow.held) {
            self.sift(packet, key, messages);
        } else {
            self.take(packet, key, found, messages);
        }
    }

    /// Takes the packet in, if it need not wait and is no double of another one.
    #[cold]
    fn sift(&mut self, packet: &Packet, key: Key, messages: &mut Times) {
        let mut ready = Vec::new();
        let take = self.doubles.sift(packet, key, &mut ready);
        self.release(ready, messages);
        if take {
            self.admit(packet, key, messages);
        }
    }

    /// Takes in what had to wait.
    pub(crate) fn release(&mut self, ready: Vec<Held>, messages: &mut Times) {
        for Held { packet, message, .. } in ready {
            self.admit(&packet, Key::of(&packet.facts), messages);
            if let Some(message) = message {
                self.manager(&packet, &message, messages);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn take(&mut self, packet: &Packet, key: Key, found: Option<Index>, messages: &mut Times) {
        let traits = packet.facts.opcode.traits();
        if packet.icrc == Icrc::Bad {
            // Whatever it says may be false; a flow is not born of it.
            if let Some(flow) = found.and_then(|i| self.flows.get_mut(i as usize)) {
                flow.marks().add(Mark::BadIcrc, packet);
            }
            return;
        }
        let index = match found {
            Some(index) if packet.icrc == Icrc::Unknown || self.wary => self.believe(index, packet, traits, messages),
            found => found.or_else(|| Some(self.insert(key, packet, 0))),
        };
        if let Some(index) = index {
            self.account(index, packet, traits, messages);
        }
    }

    /// Accounts a packet of a flow, or of the next life of its queue pair.
    #[inline(always)]
    fn account(&mut self, index: Index, packet: &Packet, traits: Traits, messages: &mut Times) {
        let index = if self.another_life(index, packet, traits) {
            self.renew(index, packet)
        } else if self.flows.get(index as usize).is_some_and(|flow| flow.may_jump(packet, traits))
            && !self.resolving
            && self.doubt(index, packet, messages)
        {
            return;
        } else {
            index
        };
        self.add(index, packet, traits, messages);
    }

    /// Looks twice at a packet that no ICRC proves, or that may tell about one. Returns its flow; `None` where it has
    /// to wait for the next one.
    fn believe(&mut self, index: Index, packet: &Packet, traits: Traits, messages: &mut Times) -> Option<Index> {
        let strange = self.is_strange(index, packet, traits);
        let flow = self.flows.get(index as usize)?;
        let (key, peer, lone) = (flow.key, flow.peer, flow.counters.tally.requests == 1);
        let waits = flow.has_strange();
        if !strange && traits.any(Traits::AETH | Traits::RESPONSE) {
            let waited = self.flows.get_mut(peer as usize).and_then(|peer| peer.confirmed_by(packet));
            if let Some(waited) = waited {
                self.wild -= 1;
                self.account(peer, &waited, waited.facts.opcode.traits(), messages);
            }
        }
        if !strange && !waits {
            return Some(index);
        }
        self.wary = true;
        let (take, before) = self.flows.get_mut(index as usize)?.vet(packet, traits, strange);
        self.wild += u64::from(!take);
        if let Some(before) = before {
            self.wild -= 1;
            // Of two that agree and one before them, that one was wild.
            let index = if lone && self.flows.get(index as usize)?.is_far(&before) {
                self.renew(index, &before)
            } else {
                index
            };
            self.account(index, &before, before.facts.opcode.traits(), messages);
            // It told of the one before, but may be wild itself.
            let index = self.find(&key)?;
            let strange = self.is_strange(index, packet, traits);
            let (take, _) = self.flows.get_mut(index as usize)?.vet(packet, traits, strange);
            self.wild += u64::from(!take);
            return take.then_some(index);
        }
        take.then_some(index)
    }

    fn is_strange(&self, index: Index, packet: &Packet, traits: Traits) -> bool {
        let Some(flow) = self.flows.get(index as usize) else { return false };
        flow.is_strange(packet, traits, self.flows.get(flow.peer as usize))
            && self.cm.promised(&flow.key).is_none_or(|p| p.start != packet.facts.psn)
    }

    #[inline(always)]
    fn add(&mut self, index: Index, packet: &Packet, traits: Traits, messages: &mut Times) {
        let i = index as usize;
        let Some(flow) = self.flows.get_mut(i) else { return };
        let mut telling = self.stories.of(&flow.key, &mut *messages);
        let peer = flow.peer;
        if peer != NONE && (packet.facts.opcode == Opcode::CNP || is_slot(&packet.facts)) {
            signal(&mut self.flows, peer, packet);
        }
        let Some(flow) = self.flows.get_mut(i) else { return };
        let tells_peer = traits.any(Traits::AETH | Traits::RESPONSE)
            || !traits.has(Traits::ENDS) && flow.counters.mtu.get() != Some(packet.facts.payload);
        if peer != NONE && tells_peer {
            if let Ok([flow, peer]) = self.flows.get_disjoint_mut([i, peer as usize]) {
                flow.add(packet, traits, Some(peer), &mut telling);
            }
            return;
        }
        flow.add(packet, traits, None, &mut telling);
        // Only a first packet or an answer can tell more than is known.
        let tells = flow.counters.tally.packets == flow.counters.tally.cnps + 1;
        if peer == NONE && (tells || traits.any(Traits::AETH | Traits::RESPONSE)) {
            self.seek(index, packet, traits);
            self.catch_up(index, packet, traits, messages);
        }
    }

    /// The packet that told which flow is the other direction is an answer to it.
    #[cold]
    fn catch_up(&mut self, index: Index, packet: &Packet, traits: Traits, messages: &mut Times) {
        let Some(peer) = self.flows.get(index as usize).map(|f| f.peer).filter(|&p| p != NONE) else { return };
        if let Ok([flow, peer]) = self.flows.get_disjoint_mut([index as usize, peer as usize]) {
            let mut telling = self.stories.of(&flow.key, messages);
            flow.catch_up(packet, traits, peer, &mut telling);
        }
    }

    #[inline(always)]
    pub(crate) fn find(&self, key: &Key) -> Option<Index> {
        self.keys.find(hash_key(key), |&i| self.flows.get(i as usize).is_some_and(|f| f.key == *key)).copied()
    }

    /// The flow of the key is to be found no more.
    fn unlist(&mut self, key: &Key, index: Index) {
        if let Ok(entry) = self.keys.find_entry(hash_key(key), |&i| i == index) {
            entry.remove();
        }
    }

    /// Whether the packet belongs to another life of the flow's QP number.
    #[inline(always)]
    fn another_life(&self, index: Index, packet: &Packet, traits: Traits) -> bool {
        let Some(flow) = self.flows.get(index as usize) else { return false };
        let facts = &packet.facts;
        let transport = facts.opcode.transport();
        flow.orphaned
            || (flow.transport != transport && flow.transport != Transport::Cnp && Flow::tells_transport(facts))
            || flow.begins_anew(packet, traits)
            || (traits.has(Traits::REQUEST | Traits::STARTS)
                && flow.counters.has_requests()
                && self.cm.promised(&flow.key).is_some_and(|p| p.start == facts.psn))
    }

    /// Starts the next epoch of a flow.
    #[cold]
    pub(crate) fn renew(&mut self, index: Index, packet: &Packet) -> Index {
        let Some(old) = self.flows.get_mut(index as usize) else { return NONE };
        let (key, epoch, peer) = (old.key, old.epoch + 1, old.peer);
        old.replaced = true;
        self.unlink(index);
        self.unlist(&key, index);
        if let Some(peer) = self.flows.get_mut(peer as usize) {
            peer.orphaned = !peer.replaced;
        }
        self.insert(key, packet, epoch)
    }

    #[cold]
    fn insert(&mut self, key: Key, packet: &Packet, epoch: u32) -> Index {
        self.sweep(packet.at);
        let mut flow = Flow::new(key, packet.frame, epoch);
        flow.doubled = self.doubles.concern(&key);
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.flows.len() as Index,
        };
        match self.flows.get_mut(index as usize) {
            Some(slot) => *slot = flow,
            None => {
                if self.flows.len() == self.flows.capacity() {
                    // By a quarter: doubling would leave half of a large table empty.
                    self.flows.reserve_exact((self.flows.len() / 4).max(8));
                }
                self.flows.push(flow);
            }
        }
        let flows = &self.flows;
        self.keys.insert_unique(hash_key(&key), index, |&i| flows.get(i as usize).map_or(0, |f| hash_key(&f.key)));
        self.link(index);
        self.fulfil(index);
        index
    }

    /// Makes room: idle flows when they may be aged out, else the longest idle of a sample when the table is full.
    fn sweep(&mut self, now: Nanos) {
        let full = self.flows.len() >= self.most && self.free.is_empty();
        if self.flows.is_empty() || (!full && self.idle.is_none()) {
            return;
        }
        let mut oldest = NONE;
        let mut oldest_at = Nanos(u64::MAX);
        for _ in 0..SAMPLE.min(self.flows.len()) {
            self.hand = (self.hand + 1) % self.flows.len();
            let Some(flow) = self.flows.get(self.hand) else { continue };
            // A slot that is free already has no packets.
            if flow.counters.tally.packets == 0 {
                continue;
            }
            if flow.counters.last < oldest_at {
                (oldest, oldest_at) = (self.hand as Index, flow.counters.last);
            }
        }
        let idle = self.idle.is_some_and(|limit| now.since(oldest_at) > limit);
        if oldest != NONE && (full || idle) {
            self.retire(oldest, idle);
        }
    }

    fn retire(&mut self, index: Index, idle: bool) {
        self.unlink(index);
        let Some(flow) = self.flows.get(index as usize) else { return };
        let (key, peer) = (flow.key, flow.peer);
        let gone = if idle { &mut self.aged_out } else { &mut self.evicted };
        gone.flows += 1;
        gone.packets += flow.counters.tally.packets;
        gone.bytes += flow.counters.tally.bytes;
        let blank = Flow::new(key, flow.first_frame, 0);
        self.unlist(&key, index);
        if let Some(left) = self.flows.get_mut(peer as usize).filter(|p| p.peer == index) {
            (left.peer, left.grade) = (NONE, Grade::Unpaired);
            if !left.replaced {
                self.link(peer);
            }
        }
        if let Some(slot) = self.flows.get_mut(index as usize) {
            *slot = blank;
        }
        self.free.push(index);
    }

    /// Takes in what the CM exchange promised about this flow, and pairs it with the other one it named.
    fn fulfil(&mut self, index: Index) {
        let Some(flow) = self.flows.get_mut(index as usize) else { return };
        let Some(promise) = self.cm.fulfil(&flow.key) else { return };
        flow.learn_mtu(promise.mtu.map(|Bytes(n)| n as u32));
        let other = flow.key.reverse(promise.peer);
        if let Some(peer) = self.find(&other)
            && self.flows.get(peer as usize).is_some_and(|p| p.peer == NONE)
        {
            self.pair(index, peer, Grade::Cm);
        }
    }
}

/// A notification or a clear-to-send slot is meant for the sender at the other end.
#[cold]
fn signal(flows: &mut [Flow], peer: Index, packet: &Packet) {
    let Some(sender) = flows.get_mut(peer as usize) else { return };
    let sent = sender.counters.tally.bytes;
    if packet.facts.opcode == Opcode::CNP {
        sender.habits().notified(packet, sent);
    } else {
        sender.habits().cleared(packet.at);
    }
}
