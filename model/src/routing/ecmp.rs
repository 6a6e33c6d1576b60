//! ECMP on the 5-tuple (SYSTEMS R1): a flow keeps its way, and few large flows collide.
//!
//! The hash is a good one (a 64-bit mixer), so its statistics are those of balls thrown into bins. Every switch hashes the
//! same fields: with the same seed everywhere the second tier sees only what the first sent its way, and uses a part of its
//! links (polarisation); a seed for each tier or switch undoes it.

use super::{Key, Policy, View, spread};
use crate::rng::mix;
use crate::topology::{Hops, HostId, NodeId, PortId, Topology};

/// Who shares a hash seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Seeds {
    /// Every switch: polarised.
    Same,
    /// The switches of a tier.
    #[default]
    Tier,
    /// Nobody.
    Switch,
}

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Settings {
    /// Who shares a hash seed.
    pub seeds: Seeds,
}

/// ECMP.
#[derive(Clone, Debug)]
pub struct Ecmp {
    seeds: Seeds,
    seed: u64,
    tiers: [u64; 256],
    tier: Vec<u8>,
}

impl Policy for Ecmp {
    type Settings = Settings;

    fn new(settings: &Settings, fabric: &Topology, seed: u64) -> Self {
        let mut tiers = [0; 256];
        for (tier, slot) in (0_u64..).zip(&mut tiers) {
            *slot = mix(seed ^ mix(tier + 1));
        }
        Self { seeds: settings.seeds, seed, tiers, tier: fabric.nodes().map(|node| fabric.tier(node)).collect() }
    }

    fn entropy(&self, key: &Key) -> u32 {
        let hosts = u64::from(key.src.0) << 32 | u64::from(key.dst.0);
        mix(mix(hosts) ^ u64::from(key.sport)) as u32
    }

    #[inline]
    fn choose<V: View>(&mut self, view: &mut V, at: NodeId, to: HostId, entropy: u32, hops: Hops) -> PortId {
        let seed = match self.seeds {
            Seeds::Same => self.seed,
            Seeds::Tier => {
                let tier = self.tier.get(at.0 as usize).copied().unwrap_or_default();
                self.tiers.get(usize::from(tier)).copied().unwrap_or_default()
            }
            Seeds::Switch => mix(self.seed ^ u64::from(at.0)),
        };
        spread(view, to, hops, (mix(seed ^ u64::from(entropy)) >> 32) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Still, key};
    use super::*;
    use crate::topology::{Cable, FatTree};
    use crate::units::{Rate, Time};

    /// Flows from one leaf of a radix-16 tree through its first-choice spine: how many of the spine's eight cores they use.
    fn cores_used(seeds: Seeds) -> usize {
        let fabric = FatTree::radix(16, Cable::new(Rate::gbps(100), Time::us(1))).build().unwrap();
        let mut ecmp = Ecmp::new(&Settings { seeds }, &fabric, 3);
        let mut view = Still::default();
        let leaf = fabric.nodes().find(|node| fabric.tier(*node) == 1).unwrap();
        let mut used = Vec::new();
        for n in 0..4_000 {
            let key = Key { src: HostId(0), dst: HostId(1_000), ..key(n) };
            let entropy = ecmp.entropy(&key);
            let up = ecmp.choose(&mut view, leaf, key.dst, entropy, fabric.next_hops(leaf, key.dst));
            let spine = fabric.ports()[fabric.ports()[up].peer].node;
            if up == fabric.next_hops(leaf, key.dst).first {
                used.push(ecmp.choose(&mut view, spine, key.dst, entropy, fabric.next_hops(spine, key.dst)));
            }
        }
        used.sort_unstable();
        used.dedup();
        used.len()
    }

    #[test]
    fn one_seed_polarises_and_several_do_not() {
        assert_eq!(cores_used(Seeds::Same), 1);
        assert_eq!(cores_used(Seeds::Tier), 8);
        assert_eq!(cores_used(Seeds::Switch), 8);
    }

    /// MODEL.md, balls in bins: mean maximum load and share of idle links for (flows, links).
    #[test]
    fn collisions_are_those_of_a_good_hash() {
        let fabric = FatTree::radix(4, Cable::new(Rate::gbps(100), Time::us(1))).build().unwrap();
        let mut view = Still::default();
        for (flows, links, top, idle) in
            [(8, 8, 2.597, 0.344), (16, 8, 4.20, 0.118), (16, 16, 3.08, 0.356), (32, 16, 4.83, 0.127)]
        {
            let rounds = 4_000;
            let (mut tops, mut idles) = (0, 0);
            for round in 0..rounds {
                let mut ecmp = Ecmp::new(&Settings::default(), &fabric, u64::from(round));
                let mut load = vec![0_u32; links];
                for n in 0..flows {
                    let entropy = ecmp.entropy(&key(round * 64 + n));
                    let hops = Hops { first: PortId(0), count: links as u32 };
                    load[ecmp.choose(&mut view, NodeId(20), HostId(0), entropy, hops).0 as usize] += 1;
                }
                tops += load.iter().max().copied().unwrap_or(0);
                idles += load.iter().filter(|n| **n == 0).count();
            }
            let top_found = f64::from(tops) / f64::from(rounds);
            let idle_found = idles as f64 / f64::from(rounds) / links as f64;
            assert!((top_found / top - 1.0).abs() < 0.02, "{flows}/{links}: {top_found}");
            assert!((idle_found - idle).abs() < 0.01, "{flows}/{links}: {idle_found}");
        }
    }
}
