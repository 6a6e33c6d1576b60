//! A frame's way through a switch.

use crate::engine::State;
use crate::engine::eyes::Eyes;
use crate::engine::packet::{Packet, PacketId};
use crate::switch::CnpBy;
use crate::switch::deadlock::Queue;
use crate::switch::ecn::{At, RampId};
use crate::switch::voq::Queues;
use crate::topology::{NodeId, PortId, SwitchId};
use crate::units::{Priorities, Priority};

impl State {
    /// A frame has come in by `ingress`, a port of the switch `node`.
    #[inline]
    pub(crate) fn forward(&mut self, ingress: PortId, node: NodeId, switch: SwitchId, id: PacketId) {
        let (to, entropy, came) = {
            let packet = &self.packets[id];
            (packet.dst, packet.entropy, packet.priority)
        };
        let hops = self.fabric.next_hops(node, to);
        if hops.count == 0 {
            self.give_back(ingress, came, self.packets[id].size);
            return self.lose(id);
        }
        let out = if hops.count > 1 {
            let mut eyes = Eyes {
                now: self.now,
                ports: &self.ports,
                fabric: &self.fabric,
                faults: &self.faults,
                chance: &mut self.ways,
            };
            self.router.choose(&mut eyes, node, to, entropy, hops)
        } else {
            hops.first
        };
        let port = &self.ports[out];
        let mut priority = came;
        if let Some(lanes) = self.settings.switch.lanes
            && came == lanes.up
            && port.lower
        {
            priority = lanes.down;
            self.packets[id].priority = priority;
        }
        if self.pfc.alarmed > 0 {
            let size = self.packets[id].size;
            if self.bars(Queue { port: out, priority }, id) {
                return self.give_back(ingress, came, size);
            }
        }
        let port = &self.ports[out];
        if port.idle(self.now) && port.waiting.is_empty() && port.due.is_empty() && !port.paused.has(priority) {
            self.transmit(out, id);
            if self.credits.any() {
                self.give_back(ingress, came, self.packets[id].size);
            }
            return;
        }
        self.packets[id].came = came;
        if !self.admit(ingress, out, switch, id) {
            return self.lose(id);
        }
        let notice = self.settings.switch.mark_at == At::Enqueue && self.mark(out, id);
        let port = &mut self.ports[out];
        if self.settings.switch.queues == Queues::Virtual && port.waiting.has(priority) {
            self.voqs.push(&mut self.packets, Queue { port: out, priority }, id);
            port.join(priority, self.packets[id].size);
        } else {
            port.enqueue(&mut self.packets, id);
        }
        if port.paused.has(priority) {
            self.look(Queue { port: out, priority });
        } else {
            self.kick(out);
        }
        if notice {
            self.give_notice((ingress, out), id);
        }
    }

    /// Drops a frame that is in no queue.
    pub(super) fn lose(&mut self, id: PacketId) {
        self.count.drops += 1;
        let ingress = self.packets[id].ingress;
        self.counters[ingress].drops += 1;
        self.note_loss(id);
        self.packets.drop(id);
    }

    /// Takes a frame on account of the port it came in by; whether there was room. Tells the other end to stop when the
    /// account is full.
    fn admit(&mut self, ingress: PortId, out: PortId, switch: SwitchId, id: PacketId) -> bool {
        let Packet { size, priority: leaves, came: priority, .. } = self.packets[id];
        let size = u64::from(size);
        let buffer = self.settings.switch.buffer(self.ports[out].tier);
        let pool = &mut self.pools[switch];
        let threshold = pool.threshold(buffer.alpha_256);
        let lossless = self.settings.switch.lossless.has(priority);
        if !lossless {
            let queue = match self.settings.switch.queues {
                Queues::Output => self.ports[out].queues[leaves].bytes,
                Queues::Virtual => self.voqs.bytes(Queue { port: out, priority: leaves }, ingress),
            };
            if queue + size > threshold || pool.used + size > pool.size {
                return false;
            }
            pool.used += size;
            self.held[ingress][priority].shared += size;
            return true;
        }
        let held = &mut self.held[ingress][priority];
        if self.credits.grant(ingress).is_some() {
            held.set(held.room() + size, false);
            self.tell(ingress, priority);
            return true;
        }
        let fits = held.room() == 0 && held.shared + size <= threshold && pool.used + size <= pool.size;
        if fits {
            held.shared += size;
            pool.used += size;
            return true;
        }
        let port = &mut self.ports[ingress];
        let told = held.stopped();
        let more = held.room() + size <= port.headroom;
        held.set(held.room() + if more { size } else { 0 }, true);
        if !told {
            port.due = port.due.with(priority);
            self.kick(ingress);
        }
        more
    }

