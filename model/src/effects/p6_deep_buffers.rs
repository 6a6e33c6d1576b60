//! SYSTEMS P6: spines with deep buffers do not pause leaves, even without congestion control and with several leaves
//! pausing.
//!
//! Leaves whose hosts are the goal of an incast fill, and pause their spines. A spine with a usual buffer soon has to
//! pass the pause on to every leaf that sends it anything, innocent flows included (one that has ways of its own hardly
//! notices). A deep buffer takes the whole burst in, and nobody above or beside notices. Set-up: 8 racks of 4 hosts, 4
//! spines, 100G, no congestion control, incasts of eight to one in four racks, 2 MB each, and a flow of 2 MB between
//! idle hosts of two racks; spines with 0.5 MB and with 64 MB a port; packets.

use super::{Effect, Error, Found};
use crate::engine::{Settings, Simulation, Status};
use crate::switch::Buffer;
use crate::topology::{AiZone, Cable, HostId, NodeId, PortId, Topology};
use crate::units::{Bytes, Rate, Time};
use crate::workload::{Flow, Workload, pattern};

pub(super) const EFFECT: Effect = Effect {
    name: "p6_deep_buffers",
    claim: "deep-buffer spines never send persistent PFC upstream, with congestion control off and several leaves \
        pausing",
    run,
};

/// Pauses that ports of a tier obeyed, of those that lead to a node of the other.
fn pauses(run: &Simulation, fabric: &Topology, tier: u8, to: u8) -> u64 {
    let of = |node: NodeId| fabric.tier(node);
    let ports =
        fabric.ports().iter().filter(|(_, port)| of(port.node) == tier && of(fabric.ports()[port.peer].node) == to);
    ports.map(|(id, _): (PortId, _)| run.counters(id).pause[Flow::PRIORITY].times).sum()
}

/// Pauses from leaves to spines, from spines to leaves, and how long the innocent flow took.
fn play(per_port: Bytes) -> Result<(u64, u64, Time), Error> {
    let cable = Cable::new(Rate::gbps(100), Time::us(1));
    let zone = AiZone {
        zones: 1,
        leaves: 8,
        hosts_per_leaf: 4,
        spines: 4,
        aggregators: 0,
        host: cable,
        spine: cable,
        aggregation: cable,
    };
    let fabric = zone.build()?;
    let mut load = Workload::new();
    let innocent = load.add(Flow::new(HostId(17), HostId(29), Bytes(2_000_000)));
    for rack in 0..4 {
        // Two hosts of each of the other four racks, whose other two have nothing to send.
        let senders = (4..8).flat_map(|other| [other * 4 + 2, other * 4 + 3]).map(HostId);
        pattern::incast(&mut load, senders, HostId(rack * 4), Bytes(2_000_000));
    }
    let mut settings = Settings::default();
    settings.switch.tiers = vec![Buffer::default(), Buffer { per_port, ..Buffer::default() }];
    let mut run = Simulation::new(fabric.clone(), &load, settings)?;
    if run.run() != Status::Done {
        return Err(Error::Unfinished("an incast did not come to its end"));
    }
    let took = run.flow(innocent).duration().unwrap_or(Time::NEVER);
    Ok((pauses(&run, &fabric, 2, 1), pauses(&run, &fabric, 1, 2), took))
}

fn run() -> Result<Found, Error> {
    let (to_usual, by_usual, held_up) = play(Bytes(500_000))?;
    let (to_deep, by_deep, free) = play(Bytes(64_000_000))?;
    let text = format!(
        "pauses obeyed by spines and sent by them: {to_usual} and {by_usual} with 0.5 MB a port, {to_deep} and \
         {by_deep} with 64 MB; a flow that has no part in it takes {held_up} and {free}"
    );
    Ok(Found { text, holds: to_usual > 0 && by_usual > 0 && to_deep > 0 && by_deep == 0 })
}
