//! Queue pairs that have the number, and the PSNs, of one before them.

use rocetop_analysis::Severity;
use rocetop_parsers::ib::aeth::{Aeth, Syndrome};
use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Facts, Psn};

use crate::kit::*;

/// Clean lives of a connection, five seconds apart: each sends `count` messages from its own PSN on, of which `window`
/// are out at a time. The MSN starts over with each.
fn lives(starts: &[u32], count: u32, window: u32) -> Seen {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for &start in starts {
        for first in (0..count).step_by(window as usize) {
            let each = first..count.min(first + window);
            for n in each.clone() {
                tap.send(out, SEND_ONLY, start + n);
            }
            for n in each {
                tap.ack(back, start + n, n + 1);
            }
        }
        tap.wait(5_000_000_000);
    }
    tap.finish()
}

#[test]
fn the_same_psns_in_another_life_are_no_repeats() {
    for (starts, window) in [
        (&[0, 0][..], 1),
        (&[0, 0, 0, 0, 0], 1),
        (&[0, 0], 16),
        // Near the one before, on either side.
        (&[5_000, 4_990, 4_970], 4),
        (&[5_000, 100], 4),
    ] {
        let seen = lives(starts, 40, window);
        let all = starts.len();
        assert_eq!(seen.flows.len(), 2 * all, "{starts:?} {window}");
        for flow in &seen.flows {
            let r = &flow.requests;
            assert_eq!((r.seen_again, r.behind, r.gaps), (0, 0, 0), "{starts:?} {window}");
        }
        let messages: Vec<_> = seen.flows.iter().map(|f| f.requests.messages).filter(|&n| n != 0).collect();
        assert_eq!(messages, vec![40; all]);
        assert_eq!(seen.connections.len(), all);
        assert!(seen.codes(Severity::Warning).is_empty(), "{:?}", seen.findings);
    }
}

/// Lives from PSN 500 on, each of so many messages, that are all out before one answer to the last of them. Payload and
/// opcode of a message are told by its life and its number.
fn alike(lives: u32, count: u32, answers: bool, message: impl Fn(u32, u32) -> (u8, u32)) -> Seen {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for life in 0..lives {
        for n in 0..count {
            let (opcode, payload) = message(life, n);
            tap.facts_at(out, Facts { payload, ..Tap::facts(out, opcode, 500 + n) });
        }
        if answers {
            tap.ack(back, 500 + count - 1, count);
        }
        tap.wait(50_000_000);
    }
    tap.finish()
}

#[test]
fn what_is_another_request_is_no_repeat() {
    for count in [1, 2, 5, 40, 200] {
        for answers in [true, false] {
            for (what, message) in [
                ("opcodes", (|life, _| ([WRITE_ONLY, SEND_ONLY][life as usize % 2], 64)) as fn(u32, u32) -> (u8, u32)),
                ("lengths", |life, _| (SEND_ONLY, 64 << life)),
                ("the second", |life, n| (SEND_ONLY, if n == 0 { 64 } else { 64 << life })),
            ] {
                // Nobody answers: what is alike at first may be sent again.
                if what == "the second" && (count < 2 || !answers) {
                    continue;
                }
                let seen = alike(3, count, answers, message);
                let requests = seen.flows.iter().filter(|f| f.requests.packets != 0);
                let told: Vec<_> = requests.map(|f| (f.epoch, f.requests.packets, f.requests.seen_again)).collect();
                let right: Vec<_> = (0..3).map(|life| (life, u64::from(count), 0)).collect();
                assert_eq!(told, right, "{what} {count} {answers}");
                assert!(seen.codes(Severity::Warning).is_empty(), "{what} {count}: {:?}", seen.findings);
            }
        }
    }
    // What is the same in all is sent again, as far as anybody knows.
    let seen = alike(2, 40, true, |_, _| (SEND_ONLY, 64));
    assert_eq!((seen.flows.len(), seen.flows[0].requests.seen_again), (2, 40));
}

