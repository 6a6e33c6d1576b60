//! What the engine makes of small hand-made captures: PSN spaces, epochs, bounds.

use crate::kit::*;
use rocetop_analysis::{Config, Grade};
use rocetop_parsers::icrc::Icrc;

#[test]
fn go_back_n_at_the_requester_is_repeats_without_a_gap() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for psn in 100..108 {
        tap.send(out, WRITE_ONLY, psn);
    }
    tap.nak(back, 103, 3);
    for psn in 103..108 {
        tap.send(out, WRITE_ONLY, psn);
    }
    tap.ack(back, 107, 8);
    let seen = tap.finish();
    let r = &seen.flows[0].requests;
    assert_eq!((r.packets, r.seen_again, r.behind, r.filled, r.gaps, r.messages), (13, 5, 5, 0, 0, 8));
    assert_eq!(r.message_bytes, 8 * 1024);
    assert_eq!((r.first_psn, r.next_psn), (Some(100), Some(108)));
    assert_eq!(seen.flows[1].naks.psn_sequence_error, 1);
    assert_eq!(seen.connections[0].paired_by, Grade::PortHash);
}

#[test]
fn go_back_n_at_the_responder_is_gap_and_fill() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for psn in [100, 101, 104, 105] {
        tap.send(out, WRITE_ONLY, psn);
    }
    tap.nak(back, 102, 2);
    for psn in 102..107 {
        tap.send(out, WRITE_ONLY, psn);
    }
    let r = tap.finish().flows[0].requests;
    assert_eq!((r.gaps, r.gap_psns, r.behind, r.filled, r.seen_again, r.never_seen), (1, 2, 4, 2, 2, 0));
    assert_eq!(r.messages, 7);
}

#[test]
fn the_psn_wraps() {
    let (out, _) = connection();
    let mut tap = Tap::default();
    for n in 0..10 {
        tap.send(out, WRITE_ONLY, (0xff_fffa + n) & 0xff_ffff);
    }
    let r = tap.finish().flows[0].requests;
    assert_eq!((r.gaps, r.behind, r.next_psn), (0, 0, Some(4)));
}

#[test]
fn a_clean_read_among_writes_has_no_gap_in_either_space() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    tap.send(out, WRITE_FIRST, 5).send(out, WRITE_LAST, 6).ack(back, 6, 1);
    tap.read(out, 7, 4096).send(out, WRITE_ONLY, 11).read(out, 12, 1000).read(out, 13, 3000);
    tap.send(back, READ_FIRST, 7).send(back, READ_MIDDLE, 8).send(back, READ_MIDDLE, 9).send(back, READ_LAST, 10);
    tap.ack(back, 11, 3).send(back, READ_ONLY, 12);
    tap.send(back, READ_FIRST, 13).send(back, READ_MIDDLE, 14).send(back, READ_LAST, 15);
    // The peer's own requests arrive at the same QP number, in a PSN space of their own.
    tap.send(back, SEND_ONLY, 0x70_0000).send(back, SEND_ONLY, 0x70_0001);
    let seen = tap.finish();
    assert_eq!(seen.flows.len(), 2);
    for flow in &seen.flows {
        let (q, p) = (&flow.requests, &flow.responses);
        assert_eq!((q.gaps, q.behind, q.seen_again, p.gaps, p.seen_again), (0, 0, 0, 0, 0));
    }
    assert_eq!(seen.flows[0].requests.next_psn, Some(16));
    assert_eq!(seen.flows[1].responses.packets, 8);
    assert_eq!(seen.flows[0].mtu, Some(1024));
}

#[test]
fn a_read_asked_for_again_from_its_middle_is_one_message() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    tap.read(out, 100, 8192);
    tap.send(back, READ_FIRST, 100).send(back, READ_MIDDLE, 101).send(back, READ_MIDDLE, 104);
    tap.read(out, 102, 6144);
    for (opcode, psn) in [(READ_FIRST, 102), (READ_MIDDLE, 103), (READ_MIDDLE, 104), (READ_LAST, 107)] {
        tap.send(back, opcode, psn);
    }
    let seen = tap.finish();
    let (q, p) = (&seen.flows[0].requests, &seen.flows[1].responses);
    assert_eq!((q.packets, q.messages, q.behind, q.seen_again, q.gaps, q.never_seen), (2, 1, 1, 0, 0, 0));
    assert_eq!(q.message_bytes, 8192);
    assert_eq!((p.gaps, p.gap_psns, p.seen_again), (2, 4, 1));
}

