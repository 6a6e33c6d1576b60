//! CNPs that switches make themselves (SYSTEMS C16): the sender hears of a queue without the trip to the receiver.
//!
//! Where a switch would mark a packet, it leaves it as it is and sends a CNP to its sender, with its own address and tier. The
//! receiver sees no mark, and so sends none. A queue pair's interval between CNPs is kept over the whole fabric, as it is
//! where receivers make them. The CNP takes its way and its room in the buffer as if it had come in by the port of the
//! packet.

use crate::engine::State;
use crate::engine::packet::{Packet, PacketId, What};
use crate::topology::PortId;
use crate::wire;

/// Who makes CNPs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CnpBy {
    /// The receiver, for packets that switches have marked.
    #[default]
    Receiver,
    /// The switch, for packets that it would have marked.
    Switch,
}

/// A CNP that a switch owes: the packet that it is for, and the port that packet came in by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notice {
    packet: Packet,
    ingress: PortId,
}

impl State {
    /// The CNP for a packet that met too long a queue at `at`, unless one was sent a short while ago, or it is no data.
    #[inline(never)]
    pub(super) fn notice(&mut self, at: PortId, id: PacketId) -> Option<Notice> {
        let packet = self.packets[id];
        if !matches!(packet.what, What::Data | What::Last) {
            return None;
        }
        let clock = &mut self.clocks[self.receivers[packet.qp].clock];
        if *clock > self.now {
            return None;
        }
        *clock = self.now + self.settings.nic.cnp_interval;
        self.counters[at].cnps += 1;
        self.flows[packet.flow].cnps += 1;
        Some(Notice { packet, ingress: packet.ingress })
    }

    /// Sends a CNP on its way.
    #[inline(never)]
    pub(super) fn give_notice(&mut self, at: PortId, Notice { packet, ingress }: Notice) {
        let node = self.fabric.ports()[at].node;
        let Some(switch) = self.fabric.switch(node) else { return };
        let receiver = &self.receivers[packet.qp];
        let cnp = Packet {
            sent: self.now,
            qp: packet.qp,
            dst: receiver.src,
            entropy: receiver.entropy,
            ingress,
            node,
            size: wire::CNP,
            payload: 1_000_000,
            msn: node.0,
            what: What::Cnp,
            priority: self.settings.nic.cnp_priority,
            marked: self.ports[at].tier,
            ..Packet::default()
        };
        let id = self.packets.add(cnp);
        self.forward(ingress, node, switch, id);
    }
}
