//! The matcher on packets made by hand.

mod again;
mod edges;
mod go_back;
mod mirrors;
mod missed;
mod paths;
mod told;

use rocetop_parsers::facts::{Class, Flags};
use rocetop_parsers::ib::aeth::{Aeth, NakCode, Syndrome};
use rocetop_parsers::ib::opcode::{Opcode, Operation, Transport};
use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Addr, Facts, Nanos, Psn, Qpn};

use super::{Between, DirectionBy, Matcher, Meeting, TapReport};
use crate::event::{FrameNo, Packet};

const A: Addr = Addr::v4([10, 0, 0, 1]);
const B: Addr = Addr::v4([10, 0, 0, 2]);
/// One way between the taps.
const WAY: u64 = 30_000;
/// The second clock is so far ahead.
const AHEAD: u64 = 1_000_000;
const BEGIN: u64 = 1_000_000_000;

/// A packet at tap 0, which is near A, and what it looks like at tap 1, near B.
#[derive(Clone, Copy)]
struct Sent {
    facts: Facts,
    at: u64,
}

fn facts(src: Addr, dst: Addr, operation: Operation, psn: u32) -> Facts {
    let opcode = Opcode::of(Transport::Rc, operation);
    let class = Class::RoceV2;
    let (dst_qp, psn) = (Qpn(7), Psn::new(psn));
    Facts { src, dst, dst_qp, psn, opcode, class, ttl: 64, flags: Flags::EXTENDED, ..Facts::default() }
}

/// A request from A, `us` after the beginning.
fn request(psn: u32, us: u64) -> Sent {
    Sent { facts: facts(A, B, Operation::WRITE_MIDDLE, psn), at: BEGIN + us * 1000 }
}

fn ack(psn: u32, us: u64) -> Sent {
    let aeth = Aeth::new(Syndrome::Ack(31), 0);
    Sent { facts: Facts { aeth, ..facts(B, A, Operation::ACK, psn) }, at: BEGIN + us * 1000 }
}

/// Two taps being fed.
struct Lab {
    feed: Vec<(u64, usize, Packet)>,
    places: [u64; 2],
    hops: u8,
}

impl Lab {
    fn new() -> Self {
        Self { feed: Vec::new(), places: [0; 2], hops: 1 }
    }

    /// At one tap, `late` after the packet was there at the earliest.
    fn seen(&mut self, tap: usize, sent: Sent, late: u64) {
        let from_a = sent.facts.src == A;
        let far = tap == usize::from(from_a);
        let at = sent.at + if far { WAY } else { 0 } + late;
        self.places[tap] += 1;
        let ttl = sent.facts.ttl - if far { self.hops } else { 0 };
        let packet = Packet {
            frame: FrameNo::new(tap as u16, self.places[tap]),
            at: Nanos(at + if tap == 1 { AHEAD } else { 0 }),
            facts: Facts { ttl, ..sent.facts },
            ..Packet::default()
        };
        self.feed.push((at, tap, packet));
    }

    fn both(&mut self, sent: Sent) {
        self.seen(0, sent, 0);
        self.seen(1, sent, 0);
    }

    fn all(&mut self, sent: impl IntoIterator<Item = Sent>) {
        sent.into_iter().for_each(|sent| self.both(sent));
    }

    fn between(mut self) -> Between {
        // Tap by tap the order is that in which they were seen.
        self.feed.sort_by_key(|f| f.0);
        let mut matcher = Matcher::new(2, 1 << 20);
        for (_, tap, packet) in &self.feed {
            matcher.packet(*tap, packet);
        }
        matcher.finish(&["a".to_owned(), "b".to_owned()])
    }

    /// The rows of A's direction and of B's.
    fn rows(self) -> [Option<TapReport>; 2] {
        let between = self.between();
        [A, B].map(|src| between.rows.iter().find(|r| r.src == src.to_string()).cloned())
    }

    fn row(self) -> TapReport {
        let [row, _] = self.rows();
        row.unwrap()
    }
}

