//! Deadlock: paused queues that wait for one another in a circle (SYSTEMS P3).
//!
//! A paused queue waits until the account that paused it falls; the account falls when its frames leave; some of them
//! stand in queues that are paused themselves. That such dependencies form a circle is not enough: one frame of an
//! account that may still leave can end the pause. So the detector asks what would be left if everything that can leave
//! did: it starts with all paused queues that are in reach, lets go those whose account would fall below XON with
//! nothing but the others' frames in it, and repeats that until nothing changes. What stays can never move by itself
//! (the greatest fixed point of "waits"), and all else can: no alarm is false, and none is late. A PFC frame that is
//! due or on the cable may change its queue's mind, so such a queue counts as moving until the frame has come.
//!
//! It looks when a pause has come or a frame has joined a paused queue: only these can close a circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::State;
use crate::engine::port::Held;
use crate::table::Table;
use crate::topology::{NodeId, PortId, SwitchId, Topology};
use crate::units::{Priority, Time};

/// A switch's queue: the port that it feeds, and its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Queue {
    /// The port.
    pub port: PortId,
    /// The priority.
    pub priority: Priority,
}

impl Queue {
    /// Its name: the switch, which of its ports, the priority.
    #[must_use]
    pub fn name(self, fabric: &Topology) -> String {
        let node = fabric.ports()[self.port].node;
        let row = self.port.0 - fabric.ports_of(node).first.0;
        format!("{} port {row} priority {}", fabric.name(node), self.priority.number())
    }
}

/// A deadlock that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// When it closed.
    pub at: Time,
    /// The circle: each waits for the next, the last for the first.
    pub circle: Vec<Queue>,
    /// When something (a watchdog, a cut) opened it.
    pub opened: Option<Time>,
}

impl Deadlock {
    /// Its members by name, in the order in which they wait.
    #[must_use]
    pub fn names(&self, fabric: &Topology) -> Vec<String> {
        self.circle.iter().map(|queue| queue.name(fabric)).collect()
    }
}

/// What the detector knows.
#[derive(Clone, Debug)]
pub(crate) struct Detector {
    /// PFC frames on the cable to each port.
    aloft: Table<PortId, u32>,
    /// Paused priorities of each switch's ports.
    paused: Table<SwitchId, u32>,
    found: Vec<Deadlock>,
    /// Members of circles that are still closed, and which.
    locked: BTreeMap<Queue, usize>,
    /// Room for a search.
    seen: Vec<NodeId>,
}

/// Bytes of an account, by the queue that they stand in.
type Shares = BTreeMap<Queue, BTreeMap<Queue, u64>>;

impl Detector {
    pub(crate) fn new(fabric: &Topology) -> Self {
        Self {
            aloft: Table::filled(0, fabric.ports().len()),
            paused: Table::filled(0, fabric.switches() as usize),
            found: Vec::new(),
            locked: BTreeMap::new(),
            seen: Vec::new(),
        }
    }

    /// A PFC frame is on its way to `to`, or has come, or is lost.
    pub(crate) fn told(&mut self, to: PortId, leaves: bool) {
        let aloft = &mut self.aloft[to];
        *aloft = if leaves { *aloft + 1 } else { *aloft - 1 };
    }

    /// A priority of a switch's port has been paused or let go.
    pub(crate) fn turned(&mut self, switch: SwitchId, queue: Queue, stopped: bool, now: Time) {
        let paused = &mut self.paused[switch];
        if stopped {
            *paused += 1;
            return;
        }
        *paused -= 1;
        let Some(row) = self.locked.get(&queue).copied() else { return };
        self.locked.retain(|_, of| *of != row);
        if let Some(deadlock) = self.found.get_mut(row) {
            deadlock.opened = Some(now);
        }
    }

    /// All that were found, in their order.
    pub(crate) fn found(&self) -> &[Deadlock] {
        &self.found
    }

    /// Whether a circle is closed now.
    pub(crate) fn is_locked(&self) -> bool {
        !self.locked.is_empty()
    }
}

impl State {
    /// Looks for a circle through a queue that is paused and has just got a reason more to be.
    #[inline]
    pub(crate) fn look(&mut self, queue: Queue) {
        let next = self.ports[queue.port].neighbour;
        let Some(switch) = self.fabric.switch(next) else { return };
        if self.deadlocks.paused[switch] > 0 {
            self.look_closely(queue);
        }
    }

    #[inline(never)]
    fn look_closely(&mut self, queue: Queue) {
        if self.deadlocks.locked.contains_key(&queue) {
            return;
        }
        let Some(reached) = self.reach(queue) else { return };
        let shares = self.shares(&reached);
        let mut stuck = reached;
        loop {
            let before = stuck.len();
            let kept = stuck.iter().filter(|queue| self.waits(**queue, &shares, &stuck)).copied().collect();
            stuck = kept;
            if !stuck.contains(&queue) {
                return;
            }
            if stuck.len() == before {
                break;
            }
        }
        let circle = self.circle(queue, &shares, &stuck);
        if circle.iter().any(|queue| self.deadlocks.locked.contains_key(queue)) {
            return;
        }
        let row = self.deadlocks.found.len();
        self.deadlocks.locked.extend(circle.iter().map(|queue| (*queue, row)));
        self.deadlocks.found.push(Deadlock { at: self.now, circle, opened: None });
    }

