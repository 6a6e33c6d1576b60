//! The engine: packets in, flows and sums out.
//!
//! Always 64 virtual shards by the unordered pair of addresses, each with a 64th of the table. A thread takes some of
//! the shards and gets their packets alone; [`Engine::merge`] puts the parts together. So one thread and many compute
//! the same thing.

mod cm;
pub(crate) mod doubles;
pub mod exchanges;
mod focus;
mod hunt;
mod lives;
pub(crate) mod pairing;
pub(crate) mod shard;

pub use focus::Focus;
pub use pairing::Grade;
pub use shard::Evicted;

use rocetop_parsers::facts::Class;
use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Addr, Bytes, Detail, Facts, Nanos};

use crate::counted::Counts;
use crate::engine::doubles::Doubles;
use crate::engine::shard::Shard;
use crate::event::Packet;
use crate::flow::Flow;
use crate::story::Times;
use crate::story::report::Spread;
use crate::totals::Totals;
use crate::totals::mix::Mix;
use crate::totals::pauses::Pauses;

/// Virtual shards.
pub const SHARDS: usize = u64::BITS as usize;

/// Bounds of the engine.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Flows kept at most, a 64th of them for the address pairs of each shard. A flow takes some 350 bytes, and up to
    /// 4 kB where it has as many holes, READs and copies as are remembered, and rare things to tell.
    pub most_flows: usize,
    /// Flows idle for longer than this make room for new ones; `None` keeps them.
    pub idle: Option<Nanos>,
    /// Whether stories are told: what was lost, why it was sent again, how long it took. Counts need none.
    pub stories: bool,
    /// Whether flows come counted, from a kernel, and not as packets. Then there are no stories, whatever is wished.
    pub counted: bool,
    /// The connection that a second pass looks at closely.
    pub focus: Option<Focus>,
}

impl Default for Config {
    fn default() -> Self {
        // A bit over a million: four hundred megabytes in a flood of single packets.
        Self { most_flows: 1 << 20, idle: None, stories: true, counted: false, focus: None }
    }
}

/// What one vantage point saw.
#[derive(Debug)]
pub struct Engine {
    shards: Vec<Shard>,
    totals: Totals,
    pauses: Pauses,
    mix: Mix,
    /// Times of all messages.
    messages: Times,
    /// Whether stories are told.
    tells: bool,
    /// Flows that were counted elsewhere; `None` where packets come.
    counts: Option<Counts>,
    /// The shards that are this part's, one bit each.
    owned: u64,
}

