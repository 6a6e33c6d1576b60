//! Lossless means lossless: eight hosts at full speed into one trunk of the same speed, small buffers, ten seeds.
//!
//! With the headroom that the arithmetic asks for (`switch::Buffer::headroom`) nothing is ever dropped; with 70 % of it
//! something is, so the bound is no larger than it need be by much.

use super::Row;
use crate::engine::{Settings, Simulation, Status};
use crate::switch::Headroom;
use crate::topology::{Cable, Dumbbell, HostId};
use crate::units::{Bytes, Rate, Time};
use crate::workload::{Flow, Workload};

const SEEDS: std::ops::Range<u64> = 0..10;

pub(super) fn run() -> Vec<Row> {
    let mut rows = Vec::new();
    for (gbps, micros, per_port) in [(100, 1, 60_000), (400, 1, 250_000), (100, 10, 600_000)] {
        let cable = Cable::new(Rate::gbps(gbps), Time::us(micros));
        for percent in [100, 70] {
            let drops: Vec<Option<u64>> = SEEDS.map(|seed| drops(cable, per_port, percent, seed)).collect();
            let with = drops.iter().flatten().filter(|drops| **drops > 0).count();
            let wanted = if percent == 100 { 0 } else { drops.len() };
            rows.push(Row {
                name: format!("PFC at {}, {} of cable, {percent} % of the exact headroom", cable.rate, cable.delay),
                target: format!("drops with {wanted} of {} seeds", drops.len()),
                measured: format!("drops with {with}"),
                pass: drops.iter().all(Option::is_some) && with == wanted,
            });
        }
    }
    rows
}

/// Packets that found no room; `None` if the run did not end, or no pause was ever needed.
fn drops(cable: Cable, per_port: u64, percent: u32, seed: u64) -> Option<u64> {
    let fabric = Dumbbell { left: 8, right: 1, trunks: 1, host: cable, trunk: cable }.build().ok()?;
    let mut load = Workload::new();
    for src in 0..8 {
        load.add(Flow::new(HostId(src), HostId(8), Bytes(20 * per_port)));
    }
    let mut settings = Settings { seed, ..Settings::default() };
    settings.nic.mtu = Bytes(1_000);
    settings.nic.timeout = Time::ms(1);
    settings.switch.buffer.per_port = Bytes(per_port);
    settings.switch.buffer.headroom = Headroom::Exact { percent };
    let mut run = Simulation::new(fabric, &load, settings).ok()?;
    let status = run.run();
    let totals = run.totals();
    (status == Status::Done && totals.pauses > 0).then_some(totals.drops)
}
