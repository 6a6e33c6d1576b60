//! The receiver's part of hierarchical congestion control (SYSTEMS C5): which tier marks how much of a queue pair.

use crate::cc::{DOMAINS, Domains, Feedback, domain};
use crate::engine::State;
use crate::engine::packet::{Packet, QpId};
use crate::table::Table;
use crate::topology::PortId;
use crate::units::Time;

/// A window of one queue pair.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    end: Time,
    packets: u32,
    marked: [u32; DOMAINS],
}

/// The windows of all queue pairs; none when nobody asks for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watches {
    rows: Table<QpId, Watch>,
}

impl Watches {
    pub(crate) fn new(feedback: &Feedback, pairs: usize) -> Self {
        Self { rows: Table::filled(Watch::default(), if feedback.domains.is_some() { pairs } else { 0 }) }
    }
}

impl State {
    /// Counts a packet that has come, and closes the window that it is the first to come after.
    pub(super) fn weigh(&mut self, at: PortId, packet: &Packet, domains: &Domains) {
        let watch = &mut self.watches.rows[packet.qp];
        let closed = *watch;
        if watch.end <= self.now {
            *watch = Watch { end: self.now + domains.window, ..Watch::default() };
        }
        watch.packets += 1;
        if packet.marked > 0
            && let Some(count) = watch.marked.get_mut(domain(packet.marked))
        {
            *count += 1;
        }
        if closed.end > self.now || closed.packets == 0 {
            return;
        }
        for ((tier, marked), above) in (1..).zip(closed.marked).zip(domains.above_ppm) {
            let share = (u64::from(marked) * 1_000_000 / u64::from(closed.packets)) as u32;
            if share > above {
                self.send_cnp(at, packet.qp, tier, share);
            }
        }
    }
}
