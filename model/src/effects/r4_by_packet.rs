//! SYSTEMS R4: a CRC-32 over addresses, queue pair and PSN fills links evenly, and reorders.
//!
//! The PSN changes with every packet, so each packet of a queue pair goes another way, and with many packets every
//! uplink carries the same. Ways are not equally long at every moment: packets overtake one another, and a receiver
//! that wants them in order takes an overtaken packet for lost, asks again, and the sender goes back. Without a NIC
//! that places packets out of order the evenness is paid for with repeats. Set-up: 4 racks of 8 hosts, 8 spines, 100G,
//! a permutation of 2 MB, packets; evenness is the mean load of a leaf's uplinks over that of its fullest.

use super::{Effect, Error, Found};
use crate::engine::{Settings, Simulation, Totals};
use crate::routing::{self, ecmp};
use crate::topology::{Cable, Clos2, HostId, SwitchId};
use crate::units::{Bytes, Rate, Time};
use crate::workload::{Workload, pattern};

pub(super) const EFFECT: Effect = Effect {
    name: "r4_by_packet",
    claim: "hashing addresses, queue pair and PSN by CRC-32 uses links to ~95%; packets are reordered",
    run,
};

/// Evenness, and what happened.
fn play(clos: &Clos2, routing: ecmp::Settings) -> Result<(f64, Totals), Error> {
    let fabric = clos.build()?;
    let hosts: Vec<HostId> = (0..fabric.hosts()).map(HostId).collect();
    let far = HostId(fabric.hosts());
    let mut load = Workload::new();
    pattern::permutation(&mut load, &hosts, Bytes(2_000_000), 5);
    let settings = Settings { routing: routing::Settings::Ecmp(routing), ..Settings::default() };
    let mut run = Simulation::new(fabric, &load, settings)?;
    run.run();
    let (mut sum, mut top) = (0, 0);
    for leaf in (0..clos.leaves).map(SwitchId) {
        let fabric = run.fabric();
        let loads: Vec<u64> =
            fabric.next_hops(fabric.node(leaf), far).ports().map(|port| run.counters(port).bytes).collect();
        sum += loads.iter().sum::<u64>();
        top += loads.iter().max().copied().unwrap_or(0) * loads.len() as u64;
    }
    Ok((sum as f64 / top as f64, run.totals()))
}

fn run() -> Result<Found, Error> {
    let cable = Cable::new(Rate::gbps(100), Time::us(1));
    let clos = Clos2 { leaves: 4, spines: 8, hosts_per_leaf: 8, parallel: 1, host: cable, spine: cable };
    let (flows, calm) = play(&clos, ecmp::Settings::default())?;
    let (packets, mixed) = play(&clos, ecmp::Settings::BY_PACKET)?;
    let text = format!(
        "uplinks even to {:.0}% by flow and {:.0}% by packet; out of order {} and {}, sent again {} and {} packets",
        flows * 100.0,
        packets * 100.0,
        calm.out_of_order,
        mixed.out_of_order,
        calm.resent,
        mixed.resent
    );
    Ok(Found { text, holds: packets > 0.9 && flows < packets && calm.out_of_order == 0 && mixed.out_of_order > 0 })
}
