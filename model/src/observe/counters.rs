//! Counters as NICs and switches keep them.

use crate::engine::Simulation;
use crate::engine::event::Kind;
use crate::engine::packet::PacketId;
use crate::table::Table;
use crate::topology::{HostId, PortId};
use crate::units::{Bytes, Priority, Time};
use crate::wire;

/// What a NIC counts about its queue pairs, by the names that Linux shows for an RDMA device (`hw_counters`, mlx5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NicCounters {
    /// `np_ecn_marked_roce_packets`: packets that came with a CE mark.
    pub marked: u64,
    /// `np_cnp_sent`.
    pub cnps_sent: u64,
    /// `rp_cnp_handled`.
    pub cnps_handled: u64,
    /// `out_of_sequence`: requests that came before one that should have come first.
    pub out_of_sequence: u64,
    /// `duplicate_request`: requests that had come before.
    pub duplicates: u64,
    /// `packet_seq_err`: NAKs that made it send again.
    pub naks: u64,
    /// `local_ack_timeout_err`.
    pub timeouts: u64,
    /// Packets that it sent again; mlx5 does not show it.
    pub resent: u64,
}

/// What a port counts, PFC frames included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PortCounters {
    /// Frames sent.
    pub tx_frames: u64,
    /// Bytes sent, FCS included, preambles and gaps left out.
    pub tx_bytes: Bytes,
    /// Frames received.
    pub rx_frames: u64,
    /// Bytes received.
    pub rx_bytes: Bytes,
    /// Packets marked CE on their way out.
    pub marks: u64,
    /// CNPs that its switch made for packets on their way out.
    pub cnps: u64,
    /// Packets that came in and found no room.
    pub drops: u64,
    /// Frames on their way in that a cut or a bit error of the cable took.
    pub broken: u64,
    /// Times that a priority was told to stop.
    pub rx_pauses: u64,
    /// For how long, summed over priorities, a pause that still lasts included.
    pub paused: Time,
}

impl Simulation {
    /// The counters of every port.
    #[must_use]
    pub fn port_counters(&self) -> Table<PortId, PortCounters> {
        let state = &self.state;
        // What was sent and is still on its way.
        let mut coming: Table<PortId, (u64, u64)> = Table::filled((0, 0), state.ports.len());
        for event in state.events.all().filter(|event| event.kind() == Kind::Arrive) {
            let packet = &state.packets[event.row::<PacketId>()];
            let (frames, bytes) = &mut coming[packet.ingress];
            *frames += 1;
            *bytes += u64::from(packet.size);
        }
        let sent = |port: PortId| {
            let counters = state.counters(port);
            (counters.frames, counters.bytes - counters.frames * u64::from(wire::GAP))
        };
        let one = |port: PortId| {
            let counters = state.counters(port);
            let (tx_frames, tx_bytes) = sent(port);
            let (rx_frames, rx_bytes) = sent(state.ports[port].peer);
            let (frames, bytes) = coming[port];
            let pauses = (0..8).map(Priority::new).map(|priority| (priority, counters.pause[priority]));
            let now = |priority| state.ports[port].paused.has(priority);
            PortCounters {
                tx_frames,
                tx_bytes: Bytes(tx_bytes),
                rx_frames: rx_frames - frames,
                rx_bytes: Bytes(rx_bytes - bytes),
                marks: counters.marks,
                cnps: counters.cnps,
                drops: counters.drops,
                broken: counters.broken,
                rx_pauses: pauses.clone().map(|(_, clock)| clock.times).sum(),
                paused: pauses.fold(Time::ZERO, |sum, (priority, clock)| {
                    let last = if now(priority) { state.now.since(clock.since) } else { Time::ZERO };
                    sum + clock.total + last
                }),
            }
        };
        state.ports.ids().map(one).collect()
    }

    /// The counters of a host's NIC.
    #[must_use]
    pub fn nic_counters(&self, host: HostId) -> NicCounters {
        self.state.nic_counts[self.state.fabric.ports_of(host.into()).first]
    }
}
