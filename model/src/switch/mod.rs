//! Switches: a shared buffer, queues by priority (at the output, or virtual ones: [`voq`]), ECN marking and PFC.
//!
//! A frame that finds its way out free passes through and touches no buffer. Any other is admitted on account of the
//! port and priority by which it came in ([`buffer`]), waits in its queue, and is given back when its own sending
//! begins.

pub mod buffer;
pub mod deadlock;
pub mod ecn;
mod forward;
pub mod lanes;
mod notify;
pub mod scheduler;
pub mod voq;
pub mod watchdog;

pub use buffer::{Buffer, Headroom, Link};
pub use deadlock::Deadlock;
pub use ecn::Marking;
pub use lanes::Lanes;
pub use notify::CnpBy;
pub use scheduler::Scheduler;
pub use voq::Queues;
pub use watchdog::Watchdog;

use crate::units::{Priorities, Priority};

/// What can be set about switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The shared buffer, and PFC's thresholds in it.
    pub buffer: Buffer,
    /// Buffers by tier where they differ, as deep ones of a spine do (SYSTEMS F2): the first is tier 1's; tiers beyond
    /// the list have its last. Empty: all have `buffer`.
    pub tiers: Vec<Buffer>,
    /// Priorities with PFC or credits ([`Buffer::link`]); the others drop what does not fit.
    pub lossless: Priorities,
    /// ECN thresholds by tier: the first is tier 1's; tiers beyond the list have its last. Empty: no marking.
    pub marking: Vec<Marking>,
    /// Priorities that are marked.
    pub marked: Priorities,
    /// Where a packet is marked.
    pub mark_at: ecn::At,
    /// Who makes CNPs, where congestion control wants one for a marked packet. Switches make them
    /// only in a priority that is not lossless: neither headroom nor credits are reckoned for them.
    pub cnp_by: CnpBy,
    /// Where frames wait.
    pub queues: Queues,
    /// Who sends first.
    pub scheduler: Scheduler,
    /// Priorities that change where frames turn down; `None`: frames keep theirs.
    pub lanes: Option<Lanes>,
    /// How long a pause lasts unless it is said again, in quanta of 512 bit times (IEEE 802.3, annex 31D); `None`:
    /// until it is taken back.
    pub quanta: Option<u16>,
    /// The PFC watchdog.
    pub watchdog: Option<Watchdog>,
}

impl Settings {
    /// The buffer of a tier's switches.
    #[must_use]
    #[inline]
    pub fn buffer(&self, tier: u8) -> &Buffer {
        let row = usize::from(tier).saturating_sub(1);
        self.tiers.get(row).or(self.tiers.last()).unwrap_or(&self.buffer)
    }
}

impl Default for Settings {
    fn default() -> Self {
        let roce = Priorities::NONE.with(Priority::new(3));
        Self {
            buffer: Buffer::default(),
            tiers: Vec::new(),
            lossless: roce,
            marking: vec![Marking::default()],
            marked: roce,
            mark_at: ecn::At::Dequeue,
            cnp_by: CnpBy::Receiver,
            queues: Queues::Output,
            scheduler: Scheduler::default(),
            lanes: None,
            // As long as can be said: 335 us at 100 Gb/s.
            quanta: Some(u16::MAX),
            watchdog: None,
        }
    }
}
