//! SYSTEMS R2: path pinning suffers when racks are used in part.
//!
//! The uplink is chosen by the destination's place below its leaf. In a job that fills its racks every host talks to
//! the host of the same place in the next rack, so the flows of a leaf have all places, and every uplink has one flow.
//! In a job that got three hosts of four in each rack, wherever they were free, the partners of a rack stand in two
//! others and at any place: some uplinks get several flows and others none. A ring goes as fast as its slowest flow.
//! Set-up: 16 racks of 16 hosts, 16 spines, all 100G; one step of the data-parallel rings of model-parallel groups of
//! 16 ranks, so that partners are 16 ranks apart; fluid; ten draws of the racks' free hosts.

use super::{Effect, Error, Found};
use crate::fluid::{self, Settings};
use crate::rng::Rng;
use crate::routing::{self, pinned};
use crate::topology::{AiZone, Cable, HostId, Topology};
use crate::units::{Bytes, Rate, Time};
use crate::workload::{Flow, Workload};

pub(super) const EFFECT: Effect = Effect {
    name: "r2_pinning",
    claim: "pinned paths: training degrades by more than 30% when racks are used in part",
    run,
};

const SIDE: u32 = 16;

/// How long one step takes in which every rank sends to the one `away` ranks later.
fn step(fabric: &Topology, ranks: &[u32], away: usize) -> Result<Time, Error> {
    let mut load = Workload::new();
    for (&src, &dst) in ranks.iter().zip(ranks.iter().cycle().skip(away)) {
        load.add(Flow::new(HostId(src), HostId(dst), Bytes(10_000_000)));
    }
    let settings = Settings { routing: routing::Settings::Pinned(pinned::Settings), ..Settings::default() };
    Ok(fluid::run(fabric, &load, &settings)?.end)
}

fn run() -> Result<Found, Error> {
    let cable = Cable::new(Rate::gbps(100), Time::us(1));
    let zone = AiZone {
        zones: 1,
        leaves: SIDE,
        hosts_per_leaf: SIDE,
        spines: SIDE,
        aggregators: 0,
        host: cable,
        spine: cable,
        aggregation: cable,
    };
    let fabric = zone.build()?;
    let all: Vec<u32> = (0..SIDE * SIDE).collect();
    let full = step(&fabric, &all, SIDE as usize)?;
    let mut rng = Rng::named(1, "free hosts");
    let mut least = f64::INFINITY;
    let mut sum = 0.0;
    let rounds = 10;
    for _ in 0..rounds {
        let mut free = Vec::new();
        for rack in all.chunks(SIDE as usize) {
            let mut rack = rack.to_vec();
            rng.shuffle(&mut rack);
            // As many in each, so that nothing but their places differs from the full racks.
            rack.truncate(SIDE as usize * 3 / 4);
            rack.sort_unstable();
            free.extend(rack);
        }
        let loss = 1.0 - full.seconds() / step(&fabric, &free, SIDE as usize)?.seconds();
        least = least.min(loss);
        sum += loss;
    }
    let mean = sum / f64::from(rounds);
    let text = format!(
        "bandwidth of a ring step falls by {:.0}% on average, {:.0}% at least, of {} full racks",
        mean * 100.0,
        least * 100.0,
        SIDE
    );
    Ok(Found { text, holds: least > 0.3 })
}
