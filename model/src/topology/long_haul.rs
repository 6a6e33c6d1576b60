//! Two sites far apart (SYSTEMS F11): leaf and spine at each, and long trunks between spines of the same number.

use super::{Cable, Covers, Error, HostId, Plan, Switch, Topology, at_least};

/// The dimensions of a pair of equal sites. Hosts are numbered leaf by leaf, site by site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongHaul {
    /// Leaves of a site.
    pub leaves: u32,
    /// Hosts on each leaf.
    pub hosts_per_leaf: u32,
    /// Spines of a site, each with one cable to every leaf of its site.
    pub spines: u32,
    /// Trunks from each spine to its counterpart at the other site.
    pub trunks: u32,
    /// Cables from hosts to leaves.
    pub host: Cable,
    /// Cables from leaves to spines.
    pub spine: Cable,
    /// The trunks: [`Cable::metres`] of 3,000 km has a delay of 15 ms.
    pub trunk: Cable,
}

impl LongHaul {
    /// Lays it out.
    ///
    /// # Errors
    /// A dimension of zero, or more than the model can name.
    pub fn build(&self) -> Result<Topology, Error> {
        let Self { leaves, hosts_per_leaf, spines, trunks, .. } = *self;
        for (what, is) in
            [("leaves", leaves), ("hosts_per_leaf", hosts_per_leaf), ("spines", spines), ("trunks", trunks)]
        {
            at_least("long_haul", what, is, 1)?;
        }
        let per_site = u64::from(leaves) * u64::from(hosts_per_leaf);
        let mut plan = Plan::new("long_haul", per_site.saturating_mul(2))?;
        let per_site = per_site as u32;
        let mut sides = Vec::new();
        for site in 0..2 {
            let mut leaf_ids = Vec::new();
            for leaf in 0..leaves {
                let first = site * per_site + leaf * hosts_per_leaf;
                let last = first + hosts_per_leaf;
                let covers = Covers { first, last, step: 1, parallel: 1, down: hosts_per_leaf, up: spines };
                let id = plan.switch(Switch { tier: 1, covers })?;
                for host in first..last {
                    plan.wire((HostId(host).into(), 0), (id, host - first), self.host)?;
                }
                leaf_ids.push(id);
            }
            let mut spine_ids = Vec::new();
            for spine in 0..spines {
                let (first, last) = (site * per_site, (site + 1) * per_site);
                let covers = Covers { first, last, step: hosts_per_leaf, parallel: 1, down: leaves, up: trunks };
                let id = plan.switch(Switch { tier: 2, covers })?;
                for (at, &leaf) in (0..).zip(&leaf_ids) {
                    plan.wire((leaf, hosts_per_leaf + spine), (id, at), self.spine)?;
                }
                spine_ids.push(id);
            }
            sides.push(spine_ids);
        }
        if let [here, there] = sides.as_slice() {
            for (&a, &b) in here.iter().zip(there) {
                for trunk in 0..trunks {
                    plan.wire((a, leaves + trunk), (b, leaves + trunk), self.trunk)?;
                }
            }
        }
        plan.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::CABLE;
    use super::*;
    use crate::units::{Metres, Rate, Time};

    #[test]
    fn fifteen_milliseconds_one_way() {
        let trunk = Cable::metres(Rate::gbps(400), Metres(3_000_000), Time::ZERO);
        assert_eq!(trunk.delay, Time::ms(15));
        let pair = LongHaul { leaves: 2, hosts_per_leaf: 2, spines: 5, trunks: 2, host: CABLE, spine: CABLE, trunk };
        let fabric = pair.build().unwrap();
        let way = fabric.way(HostId(0), HostId(7)).unwrap();
        let delay = way.iter().fold(Time::ZERO, |sum, port| sum + fabric.ports()[*port].cable.delay);
        assert_eq!((way.len(), delay), (5, Time::ms(15) + Time::us(4)));
        // 5 spines of two trunks: ten ways.
        let leaf = fabric.ports()[fabric.ports()[way[0]].peer].node;
        let spine = fabric.ports()[fabric.ports()[way[1]].peer].node;
        let ways = fabric.next_hops(leaf, HostId(7)).count * fabric.next_hops(spine, HostId(7)).count;
        assert_eq!(ways, 10);
        assert!(LongHaul { trunks: 0, ..pair }.build().is_err());
    }
}
