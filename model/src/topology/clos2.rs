//! Leaf and spine: every leaf has the same number of cables to every spine.

use super::{Cable, Covers, Error, HostId, Plan, Switch, Topology, at_least, uplinks};

/// The dimensions of a two-tier Clos. Hosts are numbered leaf by leaf.
///
/// A leaf is over-subscribed by `hosts_per_leaf` x host rate over `spines` x `parallel` x spine rate; a ratio below one
/// (SYSTEMS F7) is as good as any. [`super::uplinks`] has the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clos2 {
    /// Leaf switches.
    pub leaves: u32,
    /// Spine switches.
    pub spines: u32,
    /// Hosts on each leaf.
    pub hosts_per_leaf: u32,
    /// Cables between each leaf and each spine.
    pub parallel: u32,
    /// Cables from hosts to leaves.
    pub host: Cable,
    /// Cables from leaves to spines.
    pub spine: Cable,
}

impl Clos2 {
    /// The same, with as many spines as a leaf's ratio of hosts to uplinks wants: `(3, 1)` over-subscribed, `(1, 2)`
    /// under.
    #[must_use]
    pub const fn subscribe(self, leaf: (u32, u32)) -> Self {
        let up = uplinks(self.hosts_per_leaf, self.host.rate, self.spine.rate, leaf);
        Self { spines: if self.parallel == 0 { 0 } else { up.div_ceil(self.parallel) }, ..self }
    }

    /// Lays it out.
    ///
    /// # Errors
    /// A dimension of zero, or more than the model can name.
    pub fn build(&self) -> Result<Topology, Error> {
        let Self { leaves, spines, hosts_per_leaf, parallel, .. } = *self;
        for (what, is) in
            [("leaves", leaves), ("spines", spines), ("hosts_per_leaf", hosts_per_leaf), ("parallel", parallel)]
        {
            at_least("clos2", what, is, 1)?;
        }
        let all = u64::from(leaves) * u64::from(hosts_per_leaf);
        let mut plan = Plan::new("clos2", all)?;
        let hosts = all as u32;
        let up = spines.saturating_mul(parallel);
        let mut leaf_ids = Vec::new();
        for leaf in 0..leaves {
            let first = leaf * hosts_per_leaf;
            let last = first + hosts_per_leaf;
            let covers = Covers { first, last, step: 1, parallel: 1, down: hosts_per_leaf, up };
            let id = plan.switch(Switch { tier: 1, covers })?;
            for host in first..last {
                plan.wire((HostId(host).into(), 0), (id, host - first), self.host)?;
            }
            leaf_ids.push(id);
        }
        let down = leaves.saturating_mul(parallel);
        for spine in 0..spines {
            let covers = Covers { first: 0, last: hosts, step: hosts_per_leaf, parallel, down, up: 0 };
            let id = plan.switch(Switch { tier: 2, covers })?;
            for (leaf, &leaf_id) in (0..).zip(&leaf_ids) {
                for cable in 0..parallel {
                    let up = hosts_per_leaf + spine * parallel + cable;
                    plan.wire((leaf_id, up), (id, leaf * parallel + cable), self.spine)?;
                }
            }
        }
        plan.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Hops, NodeId, PortId, tests::CABLE};
    use super::*;

    #[test]
    fn a_leaf_goes_down_by_one_port_and_up_by_all() {
        let clos = Clos2 { leaves: 2, spines: 2, hosts_per_leaf: 2, parallel: 2, host: CABLE, spine: CABLE };
        let fabric = clos.build().unwrap();
        // Hosts have ports 0..4, the first leaf 4..10: two down, four up.
        assert_eq!(fabric.next_hops(NodeId(4), HostId(1)), Hops { first: PortId(5), count: 1 });
        assert_eq!(fabric.next_hops(NodeId(4), HostId(2)), Hops { first: PortId(6), count: 4 });
        // The first spine (node 6) has ports 16..20: two to each leaf.
        assert_eq!(fabric.next_hops(NodeId(6), HostId(3)), Hops { first: PortId(18), count: 2 });
        assert_eq!(fabric.way(HostId(0), HostId(3)).unwrap().len(), 4);
        assert_eq!(Clos2 { hosts_per_leaf: 16, ..clos }.subscribe((1, 2)).spines, 16);
        assert!(Clos2 { spines: 0, ..clos }.build().is_err());
        assert!(Clos2 { leaves: u32::MAX, hosts_per_leaf: u32::MAX, ..clos }.build().is_err());
    }
}
