//! Names of cables, and the ports behind them.

use std::collections::HashMap;

use crate::table::Table;
use crate::topology::{NodeId, PortId, Topology};

/// A name that is no place of the fabric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no link: {why}")]
pub struct NoPlace {
    /// What was asked for.
    pub name: String,
    /// What does not fit.
    pub why: String,
}

/// The name of a port's cable as it is seen from that port: `h3` for a host's own, `t1s0-h3` and `t1s0-t2s1` from a
/// switch; `t1s0-t2s1.1` is the second of parallel ones.
#[must_use]
pub fn link_name(fabric: &Topology, port: PortId) -> String {
    let (node, neighbour) = ends(fabric, port);
    let nth = between(fabric, node, neighbour).position(|other| other == port).unwrap_or_default();
    named(fabric, node, neighbour, nth, |node| fabric.name(node))
}

/// The names of all cables as they are seen from every port, in the order of ports.
#[must_use]
pub fn link_names(fabric: &Topology) -> Table<PortId, String> {
    // A node's name counts those before it: here all are counted at once.
    let mut counts = [0_u32; 256];
    let name = |node| {
        let tier = fabric.tier(node);
        let count = counts.get_mut(usize::from(tier)).map_or(0, |count| std::mem::replace(count, *count + 1));
        if tier == 0 { format!("h{count}") } else { format!("t{tier}s{count}") }
    };
    let nodes: Table<NodeId, String> = fabric.nodes().map(name).collect();
    // Nor is each cable looked for among all of its switch.
    let mut parallel: HashMap<(NodeId, NodeId), usize> = HashMap::new();
    let cable = |port| {
        let (node, neighbour) = ends(fabric, port);
        let next = parallel.entry((node, neighbour)).or_default();
        let nth = std::mem::replace(next, *next + 1);
        named(fabric, node, neighbour, nth, |node| nodes[node].clone())
    };
    fabric.ports().ids().map(cable).collect()
}

/// The node of a port, and the one at the other end of its cable.
fn ends(fabric: &Topology, port: PortId) -> (NodeId, NodeId) {
    let ports = fabric.ports();
    (ports[port].node, ports[ports[port].peer].node)
}

/// The `nth` cable from a node to its neighbour.
fn named(fabric: &Topology, node: NodeId, neighbour: NodeId, nth: usize, of: impl Fn(NodeId) -> String) -> String {
    if node.0 < fabric.hosts() {
        return of(node);
    }
    let name = format!("{}-{}", of(node), of(neighbour));
    if nth == 0 { name } else { format!("{name}.{nth}") }
}

/// The port of a name as [`link_name`] gives it.
///
/// # Errors
/// A node or cable that is not there, with what is.
pub fn port_of(fabric: &Topology, name: &str) -> Result<PortId, NoPlace> {
    let no = |why: String| NoPlace { name: name.chars().take(60).collect(), why };
    let (cable, nth) = match name.split_once('.') {
        Some((cable, nth)) => (cable, number(nth).ok_or_else(|| no(format!("{nth:?} is no number of a cable")))?),
        None => (name, 0),
    };
    let node = |name: &str| node_of(fabric, name).ok_or_else(|| no(unknown(fabric, name)));
    let Some((from, to)) = cable.split_once('-') else {
        let host = node(cable)?;
        if host.0 >= fabric.hosts() || nth > 0 {
            return Err(no("a switch has many; name both ends, such as t1s0-h0".to_owned()));
        }
        return Ok(fabric.ports_of(host).first);
    };
    let (from, to) = (node(from)?, node(to)?);
    let mut cables = between(fabric, from, to);
    let count = between(fabric, from, to).count();
    cables
        .nth(nth as usize)
        .ok_or_else(|| no(format!("{count} cables lead from {} to {}", fabric.name(from), fabric.name(to))))
}

fn between(fabric: &Topology, from: NodeId, to: NodeId) -> impl Iterator<Item = PortId> {
    let ports = fabric.ports();
    fabric.ports_of(from).ports().filter(move |port| ports[ports[*port].peer].node == to)
}

/// The node of a name that [`Topology::name`] gives.
fn node_of(fabric: &Topology, name: &str) -> Option<NodeId> {
    if let Some(number) = name.strip_prefix('h') {
        let number = self::number(number)?;
        return (number < fabric.hosts()).then_some(NodeId(number));
    }
    let (tier, number) = name.strip_prefix('t')?.split_once('s')?;
    let (tier, number) = (u8::try_from(self::number(tier)?).ok()?, self::number(number)?);
    fabric.nodes().filter(|node| tier > 0 && fabric.tier(*node) == tier).nth(number as usize)
}

/// A number as names have it, without a sign or zeros before it: no node has two names.
fn number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

fn unknown(fabric: &Topology, name: &str) -> String {
    let short: String = name.chars().take(60).collect();
    let top = fabric.nodes().map(|node| fabric.tier(node)).max().unwrap_or(0);
    let tiers: Vec<String> = (1..=top)
        .map(|tier| (tier, fabric.nodes().filter(|node| fabric.tier(*node) == tier).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(tier, count)| format!("t{tier}s0 to t{tier}s{}", count - 1))
        .collect();
    let hosts = fabric.hosts().saturating_sub(1);
    format!("there is no node {short:?}; hosts are h0 to h{hosts}, switches {}", tiers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Cable, Clos2};
    use crate::units::{Rate, Time};

    #[test]
    fn names_come_back() {
        let cable = Cable::new(Rate::gbps(100), Time::us(1));
        let clos = Clos2 { leaves: 2, spines: 2, hosts_per_leaf: 2, parallel: 2, host: cable, spine: cable };
        let fabric = clos.build().unwrap();
        let all = link_names(&fabric);
        for port in fabric.ports().ids() {
            assert_eq!(all[port], link_name(&fabric, port));
            assert_eq!(port_of(&fabric, &link_name(&fabric, port)), Ok(port));
        }
        assert_eq!([link_name(&fabric, PortId(3)), link_name(&fabric, PortId(7))], ["h3", "t1s0-t2s0.1"]);
        let why = |name| port_of(&fabric, name).unwrap_err().to_string();
        assert!(why("h4").contains("h0 to h3, switches t1s0 to t1s1, t2s0 to t2s1"), "{}", why("h4"));
        assert!(why("t1s0-t2s0.2").contains("2 cables"));
        assert!(why("t1s0").contains("both ends"));
        assert!(why("t1s0-h3").contains("0 cables"));
        for other in ["h00", "h01", "h+1", "h", "t01s0-h0", "t1s00-h0", "t1s0-h00", "t1s0-t2s0.00", "t1s0-t2s0.+1"] {
            assert!(why(other).contains(" no "), "{other}: {}", why(other));
        }
    }
}
