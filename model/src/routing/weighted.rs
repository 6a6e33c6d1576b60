//! Weighted ECMP: a port gets flows in proportion to what it can carry to the destination.
//!
//! That is its own rate, and no more than its share of what the next switch has left towards there: after failures
//! plain ECMP keeps sending a full share into a switch that lost half of its links (Zhou et al.: "WCMP: weighted cost
//! multipathing for improved fairness in data centers", EuroSys 2014).

use super::hash::{Fields, Hash};
use super::{Key, Policy, View};
use crate::rng::mix;
use crate::topology::{Hops, HostId, NodeId, PortId, Topology};

/// Nothing can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Settings;

crate::scenario::knobs!(Settings {});

/// Weighted ECMP.
#[derive(Clone, Debug)]
pub struct Weighted {
    seed: u64,
    fabric: Topology,
}

impl Weighted {
    /// What `port`, one of `hops`, can carry to `to`, in bits per second.
    fn weight<V: View>(&self, view: &V, port: PortId, to: HostId, hops: Hops) -> u64 {
        if view.damaged() && !view.usable(port, to) {
            return 0;
        }
        let ports = self.fabric.ports();
        let own = ports[port].cable.rate.0;
        let next = ports[ports[port].peer].node;
        if !view.damaged() || next == NodeId::from(to) {
            return own;
        }
        let left = self.fabric.next_hops(next, to).ports().filter(|port| view.usable(*port, to));
        let left: u64 = left.map(|port| ports[port].cable.rate.0).sum();
        let beside = hops.ports().filter(|other| ports[ports[*other].peer].node == next && view.usable(*other, to));
        own.min(left / beside.count().max(1) as u64)
    }
}

impl Policy for Weighted {
    type Settings = Settings;

    fn new(_: &Settings, fabric: &Topology, seed: u64) -> Self {
        Self { seed, fabric: fabric.clone() }
    }

    fn entropy(&self, key: &Key) -> u32 {
        Hash::Mix.of(Fields::TUPLE_QP, key)
    }

    #[inline]
    fn choose<V: View>(&mut self, view: &mut V, at: NodeId, to: HostId, entropy: u32, hops: Hops) -> PortId {
        let all: u64 = hops.ports().map(|port| self.weight(view, port, to, hops)).sum();
        let hash = Hash::Mix.at(mix(self.seed ^ u64::from(at.0)), entropy);
        let mut place = ((u128::from(all) * u128::from(hash)) >> 32) as u64;
        for port in hops.ports() {
            let weight = self.weight(view, port, to, hops);
            if place < weight {
                return port;
            }
            place -= weight;
        }
        hops.first
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Still, key};
    use super::*;
    use crate::topology::{Cable, Clos2};
    use crate::units::{Rate, Time};

    #[test]
    fn a_spine_that_lost_half_gets_half() {
        let cable = Cable::new(Rate::gbps(100), Time::us(1));
        // Two spines, two cables from each leaf to each; the first spine has lost one of its cables down to the second
        // leaf.
        let clos = Clos2 { leaves: 2, spines: 2, hosts_per_leaf: 2, parallel: 2, host: cable, spine: cable };
        let fabric = clos.build().unwrap();
        let (leaf, spine, to) = (NodeId(4), NodeId(6), HostId(3));
        let hops = fabric.next_hops(leaf, to);
        let dead = fabric.next_hops(spine, to).first;
        let share = |dead: Vec<PortId>| {
            let mut weighted = Weighted::new(&Settings, &fabric, 1);
            let mut view = Still { dead, ..Still::default() };
            let mut loads = [0_u32; 4];
            for n in 0..4_000 {
                let entropy = weighted.entropy(&key(n));
                loads[(weighted.choose(&mut view, leaf, to, entropy, hops).0 - hops.first.0) as usize] += 1;
            }
            loads
        };
        assert!(share(vec![]).iter().all(|load| (900..1_100).contains(load)));
        let left = share(vec![dead]);
        let near = |load: u32, want: u32| load.abs_diff(want) < 110;
        assert!(near(left[0], 667) && near(left[1], 667) && near(left[2], 1_333) && near(left[3], 1_333), "{left:?}");
    }

    #[test]
    fn faster_cables_get_more() {
        let cable = |gbps| Cable::new(Rate::gbps(gbps), Time::us(1));
        let slow = Clos2 { leaves: 2, spines: 2, hosts_per_leaf: 1, parallel: 1, host: cable(100), spine: cable(100) };
        let mut fabric = slow.build().unwrap();
        let hops = fabric.next_hops(NodeId(2), HostId(1));
        fabric.throttle(hops.first, Rate::gbps(25));
        let mut weighted = Weighted::new(&Settings, &fabric, 1);
        let mut view = Still::default();
        let first = (0..4_000)
            .filter(|n| {
                let entropy = weighted.entropy(&key(*n));
                weighted.choose(&mut view, NodeId(2), HostId(1), entropy, hops) == hops.first
            })
            .count();
        assert!((720..880).contains(&first), "{first}");
    }
}
