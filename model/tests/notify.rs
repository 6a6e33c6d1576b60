//! CNPs by switches: who hears what, and when.
#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "kit/dumbbell.rs"]
mod dumbbell;

use dumbbell::dumbbell;
use rocetop_model::observe::{Seen, port_of};
use rocetop_model::scenario::{Ended, Run, Scenario, Sink};
use rocetop_model::units::Time;
use rocetop_parsers::Addr;
use rocetop_parsers::ib::opcode::Opcode;

/// CNPs that a tap saw.
#[derive(Default)]
struct Cnps(Vec<Seen>);

impl Sink for Cnps {
    fn seen(&mut self, seen: &Seen) {
        if seen.facts.opcode == Opcode::CNP {
            self.0.push(*seen);
        }
    }
}

fn play(text: &str) -> (Run, Vec<Seen>) {
    let mut scenario = Scenario::parse(text).unwrap();
    scenario.taps = vec![port_of(&scenario.fabric, "h0").unwrap()];
    let mut cnps = Cnps::default();
    let mut run = scenario.begin().unwrap();
    assert_eq!(run.finish(&mut cnps), Ended::Done);
    (run, cnps.0)
}

/// The scenario with CNPs by `by`, and more about its switches.
fn notified(by: &str, switch: &str) -> String {
    dumbbell("2 MB", &format!("cnp_by = \"{by}\"\n{switch}"), "")
}

/// Packets marked on the way, packets that receivers saw marked, CNPs that receivers sent, CNPs that switches made.
fn figures(run: &Run) -> [u64; 4] {
    let simulation = run.simulation();
    let by_switch = simulation.port_counters().rows().iter().map(|port| port.cnps).sum();
    let nics: Vec<_> = (0..4).map(|host| simulation.nic_counters(rocetop_model::topology::HostId(host))).collect();
    let seen = nics.iter().map(|nic| nic.marked).sum();
    [simulation.totals().marks, seen, nics.iter().map(|nic| nic.cnps_sent).sum(), by_switch]
}

#[test]
fn switches_tell_senders_themselves_and_mark_nothing() {
    let (run, cnps) = play(&notified("switch", ""));
    let [marks, seen, by_receiver, by_switch] = figures(&run);
    assert_eq!([marks, seen, by_receiver], [0; 3]);
    assert!(by_switch > 5);
    assert_eq!(run.simulation().totals().cnps, by_switch);
    assert_eq!(run.flows().map(|(.., flow)| u64::from(flow.cnps)).sum::<u64>(), by_switch);
    // Only the left switch has a queue: its own address, and no router between it and the host.
    assert!(cnps.len() > 1);
    for cnp in &cnps {
        assert_eq!((cnp.facts.src, cnp.facts.dst), (Addr::v4([172, 16, 0, 1]), Addr::v4([10, 0, 0, 1])));
        assert_eq!((cnp.facts.ttl, cnp.facts.tos), (64, 48 << 2));
    }
    // One in 50 us for a queue pair.
    assert!(cnps.windows(2).all(|pair| pair[1].at - pair[0].at >= Time::us(49)));
}

#[test]
fn they_come_without_the_trip_to_the_receiver() {
    let (_, near) = play(&notified("switch", ""));
    let (run, far) = play(&notified("receiver", ""));
    let [marks, seen, by_receiver, by_switch] = figures(&run);
    assert!(marks > 0 && seen == marks && by_receiver > 0 && by_switch == 0);
    assert_eq!((far[0].facts.src, far[0].facts.ttl), (Addr::v4([10, 0, 0, 4]), 62));
    // The trunk there and back.
    let sooner = far[0].at - near[0].at;
    assert!(sooner > Time::us(100) && sooner < Time::us(110), "{sooner}");
}

/// Where a packet is marked makes no difference, nor do virtual queues; nothing is lost of the books (debug builds
/// check).
#[test]
fn every_switch_can() {
    for more in ["mark_at = \"enqueue\"", "queues = \"voq\"", "lossless = []\nmarked = [3]"] {
        let (run, _) = play(&notified("switch", more));
        let [marks, _, by_receiver, by_switch] = figures(&run);
        assert!(marks == 0 && by_receiver == 0 && by_switch > 5, "{more}: {by_switch}");
    }
    let unfit = |text: &str| Scenario::parse(text).unwrap().begin().unwrap_err().to_string();
    let dctcp = unfit(&notified("switch", "").replace("dcqcn", "dctcp"));
    assert!(dctcp.starts_with("line 10: switch.cnp_by: switches make CNPs only"), "{dctcp}");
    let lossless = notified("switch", "").replace("[nic]", "[nic]\ncnp_priority = 3");
    assert!(unfit(&lossless).starts_with("line 10: switch.cnp_by: neither headroom nor credits"));
    let credits = notified("switch", "").replace("per_port", "link = \"credits\", per_port");
    assert!(figures(&play(&credits).0)[3] > 5);
}
