//! Deadlock in a ring of switches, what opens it, and what a watchdog makes of it and of slow receivers.

use super::{Check, Error, Verdict, settings};
use crate::cc;
use crate::engine::{Settings, Simulation, Status};
use crate::switch::watchdog::{Action, Rule};
use crate::switch::{Lanes, Watchdog};
use crate::topology::{Cable, Dumbbell, HostId, Ring, Topology};
use crate::units::{Bytes, Priorities, Priority, Rate, Time};
use crate::workload::{Flow, Workload};

const CABLE: Cable = Cable::new(Rate::gbps(100), Time::us(1));
const RING: &str = "Four switches in a ring, two hosts each, 100 Gb/s, 1 us; every host sends 3 MB two switches on; \
                    PFC, 60 KB a port (90 KB with two lanes), nobody gives up. Ten seeds.";
const SLOW: &str = "Two hosts send 400 KB each over a trunk to a host whose cable carries 10 Mb/s: the trunk is paused \
                    for 3.4 ms a frame, and no buffer waits in a circle. Polls every 500 us, detection and restoration \
                    1 ms.";
const RULES: &str = "SONiC's pfc_detect rules; SYSTEMS P3 to P5";

pub(super) const CHECKS: &[Check] = &[
    Check { name: "a ring of switches: deadlock", source: "SYSTEMS P3", how: RING, run: locked },
    Check { name: "a ring of switches: up and down lanes", source: "SYSTEMS P4", how: RING, run: opened },
    Check { name: "watchdog, plain bound: a deadlock", source: RULES, how: RING, run: || barks(Rule::Bound) },
    Check { name: "watchdog, occupied queue: a deadlock", source: RULES, how: RING, run: || barks(Rule::Occupied) },
    Check { name: "watchdog, pauses received: a deadlock", source: RULES, how: RING, run: || barks(Rule::Received) },
    Check { name: "watchdog, forwarding: a deadlock", source: RULES, how: RING, run: forwards },
    Check { name: "watchdog, pauses received: blind without refresh", source: RULES, how: RING, run: blind },
    Check { name: "watchdog, plain bound: false alarm", source: RULES, how: SLOW, run: || cries(Rule::Bound) },
    Check { name: "watchdog, occupied queue: false alarm", source: RULES, how: SLOW, run: || cries(Rule::Occupied) },
    Check { name: "watchdog, pauses received: false alarm", source: RULES, how: SLOW, run: || cries(Rule::Received) },
    Check {
        name: "watchdog: a healthy incast",
        source: RULES,
        how: "Eight hosts send 2 MB each into one trunk.",
        run: calm,
    },
];

const SEEDS: std::ops::Range<u64> = 0..10;

fn plain(seed: u64, per_port: u64) -> Settings {
    let mut settings = Settings { seed, ..settings(1_000, cc::Settings::None(cc::none::Settings)) };
    settings.nic.timeout = Time::ms(10_000);
    settings.switch.buffer.per_port = Bytes(per_port);
    settings
}

fn dog(rule: Rule, action: Action) -> Watchdog {
    Watchdog { rule, action, poll: Time::us(500), detect: Time::ms(1), restore: Time::ms(1) }
}

fn ring(settings: Settings) -> Result<(Simulation, Status), Error> {
    let fabric = Ring { switches: 4, hosts_per_switch: 2, host: CABLE, ring: CABLE }.build()?;
    let mut load = Workload::new();
    for src in 0..8 {
        load.add(Flow::new(HostId(src), HostId((src + 4) % 8), Bytes(3_000_000)));
    }
    let mut run = Simulation::new(fabric, &load, settings)?;
    let status = run.advance(Time::ms(100), u64::MAX);
    Ok((run, status))
}

fn locked() -> Result<Verdict, Error> {
    let (mut found, mut first) = (0, String::new());
    for seed in SEEDS {
        let (run, status) = ring(plain(seed, 60_000))?;
        if let [deadlock] = run.deadlocks()
            && status == Status::Running
            && deadlock.circle.len() == 4
        {
            found += 1;
            if first.is_empty() {
                first = format!("{}, at {}", deadlock.names(run.fabric()).join(" -> "), deadlock.at);
            }
        }
    }
    let target = String::from("one circle of 4 queues with 10 of 10 seeds");
    Ok(Verdict { target, measured: format!("{found} of 10; {first}"), pass: found == 10 })
}

fn opened() -> Result<Verdict, Error> {
    let (mut done, mut circles, mut pauses) = (0, 0, 0);
    for seed in SEEDS {
        let mut settings = plain(seed, 90_000);
        let (up, down) = (Priority::new(3), Priority::new(4));
        settings.switch.lanes = Some(Lanes { up, down });
        settings.switch.lossless = Priorities::NONE.with(up).with(down);
        let (run, status) = ring(settings)?;
        let totals = run.totals();
        done += u32::from(status == Status::Done && totals.drops == 0);
        circles += totals.deadlocks;
        pauses += totals.pauses;
    }
    Ok(Verdict {
        target: String::from("10 of 10 seeds end without a drop or a circle, in spite of pauses"),
        measured: format!("{done} of 10, {circles} circles, {pauses} pauses"),
        pass: done == 10 && circles == 0 && pauses > 0,
    })
}

