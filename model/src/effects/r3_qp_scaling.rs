//! SYSTEMS R3: E-ECMP with several queue pairs; messages in turns beat messages split.
//!
//! With one queue pair between two hosts a collective has few flows, and where two of them meet on an uplink both are
//! halved. Hashing the queue pair and using many of them spreads the same bytes over many ways. Whether messages are
//! split or take turns, the ways are as even; but a part of a message is a message, with packets that are not full,
//! headers and ACKs of its own, and the whole has come only when the part on the worst way has. Set-up: 8 racks of 8
//! hosts, 8 spines, all 100G; on each rail a ring over the racks passes 64 messages of 16 KiB, eight under way at a
//! time, in two rounds; packets of 4 KiB, an ACK each, 16 queue pairs, four seeds.

use super::{Effect, Error, Found};
use crate::engine::{Settings, Simulation, Status};
use crate::routing::{self, ecmp};
use crate::topology::{Cable, Clos2, HostId, Topology};
use crate::units::{Bytes, Rate, Time};
use crate::workload::scaling::Scaling;
use crate::workload::{Flow, FlowId, Milestone, Workload};

pub(super) const EFFECT: Effect = Effect {
    name: "r3_qp_scaling",
    claim: "hashing the queue pair and scaling queue pairs gives up to 40%; messages in turns beat splitting each",
    run,
};

const SIDE: u32 = 8;
const MESSAGES: usize = 64;
const WINDOW: usize = 8;
const PAIRS: u16 = 16;
const SEEDS: u64 = 4;

/// On every rail, every host passes messages to the next rack; each waits for what it passes on to have come.
fn rings() -> Workload {
    let mut load = Workload::new();
    for rail in 0..SIDE {
        let host = |rack: u32| HostId(rack % SIDE * SIDE + rail);
        // The messages that each rack got in the round before.
        let mut before: Vec<Vec<FlowId>> = Vec::new();
        for _ in 0..2 {
            let mut round = vec![Vec::new(); SIDE as usize];
            for rack in 0..SIDE {
                let mut sent: Vec<FlowId> = Vec::new();
                for message in 0..MESSAGES {
                    let bytes = Bytes(16_384);
                    let id = load.add(Flow::new(host(rack), host(rack + 1), bytes));
                    if let Some(on) = before.get(rack as usize).and_then(|got| got.get(message)) {
                        load.wait(id, *on, Milestone::Delivered);
                    }
                    if let Some(on) = message.checked_sub(WINDOW).and_then(|nth| sent.get(nth)) {
                        load.wait(id, *on, Milestone::Acked);
                    }
                    sent.push(id);
                }
                if let Some(got) = round.get_mut(((rack + 1) % SIDE) as usize) {
                    *got = sent;
                }
            }
            before = round;
        }
    }
    load
}

/// Mean time over the seeds.
fn mean(fabric: &Topology, load: &Workload, routing: ecmp::Settings) -> Result<f64, Error> {
    let mut sum = 0.0;
    for seed in 0..SEEDS {
        let settings = Settings { seed, routing: routing::Settings::Ecmp(routing), ..Settings::default() };
        let mut run = Simulation::new(fabric.clone(), load, settings)?;
        if run.run() != Status::Done {
            return Err(Error::Unfinished("a ring did not come to its end"));
        }
        sum += run.now().seconds();
    }
    Ok(sum / SEEDS as f64)
}

fn run() -> Result<Found, Error> {
    let cable = Cable::new(Rate::gbps(100), Time::us(1));
    let clos = Clos2 { leaves: SIDE, spines: SIDE, hosts_per_leaf: SIDE, parallel: 1, host: cable, spine: cable };
    let fabric = clos.build()?;
    let load = rings();
    let one = mean(&fabric, &load, ecmp::Settings::default())?;
    let split = mean(&fabric, &Scaling::Split(PAIRS).apply(&load), ecmp::Settings::E_ECMP)?;
    let turns = mean(&fabric, &Scaling::RoundRobin(PAIRS).apply(&load), ecmp::Settings::E_ECMP)?;
    let gain = |time: f64| (one / time - 1.0) * 100.0;
    let text = format!(
        "bandwidth over one queue pair: split {:+.0}%, in turns {:+.0}% ({PAIRS} queue pairs, {SEEDS} seeds)",
        gain(split),
        gain(turns)
    );
    Ok(Found { text, holds: turns < one && split < one && turns < split })
}
