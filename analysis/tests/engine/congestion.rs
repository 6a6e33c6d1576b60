//! Marks, notifications, pauses and incast.

use rocetop_analysis::detect::Value;
use rocetop_analysis::report::FrameRef;
use rocetop_analysis::{Config, Engine, FrameNo, Ledger, Packet, Severity};
use rocetop_parsers::facts::Class;
use rocetop_parsers::link::pause::Pause;
use rocetop_parsers::{Addr, Bytes, Detail, Facts, Nanos};

use crate::kit::{ACK, CNP, Tap, WRITE_ONLY, Way, connection, host, way};

/// ECT(0) and CE.
const ECT: u8 = 2;
const CE: u8 = 3;

fn write(tap: &mut Tap, there: Way, psn: u32, tos: u8) {
    tap.facts_at(there, Facts { tos, ..Tap::facts(there, WRITE_ONLY, psn) });
}

/// `n` WRITEs, each acknowledged; one in `marked` is marked.
fn writes(tap: &mut Tap, n: u32, marked: u32) -> (Way, Way) {
    let (there, back) = connection();
    for i in 0..n {
        write(tap, there, 1000 + i, if marked != 0 && i % marked == 0 { CE } else { ECT });
        tap.ack(back, 1000 + i, i + 1);
    }
    (there, back)
}

#[test]
fn a_few_marks_are_information() {
    let mut tap = Tap::default();
    let (_, back) = writes(&mut tap, 400, 200);
    tap.send(back, CNP, 0);
    let seen = tap.finish();
    assert_eq!(seen.codes(Severity::Info), ["RT020"]);
    let found = seen.found("RT020");
    assert_eq!((found.severity, &found.frames), (Severity::Info, &vec![FrameRef::Place(1), FrameRef::Place(401)]));
    assert_eq!(found.evidence.0[2], ("ppm", Value::Number(5000)));
    let marks = seen.flows[0].marks.as_ref().unwrap().ce.as_ref().unwrap();
    assert_eq!((marks.count, marks.first_ns, marks.last_ns), (2, 1_000_010_000, 1_004_010_000));
}

#[test]
fn many_marks_that_nobody_passes_on() {
    let mut tap = Tap::default();
    writes(&mut tap, 400, 20);
    let seen = tap.finish();
    assert_eq!(seen.codes(Severity::Warning), ["RT020", "RT022"]);
    // Notifications by address or port come on another queue pair.
    let mut tap = Tap::default();
    let (_, back) = writes(&mut tap, 400, 20);
    tap.send(Way { qp: 99, sport: 0, ..back }, CNP, 0);
    let seen = tap.finish();
    assert_eq!((seen.codes(Severity::Warning), seen.found("RT022").severity), (vec!["RT020"], Severity::Info));
    // A notification by whoever it be, and it is passed on.
    let mut tap = Tap::default();
    writes(&mut tap, 400, 20);
    tap.send(way(9, 1, 17, 0), CNP, 0);
    let seen = tap.finish();
    assert_eq!(seen.codes(Severity::Info), ["RT020", "RT024"]);
    assert_eq!(
        seen.found("RT024").title,
        "10.0.0.9 sent 1 CNP to queue pair 17 of 10.0.0.1, which talks with 10.0.0.2"
    );
}

#[test]
fn marks_on_acks_decide_nothing() {
    let mut tap = Tap::default();
    let (there, back) = connection();
    for i in 0..100 {
        write(&mut tap, there, 1000 + i, ECT);
        tap.facts_at(back, Facts { tos: CE, payload: 0, ..Tap::facts(back, ACK, 1000 + i) });
    }
    let seen = tap.finish();
    assert!(seen.codes(Severity::Info).is_empty());
    assert_eq!(seen.flows[1].marks.as_ref().unwrap().ce_on_answers.as_ref().unwrap().count, 100);
}

#[test]
fn notifications_without_marks() {
    let mut tap = Tap::default();
    let (_, back) = writes(&mut tap, 50, 0);
    tap.send(back, CNP, 0);
    let seen = tap.finish();
    assert_eq!(seen.codes(Severity::Info), ["RT021"]);
    assert_eq!(seen.found("RT021").frames, [FrameRef::Place(101)]);
    // The same, after a loss.
    let mut tap = Tap::default();
    let (_, back) = writes(&mut tap, 50, 0);
    tap.nak(back, 1050, 50).send(back, CNP, 0);
    assert!(tap.finish().found("RT021").title.contains("slow restart"));
}