/// A ring that locks up under a watchdog that drops: the first alarm's delay, and what comes after it.
fn barks(rule: Rule) -> Result<Verdict, Error> {
    let dog = dog(rule, Action::Drop);
    let mut settings = plain(1, 60_000);
    settings.switch.watchdog = Some(dog);
    // What is dropped must be sent again.
    settings.nic.timeout = Time::ms(2);
    let (run, _) = ring(settings)?;
    let (Some(deadlock), Some(alarm)) = (run.deadlocks().first(), run.alarms().first()) else {
        return Ok(Verdict { target: String::from("an alarm"), measured: String::from("none"), pass: false });
    };
    let late = alarm.at.since(deadlock.at);
    let most = if rule == Rule::Bound { dog.detect } else { dog.detect + dog.poll.times(2) };
    let opened = deadlock.opened.map_or(Time::NEVER, |at| at.since(alarm.at));
    let restored = run.alarms().iter().filter(|alarm| alarm.restored.is_some()).count();
    Ok(Verdict {
        target: format!("an alarm at most {most} after the circle, which it opens; queues restored"),
        measured: format!(
            "{late} after it, opened {opened} later; {} alarms, {restored} restored, {} frames dropped",
            run.alarms().len(),
            run.alarms().iter().map(|alarm| alarm.dropped).sum::<u64>()
        ),
        pass: late <= most && opened < Time::us(100) && restored > 0 && alarm.dropped > 0,
    })
}

fn forwards() -> Result<Verdict, Error> {
    let mut settings = plain(1, 60_000);
    settings.switch.watchdog = Some(dog(Rule::Occupied, Action::Forward));
    settings.nic.timeout = Time::ms(2);
    let (run, _) = ring(settings)?;
    let opened = run.deadlocks().first().and_then(|deadlock| deadlock.opened);
    let first = run.alarms().first().map(|alarm| alarm.at);
    let when = |at: Option<Time>| at.map_or_else(|| String::from("never"), |at| at.to_string());
    Ok(Verdict {
        target: String::from(
            "the circle is open as soon as a queue sends in spite of its pause; what has no room is lost",
        ),
        measured: format!("alarm at {}, open at {}, {} drops", when(first), when(opened), run.totals().drops),
        pass: opened.is_some() && opened == first && run.totals().drops > 0,
    })
}

fn blind() -> Result<Verdict, Error> {
    let mut settings = plain(1, 60_000);
    settings.switch.watchdog = Some(dog(Rule::Received, Action::Drop));
    settings.switch.quanta = None;
    let (run, _) = ring(settings)?;
    let (circles, alarms) = (run.totals().deadlocks, run.alarms().len());
    Ok(Verdict {
        target: String::from("a circle and no alarm where a pause is said once"),
        measured: format!("{circles} circles, {alarms} alarms"),
        pass: circles == 1 && alarms == 0,
    })
}

fn slow() -> Result<Topology, Error> {
    let mut fabric = Dumbbell { left: 2, right: 1, trunks: 1, host: CABLE, trunk: CABLE }.build()?;
    let port = fabric.ports_of(HostId(2).into()).first;
    fabric.throttle(port, Rate(10_000_000));
    Ok(fabric)
}

fn cries(rule: Rule) -> Result<Verdict, Error> {
    let mut load = Workload::new();
    for src in 0..2 {
        load.add(Flow::new(HostId(src), HostId(2), Bytes(400_000)));
    }
    let mut settings = plain(1, 60_000);
    settings.nic.mtu = Bytes(4_096);
    settings.switch.buffer.per_port = Bytes(100_000);
    settings.switch.watchdog = Some(dog(rule, Action::Alert));
    let mut run = Simulation::new(slow()?, &load, settings)?;
    let status = run.run();
    let (alarms, circles) = (run.alarms().len(), run.totals().deadlocks);
    Ok(Verdict {
        target: String::from("alarms without a circle, and all arrives"),
        measured: format!("{alarms} alarms, {circles} circles, {status:?}"),
        pass: alarms > 0 && circles == 0 && status == Status::Done,
    })
}

fn calm() -> Result<Verdict, Error> {
    let fabric = Dumbbell { left: 8, right: 1, trunks: 1, host: CABLE, trunk: CABLE }.build()?;
    let mut load = Workload::new();
    for src in 0..8 {
        load.add(Flow::new(HostId(src), HostId(8), Bytes(2_000_000)));
    }
    let (mut alarms, mut pauses) = (0, 0);
    for rule in [Rule::Bound, Rule::Occupied, Rule::Received] {
        let mut settings = plain(1, 60_000);
        settings.switch.watchdog = Some(dog(rule, Action::Drop));
        let mut run = Simulation::new(fabric.clone(), &load, settings)?;
        run.run();
        alarms += run.alarms().len();
        pauses += run.totals().pauses;
    }
    Ok(Verdict {
        target: String::from("pauses and no alarm by any of the three rules"),
        measured: format!("{pauses} pauses, {alarms} alarms"),
        pass: alarms == 0 && pauses > 0,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn circles_and_watchdogs() {
        super::super::all_pass(super::CHECKS);
    }
}
