//! Pacing with jitter (SYSTEMS C6): senders that are in step are drawn apart, and nobody gets slower.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may: that is how it fails")]

use rocetop_model::engine::{Settings, Simulation, Status};
use rocetop_model::topology::{Cable, HostId, Star};
use rocetop_model::units::{Bytes, Rate, Time};
use rocetop_model::workload::{Flow, FlowId, Workload};

fn play(load: &Workload, jitter: Time) -> Simulation {
    let fabric = Star { hosts: 128, cable: Cable::new(Rate::gbps(100), Time::us(1)) }.build().unwrap();
    let mut settings = Settings::default();
    settings.nic.jitter = jitter;
    let mut run = Simulation::new(fabric, load, settings).unwrap();
    assert_eq!(run.run(), Status::Done);
    run
}

/// Sixty-four pairs that begin at once and meet nowhere: what they differ by is the jitter.
#[test]
fn starts_are_spread_over_it() {
    let mut load = Workload::new();
    for src in 0..64 {
        load.add(Flow::new(HostId(src), HostId(64 + src), Bytes(1_000)));
    }
    let ends = |jitter| play(&load, jitter).flows().map(|flow| flow.delivered.unwrap()).collect::<Vec<_>>();
    let step = ends(Time::ZERO);
    assert!(step.iter().all(|end| *end == step[0]));
    let drawn: Vec<u64> = ends(Time::ns(49)).iter().map(|end| (*end - step[0]).0).collect();
    assert!(drawn.iter().all(|late| *late <= 49_000), "{drawn:?}");
    // Each eighth of the span has some of them.
    for eighth in 0..8_u64 {
        assert!(drawn.iter().any(|late| late * 8 / 49_001 == eighth), "{eighth}: {drawn:?}");
    }
    assert_eq!(ends(Time::ns(49)), ends(Time::ns(49)));
}

/// A paced flow keeps its rate: it ends as late as its last packet is drawn.
#[test]
fn the_rate_stays() {
    let mut load = Workload::new();
    load.add(Flow { limit: Rate::gbps(10), ..Flow::new(HostId(0), HostId(1), Bytes(1_000_000)) });
    let end = |jitter| play(&load, jitter).flow(FlowId(0)).delivered.unwrap();
    let late = end(Time::ns(49)).0.abs_diff(end(Time::ZERO).0);
    assert!(late <= 100_000, "{late} ps in 800 us");
}
