//! Three tiers by radix: pods of leaves and spines, and planes of core switches above them.
//!
//! Spine `n` of every pod hangs on the cores of plane `n` (Al-Fares, Loukissas, Vahdat: "A scalable, commodity data
//! center network architecture", SIGCOMM 2008, which a radix k builds with k^3/4 hosts).

use super::{Cable, Covers, Error, HostId, Plan, Switch, Topology, at_least, uplinks};

/// The dimensions of a three-tier Clos. Hosts are numbered leaf by leaf, pod by pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Pods.
    pub pods: u32,
    /// Leaves of a pod.
    pub leaves_per_pod: u32,
    /// Hosts on each leaf.
    pub hosts_per_leaf: u32,
    /// Spines of a pod, each with one cable to every leaf of its pod.
    pub spines_per_pod: u32,
    /// Cores of a spine's plane: what a spine reaches upwards.
    pub cores_per_spine: u32,
    /// Cables between a spine and each core of its plane.
    pub parallel: u32,
    /// Cables from hosts to leaves.
    pub host: Cable,
    /// Cables from leaves to spines.
    pub spine: Cable,
    /// Cables from spines to cores.
    pub core: Cable,
}

impl FatTree {
    /// The non-blocking tree of switches with `k` ports (rounded down to even), all cables alike: k^3/4 hosts.
    #[must_use]
    pub const fn radix(k: u32, cable: Cable) -> Self {
        let half = k / 2;
        Self {
            pods: half * 2,
            leaves_per_pod: half,
            hosts_per_leaf: half,
            spines_per_pod: half,
            cores_per_spine: half,
            parallel: 1,
            host: cable,
            spine: cable,
            core: cable,
        }
    }

    /// The same, with as many spines and cores as the ratios want: what a leaf's hosts send to its uplinks, and what a
    /// spine's leaves send to its own. `(7, 1)` above the pod is one account of a 24,576-GPU cluster (SYSTEMS F6).
    #[must_use]
    pub const fn subscribe(self, leaf: (u32, u32), spine: (u32, u32)) -> Self {
        let spines_per_pod = uplinks(self.hosts_per_leaf, self.host.rate, self.spine.rate, leaf);
        let up = uplinks(self.leaves_per_pod, self.spine.rate, self.core.rate, spine);
        let cores_per_spine = if self.parallel == 0 { 0 } else { up.div_ceil(self.parallel) };
        Self { spines_per_pod, cores_per_spine, ..self }
    }

    /// Lays it out.
    ///
    /// # Errors
    /// A dimension of zero, or more than the model can name.
    pub fn build(&self) -> Result<Topology, Error> {
        let Self { pods, leaves_per_pod, hosts_per_leaf, spines_per_pod, cores_per_spine, parallel, .. } = *self;
        for (what, is) in [
            ("pods", pods),
            ("leaves_per_pod", leaves_per_pod),
            ("hosts_per_leaf", hosts_per_leaf),
            ("spines_per_pod", spines_per_pod),
            ("cores_per_spine", cores_per_spine),
            ("parallel", parallel),
        ] {
            at_least("fat_tree", what, is, 1)?;
        }
        let leaves = u64::from(pods) * u64::from(leaves_per_pod);
        let all = leaves.saturating_mul(u64::from(hosts_per_leaf));
        let mut plan = Plan::new("fat_tree", all)?;
        let (hosts, leaves) = (all as u32, leaves as u32);
        let per_pod = leaves_per_pod * hosts_per_leaf;

        let mut leaf_ids = Vec::new();
        for leaf in 0..leaves {
            let first = leaf * hosts_per_leaf;
            let last = first + hosts_per_leaf;
            let covers = Covers { first, last, step: 1, parallel: 1, down: hosts_per_leaf, up: spines_per_pod };
            let id = plan.switch(Switch { tier: 1, covers })?;
            for host in first..last {
                plan.wire((HostId(host).into(), 0), (id, host - first), self.host)?;
            }
            leaf_ids.push(id);
        }
        let up = cores_per_spine.saturating_mul(parallel);
        let mut spine_ids = Vec::new();
        for (pod, leaves) in (0..pods).zip(leaf_ids.chunks(leaves_per_pod as usize)) {
            for spine in 0..spines_per_pod {
                let (first, last) = (pod * per_pod, (pod + 1) * per_pod);
                let covers = Covers { first, last, step: hosts_per_leaf, parallel: 1, down: leaves_per_pod, up };
                let id = plan.switch(Switch { tier: 2, covers })?;
                for (at, &leaf) in (0..).zip(leaves) {
                    plan.wire((leaf, hosts_per_leaf + spine), (id, at), self.spine)?;
                }
                spine_ids.push(id);
            }
        }
        let down = pods.saturating_mul(parallel);
        for plane in 0..spines_per_pod {
            for core in 0..cores_per_spine {
                let covers = Covers { first: 0, last: hosts, step: per_pod, parallel, down, up: 0 };
                let id = plan.switch(Switch { tier: 3, covers })?;
                let in_plane = spine_ids.iter().skip(plane as usize).step_by(spines_per_pod as usize);
                for (pod, &spine) in (0..).zip(in_plane) {
                    for cable in 0..parallel {
                        let up = leaves_per_pod + core * parallel + cable;
                        plan.wire((spine, up), (id, pod * parallel + cable), self.core)?;
                    }
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

    #[test]
    fn sizes_by_radix() {
        // MODEL.md: k = 8 has 128 hosts, 16 has 1,024, 46 has 24,334 and 48 has 27,648.
        for (k, hosts, switches) in [(8, 128, 80), (16, 1_024, 320), (46, 24_334, 2_645), (48, 27_648, 2_880)] {
            let fabric = FatTree::radix(k, CABLE).build().unwrap();
            assert_eq!((fabric.hosts(), fabric.switches()), (hosts, switches));
            assert_eq!(fabric.ports().len() as u32, hosts * 6);
        }
    }

    #[test]
    fn ways_are_as_long_as_hosts_are_apart() {
        let fabric = FatTree::radix(8, CABLE).build().unwrap();
        let length = |to| fabric.way(HostId(0), HostId(to)).unwrap().len();
        assert_eq!([length(3), length(4), length(15), length(16), length(127)], [2, 4, 4, 6, 6]);
    }

    #[test]
    fn sixteen_gpus_a_rack_and_seven_to_one() {
        let base = FatTree { pods: 8, leaves_per_pod: 192, hosts_per_leaf: 16, ..FatTree::radix(8, CABLE) };
        let tree = base.subscribe((1, 1), (7, 1));
        assert_eq!((tree.spines_per_pod, tree.cores_per_spine), (16, 28));
        assert_eq!(tree.build().unwrap().hosts(), 24_576);
        assert_eq!(base.subscribe((1, 2), (1, 1)).spines_per_pod, 32);
    }

    #[test]
    fn nothing_of_zero() {
        assert!(FatTree::radix(1, CABLE).build().is_err());
        assert!(FatTree { pods: u32::MAX, ..FatTree::radix(64, CABLE) }.build().is_err());
    }
}
