//! Fabrics: hosts, switches and the cables between them, one file a shape.
//!
//! Everything has a dense id. A node's ports have consecutive ids, and a port is both ends' view of a cable: what
//! leaves by a port arrives at its peer. Routes are arithmetic, never tables of all pairs: a switch [`Covers`] a run of
//! hosts below it, each group of them behind the next port, and everything else goes by any of its up ports.
//!
//! To add a shape: one file with a struct of its dimensions and a `build` that lays it out with a [`Plan`]; one line in
//! [`SHAPES`].

mod ai_zone;
mod clos2;
mod dumbbell;
mod fat_tree;
mod long_haul;
mod plan;
mod rail;
mod ring;
mod star;

pub use ai_zone::AiZone;
pub use clos2::Clos2;
pub use dumbbell::Dumbbell;
pub use fat_tree::FatTree;
pub use long_haul::LongHaul;
pub use plan::{Plan, Switch};
pub use rail::Rail;
pub use ring::Ring;
pub use star::Star;

use crate::table::{Id, Table, id};
use crate::units::{Metres, Rate, Time};

/// Every shape, by the name of its file.
pub const SHAPES: &[&str] = &["ai_zone", "clos2", "dumbbell", "fat_tree", "long_haul", "rail", "ring", "star"];

id! {
    /// An end point: one NIC port with its address.
    HostId
}
id! {
    /// A switch.
    SwitchId
}
id! {
    /// A host or a switch: hosts come first, so host `n` is node `n`.
    NodeId
}
id! {
    /// One end of a cable: the way out of a node, and the way in.
    PortId
}

impl From<HostId> for NodeId {
    fn from(host: HostId) -> Self {
        Self(host.0)
    }
}

/// How cables of one tier are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Line rate of both directions.
    pub rate: Rate,
    /// One-way delay: the cable, and what the receiving end takes before it looks at a frame.
    pub delay: Time,
}

impl Cable {
    /// A cable of a given one-way delay.
    #[must_use]
    pub const fn new(rate: Rate, delay: Time) -> Self {
        Self { rate, delay }
    }

    /// A cable of a given length, and the time a frame spends inside the node at its end.
    #[must_use]
    pub const fn metres(rate: Rate, length: Metres, inside: Time) -> Self {
        Self { rate, delay: Time(length.delay().0.saturating_add(inside.0)) }
    }
}

/// A port as it was wired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Whose port it is.
    pub node: NodeId,
    /// The port at the cable's other end.
    pub peer: PortId,
    /// The cable.
    pub cable: Cable,
}

/// The hosts below a switch, and which of its ports lead where.
///
/// Hosts `first..last` are below, `step` of them behind each group of `parallel` down ports; the down ports come first.
/// All else goes by any of the up ports, which follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Covers {
    /// The first host below.
    pub first: u32,
    /// One past the last host below.
    pub last: u32,
    /// Hosts behind one group of down ports.
    pub step: u32,
    /// Ports in a group.
    pub parallel: u32,
    /// Down ports.
    pub down: u32,
    /// Up ports.
    pub up: u32,
}

/// Ports of one node that all lead to a destination: `count` of them from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hops {
    /// The first port.
    pub first: PortId,
    /// How many; 0 when the destination cannot be reached.
    pub count: u32,
}

impl Hops {
    /// All of them.
    pub fn ports(self) -> impl ExactSizeIterator<Item = PortId> {
        (self.first.0..self.first.0 + self.count).map(PortId)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    first: PortId,
    ports: u32,
    covers: Covers,
    tier: u8,
}

/// A fabric, wired and checked.
#[derive(Clone, Debug)]
pub struct Topology {
    hosts: u32,
    nodes: Table<NodeId, Node>,
    ports: Table<PortId, Port>,
}

impl Topology {
    /// How many hosts.
    #[must_use]
    pub const fn hosts(&self) -> u32 {
        self.hosts
    }

    /// How many switches.
    #[must_use]
    pub fn switches(&self) -> u32 {
        self.nodes.len() as u32 - self.hosts
    }

