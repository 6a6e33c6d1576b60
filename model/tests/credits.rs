//! Links by credits: what a grant is worth, and that nothing is lost whatever happens.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may: that is how it fails")]

use rocetop_model::engine::faults::{Detection, Fault, What};
use rocetop_model::engine::{Error, Settings, Simulation, Status};
use rocetop_model::scenario::{Ended, Scenario};
use rocetop_model::switch::{Headroom, Link};
use rocetop_model::topology::{Cable, Dumbbell, HostId, PortId, Star, Topology};
use rocetop_model::units::{Bytes, Rate, Time};
use rocetop_model::wire::{CREDIT, GAP, HEADERS, RETH};
use rocetop_model::workload::{Flow, FlowId, Workload};

fn star(hosts: u32) -> Topology {
    Star { hosts, cable: Cable::new(Rate::gbps(100), Time::us(2)) }.build().unwrap()
}

fn settings(grant: Headroom) -> Settings {
    let mut settings = Settings::default();
    settings.nic.mtu = Bytes(1_000);
    settings.nic.timeout = Time::us(500);
    settings.switch.buffer.link = Link::Credits;
    settings.switch.buffer.headroom = grant;
    settings
}

fn load(flows: &[(u32, u32, u64)]) -> Workload {
    let mut load = Workload::new();
    for &(src, dst, bytes) in flows {
        load.add(Flow::new(HostId(src), HostId(dst), Bytes(bytes)));
    }
    load
}

/// A full frame, and the longest.
const FRAME: u64 = 1_000 + HEADERS as u64;
const LONGEST: u64 = FRAME + RETH as u64;

/// min(line, credits x frame / round trip): a frame's credit comes back when the frame has been sent and has come, and
/// the switch's word of it has been sent and has come.
#[test]
fn the_rate_is_what_the_credits_carry_in_a_round_trip() {
    let byte = 80;
    let round = byte * (FRAME + u64::from(GAP) + u64::from(CREDIT + GAP)) + 2 * 2_000_000;
    let line = byte * (FRAME + u64::from(GAP));
    for frames in [1, 2, 5, 17, 40, 60, 200] {
        let mut settings = settings(Headroom::Fixed(Bytes(frames * LONGEST)));
        // No ACK before the end: none is in the credits' way.
        settings.nic.ack_every = u16::MAX;
        let mut run = Simulation::new(star(2), &load(&[(0, 1, 2_000_000)]), settings).unwrap();
        assert_eq!(run.run(), Status::Done);
        let found = run.flow(FlowId(0)).duration().unwrap().0 as f64 / 2_000.0;
        // A frame may go as long as a longest one fits.
        let at_once = (frames * LONGEST - LONGEST) / FRAME + 1;
        let want = (round as f64 / at_once as f64).max(line as f64);
        assert!((found / want - 1.0).abs() < 0.03, "{frames} frames: {found} ps a frame, not {want}");
        assert_eq!((run.totals().pauses, run.totals().drops), (0, 0));
    }
}

/// Whatever the grant, an incast loses nothing and pauses nobody; the engine's own checks see that no account holds
/// more than was granted. An exact grant ends it as soon as PFC does.
#[test]
fn an_incast_is_lossless_under_any_grant() {
    let dumbbell = Dumbbell {
        left: 8,
        right: 2,
        trunks: 1,
        host: Cable::new(Rate::gbps(100), Time::us(1)),
        trunk: Cable::new(Rate::gbps(100), Time::us(3)),
    };
    let fabric = dumbbell.build().unwrap();
    let flows: Vec<_> = (0..8).map(|src| (src, 8, 300_000)).collect();
    let end = |settings| {
        let mut run = Simulation::new(fabric.clone(), &load(&flows), settings).unwrap();
        assert_eq!(run.run(), Status::Done);
        (run.flows().map(|flow| flow.delivered.unwrap()).max().unwrap(), run.totals())
    };
    for percent in [30, 60, 100, 300] {
        let (_, totals) = end(settings(Headroom::Exact { percent }));
        assert_eq!((totals.drops, totals.pauses, totals.resent), (0, 0, 0), "{percent} %");
    }
    let (exact, _) = end(settings(Headroom::Exact { percent: 100 }));
    let mut pfc = settings(Headroom::Exact { percent: 100 });
    pfc.switch.buffer.link = Link::Pfc;
    let (pfc, totals) = end(pfc);
    assert!(totals.pauses > 0, "an incast without a pause compares nothing");
    assert!((exact.0 as f64 / pfc.0 as f64 - 1.0).abs() < 0.05, "{exact} beside {pfc}");
}

