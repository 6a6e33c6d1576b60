//! What a run tells.

use super::{FlowState, State};
use crate::units::{Bytes, Each, Time};

/// How often and how long a priority was paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PauseClock {
    /// Times it was paused.
    pub times: u64,
    /// For how long, but for a pause that still lasts.
    pub total: Time,
    /// When the last pause began.
    pub since: Time,
}

/// What a port has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Frames that left.
    pub frames: u64,
    /// Bytes that left, preambles and gaps included.
    pub bytes: u64,
    /// Packets that it marked CE on their way out.
    pub marks: u64,
    /// Packets that came in by it and found no room.
    pub drops: u64,
    /// Pauses that it obeyed.
    pub pause: Each<PauseClock>,
}

/// What happened in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Totals {
    /// Frames that crossed a cable, PFC frames left out.
    pub hops: u64,
    /// Payload that receivers took, each byte once.
    pub delivered: Bytes,
    /// Flows that arrived and are acknowledged.
    pub done: u64,
    /// Flows whose queue pair broke.
    pub failed: u64,
    /// Packets marked CE.
    pub marks: u64,
    /// Packets that found no room.
    pub drops: u64,
    /// Times a priority was told to stop.
    pub pauses: u64,
    /// CNPs that reached their sender.
    pub cnps: u64,
    /// NAKs that were sent.
    pub naks: u64,
    /// Packets that came before one that should have come first.
    pub out_of_order: u64,
    /// Packets that were sent again.
    pub resent: u64,
    /// Retransmission timers that ran out.
    pub timeouts: u64,
}

impl State {
    pub(crate) fn totals(&self) -> Totals {
        Totals {
            hops: self.hops,
            delivered: Bytes(self.delivered),
            done: self.done as u64,
            failed: self.failed as u64,
            marks: self.counters.rows().iter().map(|port| port.marks).sum(),
            ..self.count
        }
    }
}

/// What became of a flow. Times are of the run; `None` for what has not happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowResult {
    /// When it could begin to send.
    pub started: Option<Time>,
    /// When its last byte had arrived.
    pub delivered: Option<Time>,
    /// When its sender knew.
    pub acked: Option<Time>,
    /// Packets that were sent again.
    pub resent: u32,
    /// Whether its queue pair broke.
    pub failed: bool,
}

impl FlowResult {
    pub(crate) fn of(flow: &FlowState) -> Self {
        let some = |time: Time| (time != Time::NEVER).then_some(time);
        Self {
            started: flow.seen.then_some(flow.started),
            delivered: some(flow.delivered),
            acked: some(flow.acked),
            resent: flow.resent,
            failed: flow.failed,
        }
    }

    /// From its start to the arrival of its last byte.
    #[must_use]
    pub fn duration(&self) -> Option<Time> {
        Some(self.delivered?.since(self.started?))
    }
}
