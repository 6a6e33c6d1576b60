//! ECMP: a hash of header fields chooses (SYSTEMS R1). A flow keeps its way, and few large flows collide.
//!
//! The fields are a setting: the 5-tuple; E-ECMP adds the destination queue pair (R3); a CRC-32 over addresses, queue
//! pair and PSN sends every packet its own way (R4) and reorders. With a good hash the statistics are those of balls
//! thrown into bins. Every switch hashes the same fields: with one seed everywhere the second tier sees only what the
//! first sent its way, and uses a part of its links (polarisation). A seed for each tier or switch undoes it for
//! [`Hash::Mix`], and does not for the linear hashes.

use super::hash::{Fields, Hash};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The hash function.
    pub hash: Hash,
    /// What goes into it.
    pub fields: Fields,
    /// Who shares a hash seed.
    pub seeds: Seeds,
}

crate::scenario::knobs!(Settings { hash, fields, seeds });

impl Settings {
    /// E-ECMP (SYSTEMS R3): the destination queue pair is hashed too.
    pub const E_ECMP: Self = Self { hash: Hash::Mix, fields: Fields::TUPLE_QP, seeds: Seeds::Tier };
    /// A CRC-32 over addresses, queue pair and PSN (SYSTEMS R4).
    pub const BY_PACKET: Self = Self { hash: Hash::Crc32, fields: Fields::PACKET, seeds: Seeds::Tier };
}

impl Default for Settings {
    /// A good hash over the 5-tuple, a seed for each tier.
    fn default() -> Self {
        Self { hash: Hash::Mix, fields: Fields::TUPLE, seeds: Seeds::Tier }
    }
}

/// ECMP.
#[derive(Clone, Debug)]
pub struct Ecmp {
    settings: Settings,
    seed: u64,
    /// The seed of each tier, and the tier of each node.
    tiers: Vec<u64>,
    tier: Vec<u8>,
}

impl Policy for Ecmp {
    type Settings = Settings;

    fn new(settings: &Settings, fabric: &Topology, seed: u64) -> Self {
        let tier: Vec<u8> = fabric.nodes().map(|node| fabric.tier(node)).collect();
        let top = tier.iter().max().copied().unwrap_or(0);
        let tiers = (0..=u64::from(top)).map(|tier| mix(seed ^ mix(tier + 1))).collect();
        Self { settings: *settings, seed, tiers, tier }
    }

    fn by_packet(&self) -> bool {
        self.settings.fields.psn
    }

    fn entropy(&self, key: &Key) -> u32 {
        self.settings.hash.of(self.settings.fields, key)
    }

    #[inline]
    fn choose<V: View>(&mut self, view: &mut V, at: NodeId, to: HostId, entropy: u32, hops: Hops) -> PortId {
        let seed = match self.settings.seeds {
            Seeds::Same => self.seed,
            Seeds::Tier => {
                let tier = self.tier.get(at.0 as usize).copied().unwrap_or_default();
                self.tiers.get(usize::from(tier)).copied().unwrap_or_default()
            }
            Seeds::Switch => mix(self.seed ^ u64::from(at.0)),
        };
        spread(view, to, hops, self.settings.hash.at(seed, entropy))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Still, key};
    use super::*;
    use crate::rng::Rng;
    use crate::topology::{Cable, FatTree};
    use crate::units::{Qpn, Rate, Time};

    /// Flows from one leaf of a radix-16 tree through its first-choice spine: how many of the spine's eight cores they
    /// use.
    fn cores_used(hash: Hash, seeds: Seeds) -> usize {
        let fabric = FatTree::radix(16, Cable::new(Rate::gbps(100), Time::us(1))).build().unwrap();
        let mut ecmp = Ecmp::new(&Settings { hash, seeds, ..Settings::default() }, &fabric, 3);
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
        assert_eq!(cores_used(Hash::Mix, Seeds::Same), 1);
        assert_eq!(cores_used(Hash::Mix, Seeds::Tier), 8);
        assert_eq!(cores_used(Hash::Mix, Seeds::Switch), 8);
    }

