//! Which links a flow takes in a fluid: by the same routing policies as packets, or all equal ways at once where
//! packets are sprayed.

use super::max_min::{Share, Use};
use crate::rng::Rng;
use crate::routing::{Key, Router, View, leads};
use crate::table::Table;
use crate::topology::{HostId, NodeId, PortId, Topology};
use crate::units::{Bytes, Time};

/// What a policy sees of a fluid: the flows on a port stand for the bytes in its queue.
struct Calm<'a> {
    now: Time,
    flows: &'a Table<PortId, u32>,
    fabric: &'a Topology,
    down: &'a Table<PortId, bool>,
    damaged: bool,
    chance: &'a mut Rng,
}

impl View for Calm<'_> {
    fn now(&self) -> Time {
        self.now
    }
    fn queue(&self, port: PortId) -> Bytes {
        Bytes(u64::from(self.flows[port]))
    }
    fn damaged(&self) -> bool {
        self.damaged
    }
    fn usable(&self, port: PortId, to: HostId) -> bool {
        leads(self.fabric, port, to, &|port| self.down[port])
    }
    fn below(&mut self, n: u32) -> u32 {
        self.chance.below(u64::from(n)) as u32
    }
}

/// Finds ways.
#[derive(Clone, Debug)]
pub struct Ways {
    router: Router,
    flows: Table<PortId, u32>,
    down: Table<PortId, bool>,
    damaged: bool,
    chance: Rng,
}

impl Ways {
    /// Of a fabric whose switches begin as `router` says.
    #[must_use]
    pub fn new(fabric: &Topology, router: Router, seed: u64) -> Self {
        let ports = fabric.ports().len();
        Self {
            router,
            flows: Table::filled(0, ports),
            down: Table::filled(false, ports),
            damaged: false,
            chance: Rng::named(seed, "ways"),
        }
    }

    /// Takes the cable behind a port out of use for ways that are found from now on.
    pub fn take_out(&mut self, fabric: &Topology, port: PortId) {
        self.down[port] = true;
        self.down[fabric.ports()[port].peer] = true;
        self.damaged = true;
    }

    /// The links of a flow, in the order of its way; `None` when no way leads there. The flow counts as load until
    /// [`Ways::leave`].
    pub fn find(&mut self, fabric: &Topology, key: &Key, now: Time) -> Option<Vec<Use>> {
        let way = if self.router.sprays() { self.spread(fabric, key)? } else { self.single(fabric, key, now)? };
        for used in &way {
            self.flows[PortId(used.link)] += 1;
        }
        Some(way)
    }

    /// A flow has ended.
    pub fn leave(&mut self, way: &[Use]) {
        for used in way {
            let flows = &mut self.flows[PortId(used.link)];
            *flows = flows.saturating_sub(1);
        }
    }

    fn single(&mut self, fabric: &Topology, key: &Key, now: Time) -> Option<Vec<Use>> {
        let entropy = self.router.entropy(key);
        let mut way = Vec::with_capacity(6);
        let mut at = NodeId::from(key.src);
        while at != NodeId::from(key.dst) {
            let hops = fabric.next_hops(at, key.dst);
            let port = match hops.count {
                0 => return None,
                1 => hops.first,
                _ => {
                    let (flows, down, damaged) = (&self.flows, &self.down, self.damaged);
                    let mut view = Calm { now, flows, fabric, down, damaged, chance: &mut self.chance };
                    self.router.choose(&mut view, at, key.dst, entropy, hops)
                }
            };
            // No way passes a switch twice, and nothing passes a cable that is out.
            if self.down[port] || way.len() > fabric.switches() as usize + 1 {
                return None;
            }
            way.push(Use { link: port.0, share: Share::ALL });
            at = fabric.ports()[fabric.ports()[port].peer].node;
        }
        Some(way)
    }

    /// Equal shares at every switch.
    fn spread(&self, fabric: &Topology, key: &Key) -> Option<Vec<Use>> {
        let mut way = Vec::new();
        let mut front: Vec<(NodeId, Share)> = vec![(key.src.into(), Share::ALL)];
        let goal = NodeId::from(key.dst);
        let mut steps = 0;
        while !front.iter().all(|(node, _)| *node == goal) {
            steps += 1;
            if steps > fabric.switches() + 1 {
                return None;
            }
            let mut next: Vec<(NodeId, Share)> = Vec::new();
            for (node, share) in front {
                if node == goal {
                    next.push((node, share));
                    continue;
                }
                let usable = || {
                    fabric
                        .next_hops(node, key.dst)
                        .ports()
                        .filter(|port| leads(fabric, *port, key.dst, &|port| self.down[port]))
                };
                let count = usable().count();
                if count == 0 {
                    return None;
                }
                for port in usable() {
                    let part = share.split(count);
                    way.push(Use { link: port.0, share: part });
                    next.push((fabric.ports()[fabric.ports()[port].peer].node, part));
                }
            }
            next.sort_unstable_by_key(|(node, _)| *node);
            next.dedup_by(|from, into| {
                let same = from.0 == into.0;
                if same {
                    into.1 = into.1.and(from.1);
                }
                same
            });
            front = next;
        }
        Some(way)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::key;
    use super::*;
    use crate::routing::{Settings, spray};
    use crate::topology::{Cable, FatTree};
    use crate::units::Rate;

    #[test]
    fn a_sprayed_flow_is_everywhere_once() {
        let fabric = FatTree::radix(4, Cable::new(Rate::gbps(100), Time::us(1))).build().unwrap();
        let router = Settings::Spray(spray::Settings::default()).begin(&fabric, 1);
        let mut ways = Ways::new(&fabric, router, 1);
        let way = ways.find(&fabric, &key(0, 15, 0), Time::ZERO).unwrap();
        // Host, two up, four up, four down, two down, host.
        let shares: Vec<f64> = way.iter().map(|used| used.share.get()).collect();
        assert_eq!(shares, [1.0, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 1.0]);
    }

    #[test]
    fn every_policy_finds_ways_and_avoids_what_is_out() {
        let fabric = FatTree::radix(4, Cable::new(Rate::gbps(100), Time::us(1))).build().unwrap();
        let out = fabric.next_hops(fabric.node(crate::topology::SwitchId(0)), HostId(15)).first;
        for settings in Settings::all() {
            let mut ways = Ways::new(&fabric, settings.begin(&fabric, 1), 1);
            ways.take_out(&fabric, out);
            for lane in 0..50 {
                let way = ways.find(&fabric, &key(0, 15, lane), Time::ZERO).unwrap();
                assert!(way.iter().all(|used| used.link != out.0), "{}", settings.name());
                assert_eq!(way.last().map(|used| fabric.ports()[PortId(used.link)].peer), Some(PortId(15)));
            }
        }
    }
}
