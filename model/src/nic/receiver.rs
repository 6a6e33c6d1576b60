//! The receiving half of a queue pair.

use crate::engine::State;
use crate::engine::packet::{Packet, PacketId, QpId, What};
use crate::nic::Recovery;
use crate::table::id;
use crate::topology::{HostId, PortId};
use crate::units::{Priority, Qpn, Time};
use crate::wire;
use crate::workload::{FlowId, Milestone};

id! {
    /// What an interval between CNPs is kept for: a queue pair, a pair of addresses or a port.
    ClockId
}

/// The receiving half of a queue pair.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// The packet that it waits for.
    pub(crate) expected: u32,
    /// Packets, and marked ones among them, since the last ACK.
    pub(crate) packets: u16,
    pub(crate) marked: u16,
    /// Whether it has asked for `expected` again (IBTA: once until it comes).
    pub(crate) asked: bool,
    /// Messages that it has taken whole.
    pub(crate) messages: u32,
    /// The sender's queue pair, which answers are addressed to.
    pub(crate) back: Qpn,
    pub(crate) ack_priority: Priority,
    pub(crate) src: HostId,
    /// What its ACKs' way is chosen by.
    pub(crate) entropy: u32,
    pub(crate) clock: ClockId,
}

impl State {
    /// A packet has come in by a host's port.
    #[inline]
    pub(crate) fn receive(&mut self, at: PortId, id: PacketId) {
        let packet = self.packets[id];
        match packet.what {
            What::Data | What::Last => self.take(at, id, &packet),
            What::Ack => self.acked(id, &packet),
            What::Nak => self.nacked(id, &packet),
            What::NotReady => self.sent_away(id, &packet),
            What::Cnp => self.notified(&packet),
            What::Pause | What::Credit => {}
        }
        if !matches!(packet.what, What::Data | What::Last) {
            self.packets.drop(id);
        }
    }

    #[inline]
    fn take(&mut self, at: PortId, id: PacketId, packet: &Packet) {
        let qp = packet.qp;
        let receiver = &mut self.receivers[qp];
        if packet.marked > 0 {
            receiver.marked += 1;
            self.flows[packet.flow].marked += 1;
            self.nic_counts[at].marked += 1;
            self.notify(at, packet);
        }
        if let Some(domains) = self.feedback.domains {
            self.weigh(at, packet, &domains);
        }
        let receiver = &mut self.receivers[qp];
        if packet.seq == receiver.expected {
            if let Some(receives) = self.settings.nic.receives
                && !self.admits(packet, &receives)
            {
                return self.answer(at, id, qp, What::NotReady, packet.sent);
            }
            let receiver = &mut self.receivers[qp];
            receiver.expected += 1;
            receiver.packets += 1;
            receiver.asked = false;
            self.delivered += u64::from(packet.payload);
            let last = packet.what == What::Last;
            receiver.messages += u32::from(last);
            if self.settings.nic.recovery == Recovery::Selective {
                self.follow(qp);
            }
            let receiver = &mut self.receivers[qp];
            if last || packet.asks || receiver.packets >= self.settings.nic.ack_every {
                self.answer(at, id, qp, What::Ack, packet.sent);
            } else {
                self.packets.drop(id);
            }
            if last {
                self.arrived(packet.flow);
            }
        } else if packet.seq > receiver.expected {
            self.count.out_of_order += 1;
            self.nic_counts[at].out_of_sequence += 1;
            if self.settings.nic.recovery == Recovery::Selective {
                receiver.packets += 1;
                if self.keep(packet) {
                    self.delivered += u64::from(packet.payload);
                }
                self.count.naks += 1;
                return self.answer(at, id, qp, What::Nak, packet.sent);
            }
            if receiver.asked {
                return self.packets.drop(id);
            }
            receiver.asked = true;
            self.count.naks += 1;
            self.answer(at, id, qp, What::Nak, packet.sent);
        } else {
            // A repeat of what has arrived: say so again (IBTA).
            receiver.packets += 1;
            self.nic_counts[at].duplicates += 1;
            self.answer(at, id, qp, What::Ack, packet.sent);
        }
    }

    /// Sends an ACK or NAK in the place of the packet that it answers.
    #[inline]
    fn answer(&mut self, at: PortId, id: PacketId, qp: QpId, what: What, sent: Time) {
        let receiver = &mut self.receivers[qp];
        let early = self.packets[id].seq;
        let counts = u32::from(receiver.packets) | u32::from(receiver.marked) << 16;
        receiver.packets = 0;
        receiver.marked = 0;
        self.packets[id] = Packet {
            sent,
            qp,
            seq: receiver.expected,
            dst: receiver.src,
            entropy: receiver.entropy,
            size: wire::ACK + if self.feedback.telemetry { wire::INT } else { 0 },
            payload: counts,
            msn: receiver.messages,
            early,
            what,
            priority: receiver.ack_priority,
            ..Packet::default()
        };
        self.post(at, id);
    }

    /// Sends a CNP for a marked packet, unless one was sent a short while ago (SIGCOMM 2015).
    fn notify(&mut self, at: PortId, packet: &Packet) {
        if !self.feedback.cnp {
            return;
        }
        let receiver = &self.receivers[packet.qp];
        let ready = &mut self.clocks[receiver.clock];
        if *ready > self.now {
            return;
        }
        *ready = self.now + self.settings.nic.cnp_interval;
        self.send_cnp(at, packet, packet.marked, 1_000_000);
    }

    /// Sends a CNP that names a tier and its share of marks, to the sender of a packet.
    pub(super) fn send_cnp(&mut self, at: PortId, packet: &Packet, tier: u8, share_ppm: u32) {
        self.nic_counts[at].cnps_sent += 1;
        self.flows[packet.flow].cnps += 1;
        let qp = packet.qp;
        let receiver = &self.receivers[qp];
        let cnp = Packet {
            sent: self.now,
            qp,
            seq: receiver.expected,
            dst: receiver.src,
            entropy: receiver.entropy,
            size: wire::CNP,
            payload: share_ppm,
            msn: self.fabric.ports()[at].node.0,
            what: What::Cnp,
            priority: self.settings.nic.cnp_priority,
            marked: tier,
            ..Packet::default()
        };
        let id = self.packets.add(cnp);
        self.post(at, id);
    }

    /// Puts an answer on a host's cable, or in the port's queue.
    #[inline]
    fn post(&mut self, at: PortId, id: PacketId) {
        let port = &mut self.ports[at];
        let priority = self.packets[id].priority;
        if port.idle(self.now) && port.waiting.is_empty() && port.due.is_empty() && !port.paused.has(priority) {
            return self.transmit(at, id);
        }
        port.enqueue(&mut self.packets, id);
        if !port.paused.has(priority) {
            self.kick(at);
        }
    }

    /// The last byte of a flow has arrived.
    pub(super) fn arrived(&mut self, id: FlowId) {
        self.flows[id].delivered = self.now;
        self.reached(id, Milestone::Delivered);
    }
}
