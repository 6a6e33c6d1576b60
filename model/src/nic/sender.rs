//! The sending half of a queue pair.

use crate::cc::{Ack, Cnp, Control, Loss};
use crate::engine::State;
use crate::engine::event::{Event, Kind};
use crate::engine::packet::{Packet, PacketId, QpId};
use crate::engine::results::Failure;
use crate::nic::Recovery;
use crate::rng::mix;
use crate::routing::Key;
use crate::topology::{HostId, PortId};
use crate::units::{Bytes, Priority, Rate, Time};
use crate::workload::{FlowId, Milestone};

/// No flow: the end of a list.
pub(crate) const NO_FLOW: FlowId = FlowId(u32::MAX);

/// PSNs that may be unacknowledged at once: half of all (IBTA 9.7.2).
const WINDOW: u32 = 1 << 23;

/// The sending half of a queue pair. Packets are numbered from 0 through all its messages.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// When its pace allows the next packet.
    pub(crate) due: Time,
    /// The next packet to send, the first that is not acknowledged, and one past the last there is.
    pub(crate) next: u32,
    pub(crate) una: u32,
    pub(crate) end: u32,
    /// One past the highest ever sent.
    pub(crate) top: u32,
    /// The message that `next` is in: its first packet, one past its last, the last one's payload.
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) tail: u32,
    pub(crate) entropy: u32,
    pub(crate) port: PortId,
    pub(crate) dst: HostId,
    /// The message that `next` is in, the first that is not acknowledged, and the last of all.
    pub(crate) flow: FlowId,
    pub(crate) oldest: FlowId,
    pub(crate) newest: FlowId,
    /// The next queue pair that waits for the same port.
    pub(crate) list: QpId,
    pub(crate) priority: Priority,
    /// Whether it stands in its port's list, and whether a pace or retry event is on its way.
    pub(crate) listed: bool,
    pub(crate) paced: bool,
    pub(crate) watched: bool,
    /// Whether a receiver that was not ready has sent it away, how often in a row, and how many packets it has to
    /// repeat.
    pub(crate) asleep: bool,
    pub(crate) away: u8,
    pub(crate) holes: u32,
    pub(crate) broken: Option<Failure>,
    pub(crate) tries: u8,
    /// Which congestion control it has.
    pub(crate) patience: Time,
    pub(crate) limit: Rate,
    pub(crate) cc: Control,
    /// What a switch can hash, but for the PSN.
    pub(crate) key: Key,
}

impl State {
    /// A flow starts: its packets join its queue pair.
    pub(crate) fn start(&mut self, id: FlowId) {
        let mtu = self.settings.nic.mtu.0;
        let flow = &mut self.flows[id];
        flow.started = self.now;
        flow.seen = true;
        let packets = flow.bytes.div_ceil(mtu) as u32;
        let qp = flow.qp;
        if qp == QpId::NONE {
            // Work: it ends where its time does.
            flow.delivered = self.now;
            flow.acked = self.now;
            self.done += 1;
            self.reached(id, Milestone::Started);
            self.reached(id, Milestone::Delivered);
            return self.reached(id, Milestone::Acked);
        }
        let sender = &mut self.senders[qp];
        if let Some(why) = sender.broken {
            return self.fail(id, why);
        }
        let flow = &mut self.flows[id];
        flow.first = sender.end;
        sender.end += packets;
        flow.end = sender.end;
        flow.next = NO_FLOW;
        let newest = sender.newest;
        sender.newest = id;
        if sender.oldest == NO_FLOW {
            sender.oldest = id;
        }
        if newest != NO_FLOW {
            self.flows[newest].next = id;
        }
        let (idle, now) = (sender.una == sender.end - packets, self.now);
        let sender = &mut self.senders[qp];
        if idle {
            // Time without anything to send is no credit.
            let due = sender.due.max(now);
            self.senders[qp].due = due + self.jitter(qp);
        }
        let sender = &mut self.senders[qp];
        if sender.next == sender.last {
            self.enter(qp, id);
        }
        self.reached(id, Milestone::Started);
        self.wake(qp);
    }

    /// How much later the next packet of a queue pair goes.
    pub(super) fn jitter(&self, qp: QpId) -> Time {
        let Time(most) = self.settings.nic.jitter;
        if most == 0 {
            return Time::ZERO;
        }
        let sender = &self.senders[qp];
        let packet = u64::from(qp.0) << 32 | u64::from(sender.next);
        Time(mix(mix(self.settings.seed) ^ packet) % most.saturating_add(1))
    }

    /// Makes `id` the message that is being sent.
    pub(super) fn enter(&mut self, qp: QpId, id: FlowId) {
        let mtu = self.settings.nic.mtu.0;
        let flow = &self.flows[id];
        let sender = &mut self.senders[qp];
        sender.flow = id;
        sender.first = flow.first;
        sender.last = flow.end;
        sender.tail = (flow.bytes - (u64::from(flow.end - flow.first) - 1) * mtu) as u32;
    }

