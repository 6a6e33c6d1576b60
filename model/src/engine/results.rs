//! What a run tells.

use super::{FlowState, State};
use crate::observe::Turn;
use crate::table::{Table, id};
use crate::topology::PortId;
use crate::units::{Bytes, Each, Priorities, Priority, Time};

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
    /// CNPs that its switch made for packets on their way out by it.
    pub cnps: u64,
    /// Packets that came in by it and found no room.
    pub drops: u64,
    /// Frames that a cut or a bit error kept from coming in by it.
    pub broken: u64,
    /// Pauses that it obeyed.
    pub pause: Each<PauseClock>,
}

/// What a port counts beside its frames.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) marks: u64,
    pub(crate) cnps: u64,
    pub(crate) drops: u64,
    pub(crate) broken: u64,
}

id! {
    /// A port's clock of one lossless priority.
    RowId
}

/// Pause clocks: only lossless priorities are ever paused, and only they have one.
#[derive(Clone, Debug)]
pub(crate) struct Pauses {
    lossless: Priorities,
    /// Every turn, where somebody wants to know.
    pub(crate) turns: Option<Vec<Turn>>,
    clocks: Table<RowId, PauseClock>,
}

impl Pauses {
    pub(crate) fn new(lossless: Priorities, ports: usize) -> Self {
        let each = lossless.0.count_ones() as usize;
        Self { lossless, turns: None, clocks: Table::filled(PauseClock::default(), ports * each) }
    }

    /// The clock of a port and priority.
    fn row(&self, port: PortId, priority: Priority) -> Option<RowId> {
        let below = (self.lossless.0 & (priority.bit() - 1)).count_ones();
        self.lossless.has(priority).then(|| RowId(port.0 * self.lossless.0.count_ones() + below))
    }

    /// A priority of a port has been stopped, or let go.
    pub(crate) fn turn(&mut self, port: PortId, priority: Priority, stopped: bool, now: Time) {
        let Some(row) = self.row(port, priority) else { return };
        if let Some(turns) = &mut self.turns {
            turns.push(Turn { at: now, port, priority, stopped });
        }
        let clock = &mut self.clocks[row];
        if stopped {
            clock.since = now;
            clock.times += 1;
        } else {
            clock.total += now.since(clock.since);
        }
    }
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
    /// Frames that cuts and bit errors took.
    pub broken: u64,
    /// Times a priority was told to stop.
    pub pauses: u64,
    /// Circles of paused queues that closed.
    pub deadlocks: u64,
    /// CNPs that reached their sender.
    pub cnps: u64,
    /// NAKs that were sent for receivers that were not ready.
    pub not_ready: u64,
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
    pub(crate) fn counters(&self, id: PortId) -> Counters {
        let (port, tally) = (&self.ports[id], self.counters[id]);
        let mut pause = Each::default();
        for priority in self.pauses.lossless.iter() {
            if let Some(row) = self.pauses.row(id, priority) {
                pause[priority] = self.pauses.clocks[row];
            }
        }
        Counters {
            frames: port.frames,
            bytes: port.sent,
            marks: tally.marks,
            cnps: tally.cnps,
            drops: tally.drops,
            broken: tally.broken,
            pause,
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        Totals {
            hops: self.hops,
            delivered: Bytes(self.delivered),
            done: self.done as u64,
            failed: self.failed as u64,
            deadlocks: self.deadlocks.found().len() as u64,
            broken: self.counters.rows().iter().map(|port| port.broken).sum(),
            marks: self.counters.rows().iter().map(|port| port.marks).sum(),
            ..self.count
        }
    }
}

/// Why a queue pair broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing was acknowledged for so many time-outs in a row (IBTA: transport retry exceeded).
    Retries,
    /// The receiver was not ready so many times in a row (IBTA 9.7.5.2.8: RNR retry exceeded).
    NotReady,
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
    /// Packets that arrived with a CE mark, repeats included.
    pub marked: u32,
    /// CNPs that they were answered with.
    pub cnps: u32,
    /// Why its queue pair broke, if it did.
    pub failed: Option<Failure>,
}

impl FlowResult {
    pub(crate) fn of(flow: &FlowState) -> Self {
        let some = |time: Time| (time != Time::NEVER).then_some(time);
        Self {
            started: flow.seen.then_some(flow.started),
            delivered: some(flow.delivered),
            acked: some(flow.acked),
            resent: flow.resent,
            marked: flow.marked,
            cnps: flow.cnps,
            failed: flow.failed,
        }
    }

    /// From its start to the arrival of its last byte.
    #[must_use]
    pub fn duration(&self) -> Option<Time> {
        Some(self.delivered?.since(self.started?))
    }
}
