//! Whatever is simulated, sums agree: random fabrics, traffic and settings, with the engine's own checks after every
//! piece.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may: that is how it fails")]

use rocetop_model::cc;
use rocetop_model::engine::{Settings, Simulation, Status};
use rocetop_model::nic::{CnpPer, Recovery};
use rocetop_model::rng::Rng;
use rocetop_model::routing;
use rocetop_model::switch::{CnpBy, Headroom, Link, Marking, Queues, ecn};
use rocetop_model::topology::{Cable, Clos2, Dumbbell, FatTree, HostId, Star, Topology};
use rocetop_model::units::{Bytes, Priorities, Priority, Rate, Time};
use rocetop_model::workload::{Flow, FlowId, Milestone, Workload};

struct Draw(Rng);

impl Draw {
    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.0.below(list.len() as u64) as usize]
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    fn cable(&mut self) -> Cable {
        let rate = self.of(&[Rate::gbps(25), Rate::gbps(100), Rate::gbps(400), Rate(7_777_777_777)]);
        Cable::new(rate, Time::ns(self.between(1, 3_000)))
    }

    fn fabric(&mut self) -> Topology {
        let (host, up) = (self.cable(), self.cable());
        let small = |draw: &mut Self| draw.between(1, 4) as u32;
        let built = match self.0.below(4) {
            0 => Star { hosts: 2 + small(self), cable: host }.build(),
            1 => {
                let (left, right, trunks) = (small(self), small(self), small(self));
                Dumbbell { left, right, trunks, host, trunk: up }.build()
            }
            2 => Clos2 {
                leaves: 1 + small(self),
                spines: small(self),
                hosts_per_leaf: small(self),
                parallel: small(self),
                host,
                spine: up,
            }
            .build(),
            _ => FatTree { cores_per_spine: small(self), spine: up, ..FatTree::radix(4, host) }.build(),
        };
        built.unwrap()
    }

    fn settings(&mut self, seed: u64) -> Settings {
        let mut settings = Settings { seed, ..Settings::default() };
        settings.nic.mtu = Bytes(self.of(&[256, 1_000, 4_096]));
        settings.nic.ack_every = self.of(&[1, 1, 2, 16]);
        settings.nic.ack_priority = self.of(&[None, Some(Priority::new(5)), Some(Priority::new(6))]);
        settings.nic.cnp_per = self.of(&[CnpPer::Qp, CnpPer::Ip, CnpPer::Port]);
        settings.nic.recovery = self.of(&[Recovery::GoBackN, Recovery::Selective]);
        settings.nic.timeout = Time::us(self.between(50, 500));
        settings.nic.retries = 200;
        settings.switch.lossless = Priorities(self.of(&[0, 0b1000, 0b1010, 0xff]));
        settings.switch.buffer.per_port = Bytes(self.of(&[2_500_000, 5_000_000]));
        settings.switch.buffer.alpha_256 = self.of(&[1, 2, 32, 256]) as u32;
        settings.switch.buffer.headroom =
            self.of(&[Headroom::Exact { percent: 100 }, Headroom::Exact { percent: 40 }, Headroom::None]);
        settings.switch.queues = self.of(&[Queues::Output, Queues::Virtual]);
        settings.switch.buffer.link = self.of(&[Link::Pfc, Link::Pfc, Link::Credits]);
        if settings.switch.buffer.link == Link::Credits && settings.switch.buffer.headroom == Headroom::None {
            settings.switch.buffer.headroom = Headroom::Fixed(Bytes(10_000));
        }
        settings.switch.mark_at = self.of(&[ecn::At::Enqueue, ecn::At::Dequeue]);
        settings.switch.marking = self.of(&[&[][..], &[Marking::default()]]).to_vec();
        settings.cc = cc::Settings::all().swap_remove(self.between(0, cc::NAMES.len() as u64 - 1) as usize);
        settings.routing =
            routing::Settings::all().swap_remove(self.between(0, routing::NAMES.len() as u64 - 1) as usize);
        if settings.cc.feedback().cnp && !settings.switch.lossless.has(settings.nic.cnp_priority) {
            settings.switch.cnp_by = self.of(&[CnpBy::Receiver, CnpBy::Switch]);
        }
        settings
    }

    fn load(&mut self, hosts: u32) -> Workload {
        let mut load = Workload::new();
        for n in 0..self.between(1, 12) as u32 {
            let src = self.between(0, u64::from(hosts) - 1) as u32;
            let dst = (src + self.between(1, u64::from(hosts) - 1) as u32) % hosts;
            let bytes = self.of(&[1, 999, 20_000, 300_000]) + self.between(0, 500);
            let mut flow = Flow::new(HostId(src), HostId(dst), Bytes(bytes)).lane(self.of(&[0, 0, 1]));
            flow.priority = Priority::new(self.of(&[1, 3, 3, 3]));
            flow.after = Time::ns(self.of(&[0, 0, 2_500]));
            let id = load.add(flow);
            if n > 0 && self.of(&[true, false]) {
                let on = FlowId(self.between(0, u64::from(n) - 1) as u32);
                load.wait(id, on, self.of(&[Milestone::Acked, Milestone::Delivered]));
            }
        }
        load
    }
}

/// The story of a scenario that is played in pieces of so many events, looked at every `step`.
fn play(seed: u64, pieces: u64, step: Time) -> Vec<String> {
    let mut draw = Draw(Rng::named(seed, "scenario"));
    let fabric = draw.fabric();
    let load = draw.load(fabric.hosts());
    let settings = draw.settings(seed);
    let credits = settings.switch.buffer.link == Link::Credits;
    let lossless = settings.switch.lossless == Priorities::ALL
        && (settings.switch.buffer.headroom == Headroom::Exact { percent: 100 } || credits);
    let mut run = Simulation::new(fabric, &load, settings.clone()).unwrap();
    // Every piece ends with the engine's checks.
    let mut until = step.min(Time::ms(400));
    while run.advance(until, pieces) == Status::Running && run.now() < Time::ms(400) {
        if run.now() == until {
            until = (until + step).min(Time::ms(400));
        }
    }
    let totals = run.totals();
    assert_eq!(run.advance(Time::ms(400), 0), Status::Done, "seed {seed}: {totals:?} {settings:?}");
    assert_eq!(totals.delivered, load.bytes(), "seed {seed}: every byte arrives once");
    assert!(!credits || totals.pauses == 0, "seed {seed}: pauses beside credits");
    if lossless {
        assert_eq!((totals.drops, totals.timeouts), (0, 0), "seed {seed}: {settings:?}");
    }
    for (result, flow) in run.flows().zip(load.flows().rows()) {
        let line = Rate::gbps(400).time_for(flow.bytes);
        assert!(result.duration().unwrap() > line, "seed {seed}: faster than any line");
        assert!(result.acked > result.delivered, "seed {seed}: known before it happened");
    }
    run.flows().map(|flow| format!("{flow:?}")).chain([format!("{totals:?}")]).collect()
}

#[test]
fn a_hundred_random_scenarios_hold_all_invariants() {
    for seed in 0..100 {
        play(seed, 200, Time::ms(400));
    }
}

#[test]
fn pieces_and_repeats_change_nothing() {
    for seed in 0..20 {
        let whole = play(seed, u64::MAX, Time::NEVER);
        assert_eq!(play(seed, 1_000, Time::NEVER), whole);
        assert_eq!(play(seed, u64::MAX, Time::us(7)), whole);
    }
}
