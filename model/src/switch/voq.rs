//! Virtual output queues: one for every port a frame came in by, port it leaves by, and priority.
//!
//! The plain switch of this model queues at its outputs: all frames for a port and priority stand in one line, in the
//! order in which they came. Neither it nor virtual output queues have head-of-line blocking inside: no output is idle
//! while a frame for it is there, where one line an input would give 58.6% of uniform traffic (2 - sqrt 2: Karol,
//! Hluchyj, Morgan, IEEE Trans. Communications 35, 1987). What virtual output queues change is whom a frame waits for.
//! An output serves the inputs in turns of `QUANTUM` bytes, as a VOQ chassis hands out its credits (SYSTEMS F2), so a
//! frame waits for a turn of each other input and for its own input's frames, and never for all that others have piled
//! up. And where drops are allowed, the threshold bounds each of them, so an input fills its own room and nobody
//! else's. PFC stays on account of inputs.
//!
//! The frame that an output sends next stands in the port's own queue; all behind it stand here.

use std::collections::BTreeMap;

use crate::engine::State;
use crate::engine::packet::{Arena, Fifo, PacketId};
use crate::switch::deadlock::Queue;
use crate::switch::scheduler::QUANTUM;
use crate::topology::PortId;

/// Where frames wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Queues {
    /// In one line for each output and priority.
    #[default]
    Output,
    /// In virtual output queues.
    Virtual,
}

/// One virtual output queue.
#[derive(Clone, Copy, Debug, Default)]
struct Voq {
    list: Fifo,
    bytes: u64,
    /// What it may still send in its turn.
    left: i32,
}

/// The virtual output queues that hold something, by output and input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Voqs {
    rows: BTreeMap<(Queue, PortId), Voq>,
    /// Whose turn it is at an output.
    turns: BTreeMap<Queue, PortId>,
}

impl Voqs {
    /// Bytes that wait for an output and came by an input.
    pub(crate) fn bytes(&self, queue: Queue, ingress: PortId) -> u64 {
        self.rows.get(&(queue, ingress)).map_or(0, |voq| voq.bytes)
    }

    /// Appends a packet.
    pub(crate) fn push(&mut self, packets: &mut Arena, queue: Queue, id: PacketId) {
        let voq = self.rows.entry((queue, packets[id].ingress)).or_default();
        voq.bytes += u64::from(packets[id].size);
        voq.list.push(packets, id);
    }

    /// Takes the packet that an output sends next; `None` when nothing waits for it.
    pub(crate) fn pop(&mut self, packets: &Arena, queue: Queue) -> Option<PacketId> {
        loop {
            let turn = self.turns.get(&queue).copied().unwrap_or(PortId(0));
            if let Some(voq) = self.rows.get_mut(&(queue, turn)) {
                let size = packets[voq.list.head].size;
                if voq.left >= size as i32 {
                    voq.left -= size as i32;
                    voq.bytes -= u64::from(size);
                    let id = voq.list.pop(packets);
                    if voq.list.is_empty() {
                        self.rows.remove(&(queue, turn));
                    }
                    return id;
                }
            }
            let behind = self.rows.range_mut((queue, PortId(turn.0 + 1))..=(queue, PortId(u32::MAX))).next();
            let next = match behind {
                Some(next) => Some(next),
                None => self.rows.range_mut((queue, PortId(0))..=(queue, turn)).next(),
            };
            let ((_, ingress), voq) = next?;
            voq.left += QUANTUM;
            self.turns.insert(queue, *ingress);
        }
    }

    /// The first packet of each virtual queue of an output.
    fn heads(&self, queue: Queue) -> impl Iterator<Item = PacketId> {
        self.rows.range((queue, PortId(0))..=(queue, PortId(u32::MAX))).map(|(_, voq)| voq.list.head)
    }
}

impl State {
    /// All packets that wait for an output and priority.
    pub(crate) fn standing(&self, queue: Queue) -> impl Iterator<Item = PacketId> {
        let some = |id: PacketId| (id != PacketId::NONE).then_some(id);
        let head = self.ports[queue.port].queues[queue.priority].list.head;
        let heads = std::iter::once(head).chain(self.voqs.heads(queue));
        heads.flat_map(move |head| std::iter::successors(some(head), move |id| some(self.packets[*id].next)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::packet::Packet;
    use crate::units::Priority;

    /// Inputs get the same bytes, whatever their frames and however many of them wait.
    #[test]
    fn inputs_take_turns_by_bytes() {
        let mut packets = Arena::with_room(4);
        let mut voqs = Voqs::default();
        let queue = Queue { port: PortId(9), priority: Priority::new(3) };
        for (ingress, size, count) in [(1, 4_000, 300), (2, 500, 500), (5, 1_000, 1_000)] {
            for _ in 0..count {
                let id = packets.add(Packet { ingress: PortId(ingress), size, ..Packet::default() });
                voqs.push(&mut packets, queue, id);
            }
        }
        assert_eq!(voqs.bytes(queue, PortId(2)), 250_000);
        assert_eq!(voqs.pop(&packets, Queue { priority: Priority::new(4), ..queue }), None);
        // 75 turns of 10,000 B: 25 of each.
        let mut sent = BTreeMap::<u32, u32>::new();
        while sent.values().sum::<u32>() < 750_000 {
            let id = voqs.pop(&packets, queue).unwrap();
            *sent.entry(packets[id].ingress.0).or_default() += packets[id].size;
        }
        assert!(sent.values().all(|bytes| bytes.abs_diff(250_000) <= 10_000), "{sent:?}");
        let rest: u32 = std::iter::from_fn(|| voqs.pop(&packets, queue)).map(|id| packets[id].size).sum();
        assert_eq!(rest + sent.values().sum::<u32>(), 1_200_000 + 250_000 + 1_000_000);
        assert!(voqs.rows.is_empty());
    }
}
