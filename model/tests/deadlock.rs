//! Deadlock: found where there is one, never where there is none, and gone with up and down lanes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may: that is how it fails")]

use rocetop_model::engine::{Settings, Simulation, Status};
use rocetop_model::rng::Rng;
use rocetop_model::switch::Lanes;
use rocetop_model::topology::{Cable, Clos2, HostId, Ring, Topology};
use rocetop_model::units::{Bytes, Priorities, Priority, Rate, Time};
use rocetop_model::workload::{Flow, Workload};

const CABLE: Cable = Cable::new(Rate::gbps(100), Time::us(1));

/// Four switches with two hosts each.
fn ring() -> Topology {
    Ring { switches: 4, hosts_per_switch: 2, host: CABLE, ring: CABLE }.build().unwrap()
}

fn settings(seed: u64, per_port: u64) -> Settings {
    let mut settings = Settings { seed, ..Settings::default() };
    settings.nic.mtu = Bytes(1_000);
    // Nobody gives up or tries again: what stands still stands still.
    settings.nic.timeout = Time::ms(10_000);
    settings.switch.buffer.per_port = Bytes(per_port);
    settings
}

/// Every host sends three megabytes to the one two switches on.
fn round() -> Workload {
    let mut load = Workload::new();
    for src in 0..8 {
        load.add(Flow::new(HostId(src), HostId((src + 4) % 8), Bytes(3_000_000)));
    }
    load
}

#[test]
fn a_ring_locks_up_and_its_members_are_named() {
    let fabric = ring();
    let mut run = Simulation::new(fabric.clone(), &round(), settings(1, 60_000)).unwrap();
    assert_eq!(run.advance(Time::ms(100), u64::MAX), Status::Running);
    let [deadlock] = run.deadlocks() else { panic!("{:?}", run.deadlocks()) };
    let mut names = deadlock.names(&fabric);
    // Each waits for the next one round.
    let first = names.iter().position(|name| name.starts_with("t1s0")).unwrap();
    names.rotate_left(first);
    assert_eq!(names, [0, 1, 2, 3].map(|switch| format!("t1s{switch} port 2 priority 3")));
    assert_eq!((run.totals().deadlocks, deadlock.opened), (1, None));
    // From then on no frame crosses a cable of the ring.
    let mut other = Simulation::new(fabric, &round(), settings(1, 60_000)).unwrap();
    other.advance(deadlock.at, u64::MAX);
    for queue in &deadlock.circle {
        assert_eq!(run.counters(queue.port).frames, other.counters(queue.port).frames);
    }
}

#[test]
fn lanes_open_the_ring() {
    for seed in 0..20 {
        let mut settings = settings(seed, 60_000);
        let (up, down) = (Priority::new(3), Priority::new(4));
        settings.switch.lanes = Some(Lanes { up, down });
        settings.switch.lossless = Priorities::NONE.with(up).with(down);
        settings.switch.buffer.per_port = Bytes(90_000);
        let mut run = Simulation::new(ring(), &round(), settings).unwrap();
        assert_eq!(run.run(), Status::Done);
        let totals = run.totals();
        assert_eq!((totals.deadlocks, totals.drops), (0, 0));
        assert!(totals.pauses > 100, "{totals:?}");
    }
}

/// Random traffic round rings with buffers from tight to ample: a run that comes to its end had no alarm, and one that
/// does not had one.
#[test]
fn found_means_for_ever_and_for_ever_means_found() {
    let (mut ended, mut locked) = (0, 0);
    for seed in 0..150 {
        let mut rng = Rng::named(seed, "ring");
        let mut load = Workload::new();
        for src in 0..8_u32 {
            for lane in 0..2 {
                let dst = (src + 2 + rng.below(4) as u32) % 8;
                let flow = Flow::new(HostId(src), HostId(dst), Bytes(20_000 + rng.below(200_000))).lane(lane);
                load.add(flow.after(Time::us(rng.below(20))));
            }
        }
        let mut settings = settings(seed, 55_000 + rng.below(200_000));
        settings.switch.buffer.alpha_256 = [16, 32, 256][rng.below(3) as usize];
        let mut run = Simulation::new(ring(), &load, settings).unwrap();
        let status = run.advance(Time::ms(1_000), u64::MAX);
        let found = run.totals().deadlocks;
        assert!(run.totals().pauses > 0 || status == Status::Done, "seed {seed}");
        assert_eq!(status == Status::Done, found == 0, "seed {seed}: {status:?}, {:?}", run.deadlocks());
        ended += u32::from(found == 0);
        locked += u32::from(found > 0);
    }
    assert!(ended > 30 && locked > 30, "{ended} ended, {locked} locked up");
}

/// Everybody sends to everybody by way of two spines with small buffers: pauses everywhere, and never a circle.
#[test]
fn a_clos_full_of_pauses_has_no_circle() {
    let clos = Clos2 { leaves: 4, spines: 2, hosts_per_leaf: 4, parallel: 1, host: CABLE, spine: CABLE };
    for seed in 0..20 {
        let mut load = Workload::new();
        for src in 0..16 {
            for dst in (0..16).filter(|dst| *dst != src) {
                load.add(Flow::new(HostId(src), HostId(dst), Bytes(60_000)));
            }
        }
        let mut run = Simulation::new(clos.build().unwrap(), &load, settings(seed, 60_000)).unwrap();
        assert_eq!(run.run(), Status::Done);
        assert!(run.totals().pauses > 100, "{:?}", run.totals());
        assert_eq!(run.totals().deadlocks, 0);
    }
}
