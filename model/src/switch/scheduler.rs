//! Which queue of a port sends next: strict priorities first, then the others in turns by weight.

use crate::engine::packet::Arena;
use crate::engine::port::Port;
use crate::units::{Each, Priorities, Priority};

/// Who sends first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduler {
    /// Priorities that always go before the others, the highest number first.
    pub strict: Priorities,
    /// Shares of the others (deficit round robin: Shreedhar, Varghese, SIGCOMM 1995); 0 counts as 1.
    pub weights: Each<u16>,
}

impl Default for Scheduler {
    /// Priorities 6 and 7 (CNPs, control) strict, the others alike.
    fn default() -> Self {
        Self { strict: Priorities(0b1100_0000), weights: Each([1; Priority::COUNT]) }
    }
}

/// Bytes that a weight of one stands for: no frame may be longer, or turns would pass without a frame (chosen: more
/// than a jumbo frame's 9,018 bytes).
pub(crate) const QUANTUM: i32 = 10_000;

impl Scheduler {
    /// The priority that sends next among those that may; it is charged for its first frame.
    #[inline]
    pub(crate) fn next(&self, port: &mut Port, packets: &Arena) -> Option<Priority> {
        let ready = port.ready();
        if let Some(first) = ready.and(self.strict).highest() {
            return Some(first);
        }
        let only = ready.highest()?;
        if ready.0 == only.bit() {
            return Some(only);
        }
        Some(self.turns(port, packets, ready))
    }

    fn turns(&self, port: &mut Port, packets: &Arena, ready: Priorities) -> Priority {
        loop {
            let turn = Priority::new(port.turn);
            if ready.has(turn) {
                let size = packets[port.queues[turn].list.head].size as i32;
                let deficit = &mut port.deficits[turn];
                if *deficit >= size {
                    *deficit -= size;
                    return turn;
                }
            }
            port.turn = (port.turn + 1) & 7;
            let next = Priority::new(port.turn);
            if ready.has(next) {
                let weight = i32::from(self.weights[next].max(1));
                port.deficits[next] += QUANTUM.saturating_mul(weight);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::packet::Packet;
    use crate::topology::{Cable, NodeId, PortId};
    use crate::units::{Rate, Time};

    /// Bytes that each priority sends out of a backlog, in `frames` frames.
    fn sent(scheduler: &Scheduler, sizes: &[(u8, u32)], frames: usize) -> Each<u32> {
        let mut packets = Arena::with_room(4);
        let mut port = Port::new(PortId(0), NodeId(0), 1, Cable::new(Rate::gbps(100), Time::ZERO));
        let mut sent = Each::default();
        for &(priority, size) in sizes {
            for _ in 0..frames {
                let id = packets.add(Packet { priority: Priority::new(priority), size, ..Packet::default() });
                port.enqueue(&mut packets, id);
            }
        }
        for _ in 0..frames {
            let priority = scheduler.next(&mut port, &packets).unwrap();
            let id = port.queues[priority].list.pop(&packets).unwrap();
            sent[priority] += packets[id].size;
        }
        sent
    }

    #[test]
    fn weights_are_shares_of_bytes_not_of_frames() {
        let mut scheduler = Scheduler::default();
        scheduler.weights[Priority::new(3)] = 3;
        let sent = sent(&scheduler, &[(0, 1_500), (3, 4_000)], 3_000);
        let share = f64::from(sent[Priority::new(3)]) / f64::from(sent[Priority::new(0)]);
        assert!((share - 3.0).abs() < 0.05, "{share}");
    }

    #[test]
    fn strict_goes_first_and_highest() {
        let sent = sent(&Scheduler::default(), &[(3, 1_000), (6, 100), (7, 100)], 10);
        assert_eq!(sent, Each([0, 0, 0, 0, 0, 0, 0, 1_000]));
    }
}