/// A switch of one tier alone: pauses come from the other.
#[test]
fn tiers_may_differ() {
    let text = "
[fabric]
shape = \"clos2\"
leaves = 2
spines = 1
hosts_per_leaf = 4
[switch]
tiers = [{}, { link = \"credits\", headroom = \"20 kB\" }]
[[traffic]]
kind = \"incast\"
from = \"0-3\"
to = 7
bytes = \"1 MB\"
";
    let pauses = |text: &str| {
        let mut run = Scenario::parse(text).unwrap().begin().unwrap();
        assert_eq!(run.finish(&mut ()), Ended::Done);
        let totals = run.simulation().totals();
        assert_eq!(totals.drops, 0);
        totals.pauses
    };
    assert!(pauses(text) > 0);
    assert_eq!(pauses(&text.replace("[{}", "[{ link = \"credits\" }")), 0);
    let small = Scenario::parse(&text.replace("20 kB", "4 kB")).unwrap().begin().unwrap_err();
    assert_eq!(small.why, Error::Grant { switch: "t2s0".to_owned(), grant: 4_000, frame: 4_174 });
}

/// Broken frames, data and credits alike, leave no credit behind; nor does a cable that goes and comes.
#[test]
fn no_credit_is_lost_with_a_frame() {
    let mut settings = settings(Headroom::Exact { percent: 100 });
    let fault = |us, port, what| Fault { at: Time::us(us), port: PortId(port), what };
    settings.detection = Detection::BFD;
    settings.faults = vec![
        fault(0, 0, What::Errors { one_in: 1_000_000 }),
        fault(0, 1, What::Errors { one_in: 1_000_000 }),
        fault(100, 0, What::Cut),
        fault(200, 0, What::Mended),
    ];
    // Eight times the whole grant passes behind the faults.
    let mut run = Simulation::new(star(2), &load(&[(0, 1, 4_000_000), (1, 0, 4_000_000)]), settings).unwrap();
    assert_eq!(run.run(), Status::Done);
    let totals = run.totals();
    assert!(totals.broken > 50 && totals.drops == 0 && totals.pauses == 0, "{totals:?}");
    // At its end each way has carried its bytes at nearly line rate, but for the repeats after time-outs.
    assert!(run.now() < Time::ms(20), "{}", run.now());
}

/// Credits can wait for each other in a circle as pauses can, and up and down lanes open it as well.
#[test]
fn circles_of_credits_are_found() {
    let text = include_str!("../../scenarios/deadlock_ring.toml");
    let text = text.replace("per_port = \"60 kB\"", "per_port = \"60 kB\", link = \"credits\"");
    let mut run = Scenario::parse(&text).unwrap().begin().unwrap();
    run.finish(&mut ());
    let found = run.simulation().deadlocks();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].circle.len(), found[0].opened), (4, None));
    let lanes = text.replace("\n[switch]\n", "\n[switch]\nlossless = [3, 4]\nlanes = { up = 3, down = 4 }\n");
    let mut run = Scenario::parse(&lanes).unwrap().begin().unwrap();
    run.finish(&mut ());
    assert_eq!(run.simulation().deadlocks(), []);
    assert!(run.flows().all(|(_, _, _, flow)| flow.delivered.is_some()));
}
