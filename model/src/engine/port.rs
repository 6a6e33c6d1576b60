//! A port in motion: its queues, the cable behind it, and what came in by it.

use super::packet::{Arena, Fifo, PacketId};
use crate::topology::{NodeId, PortId};
use crate::units::{Each, Priorities, Rate, Time};

/// A queue of one priority.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) list: Fifo,
    pub(crate) bytes: u32,
    /// What it may still send in its turn (deficit round robin), in bytes.
    pub(crate) deficit: i32,
}

/// What of the shared buffer came in by a port in one priority, and still stands in the switch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    /// Bytes in the shared pool.
    pub(crate) shared: u32,
    /// Bytes in the port's own headroom.
    pub(crate) room: u32,
}

/// A port. The first cache line is all that a frame which need not wait touches.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    /// When the frame that is being sent ends.
    pub(crate) busy: Time,
    /// Cable delay.
    pub(crate) delay: Time,
    /// Frames on the cable.
    pub(crate) cable: Fifo,
    /// The port at the other end, and whose it is.
    pub(crate) peer: PortId,
    pub(crate) neighbour: NodeId,
    /// Picoseconds of a byte where these are whole, else 0.
    byte: u32,
    /// Bytes in all queues.
    pub(crate) queued: u32,
    /// Bytes that have left, gaps included.
    pub(crate) sent: u64,
    /// Priorities with something in their queue.
    pub(crate) waiting: Priorities,
    /// Priorities that the other end has paused.
    pub(crate) paused: Priorities,
    /// Priorities about which the other end must be told.
    pub(crate) due: Priorities,
    /// Priorities that this end has paused at the other.
    pub(crate) stopped: Priorities,
    /// Whether a [`super::event::Kind::Free`] is on its way.
    pub(crate) freeing: bool,
    /// Whose turn it is (weighted scheduling).
    pub(crate) turn: u8,

    /// Frames that have left.
    pub(crate) frames: u64,
    rate: Rate,
    /// Headroom of each lossless priority, in bytes.
    pub(crate) headroom: u32,
    pub(crate) queues: Each<Waiting>,
    pub(crate) held: Each<Held>,
}

impl Port {
    pub(crate) fn new(peer: PortId, neighbour: NodeId, rate: Rate, delay: Time) -> Self {
        let byte = rate.time_for(crate::units::Bytes(1)).0;
        let whole = rate.time_for(crate::units::Bytes(1_000_000)).0 == byte.saturating_mul(1_000_000);
        Self {
            busy: Time::ZERO,
            delay,
            cable: Fifo::default(),
            peer,
            neighbour,
            byte: if whole { u32::try_from(byte).unwrap_or(0) } else { 0 },
            queued: 0,
            sent: 0,
            waiting: Priorities::NONE,
            paused: Priorities::NONE,
            due: Priorities::NONE,
            stopped: Priorities::NONE,
            freeing: false,
            turn: 0,
            frames: 0,
            rate,
            headroom: 0,
            queues: Each::default(),
            held: Each::default(),
        }
    }

    /// Line rate.
    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// How long `bytes` take.
    #[inline(always)]
    pub(crate) const fn time_for(&self, bytes: u32) -> Time {
        if self.byte == 0 {
            return self.rate.time_for(crate::units::Bytes(bytes as u64));
        }
        Time(self.byte as u64 * bytes as u64)
    }

    /// Whether a frame could leave at `now`.
    #[inline(always)]
    pub(crate) fn idle(&self, now: Time) -> bool {
        self.busy <= now && !self.freeing
    }

    /// Priorities that could send.
    #[inline(always)]
    pub(crate) const fn ready(&self) -> Priorities {
        self.waiting.without(self.paused)
    }

    /// Appends a packet to the queue of its priority.
    #[inline]
    pub(crate) fn enqueue(&mut self, packets: &mut Arena, id: PacketId) {
        let (priority, size) = (packets[id].priority, packets[id].size);
        let queue = &mut self.queues[priority];
        queue.list.push(packets, id);
        queue.bytes += size;
        self.queued += size;
        self.waiting = self.waiting.with(priority);
    }
}
