//! What a loss costs, and a receiver that is not ready: closed forms.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may: that is how it fails")]

use rocetop_model::engine::faults::{Fault, What};
use rocetop_model::engine::{Failure, Settings, Simulation, Status};
use rocetop_model::nic::{Receives, Recovery};
use rocetop_model::routing;
use rocetop_model::switch::Buffer;
use rocetop_model::topology::{Cable, Clos2, HostId, Star, Topology};
use rocetop_model::units::{Bytes, Priorities, Rate, Time};
use rocetop_model::wire::{ACK, GAP, HEADERS, RETH};
use rocetop_model::workload::{Flow, FlowId, Workload};

const CABLE: Cable = Cable::new(Rate::gbps(100), Time::us(1));
/// Picoseconds of a full packet of 1000 bytes, of what the first one has more, of an ACK, and of a cable.
const FULL: u64 = 80 * (1_000 + HEADERS as u64 + GAP as u64);
const FIRST: u64 = 80 * RETH as u64;
const ANSWER: u64 = 80 * (ACK + GAP) as u64;
const DELAY: u64 = 1_000_000;

fn star(hosts: u32) -> Topology {
    Star { hosts, cable: CABLE }.build().unwrap()
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.nic.mtu = Bytes(1_000);
    settings
}

/// A thousand packets, of which the hundredth is lost on its first cable; when the last byte arrives, and repeats.
fn lose_one(recovery: Recovery) -> (u64, u32) {
    let fabric = star(2);
    let port = fabric.ports_of(HostId(0).into()).first;
    let mut load = Workload::new();
    load.add(Flow::new(HostId(0), HostId(1), Bytes(1_000_000)));
    // It comes to the switch at `at`; ACKs come to the host at other times.
    let at = FIRST + 100 * FULL + DELAY;
    let fault = |at, what| Fault { at: Time(at), port, what };
    let mut settings = settings();
    settings.faults = vec![fault(at - 3_000, What::Cut), fault(at + 3_000, What::Mended)];
    settings.nic.recovery = recovery;
    let mut run = Simulation::new(fabric, &load, settings).unwrap();
    assert_eq!(run.run(), Status::Done);
    assert_eq!((run.totals().broken, run.totals().timeouts), (1, 0));
    assert_eq!(run.totals().delivered, Bytes(1_000_000));
    (run.flow(FlowId(0)).delivered.unwrap().0, run.flow(FlowId(0)).resent)
}

#[test]
fn one_loss_costs_a_round_trip_of_repeats_or_a_packet() {
    let whole = FIRST + 1_000 * FULL + DELAY + FULL + DELAY;
    // From the start of the lost packet: itself, the next one, and what is begun until that one's NAK has come.
    let round = 4 * DELAY + FULL + 2 * ANSWER;
    let gone = 2 + round.div_ceil(FULL);
    assert_eq!(gone, 50);
    assert_eq!(lose_one(Recovery::GoBackN), (whole + gone * FULL, 50));
    assert_eq!(lose_one(Recovery::Selective), (whole + FULL, 1));
}

/// Small lossy buffers, many losses, losses of repeats: all arrives, and with fewer packets than by going back.
#[test]
fn selective_repeat_survives_and_sends_less() {
    let play = |recovery, seed| {
        let mut load = Workload::new();
        for src in 0..4 {
            for lane in 0..2 {
                load.add(Flow::new(HostId(src), HostId(4), Bytes(150_500)).lane(lane));
                load.add(Flow::new(HostId(src), HostId(4), Bytes(700)).lane(lane));
            }
        }
        let mut settings = Settings { seed, ..settings() };
        settings.switch.lossless = Priorities::NONE;
        settings.switch.buffer = Buffer { per_port: Bytes(20_000), ..Buffer::default() };
        settings.nic.timeout = Time::us(300);
        settings.nic.retries = 255;
        settings.nic.recovery = recovery;
        let mut run = Simulation::new(star(5), &load, settings).unwrap();
        assert_eq!(run.run(), Status::Done);
        assert_eq!(run.totals().delivered, load.bytes());
        assert!(run.totals().drops > 100);
        run.totals().resent
    };
    for seed in 0..10 {
        let (back, selective) = (play(Recovery::GoBackN, seed), play(Recovery::Selective, seed));
        assert!(selective < back, "{selective} and {back} repeats");
    }
}

