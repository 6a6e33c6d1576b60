//! A port in motion: its queues, the cable behind it, and what came in by it.

use super::packet::{Arena, Fifo, PacketId};
use crate::topology::{Cable, NodeId, PortId};
use crate::units::{Bytes, Each, Priorities, Priority, Rate, Time};

/// A queue of one priority.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) list: Fifo,
    pub(crate) bytes: u64,
}

/// What of the shared buffer came in by a port in one priority, and still stands in the switch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    /// Bytes in the shared pool.
    pub(crate) shared: u64,
    /// Bytes in the port's own headroom, doubled, and one more while the other end is told to stop: an account is then
    /// a quarter of a cache line.
    room: u64,
}

impl Held {
    /// Bytes in the port's own headroom.
    #[inline(always)]
    pub(crate) const fn room(self) -> u64 {
        self.room / 2
    }

    /// Whether the other end is told to stop.
    #[inline(always)]
    pub(crate) const fn stopped(self) -> bool {
        self.room & 1 == 1
    }

    /// Sets both.
    #[inline(always)]
    pub(crate) const fn set(&mut self, room: u64, stopped: bool) {
        self.room = room * 2 + stopped as u64;
    }
}

/// A port. The first cache line is all that a frame which need not wait touches.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    /// When the frame that is being sent ends.
    pub(crate) busy: Time,
    /// Cable delay.
    pub(crate) delay: Time,
    /// Bytes that have left, gaps included, and frames.
    pub(crate) sent: u64,
    pub(crate) frames: u64,
    /// The port at the other end, and whose it is.
    pub(crate) peer: PortId,
    pub(crate) neighbour: NodeId,
    /// Bytes in all queues.
    pub(crate) queued: u64,
    /// Picoseconds of a byte where these are whole, else 0.
    byte: u32,
    /// Priorities with something in their queue.
    pub(crate) waiting: Priorities,
    /// Priorities that the other end has paused.
    pub(crate) paused: Priorities,
    /// Priorities about which the other end must be told.
    pub(crate) due: Priorities,
    /// Whether a [`super::event::Kind::Free`] is on its way.
    pub(crate) freeing: bool,
    /// Which of the fabric's markings it has.
    pub(crate) marking: u8,
    /// Its node's tier.
    pub(crate) tier: u8,
    /// Whether it leads to a lower node (`switch::lanes`).
    pub(crate) lower: bool,
    /// Whose turn it is (weighted scheduling).
    pub(crate) turn: u8,
    /// Whether somebody looks at what passes (`observe`).
    pub(crate) tapped: bool,

    pub(crate) queues: Each<Waiting>,
    /// What each priority may still send in its turn (deficit round robin), in bytes.
    pub(crate) deficits: Each<i32>,
    /// The most bytes that waited in all queues since somebody asked.
    pub(crate) peak: u64,
    rate: Rate,
    /// Headroom of each lossless priority, in bytes.
    pub(crate) headroom: u64,
}

// The masks and marks at its end are the last things in the first line.
const _: () = assert!(std::mem::offset_of!(Port, tapped) < 64);

impl Port {
    pub(crate) fn new(peer: PortId, neighbour: NodeId, tier: u8, Cable { rate, delay }: Cable) -> Self {
        Self {
            busy: Time::ZERO,
            delay,
            sent: 0,
            frames: 0,
            peer,
            neighbour,
            byte: whole(rate),
            queued: 0,
            deficits: Each::default(),
            waiting: Priorities::NONE,
            paused: Priorities::NONE,
            due: Priorities::NONE,
            freeing: false,
            marking: 0,
            tier,
            lower: false,
            turn: 0,
            tapped: false,
            peak: 0,
            queues: Each::default(),
            rate,
            headroom: 0,
        }
    }

    /// Line rate.
    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// Gives it another rate.
    pub(crate) fn throttle(&mut self, rate: Rate) {
        self.rate = rate;
        self.byte = whole(rate);
    }

    /// How long `bytes` take.
    #[inline(always)]
    pub(crate) const fn time_for(&self, bytes: u32) -> Time {
        if self.byte == 0 {
            return self.rate.time_for(Bytes(bytes as u64));
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
        self.queues[priority].list.push(packets, id);
        self.join(priority, size);
    }

    /// Counts a packet that waits for the port.
    #[inline]
    pub(crate) fn join(&mut self, priority: Priority, size: u32) {
        self.queues[priority].bytes += u64::from(size);
        self.queued += u64::from(size);
        self.peak = self.peak.max(self.queued);
        self.waiting = self.waiting.with(priority);
    }
}

/// Picoseconds of a byte where these are whole, else 0.
fn whole(rate: Rate) -> u32 {
    let byte = rate.time_for(Bytes(1)).0;
    let whole = rate.time_for(Bytes(1_000_000)).0 == byte.saturating_mul(1_000_000);
    if whole { u32::try_from(byte).unwrap_or(0) } else { 0 }
}
