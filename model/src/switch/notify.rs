//! CNPs that switches make themselves (SYSTEMS C16): the sender hears of a queue without the trip to the receiver.
//!
//! Where a switch would mark a packet, it leaves it as it is and sends a CNP to its sender, with its own address and
//! tier. The receiver sees no mark, and so sends none. A queue pair's interval between CNPs is kept over the whole
//! fabric, as it is where receivers make them. The CNP takes its way and its room in the buffer as if it had come in by
//! the port of the packet.

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

impl State {
    /// Whether the sender of a packet that met too long a queue at `at` is to have a CNP: not for what is no data, and
    /// not when it had one a short while ago.
    #[inline(never)]
    pub(super) fn notices(&mut self, at: PortId, id: PacketId) -> bool {
        let packet = &self.packets[id];
        if !matches!(packet.what, What::Data | What::Last) {
            return false;
        }
        let clock = &mut self.clocks[self.receivers[packet.qp].clock];
        if *clock > self.now {
            return false;
        }
        *clock = self.now + self.settings.nic.cnp_interval;
        self.counters[at].cnps += 1;
        self.flows[packet.flow].cnps += 1;
        true
    }

    /// Sends a CNP for a packet that came in by `ingress` and leaves by `at`, or has begun to.
    #[inline(never)]
    pub(super) fn give_notice(&mut self, (ingress, at): (PortId, PortId), id: PacketId) {
        let Packet { qp, .. } = self.packets[id];
        let node = self.fabric.ports()[at].node;
        let Some(switch) = self.fabric.switch(node) else { return };
        let receiver = &self.receivers[qp];
        let cnp = Packet {
            sent: self.now,
            qp,
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
