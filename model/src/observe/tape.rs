//! Taps: every frame that passes one end of a cable, in both directions.

use rocetop_parsers::Facts;
use rocetop_parsers::link::pause::Pause;

use crate::engine::packet::{PacketId, QpId, What};
use crate::engine::{Simulation, State};
use crate::topology::PortId;
use crate::units::{Priority, Time};
use crate::workload::FlowId;

/// A frame that a tap saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When its last bit passed the tap.
    pub at: Time,
    /// The port that the tap stands at.
    pub tap: PortId,
    /// The port that sent it: the tap's own, or the one at the other end of its cable.
    pub from: PortId,
    /// What `dissect` would say of it.
    pub facts: Facts,
    /// What a PFC frame says.
    pub pause: Option<Pause>,
    /// Bytes of the frame as captures count them: without the FCS.
    pub wire_len: u32,
}

/// What a frame is, of those that a capture can have: credits belong to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    Data,
    Last,
    Ack,
    Nak,
    NotReady,
    Cnp,
    Pause,
}

impl Frame {
    const fn of(what: What) -> Option<Self> {
        Some(match what {
            What::Data => Self::Data,
            What::Last => Self::Last,
            What::Ack => Self::Ack,
            What::Nak => Self::Nak,
            What::NotReady => Self::NotReady,
            What::Cnp => Self::Cnp,
            What::Pause => Self::Pause,
            What::Credit => return None,
        })
    }
}

/// A frame as it is kept until somebody takes it: what the packet's row will be used for again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) at: Time,
    pub(super) tap: PortId,
    pub(super) from: PortId,
    pub(super) qp: QpId,
    pub(super) flow: FlowId,
    pub(super) seq: u32,
    pub(super) payload: u32,
    pub(super) msn: u32,
    pub(super) what: Frame,
    pub(super) priority: Priority,
    pub(super) marked: bool,
    /// It asks for an ACK of its own.
    pub(super) asks: bool,
}

/// What taps have seen and nobody has taken yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape {
    /// Whether there is any tap.
    pub(crate) on: bool,
    seen: Vec<Record>,
}

impl State {
    /// A tapped port has sent or received a frame.
    #[cold]
    pub(crate) fn see(&mut self, tap: PortId, from: PortId, id: PacketId, at: Time) {
        let record = self.record(tap, from, id, at);
        self.tape.seen.extend(record);
    }

    fn record(&self, tap: PortId, from: PortId, id: PacketId, at: Time) -> Option<Record> {
        let packet = &self.packets[id];
        let what = Frame::of(packet.what)?;
        Some(Record {
            at,
            tap,
            from,
            qp: packet.qp,
            flow: packet.flow,
            seq: packet.seq,
            payload: packet.payload,
            msn: packet.msn,
            what,
            priority: packet.priority,
            // In a CNP it is the tier of the mark that it tells of.
            marked: packet.marked > 0 && what != Frame::Cnp,
            asks: packet.asks,
        })
    }
}

impl Simulation {
    /// Puts a tap at `port`'s end of its cable, before anything has been sent: frames of both directions are kept until
    /// [`Simulation::seen`] takes them.
    pub fn tap(&mut self, port: PortId) {
        self.state.tape.on = true;
        self.state.ports[port].tapped = true;
    }

    /// Hands over what the taps have seen up to now, in the order of time.
    pub fn seen(&mut self, mut each: impl FnMut(&Seen)) {
        let mut records = std::mem::take(&mut self.state.tape.seen);
        // A frame is written down when its sending begins, and passes the tap when it ends.
        records.sort_by_key(|record| record.at);
        let passed = records.partition_point(|record| record.at <= self.state.now);
        for record in records.drain(..passed) {
            each(&self.state.seen(&record));
        }
        self.state.tape.seen = records;
    }
}
