use super::*;
use crate::collective::{Job, Kind, ring_floor};
use crate::engine::{self, Simulation, Status};
use crate::topology::{Cable, Clos2, Dumbbell, FatTree, Star};
use crate::workload::pattern;

const LINE: Rate = Rate::gbps(100);
const CABLE: Cable = Cable::new(LINE, Time::us(1));

/// The key of a queue pair between two hosts.
pub(super) fn key(src: u32, dst: u32, lane: u32) -> Key {
    Key { src: HostId(src), dst: HostId(dst), sport: 0xc000 | lane as u16, qp: Qpn(0x100 + lane), psn: Psn::new(0) }
}

fn star(hosts: u32) -> Topology {
    Star { hosts, cable: CABLE }.build().unwrap()
}

fn packets(fabric: &Topology, load: &Workload) -> Vec<Time> {
    let mut run = Simulation::new(fabric.clone(), load, engine::Settings::default()).unwrap();
    assert_eq!(run.run(), Status::Done);
    run.flows().map(|flow| flow.delivered.unwrap()).collect()
}

fn fluid(fabric: &Topology, load: &Workload) -> Vec<Time> {
    let outcome = run(fabric, load, &Settings::default()).unwrap();
    outcome.flows.rows().iter().map(|flow| flow.delivered.unwrap()).collect()
}

#[test]
fn a_lone_flow_is_as_exact_as_packets() {
    let fabric = FatTree::radix(4, CABLE).build().unwrap();
    for bytes in [1, 4_096, 4_097, 1_000_000] {
        let mut load = Workload::new();
        load.add(Flow::new(HostId(0), HostId(15), Bytes(bytes)).after(Time::us(3)));
        let (exact, found) = (packets(&fabric, &load)[0], fluid(&fabric, &load)[0]);
        // A last packet that is short is taken for a full one.
        assert!(found.0.abs_diff(exact.0) < 2_000_000, "{bytes}: {found} for {exact}");
        if bytes <= 4_096 {
            assert!(found.0.abs_diff(exact.0) < 20_000, "{bytes}: {found} for {exact}");
        }
    }
}

#[test]
fn an_incast_takes_its_time() {
    // MODEL.md: 50.8 MB by 127 to one at 100G: 4.06 ms plus headers.
    let fabric = star(128);
    let mut load = Workload::new();
    pattern::incast(&mut load, (1..128).map(HostId), HostId(0), Bytes(400_000));
    let outcome = run(&fabric, &load, &Settings { mtu: Bytes(1_000), ..Settings::default() }).unwrap();
    let end = outcome.flows.rows().iter().map(|flow| flow.delivered.unwrap()).max().unwrap();
    let floor = LINE.time_for(Bytes(127 * wire::message(Bytes(400_000), Bytes(1_000)).0));
    assert!(end >= floor && end <= floor + Time::us(3), "{end} over {floor}");
    assert_eq!(outcome.solutions, 1 + 1, "all start together and end together");
}

#[test]
fn not_far_from_packets_where_lines_are_shared() {
    let clos = Clos2 { leaves: 4, spines: 2, hosts_per_leaf: 4, parallel: 1, host: CABLE, spine: CABLE };
    let fabric = clos.build().unwrap();
    let mut load = Workload::new();
    let hosts: Vec<HostId> = (0..16).map(HostId).collect();
    pattern::permutation(&mut load, &hosts, Bytes(2_000_000), 7);
    let (exact, found) = (packets(&fabric, &load), fluid(&fabric, &load));
    let last = |times: &[Time]| times.iter().max().copied().unwrap().seconds();
    // Collisions pause whole cables there, and hold up flows that have no part in them: a fluid is what could be had.
    let faster = 1.0 - last(&found) / last(&exact);
    assert!((0.0..0.2).contains(&faster), "{faster}: {} for {}", last(&found), last(&exact));
}

