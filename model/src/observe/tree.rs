//! Trees of pauses: from the queue that did not empty, port by port, to the hosts that had to wait.
//!
//! A pause hangs on another one when the switch that asked for it was itself paused at one of its ports, in the same
//! priority: its queue could not go down. One that hangs on none is a root, and the switch that asked for it is where
//! the congestion stands.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Simulation;
use crate::topology::{NodeId, PortId, Topology};
use crate::units::{Priority, Time};

/// A priority of a port was stopped, or let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// When.
    pub at: Time,
    /// The port that may not send, or may again.
    pub port: PortId,
    /// The priority.
    pub priority: Priority,
    /// Whether it was stopped.
    pub stopped: bool,
}

/// All pauses that go back to one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The node that asked first: where the congestion stands.
    pub root: NodeId,
    /// The priority.
    pub priority: Priority,
    /// How many pauses.
    pub pauses: u64,
    /// The longest chain of them: 1 where only neighbours of the root were paused.
    pub depth: u32,
    /// Ports that were paused.
    pub ports: BTreeSet<PortId>,
    /// When the first began, and the last began or ended.
    pub first: Time,
    /// See `first`.
    pub last: Time,
}

/// A pause that lasts.
#[derive(Clone, Copy, Debug)]
struct Active {
    port: PortId,
    since: Time,
    root: NodeId,
    depth: u32,
}

/// Trees in the making. Memory follows ports and roots, never the number of pauses.
#[derive(Clone, Debug, Default)]
pub struct Trees {
    /// Pauses that last, by the node whose port may not send.
    active: BTreeMap<(NodeId, Priority), Vec<Active>>,
    trees: BTreeMap<(NodeId, Priority), Tree>,
}

impl Trees {
    /// Takes what happened, in the order of time.
    pub fn add(&mut self, fabric: &Topology, turns: &[Turn]) {
        let ports = fabric.ports();
        for turn in turns {
            let (node, asker) = (ports[turn.port].node, ports[ports[turn.port].peer].node);
            if turn.stopped {
                // The one that has stood longest.
                let above = self.active.get(&(asker, turn.priority));
                let above = above.and_then(|all| all.iter().min_by_key(|active| (active.since, active.port)));
                let (root, depth) = above.map_or((asker, 1), |above| (above.root, above.depth + 1));
                let active = Active { port: turn.port, since: turn.at, root, depth };
                self.active.entry((node, turn.priority)).or_default().push(active);
                let tree = self.trees.entry((root, turn.priority)).or_insert_with(|| Tree {
                    root,
                    priority: turn.priority,
                    pauses: 0,
                    depth: 0,
                    ports: BTreeSet::new(),
                    first: turn.at,
                    last: turn.at,
                });
                tree.pauses += 1;
                tree.depth = tree.depth.max(depth);
                tree.ports.insert(turn.port);
                tree.last = turn.at;
            } else if let Some(all) = self.active.get_mut(&(node, turn.priority))
                && let Some(at) = all.iter().position(|active| active.port == turn.port)
            {
                let ended = all.swap_remove(at);
                if let Some(tree) = self.trees.get_mut(&(ended.root, turn.priority)) {
                    tree.last = turn.at;
                }
            }
        }
    }

    /// The trees so far, the one with the most pauses first.
    #[must_use]
    pub fn trees(&self) -> Vec<&Tree> {
        let mut trees: Vec<&Tree> = self.trees.values().collect();
        trees.sort_by_key(|tree| (std::cmp::Reverse(tree.pauses), tree.root, tree.priority));
        trees
    }
}

impl Simulation {
    /// Begins to keep every turn of every pause, until [`Simulation::turns`] takes them.
    pub fn watch_pauses(&mut self) {
        self.state.pauses.turns.get_or_insert_default();
    }

    /// Hands over the turns since the last time, in the order of time; none unless [`Simulation::watch_pauses`] was
    /// called.
    pub fn turns(&mut self) -> Vec<Turn> {
        self.state.pauses.turns.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Cable, Clos2};
    use crate::units::Rate;

    #[test]
    fn a_pause_hangs_on_the_one_that_holds_its_switch() {
        let cable = Cable::new(Rate::gbps(100), Time::us(1));
        let clos = Clos2 { leaves: 2, spines: 1, hosts_per_leaf: 2, parallel: 1, host: cable, spine: cable };
        let fabric = clos.build().unwrap();
        let port = |name| crate::observe::port_of(&fabric, name).unwrap();
        let turn = |us, name, stopped| Turn { at: Time::us(us), port: port(name), priority: Priority::new(3), stopped };
        let mut trees = Trees::default();
        // Leaf 1 is full: it stops the spine, the spine stops leaf 0, and leaf 0 stops a host. Later leaf 0 is full
        // alone.
        let story = [
            turn(1, "t2s0-t1s1", true),
            turn(2, "t1s0-t2s0", true),
            turn(3, "h0", true),
            turn(4, "t2s0-t1s1", false),
            turn(5, "t1s0-t2s0", false),
            turn(6, "h0", false),
            turn(9, "h1", true),
        ];
        trees.add(&fabric, &story);
        let [deep, flat] = trees.trees()[..] else { panic!("two trees") };
        assert_eq!((fabric.name(deep.root), deep.pauses, deep.depth, deep.ports.len()), ("t1s1".into(), 3, 3, 3));
        assert_eq!((deep.first, deep.last), (Time::us(1), Time::us(6)));
        assert_eq!((fabric.name(flat.root), flat.pauses, flat.depth, flat.last), ("t1s0".into(), 1, 1, Time::us(9)));
    }
}