    #[test]
    fn seeds_do_not_help_a_linear_hash() {
        for hash in [Hash::Crc32, Hash::Crc16, Hash::Xor] {
            for seeds in [Seeds::Same, Seeds::Tier, Seeds::Switch] {
                assert_eq!(cores_used(hash, seeds), 1, "{hash:?} {seeds:?}");
            }
        }
    }

    /// Mean maximum load, share of idle links, and share of rounds without a collision, over many rounds of random
    /// keys.
    fn balls(settings: Settings, flows: u32, links: u32, rounds: u32) -> (f64, f64, f64) {
        let fabric = FatTree::radix(4, Cable::new(Rate::gbps(100), Time::us(1))).build().unwrap();
        let mut view = Still::default();
        let mut rng = Rng::new(9);
        let (mut tops, mut idles, mut clean) = (0, 0, 0);
        for round in 0..rounds {
            let mut ecmp = Ecmp::new(&settings, &fabric, u64::from(round));
            let mut load = vec![0_u32; links as usize];
            for n in 0..flows {
                let draw = rng.next();
                let key = Key {
                    src: HostId(draw as u32 & 0x3fff),
                    dst: HostId((draw >> 32) as u32 & 0x3fff),
                    sport: 0xc000 | ((draw >> 14) as u16 & 0x3fff),
                    qp: Qpn((draw >> 46) as u32 & 0xffff),
                    ..key(n)
                };
                let hops = Hops { first: PortId(0), count: links };
                let entropy = ecmp.entropy(&key);
                load[ecmp.choose(&mut view, NodeId(20), HostId(0), entropy, hops).0 as usize] += 1;
            }
            let top = load.iter().max().copied().unwrap_or(0);
            tops += top;
            clean += u32::from(top <= 1);
            idles += load.iter().filter(|n| **n == 0).count();
        }
        let mean = |sum: f64| sum / f64::from(rounds);
        (mean(f64::from(tops)), mean(idles as f64) / f64::from(links), mean(f64::from(clean)))
    }

    /// MODEL.md, balls in bins: (flows, links), mean maximum load, share of idle links.
    #[test]
    fn collisions_are_those_of_a_good_hash() {
        let e_ecmp = Settings::E_ECMP;
        let by_packet = Settings::BY_PACKET;
        let crc16 = Settings { hash: Hash::Crc16, ..Settings::default() };
        let crc32 = Settings { hash: Hash::Crc32, ..Settings::default() };
        let xor = Settings { hash: Hash::Xor, ..Settings::default() };
        for settings in [Settings::default(), e_ecmp, by_packet, crc16, crc32, xor] {
            for (flows, links, top, idle) in [
                (8, 8, 2.597, 0.344),
                (16, 8, 4.20, 0.118),
                (16, 16, 3.08, 0.356),
                (32, 16, 4.83, 0.127),
                (64, 16, 7.88, 0.016),
                (128, 16, 13.37, 0.0003),
                (256, 16, 23.44, 0.0),
                (8, 16, 2.063, 0.597),
            ] {
                let (top_found, idle_found, _) = balls(settings, flows, links, 4_000);
                assert!((top_found / top - 1.0).abs() < 0.02, "{settings:?} {flows}/{links}: {top_found}");
                assert!((idle_found - idle).abs() < 0.01, "{settings:?} {flows}/{links}: {idle_found}");
            }
        }
    }

    /// MODEL.md: eight flows miss one another on eight links once in 416 times, on sixteen once in eight.
    #[test]
    fn luck_is_rare() {
        let (_, _, clean) = balls(Settings::default(), 8, 8, 60_000);
        assert!((clean - 0.0024).abs() < 0.0006, "{clean}");
        let (_, _, clean) = balls(Settings::default(), 8, 16, 20_000);
        assert!((clean - 0.121).abs() < 0.007, "{clean}");
        assert_eq!(balls(Settings::default(), 16, 8, 2_000).2, 0.0);
    }
}