    /// Whether a queue pair has a packet that its window allows.
    #[inline]
    pub(crate) fn eligible(&self, qp: QpId) -> bool {
        let sender = &self.senders[qp];
        if sender.asleep {
            return false;
        }
        if sender.holes > 0 {
            return true;
        }
        if sender.next == sender.end {
            return false;
        }
        let flight = sender.next - sender.una;
        flight == 0
            || (flight < WINDOW
                && sender.cc.window().is_none_or(|Bytes(window)| {
                    (u64::from(flight) + 1).saturating_mul(self.settings.nic.mtu.0) <= window
                }))
    }

    /// Puts a queue pair that may send into its port's list, or waits for its pace.
    #[inline]
    pub(crate) fn wake(&mut self, qp: QpId) {
        let sender = &self.senders[qp];
        if sender.listed || sender.paced || sender.broken.is_some() || !self.eligible(qp) {
            return;
        }
        let (due, port) = (sender.due, sender.port);
        if due > self.now.max(self.ports[port].busy) {
            self.senders[qp].paced = true;
            self.events.push(due, Event::new(Kind::Pace, qp.0));
            return;
        }
        self.list(qp);
        if self.ports[port].paused.has(self.senders[qp].priority) {
            return;
        }
        self.kick(port);
    }

    /// Wakes a queue pair at `due`.
    pub(super) fn sleep(&mut self, qp: QpId, due: Time) {
        self.events.push(due, Event::new(Kind::Pace, qp.0));
    }

    /// A queue pair may send again by its pace.
    pub(crate) fn pace(&mut self, qp: QpId) {
        let sender = &mut self.senders[qp];
        if sender.due > self.now {
            let due = sender.due;
            return self.sleep(qp, due);
        }
        sender.paced = false;
        sender.asleep = false;
        self.wake(qp);
    }

    /// An acknowledgement has come: all before `seq` has arrived.
    #[inline]
    pub(crate) fn acked(&mut self, id: PacketId, packet: &Packet) {
        let (qp, now) = (packet.qp, self.now);
        let sender = &mut self.senders[qp];
        if sender.broken.is_some() {
            return;
        }
        let seq = packet.seq;
        let fresh = seq.saturating_sub(sender.una).min(sender.top - sender.una);
        let mut bytes = u64::from(fresh) * self.settings.nic.mtu.0;
        if fresh > 0 {
            sender.una += fresh;
            sender.tries = 0;
            sender.away = 0;
            sender.patience = now + self.settings.nic.timeout;
            // After going back, what was on its way may still arrive.
            if sender.next < sender.una {
                sender.next = sender.una;
            }
            if sender.una >= self.flows[sender.oldest].end {
                bytes = self.finish(qp, bytes);
            }
            if self.settings.nic.recovery == Recovery::Selective {
                self.forget(qp);
            }
        }
        let sender = &mut self.senders[qp];
        let flight = u64::from(sender.next - sender.una) * self.settings.nic.mtu.0;
        let ack = Ack {
            now,
            bytes: Bytes(bytes),
            packets: packet.payload & 0xffff,
            marked: packet.payload >> 16,
            rtt: now.since(packet.sent),
            in_flight: Bytes(flight),
            hops: self.stacks.read(id),
        };
        sender.cc.advance(&self.settings.cc, now);
        sender.cc.on_ack(&self.settings.cc, &ack);
        if sender.next < sender.end && !sender.listed && !sender.paced {
            self.wake(qp);
        }
    }

    /// Ends the messages that are acknowledged to the last byte; the payload that was, short last packets counted as
    /// such.
    fn finish(&mut self, qp: QpId, mut bytes: u64) -> u64 {
        loop {
            let (una, id, next) = {
                let sender = &self.senders[qp];
                (sender.una, sender.oldest, sender.next)
            };
            if id == NO_FLOW || una < self.flows[id].end {
                break;
            }
            let mtu = self.settings.nic.mtu.0;
            let flow = &mut self.flows[id];
            flow.acked = self.now;
            bytes = bytes.saturating_sub(u64::from(flow.end - flow.first) * mtu - flow.bytes);
            let follower = flow.next;
            let sender = &mut self.senders[qp];
            sender.oldest = follower;
            if follower == NO_FLOW {
                sender.newest = NO_FLOW;
            }
            // Acknowledgements can overtake the place that a sender went back to.
            if next >= sender.last && follower != NO_FLOW && sender.flow == id {
                self.enter(qp, follower);
            }
            self.done += 1;
            self.reached(id, Milestone::Acked);
        }
        bytes
    }

    /// The receiver misses `packet.seq`: go back to it (IBTA).
    pub(crate) fn nacked(&mut self, id: PacketId, packet: &Packet) {
        self.acked(id, packet);
        let qp = packet.qp;
        if self.senders[qp].broken.is_some() {
            return;
        }
        if self.settings.nic.recovery == Recovery::Selective {
            self.nic_counts[self.senders[qp].port].naks += 1;
            return self.missing(qp, packet.early);
        }
        if packet.seq != self.senders[qp].una {
            return;
        }
        self.nic_counts[self.senders[qp].port].naks += 1;
        self.lost(qp, Loss::Nak);
    }

