//! What is seen of a run agrees with what the engine counts, whatever the run.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

use rocetop_model::cc;
use rocetop_model::observe::Seen;
use rocetop_model::rng::Rng;
use rocetop_model::scenario::{Kind, Scenario, Sink, Traffic};
use rocetop_model::topology::{Cable, Clos2, HostId, PortId};
use rocetop_model::units::{Bytes, Priorities, Priority, Rate, Time};

#[derive(Default)]
struct Count {
    out: u64,
    back: u64,
    last: Time,
}

impl Sink for Count {
    fn seen(&mut self, seen: &Seen) {
        assert!(seen.at >= self.last, "taps see frames in the order of time");
        self.last = seen.at;
        if seen.from == seen.tap { self.out += 1 } else { self.back += 1 }
    }
}

fn random(seed: u64) -> Scenario {
    let mut rng = Rng::new(seed);
    let mut pick = |n: u64| rng.below(n);
    let cable = Cable::new(Rate::gbps([40, 100, 400][pick(3) as usize]), Time::ns(200 + pick(3_000)));
    let clos = Clos2 {
        leaves: 2 + pick(2) as u32,
        spines: 1 + pick(2) as u32,
        hosts_per_leaf: 2 + pick(3) as u32,
        parallel: 1,
        host: cable,
        spine: cable,
    };
    let fabric = clos.build().unwrap();
    let (hosts, ports) = (fabric.hosts(), fabric.ports().len() as u64);
    let mut scenario = Scenario::new("random", fabric);
    let settings = &mut scenario.settings;
    settings.seed = seed;
    settings.nic.mtu = Bytes([256, 1_024, 4_096][pick(3) as usize]);
    settings.nic.timeout = Time::us(200);
    settings.nic.ack_every = 1 + pick(4) as u16;
    // What is on a cable and back, and a little more: PFC has to work.
    let round = cable.rate.bytes_in(cable.delay.times(2)).0;
    settings.switch.buffer.per_port = Bytes(round + 30_000 + pick(60_000));
    if pick(2) == 0 {
        settings.switch.lossless = Priorities::NONE;
        settings.switch.buffer.per_port = Bytes(20_000 + pick(50_000));
    }
    if pick(3) > 0 {
        settings.cc = cc::Settings::Dcqcn(cc::dcqcn::Settings::default());
    }
    let to = HostId(pick(u64::from(hosts)) as u32);
    let everyone: Vec<HostId> = (0..hosts).map(HostId).collect();
    let incast = Kind::Flow { from: everyone.clone(), to: vec![to] };
    let mut incast = Traffic::new("incast", incast, Bytes(1 + pick(200_000)));
    incast.priority = if pick(4) == 0 { Priority::new(1) } else { Priority::new(3) };
    scenario.taps = vec![PortId(pick(ports) as u32)];
    scenario.until = Time::ms(5);
    scenario.with(incast).with(Traffic::new("all", Kind::Permutation(everyone), Bytes(1 + pick(100_000))))
}

#[test]
fn taps_counters_and_totals_agree_in_a_hundred_random_runs() {
    let (mut lossy, mut paused) = (0, 0);
    for seed in 0..100 {
        let scenario = random(seed);
        let mut run = scenario.begin().unwrap();
        let mut count = Count::default();
        run.finish(&mut count);
        let simulation = run.simulation();
        let (totals, ports) = (simulation.totals(), simulation.port_counters());
        let tap = ports[scenario.taps[0]];
        // A frame counts when its sending begins, and is seen when it ends.
        assert!(count.out == tap.tx_frames || count.out + 1 == tap.tx_frames, "seed {seed}: {} {tap:?}", count.out);
        assert_eq!(count.back, tap.rx_frames, "seed {seed}");
        assert_eq!(
            (simulation.losses().values().sum(), ports.rows().iter().map(|port| port.drops).sum()),
            (totals.drops, totals.drops)
        );
        let nics: Vec<_> = (0..scenario.fabric.hosts()).map(|host| simulation.nic_counters(HostId(host))).collect();
        let sum = |of: fn(&rocetop_model::observe::NicCounters) -> u64| nics.iter().map(of).sum::<u64>();
        assert_eq!(
            [sum(|n| n.cnps_handled), sum(|n| n.out_of_sequence), sum(|n| n.timeouts), sum(|n| n.resent)],
            [totals.cnps, totals.out_of_order, totals.timeouts, totals.resent],
            "seed {seed}"
        );
        let flows = |of: fn(&rocetop_model::engine::FlowResult) -> u32| -> u64 {
            run.flows().map(|(_, _, _, result)| u64::from(of(&result))).sum()
        };
        assert_eq!([flows(|f| f.marked), flows(|f| f.cnps)], [sum(|n| n.marked), sum(|n| n.cnps_sent)]);
        let pauses: u64 = run.trees().trees().iter().map(|tree| tree.pauses).sum();
        assert_eq!(pauses, ports.rows().iter().map(|port| port.rx_pauses).sum::<u64>(), "seed {seed}");
        lossy += u32::from(totals.drops > 0);
        paused += u32::from(pauses > 0);
    }
    assert!(lossy > 10 && paused > 10, "{lossy} runs lost something, {paused} were paused");
}
