//! What a run came to so far, while packets still come: the few sums that a line a second shows.

use rocetop_parsers::fold::Tally;

use crate::engine::Engine;
use crate::engine::shard::Shard;
use crate::flow::Flow;
use crate::flow::copies::Mirrored;

/// Running sums over all flows. What copies add is taken off, as far as they are known for copies by now.
///
/// They grow, with three exceptions: two flows that turn out to be one connection count once, packets that turn out to
/// be copies do not count any more, and a flow that makes room takes its sums along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// Connections; a flow without a peer is one.
    pub connections: u64,
    /// NAKs that are no receiver-not-ready NAKs.
    pub naks: u64,
    /// Receiver-not-ready NAKs.
    pub rnr_naks: u64,
    /// Requests and responses that were here before; `None` where flows come counted, and nobody knows.
    pub seen_again: Option<u64>,
    /// Times that PSNs were skipped, in requests and in responses.
    pub gaps: u64,
}

impl Engine {
    /// What it came to so far. Costs a look at every flow.
    #[must_use]
    pub fn pulse(&self) -> Pulse {
        if let Some(counts) = self.counts() {
            return counts.pulse();
        }
        let mut pulse = Pulse { seen_again: Some(0), ..Pulse::default() };
        let mirrored = self.mirrored();
        self.shards().iter().for_each(|shard| pulse.add(shard, mirrored));
        pulse
    }
}

impl Engine {
    /// What the flows that are seen at two places tell of the capture.
    pub(crate) fn mirrored(&self) -> Mirrored {
        let mut mirrored = Mirrored::default();
        let flows = self.shards().iter().flat_map(|shard| &shard.flows);
        flows.filter_map(Flow::copies).for_each(|copies| mirrored.add(copies));
        mirrored
    }
}

impl Pulse {
    fn add(&mut self, shard: &Shard, mirrored: Mirrored) {
        let mut halves = 0;
        for (index, flow) in (0..).zip(&shard.flows).filter(|(_, f)| f.counters.tally.packets != 0) {
            let peer = shard.flows.get(flow.peer as usize);
            let copies = flow.mirrored(peer, mirrored);
            let (all, off) = (&flow.counters.tally, &copies.tally);
            // A peer that has moved on to another life does not point back.
            halves += if peer.is_some_and(|p| p.peer == index) { 1 } else { 2 };
            let naks = |t: &Tally| t.naks.iter().map(|&n| u64::from(n)).sum::<u64>() + u64::from(t.naks_other);
            self.naks += naks(all) - naks(off);
            self.rnr_naks += u64::from(all.rnr_naks - off.rnr_naks);
            let mut again = u64::from(flow.seen_again) - copies.again;
            self.gaps += u64::from(flow.counters.gaps);
            if let Some(responses) = flow.reads.responses() {
                again += responses.seen_again - copies.responses_again;
                self.gaps += responses.gaps;
            }
            self.seen_again = self.seen_again.map(|sum| sum + again);
        }
        self.connections += halves / 2;
    }
}
