//! What the comparison tells about a single flow.

use super::super::{Beside, Place, Told};
use super::*;
use crate::report::{FlowReport, FrameRef};

fn flow(src: Addr, dst: Addr, epoch: u32) -> FlowReport {
    let (src, dst) = (src.to_string(), dst.to_string());
    FlowReport { src, dst, dst_qp: 7, class: "rocev2", epoch, ..FlowReport::default() }
}

/// What tap `tap` is told about A's requests.
fn told(between: &Between, tap: usize) -> Option<Told> {
    Beside::of(between, tap, std::iter::empty()).told(&flow(A, B, 0), Some(&flow(B, A, 0)))
}

/// Requests of which 3, 4 and 8 get lost, and an answer too.
fn lossy() -> Lab {
    let mut lab = Lab::new();
    lab.all([request(1, 0), request(2, 1)]);
    lab.seen(0, request(3, 2), 0);
    lab.seen(0, request(4, 3), 0);
    lab.all([request(5, 4), request(3, 200), request(4, 201), request(5, 202), request(6, 203)]);
    lab.seen(1, ack(6, 300), 0);
    lab.both(request(7, 400));
    lab.seen(0, request(8, 401), 0);
    lab.all([request(9, 402), request(8, 600), request(9, 601), request(10, 602)]);
    lab.both(ack(10, 700));
    lab
}

#[test]
fn of_a_flow_what_was_lost_and_where() {
    let between = lossy().between();
    let place = |from: &str, to: &str, lost| vec![Place { from: from.into(), to: to.into(), lost }];
    let first = told(&between, 0).unwrap();
    assert_eq!((first.requests, first.answers, first.before, first.behind), (3, Some(1), false, true));
    assert_eq!((&first.places, &first.places_back), (&place("a", "b", 3), &place("b", "a", 1)));
    assert_eq!(first.first, ["a:3", "a:4", "a:11"].map(|frame| FrameRef::In(frame.into())));
    assert_eq!(first.lost_ns, Some([BEGIN + 2_000, BEGIN + 401_000]));
    let outage = first.outage.unwrap();
    assert_eq!((outage.packets, outage.lasted()), (2, Some(3_000)));
    assert!(first.covered.is_none());
    // At the second tap the same counts, but no frames of its own.
    let second = told(&between, 1).unwrap();
    assert_eq!((second.requests, second.before, second.behind), (3, true, false));
    assert!(second.first.is_empty() && second.outage.is_none());
}

#[test]
fn of_a_reused_number_nobody_knows_whose_losses_they_are() {
    let between = lossy().between();
    let beside = Beside::of(&between, 0, std::iter::once(flow(A, B, 1)));
    assert_eq!(beside.told(&flow(A, B, 0), None), None);
    // Another queue pair was seen by no two taps.
    let other = FlowReport { dst_qp: 8, ..flow(A, B, 0) };
    assert_eq!(beside.told(&other, None), None);
}

#[test]
fn two_captures_of_one_place_prove_nothing_about_the_rest_of_the_path() {
    let mut lab = Lab::new();
    lab.hops = 0;
    lab.all((0..100).map(|n| request(n, n.into())));
    let told = told(&lab.between(), 0).unwrap();
    assert_eq!((told.requests, told.before, told.behind, told.answers), (0, false, false, None));
}

#[test]
fn what_the_other_capture_does_not_cover_is_not_settled() {
    let mut lab = Lab::new();
    // The second capture begins half a second later, in the midst of the traffic.
    for n in 0..100u32 {
        lab.seen(0, request(n, u64::from(n) * 10_000), 0);
        if n >= 50 {
            lab.seen(1, request(n, u64::from(n) * 10_000), 0);
        }
    }
    let told = told(&lab.between(), 0).unwrap();
    assert_eq!(told.requests, 0);
    assert!(!told.is_whole() && !told.covers(BEGIN, BEGIN + 1_000));
    assert!(told.covers(BEGIN + 500_000_000, BEGIN + 990_000_000));
}

#[test]
fn of_three_taps_a_loss_is_told_by_the_one_right_before_it() {
    // From A's end over a switch to B's end: 3 is lost on the first link, 7 on the second.
    let mut matcher = Matcher::new(3, 1 << 20);
    let mut places = [0; 3];
    for n in 0..20u32 {
        for tap in 0..3u64 {
            if n == 3 && tap >= 1 || n == 7 && tap == 2 {
                continue;
            }
            places[tap as usize] += 1;
            let frame = FrameNo::new(tap as u16, places[tap as usize]);
            let at = Nanos(BEGIN + u64::from(n) * 10_000 + tap * WAY);
            // The second link marks one and damages another.
            let tos = if (n, tap) == (9, 2) { 3 } else { 2 };
            let icrc = if (n, tap) == (11, 2) { Icrc::Bad } else { Icrc::Ok };
            let facts = Facts { ttl: 64 - tap as u8, tos, ..request(n, 0).facts };
            matcher.packet(tap as usize, &Packet { frame, at, facts, icrc, ..Packet::default() });
        }
    }
    let between = matcher.finish(&["a", "b", "c"].map(str::to_owned));
    let rows = |tap| told(&between, tap).unwrap().rows.iter().map(|row| row.frame.clone()).collect::<Vec<_>>();
    let frames = |names: &[&str]| names.iter().map(|&name| FrameRef::In(name.into())).collect::<Vec<_>>();
    assert_eq!([rows(0), rows(1), rows(2)], [frames(&["a:4"]), frames(&["b:7"]), frames(&[])]);
    let first = told(&between, 0).unwrap();
    assert_eq!((first.requests, first.here, first.first), (2, 1, frames(&["a:4"])));
    let second = told(&between, 1).unwrap();
    let signs =
        [(first.marked, first.marked_anywhere, first.damaged), (second.marked, second.marked_anywhere, second.damaged)];
    assert_eq!(signs, [(0, 1, 0), (1, 1, 1)]);
}

#[test]
fn rows_beyond_those_that_are_kept_are_known_to_be_missing() {
    let mut lab = Lab::new();
    for n in 0..1_000u32 {
        let sent = request(n, u64::from(n) * 2_000);
        lab.seen(0, sent, 0);
        if n == 0 || n % 3 != 0 || n == 999 {
            lab.seen(1, sent, 0);
        }
    }
    let told = told(&lab.between(), 0).unwrap();
    // Every third one from 3 to 996, and the first 256 rows.
    assert_eq!((told.here, told.rows.len()), (332, 256));
    assert!(told.rows.iter().all(|row| row.packets == 1));
    assert_eq!(told.rows_until, Some(BEGIN + 257 * 3 * 2_000_000));
}
