use super::*;
use crate::engine::{Settings, Simulation, Status};
use crate::topology::{Cable, Star};

const LINE: Rate = Rate::gbps(100);
const CABLE: Cable = Cable::new(LINE, Time::us(1));

fn hosts(n: u32) -> Vec<HostId> {
    (0..n).map(HostId).collect()
}

/// Plays something on `n` hosts of one switch; how long it took, and what left each host's port.
fn run(n: u32, build: impl Fn(&mut Job<'_>)) -> (Time, Vec<u64>) {
    let fabric = Star { hosts: n, cable: CABLE }.build().unwrap();
    let mut load = Workload::new();
    build(&mut Job::new(&mut load, hosts(n), Flow::new(HostId(0), HostId(1), Bytes(1))));
    let mut run = Simulation::new(fabric, &load, Settings::default()).unwrap();
    assert_eq!(run.run(), Status::Done);
    let end = run.flows().map(|flow| flow.delivered.unwrap()).max().unwrap();
    let sent = (0..n).map(|host| run.counters(run.fabric().ports_of(HostId(host).into()).first).bytes);
    (end, sent.collect())
}

#[test]
fn the_list_and_the_folder_agree() {
    let mut found: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/collective"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| name != "mod" && name != "tests")
        .collect();
    found.sort();
    assert_eq!(found, KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>());
}

#[test]
fn factors_of_nccl_tests() {
    let of = |name| (Kind::named(name).unwrap().factor)(8);
    assert_eq!(of("ring"), (14, 8));
    assert_eq!(of("tree"), (14, 8));
    assert_eq!(of("all_gather"), (7, 8));
    assert_eq!(of("all_to_all"), (7, 8));
    assert_eq!(of("broadcast"), (1, 1));
    // 8 ranks, 1 GB in 0.2 s: 5 GB/s of algorithm bandwidth, 8.75 GB/s on the bus.
    let ring = Kind::named("ring").unwrap();
    assert_eq!(ring.bus_bandwidth(8, Bytes(1_000_000_000), Time::ms(200)), Rate::mbps(70_000));
    assert_eq!(ring.bus_bandwidth(8, Bytes(1), Time::ZERO), Rate(0));
    assert!(Kind::named("star").is_none());
}

#[test]
fn parts_add_up() {
    let parts: Vec<u64> = (0..7).map(|part| Job::part(Bytes(100), part, 7).0).collect();
    assert_eq!(parts.iter().sum::<u64>(), 100);
    assert!(parts.iter().all(|part| (14..=15).contains(part)), "{parts:?}");
}

/// Flows and bytes of each kind among five ranks: what the algorithm says.
#[test]
fn every_kind_sends_what_it_should() {
    let bytes = Bytes(1_000_000);
    for kind in KINDS {
        let mut load = Workload::new();
        let mut job = Job::new(&mut load, hosts(5), Flow::new(HostId(0), HostId(1), Bytes(1)));
        job.shape = Shape { per_server: 1, inside: None, pieces: 4 };
        (kind.play)(&mut job, bytes);
        assert_eq!(load.check(5), Ok(()), "{}", kind.name);
        let (flows, sent) = match kind.name {
            "ring" | "hierarchical" => (40, 8_000_000),
            "all_gather" | "reduce_scatter" => (20, 4_000_000),
            "all_to_all" => (20, 4_000_000),
            "broadcast" | "reduce" => (16, 4_000_000),
            "tree" => (32, 8_000_000),
            other => panic!("{other}: how much does it send?"),
        };
        assert_eq!((load.flows().len(), load.bytes()), (flows, Bytes(sent)), "{}", kind.name);
        // Alone, or with nobody, there is nothing to do.
        for ranks in 0..2 {
            let mut load = Workload::new();
            (kind.play)(&mut Job::new(&mut load, hosts(ranks), Flow::new(HostId(0), HostId(1), Bytes(1))), bytes);
            assert_eq!(load.bytes(), Bytes(0), "{}", kind.name);
        }
    }
}

/// MODEL.md: 2(n-1)/n x S/B + 2(n-1) x latency, and never a bus bandwidth above line rate.
#[test]
fn a_ring_stands_on_its_floor() {
    let ring = Kind::named("ring").unwrap();
    for n in [2, 4, 8] {
        let bytes = Bytes(8_000_000);
        let (time, sent) = run(n, |job| (ring.play)(job, bytes));
        let floor = ring_floor(n as usize, bytes, LINE, CABLE.delay.times(2));
        let bus = ring.bus_bandwidth(n as usize, bytes, time);
        assert!(time >= floor && bus < LINE, "{n}: {time} under {floor}, {bus}");
        // Headers and gaps take 82 bytes of 4,178; each step waits for its last frame to be stored once.
        assert!(time.seconds() / floor.seconds() < 1.05, "{n}: {time} against {floor}");
        assert!(sent.iter().all(|sent| *sent >= bytes.0 * 2 * (u64::from(n) - 1) / u64::from(n)), "{sent:?}");
    }
}

#[test]
fn a_tree_wins_when_there_is_little_to_say() {
    let time = |name, bytes| run(16, |job| (Kind::named(name).unwrap().play)(job, Bytes(bytes))).0;
    assert!(time("tree", 1_600) < time("ring", 1_600));
    assert!(time("tree", 16_000_000) > time("ring", 16_000_000));
}

#[test]
fn no_kind_beats_the_line() {
    for kind in KINDS {
        let bytes = Bytes(2_000_000);
        let (time, _) = run(8, |job| {
            job.shape = Shape { per_server: 2, inside: None, pieces: 8 };
            (kind.play)(job, bytes);
        });
        let bus = kind.bus_bandwidth(8, bytes, time);
        assert!(bus < LINE && bus.0 > 0, "{}: {bus}", kind.name);
    }
}

/// Four servers of two GPUs: NVLink makes bus bandwidth what the network does not, and takes its own time.
#[test]
fn stages_inside_a_server_take_time_and_not_the_network() {
    let bytes = Bytes(8_000_000);
    let with = |inside| {
        run(8, |job| {
            job.shape = Shape { per_server: 2, inside, pieces: 1 };
            hierarchical::play(job, bytes);
        })
    };
    let (fast, sent) = with(Some(Rate::gbps(3_600)));
    let (slow, _) = with(None);
    // Half of the data on each rail among four: 2 x 3/4 x 4 MB each, with headers and ACKs, and two stages of half of
    // it inside.
    assert!(sent.iter().all(|sent| (6_000_000..6_300_000).contains(sent)), "{sent:?}");
    let floor = LINE.time_for(Bytes(6_000_000)) + Rate::gbps(3_600).time_for(Bytes(4_000_000)) + Time::us(12);
    // Headers take two in a hundred, and so do ACKs, which share the cable with what goes the other way.
    assert!(fast >= floor && fast.seconds() / floor.seconds() < 1.08, "{fast} against {floor}");
    assert!(slow > fast, "{slow} {fast}");
}

#[test]
fn computing_is_waited_for() {
    let bytes = Bytes(1_000_000);
    let (plain, _) = run(4, |job| ring::play(job, bytes));
    let (all, _) = run(4, |job| {
        job.compute(Time::ms(1));
        ring::play(job, bytes);
    });
    assert_eq!(all, plain + Time::ms(1));
    // One straggler holds up everybody: nothing of the sum can be complete without its part.
    let (one, _) = run(4, |job| {
        job.compute_at(2, Time::ms(1));
        ring::play(job, bytes);
    });
    assert!(one >= Time::ms(1) && one <= all, "{one} {all}");
    // Two rounds with a gap between: each as long as one alone, but for ACKs.
    let (two, _) = run(4, |job| {
        ring::play(job, bytes);
        job.compute(Time::ms(1));
        ring::play(job, bytes);
    });
    assert!(two >= plain.times(2) + Time::ms(1) && two <= plain.times(2) + Time::ms(1) + Time::us(20), "{two}");
}