    /// The account that pauses a queue.
    fn account(&self, queue: Queue) -> Queue {
        Queue { port: self.ports[queue.port].peer, ..queue }
    }

    /// All paused queues that `queue` may wait for, itself among them; `None` when the way never leads back to it.
    fn reach(&mut self, queue: Queue) -> Option<BTreeSet<Queue>> {
        // Nearly always it does not, and that must be cheap: switches first.
        let mut seen = std::mem::take(&mut self.deadlocks.seen);
        seen.clear();
        seen.push(self.ports[queue.port].neighbour);
        let mut row = 0;
        while let Some(node) = seen.get(row).copied() {
            row += 1;
            if self.fabric.switch(node).is_none_or(|switch| self.deadlocks.paused[switch] == 0) {
                continue;
            }
            for at in self.fabric.ports_of(node).ports() {
                let port = &self.ports[at];
                if !port.paused.is_empty() && !seen.contains(&port.neighbour) {
                    seen.push(port.neighbour);
                }
            }
        }
        let back = seen.contains(&self.fabric.ports()[queue.port].node).then(|| {
            let ports = seen.iter().flat_map(|node| self.fabric.ports_of(*node).ports());
            let paused = |port: PortId| self.ports[port].paused.iter().map(move |priority| Queue { port, priority });
            ports.filter(|port| port.0 >= self.fabric.hosts()).flat_map(paused).collect()
        });
        self.deadlocks.seen = seen;
        back
    }

    /// What of every account stands in which of the queues.
    fn shares(&self, queues: &BTreeSet<Queue>) -> Shares {
        let mut shares = Shares::new();
        for queue in queues {
            for id in self.standing(*queue) {
                let packet = &self.packets[id];
                let account = Queue { port: packet.ingress, priority: packet.came };
                *shares.entry(account).or_default().entry(*queue).or_default() += u64::from(packet.size);
            }
        }
        shares
    }

    /// Whether a queue would stay paused if only `stuck` queues kept their frames.
    fn waits(&self, queue: Queue, shares: &Shares, stuck: &BTreeSet<Queue>) -> bool {
        let account = self.account(queue);
        let held = self.held[account.port][account.priority];
        let limit = self.credits.limit(queue.port);
        if (limit.is_none() && !held.stopped())
            || self.ports[account.port].due.has(account.priority)
            || self.deadlocks.aloft[queue.port] > 0
        {
            return false;
        }
        let left = |account: &Queue| -> (u64, u64) {
            let of = shares.get(account).into_iter().flatten();
            let stays = of.filter(|(queue, _)| stuck.contains(*queue)).map(|(_, bytes)| bytes).sum();
            left(self.held[account.port][account.priority], stays)
        };
        let (shared, room) = left(&account);
        if let Some(limit) = limit {
            return !self.credits.fits(room, limit);
        }
        if room > 0 {
            return true;
        }
        let node = self.ports[queue.port].neighbour;
        let Some(switch) = self.fabric.switch(node) else { return false };
        let all = self.fabric.ports_of(node);
        let (first, end) = (all.first, PortId(all.first.0 + all.count));
        let ours = shares.keys().filter(|account| account.port >= first && account.port < end);
        let mut pool = self.pools[switch];
        pool.used = ours.map(|account| left(account).0).sum();
        !self.settings.switch.buffer(self.fabric.tier(node)).low(shared, &pool)
    }

    /// The first circle on the way from `queue`.
    fn circle(&self, queue: Queue, shares: &Shares, stuck: &BTreeSet<Queue>) -> Vec<Queue> {
        let mut way = Vec::new();
        let mut at = queue;
        loop {
            if let Some(row) = way.iter().position(|queue| *queue == at) {
                return way.split_off(row);
            }
            way.push(at);
            // A queue that waits has frames of its account in another that does: an empty account lets go.
            let of = shares.get(&self.account(at)).into_iter().flatten().map(|(queue, _)| *queue);
            match of.filter(|queue| stuck.contains(queue)).min() {
                Some(next) => at = next,
                None => return Vec::new(),
            }
        }
    }
}

/// What of an account, in the pool and in its headroom, is left when all leaves but `stays` bytes: headroom empties
/// first.
fn left(held: Held, stays: u64) -> (u64, u64) {
    let leaves = (held.shared + held.room()).saturating_sub(stays);
    let room = held.room().saturating_sub(leaves);
    (stays.saturating_sub(room), room)
}
