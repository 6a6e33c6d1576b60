//! What no capture shows: several CPUs at once, full tables, a full ring.

use std::time::{Duration, Instant};

use aya::maps::{MapData, RingBuf};
use rocetop::live::bpf::{Programs, Settings};
use rocetop_parsers::abi::{Event, Flow, Key, Way, Why};
use rocetop_parsers::{Bytes, Psn, Qpn};

use super::frames::ipv4;

fn flows(programs: &Programs) -> Vec<(Key, Flow)> {
    let mut all = Vec::new();
    programs.for_each_flow(|_, key, flow| all.push((key, flow))).unwrap();
    all
}

fn whys(ring: &mut RingBuf<MapData>) -> Vec<Why> {
    let mut all = Vec::new();
    while let Some(record) = ring.next() {
        all.push(Event::read(&record).unwrap().head.why);
    }
    all
}

#[test]
fn a_flow_on_several_cpus_at_once_is_counted_exactly() {
    let Some(programs) = super::load(&Settings { flows: 64, ..Settings::default() }) else { return };
    const EACH: u32 = 200_000;
    const THREADS: u64 = 4;
    let frame = ipv4(0x04, 77, 5, 100);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| programs.run(Way::In, &frame, EACH).unwrap());
        }
    });
    let [(key, flow)] = flows(&programs)[..] else { panic!("one flow") };
    let packets = u64::from(EACH) * THREADS;
    assert_eq!((key.tag.qp(), key.tag.way()), (Qpn(77), Way::In));
    // Those that came while whoever held the flow was not running are counted apart, and none is lost.
    assert_eq!(flow.counters.tally.packets + flow.late_packets, packets);
    assert_eq!(flow.counters.tally.bytes + Bytes(flow.late_bytes), Bytes(packets * frame.len() as u64));
    assert_eq!((flow.counters.behind, flow.counters.next_psn), (flow.counters.tally.packets - 1, Psn::new(6)));
    assert!(flow.late_packets * 1000 < packets, "{} late", flow.late_packets);
    assert_eq!((programs.totals().unwrap().roce(), flow.lock), (packets, 0));
    eprintln!("{packets} packets on {THREADS} threads: {} found the flow locked", flow.late_packets);
}

#[test]
fn flows_that_begin_on_several_cpus_at_once_begin_once() {
    // Few places, so that half of the flows end up in the other table.
    let Some(programs) = super::load(&Settings { flows: 1024, ..Settings::default() }) else { return };
    const THREADS: u64 = 4;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for qp in 0..2000 {
                    programs.run(Way::In, &ipv4(0x04, qp, 0, 0), 1).unwrap();
                }
            });
        }
    });
    let mut all = flows(&programs);
    let counted: u64 = all.iter().map(|(_, flow)| flow.counters.tally.packets + flow.late_packets).sum();
    assert_eq!(counted + programs.totals().unwrap().overflow, 2000 * THREADS);
    all.sort_unstable_by_key(|(key, _)| *key);
    all.dedup_by_key(|(key, _)| *key);
    assert_eq!(all.len(), 2000);
}

#[test]
fn a_flow_is_taken_out_whole_while_it_is_counted() {
    let Some(programs) = super::load(&Settings { flows: 64, ..Settings::default() }) else { return };
    const EACH: u32 = 200_000;
    let frame = ipv4(0x04, 77, 5, 100);
    programs.run(Way::In, &frame, 1).unwrap();
    let (key, _) = flows(&programs)[0];
    let mut taken = 0;
    std::thread::scope(|scope| {
        let senders = [0; 2].map(|_| scope.spawn(|| programs.run(Way::In, &frame, EACH).unwrap()));
        while senders.iter().any(|sender| !sender.is_finished()) {
            // The kernel may be kept from getting done: then it is for the next time.
            if let Some(flow) = programs.take_flow(&key).unwrap() {
                taken += flow.counters.tally.packets + flow.late_packets;
            }
        }
    });
    let left: u64 = flows(&programs).iter().map(|(_, flow)| flow.counters.tally.packets + flow.late_packets).sum();
    let all = taken + left + programs.totals().unwrap().overflow;
    assert_eq!(all, u64::from(EACH) * 2 + 1);
    assert!(taken > 0 && flows(&programs).len() <= 1);
}

