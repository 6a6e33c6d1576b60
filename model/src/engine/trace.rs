//! What the hops wrote into packets, where a congestion control wants to know (HPCC's INT). Beside the packets, and empty
//! when nobody does. An ACK takes the row of the packet that it answers, and with it what was written there.

use super::State;
use super::packet::{PacketId, What};
use crate::cc::{HOPS, Telemetry};
use crate::table::{Id, Table};
use crate::topology::PortId;
use crate::units::Bytes;

#[derive(Clone, Copy, Debug, Default)]
struct Trace {
    hops: [Telemetry; HOPS],
    count: u8,
}

/// One trace for each packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traces {
    rows: Table<PacketId, Trace>,
}

impl Traces {
    /// A packet is sent: nothing is written in it.
    pub(crate) fn begin(&mut self, id: PacketId) {
        while self.rows.len() <= id.row() {
            self.rows.push(Trace::default());
        }
        self.rows[id].count = 0;
    }

    /// What is written in a packet.
    pub(crate) fn of(&self, id: PacketId) -> &[Telemetry] {
        let Some(trace) = self.rows.rows().get(id.row()) else { return &[] };
        trace.hops.get(..usize::from(trace.count)).unwrap_or_default()
    }
}

impl State {
    /// A switch begins to send a packet by `at`, and writes into it what it leaves behind.
    pub(crate) fn trace(&mut self, at: PortId, id: PacketId) {
        let packet = &self.packets[id];
        if !matches!(packet.what, What::Data | What::Last) {
            return;
        }
        let port = &self.ports[at];
        let trace = &mut self.traces.rows[id];
        let Some(hop) = trace.hops.get_mut(usize::from(trace.count)) else { return };
        let queue = Bytes(u64::from(port.queues[packet.priority].bytes));
        *hop = Telemetry { at: self.now, queue, sent: Bytes(port.sent), line: port.rate() };
        trace.count += 1;
    }
}