fn frames(row: &TapReport) -> Vec<String> {
    row.first_lost.iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_is_lost() {
    let mut lab = Lab::new();
    lab.all((0..100).map(|n| request(n, n.into())));
    lab.all((0..10).map(|n| ack(n * 10, 50 + u64::from(n) * 10)));
    let [there, back] = lab.rows().map(Option::unwrap);
    assert_eq!((there.from.as_str(), there.to.as_str(), back.from.as_str()), ("a", "b", "b"));
    assert_eq!((there.sent, there.received, there.lost, there.reordered), (100, 100, Some(0), 0));
    assert_eq!((back.sent, back.received, back.lost), (10, 10, Some(0)));
    assert_eq!((there.clock_offset_ns, there.clock_uncertainty_ns), (Some(1_000_000), Some(30_000)));
    assert_eq!((back.clock_offset_ns, back.clock_uncertainty_ns), (Some(-1_000_000), Some(30_000)));
    let owd = there.owd_ns.unwrap();
    assert_eq!((owd.count, owd.p50, owd.p99, owd.max), (100, 30_000, 30_000, 30_000));
    assert_eq!(there.queueing_ns.max, 0);
}

#[test]
fn of_two_copies_the_first_is_lost() {
    let mut lab = Lab::new();
    lab.all([request(1, 0), request(2, 1)]);
    lab.seen(0, request(3, 2), 0);
    // The rest and, after a NAK, all again from 3.
    lab.all([request(4, 3), request(5, 4), request(3, 200), request(4, 201), request(5, 202), request(6, 203)]);
    lab.all([ack(6, 300)]);
    let row = lab.row();
    assert_eq!((row.sent, row.received, row.lost, row.reordered), (9, 8, Some(1), 0));
    assert_eq!(frames(&row), ["a:3"]);
    assert_eq!(row.lost_by_kind.requests, 1);
    // The clock is not needed for the count, and the delay is that of the right copy.
    assert_eq!(row.owd_ns.unwrap().max, 30_000);
    assert!(row.outages.is_empty());
}

#[test]
fn of_two_copies_the_second_is_lost() {
    let mut lab = Lab::new();
    lab.all((1..=8).map(|n| request(n, n.into())));
    lab.all([request(5, 500), request(6, 501)]);
    lab.seen(0, request(7, 502), 0);
    lab.all([request(8, 503), request(9, 504)]);
    let row = lab.row();
    assert_eq!((row.sent, row.received, row.lost), (13, 12, Some(1)));
    assert_eq!(frames(&row), ["a:11"]);
}

#[test]
fn an_outage_has_four_ends() {
    let mut lab = Lab::new();
    lab.all((1..=8).map(|n| request(n, n.into())));
    // The window of 9 to 12 three times in vain, then it comes through.
    for time in [100, 1_100, 3_100] {
        (9..=12).for_each(|n| lab.seen(0, request(n, time + u64::from(n)), 0));
    }
    lab.all((9..=20).map(|n| request(n, 7_100 + u64::from(n))));
    let row = lab.row();
    assert_eq!((row.sent, row.received, row.lost), (32, 20, Some(12)));
    let [outage] = &row.outages[..] else { panic!("{row:?}") };
    assert_eq!((outage.packets, outage.dst_qp), (12, 7));
    let at = |us: u64| BEGIN + us * 1000;
    assert_eq!((outage.last_through_ns, outage.first_lost_ns), (Some(at(8)), at(109)));
    assert_eq!((outage.last_lost_ns, outage.first_through_ns), (at(3_112), Some(at(7_109))));
    let frames: Vec<String> = outage.frames.iter().map(ToString::to_string).collect();
    assert_eq!(frames, ["a:8", "a:9", "a:20", "a:21"]);
}

#[test]
fn late_is_not_lost() {
    let mut lab = Lab::new();
    for n in 0..50 {
        lab.seen(0, request(n, n.into()), 0);
        lab.seen(1, request(n, n.into()), if n % 10 == 3 { 5_500 } else { 0 });
    }
    let row = lab.row();
    assert_eq!((row.lost, row.reordered, row.received), (Some(0), 5, 50));
    assert_eq!(row.queueing_ns.max, 5_500);
}

#[test]
fn psns_wrap() {
    let mut lab = Lab::new();
    for n in 0..64u32 {
        let sent = request(0xff_ffe0u32.wrapping_add(n), n.into());
        lab.seen(0, sent, 0);
        if n != 32 && n != 40 {
            lab.seen(1, sent, 0);
        }
    }
    let row = lab.row();
    assert_eq!((row.lost, row.received), (Some(2), 62));
    assert_eq!(frames(&row), ["a:33", "a:41"]);
}

#[test]
fn answers_of_one_psn_are_told_apart() {
    let mut lab = Lab::new();
    lab.all([request(1, 0), request(2, 1)]);
    let answer = |syndrome, msn, us| {
        let sent = ack(2, us);
        Sent { facts: Facts { aeth: Aeth::new(syndrome, msn), ..sent.facts }, ..sent }
    };
    lab.both(answer(Syndrome::Ack(31), 1, 50));
    lab.seen(1, answer(Syndrome::Ack(31), 2, 51), 0);
    lab.both(answer(Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR), 2, 52));
    lab.seen(1, answer(Syndrome::RnrNak(12), 2, 53), 0);
    lab.both(answer(Syndrome::Ack(31), 3, 54));
    let [_, back] = lab.rows();
    let back = back.unwrap();
    assert_eq!((back.sent, back.lost, back.lost_by_kind.acks, back.lost_by_kind.naks), (5, Some(2), 1, 1));
    assert_eq!(frames(&back), ["b:4", "b:6"]);
}