#[test]
fn the_rest_of_a_read_is_no_other_request() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for psn in 0..4 {
        tap.send(out, WRITE_ONLY, psn).ack(back, psn, psn + 1);
    }
    // All of it, and its rest twice: the second time less.
    for (psn, length) in [(4, 8 * 1024), (4, 4 * 1024), (6, 6 * 1024), (6, 2 * 1024)] {
        tap.wait(10_000_000).read(out, psn, length);
    }
    let seen = tap.finish();
    assert_eq!(seen.flows.iter().filter(|f| f.requests.packets != 0).count(), 1);
}

#[test]
fn brief_lives_one_right_behind_the_other_are_no_doubles() {
    // Twenty messages of 5 us each, 150 us of silence, and the same again.
    for count in [20, 30, 50] {
        let (out, back) = connection();
        let mut tap = Tap::default();
        for _ in 0..2 {
            for n in 0..count {
                tap.now -= 8_000;
                tap.send(out, SEND_ONLY, 7_000 + n);
                tap.now -= 7_000;
                tap.ack(back, 7_000 + n, n + 1);
            }
            tap.wait(150_000);
        }
        let seen = tap.finish();
        assert_eq!((seen.totals.mirror_copies, seen.flows.len()), (0, 4), "{count}");
        let told = |f: &rocetop_analysis::report::FlowReport| (f.packets, f.requests.seen_again);
        assert!(seen.flows.iter().all(|f| told(f) == (u64::from(count), 0)), "{count}");
        assert!(seen.codes(Severity::Warning).is_empty(), "{:?}", seen.findings);
    }
}

#[test]
fn a_life_that_starts_a_little_further_on_leaves_no_gap() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for start in [100, 2_000] {
        for message in 0..20 {
            let psn = start + 2 * message;
            tap.send(out, WRITE_FIRST, psn).send(out, WRITE_LAST, psn + 1).ack(back, psn + 1, message + 1);
        }
        tap.wait(1_000_000_000);
    }
    let seen = tap.finish();
    assert_eq!(seen.flows.iter().map(|f| f.epoch).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert!(seen.flows.iter().all(|f| f.requests.gaps == 0 && f.requests.never_seen == 0));
}

#[test]
fn nor_do_lives_of_single_packets() {
    let seen = lives(&[411_900, 414_000], 40, 4);
    assert_eq!(seen.flows.iter().map(|f| f.epoch).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert!(seen.flows.iter().all(|f| f.requests.gaps == 0));
}

#[test]
fn the_answer_to_a_repeat_has_the_current_msn() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for psn in 0..40 {
        tap.send(out, SEND_ONLY, psn).ack(back, psn, psn + 1);
    }
    // Acknowledgements were lost behind the tap, and a timer went back; all the way, which no window does, or not.
    for from in [30, 0] {
        tap.wait(5_000_000_000);
        for psn in from..40 {
            tap.send(out, SEND_ONLY, psn).ack(back, 39, 40);
        }
    }
    let seen = tap.finish();
    assert_eq!((seen.flows.len(), seen.flows[0].requests.seen_again), (2, 50));
    assert_eq!(seen.flows[0].story.as_ref().unwrap().retransmissions.by_cause.timeout, 50);
}

#[test]
fn a_late_acknowledgement_begins_no_life() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for psn in 0..40 {
        tap.send(out, SEND_ONLY, psn).ack(back, psn, psn + 1);
    }
    tap.wait(5_000_000_000);
    tap.send(out, SEND_ONLY, 39).ack(back, 38, 39).ack(back, 39, 40);
    let seen = tap.finish();
    assert_eq!((seen.flows.len(), seen.flows[0].requests.seen_again), (2, 1));
}

#[test]
fn what_waits_for_an_answer_that_never_comes_is_a_repeat() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for psn in 0..40 {
        tap.send(out, SEND_ONLY, psn).ack(back, psn, psn + 1);
    }
    for _ in 0..7 {
        tap.wait(500_000_000).send(out, SEND_ONLY, 39);
    }
    let seen = tap.finish();
    assert_eq!((seen.flows.len(), seen.flows[0].packets, seen.flows[0].requests.seen_again), (2, 47, 7));
}

