//! What was lost on the way to each host, and what speaks about the reason.

use std::collections::BTreeMap;

use super::super::Case;
use crate::report::{FlowReport, FrameRef};
use crate::story::report::Kind;
use crate::taps::Told;

/// Moments of loss that are looked at, of all flows to one host (chosen: bounds the work).
const MOMENTS: usize = 4_096;

/// Packets that were lost in a row.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    pub(crate) at: u64,
    pub(crate) packets: u64,
    pub(crate) sender: String,
    pub(crate) frame: Option<FrameRef>,
}

/// One who sends to a host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sender {
    /// Its requests.
    pub(crate) requests: u64,
    /// Those marked CE between this tap and another.
    marked: u64,
}

/// What is known about the way to one host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Way {
    pub(crate) senders: BTreeMap<String, Sender>,
    /// CE marks of what came by here, frames with a bad ICRC, and the CNPs and sequence errors that came back.
    ce: u64,
    pub(crate) icrc_bad: u64,
    pub(crate) cnps: u64,
    pub(crate) naks: u64,
    /// In the order of time, once all is added.
    pub(crate) losses: Vec<Loss>,
    /// From the first packet of these flows to the last.
    span: Option<[u64; 2]>,
}

impl Way {
    /// CE marks, of this tap and behind it.
    pub(crate) fn ce(&self) -> u64 {
        self.ce + self.senders.values().map(|s| s.marked).sum::<u64>()
    }

    pub(crate) fn requests(&self) -> u64 {
        self.senders.values().map(|s| s.requests).sum()
    }

    /// How long requests were sent to this host, in nanoseconds.
    pub(crate) fn lasted(&self) -> u64 {
        self.span.map_or(0, |[from, to]| to.saturating_sub(from))
    }

    /// The requests of a flow, and what is lost of them: where several taps tell, what they tell.
    fn requested(&mut self, flow: &FlowReport, told: Option<&Told>) {
        self.ce += flow.ce;
        self.icrc_bad += u64::from(flow.icrc_bad);
        if flow.requests.packets == 0 {
            return;
        }
        let sender = self.senders.entry(flow.src.clone()).or_default();
        sender.requests += flow.requests.packets;
        sender.marked = sender.marked.max(told.map_or(0, |t| t.marked));
        let [from, to] = self.span.unwrap_or([flow.first_ns, flow.last_ns]);
        self.span = Some([from.min(flow.first_ns), to.max(flow.last_ns)]);
        // A tap before this one saw what is missing here, or saw it getting lost.
        let own = told.is_none_or(|told| !told.before);
        let episodes = flow.story.iter().flat_map(|s| &s.episodes);
        let here = episodes.filter(|e| own && e.kind == Kind::LostBeforeTap);
        let here = here.map(|e| (e.first_ns, e.packets.max(1), e.frames.first().cloned()));
        let between = told.into_iter().flat_map(|t| &t.rows).map(|r| (r.at_ns, r.packets, Some(r.frame.clone())));
        let room = MOMENTS.saturating_sub(self.losses.len());
        let losses = here.chain(between).take(room);
        self.losses.extend(losses.map(|(at, packets, frame)| Loss { at, packets, sender: flow.src.clone(), frame }));
    }
}

/// All ways, by the host that they lead to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways(BTreeMap<String, Way>);

impl Ways {
    pub(crate) fn add(&mut self, case: &Case<'_>) {
        for (flow, _) in case.directions() {
            let told = case.told(flow);
            // A host that nothing is lost to costs nothing, however many there are.
            let lost =
                flow.story.as_ref().is_some_and(|s| !s.episodes.is_empty()) || told.is_some_and(|t| !t.rows.is_empty());
            let signs = flow.ce + flow.cnps + u64::from(flow.icrc_bad) + u64::from(flow.naks.psn_sequence_error);
            if lost || signs != 0 {
                self.0.entry(flow.dst.clone()).or_default().requested(flow, told);
            }
            // What goes back speaks about the way here.
            if flow.cnps != 0 || flow.naks.psn_sequence_error != 0 {
                let back = self.0.entry(flow.src.clone()).or_default();
                back.cnps += flow.cnps;
                back.naks += u64::from(flow.naks.psn_sequence_error);
            }
        }
    }

    /// Each host, with the way there.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&str, Way)> {
        self.0.iter().map(|(host, way)| {
            let mut way = way.clone();
            way.losses.sort_by_key(|l| l.at);
            (host.as_str(), way)
        })
    }
}