    /// Every port of every node, with its cable.
    #[must_use]
    pub const fn ports(&self) -> &Table<PortId, Port> {
        &self.ports
    }

    /// Every node.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        self.nodes.ids()
    }

    /// The switch that a node is.
    #[must_use]
    #[inline(always)]
    pub const fn switch(&self, node: NodeId) -> Option<SwitchId> {
        if node.0 >= self.hosts { Some(SwitchId(node.0 - self.hosts)) } else { None }
    }

    /// The node that a switch is.
    #[must_use]
    #[inline(always)]
    pub const fn node(&self, switch: SwitchId) -> NodeId {
        NodeId(self.hosts + switch.0)
    }

    /// The tier of a node: 0 for hosts, 1 for switches that hosts hang on, and so on upwards.
    #[must_use]
    #[inline(always)]
    pub fn tier(&self, node: NodeId) -> u8 {
        self.nodes[node].tier
    }

    /// The ports of a node.
    #[must_use]
    #[inline(always)]
    pub fn ports_of(&self, node: NodeId) -> Hops {
        let Node { first, ports, .. } = self.nodes[node];
        Hops { first, count: ports }
    }

    /// The ports by which `node` can send towards `to`, by arithmetic; link failures are the router's to know.
    #[must_use]
    #[inline(always)]
    pub fn next_hops(&self, node: NodeId, to: HostId) -> Hops {
        let Node { first, covers, .. } = self.nodes[node];
        if to.0 >= covers.first && to.0 < covers.last {
            let group = (to.0 - covers.first).checked_div(covers.step).unwrap_or(0);
            Hops { first: PortId(first.0 + group * covers.parallel), count: covers.parallel }
        } else {
            Hops { first: PortId(first.0 + covers.down), count: covers.up }
        }
    }

    /// Cables on the way from one host to another along first choices, both ends' included; `None` when no way leads
    /// there.
    #[must_use]
    pub fn way(&self, from: HostId, to: HostId) -> Option<Vec<PortId>> {
        let mut way = Vec::new();
        let mut at = NodeId::from(from);
        while at != NodeId::from(to) {
            let hops = self.next_hops(at, to);
            // No way passes a node twice.
            if hops.count == 0 || way.len() > self.nodes.len() {
                return None;
            }
            way.push(hops.first);
            at = self.ports[self.ports[hops.first].peer].node;
        }
        Some(way)
    }

    /// Gives the cable behind a port another rate, in both directions: a NIC or an optic that throttles (SYSTEMS J2).
    pub fn throttle(&mut self, port: PortId, rate: Rate) {
        let peer = self.ports[port].peer;
        self.ports[port].cable.rate = rate;
        self.ports[peer].cable.rate = rate;
    }

    /// A node's name for people: `h3` for a host, `t2s5` for the sixth switch of tier 2.
    #[must_use]
    pub fn name(&self, node: NodeId) -> String {
        if node.0 < self.hosts {
            return format!("h{}", node.0);
        }
        let tier = self.nodes[node].tier;
        let before = self.nodes.rows().iter().take(node.row()).filter(|other| other.tier == tier).count();
        format!("t{tier}s{before}")
    }
}

/// Why a fabric cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A dimension that must be at least `least`.
    #[error("{shape}: {what} is {is}; it must be at least {least}")]
    TooSmall {
        /// The shape's name.
        shape: &'static str,
        /// The dimension.
        what: &'static str,
        /// What was asked for.
        is: u32,
        /// What it takes.
        least: u32,
    },
    /// More ports or hosts than the model's ids can name.
    #[error("{shape}: {what} makes {is}, more than the {most} that the model can name")]
    TooLarge {
        /// The shape's name.
        shape: &'static str,
        /// What there is too much of.
        what: &'static str,
        /// How many it would be.
        is: u64,
        /// How many there may be.
        most: u64,
    },
    /// Numbers that do not fit together.
    #[error("{shape}: {why}")]
    Misfit {
        /// The shape's name.
        shape: &'static str,
        /// What does not fit, and what would.
        why: String,
    },
}

