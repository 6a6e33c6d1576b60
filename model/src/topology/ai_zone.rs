//! AI Zones (SYSTEMS F2, F3): leaves (RTSW) and deep-buffer spines (CTSW) make a zone; aggregation switches (ATSW) join
//! zones, over-subscribed.
//!
//! After Gangidi et al.: "RDMA over Ethernet for distributed AI training at Meta scale", SIGCOMM 2024.

use super::{Cable, Covers, Error, HostId, Plan, Switch, Topology, at_least, uplinks};

/// The dimensions of joined zones. Hosts are numbered leaf by leaf, zone by zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AiZone {
    /// Zones.
    pub zones: u32,
    /// Leaves of a zone: racks.
    pub leaves: u32,
    /// Hosts (GPUs, each with its NIC) on each leaf.
    pub hosts_per_leaf: u32,
    /// Spines of a zone, each with one cable to every leaf of its zone.
    pub spines: u32,
    /// Aggregation switches, each with one cable to every spine of every zone; 0 for a zone that stands alone.
    pub aggregators: u32,
    /// Cables from hosts to leaves.
    pub host: Cable,
    /// Cables from leaves to spines.
    pub spine: Cable,
    /// Cables from spines to aggregation switches.
    pub aggregation: Cable,
}

impl AiZone {
    /// The same, with as many spines and aggregation switches as the ratios want: what a leaf's hosts send to its
    /// uplinks, and what a spine's leaves send to its own. `(7, 1)` is over-subscribed, `(1, 2)` under-subscribed (F7).
    #[must_use]
    pub const fn subscribe(self, leaf: (u32, u32), spine: (u32, u32)) -> Self {
        let spines = uplinks(self.hosts_per_leaf, self.host.rate, self.spine.rate, leaf);
        let aggregators = uplinks(self.leaves, self.spine.rate, self.aggregation.rate, spine);
        Self { spines, aggregators, ..self }
    }

    /// Lays it out.
    ///
    /// # Errors
    /// A dimension of zero, several zones without aggregation, or more than the model can name.
    pub fn build(&self) -> Result<Topology, Error> {
        let Self { zones, leaves, hosts_per_leaf, spines, aggregators, .. } = *self;
        for (what, is) in [("zones", zones), ("leaves", leaves), ("hosts_per_leaf", hosts_per_leaf), ("spines", spines)]
        {
            at_least("ai_zone", what, is, 1)?;
        }
        if zones > 1 {
            at_least("ai_zone", "aggregators", aggregators, 1)?;
        }
        let all = (u64::from(zones) * u64::from(leaves)).saturating_mul(u64::from(hosts_per_leaf));
        let mut plan = Plan::new("ai_zone", all)?;
        let (hosts, per_zone) = (all as u32, leaves * hosts_per_leaf);
        let mut leaf_ids = Vec::new();
        for leaf in 0..zones * leaves {
            let first = leaf * hosts_per_leaf;
            let last = first + hosts_per_leaf;
            let covers = Covers { first, last, step: 1, parallel: 1, down: hosts_per_leaf, up: spines };
            let id = plan.switch(Switch { tier: 1, covers })?;
            for host in first..last {
                plan.wire((HostId(host).into(), 0), (id, host - first), self.host)?;
            }
            leaf_ids.push(id);
        }
        let mut spine_ids = Vec::new();
        for (zone, of_zone) in (0..zones).zip(leaf_ids.chunks(leaves as usize)) {
            let (first, last) = (zone * per_zone, (zone + 1) * per_zone);
            for spine in 0..spines {
                let covers = Covers { first, last, step: hosts_per_leaf, parallel: 1, down: leaves, up: aggregators };
                let id = plan.switch(Switch { tier: 2, covers })?;
                for (at, &leaf) in (0..).zip(of_zone) {
                    plan.wire((leaf, hosts_per_leaf + spine), (id, at), self.spine)?;
                }
                spine_ids.push(id);
            }
        }
        let down = zones.saturating_mul(spines);
        for at in 0..aggregators {
            let covers = Covers { first: 0, last: hosts, step: per_zone, parallel: spines, down, up: 0 };
            let id = plan.switch(Switch { tier: 3, covers })?;
            for (port, &spine) in (0..).zip(&spine_ids) {
                plan.wire((spine, leaves + at), (id, port), self.aggregation)?;
            }
        }
        plan.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NodeId, tests::CABLE};
    use super::*;
    use crate::units::Rate;

    const ZONE: AiZone = AiZone {
        zones: 2,
        leaves: 4,
        hosts_per_leaf: 8,
        spines: 4,
        aggregators: 2,
        host: CABLE,
        spine: CABLE,
        aggregation: CABLE,
    };

    #[test]
    fn zones_are_joined_at_the_top() {
        let fabric = ZONE.build().unwrap();
        assert_eq!((fabric.hosts(), fabric.switches()), (64, 8 + 8 + 2));
        let length = |to| fabric.way(HostId(0), HostId(to)).unwrap().len();
        assert_eq!([length(7), length(8), length(31), length(32), length(63)], [2, 4, 4, 6, 6]);
        // An aggregation switch reaches a zone by all of its spines.
        assert_eq!(fabric.next_hops(NodeId(64 + 16), HostId(40)).count, 4);
        assert!(AiZone { aggregators: 0, ..ZONE }.build().is_err());
        assert!(AiZone { aggregators: 0, zones: 1, ..ZONE }.build().is_ok());
    }

    #[test]
    fn tiers_by_ratio() {
        // 8 hosts of 100G: 1:2 takes four uplinks of 400G. 4 leaves of 400G, 7:1: 1,600/7 takes one more of 400G.
        let fast = Cable { rate: Rate::gbps(400), ..CABLE };
        let zone = AiZone { spine: fast, aggregation: fast, ..ZONE }.subscribe((1, 2), (7, 1));
        assert_eq!((zone.spines, zone.aggregators), (4, 1));
        assert!(zone.build().is_ok());
    }
}