#[test]
fn a_read_that_is_asked_for_again_begins_no_life() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    let response =
        |psn: u32, msn: u32| Facts { aeth: Aeth::new(Syndrome::Ack(31), msn), ..Tap::facts(back, READ_ONLY, psn) };
    for psn in 0..10 {
        tap.read(out, psn, 1024).facts_at(back, response(psn, psn + 1));
    }
    tap.wait(100_000_000).read(out, 0, 1024).facts_at(back, response(0, 10));
    let seen = tap.finish();
    assert_eq!((seen.flows.len(), seen.flows[0].requests.seen_again), (2, 1));
}

#[test]
fn unreliable_messages_are_never_sent_again() {
    let (out, _) = connection();
    let uc = |psn: u32| Facts { psn: Psn::new(psn), ..Tap::facts(out, 0x24, psn) };
    let mut tap = Tap::default();
    for _ in 0..2 {
        for psn in 500..540 {
            tap.facts_at(out, uc(psn));
        }
        tap.wait(1_000_000_000);
    }
    let seen = tap.finish();
    assert_eq!(seen.flows.iter().map(|f| (f.transport, f.requests.seen_again)).collect::<Vec<_>>(), [("UC", 0); 2]);
    // A network that delays and doubles is not that slow.
    let mut tap = Tap::default();
    for psn in (0..10).chain(11..20).chain([10, 19]) {
        tap.facts_at(out, uc(psn));
    }
    let seen = tap.finish();
    assert_eq!((seen.flows.len(), seen.flows[0].requests.seen_again, seen.flows[0].requests.behind), (1, 1, 2));
}

#[test]
fn psns_that_came_round_are_others() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    // The MTU shows, and all PSNs are taken once.
    tap.send(out, WRITE_FIRST, 0).send(out, WRITE_LAST, 1).ack(back, 1, 1);
    let last = |psn: u32| Facts { aeth: Aeth::new(Syndrome::Ack(31), 2), ..Tap::facts(back, READ_ONLY, psn) };
    tap.read(out, 2, 1022 * 1024).facts_at(back, last(1023));
    for psn in (1024..1 << 24).step_by(1024) {
        tap.read(out, psn, 1 << 20).facts_at(back, last(psn + 1023));
    }
    tap.send(out, WRITE_ONLY, 0).wait(500_000_000).send(out, WRITE_ONLY, 0).ack(back, 0, 3);
    let seen = tap.finish();
    assert_eq!((seen.flows.len(), seen.flows[0].requests.seen_again), (2, 1));
}

