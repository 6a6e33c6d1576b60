//! Path pinning (SYSTEMS R2): the destination's place below its leaf chooses the uplink, so that a full rack spreads
//! evenly and no two of its downlinks share an uplink.
//!
//! A leaf sends by the destination's place below its leaf, a spine by the number of that leaf. Racks that a job uses in
//! part leave uplinks idle while others carry all: places, not flows, are what is spread. Where the pinned port is out
//! of use, its flows go by a hash to those that are left, which then carry more than the others (Gangidi et al.: "RDMA
//! over Ethernet for distributed AI training at Meta scale", SIGCOMM 2024).

use super::hash::{Fields, Hash};
use super::{Key, Policy, View, spread};
use crate::topology::{Hops, HostId, NodeId, PortId, Topology};

/// Nothing can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Settings;

crate::scenario::knobs!(Settings {});

/// Path pinning.
#[derive(Clone, Debug)]
pub struct Pinned {
    /// Of every host: its place below its leaf, and which leaf of its fabric that is.
    places: Vec<(u32, u32)>,
    tier: Vec<u8>,
}

impl Policy for Pinned {
    type Settings = Settings;

    fn new(_: &Settings, fabric: &Topology, _: u64) -> Self {
        let tier: Vec<u8> = fabric.nodes().map(|node| fabric.tier(node)).collect();
        let first_leaf = tier.iter().position(|tier| *tier > 0).unwrap_or(0) as u32;
        let place = |host: HostId| {
            let up = fabric.ports()[fabric.ports_of(host.into()).first];
            let leaf = fabric.ports()[up.peer].node;
            (up.peer.0 - fabric.ports_of(leaf).first.0, leaf.0 - first_leaf)
        };
        Self { places: (0..fabric.hosts()).map(HostId).map(place).collect(), tier }
    }

    fn entropy(&self, key: &Key) -> u32 {
        Hash::Mix.of(Fields::TUPLE_QP, key)
    }

    #[inline]
    fn choose<V: View>(&mut self, view: &mut V, at: NodeId, to: HostId, entropy: u32, hops: Hops) -> PortId {
        let (place, leaf) = self.places.get(to.0 as usize).copied().unwrap_or_default();
        let low = self.tier.get(at.0 as usize).is_none_or(|tier| *tier <= 1);
        let pin = if low { place } else { leaf };
        let port = PortId(hops.first.0 + pin.checked_rem(hops.count).unwrap_or(0));
        if !view.damaged() || view.usable(port, to) {
            return port;
        }
        spread(view, to, hops, Hash::Mix.at(0, entropy))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Still, key};
    use super::*;
    use crate::topology::{Cable, Clos2};
    use crate::units::{Rate, Time};

    const CABLE: Cable = Cable::new(Rate::gbps(100), Time::us(1));

    /// Load of the first leaf's eight uplinks when its hosts send to `used` places of the second leaf.
    fn loads(used: u32, dead: Vec<PortId>) -> Vec<u32> {
        let clos = Clos2 { leaves: 2, spines: 8, hosts_per_leaf: 16, parallel: 1, host: CABLE, spine: CABLE };
        let fabric = clos.build().unwrap();
        let mut pinned = Pinned::new(&Settings, &fabric, 1);
        let leaf = NodeId(32);
        let mut view = Still { dead, ..Still::default() };
        let mut loads = vec![0; 8];
        for n in 0..used {
            let to = HostId(16 + n);
            let hops = fabric.next_hops(leaf, to);
            let entropy = pinned.entropy(&key(n));
            let port = pinned.choose(&mut view, leaf, to, entropy, hops);
            loads[(port.0 - hops.first.0) as usize] += 1;
        }
        loads
    }

    #[test]
    fn full_racks_are_even_and_partial_ones_are_not() {
        assert_eq!(loads(16, vec![]), [2; 8]);
        // Half a rack with neighbouring places still spreads; two places alone use two uplinks of eight.
        assert_eq!(loads(2, vec![]), [1, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_dead_uplink_makes_others_carry_more() {
        // The leaf's ports follow those of 32 hosts and 16 down ports.
        let loads = loads(16, vec![PortId(32 + 16)]);
        assert_eq!(loads.iter().sum::<u32>(), 16);
        assert_eq!(loads[0], 0);
        assert!(loads.iter().any(|load| *load > 2), "{loads:?}");
    }
}
