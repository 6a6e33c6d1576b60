//! Packets that overtake each other, and packets that come twice.

use rocetop_analysis::report::FrameRef;
use rocetop_analysis::story::report::{Kind, Recovery};
use rocetop_parsers::Facts;
use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::aeth::{Aeth, NakCode, Syndrome};

use crate::faults::Faults;
use crate::kit::{ACK, READ_REQ, Tap, connection};
use crate::model::{Message, Rng, Scenario, run};
use crate::scenario::{Mix, clean};
use crate::tap::{PLACES, Place, requests, seen, story};

/// A clean run in which some requests are late, on either link.
fn late(seed: u64) -> Scenario {
    let mut rng = Rng::new(seed ^ 0x1a7e);
    let mut s = clean(seed, Mix::Sent);
    for link in [0, 1] {
        s.links[link].late = rng.one_of(&[0, 5_000, 20_000]);
        s.links[link].late_by = rng.one_of(&[1_000, 5_000, 20_000]);
    }
    s
}

#[test]
fn what_is_late_is_not_lost() {
    let mut faults = Faults::default();
    let (mut seen_late, mut truly_late) = (0, 0);
    for seed in 0..1_500 {
        let s = late(seed);
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, seed % 2 == 0);
            let story = story(&seen, records, &why);
            faults.same("lost_before_tap", (story.lost_before_tap, 0), &why, story);
            for (what, is) in [
                ("duplicated_by_network", story.duplicated_by_network),
                ("missed_by_capture", story.missed_by_capture),
                ("lost_acks", story.lost_acks),
                ("naks_repeated", story.naks_repeated),
                ("restarts_elsewhere", story.restarts_elsewhere),
            ] {
                faults.same(what, (is, 0), &why, story);
            }
            let behind: u64 = truth.tolls[..2].iter().map(|t| t.late).sum();
            faults.check("lost_or_late <= late", story.lost_or_late <= behind, &why, story);
            faults.check("reordered <= late", story.reordered <= behind, &why, story);
            faults.check("recovery", story.recovery != Recovery::Selective, &why, story);
            seen_late += story.reordered;
            if place == Place::Responder {
                truly_late += behind;
            }
        }
    }
    assert!(seen_late * 4 > truly_late, "{seen_late} of {truly_late}");
    faults.few(&[
        // At the requester's end, but for eleven: each NAK counts there, and one late packet may draw several.
        ("lost_or_late <= late", 348),
        ("reordered <= late", 51),
        ("restarts_elsewhere", 1),
    ]);
}

#[test]
fn what_is_late_is_never_lost_for_certain() {
    // A path that sprays, and NICs that ask for what is late: half of the packets are sent again in vain.
    let mut faults = Faults::default();
    let (mut again, mut sprayed) = (0, 0);
    for seed in 0..1_500 {
        let mut rng = Rng::new(seed ^ 0x59a1);
        let mut s = clean(seed, [Mix::Sent, Mix::All][seed as usize % 2]);
        s.selective = rng.within(0, 3) == 0;
        for link in [0, 1] {
            s.links[link].late = rng.one_of(&[10_000, 100_000, 900_000]);
            // No later than what is waited for until a gap is judged: 256 packets.
            s.links[link].late_by = rng.one_of(&[500, 3_000, 10_000]);
        }
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?} selective {}", s.selective);
            let seen = seen(&s, records, place, seed % 2 == 0);
            let story = story(&seen, records, &why);
            faults.same(
                "(lost_before_tap, lost_after_tap)",
                ((story.lost_before_tap, story.lost_after_tap), (0, 0)),
                &why,
                story,
            );
            faults.same("missed_by_capture", (story.missed_by_capture, 0), &why, story);
            again += story.retransmissions.total;
            sprayed += story.reordered;
        }
    }
    faults.none();
    assert!(again > 100_000 && sprayed > 10_000, "{again} {sprayed}");
}

#[test]
fn what_the_network_doubles_is_counted_as_that() {
    let mut faults = Faults::default();
    for seed in 0..500 {
        let mut s = clean(seed, Mix::Sent);
        s.links[0].twice = 10_000;
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, seed % 2 == 0);
            let story = story(&seen, records, &why);
            let twice = if place == Place::Requester { 0 } else { truth.tolls[0].twice };
            faults.check("duplicated_by_network <= twice", story.duplicated_by_network <= twice, &why, story);
            let by = &story.retransmissions.by_cause;
            faults.same(
                "(by.nak, by.rnr, by.read_reissue)",
                ((by.nak, by.rnr, by.read_reissue), (0, 0, 0)),
                &why,
                story,
            );
        }
    }
    faults.none();
}