/// Packets by different ways come out of order: going back repeats for nothing, selective repeat little.
#[test]
fn selective_repeat_bears_spraying() {
    let play = |recovery| {
        let clos = Clos2 { leaves: 2, spines: 4, hosts_per_leaf: 4, parallel: 1, host: CABLE, spine: CABLE };
        let mut load = Workload::new();
        for src in 0..4 {
            load.add(Flow::new(HostId(src), HostId(4 + (src + 1) % 4), Bytes(1_000_000)));
        }
        let mut settings = settings();
        settings.routing = routing::Settings::Spray(routing::spray::Settings::default());
        settings.nic.recovery = recovery;
        let mut run = Simulation::new(clos.build().unwrap(), &load, settings).unwrap();
        assert_eq!((run.run(), run.totals().delivered), (Status::Done, load.bytes()));
        run.flows().map(|flow| flow.delivered.unwrap()).max().unwrap()
    };
    assert!(play(Recovery::Selective) < play(Recovery::GoBackN));
}

fn unready(receives: Receives, bytes: u64) -> Simulation {
    let mut load = Workload::new();
    for _ in 0..2 {
        load.add(Flow::new(HostId(0), HostId(1), Bytes(bytes)));
    }
    let mut settings = settings();
    settings.nic.receives = Some(receives);
    let mut run = Simulation::new(star(2), &load, settings).unwrap();
    run.run();
    run
}

#[test]
fn a_receiver_that_is_not_ready_is_tried_again() {
    let receives = Receives { posted: 1, refill: Time::us(100), timer: Time::us(60), retries: 7 };
    let run = unready(receives, 1_000);
    // The second message comes right behind the first, and after one timer too early again.
    // A SEND has no RETH.
    let single = FULL;
    let round = 2 * ANSWER + 2 * DELAY + 60_000_000 + 2 * single + 2 * DELAY;
    let delivered = 3 * single + 2 * DELAY + 2 * round;
    assert_eq!(run.flow(FlowId(1)).delivered, Some(Time(delivered)));
    assert_eq!((run.totals().not_ready, run.flow(FlowId(1)).resent, run.totals().naks), (2, 2, 0));
    // Who has a receive for each is not held up.
    let run = unready(Receives { posted: 2, ..receives }, 10_000);
    assert_eq!((run.totals().not_ready, run.totals().resent, run.totals().done), (0, 0, 2));
}

#[test]
fn failures_have_names() {
    let receives = Receives { posted: 1, refill: Time::ms(100), timer: Time::us(60), retries: 3 };
    let run = unready(receives, 5_000);
    assert_eq!(run.flow(FlowId(1)).failed, Some(Failure::NotReady));
    assert_eq!((run.totals().not_ready, run.totals().failed, run.totals().done), (4, 1, 1));
    // Nobody answers: eight time-outs of 67 ms.
    let fabric = star(2);
    let port = fabric.ports_of(HostId(1).into()).first;
    let mut load = Workload::new();
    load.add(Flow::new(HostId(0), HostId(1), Bytes(1)));
    let settings = Settings { faults: vec![Fault { at: Time::ZERO, port, what: What::Cut }], ..settings() };
    let mut run = Simulation::new(fabric, &load, settings).unwrap();
    assert_eq!(run.run(), Status::Stuck);
    assert_eq!((run.flow(FlowId(0)).failed, run.totals().timeouts), (Some(Failure::Retries), 8));
}

#[test]
fn receives_and_selective_repeat_exclude_each_other() {
    let mut settings = settings();
    settings.nic.receives = Some(Receives::default());
    settings.nic.recovery = Recovery::Selective;
    let mut load = Workload::new();
    load.add(Flow::new(HostId(0), HostId(1), Bytes(1)));
    let error = Simulation::new(star(2), &load, settings).unwrap_err();
    assert!(error.to_string().contains("go-back-N"), "{error}");
}