#[test]
fn notifications_have_no_number() {
    let mut lab = Lab::new();
    lab.all([request(1, 0), ack(1, 5)]);
    for n in 0..20u64 {
        let facts = Facts { opcode: Opcode::CNP, flags: Flags::BECN, ..facts(B, A, Operation::ACK, 0) };
        let sent = Sent { facts, at: BEGIN + 50_000 * n };
        lab.seen(1, sent, 0);
        if n != 7 {
            lab.seen(0, sent, 0);
        }
    }
    let [_, back] = lab.rows();
    let back = back.unwrap();
    assert_eq!((back.lost, back.lost_by_kind.cnps), (Some(1), 1));
    assert_eq!(frames(&back), ["b:10"]);
}

#[test]
fn acknowledged_without_a_repeat_was_not_lost() {
    let mut lab = Lab::new();
    for n in 0..100 {
        lab.seen(0, request(n, n.into()), 0);
        if n % 10 != 4 {
            lab.seen(1, request(n, n.into()), 0);
        }
    }
    lab.both(ack(95, 200));
    let row = lab.row();
    assert_eq!((row.sent, row.received, row.missed, row.lost), (100, 90, 10, Some(0)));
    // The same at the first tap: what the second one saw had passed it.
    let mut lab = Lab::new();
    for n in 0..100 {
        lab.seen(1, request(n, n.into()), 0);
        if n % 10 != 4 {
            lab.seen(0, request(n, n.into()), 0);
        }
    }
    let row = lab.row();
    assert_eq!((row.sent, row.received, row.lost, row.appeared.requests), (90, 90, Some(0), 10));
}

#[test]
fn mirrors_and_doubles_are_no_losses() {
    // The first tap shows both ports of its switch, a VLAN apart, or each frame twice.
    for vlan in [5, 0] {
        let mut lab = Lab::new();
        for n in 0..40 {
            let sent = request(n, u64::from(n) * 10);
            lab.both(sent);
            lab.seen(0, Sent { facts: Facts { vlan, ..sent.facts }, ..sent }, 2_000);
        }
        lab.all([ack(39, 500)]);
        let row = lab.row();
        assert_eq!((row.sent, row.lost, row.mirror_copies), (40, Some(0), 40), "{vlan}");
    }
}

#[test]
fn a_sender_that_repeats_nearly_everything_at_once_is_no_mirror() {
    let mut lab = Lab::new();
    let mut lost = 0;
    // Every packet is sent two to four times, a few microseconds apart; only the last passes.
    lab.both(request(0, 0));
    for psn in 1..=300 {
        let sent = 2 + psn % 3;
        for n in 0..sent {
            let packet = request(psn, u64::from(psn * 40 + n * 8));
            lab.seen(0, packet, 0);
            if n + 1 == sent {
                lab.seen(1, packet, 0);
            } else {
                lost += 1;
            }
        }
    }
    assert_eq!(lab.row().lost, Some(lost));
}

#[test]
fn the_network_may_duplicate() {
    let mut lab = Lab::new();
    for n in 0..40 {
        lab.both(request(n, n.into()));
        if n == 20 {
            lab.seen(1, request(n, n.into()), 500);
        }
    }
    let row = lab.row();
    assert_eq!((row.sent, row.received, row.lost, row.duplicated), (40, 40, Some(0), 1));
}

