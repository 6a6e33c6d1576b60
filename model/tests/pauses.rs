//! Pauses run out, and are said again in time.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may: that is how it fails")]

use rocetop_model::engine::faults::{Fault, What};
use rocetop_model::engine::{Settings, Simulation, Status};
use rocetop_model::topology::{Cable, Dumbbell, HostId};
use rocetop_model::units::{Bytes, Rate, Time};
use rocetop_model::workload::{Flow, Workload};

const CABLE: Cable = Cable::new(Rate::gbps(100), Time::us(1));

/// Two hosts send over a trunk to one that takes 10 Mb/s, so the trunk is paused nearly all the time.
fn play(quanta: Option<u16>, faults: &dyn Fn(rocetop_model::topology::PortId) -> Vec<Fault>) -> Simulation {
    let mut fabric = Dumbbell { left: 2, right: 1, trunks: 1, host: CABLE, trunk: CABLE }.build().unwrap();
    let slow = fabric.ports_of(HostId(2).into()).first;
    fabric.throttle(slow, Rate(10_000_000));
    let mut load = Workload::new();
    for src in 0..2 {
        load.add(Flow::new(HostId(src), HostId(2), Bytes(400_000)));
    }
    // The trunk's port at the side of the senders.
    let near = fabric.ports()[fabric.ports_of(HostId(0).into()).first].peer;
    let trunk = fabric.next_hops(fabric.ports()[near].node, HostId(2)).first;
    let mut settings = Settings { faults: faults(trunk), ..Settings::default() };
    settings.switch.buffer.per_port = Bytes(100_000);
    settings.switch.quanta = quanta;
    settings.nic.timeout = Time::ms(10_000);
    let mut run = Simulation::new(fabric, &load, settings).unwrap();
    run.advance(Time::ms(5_000), u64::MAX);
    run
}

#[test]
fn refreshed_pauses_hold_as_long_as_those_that_need_no_refresh() {
    let mut runs = [None, Some(u16::MAX), Some(1_000)].map(|quanta| play(quanta, &|_| Vec::new()));
    for run in &mut runs {
        assert_eq!((run.run(), run.totals().drops), (Status::Done, 0));
    }
    let [once, long, short] = runs.map(|run| run.totals().pauses);
    assert_eq!((once, once), (long, short));
    assert!(once > 10, "{once}");
}

/// While the cable is broken for frames that go back, both XOFF and XON are lost. An XOFF that is said again stops the
/// queue a little late; without refresh the next one may never come.
#[test]
fn a_lost_pause_is_made_good() {
    let deaf = |trunk| {
        let fault = |at, one_in| Fault { at: Time::us(at), port: trunk, what: What::Errors { one_in } };
        vec![fault(0, 1), fault(10, 0)]
    };
    let run = play(Some(1_000), &deaf);
    assert_eq!(run.totals().done, 2, "{:?}", run.totals());
}