#[test]
fn a_full_table_is_counted_and_keeps_what_it_has() {
    // 64 places for flows over IPv4, and room for 64 more where they are taken.
    let Some(programs) = super::load(&Settings { flows: 64, ..Settings::default() }) else { return };
    for qp in 0..200 {
        for psn in 0..3 {
            let ran = programs.run(Way::In, &ipv4(0x04, 1000 + qp, psn, 0), 1).unwrap();
            assert_eq!(ran.verdict, Programs::PASS);
        }
    }
    let all = flows(&programs);
    let counted: u64 = all.iter().map(|(_, flow)| flow.counters.tally.packets).sum();
    assert_eq!((all.len(), counted), (128, 384));
    assert!(all.iter().all(|(_, flow)| flow.counters.gaps == 0 && flow.counters.tally.messages == 3));
    assert_eq!(programs.totals().unwrap().overflow, 216);
    // What is taken out makes room, wherever it lay.
    for (key, before) in [all[0], all[127]] {
        assert_eq!(programs.take_flow(&key).unwrap(), Some(before));
        assert_eq!(programs.take_flow(&key).unwrap(), None);
    }
    // The same four places, and then the other table.
    let qp = all[0].0.tag.qp().0;
    for qp in [qp + 6400, qp + 12_800, qp + 19_200] {
        programs.run(Way::In, &ipv4(0x04, qp, 9, 0), 1).unwrap();
    }
    let now = flows(&programs);
    let new = |qp| now.iter().find(|(key, _)| key.tag.qp() == Qpn(qp)).map(|(_, flow)| flow.counters.tally.packets);
    assert_eq!([6400, 12_800, 19_200].map(|more| new(qp + more)), [Some(1), Some(1), None]);
    assert_eq!((now.len(), programs.totals().unwrap().overflow), (128, 217));
}

#[test]
fn a_full_ring_is_counted() {
    let settings = Settings { flows: 64, ring: 4096, ..Settings::default() };
    let Some(mut programs) = super::load(&settings) else { return };
    let mut ring = programs.ring().unwrap();
    let nak = [&ipv4(0x11, 9, 3, 4)[..54], &[0x60, 0, 0, 7], &[0; 4]].concat();
    programs.run(Way::Out, &nak, 100).unwrap();
    let totals = programs.totals().unwrap();
    let seen = whys(&mut ring);
    assert_eq!(seen.len() as u64 + totals.ring_drops, 100);
    assert!(seen.len() >= 20, "{}", seen.len());
    assert_eq!(seen[0], Why::FIRST.with(Why::NAK));
    assert!(seen[1..].iter().all(|why| *why == Why::NAK));
    assert_eq!(flows(&programs)[0].1.counters.tally.naks, [100, 0, 0, 0]);
}

#[test]
fn headers_go_through_the_ring_as_asked() {
    let settings = Settings { flows: 64, events: Why::HEADERS, ..Settings::default() };
    let Some(mut all) = super::load(&settings) else { return };
    let mut ring = all.ring().unwrap();
    let frame = ipv4(0x0e, 9, 3, 1024);
    all.run(Way::In, &frame, 50).unwrap();
    let record = ring.next().unwrap();
    let event = Event::read(&record).unwrap();
    assert_eq!((event.head.wire as usize, event.bytes), (frame.len(), &frame[..128]));
    assert_eq!((event.head.why, event.way()), (Why::HEADERS, Way::In));
    drop(record);
    assert_eq!(whys(&mut ring).len(), 49);

    let Some(mut some) = super::load(&Settings { sample: 10, ..settings }) else { return };
    let mut ring = some.ring().unwrap();
    some.run(Way::In, &frame, 10_000).unwrap();
    let seen = whys(&mut ring).len();
    // 1,000 are due; six times the standard deviation of 30 either way.
    assert!((820..=1180).contains(&seen), "{seen}");
    assert_eq!(flows(&some)[0].1.counters.tally.packets, 10_000);
}

#[test]
fn what_is_no_roce_is_left_alone() {
    let Some(programs) = super::load(&Settings { flows: 64, ..Settings::default() }) else { return };
    let mut other = ipv4(0x04, 1, 0, 0);
    other[36] = 0;
    let cut = &ipv4(0x04, 1, 0, 0)[..50];
    let mut pause = vec![1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 1, 1, 0, 8];
    pause.resize(60, 0);
    for (frame, way, verdict) in [
        (&other[..], Way::In, Programs::PASS),
        (&other[..], Way::Out, Programs::NEXT),
        (cut, Way::In, Programs::PASS),
        (&pause[..], Way::In, Programs::PASS),
    ] {
        assert_eq!(programs.run(way, frame, 1).unwrap().verdict, verdict);
    }
    let totals = programs.totals().unwrap();
    assert_eq!((totals.seen, totals.roce(), totals.pauses, totals.undecodable, totals.other()), (4, 0, 1, 1, 2));
    assert!(flows(&programs).is_empty());
}

#[test]
fn the_verifier_has_little_to_do() {
    let Some(programs) = super::load(&Settings::default()) else { return };
    for way in [Way::In, Way::Out] {
        let verified = programs.verified(way).unwrap();
        eprintln!("{way:?}: {verified:?} instructions verified");
        // The kernel takes a million (Linux `bpf.h`, BPF_COMPLEXITY_LIMIT_INSNS); half of it leaves older ones room.
        assert!(verified.is_none_or(|count| count < 500_000));
    }
}

#[test]
fn sixty_thousand_flows_are_read_whole() {
    let settings = Settings { events: Why::default(), ..Settings::default() };
    let Some(programs) = super::load(&settings) else { return };
    for qp in 0..60_000 {
        programs.run(Way::In, &ipv4(0x04, qp, 0, 0), 1).unwrap();
    }
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let mut seen = 0;
        programs.for_each_flow(|_, _, flow| seen += flow.counters.tally.packets).unwrap();
        best = best.min(start.elapsed());
        assert_eq!(seen, 60_000);
    }
    eprintln!("60,000 flows read in {} us", best.as_micros());
}