impl Engine {
    /// An engine for every shard.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self::part(config, 0, 1)
    }

    /// The part of an engine that one of `parts` threads computes.
    #[must_use]
    pub fn part(config: Config, part: usize, parts: usize) -> Self {
        let most = config.most_flows / SHARDS;
        let parts = parts.max(1);
        Self {
            shards: (0..SHARDS).map(|_| Shard::new(most, &config)).collect(),
            totals: Totals::default(),
            pauses: Pauses::default(),
            mix: Mix::default(),
            messages: Times::default(),
            tells: config.stories && !config.counted,
            counts: config.counted.then(|| Counts::new(config.most_flows)),
            owned: (0..SHARDS).filter(|shard| shard % parts == part).fold(0, |all, shard| all | 1 << shard),
        }
    }

    /// The part, of `parts`, that must account a frame: packets with a BTH all go where their addresses do, and
    /// pause frames, which have none, all to one part, in their order. `None` where any part will do.
    #[inline(always)]
    #[must_use]
    pub fn part_of(facts: &Facts, parts: usize) -> Option<usize> {
        (facts.is_rdma() || facts.class == Class::Pause).then(|| shard_of(facts.src, facts.dst) % parts.max(1))
    }

    /// Adds a frame that is this part's, or anybody's.
    #[inline(always)]
    pub fn packet(&mut self, packet: &Packet) {
        self.totals.add(packet);
        if packet.facts.is_rdma() {
            if let Some(shard) = self.shards.get_mut(shard_of(packet.facts.src, packet.facts.dst)) {
                shard.packet(packet, &mut self.messages);
            }
        } else if packet.facts.class == Class::Other {
            self.mix.add(packet);
        }
    }

    /// Adds what a frame carries beside its facts, after the frame itself.
    pub fn detail(&mut self, packet: &Packet, detail: &Detail) {
        match detail {
            Detail::Cm(message) if packet.icrc != Icrc::Bad => {
                if let Some(shard) = self.shards.get_mut(shard_of(packet.facts.src, packet.facts.dst)) {
                    shard.connection_message(packet, message, &mut self.messages);
                }
            }
            Detail::Cm(_) => {}
            Detail::Pause(pause) => self.pauses.add(packet, pause),
        }
    }

    /// Adds a frame that could not be read. Any part will do.
    pub fn undecodable(&mut self, wire: Bytes) {
        self.totals.undecodable(wire);
    }

    /// Puts the parts of one run together and settles what needs the whole of it.
    #[must_use]
    pub fn merge(parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        let mut whole = parts.next().unwrap_or_else(|| Self::new(Config::default()));
        for part in parts {
            whole.totals.merge(&part.totals);
            whole.mix.merge(&part.mix);
            whole.pauses.merge(part.pauses);
            whole.messages.merge(&part.messages);
            for (index, shard) in part.shards.into_iter().enumerate() {
                if part.owned >> index & 1 == 1
                    && let Some(slot) = whole.shards.get_mut(index)
                {
                    *slot = shard;
                }
            }
        }
        whole.owned = u64::MAX;
        let prevail = Doubles::prevail(whole.shards.iter().map(|shard| &shard.doubles));
        for shard in &mut whole.shards {
            let rest = shard.doubles.finish(prevail);
            shard.release(rest, &mut whole.messages);
            shard.resolve_all(None, &mut whole.messages);
            shard.flows.iter_mut().for_each(Flow::give_up);
            shard.settle();
        }
        whole
    }

    /// Takes over what a second pass over the same packets, merged too, tells of the connection in focus.
    pub fn look_closer(&mut self, focus: &Focus, second: Self) {
        let index = focus.shard();
        if let Some((slot, shard)) = self.shards.get_mut(index).zip(second.shards.into_iter().nth(index)) {
            *slot = shard;
        }
    }

    /// Sums over all frames.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Times of all messages, from the first packet to the answer.
    #[must_use]
    pub fn messages(&self) -> Spread {
        self.messages.spread()
    }

    /// Flows that had to make room because the table was full.
    #[must_use]
    pub fn evicted(&self) -> Evicted {
        self.shards.iter().map(|s| s.evicted).chain(self.counts.as_ref().map(Counts::evicted)).sum()
    }

    /// Flows that made room because they had been idle for too long.
    #[must_use]
    pub fn aged_out(&self) -> Evicted {
        self.shards.iter().map(|s| s.aged_out).sum()
    }

    pub(crate) fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    pub(crate) fn mix(&self) -> &Mix {
        &self.mix
    }

    /// Whether flows come counted.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.counts.is_some()
    }

    pub(crate) fn counts(&self) -> Option<&Counts> {
        self.counts.as_ref()
    }

    pub(crate) fn counts_mut(&mut self) -> Option<&mut Counts> {
        self.counts.as_mut()
    }

    pub(crate) fn totals_mut(&mut self) -> &mut Totals {
        &mut self.totals
    }

    pub(crate) fn tells(&self) -> bool {
        self.tells
    }

    pub(crate) fn shards(&self) -> &[Shard] {
        &self.shards
    }
}

/// The shard of a frame: the same for both directions of a pair of addresses, 0 for a frame without any.
#[inline(always)]
pub(crate) fn shard_of(src: Addr, dst: Addr) -> usize {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let half = |addr: Addr| {
        let n = u128::from_le_bytes(addr.0);
        let folded = n as u64 ^ ((n >> 64) as u64).rotate_left(29);
        let mixed = folded.wrapping_mul(MIX);
        mixed ^ mixed >> 32
    };
    // A sum does not know its order.
    let sum = half(src).wrapping_add(half(dst));
    (sum.wrapping_mul(MIX) >> 58) as usize
}
