//! Sending a frame and receiving it at the other end.

use super::State;
use super::event::{Event, Kind};
use super::packet::{Packet, PacketId, What};
use crate::cc::Telemetry;
use crate::switch::deadlock::Queue;
use crate::topology::PortId;
use crate::units::{Bytes, Priorities, Time};
use crate::wire;

impl State {
    /// Puts a frame on the cable of an idle port.
    #[inline]
    pub(crate) fn transmit(&mut self, at: PortId, id: PacketId) {
        let port = &mut self.ports[at];
        let packet = &mut self.packets[id];
        let bytes = packet.size + wire::GAP;
        debug_assert!(port.busy <= self.now, "two frames at once");
        port.busy = self.now + port.time_for(bytes);
        port.sent += u64::from(bytes);
        port.frames += 1;
        packet.ingress = port.peer;
        packet.node = port.neighbour;
        let (gone, arrive) = (port.busy, port.busy + port.delay);
        let noted = port.tapped | self.minded;
        if self.feedback.telemetry && port.tier > 0 && matches!(packet.what, What::Data | What::Last) {
            let queue = Bytes(port.queues[packet.priority].bytes);
            let hop = Telemetry { at: self.now, queue, sent: Bytes(port.sent), line: port.rate() };
            self.stacks.write(id, hop);
        }
        self.events.push(arrive, Event::new(Kind::Arrive, id.0));
        if noted {
            self.mind(at, id, gone);
        }
    }

    /// Tells a tap, the watchdog and the link's credits of a frame that is sent.
    #[inline(never)]
    fn mind(&mut self, at: PortId, id: PacketId, gone: Time) {
        let Packet { what, priority, size, .. } = self.packets[id];
        if self.ports[at].tapped {
            self.see(at, at, id, gone);
        }
        if matches!(what, What::Pause | What::Credit) {
            return;
        }
        if let Some(watch) = self.pfc.watches.get_mut(&Queue { port: at, priority }) {
            watch.sent += 1;
        }
        if self.credits.any() {
            self.spend(at, priority, size);
        }
    }

    /// A frame has reached the other end of its cable.
    #[inline]
    pub(crate) fn arrive(&mut self, id: PacketId) {
        let packet = &self.packets[id];
        let (at, node, what) = (packet.ingress, packet.node, packet.what);
        if self.faults.any() && self.lost_on_cable(at, id) {
            return;
        }
        if self.tape.on && self.ports[at].tapped {
            self.see(at, self.ports[at].peer, id, self.now);
        }
        if matches!(what, What::Pause | What::Credit) {
            return if what == What::Pause { self.paused(at, id) } else { self.credited(at, id) };
        }
        self.hops += 1;
        match self.fabric.switch(node) {
            Some(switch) => self.forward(at, node, switch, id),
            None => self.receive(at, id),
        }
    }

    /// Makes sure that a port which has something to send gets to it.
    #[inline]
    pub(crate) fn kick(&mut self, at: PortId) {
        let port = &mut self.ports[at];
        if port.freeing {
            return;
        }
        if port.busy > self.now {
            port.freeing = true;
            let busy = port.busy;
            self.events.push(busy, Event::new(Kind::Free, at.0));
        } else {
            self.serve(at);
        }
    }

    /// A port is done with a frame.
    #[inline]
    pub(crate) fn free(&mut self, at: PortId) {
        self.ports[at].freeing = false;
        self.serve(at);
    }

    /// Sends the next frame of an idle port, if there is one that may go.
    fn serve(&mut self, at: PortId) {
        if !self.ports[at].due.is_empty() {
            if self.credits.grant(at).is_some() {
                self.send_credit(at);
            } else {
                self.send_pause(at);
            }
        } else if at.0 < self.fabric.hosts() {
            self.serve_host(at);
        } else if !self.ports[at].ready().is_empty() {
            self.serve_switch(at);
        }
        let port = &mut self.ports[at];
        let more = !port.ready().is_empty() || !port.due.is_empty();
        if (more || (at.0 < self.fabric.hosts() && self.host_waits(at))) && !self.ports[at].freeing {
            let port = &mut self.ports[at];
            port.freeing = true;
            let busy = port.busy;
            self.events.push(busy, Event::new(Kind::Free, at.0));
        }
    }

    /// Tells the other end which priorities to stop and which to let go: one frame speaks for all (IEEE 802.3, 31D.2).
    fn send_pause(&mut self, at: PortId) {
        let port = &mut self.ports[at];
        let said = port.due;
        port.due = Priorities::NONE;
        let held = &self.held[at];
        let stop = said.iter().filter(|priority| held[*priority].stopped()).fold(Priorities::NONE, Priorities::with);
        let fresh = if stop.is_empty() { stop } else { self.said_stop(at, stop) };
        self.count.pauses += u64::from(fresh.0.count_ones());
        let frame = Packet {
            sent: self.now,
            seq: u32::from(said.0) | u32::from(stop.0) << 8,
            size: wire::PAUSE,
            what: What::Pause,
            ..Default::default()
        };
        let id = self.packets.add(frame);
        self.deadlocks.told(self.ports[at].peer, true);
        self.transmit(at, id);
    }

    /// A PFC frame has come in by `at`.
    fn paused(&mut self, at: PortId, id: PacketId) {
        let seq = self.packets[id].seq;
        self.packets.drop(id);
        self.deadlocks.told(at, false);
        let (said, stop) = (Priorities(seq as u8), Priorities((seq >> 8) as u8));
        let stop = self.heard(at, said, stop);
        self.obey(at, said, stop);
    }

    /// Stops some of the priorities that are spoken of, and lets the others go.
    pub(crate) fn obey(&mut self, at: PortId, said: Priorities, stop: Priorities) {
        let now = self.now;
        let port = &mut self.ports[at];
        let before = port.paused;
        port.paused = Priorities(port.paused.without(said).0 | stop.0);
        let after = port.paused;
        let node = self.ports[self.ports[at].peer].neighbour;
        for priority in Priorities(before.0 ^ after.0).iter() {
            let stopped = after.has(priority);
            self.pauses.turn(at, priority, stopped, now);
            if let Some(switch) = self.fabric.switch(node) {
                self.deadlocks.turned(switch, Queue { port: at, priority }, stopped, now);
            }
        }
        if !before.without(after).is_empty() {
            self.kick(at);
        }
        for priority in after.iter() {
            self.look(Queue { port: at, priority });
        }
    }
}
