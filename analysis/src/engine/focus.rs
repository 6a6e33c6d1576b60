//! A connection that a second pass over the same packets looks at closely: every episode, and exact percentiles.
//!
//! A first pass does not know which of a million flows somebody will ask for, and keeps a few episodes of each. Who has
//! asked can have the packets read again, and the shard of that connection told anew.

use rocetop_parsers::Facts;

use crate::engine::shard_of;
use crate::flow::Key;

/// A connection in focus: all lives of both its queue pair numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Focus {
    /// The way there and the way back; twice the same where only one was seen.
    keys: [Key; 2],
}

impl Focus {
    pub(crate) fn on(flow: Key, peer: Option<Key>) -> Self {
        Self { keys: [flow, peer.unwrap_or(flow)] }
    }

    /// Whether a packet can have a part in the story: all of its shard have, since one pairs with another. What does
    /// not need not be fed.
    #[must_use]
    pub fn concerns(&self, facts: &Facts) -> bool {
        facts.is_rdma() && shard_of(facts.src, facts.dst) == self.shard()
    }

    pub(crate) fn shard(&self) -> usize {
        let [Key { src, dst, .. }, _] = self.keys;
        shard_of(src, dst)
    }

    #[inline(always)]
    pub(crate) fn is_on(&self, key: &Key) -> bool {
        self.keys.contains(key)
    }
}
