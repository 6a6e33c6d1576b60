//! What must hold at any time, looked at in debug builds.

use super::State;
use super::event::Kind;
use crate::switch::deadlock::Queue;
use crate::topology::PortId;
use crate::units::Priority;

impl State {
    /// Compares every sum that the engine keeps with what it sums up.
    ///
    /// # Panics
    /// Where one is wrong: a fault of the model.
    pub(crate) fn check(&self) {
        let mut live = 0;
        let mut held = vec![0_u64; self.ports.len()];
        for (id, port) in self.ports.iter() {
            assert!(port.time_for(1).0 > 0, "a byte takes no time");
            // Throttled or not, its cable was laid with this.
            let line = self.fabric.ports()[id].cable.rate.bytes_in(self.now.max(port.busy)).0;
            assert!(port.sent <= line, "port {} sent {} bytes where its line carries {line}", id.0, port.sent);
            let mut queued = 0;
            for priority in (0..8).map(Priority::new) {
                let queue = &port.queues[priority];
                let mut bytes = 0;
                for packet in self.standing(Queue { port: id, priority }) {
                    live += 1;
                    bytes += u64::from(self.packets[packet].size);
                    if id.0 >= self.fabric.hosts() {
                        let ingress = self.packets[packet].ingress;
                        if let Some(sum) = held.get_mut(ingress.0 as usize) {
                            *sum += u64::from(self.packets[packet].size);
                        }
                    }
                }
                assert_eq!(bytes, queue.bytes, "bytes in a queue of port {}", id.0);
                assert_eq!(port.waiting.has(priority), bytes > 0, "a queue's bit of port {}", id.0);
                queued += bytes;
            }
            assert_eq!(queued, port.queued, "bytes in the queues of port {}", id.0);
        }
        for (row, sum) in (0..).zip(held) {
            let account: u64 = self.held[PortId(row)].0.iter().map(|held| held.shared + held.room()).sum();
            assert_eq!(account, sum, "the account of port {row}");
            if let Some(grant) = self.credits.grant(PortId(row)) {
                let most = self.held[PortId(row)].0.iter().map(|held| held.room()).max();
                assert!(most.is_none_or(|room| room <= grant), "port {row} holds more than it granted");
            }
        }
        let cables = self.events.all().filter(|event| event.kind() == Kind::Arrive).count();
        assert_eq!(live + cables as u32, self.packets.live(), "packets in queues and on cables");
        for switch in self.pools.ids() {
            let node = self.fabric.node(switch);
            let ports = self.fabric.ports_of(node).ports();
            let used: u64 = ports.flat_map(|port| self.held[port].0).map(|held| held.shared).sum();
            assert_eq!(used, self.pools[switch].used, "the pool of switch {}", switch.0);
            assert!(used <= self.pools[switch].size, "switch {} holds more than it has", switch.0);
        }
    }
}
