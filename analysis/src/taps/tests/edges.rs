//! Captures that begin or end in the midst of what a sender sends again.

use super::{BEGIN, Lab, ack, request};
use crate::taps::TapReport;

/// Sent, received, lost and apart.
fn figures(row: &TapReport) -> (u64, u64, Option<u64>, u64) {
    (row.sent, row.received, row.lost, row.outside)
}

/// Forty packets sent twice, 182 us apart, and a hundred once; tap 1 sees what `shows` lets through.
fn sent_twice(shows: impl Fn(u64) -> bool) -> Lab {
    let mut lab = Lab::new();
    let first = (0..40).map(|n| request(n, u64::from(n) * 2));
    let second = (0..40).map(|n| request(n, 182 + u64::from(n) * 2));
    let rest = (40..140).map(|n| request(n, 600 + u64::from(n) * 2));
    for sent in first.chain(second).chain(rest) {
        lab.seen(0, sent, 0);
        if shows((sent.at - BEGIN) / 1_000) {
            lab.seen(1, sent, 0);
        }
    }
    lab
}

#[test]
fn what_passed_before_a_capture_began_is_not_lost() {
    // Both copies of 40, of which the second tap was there for the second; and one of them later.
    assert_eq!(figures(&sent_twice(|us| us >= 160).row()), (140, 140, Some(0), 40));
    assert_eq!(figures(&sent_twice(|us| us >= 160 && us != 700).row()), (140, 139, Some(1), 40));
    assert_eq!(figures(&sent_twice(|us| us >= 70).row()), (145, 145, Some(0), 35));
}

#[test]
fn what_passed_after_a_capture_ended_is_not_lost() {
    let mut lab = Lab::new();
    for n in 0..100 {
        lab.both(request(n, u64::from(n) * 2));
    }
    for n in 100..140 {
        lab.both(request(n, u64::from(n) * 2));
    }
    for n in 100..140 {
        lab.seen(0, request(n, 500 + u64::from(n) * 2), 0);
    }
    assert_eq!(figures(&lab.row()), (140, 140, Some(0), 40));
}

#[test]
fn without_a_packet_that_leaves_no_doubt_the_order_tells() {
    // Everything was sent twice, and the second tap saw one of each: the clocks tell nothing.
    let mut lab = Lab::new();
    for n in 0..40 {
        lab.seen(0, request(n, u64::from(n) * 2), 0);
    }
    for n in 0..40 {
        lab.both(request(n, 182 + u64::from(n) * 2));
    }
    let row = lab.row();
    assert_eq!(figures(&row), (40, 40, Some(0), 40));
    assert_eq!((row.clock_offset_ns, row.queueing_ns.count), (None, 0));
}

#[test]
fn another_flow_of_the_direction_tells_where_one_cannot() {
    // The same, and another queue pair whose packets come once.
    let mut lab = Lab::new();
    let other = |n: u32, us| {
        let mut sent = request(n, us);
        sent.facts.dst_qp = rocetop_parsers::Qpn(9);
        sent
    };
    for n in 0..40u32 {
        lab.seen(0, request(n, u64::from(n) * 2), 0);
    }
    for n in 0..40u32 {
        lab.both(other(n, 180 + u64::from(n) * 2));
        // The third of the second copies is lost.
        let again = request(n, 182 + u64::from(n) * 2);
        lab.seen(0, again, 0);
        if n != 2 {
            lab.seen(1, again, 0);
        }
    }
    lab.all([ack(39, 300)]);
    let [row, _] = lab.rows().map(Option::unwrap);
    // Of that one neither copy went through.
    assert_eq!(figures(&row), (80, 79, Some(1), 40));
    assert_eq!(row.queueing_ns.count, 40);
}

#[test]
fn a_capture_shorter_than_what_tells_doubles_is_judged_to_its_end() {
    let mut lab = Lab::new();
    for n in 0..80 {
        lab.both(request(n, u64::from(n) * 5));
    }
    for n in 0..60 {
        let answer = ack(n, 100 + u64::from(n) * 3);
        lab.seen(1, answer, 0);
        // The last two answers do not get through, and requests go on behind them.
        if n < 58 {
            lab.seen(0, answer, 0);
        }
    }
    let [there, back] = lab.rows().map(Option::unwrap);
    assert_eq!([figures(&there), figures(&back)], [(80, 80, Some(0), 0), (60, 58, Some(2), 0)]);
}

#[test]
fn where_a_capture_began_amid_traffic_its_first_moments_are_not_judged() {
    let mut lab = Lab::new();
    for n in 0..40 {
        lab.seen(0, request(n, u64::from(n) * 2), 0);
    }
    // The second capture begins with an answer. 38 and 39 may have been there a little sooner than others.
    lab.both(ack(0, 105));
    for n in 40..100 {
        lab.both(request(n, u64::from(n) * 2));
    }
    let [there, _] = lab.rows().map(Option::unwrap);
    assert_eq!(figures(&there), (60, 60, Some(0), 40));
}

#[test]
fn impossible_stamps_break_nothing() {
    let mut matcher = crate::taps::Matcher::new(2, 8);
    for (tap, at) in [(0, 0), (1, u64::MAX), (0, u64::MAX), (1, 0), (0, 1 << 63), (1, 1)] {
        for psn in 0..40 {
            let packet =
                crate::Packet { at: rocetop_parsers::Nanos(at), facts: request(psn, 0).facts, ..Default::default() };
            matcher.packet(tap, &packet);
        }
    }
    let between = matcher.finish(&["a".to_owned(), "b".to_owned()]);
    assert_eq!(between.rows.iter().map(|row| row.received).sum::<u64>(), 120);
}