#[test]
fn damaged_on_the_way_is_not_lost() {
    let mut lab = Lab::new();
    lab.all((0..20).map(|n| request(n, n.into())));
    let damage = |lab: &mut Lab| lab.feed.last_mut().unwrap().2.icrc = Icrc::Bad;
    lab.both(request(20, 20));
    damage(&mut lab);
    lab.seen(0, request(21, 21), 0);
    // Its PSN is hit.
    lab.seen(1, request(0x40_0021, 21), 0);
    damage(&mut lab);
    lab.all((22..30).map(|n| request(n, n.into())));
    let row = lab.row();
    assert_eq!((row.sent, row.received, row.lost, row.damaged), (30, 30, Some(0), 2));
    assert_eq!(row.appeared.total(), 0);
}

#[test]
fn captures_of_different_length_are_compared_where_both_ran() {
    let mut lab = Lab::new();
    for n in 0..3_000u32 {
        let sent = request(n, u64::from(n) * 1_000);
        if n < 2_000 {
            lab.seen(0, sent, 0);
        }
        if n >= 1_000 && n != 1_500 {
            lab.seen(1, sent, 0);
        }
    }
    let row = lab.row();
    assert_eq!((row.sent, row.received, row.lost, row.outside), (1_000, 999, Some(1), 2_000));
}

#[test]
fn what_came_before_the_first_frame_of_all_is_not_compared() {
    // Lost, or sent before the second capture began: nothing tells.
    let mut lab = Lab::new();
    lab.seen(0, request(0, 0), 0);
    lab.all((1..5).map(|n| request(n, n.into())));
    lab.all((0..5).map(|n| request(n, 100 + u64::from(n))));
    let row = lab.row();
    assert_eq!((row.sent, row.lost, row.outside), (9, Some(0), 1));
}

#[test]
fn without_routers_the_round_trip_tells_the_order() {
    let mut lab = Lab::new();
    lab.hops = 0;
    lab.all((0..9).map(|n| request(n, n.into())));
    lab.all([ack(8, 20)]);
    let [there, back] = lab.rows().map(Option::unwrap);
    assert_eq!((there.direction_by, there.from.as_str()), (DirectionBy::RoundTrip, "a"));
    assert_eq!((back.direction_by, back.from.as_str()), (DirectionBy::RoundTrip, "b"));
}

#[test]
fn the_same_capture_twice() {
    let mut matcher = Matcher::new(2, 1 << 20);
    for n in 0..9 {
        let packet = Packet { at: Nanos(BEGIN + n), facts: request(n as u32, n).facts, ..Packet::default() };
        matcher.packet(0, &packet);
        matcher.packet(1, &packet);
    }
    let between = matcher.finish(&["a".to_owned(), "a".to_owned()]);
    let [row] = &between.rows[..] else { panic!("{between:?}") };
    assert_eq!((row.direction_by, row.lost, row.received), (DirectionBy::Unknown, Some(0), 9));
    assert_eq!((row.owd_ns, row.clock_offset_ns), (None, None));
}

#[test]
fn flows_that_there_is_no_room_for_are_counted() {
    let mut matcher = Matcher::new(2, 2);
    for n in 0..5u32 {
        for tap in 0..2 {
            let at = Nanos(BEGIN + u64::from(n));
            let facts = Facts { dst_qp: Qpn(n), ..request(1, 0).facts };
            matcher.packet(tap, &Packet { at, facts, ..Packet::default() });
        }
    }
    let between = matcher.finish(&["a".to_owned(), "b".to_owned()]);
    assert_eq!((between.rows[0].received, between.beyond), (2, 6));
}

#[test]
fn strangers_are_named() {
    let mut lab = Lab::new();
    lab.seen(0, request(1, 0), 0);
    lab.seen(1, ack(1, 1), 0);
    let between = lab.between();
    assert!(between.rows.is_empty());
    assert_eq!(between.strangers, [["a".to_owned(), "b".to_owned()]]);
}

#[test]
fn first_packets_tell_where_captures_begin() {
    let mut meeting = Meeting::new(3);
    let hour = 3_600_000_000_000;
    for n in 0..200u64 {
        let packet = |psn: u64, at| Packet { at: Nanos(at), facts: request(psn as u32, 0).facts, ..Packet::default() };
        meeting.packet(0, &packet(n, BEGIN + n));
        // An hour ahead, and its capture began 100 packets later.
        meeting.packet(1, &packet(n + 100, BEGIN + n + 100 + hour));
    }
    assert!(!meeting.is_over(), "nothing is known of the third");
    assert_eq!(meeting.clocks(), [0, hour as i64, 0]);
}