/// A CNP every 50 us for `n` times; between two of them the sender sends `packets(i)` packets of 4 KiB.
fn train(n: u32, packets: impl Fn(u32) -> u32) -> Tap {
    let mut tap = Tap::default();
    let (there, back) = connection();
    let mut psn = 1000;
    write(&mut tap, there, psn, CE);
    tap.ack(back, psn, 1);
    for i in 0..n {
        tap.send(back, CNP, 0);
        let next = tap.now + 40_000;
        tap.wire = 4200;
        for _ in 0..packets(i) {
            psn += 1;
            write(&mut tap, there, psn, CE);
            // They come together.
            tap.now -= 10_000;
        }
        tap.now = next;
    }
    tap
}

#[test]
fn a_sender_that_does_not_slow_down() {
    // 8 packets of 4,200 bytes in 50 us are 5,376 Mb/s.
    let seen = train(120, |_| 8).finish();
    let found = seen.found("RT023");
    assert_eq!((found.severity, found.flow), (Severity::Warning, Some(0)));
    assert_eq!(found.evidence.0[2..], [("early_mbps", Value::Number(5376)), ("late_mbps", Value::Number(5376))]);
}

#[test]
fn a_sender_that_does() {
    let halved = train(120, |i| if i < 40 { 8 } else { 3 }).finish();
    assert!(!halved.codes(Severity::Info).contains(&"RT023"));
    let reaction = halved.flows[0].habits.as_ref().unwrap().reaction.as_ref().unwrap();
    assert_eq!((reaction.early_mbps, reaction.late_mbps, reaction.cnps), (5376, 2016, 120));
    // Not enough of them to judge.
    let short = train(99, |_| 8).finish();
    assert_eq!(short.flows[0].habits.as_ref().unwrap().reaction, None);
    // So slow that the application may be the limit.
    let slow = train(120, |_| 1).finish();
    assert!(!slow.codes(Severity::Info).contains(&"RT023"));
}

#[test]
fn pauses() {
    let mut tap = Tap::default();
    writes(&mut tap, 100, 0);
    let nowhere = way(0, 0, 0, 0);
    let facts = Facts { class: Class::Pause, src: Addr::default(), dst: Addr::default(), ..Facts::default() };
    tap.detail(nowhere, facts, &Detail::Pause(Pause::pfc().with_class(3, 0xffff)));
    tap.wait(1_000_000).send(connection().0, WRITE_ONLY, 1100);
    let seen = tap.finish();
    // 83,884 ns of 3,020,000 ns; 2 percent and more.
    let found = seen.found("RT025");
    assert_eq!((found.severity, found.evidence.0[0].clone()), (Severity::Warning, ("frames", Value::Number(1))));
    assert_eq!(found.evidence.0[4], ("stopped_400g_ns", Value::Number(83_884)));
    assert_eq!(found.title, "1 pause frame stopped priority 3: 83.9 us in all at 400 Gb/s, 336 us at 100 Gb/s");
}

#[test]
fn four_senders_at_once() {
    let run = |senders: u8| {
        let mut tap = Tap::default();
        for psn in 0..20 {
            for host in 1..=senders {
                tap.facts_at(
                    way(host, 20, 5, 1),
                    Facts { tos: ECT, ..Tap::facts(way(host, 20, 5, 1), WRITE_ONLY, psn) },
                );
            }
        }
        tap.finish()
    };
    assert_eq!(run(3).codes(Severity::Info), ["RT038"]);
    assert_eq!(run(4).codes(Severity::Info), ["RT026", "RT038"]);
    assert_eq!(run(4).found("RT026").evidence.0[1], ("senders", Value::Number(4)));
}

#[test]
fn parts_agree() {
    let pause = Facts { class: Class::Pause, ..Facts::default() };
    let tcp = |n: u8| Facts { class: Class::Other, src: host(n), dst: host(1), tos: 8, end: 60, protocol: 6, ..pause };
    let run = |parts: usize| {
        let mut engines: Vec<_> = (0..parts).map(|part| Engine::part(Config::default(), part, parts)).collect();
        for frame in 1..=60u8 {
            let facts = if frame % 3 == 0 { pause } else { tcp(frame) };
            let at = Nanos(u64::from(frame) * 1000);
            let frame = FrameNo::new(0, u64::from(frame));
            let packet = Packet { frame, at, wire: Bytes(60), facts, ..Packet::default() };
            // Anybody's frames are dealt out in turn.
            let part = Engine::part_of(&facts, parts).unwrap_or(packet.frame.place() as usize % parts);
            let engine = &mut engines[part];
            engine.packet(&packet);
            if facts.class == Class::Pause {
                engine.detail(&packet, &Detail::Pause(Pause::pfc().with_class(4, 100)));
            }
        }
        let engine = Engine::merge(engines);
        let ledger = Ledger::new(&engine, Vec::new());
        format!("{:?} {:?}", ledger.pauses(), ledger.findings())
    };
    let one = run(1);
    assert!(one.contains("RT025") && one.contains("RT037"), "{one}");
    for parts in [2, 3, 7, 64] {
        assert_eq!(run(parts), one);
    }
}
