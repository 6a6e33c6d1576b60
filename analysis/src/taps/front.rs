//! One tap: when it was capturing, and its packets without those that the capture shows twice.

use std::collections::HashMap;

use rocetop_parsers::{Addr, Nanos};

use crate::engine::doubles::Doubles;
use crate::engine::{SHARDS, shard_of};
use crate::event::Packet;
use crate::flow::Key;
use crate::taps::sight::stamp;

/// First and last time stamp of a capture, all frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Default for Span {
    fn default() -> Self {
        Self { first: i64::MAX, last: i64::MIN }
    }
}

impl Span {
    pub(super) fn is_empty(&self) -> bool {
        self.first > self.last
    }

    pub(super) fn add(&mut self, at: Nanos) {
        let at = stamp(at);
        self.first = self.first.min(at);
        self.last = self.last.max(at);
    }
}

/// One tap. What is a double is found out as the engine does, which is apart.
#[derive(Debug, Default)]
pub(super) struct Front {
    pub(super) span: Span,
    doubles: Vec<Doubles>,
    /// By direction, packets that went in and did not come out: those that wait, and the doubles.
    within: HashMap<(Addr, Addr), u64>,
}

impl Front {
    /// A packet. What may be matched now goes into `ready`: it, and others that had to wait until it showed what they
    /// are.
    pub(super) fn sift(&mut self, packet: &Packet, ready: &mut Vec<Packet>) {
        let key = Key::of(&packet.facts);
        if self.doubles.is_empty() {
            self.doubles = (0..SHARDS).map(|_| Doubles::default()).collect();
        }
        let Some(doubles) = self.doubles.get_mut(shard_of(key.src, key.dst)) else { return };
        let mut released = Vec::new();
        let take = doubles.sift(packet, key, &mut released);
        if !take {
            *self.within.entry((key.src, key.dst)).or_default() += 1;
        }
        for held in released {
            self.come_out(&held.packet);
            ready.push(held.packet);
        }
        if take {
            ready.push(*packet);
        }
    }

    /// The end: what still waits.
    pub(super) fn finish(&mut self) -> Vec<Packet> {
        let prevail = Doubles::prevail(self.doubles.iter());
        let rest: Vec<Packet> =
            self.doubles.iter_mut().flat_map(|doubles| doubles.finish(prevail)).map(|held| held.packet).collect();
        rest.iter().for_each(|packet| self.come_out(packet));
        rest
    }

    fn come_out(&mut self, packet: &Packet) {
        let way = (packet.facts.src, packet.facts.dst);
        if let Some(count) = self.within.get_mut(&way) {
            *count -= 1;
            if *count == 0 {
                self.within.remove(&way);
            }
        }
    }

    /// At the end, the doubles of a direction.
    pub(super) fn doubles(&self, src: Addr, dst: Addr) -> u64 {
        self.within.get(&(src, dst)).copied().unwrap_or_default()
    }
}
