//! Ways chosen by load: the port with the fewest bytes in its queues, ties at random.
//!
//! A flow that is known keeps its way as long as its packets follow one another. When it is new, or has been silent for
//! longer than a gap, it is given the emptiest port: what was under way has arrived by then, so nothing is reordered
//! (flowlets: Sinha, Kandula, Katabi 2004; DLB in switch chips re-evaluates every few microseconds, SYSTEMS R5). An
//! endless gap is new flows alone (SYSTEMS R7), no gap every packet (SYSTEMS R6).
//!
//! A switch remembers a bounded number of flows by hash, as chips do: two that share a place share a way.

use super::hash::{Fields, Hash};
use super::{Key, Policy, View};
use crate::topology::{Hops, HostId, NodeId, PortId, Topology};
use crate::units::Time;

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Silence after which a flow is given a new way: [`Time::ZERO`] for every packet, [`Time::NEVER`] for new flows
    /// alone.
    pub gap: Time,
    /// Flows that a switch remembers; rounded up to a power of two.
    pub flows: u32,
}

crate::scenario::knobs!(Settings { gap, flows });

impl Settings {
    /// Every packet.
    pub const PACKET: Self = Self { gap: Time::ZERO, flows: 1 };
    /// New flows alone.
    pub const FLOW: Self = Self { gap: Time::NEVER, flows: 4_096 };
}

impl Default for Settings {
    /// A gap of 16 us, longer than the way through most fabrics, and 4,096 flows a switch.
    fn default() -> Self {
        Self { gap: Time::us(16), flows: 4_096 }
    }
}

/// What a switch remembers of a flow.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// When its last packet passed.
    last: Time,
    port: PortId,
}

const UNKNOWN: Known = Known { last: Time::NEVER, port: PortId(u32::MAX) };

/// Ways chosen by load.
#[derive(Clone, Debug)]
pub struct Adaptive {
    gap: Time,
    flows: usize,
    /// Of every node; empty until it has something to remember.
    tables: Vec<Vec<Known>>,
}

/// The usable port with the fewest bytes.
fn emptiest<V: View>(view: &mut V, to: HostId, hops: Hops) -> PortId {
    let damaged = view.damaged();
    let (mut best, mut least, mut ties) = (hops.first, None, 0);
    for port in hops.ports() {
        if damaged && !view.usable(port, to) {
            continue;
        }
        let queue = view.queue(port);
        if least.is_none_or(|least| queue < least) {
            (best, least, ties) = (port, Some(queue), 1);
        } else if least == Some(queue) {
            // The nth of equals takes over with a chance of 1/n: each is as likely in the end.
            ties += 1;
            if view.below(ties) == 0 {
                best = port;
            }
        }
    }
    best
}

impl Policy for Adaptive {
    type Settings = Settings;

    fn new(settings: &Settings, fabric: &Topology, _: u64) -> Self {
        let flows = settings.flows.clamp(1, 1 << 20).next_power_of_two() as usize;
        Self { gap: settings.gap, flows, tables: fabric.nodes().map(|_| Vec::new()).collect() }
    }

    fn entropy(&self, key: &Key) -> u32 {
        Hash::Mix.of(Fields::TUPLE_QP, key)
    }

    fn sprays(&self) -> bool {
        self.gap == Time::ZERO
    }

    #[inline]
    fn choose<V: View>(&mut self, view: &mut V, at: NodeId, to: HostId, entropy: u32, hops: Hops) -> PortId {
        let now = view.now();
        let table = self.tables.get_mut(at.0 as usize).filter(|_| self.gap > Time::ZERO);
        let Some(table) = table else { return emptiest(view, to, hops) };
        if table.is_empty() {
            table.resize(self.flows, UNKNOWN);
        }
        let Some(known) = table.get_mut(entropy as usize & (self.flows - 1)) else { return hops.first };
        let ours = known.port.0.wrapping_sub(hops.first.0) < hops.count;
        let fresh = ours && (self.gap == Time::NEVER || now.since(known.last) <= self.gap);
        if !fresh || view.damaged() && !view.usable(known.port, to) {
            known.port = emptiest(view, to, hops);
        }
        known.last = now;
        known.port
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Still;
    use super::*;
    use crate::topology::{Cable, FatTree};
    use crate::units::{Bytes, Rate};

    const HOPS: Hops = Hops { first: PortId(10), count: 4 };

    fn adaptive(settings: &Settings) -> Adaptive {
        let fabric = FatTree::radix(4, Cable::new(Rate::gbps(100), Time::us(1))).build().unwrap();
        Adaptive::new(settings, &fabric, 1)
    }

    fn full(but: u32) -> Vec<(PortId, Bytes)> {
        HOPS.ports().map(|port| (port, Bytes(if port.0 == but { 0 } else { 9_000 }))).collect()
    }

    #[test]
    fn a_flowlet_ends_with_a_gap() {
        let mut adaptive = adaptive(&Settings { gap: Time::us(10), flows: 64 });
        let mut view = Still { queues: full(12), ..Still::default() };
        let mut go = |view: &mut Still, at: u64, flow| {
            view.now = Time::us(at);
            adaptive.choose(view, NodeId(20), HostId(0), flow, HOPS).0
        };
        assert_eq!(go(&mut view, 0, 7), 12);
        view.queues = full(13);
        assert_eq!([go(&mut view, 9, 7), go(&mut view, 19, 7)], [12, 12], "it follows itself");
        assert_eq!(go(&mut view, 20, 8), 13, "another is free to go");
        assert_eq!(go(&mut view, 30, 7), 13, "a gap sets it free");
    }

    #[test]
    fn packets_or_new_flows() {
        let mut view = Still { queues: full(11), ..Still::default() };
        let mut packet = adaptive(&Settings::PACKET);
        let mut flow = adaptive(&Settings::FLOW);
        let mut go = |view: &mut Still| {
            let of = |policy: &mut Adaptive, view: &mut Still| policy.choose(view, NodeId(20), HostId(0), 3, HOPS).0;
            (of(&mut packet, view), of(&mut flow, view))
        };
        assert_eq!(go(&mut view), (11, 11));
        view.queues = full(13);
        view.now = Time::ms(50);
        assert_eq!(go(&mut view), (13, 11));
        view.dead = vec![PortId(11)];
        assert_eq!(go(&mut view), (13, 13));
    }

    #[test]
    fn equals_share() {
        let mut adaptive = adaptive(&Settings::PACKET);
        let mut view = Still::default();
        let mut loads = [0_u32; 4];
        for _ in 0..4_000 {
            loads[(adaptive.choose(&mut view, NodeId(20), HostId(0), 0, HOPS).0 - 10) as usize] += 1;
        }
        assert!(loads.iter().all(|load| (880..1_120).contains(load)), "{loads:?}");
    }
}