#[test]
fn a_new_life_of_a_qp_number_is_an_epoch_and_no_gap() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for psn in 10..20 {
        tap.send(out, WRITE_ONLY, psn).ack(back, psn, psn - 9);
    }
    for psn in 0x60_0000..0x60_0005 {
        tap.send(out, WRITE_ONLY, psn).ack(back, psn, psn - 0x5f_ffff);
    }
    let seen = tap.finish();
    assert_eq!(seen.flows.iter().map(|f| f.epoch).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert!(seen.flows.iter().all(|f| f.requests.gaps == 0 && f.requests.behind == 0));
    assert_eq!(seen.connections.iter().map(|c| c.flows.clone()).collect::<Vec<_>>(), [[0, 1], [2, 3]]);
    assert!(seen.connections.iter().all(|c| c.paired_by == Grade::PortHash));
}

#[test]
fn a_qp_number_that_starts_over_at_its_first_psn_is_an_epoch() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for _ in 0..2 {
        for psn in 0..200 {
            tap.send(out, WRITE_ONLY, psn).ack(back, psn, psn + 1);
        }
    }
    let seen = tap.finish();
    assert_eq!(seen.flows.len(), 4);
    assert!(seen.flows.iter().all(|f| f.requests.seen_again == 0));
}

#[test]
fn going_back_to_the_first_psn_after_a_lost_ack_is_a_repeat() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for _ in 0..2 {
        for psn in 0..8 {
            tap.send(out, WRITE_ONLY, psn);
        }
        tap.ack(back, 7, 8);
    }
    let seen = tap.finish();
    assert_eq!((seen.flows.len(), seen.flows[0].requests.seen_again), (2, 8));
}

#[test]
fn another_transport_is_another_life() {
    let (out, _) = connection();
    let mut tap = Tap::default();
    tap.send(out, WRITE_ONLY, 1).send(out, 0x2a, 900).send(out, CNP, 0);
    let seen = tap.finish();
    assert_eq!(seen.flows.iter().map(|f| (f.transport, f.epoch)).collect::<Vec<_>>(), [("RC", 0), ("UC", 1)]);
    assert_eq!(seen.flows[1].cnps, 1);
}

#[test]
fn notifications_come_before_and_after() {
    let (out, _) = connection();
    let mut tap = Tap::default();
    tap.send(out, CNP, 0).send(out, WRITE_ONLY, 5).send(out, CNP, 0);
    let seen = tap.finish();
    assert_eq!((seen.flows.len(), seen.flows[0].transport, seen.flows[0].cnps), (1, "RC", 2));
    assert_eq!(seen.totals.cnp, 2);
}

#[test]
fn damaged_frames_tell_nothing() {
    let (out, _) = connection();
    let mut tap = Tap::default();
    tap.send(out, WRITE_ONLY, 5);
    tap.packet(out, Tap::facts(out, WRITE_ONLY, 77), Icrc::Bad);
    let ghost = way(1, 2, 0x13_0013, 9);
    tap.packet(ghost, Tap::facts(ghost, WRITE_ONLY, 6), Icrc::Bad);
    tap.send(out, WRITE_ONLY, 6);
    let seen = tap.finish();
    assert_eq!((seen.flows.len(), seen.flows[0].packets, seen.flows[0].icrc_bad), (1, 2, 1));
    assert_eq!((seen.flows[0].requests.gaps, seen.totals.icrc.bad), (0, 2));
}

#[test]
fn a_flood_makes_room_and_the_sums_stay() {
    let mut tap = Tap::with(Config { most_flows: 64 * 16, ..Config::default() });
    for n in 0..10_000 {
        tap.send(way(1, 2, n, 5), WRITE_ONLY, 1);
    }
    let seen = tap.finish();
    let kept: u64 = seen.flows.iter().map(|f| f.packets).sum();
    assert!(seen.flows.len() <= 16);
    assert_eq!(kept + seen.totals.evicted.packets, 10_000);
    assert_eq!(seen.totals.frames, 10_000);
}

