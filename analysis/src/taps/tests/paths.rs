//! What was lost for certain, what arrived past a tap, and what nothing tells.

use rocetop_parsers::{Addr, Qpn};

use super::{B, Lab, Sent, WAY, ack, facts, request};
use crate::taps::TapReport;
use rocetop_parsers::ib::opcode::Operation;

/// Sent, received, lost, missed, undecided and apart.
fn figures(row: &TapReport) -> (u64, u64, Option<u64>, u64, u64, u64) {
    (row.sent, row.received, row.lost, row.missed, row.undecided, row.outside)
}

/// To another queue pair.
fn on(qp: u32, sent: Sent) -> Sent {
    Sent { facts: rocetop_parsers::Facts { dst_qp: Qpn(qp), ..sent.facts }, ..sent }
}

/// Another host's packets that tap 1 alone sees, from the beginning on for so long.
fn background(lab: &mut Lab, us: u64) {
    let other = facts(Addr::v4([10, 0, 0, 3]), B, Operation::WRITE_MIDDLE, 0);
    for n in 0..=us / 100 {
        let at = request(0, n * 100).at;
        lab.seen(
            1,
            Sent { facts: rocetop_parsers::Facts { psn: rocetop_parsers::Psn::new(n as u32), ..other }, at },
            0,
        );
    }
}

#[test]
fn a_first_window_is_lost_where_the_other_tap_was_there() {
    let mut lab = Lab::new();
    background(&mut lab, 10_000);
    for n in 0..40 {
        lab.seen(0, request(n, 1_000 + u64::from(n)), 0);
    }
    // The timer sends all again. No packet of this direction tells how far the clocks are apart, the ACKs do.
    lab.all((0..40).map(|n| request(n, 5_000 + u64::from(n))));
    lab.all((0..40).map(|n| ack(n, 5_100 + u64::from(n))));
    let [there, back] = lab.rows().map(Option::unwrap);
    assert_eq!(figures(&there), (80, 40, Some(40), 0, 0, 0));
    assert_eq!(figures(&back), (40, 40, Some(0), 0, 0, 0));
    assert_eq!(there.first_lost.len(), 8);
    assert_eq!(there.first_lost[0].to_string(), "a:1");
}

#[test]
fn a_capture_that_ends_first_is_judged_up_to_its_end() {
    let mut lab = Lab::new();
    background(&mut lab, 10_000);
    lab.all((0..100).map(|n| request(n, u64::from(n))));
    for n in 100..150 {
        lab.seen(0, request(n, 2_000 + u64::from(n)), 0);
        lab.seen(0, request(n, 20_000 + u64::from(n)), 0);
    }
    assert_eq!(figures(&lab.row()), (150, 100, Some(50), 0, 0, 50));
}

/// From the source port that Linux gives two queue pairs.
fn from(a: u32, b: u32, sent: Sent) -> Sent {
    let sport = rocetop_parsers::sport::of_qps(Qpn(a), Qpn(b));
    Sent { facts: rocetop_parsers::Facts { sport, ..sent.facts }, ..sent }
}

/// Two queue pairs that count alike, 7 with 17 and 9 with 19. The first loses two packets and is acknowledged up to
/// `acked`. Their source ports tell them apart where they are `hashed`.
fn alike(acked: u32, hashed: bool) -> TapReport {
    let mut lab = Lab::new();
    let from = |a, b, sent| if hashed { from(a, b, sent) } else { sent };
    for n in 0..50u32 {
        lab.both(from(9, 19, on(9, request(n, u64::from(n) * 4))));
        let sent = from(7, 17, request(n, u64::from(n) * 4 + 2));
        lab.seen(0, sent, 0);
        if n != 30 && n != 31 {
            lab.seen(1, sent, 0);
        }
    }
    lab.both(from(7, 17, on(17, ack(acked, 300))));
    lab.both(from(9, 19, on(19, ack(49, 301))));
    lab.row()
}