#[test]
fn a_life_as_short_as_the_one_before_begins_ahead_of_it() {
    // One message each: the MSN of both answers is 1.
    let seen = lives(&[411_900, 413_800], 1, 1);
    assert_eq!(seen.flows.iter().map(|f| f.epoch).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert!(seen.flows.iter().all(|f| f.requests.gaps == 0 && f.requests.never_seen == 0));
}

/// Messages of one packet from `psn` on, each answered at once, with the MSN counted from 1.
fn answered(tap: &mut Tap, (out, back): (Way, Way), psn: u32, count: u32) {
    for n in 0..count {
        tap.send(out, SEND_ONLY, psn + n).ack(back, psn + n, n + 1);
    }
}

fn epochs(seen: &Seen) -> Vec<u32> {
    seen.flows.iter().map(|f| f.epoch).collect()
}

/// Nothing is told that a clean capture does not have.
fn clean(seen: &Seen, why: &str) {
    for flow in &seen.flows {
        let r = &flow.requests;
        assert_eq!((r.seen_again, r.behind, r.gaps), (0, 0, 0), "{why}");
        let timeouts = flow.story.as_ref().map_or(0, |s| s.timeouts);
        assert_eq!((flow.responses.seen_again, timeouts), (0, 0), "{why}");
    }
    assert!(seen.codes(Severity::Warning).is_empty(), "{why}: {:?}", seen.findings);
}

#[test]
fn a_life_of_one_message_is_followed_from_behind() {
    let ways = connection();
    let mut tap = Tap::default();
    answered(&mut tap, ways, 100, 1);
    tap.wait(1_000_000_000);
    answered(&mut tap, ways, 50, 40);
    let seen = tap.finish();
    assert_eq!(epochs(&seen), [0, 0, 1, 1]);
    clean(&seen, "one message");
}

#[test]
fn a_read_of_another_length_is_another_read() {
    let (out, back) = connection();
    for (before, after) in [(2, 4), (4, 2)] {
        let mut tap = Tap::default();
        for packets in [before, after] {
            tap.read(out, 500, packets * 1024);
            for n in 0..packets {
                let opcode = if n == 0 {
                    READ_FIRST
                } else if n + 1 == packets {
                    READ_LAST
                } else {
                    READ_MIDDLE
                };
                let aeth = Aeth::new(Syndrome::Ack(31), 1);
                tap.facts_at(back, Facts { aeth, ..Tap::facts(back, opcode, 500 + n) });
            }
            tap.wait(500_000_000);
        }
        let seen = tap.finish();
        assert_eq!(epochs(&seen), [0, 0, 1, 1], "{before} {after}");
        clean(&seen, "another length");
    }
}

#[test]
fn the_other_directions_answers_tell_too() {
    // What 1 asks fits both lives; of what 2 asks, the second life answers one message where the first had answered 3.
    let (out, back) = connection();
    let mut tap = Tap::default();
    for theirs in [3, 1] {
        tap.send(out, SEND_ONLY, 700);
        answered(&mut tap, (back, out), 9_000, theirs);
        tap.ack(back, 700, 1).wait(4_000_000_000);
    }
    let seen = tap.finish();
    assert_eq!(epochs(&seen), [0, 0, 1, 1]);
    clean(&seen, "both directions");
    // The same where the answer that fits both comes first.
    let mut tap = Tap::default();
    for _ in 0..2 {
        tap.send(back, SEND_ONLY, 9_000).send(out, SEND_ONLY, 700).ack(out, 9_000, 1).ack(back, 700, 1);
        for n in 1..20 {
            tap.send(out, SEND_ONLY, 700 + n).ack(back, 700 + n, n + 1);
        }
        tap.wait(500_000_000);
    }
    let seen = tap.finish();
    assert_eq!(epochs(&seen), [0, 0, 1, 1]);
    clean(&seen, "the other one later");
    // And where the only answer that went the other way came before anybody knew whose it was.
    let (out, back) = (Way { sport: 50_001, ..out }, Way { sport: 50_009, ..back });
    let mut tap = Tap::default();
    for theirs in [30, 1] {
        tap.send(out, SEND_ONLY, 700_000).ack(back, 700_000, 1);
        answered(&mut tap, (back, out), 9_000_000, theirs);
        tap.wait(4_000_000_000);
    }
    let seen = tap.finish();
    assert_eq!(epochs(&seen), [0, 0, 1, 1]);
    clean(&seen, "an answer that nobody knew");
}

/// The same connection, from another source port.
fn from_port(sport: u16) -> (Way, Way) {
    let (out, back) = connection();
    (Way { sport, ..out }, Way { sport, ..back })
}

#[test]
fn another_port_tells_two_lives_apart_that_fit() {
    let ports = [connection(), from_port(50_001)];
    let mut tap = Tap::default();
    for ways in ports {
        answered(&mut tap, ways, 100, 1);
        tap.wait(500_000_000);
    }
    let seen = tap.finish();
    assert_eq!(epochs(&seen), [0, 0, 1, 1]);
    clean(&seen, "another port");
    // Nor does the end of the capture leave anything but the port to go by.
    let mut tap = Tap::default();
    answered(&mut tap, ports[0], 100, 3);
    tap.wait(500_000_000).send(ports[1].0, SEND_ONLY, 102);
    clean(&tap.finish(), "no answer");
}

#[test]
fn a_queue_pair_that_is_moved_to_another_path_goes_on() {
    let (out, back) = connection();
    let (moved, _) = from_port(50_001);
    let mut tap = Tap::default();
    answered(&mut tap, (out, back), 0, 40);
    tap.wait(500_000_000);
    for psn in 30..40 {
        tap.send(moved, SEND_ONLY, psn);
    }
    tap.ack(back, 39, 40);
    let seen = tap.finish();
    assert_eq!((seen.flows.len(), seen.flows[0].requests.seen_again), (2, 10));
    assert_eq!(seen.flows[0].story.as_ref().unwrap().retransmissions.by_cause.timeout, 10);
}

#[test]
fn another_port_is_enough_where_no_answer_is_known() {
    let mut tap = Tap::default();
    // From one end of a life to the beginning of the next, and one that begins ahead of it.
    for (port, psn) in [(50_001, 108), (50_002, 100), (50_003, 300)] {
        for n in 0..4 {
            tap.send(from_port(port).0, SEND_ONLY, psn + n);
        }
        tap.wait(20_000_000);
    }
    let seen = tap.finish();
    assert_eq!(epochs(&seen), [0, 1, 2]);
    clean(&seen, "one direction");
}

#[test]
fn another_port_is_no_proof_where_the_latest_requests_come_again() {
    // As after a timeout, on a path chosen anew: of one direction, where no answer tells.
    let told = |back: u32, size: u32| {
        let (out, moved) = (from_port(50_001).0, from_port(50_002).0);
        let mut tap = Tap::default();
        sends(&mut tap, out, 1_000..1_200);
        tap.wait(67_000_000);
        for psn in 1_200 - back..1_240 {
            tap.facts_at(moved, Facts { payload: size, ..Tap::facts(moved, SEND_ONLY, psn) });
        }
        let seen = tap.finish();
        seen.flows.iter().map(|f| (f.epoch, f.requests.seen_again)).collect::<Vec<_>>()
    };
    assert_eq!(told(1, 1024), [(0, 1)]);
    assert_eq!(told(8, 1024), [(0, 8)]);
    // Other requests; and another life, from its first PSN on.
    assert_eq!(told(1, 64), [(0, 0), (1, 0)]);
    assert_eq!(told(200, 1024), [(0, 0), (1, 0)]);
}

#[test]
fn what_begins_before_all_that_was_seen_was_never_sent_there() {
    let ways = connection();
    let mut tap = Tap::default();
    answered(&mut tap, ways, 100, 3);
    tap.wait(20_000_000).send(ways.0, SEND_ONLY, 50).send(ways.0, SEND_ONLY, 51);
    let seen = tap.finish();
    assert_eq!(epochs(&seen), [0, 0, 1]);
    clean(&seen, "the capture ends");
}

#[test]
fn before_the_answers_are_known_to_be_answers_no_timer_ran_out() {
    // Two ports that tell nothing: the directions are known to belong together only with the second life.
    let (out, back) = connection();
    let (out, back) = (Way { sport: 50_001, ..out }, Way { sport: 50_009, ..back });
    let mut tap = Tap::default();
    tap.send(out, SEND_ONLY, 108).ack(back, 108, 9).wait(20_000_000);
    answered(&mut tap, (out, back), 100, 60);
    let seen = tap.finish();
    let timeouts: Vec<u64> = seen.flows.iter().filter_map(|f| Some(f.story.as_ref()?.timeouts)).collect();
    assert!(timeouts.iter().all(|&n| n == 0), "{timeouts:?}");
    assert!(seen.codes(Severity::Warning).is_empty(), "{:?}", seen.findings);
}

#[test]
fn a_damaged_frame_tells_nothing_of_lives() {
    // The answer to a repeat is lost, and the next message of four packets raises the MSN by one. A middle packet of
    // it came as another one: the end of a message, or a request that had other PSNs.
    let told = |damaged: Option<(u8, u32)>| {
        let (out, back) = connection();
        let mut tap = Tap::default();
        answered(&mut tap, (out, back), 1_000, 40);
        tap.wait(100_000_000).send(out, SEND_ONLY, 1_039).send(out, WRITE_FIRST, 1_040);
        if let Some((opcode, psn)) = damaged {
            tap.packet(out, Tap::facts(out, opcode, psn), Icrc::Bad);
        }
        tap.send(out, WRITE_MIDDLE, 1_041).send(out, WRITE_LAST, 1_042).ack(back, 1_042, 41);
        let seen = tap.finish();
        (epochs(&seen), seen.flows[0].requests.seen_again, seen.flows[0].story.as_ref().map(|s| s.timeouts))
    };
    assert_eq!(told(None), (vec![0, 0], 1, Some(1)));
    for damaged in [(SEND_LAST, 1_041), (SEND_ONLY, 1_041), (READ_REQ, 1_038)] {
        assert_eq!(told(Some(damaged)), told(None), "{damaged:?}");
    }
}
