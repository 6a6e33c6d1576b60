//! What switches write into packets, where congestion control asks for it (in-band telemetry: HPCC, SIGCOMM 2019).
//!
//! A packet's stack stands beside the arena, in the row of the packet's own number, and its ACK, which takes the same
//! row, carries it back. Nothing is kept where nobody asked.

use super::packet::PacketId;
use crate::cc::Telemetry;
use crate::table::Table;

/// Hops that a packet can speak of: up and down five tiers of switches.
const MOST: usize = 9;

/// What the hops of one packet wrote.
#[derive(Clone, Copy, Debug, Default)]
struct Stack {
    hops: [Telemetry; MOST],
    len: usize,
}

/// The stacks of all packets on their way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stacks {
    rows: Table<PacketId, Stack>,
}

impl Stacks {
    /// A packet begins its way.
    pub(crate) fn begin(&mut self, id: PacketId) {
        while !self.rows.has(id) {
            self.rows.push(Stack::default());
        }
        self.rows[id].len = 0;
    }

    /// A hop writes; what finds no more room is left out.
    pub(crate) fn write(&mut self, id: PacketId, hop: Telemetry) {
        let stack = &mut self.rows[id];
        if let Some(place) = stack.hops.get_mut(stack.len) {
            *place = hop;
            stack.len += 1;
        }
    }

    /// What the hops wrote, the first one first; nothing where nobody asked.
    pub(crate) fn read(&self, id: PacketId) -> &[Telemetry] {
        if !self.rows.has(id) {
            return &[];
        }
        let stack = &self.rows[id];
        stack.hops.get(..stack.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn a_row_is_used_again() {
        let mut stacks = Stacks::default();
        let id = PacketId(3);
        assert!(stacks.read(id).is_empty());
        stacks.begin(id);
        for n in 0..MOST as u64 + 2 {
            stacks.write(id, Telemetry { sent: Bytes(n), ..Telemetry::default() });
        }
        let sent: Vec<u64> = stacks.read(id).iter().map(|hop| hop.sent.0).collect();
        assert_eq!(sent, (0..MOST as u64).collect::<Vec<_>>());
        stacks.begin(id);
        assert!(stacks.read(id).is_empty());
    }
}
