//! The packets of some connections, known again when a capture is read a second time.

use std::collections::HashMap;

use rocetop_parsers::{Facts, Nanos};

use crate::flow::{Flow, Key};

/// From the first packet of a flow to its last.
type Span = (Nanos, Nanos);

/// Some flows, each with its time: a queue pair number may have been another's before and after.
#[derive(Clone, Debug, Default)]
pub struct Members {
    spans: HashMap<Key, Vec<Span>>,
}

impl Members {
    pub(crate) fn add(&mut self, flow: &Flow) {
        self.spans.entry(flow.key).or_default().push((flow.counters.first, flow.counters.last));
    }

    /// Whether a packet is one of theirs.
    #[must_use]
    pub fn have(&self, facts: &Facts, at: Nanos) -> bool {
        let within = |&(first, last): &Span| first <= at && at <= last;
        facts.is_rdma() && self.spans.get(&Key::of(facts)).is_some_and(|spans| spans.iter().any(within))
    }
}
