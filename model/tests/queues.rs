//! What virtual output queues change, by figures that can be worked out.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may: that is how it fails")]

use rocetop_model::engine::{Settings, Simulation};
use rocetop_model::switch::Queues;
use rocetop_model::topology::{Cable, HostId, Star, Topology};
use rocetop_model::units::{Bytes, Rate, Time};
use rocetop_model::workload::{Flow, Workload};

const LINE: Rate = Rate::gbps(100);

fn star(hosts: u32) -> Topology {
    Star { hosts, cable: Cable::new(LINE, Time::us(1)) }.build().unwrap()
}

fn settings(queues: Queues) -> Settings {
    let mut settings = Settings::default();
    settings.switch.queues = queues;
    settings
}

/// Karol, Hluchyj, Morgan 1987: one line an input carries 58.6% of uniform traffic. Here no input blocks its own
/// frames, in either kind of queue.
#[test]
fn uniform_traffic_fills_all_outputs() {
    for queues in [Queues::Output, Queues::Virtual] {
        let fabric = star(16);
        let mut load = Workload::new();
        for src in 0..16 {
            for dst in (0..16).filter(|dst| *dst != src) {
                load.add(Flow::new(HostId(src), HostId(dst), Bytes(100_000_000)));
            }
        }
        let outs: Vec<_> =
            (0..16).map(|host| fabric.ports()[fabric.ports_of(HostId(host).into()).first].peer).collect();
        let mut run = Simulation::new(fabric, &load, settings(queues)).unwrap();
        let sent = |run: &Simulation| outs.iter().map(|port| run.counters(*port).bytes).sum::<u64>();
        run.advance(Time::us(200), u64::MAX);
        let before = sent(&run);
        run.advance(Time::us(700), u64::MAX);
        let share = (sent(&run) - before) as f64 / (16.0 * LINE.bytes_in(Time::us(500)).0 as f64);
        assert!(share > 0.97, "{queues:?}: {share}");
    }
}

/// The longest that a frame of a quiet input needs while another input has piled up all that it may.
fn behind_a_pile(queues: Queues) -> (Time, Time) {
    let fabric = star(4);
    let mut load = Workload::new();
    // Two senders of which the switch's output can carry one, and a third that asks for little.
    for src in 0..2 {
        load.add(Flow::new(HostId(src), HostId(3), Bytes(100_000_000)));
    }
    let quiet: Vec<_> = (0..40)
        .map(|n| load.add(Flow::new(HostId(2), HostId(3), Bytes(4_096)).after(Time::us(200 + 10 * n))))
        .collect();
    let mut run = Simulation::new(fabric, &load, settings(queues)).unwrap();
    run.advance(Time::us(700), u64::MAX);
    let times: Vec<Time> = quiet.iter().map(|flow| run.flow(*flow).duration().unwrap()).collect();
    (*times.iter().min().unwrap(), *times.iter().max().unwrap())
}

#[test]
fn a_quiet_input_waits_for_turns_and_not_for_the_pile() {
    // A frame of 4,174 B (with RETH), 20 of gap: sent twice, on two cables of 1 us.
    let alone = Time(2 * 4_194 * 80) + Time::us(2);
    let (_, longest) = behind_a_pile(Queues::Virtual);
    // Two other inputs have a turn each, of 10,000 B and as much of a frame as was left of the turn before; one frame
    // is on the cable and one chosen; so is a PFC frame at worst.
    let turns = Time(80 * (2 * (10_000 + 4_178) + 2 * 4_194 + 84));
    assert!(longest <= alone + turns, "{longest} beside {}", alone + turns);
    // Behind the pile: each of two accounts stops at an eighth of what is free, which together are a tenth of the pool
    // each: 4 x (500,000 - 37,658) / 10 = 184,936 B, less what leaves until XON.
    let (shortest, _) = behind_a_pile(Queues::Output);
    let pile = Time(80 * 2 * 184_936);
    assert!(shortest > alone + Time(pile.0 * 8 / 10), "{shortest} beside {pile}");
}