#[test]
fn a_busy_flow_outlives_a_flood() {
    let (out, _) = connection();
    let mut tap = Tap::with(Config { most_flows: 64 * 16, ..Config::default() });
    for n in 0..2_000 {
        tap.send(out, WRITE_ONLY, n).send(way(1, 2, 0x1_0000 + n, 5), WRITE_ONLY, 1);
    }
    let seen = tap.finish();
    assert_eq!(seen.flows[0].packets, 2_000);
}

#[test]
fn idle_flows_are_aged_out_by_option() {
    let mut tap = Tap::with(Config { idle: Some(rocetop_parsers::Nanos(1_000_000_000)), ..Config::default() });
    for n in 0..100 {
        tap.send(way(1, 2, n, 5), WRITE_ONLY, 1).wait(100_000_000);
    }
    let seen = tap.finish();
    assert!(seen.flows.len() < 40, "{} are left", seen.flows.len());
    assert_eq!(seen.flows.len() as u64 + seen.totals.aged_out.flows, 100);
}

#[test]
fn unknown_opcodes_are_kept_as_such() {
    let (out, _) = connection();
    let mut tap = Tap::default();
    tap.send(out, WRITE_ONLY, 1).send(out, 0xdf, 0x123456).send(out, WRITE_ONLY, 2);
    let seen = tap.finish();
    assert_eq!((seen.flows.len(), seen.flows[0].packets, seen.flows[0].requests.gaps), (1, 3, 0));
    let names: Vec<String> = seen.totals.opcodes.iter().map(|(o, _)| o.to_string()).collect();
    assert_eq!(names, ["RC_WRITE_ONLY", "T6_31"]);
}

#[test]
fn a_read_asked_for_again_does_not_await_the_writes_behind_it() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    tap.send(out, WRITE_FIRST, 1).send(out, WRITE_LAST, 2).read(out, 3, 2048);
    for psn in 5..50 {
        tap.send(out, WRITE_ONLY, psn);
    }
    tap.read(out, 50, 2048).read(out, 3, 2048);
    tap.send(back, READ_FIRST, 3).send(back, READ_LAST, 4);
    tap.ack(back, 49, 47).send(back, READ_FIRST, 50).send(back, READ_LAST, 51);
    let seen = tap.finish();
    assert_eq!((seen.flows[1].responses.gaps, seen.flows[1].responses.seen_again), (0, 0));
    assert_eq!(seen.flows[0].requests.seen_again, 1);
}

#[test]
fn forgotten_holes_are_no_repeats() {
    let (out, _) = connection();
    let mut tap = Tap::default();
    for psn in (0..3000).filter(|n| n % 3 != 1) {
        tap.send(out, WRITE_ONLY, psn);
    }
    for psn in (0..3000).filter(|n| n % 3 == 1) {
        tap.send(out, WRITE_ONLY, psn);
    }
    let r = tap.finish().flows[0].requests;
    assert_eq!((r.seen_again, r.filled, r.never_seen, r.messages), (0, 1000, 0, 3000));
}

#[test]
fn a_capture_that_misses_one_in_ten_of_a_large_window_lost_nothing() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    // A few answers show that the capture holds the flow from here on.
    for psn in 0..4 {
        tap.send(out, WRITE_ONLY, psn).ack(back, psn, psn + 1);
    }
    let mut missed = 0;
    for window in 0..5 {
        let first = 4 + window * 4000;
        for psn in first..first + 4000 {
            if psn % 10 == 7 {
                missed += 1;
            } else {
                tap.send(out, WRITE_ONLY, psn);
            }
        }
        // The last answer is missing, too.
        if window != 4 {
            tap.ack(back, first + 3999, first + 4000);
        }
    }
    let seen = tap.finish();
    let story = seen.flows[0].story.as_ref().unwrap();
    assert_eq!((story.missed_by_capture, story.lost_or_late, story.lost_before_tap), (missed, 0, 0));
}

#[test]
fn of_too_many_holes_nothing_is_certain_once_one_is_asked_for() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for psn in (0..2000).filter(|psn| psn % 10 != 7) {
        tap.send(out, WRITE_ONLY, psn);
    }
    tap.nak(back, 7, 7);
    for psn in 7..2000 {
        tap.send(out, WRITE_ONLY, psn);
    }
    tap.ack(back, 1999, 2000);
    let seen = tap.finish();
    let story = seen.flows[0].story.as_ref().unwrap();
    assert_eq!((story.missed_by_capture, story.lost_before_tap + story.lost_or_late), (0, 200));
}
