//! Laying out a fabric: nodes first, then cables, then one check of it all.

use super::{Cable, Covers, Error, Node, NodeId, Port, PortId, Topology};
use crate::table::{Id, Table};
use crate::units::{Rate, Time};

/// Ids must leave room for the marks that the engine keeps beside them: 2^28 ports are 256 million.
const MOST: u64 = 1 << 28;

/// A switch to be laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its tier: 1 for switches that hosts hang on.
    pub tier: u8,
    /// What is below, and by which ports.
    pub covers: Covers,
}

/// A fabric in the making.
#[derive(Clone, Debug)]
pub struct Plan {
    shape: &'static str,
    hosts: u32,
    nodes: Table<NodeId, Node>,
    ports: Table<PortId, Port>,
}

/// The cable of a port that has none yet.
const LOOSE: Cable = Cable::new(Rate(0), Time::NEVER);

impl Plan {
    /// A fabric of `hosts` hosts, each with one port.
    ///
    /// # Errors
    /// More hosts than ids.
    pub fn new(shape: &'static str, hosts: u64) -> Result<Self, Error> {
        if hosts > MOST {
            return Err(Error::TooLarge { shape, what: "the number of hosts", is: hosts, most: MOST });
        }
        let mut plan = Self { shape, hosts: hosts as u32, nodes: Table::new(), ports: Table::new() };
        let covers = Covers { up: 1, ..Covers::default() };
        for _ in 0..hosts {
            plan.node(0, covers, 0)?;
        }
        Ok(plan)
    }

    fn node(&mut self, tier: u8, covers: Covers, more: u32) -> Result<NodeId, Error> {
        let ports = u64::from(covers.down) + u64::from(covers.up) + u64::from(more);
        let all = self.ports.len() as u64 + ports;
        if all > MOST {
            return Err(Error::TooLarge { shape: self.shape, what: "the number of ports", is: all, most: MOST });
        }
        let id = NodeId::of(self.nodes.len());
        let first = PortId::of(self.ports.len());
        for port in (first.0..).take(ports as usize).map(PortId) {
            self.ports.push(Port { node: id, peer: port, cable: LOOSE });
        }
        Ok(self.nodes.push(Node { first, ports: ports as u32, covers, tier }))
    }

    /// Adds a switch.
    ///
    /// # Errors
    /// More ports than ids.
    pub fn switch(&mut self, switch: Switch) -> Result<NodeId, Error> {
        self.switch_with(switch, 0)
    }

    /// Adds a switch with `more` ports behind its up ports: they are wired, and no route leads to them.
    ///
    /// # Errors
    /// More ports than ids.
    pub fn switch_with(&mut self, Switch { tier, covers }: Switch, more: u32) -> Result<NodeId, Error> {
        self.node(tier, covers, more)
    }

    /// Lays a cable between port `at_a` of `a` and port `at_b` of `b`, each counted from its node's first.
    ///
    /// # Errors
    /// A port that its node does not have, or that has a cable.
    pub fn wire(&mut self, (a, at_a): (NodeId, u32), (b, at_b): (NodeId, u32), cable: Cable) -> Result<(), Error> {
        let (a, b) = (self.loose(a, at_a)?, self.loose(b, at_b)?);
        self.ports[a].peer = b;
        self.ports[a].cable = cable;
        self.ports[b].peer = a;
        self.ports[b].cable = cable;
        Ok(())
    }

    fn loose(&self, node: NodeId, at: u32) -> Result<PortId, Error> {
        let misfit =
            |why: &str| Error::Misfit { shape: self.shape, why: format!("port {at} of node {} {why}", node.0) };
        if !self.nodes.has(node) || at >= self.nodes[node].ports {
            return Err(misfit("does not exist"));
        }
        let port = PortId(self.nodes[node].first.0 + at);
        if self.ports[port].cable != LOOSE {
            return Err(misfit("has a cable already"));
        }
        Ok(port)
    }

    /// The fabric, when every port has its cable and every cable carries something.
    ///
    /// # Errors
    /// A port without a cable, a cable of rate zero.
    pub fn finish(self) -> Result<Topology, Error> {
        for (id, port) in self.ports.iter() {
            let why = match port.cable {
                LOOSE => "has no cable",
                Cable { rate: Rate(0), .. } => "has a cable of rate zero",
                _ => continue,
            };
            let at = id.0 - self.nodes[port.node].first.0;
            let why = format!("port {at} of node {} {why}", port.node.0);
            return Err(Error::Misfit { shape: self.shape, why });
        }
        Ok(Topology { hosts: self.hosts, nodes: self.nodes, ports: self.ports })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_does_not_close_says_where() {
        let cable = Cable::new(Rate::gbps(1), Time::ZERO);
        let covers = Covers { first: 0, last: 2, step: 1, parallel: 1, down: 2, up: 0 };
        let mut plan = Plan::new("test", 2).unwrap();
        let switch = plan.switch(Switch { tier: 1, covers }).unwrap();
        plan.wire((NodeId(0), 0), (switch, 0), cable).unwrap();
        assert_eq!(plan.clone().finish().unwrap_err().to_string(), "test: port 0 of node 1 has no cable");
        let twice = plan.wire((NodeId(0), 0), (switch, 1), cable).unwrap_err();
        assert_eq!(twice.to_string(), "test: port 0 of node 0 has a cable already");
        assert!(plan.wire((NodeId(1), 1), (switch, 1), cable).is_err());
        plan.wire((NodeId(1), 0), (switch, 1), Cable { rate: Rate(0), ..cable }).unwrap();
        assert!(plan.finish().is_err());
        assert!(matches!(Plan::new("test", MOST + 1), Err(Error::TooLarge { .. })));
    }
}