#[test]
fn a_network_that_sprays_loses_nothing() {
    let mut faults = Faults::default();
    let mut disordered = 0;
    for seed in 0..900 {
        let mut rng = Rng::new(seed ^ 0x5bad);
        let mut s = clean(seed, [Mix::Sent, Mix::Read, Mix::All][seed as usize % 3]);
        s.any_order = true;
        // The path MTU is known from the start: a READ that says nothing of its span hides what was skipped.
        s.messages.insert(0, Message::Write(3));
        for link in [0, 1] {
            s.links[link].spared = 3;
            s.links[link].late = rng.one_of(&[0, 100_000, 900_000]);
            s.links[link].late_by = rng.one_of(&[500, 3_000]);
        }
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, seed % 2 == 0);
            let story = story(&seen, records, &why);
            faults.same("retransmissions.total", (story.retransmissions.total, 0), &why, story);
            faults.same(
                "(lost_before_tap, lost_after_tap, lost_or_late)",
                ((story.lost_before_tap, story.lost_after_tap, story.lost_or_late), (0, 0, 0)),
                &why,
                story,
            );
            faults.same(
                "(lost_responses, lost_acks, missed_by_capture)",
                ((story.lost_responses, story.lost_acks, story.missed_by_capture), (0, 0, 0)),
                &why,
                story,
            );
            faults.same("(timeouts, stall_ns)", ((story.timeouts, story.stall_ns), (0, 0)), &why, story);
            let late = story.episodes.iter().all(|e| e.kind == Kind::Reordered);
            faults.check("episodes", late, &why, story);
            disordered += story.reordered;
        }
    }
    faults.none();
    assert!(disordered > 10_000, "{disordered}");
}

#[test]
fn a_read_that_is_overtaken_is_late_and_no_rest() {
    let (out, back) = connection();
    // Whether the path MTU is told before the first READ; until it is, the second request seems to follow the first.
    for told in [false, true] {
        let mut tap = Tap::default();
        let mut at = 1_000_000_000;
        if told {
            tap.add(at - 2_000, Tap::facts(out, 0x06, 98));
            tap.add(at - 1_000, Tap::facts(out, 0x08, 99));
        }
        for group in 0..10 {
            let first = 100 + group * 16;
            for read in [0, 2, 1, 3] {
                tap.add(at, Facts { dma_len: 4_096, ..Tap::facts(out, READ_REQ, first + read * 4) });
                at += 500;
            }
            for psn in first..first + 16 {
                let opcode = [0x0d, 0x0e, 0x0e, 0x0f][psn as usize % 4];
                tap.add(at + 10_000, Tap::facts(back, opcode, psn));
                at += 300;
            }
            at += 100_000;
        }
        let seen = tap.finish();
        let flow = requests(&seen);
        let story = flow.story.as_ref().unwrap();
        assert_eq!((story.lost_before_tap, story.lost_or_late, story.lost_responses), (0, 0, 0));
        assert_eq!((story.reordered, flow.requests.seen_again, flow.requests.never_seen), (9 + u64::from(told), 0, 0));
        assert!(story.episodes.iter().all(|e| e.kind == Kind::Reordered && e.cause.is_none()), "{:#?}", story.episodes);
        if told {
            assert_eq!(flow.requests.messages, 41);
        }
    }
}

#[test]
fn what_comes_twice_at_first_waited_for_nothing() {
    // All is answered; after a rest of 30 s the other end begins, and the network doubles its first request.
    for between in [500, 2_000] {
        let (out, back) = connection();
        let ask = |way, psn| Facts { flags: Flags::EXTENDED.with(Flags::ACK_REQ), ..Tap::facts(way, 0x0a, psn) };
        let answer =
            |way, psn| Facts { aeth: Aeth::new(Syndrome::Ack(31), 0), payload: 0, ..Tap::facts(way, ACK, psn) };
        let mut tap = Tap::default();
        for n in 0..10 {
            let at = 1_000_000_000 + u64::from(n) * 1_000_000;
            tap.add(at, ask(back, 500 + n));
            tap.add(at + 3_000, answer(out, 500 + n));
        }
        let begin = 31_000_000_000;
        tap.add(begin, ask(out, 900));
        tap.add(begin + between, ask(out, 900));
        for n in 0..10 {
            let at = begin + 3_000 + u64::from(n) * 1_000_000;
            tap.add(at, answer(back, 900 + n));
            tap.add(at + 10_000, ask(out, 901 + n));
        }
        let seen = tap.finish();
        let story = requests(&seen).story.as_ref().unwrap();
        assert_eq!((story.duplicated_by_network, story.timeouts, story.stall_ns), (1, 0, 0));
        assert_eq!((story.retransmissions.by_cause.unknown, story.retransmissions.total), (1, 1));
        // The first message did not wait for 30 s either.
        assert_eq!((story.message_ns.count, story.message_ns.max), (10, 990_000));
    }
}

