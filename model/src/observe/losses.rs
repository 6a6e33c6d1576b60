//! Whose frames are lost: what switches drop and cables break, by who sent it to whom.
//!
//! Losses are rare beside frames, so that nobody need ask before they are counted; memory follows the pairs that lose.

use std::collections::BTreeMap;

use crate::engine::packet::{PacketId, What};
use crate::engine::{Simulation, State};
use crate::topology::{HostId, NodeId};

/// Lost frames by the node that made them (a host, but for CNPs of switches) and the host that they were for.
pub type Losses = BTreeMap<(NodeId, HostId), u64>;

impl State {
    /// A frame is dropped, or broken on its cable. Pauses and credits are between two ends of a cable: nobody misses
    /// them.
    #[cold]
    pub(crate) fn note_loss(&mut self, id: PacketId) {
        let packet = &self.packets[id];
        let from = match packet.what {
            What::Data | What::Last => self.senders[packet.qp].key.src.into(),
            What::Ack | What::Nak | What::NotReady => self.senders[packet.qp].key.dst.into(),
            What::Cnp => NodeId(packet.msn),
            What::Pause | What::Credit => return,
        };
        *self.losses.entry((from, packet.dst)).or_default() += 1;
    }
}

impl Simulation {
    /// What has been lost so far.
    #[must_use]
    pub const fn losses(&self) -> &Losses {
        &self.state.losses
    }
}
