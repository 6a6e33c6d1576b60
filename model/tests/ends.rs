//! How runs end: with nothing on the way, or with the clock.
#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "kit/dumbbell.rs"]
mod dumbbell;

use dumbbell::dumbbell;
use rocetop_model::engine::{Settings, Simulation, Status};
use rocetop_model::observe::{Seen, port_of};
use rocetop_model::scenario::{Ended, Scenario, Sink};
use rocetop_model::topology::{Cable, HostId, Star};
use rocetop_model::units::{Bytes, Rate, Time};
use rocetop_model::workload::{Flow, Workload};

/// Frames by the port that sent them and the tap that saw them.
#[derive(Default)]
struct Count(std::collections::BTreeMap<(u32, u32), u32>);

impl Sink for Count {
    fn seen(&mut self, seen: &Seen) {
        *self.0.entry((seen.from.0, seen.tap.0)).or_default() += 1;
    }
}

/// Repeats and CNPs that nobody waits for are not cut off: both ends of a cable see the same frames.
#[test]
fn what_nobody_waits_for_arrives_too() {
    // The time-out is shorter than the way there and back: all is sent again while the ACKs are on their way.
    let text = dumbbell("200 kB", "", "timeout = \"80 us\"");
    for seed in 1..=5 {
        let mut scenario = Scenario::parse(&text).unwrap();
        scenario.settings.seed = seed;
        let [left, right] = ["t1s0-t1s1", "t1s1-t1s0"].map(|name| port_of(&scenario.fabric, name).unwrap());
        scenario.taps = vec![left, right];
        let mut count = Count::default();
        let mut run = scenario.begin().unwrap();
        assert_eq!(run.finish(&mut count), Ended::Done);
        let of = |from: u32, tap: u32| count.0.get(&(from, tap)).copied().unwrap_or(0);
        assert!(of(right.0, right.0) > 200);
        assert_eq!(of(left.0, left.0), of(left.0, right.0), "seed {seed}");
        assert_eq!(of(right.0, right.0), of(right.0, left.0), "seed {seed}");
        // As many CNPs come as were sent.
        let sent: u32 = run.flows().map(|(.., flow)| flow.cnps).sum();
        assert_eq!(u64::from(sent), run.simulation().totals().cnps);
    }
}

/// The clock ends after 213 days. What would happen then never does, and nobody says that it did.
#[test]
fn what_lies_behind_the_end_of_the_clock_never_happens() {
    let fabric = Star { hosts: 2, cable: Cable::new(Rate::gbps(100), Time::us(1)) }.build().unwrap();
    for start in [Time::NEVER, Time(u64::MAX - 1)] {
        let mut load = Workload::new();
        let soon = load.add(Flow::new(HostId(0), HostId(1), Bytes(100)));
        let late = load.add(Flow::new(HostId(1), HostId(0), Bytes(100)).after(start));
        let mut run = Simulation::new(fabric.clone(), &load, Settings::default()).unwrap();
        assert_eq!(run.run(), Status::Stuck);
        assert_eq!((run.flow(soon).acked.is_some(), run.flow(late).delivered), (true, None));
        assert_eq!((run.totals().done, run.totals().timeouts), (1, 0));
        let mut scenario = Scenario::parse(
            "[fabric]\nshape = \"star\"\nhosts = 2\n[[traffic]]\nkind = \"flow\"\nfrom = 0\nto = 1\nbytes = 9",
        )
        .unwrap();
        scenario.traffic.iter_mut().for_each(|traffic| traffic.start = start);
        assert_eq!(scenario.begin().unwrap().finish(&mut ()), Ended::Stuck);
    }
}