#[test]
fn what_comes_twice_within_a_few_microseconds_is_no_timers() {
    // The shortest way there and back was 2 us; the network doubles a request after 3 us.
    let (out, back) = connection();
    let ask = |psn| Facts { flags: Flags::EXTENDED.with(Flags::ACK_REQ), ..Tap::facts(out, 0x0a, psn) };
    let answer = |way, psn| Facts { aeth: Aeth::new(Syndrome::Ack(31), 0), payload: 0, ..Tap::facts(way, ACK, psn) };
    let mut tap = Tap::default();
    for n in 0..10 {
        let at = 1_000_000_000 + u64::from(n) * 100_000;
        tap.add(at, ask(100 + n));
        if n == 5 {
            tap.add(at + 1_000, answer(out, 900));
            tap.add(at + 3_000, ask(100 + n));
        }
        tap.add(at + if n == 0 { 2_000 } else { 40_000 }, answer(back, 100 + n));
    }
    let seen = tap.finish();
    let story = requests(&seen).story.as_ref().unwrap();
    assert_eq!((story.duplicated_by_network, story.timeouts, story.stall_ns), (1, 0, 0));
    assert_eq!((story.retransmissions.by_cause.unknown, story.retransmissions.total), (1, 1));
}

#[test]
fn what_a_capture_without_the_nak_shows_is_lost_or_late() {
    // Only the NAK is missing: 102 comes after a round trip, and all that had come behind it once more.
    let (mut out, mut back) = connection();
    (out.ttl, back.ttl) = (62, 64);
    let told = |again: std::ops::Range<u32>| {
        let mut tap = Tap::default();
        let mut both = |at: u64, psn: u32, answered: bool| {
            tap.add(1_000_000_000 + at, Tap::facts(out, 0x0a, psn));
            let aeth = Aeth::new(Syndrome::Ack(31), 0);
            let ack = Facts { aeth, payload: 0, ..Tap::facts(back, ACK, psn) };
            if answered {
                tap.add(1_000_000_100 + at, ack);
            }
        };
        (100..102).for_each(|psn| both(u64::from(psn) * 2_000, psn, true));
        (103..110).for_each(|psn| both(u64::from(psn) * 2_000, psn, false));
        again.for_each(|psn| both(u64::from(psn) * 2_000 + 100_000, psn, true));
        (110..120).for_each(|psn| both(u64::from(psn) * 2_000 + 200_000, psn, true));
        let story = requests(&tap.finish()).story.clone().unwrap();
        (story.lost_before_tap, story.lost_or_late, story.reordered, story.retransmissions.by_cause.unknown)
    };
    assert_eq!(told(102..110), (0, 1, 0, 7));
    // Alone, nothing shows that it was sent again.
    assert_eq!(told(102..103), (0, 0, 1, 0));
}

#[test]
fn a_coarse_clock_tells_no_order() {
    // 101 is asked for and comes within one stamp; then all behind it again.
    let (mut out, mut back) = connection();
    (out.ttl, back.ttl) = (62, 64);
    let told = |at: u64| {
        let mut tap = Tap::default();
        let answer = |psn, syndrome| Facts { aeth: Aeth::new(syndrome, 0), payload: 0, ..Tap::facts(back, ACK, psn) };
        tap.add(at, Tap::facts(out, 0x0a, 100));
        tap.add(at, answer(100, Syndrome::Ack(31)));
        (102..106).for_each(|psn| tap.add(at, Tap::facts(out, 0x0a, psn)));
        tap.add(at, answer(101, Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR)));
        (101..106).for_each(|psn| tap.add(at, Tap::facts(out, 0x0a, psn)));
        tap.add(at, answer(105, Syndrome::Ack(31)));
        let story = requests(&tap.finish()).story.clone().unwrap();
        (story.reordered, story.lost_before_tap + story.lost_or_late)
    };
    assert_eq!(told(1_003_000_000), (0, 1));
    // To the nanosecond, it was on its way when it was asked for.
    assert_eq!(told(1_003_000_001), (1, 0));
}

#[test]
fn what_only_the_file_has_out_of_order_is_in_order_by_its_stamp() {
    // 101 and 103 each come behind their successor; 101 was stamped before it, 103 after it.
    let (out, back) = connection();
    let mut tap = Tap::default();
    for (at, psn) in [(1_000, 100), (1_020, 102), (1_010, 101), (1_040, 104), (1_050, 103), (1_060, 105)] {
        tap.add(1_000_000_000 + at, Tap::facts(out, 0x0a, psn));
    }
    let aeth = Aeth::new(Syndrome::Ack(31), 0);
    tap.add(1_000_002_000, Facts { aeth, payload: 0, ..Tap::facts(back, ACK, 105) });
    let story = requests(&tap.finish()).story.clone().unwrap();
    assert_eq!((story.reordered, story.in_order_by_stamp, story.lost_or_late), (2, 1, 0));
}

#[test]
fn the_longest_silence_is_the_one_before_a_request() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    let aeth = Aeth::new(Syndrome::Ack(31), 0);
    let ack = |psn| Facts { aeth, payload: 0, ..Tap::facts(back, ACK, psn) };
    tap.add(1_000, Tap::facts(out, 0x0a, 100));
    // Its answer took 900, and then nothing came for 600.
    tap.add(1_900, ack(100));
    tap.add(2_500, Tap::facts(out, 0x0a, 101));
    tap.add(2_600, ack(101));
    tap.add(2_900, Tap::facts(out, 0x0a, 102));
    let story = requests(&tap.finish()).story.clone().unwrap();
    assert_eq!((story.silence_ns, story.silence_before), (600, Some(FrameRef::Place(3))));
}