/// An error unless `is` is at least `least`.
pub(crate) fn at_least(shape: &'static str, what: &'static str, is: u32, least: u32) -> Result<(), Error> {
    if is < least { Err(Error::TooSmall { shape, what, is, least }) } else { Ok(()) }
}

/// Up ports that carry `hosts` hosts at a subscription of `ratio.0` to `ratio.1`, rounded up: 3:1 leaves a third of the
/// hosts' bandwidth above, 1:2 has twice of it. At least one.
#[must_use]
pub const fn uplinks(hosts: u32, host: Rate, up: Rate, ratio: (u32, u32)) -> u32 {
    let want = hosts as u128 * host.0 as u128 * ratio.1 as u128;
    let each = up.0 as u128 * ratio.0 as u128;
    match want.checked_add(each.saturating_sub(1)) {
        Some(sum) if each > 0 && sum / each > 0 => (sum / each) as u32,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const CABLE: Cable = Cable::new(Rate::gbps(100), Time::us(1));

    /// What must hold in every fabric: cables have two ends, and every host reaches every other.
    fn sound(fabric: &Topology) {
        for (id, port) in fabric.ports().iter() {
            assert_eq!(fabric.ports()[port.peer].peer, id);
            assert!(fabric.ports_of(port.node).ports().any(|own| own == id));
        }
        for from in 0..fabric.hosts() {
            for to in (0..fabric.hosts()).filter(|to| *to != from) {
                let way = fabric.way(HostId(from), HostId(to)).unwrap();
                assert!(way.len() >= 2, "{from} to {to}");
            }
        }
    }

    #[test]
    fn every_shape_is_sound() {
        let fabrics = [
            Star { hosts: 5, cable: CABLE }.build(),
            Dumbbell { left: 3, right: 2, trunks: 2, host: CABLE, trunk: CABLE }.build(),
            Clos2 { leaves: 4, spines: 2, hosts_per_leaf: 3, parallel: 2, host: CABLE, spine: CABLE }.build(),
            FatTree::radix(4, CABLE).build(),
            FatTree { pods: 3, cores_per_spine: 1, parallel: 3, ..FatTree::radix(4, CABLE) }.build(),
            AiZone {
                zones: 2,
                leaves: 3,
                hosts_per_leaf: 2,
                spines: 2,
                aggregators: 2,
                host: CABLE,
                spine: CABLE,
                aggregation: CABLE,
            }
            .build(),
            Rail { units: 2, servers: 2, rails: 3, spines: 2, host: CABLE, spine: CABLE }.build(),
            LongHaul { leaves: 2, hosts_per_leaf: 2, spines: 2, trunks: 2, host: CABLE, spine: CABLE, trunk: CABLE }
                .build(),
            Ring { switches: 5, hosts_per_switch: 2, host: CABLE, ring: CABLE }.build(),
        ];
        for fabric in fabrics {
            sound(&fabric.unwrap());
        }
    }

    #[test]
    fn the_list_and_the_folder_agree() {
        let mut found: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/topology"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "mod" && name != "plan")
            .collect();
        found.sort();
        assert_eq!(found, SHAPES);
    }

    #[test]
    fn uplinks_by_ratio() {
        let (low, high) = (Rate::gbps(100), Rate::gbps(400));
        assert_eq!(uplinks(16, low, low, (1, 1)), 16);
        assert_eq!(uplinks(16, low, low, (1, 2)), 32);
        assert_eq!(uplinks(16, low, high, (1, 1)), 4);
        assert_eq!(uplinks(16, high, high, (7, 1)), 3);
        assert_eq!(uplinks(1, low, high, (7, 1)), 1);
    }

    #[test]
    fn nodes_have_names() {
        let fabric = FatTree::radix(4, CABLE).build().unwrap();
        let name = |n| fabric.name(NodeId(n));
        assert_eq!([name(0), name(16), name(23), name(24), name(32)], ["h0", "t1s0", "t1s7", "t2s0", "t3s0"]);
    }
}
