//! Packet spray: every packet goes its own way, whatever the load. Links fill evenly, packets arrive out of order.

use super::{Key, Policy, View};
use crate::topology::{Hops, HostId, NodeId, PortId, Topology};

/// How the next way is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// At random.
    #[default]
    Random,
    /// One after the other, at each switch.
    Turns,
}

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Settings {
    /// How the next way is found.
    pub order: Order,
}

/// Packet spray.
#[derive(Clone, Debug)]
pub struct Spray {
    order: Order,
    turns: Vec<u32>,
}

impl Policy for Spray {
    type Settings = Settings;

    fn new(settings: &Settings, fabric: &Topology, seed: u64) -> Self {
        // Switches that all began with the same port would move in step.
        let begin = |node: NodeId| crate::rng::mix(seed ^ u64::from(node.0)) as u32;
        Self { order: settings.order, turns: fabric.nodes().map(begin).collect() }
    }

    fn entropy(&self, _: &Key) -> u32 {
        0
    }

    fn sprays(&self) -> bool {
        true
    }

    #[inline]
    fn choose<V: View>(&mut self, view: &mut V, at: NodeId, to: HostId, _: u32, hops: Hops) -> PortId {
        let mut next = |count: u32| match self.order {
            Order::Random => view.below(count),
            Order::Turns => self.turns.get_mut(at.0 as usize).map_or(0, |turn| {
                *turn = turn.wrapping_add(1);
                turn.checked_rem(count).unwrap_or(0)
            }),
        };
        let nth = next(hops.count);
        let port = PortId(hops.first.0 + nth);
        if !view.damaged() || view.usable(port, to) {
            return port;
        }
        // The next usable one after it would carry both loads: draw again among those that are left.
        let left = hops.ports().filter(|port| view.usable(*port, to)).count() as u32;
        let nth = if left > 0 { view.below(left) } else { 0 };
        hops.ports().filter(|port| view.usable(*port, to)).nth(nth as usize).unwrap_or(hops.first)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Still;
    use super::*;
    use crate::topology::{Cable, FatTree};
    use crate::units::{Rate, Time};

    fn loads(order: Order, dead: Vec<PortId>) -> [u32; 4] {
        let fabric = FatTree::radix(8, Cable::new(Rate::gbps(100), Time::us(1))).build().unwrap();
        let mut spray = Spray::new(&Settings { order }, &fabric, 1);
        let mut view = Still { dead, ..Still::default() };
        let mut loads = [0; 4];
        for _ in 0..4_000 {
            let hops = Hops { first: PortId(0), count: 4 };
            loads[spray.choose(&mut view, NodeId(130), HostId(0), 0, hops).0 as usize] += 1;
        }
        loads
    }

    #[test]
    fn every_way_gets_its_share() {
        assert_eq!(loads(Order::Turns, vec![]), [1_000; 4]);
        assert!(loads(Order::Random, vec![]).iter().all(|load| (900..1_100).contains(load)));
        let left = loads(Order::Turns, vec![PortId(1)]);
        assert!(
            left[1] == 0 && [left[0], left[2], left[3]].iter().all(|load| (1_250..1_420).contains(load)),
            "{left:?}"
        );
    }
}
