//! What a host's port sends next: answers first, then the queue pairs in turns.

use crate::engine::State;
use crate::engine::event::{Event, Kind};
use crate::engine::packet::QpId;
use crate::routing::Key;
use crate::topology::PortId;
use crate::units::{Bytes, Each, Priorities, Psn};
use crate::wire;

/// Queue pairs that wait for a host's port, by priority.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    pub(crate) lists: Each<List>,
    pub(crate) filled: Priorities,
}

/// A first-in-first-out list of queue pairs, threaded through their senders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: QpId,
    tail: QpId,
}

impl Default for Lists {
    fn default() -> Self {
        Self { lists: Each([List { head: QpId::NONE, tail: QpId::NONE }; 8]), filled: Priorities::NONE }
    }
}

impl State {
    /// Appends a queue pair to its port's list.
    #[inline]
    pub(crate) fn list(&mut self, qp: QpId) {
        let sender = &mut self.senders[qp];
        sender.list = QpId::NONE;
        sender.listed = true;
        let (port, priority) = (sender.port, sender.priority);
        let lists = &mut self.nics[port];
        let list = &mut lists.lists[priority];
        if lists.filled.has(priority) {
            let tail = list.tail;
            list.tail = qp;
            self.senders[tail].list = qp;
        } else {
            lists.filled = lists.filled.with(priority);
            *list = List { head: qp, tail: qp };
        }
    }

    /// Takes the first queue pair that the port may send for.
    #[inline]
    fn unlist(&mut self, at: PortId) -> Option<QpId> {
        let lists = &mut self.nics[at];
        let priority = lists.filled.without(self.ports[at].paused).highest()?;
        let list = &mut lists.lists[priority];
        let qp = list.head;
        let sender = &mut self.senders[qp];
        list.head = sender.list;
        sender.listed = false;
        if list.head == QpId::NONE {
            lists.filled = lists.filled.without(Priorities(priority.bit()));
        }
        Some(qp)
    }

    /// Whether a queue pair waits for the port and may send.
    #[inline]
    pub(crate) fn host_waits(&self, at: PortId) -> bool {
        !self.nics[at].filled.without(self.ports[at].paused).is_empty()
    }

    /// Sends the next frame of an idle host port, if there is one.
    #[inline]
    pub(crate) fn serve_host(&mut self, at: PortId) {
        let port = &mut self.ports[at];
        if let Some(priority) = port.ready().highest() {
            let queue = &mut port.queues[priority];
            let Some(id) = queue.list.pop(&self.packets) else { return };
            let size = u64::from(self.packets[id].size);
            queue.bytes -= size;
            port.queued -= size;
            if queue.list.is_empty() {
                port.waiting = port.waiting.without(Priorities(priority.bit()));
            }
            return self.transmit(at, id);
        }
        while let Some(qp) = self.unlist(at) {
            if self.eligible(qp) && self.senders[qp].broken.is_none() {
                return self.send(at, qp);
            }
        }
    }

    /// Sends a packet of a queue pair, and sees when it may send the next one.
    #[inline]
    fn send(&mut self, at: PortId, qp: QpId) {
        let packet = self.make(qp);
        let bytes = Bytes(u64::from(packet.size + wire::GAP));
        let id = self.packets.add(packet);
        if self.feedback.telemetry {
            self.stacks.begin(id);
        }
        self.transmit(at, id);
        let (now, busy, line) = (self.now, self.ports[at].busy, self.ports[at].rate());
        let sender = &mut self.senders[qp];
        if self.router.by_packet() {
            let key = Key { psn: Psn::new(packet.seq), ..sender.key };
            self.packets[id].entropy = self.router.entropy(&key);
        }
        let sender = &mut self.senders[qp];
        sender.cc.advance(&self.settings.cc, now);
        sender.cc.on_send(&self.settings.cc, now, bytes);
        let rate = sender.cc.rate().min(sender.limit);
        // Late because the port was busy: it may catch up by one packet, or queue pairs that share a port never get
        // all of it.
        let gap = rate.time_for(bytes);
        sender.due = if rate >= line { busy } else { sender.due.max(now - gap) + gap };
        let mut due = sender.due;
        if !self.eligible(qp) {
            return;
        }
        if due > busy {
            due += self.jitter(qp);
            self.senders[qp].paced = true;
            self.events.push(due, Event::new(Kind::Pace, qp.0));
        } else {
            self.list(qp);
        }
    }
}