#[test]
fn anothers_answers_prove_nothing() {
    assert_eq!(figures(&alike(20, true)), (100, 98, Some(2), 0, 0, 0));
    assert_eq!(figures(&alike(49, true)), (100, 98, Some(0), 2, 0, 0));
    // A queue pair that sends less has no say in what another one's answers prove.
    let mut lab = Lab::new();
    for n in 0..20u32 {
        if n < 5 {
            lab.both(from(9, 19, on(9, request(n, u64::from(n) * 4))));
        }
        let sent = from(7, 17, request(n, u64::from(n) * 4 + 2));
        lab.seen(0, sent, 0);
        if n != 10 {
            lab.seen(1, sent, 0);
        }
    }
    lab.both(from(7, 17, on(17, ack(19, 300))));
    lab.both(from(9, 19, on(19, ack(4, 301))));
    assert_eq!(figures(&lab.row()), (25, 24, Some(0), 1, 0, 0));
}

#[test]
fn whose_answer_it_is_not_known_proves_that_nothing_was_lost() {
    assert_eq!(figures(&alike(20, false)), (100, 98, Some(0), 2, 0, 0));
}

/// Of what arrived, a capture that shows no copy missed all that the other shows.
#[test]
fn copies_of_what_arrived_were_missed() {
    let mut lab = Lab::new();
    for n in 0..50u32 {
        lab.both(request(n, u64::from(n) * 2));
    }
    for us in [100, 150] {
        lab.seen(0, request(50, us), 0);
    }
    lab.both(request(51, 160));
    lab.both(ack(51, 200));
    assert_eq!(figures(&lab.row()), (53, 51, Some(0), 2, 0, 0));
}

/// What is due in the very moment of the other capture's last frame may have come behind it.
#[test]
fn what_is_due_at_the_last_moment_is_not_judged() {
    let mut lab = Lab::new();
    for n in 0..50u32 {
        lab.both(request(n, u64::from(n) * 2));
    }
    let last = request(50, 100);
    lab.seen(0, last, 0);
    lab.seen(1, Sent { at: last.at + WAY, ..ack(49, 100) }, 0);
    assert_eq!(figures(&lab.row()).2, Some(0));
}

/// 200 requests that are acknowledged, of which tap 1 shows those that `passes` lets by, and ten that are sent twice,
/// of which it shows one copy.
fn around(passes: impl Fn(u32) -> bool) -> TapReport {
    let mut lab = Lab::new();
    for n in 0..200 {
        lab.seen(0, request(n, u64::from(n)), 0);
        if passes(n) {
            lab.seen(1, request(n, u64::from(n)), 0);
        }
    }
    for n in 200..210 {
        lab.seen(0, request(n, u64::from(n)), 0);
    }
    lab.all((200..220).map(|n| request(n, 300 + u64::from(n))));
    lab.all([ack(219, 600)]);
    lab.row()
}

#[test]
fn on_several_ways_nothing_is_called_lost() {
    let row = around(|n| n % 2 == 0);
    assert_eq!(figures(&row), (230, 120, None, 100, 10, 0));
    assert_eq!((row.lost_by_kind.total(), row.first_lost.len(), row.outages.len()), (0, 0, 0));
    // A capture that misses one in a hundred is no second way, and may have missed one of the ten.
    assert_eq!(figures(&around(|n| n % 100 != 50)), (230, 218, Some(9), 2, 1, 0));
}

#[test]
fn copies_behind_a_tap_that_some_go_past_are_no_duplicates() {
    // Of what tap 1 sees tap 0 shows half, and one of two copies of the rest.
    let mut lab = Lab::new();
    for n in 0..100 {
        lab.seen(1, request(n, u64::from(n)), 0);
        if n % 2 == 0 {
            lab.seen(0, request(n, u64::from(n)), 0);
        }
    }
    for n in 100..110 {
        lab.both(request(n, 200 + u64::from(n)));
        lab.seen(1, request(n, 400 + u64::from(n)), 0);
    }
    lab.both(request(110, 600));
    let row = lab.row();
    assert_eq!((row.received, row.lost, row.duplicated, row.appeared.requests), (61, Some(0), 0, 60));
}