#[test]
fn a_ring_stands_on_its_floor_here_too() {
    for n in [2, 8] {
        let (fabric, bytes) = (star(n), Bytes(8_000_000));
        let mut load = Workload::new();
        let ranks = (0..n).map(HostId).collect();
        let like = Flow::new(HostId(0), HostId(1), Bytes(1));
        (Kind::named("ring").unwrap().play)(&mut Job::new(&mut load, ranks, like), bytes);
        let end = fluid(&fabric, &load).into_iter().max().unwrap();
        let floor = ring_floor(n as usize, bytes, LINE, CABLE.delay.times(2));
        assert!(end >= floor && end.seconds() < floor.seconds() * 1.05, "{n}: {end} over {floor}");
        let exact = packets(&fabric, &load).into_iter().max().unwrap();
        // In packets the ACKs of what comes in share the cable with what goes out: 86 bytes to 4,178.
        let faster = 1.0 - end.seconds() / exact.seconds();
        assert!((0.01..0.025).contains(&faster), "{n}: {end} for {exact}");
    }
}

#[test]
fn one_queue_pair_is_one_at_a_time_and_limits_hold() {
    let fabric = star(3);
    let mut load = Workload::new();
    let flow = Flow::new(HostId(0), HostId(1), Bytes(1_000_000));
    let first = load.add(flow);
    let second = load.add(flow);
    let slow = load.add(Flow { limit: Rate::gbps(1), ..Flow::new(HostId(2), HostId(1), Bytes(100_000)) });
    let times = fluid(&fabric, &load);
    let of = |id: FlowId| times[id.0 as usize].seconds();
    assert!(of(second) > of(first) * 1.9, "{times:?}");
    assert!((of(slow) / 816e-6 - 1.0).abs() < 0.03, "100 kB and headers at 1 Gb/s: {times:?}");
}

#[test]
fn no_cable_carries_more_than_it_can() {
    let bell = Dumbbell { left: 6, right: 6, trunks: 2, host: CABLE, trunk: CABLE };
    let fabric = bell.build().unwrap();
    for settings in routing::Settings::all() {
        let mut load = Workload::new();
        for n in 0..6 {
            load.add(Flow::new(HostId(n), HostId(6 + n), Bytes(1_000_000 * (u64::from(n) + 1))));
        }
        let run = run(&fabric, &load, &Settings { routing: settings.clone(), ..Settings::default() }).unwrap();
        for (port, carried) in run.carried.iter() {
            let line = fabric.ports()[port].cable.rate.bytes_in(run.end);
            assert!(carried.0 <= line.0 + 1, "{}: {carried:?} of {line:?}", settings.name());
        }
        let sent: u64 = (0..6).map(|host| run.carried[PortId(host)].0).sum();
        let trunks = fabric.next_hops(fabric.node(crate::topology::SwitchId(0)), HostId(6)).ports();
        let crossed: u64 = trunks.map(|port| run.carried[port].0).sum();
        assert!(sent.abs_diff(crossed) <= 8, "{}: {sent} {crossed}", settings.name());
    }
}

#[test]
fn what_cannot_be_played_is_said() {
    let bell = Dumbbell { left: 1, right: 1, trunks: 1, host: CABLE, trunk: CABLE };
    let fabric = bell.build().unwrap();
    let mut load = Workload::new();
    load.add(Flow::new(HostId(0), HostId(1), Bytes(1)));
    let trunk = fabric.next_hops(fabric.node(crate::topology::SwitchId(0)), HostId(1)).first;
    let cut = run(&fabric, &load, &Settings { down: vec![trunk], ..Settings::default() });
    assert_eq!(cut.unwrap_err(), Error::NoWay { flow: 0, src: 0, dst: 1 });
    // The packet engine refuses the same.
    for mtu in [0, 100_000] {
        let settings = Settings { mtu: Bytes(mtu), ..Settings::default() };
        let why = run(&fabric, &load, &settings).unwrap_err();
        let mut packets = crate::engine::Settings::default();
        packets.nic.mtu = settings.mtu;
        assert_eq!(why, crate::engine::Simulation::new(fabric.clone(), &load, packets).unwrap_err());
        assert!(matches!(why, Error::Mtu { .. }));
    }
    load.add(Flow::new(HostId(0), HostId(9), Bytes(1)));
    assert!(matches!(run(&fabric, &load, &Settings::default()), Err(Error::Workload(_))));
}