    /// Gives back what a frame that begins to leave held, and lets the other end go on when the account allows it.
    #[inline(always)]
    pub(super) fn release(&mut self, ingress: PortId, node: NodeId, priority: Priority, size: u64) {
        let Some(switch) = self.fabric.switch(node) else { return };
        let held = &mut self.held[ingress][priority];
        let from_room = held.room().min(size);
        let from_shared = size - from_room;
        debug_assert!(held.shared >= from_shared, "more leaves than came");
        held.shared -= from_shared;
        let pool = &mut self.pools[switch];
        pool.used -= from_shared;
        if !held.stopped() {
            // Without a stop only what was granted stands there.
            if from_room > 0 {
                held.set(held.room() - from_room, false);
                self.give_back(ingress, priority, size as u32);
            }
            return;
        }
        let room = held.room() - from_room;
        let buffer = self.settings.switch.buffer(self.ports[ingress].tier);
        let stay = room > 0 || !buffer.low(held.shared, pool);
        held.set(room, stay);
        if !stay {
            let port = &mut self.ports[ingress];
            port.due = port.due.with(priority);
            self.kick(ingress);
        }
    }

    /// Sends the next frame of an idle port that has one.
    #[inline]
    pub(crate) fn serve_switch(&mut self, at: PortId) {
        let port = &mut self.ports[at];
        let Some(priority) = self.settings.switch.scheduler.next(port, &self.packets) else { return };
        let queue = &mut port.queues[priority];
        let Some(id) = queue.list.pop(&self.packets) else { return };
        let packet = &self.packets[id];
        let (ingress, node, came, size) = (packet.ingress, packet.node, packet.came, u64::from(packet.size));
        queue.bytes -= size;
        port.queued -= size;
        if self.settings.switch.queues == Queues::Virtual
            && let Some(next) = self.voqs.pop(&self.packets, Queue { port: at, priority })
        {
            queue.list.push(&mut self.packets, next);
        }
        if queue.list.is_empty() {
            port.deficits[priority] = 0;
            port.waiting = port.waiting.without(Priorities(priority.bit()));
        }
        let notice = self.settings.switch.mark_at == At::Dequeue && self.mark(at, id);
        self.transmit(at, id);
        self.release(ingress, node, came, size);
        if notice {
            self.give_notice((ingress, at), id);
        }
    }

    /// Marks a packet by the length of its queue; or, where switches make CNPs, whether it is to have one instead.
    #[inline]
    fn mark(&mut self, at: PortId, id: PacketId) -> bool {
        let packet = &mut self.packets[id];
        let port = &self.ports[at];
        // A frame is part of the queue until it has gone.
        let bytes = port.queues[packet.priority].bytes + u64::from(packet.size);
        let ramp = &self.ramps[RampId(u32::from(port.marking))];
        if ramp.above(bytes)
            && self.settings.switch.marked.has(packet.priority)
            && ramp.marks(bytes, self.marks.next() >> 8)
        {
            if self.settings.switch.cnp_by == CnpBy::Switch {
                return self.notices(at, id);
            }
            packet.marked = port.tier;
            self.counters[at].marks += 1;
        }
        false
    }
}