    /// Congestion control learns of a loss.
    pub(super) fn lessen(&mut self, qp: QpId, loss: Loss) {
        let now = self.now;
        let sender = &mut self.senders[qp];
        sender.cc.advance(&self.settings.cc, now);
        sender.cc.on_loss(&self.settings.cc, now, loss);
    }

    fn lost(&mut self, qp: QpId, loss: Loss) {
        self.lessen(qp, loss);
        let sender = &mut self.senders[qp];
        if sender.next > sender.una {
            sender.next = sender.una;
            let oldest = sender.oldest;
            if oldest != NO_FLOW {
                self.enter(qp, oldest);
            }
        }
        self.wake(qp);
    }

    /// A CNP has come.
    pub(crate) fn notified(&mut self, packet: &Packet) {
        let now = self.now;
        let sender = &mut self.senders[packet.qp];
        self.count.cnps += 1;
        self.nic_counts[sender.port].cnps_handled += 1;
        sender.cc.advance(&self.settings.cc, now);
        sender.cc.on_cnp(&self.settings.cc, &Cnp { now, tier: packet.marked, share_ppm: packet.payload });
        self.wake(packet.qp);
    }

    /// The retransmission timer of a queue pair: it may have been put off since it was set.
    pub(crate) fn retry(&mut self, qp: QpId) {
        let now = self.now;
        let sender = &mut self.senders[qp];
        sender.watched = false;
        if sender.una == sender.top || sender.broken.is_some() {
            return;
        }
        if sender.patience > now {
            sender.watched = true;
            let patience = sender.patience;
            return self.events.push(patience, Event::new(Kind::Retry, qp.0));
        }
        self.count.timeouts += 1;
        self.nic_counts[sender.port].timeouts += 1;
        sender.tries += 1;
        if sender.tries > self.settings.nic.retries {
            return self.break_off(qp, Failure::Retries);
        }
        sender.patience = now + self.settings.nic.timeout;
        sender.watched = true;
        let patience = sender.patience;
        self.events.push(patience, Event::new(Kind::Retry, qp.0));
        match self.settings.nic.recovery {
            Recovery::GoBackN => self.lost(qp, Loss::Timeout),
            Recovery::Selective => self.all_missing(qp),
        }
    }

    /// The retries are used up: the queue pair is in error, and none of its messages will arrive (IBTA).
    pub(super) fn break_off(&mut self, qp: QpId, why: Failure) {
        let sender = &mut self.senders[qp];
        sender.broken = Some(why);
        sender.end = sender.next;
        let mut id = sender.oldest;
        sender.oldest = NO_FLOW;
        sender.newest = NO_FLOW;
        while id != NO_FLOW {
            let next = self.flows[id].next;
            self.fail(id, why);
            id = next;
        }
    }

    fn fail(&mut self, id: FlowId, why: Failure) {
        self.flows[id].failed = Some(why);
        self.failed += 1;
    }

    /// The next packet of a queue pair that has one.
    #[inline]
    pub(crate) fn make(&mut self, qp: QpId) -> Packet {
        use crate::engine::packet::What;
        if self.senders[qp].holes > 0
            && let Some((seq, flow)) = self.hole(qp)
        {
            return self.again(qp, seq, flow);
        }
        let now = self.now;
        let sender = &mut self.senders[qp];
        let seq = sender.next;
        sender.next += 1;
        let last = sender.next == sender.last;
        let payload = if last { sender.tail } else { self.settings.nic.mtu.0 as u32 };
        let mut size = payload + crate::wire::HEADERS;
        // A SEND has no RETH: its receive says where it goes.
        if seq == sender.first && self.settings.nic.receives.is_none() {
            size += crate::wire::RETH;
        }
        if self.feedback.telemetry {
            size += crate::wire::INT;
        }
        // What a window may hold back asks for an ACK, or the sender could wait for one that coalescing keeps.
        let flight = u64::from(sender.next - sender.una).saturating_mul(4 * self.settings.nic.mtu.0);
        let asks = self.settings.nic.ack_every > 1 && sender.cc.window().is_some_and(|window| flight >= window.0);
        let packet = Packet {
            asks,
            sent: now,
            qp,
            flow: sender.flow,
            seq,
            dst: sender.dst,
            entropy: sender.entropy,
            size,
            payload,
            what: if last { What::Last } else { What::Data },
            priority: sender.priority,
            ..Packet::default()
        };
        if seq < sender.top {
            self.count.resent += 1;
            self.nic_counts[sender.port].resent += 1;
            let flow = sender.flow;
            self.flows[flow].resent += 1;
        } else {
            sender.top = sender.next;
        }
        let sender = &mut self.senders[qp];
        if !sender.watched {
            sender.watched = true;
            sender.patience = now + self.settings.nic.timeout;
            let patience = sender.patience;
            self.events.push(patience, Event::new(Kind::Retry, qp.0));
        } else if sender.una + 1 == sender.next {
            sender.patience = now + self.settings.nic.timeout;
        }
        if last && self.flows[self.senders[qp].flow].next != NO_FLOW {
            let next = self.flows[self.senders[qp].flow].next;
            self.enter(qp, next);
        }
        packet
    }
}
