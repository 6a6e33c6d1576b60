//! What a capture missed though it was there, which must not be called lost.

use rocetop_parsers::sport;

use super::*;

/// A packet of another queue pair, from another port.
fn of(sent: Sent, qp: u32, sport: u16) -> Sent {
    Sent { facts: Facts { dst_qp: Qpn(qp), sport, ..sent.facts }, ..sent }
}

fn response(psn: u32, us: u64) -> Sent {
    Sent { facts: facts(B, A, Operation::READ_RESP_MIDDLE, psn), at: BEGIN + us * 1000 }
}

/// Seen at one tap only.
fn only(lab: &mut Lab, tap: usize, sent: Sent) {
    lab.seen(tap, sent, 0);
}

/// Lost, missed and undecided.
fn verdict(row: &TapReport) -> (Option<u64>, u64, u64) {
    (row.lost, row.missed, row.undecided)
}

#[test]
fn each_life_of_a_queue_pair_has_its_own_answers() {
    // Three lives, each with PSNs of its own; tap 1 misses one request of the first two.
    for starts in [[0, 1 << 20, 2 << 20], [5_000_000, 100, 12_000_000]] {
        let mut lab = Lab::new();
        for (life, start) in starts.into_iter().enumerate() {
            let begin = life as u64 * 10_000;
            for n in 0..20 {
                let sent = request(start + n, begin + u64::from(n) * 100);
                if life < 2 && n == 7 {
                    only(&mut lab, 0, sent);
                } else {
                    lab.both(sent);
                }
                lab.both(ack(start + n, begin + u64::from(n) * 100 + 70));
            }
        }
        assert_eq!(verdict(&lab.row()), (Some(0), 2, 0), "{starts:?}");
    }
}

#[test]
fn the_answers_of_a_later_life_prove_nothing_of_an_earlier_one() {
    // The first life ends with a request that is lost. The second is far away; the third has the first one's numbers.
    let mut lab = Lab::new();
    for (life, start) in [0, 1 << 20, 0].into_iter().enumerate() {
        let begin = life as u64 * 10_000;
        for n in 0..20 {
            let sent = request(start + n, begin + u64::from(n) * 100);
            if life == 0 && n > 10 {
                if n == 11 {
                    only(&mut lab, 0, sent);
                }
                continue;
            }
            lab.both(sent);
            lab.both(ack(start + n, begin + u64::from(n) * 100 + 70));
        }
    }
    // One copy of the two came.
    assert_eq!(verdict(&lab.row()), (Some(1), 0, 0));
}

#[test]
fn responses_of_each_life_are_judged_by_its_own() {
    let mut lab = Lab::new();
    lab.all((0..20).map(|n| request(n, u64::from(n) * 10)));
    for (life, start) in [3_000_000, 100].into_iter().enumerate() {
        for n in 0..20 {
            let sent = response(start + n, life as u64 * 10_000 + u64::from(n) * 100);
            if life == 0 && n == 7 {
                only(&mut lab, 1, sent);
            } else {
                lab.both(sent);
            }
        }
    }
    let [_, back] = lab.rows();
    assert_eq!(verdict(&back.unwrap()), (Some(0), 1, 0));
}

#[test]
fn responses_that_a_dying_requester_gave_up_were_lost() {
    // Of 40 responses 10 and 20 are lost. It asks for 10 again, in vain, until it gives up.
    let mut lab = Lab::new();
    lab.all((0..20).map(|n| request(n, u64::from(n) * 10)));
    for n in 0..40 {
        let sent = response(n, 100 + u64::from(n));
        if n == 10 || n == 20 { only(&mut lab, 1, sent) } else { lab.both(sent) }
    }
    (1..8).for_each(|n| only(&mut lab, 1, response(10, n * 10_000)));
    lab.both(response(41, 200_000));
    let [_, back] = lab.rows();
    assert_eq!(verdict(&back.unwrap()), (Some(9), 0, 0));
}

#[test]
fn what_was_sent_again_in_vain_had_arrived() {
    // Tap 1 misses request 5. Its ACK passes tap 1 and is lost on the way to tap 0, so that it is sent again.
    let mut lab = Lab::new();
    for n in 0..5 {
        lab.both(request(n, u64::from(n) * 100));
        lab.both(ack(n, u64::from(n) * 100 + 70));
    }
    only(&mut lab, 0, request(5, 500));
    only(&mut lab, 1, ack(5, 570));
    lab.both(request(5, 5_000));
    lab.both(ack(5, 5_070));
    let [there, back] = lab.rows().map(Option::unwrap);
    assert_eq!((there.lost, there.missed), (Some(0), 1));
    assert_eq!(back.lost, Some(1));
}

#[test]
fn what_was_not_acknowledged_before_was_lost() {
    let mut lab = Lab::new();
    lab.both(request(4, 0));
    lab.both(ack(4, 70));
    only(&mut lab, 0, request(5, 500));
    lab.both(request(5, 5_000));
    lab.both(ack(5, 5_070));
    assert_eq!(verdict(&lab.row()), (Some(1), 0, 0));
}

/// Two queue pairs of the same hosts that count from the same PSN, of which the longer one's answers fit only itself.
/// Tap 1 misses request 10 of the shorter one.
fn twins(ports: [u16; 2]) -> (Option<u64>, u64, u64) {
    let mut lab = Lab::new();
    for n in 0..60 {
        let at = u64::from(n) * 200;
        lab.both(of(request(n, at), 101, ports[0]));
        lab.both(of(ack(n, at + 70), 201, ports[0]));
        if n < 30 {
            let sent = of(request(n, at + 100), 102, ports[1]);
            if n == 10 {
                only(&mut lab, 0, sent)
            } else {
                lab.both(sent)
            }
            lab.both(of(ack(n, at + 170), 202, ports[1]));
        }
    }
    verdict(&lab.row())
}

#[test]
fn answers_of_queue_pairs_with_the_same_psns_are_told_apart() {
    assert_eq!(twins([50_001, 50_002]), (Some(0), 1, 0), "by their ports");
    assert_eq!(twins([50_001, 50_001]), (Some(0), 1, 0), "what fits the other alone is the other's");
}

#[test]
fn a_leak_puts_in_doubt_as_much_as_it_may_have_missed() {
    // 400 requests, of which tap 1 misses every 40th. A hundred more are lost and sent again.
    let mut lab = Lab::new();
    for n in 0..400 {
        let sent = request(n, u64::from(n) * 10);
        if n % 40 == 7 { only(&mut lab, 0, sent) } else { lab.both(sent) }
    }
    lab.both(ack(399, 9_000));
    (400..500).for_each(|n| only(&mut lab, 0, request(n, 10_000 + u64::from(n) * 10)));
    lab.all((400..500).map(|n| request(n, 50_000 + u64::from(n) * 10)));
    lab.both(ack(499, 90_000));
    let row = lab.row();
    // 10 of 400 were missed, and four times as many may have been of the 200.
    assert_eq!(verdict(&row), (Some(80), 10, 20));
    assert_eq!((row.sent, row.lost_by_kind.requests), (600, 80));
}

fn nak(psn: u32, us: u64) -> Sent {
    let aeth = Aeth::new(Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR), 0);
    Sent { facts: Facts { aeth, ..facts(B, A, Operation::ACK, psn) }, at: BEGIN + us * 1000 }
}

/// 2,000 requests, of which tap 1 misses the first `missed` ones of those at 20, 120 and so on. The first `losses` of
/// those at 50, 150 and so on are lost, and of the 30 behind each tap 1 misses `behind`; the NAK brings all of them
/// again.
fn going_back(losses: u32, missed: u32, behind: &[u32]) -> TapReport {
    let mut lab = Lab::new();
    let mut next = 0;
    while next < 2_000 {
        let us = u64::from(next) * 1_000;
        if next % 100 == 50 && next / 100 < losses {
            for n in 0..=30 {
                let sent = request(next + n, us + u64::from(n));
                if n == 0 || behind.contains(&n) { only(&mut lab, 0, sent) } else { lab.both(sent) }
            }
            lab.both(nak(next, us + 50));
            lab.all((0..=30).map(|n| request(next + n, us + 100 + u64::from(n))));
            lab.both(ack(next + 30, us + 200));
            next += 31;
            continue;
        }
        let sent = request(next, us);
        if next % 100 == 20 && next / 100 < missed {
            only(&mut lab, 0, sent)
        } else {
            lab.both(sent)
        }
        lab.both(ack(next, us + 90));
        next += 1;
    }
    lab.row()
}

#[test]
fn what_a_nak_names_was_lost_whatever_the_capture_missed() {
    for losses in [1, 3, 5] {
        for missed in [0, 1, 3, 20] {
            let row = going_back(losses, missed, &[]);
            let lost = Some(u64::from(losses));
            assert_eq!(verdict(&row), (lost, u64::from(missed), 0), "{losses} lost, {missed} missed");
            assert_eq!(
                (row.lost_by_kind.requests, row.first_lost.len() as u64),
                (u64::from(losses), u64::from(losses))
            );
        }
    }
}

#[test]
fn what_the_receiver_was_not_ready_for_had_come() {
    // Each request is refused once; of three that are, tap 1 misses the first copy.
    let mut lab = Lab::new();
    for n in 0..100 {
        let us = u64::from(n) * 1_000;
        let sent = request(n, us);
        if n % 40 == 5 {
            only(&mut lab, 0, sent)
        } else {
            lab.both(sent)
        }
        let refusal = Facts { aeth: Aeth::new(Syndrome::RnrNak(1), n), ..nak(n, us).facts };
        lab.both(Sent { facts: refusal, at: BEGIN + (us + 100) * 1_000 });
        lab.all([request(n, us + 300), ack(n, us + 400)]);
    }
    assert_eq!(verdict(&lab.row()), (Some(0), 3, 0));
}

#[test]
fn what_came_behind_a_lost_one_may_have_been_missed() {
    // Which the responder did not take, and no NAK names.
    assert_eq!(verdict(&going_back(1, 20, &[7])), (Some(1), 20, 1));
}

#[test]
fn what_a_nak_named_may_have_been_late_where_others_were() {
    // Tap 1 misses one request of twenty. Every fiftieth comes late, behind a NAK, and is sent again; of one such tap 1
    // misses the first copy.
    let mut lab = Lab::new();
    for n in 0..2_000u32 {
        let us = u64::from(n) * 1_000;
        let sent = request(n, us);
        if n % 50 == 10 {
            only(&mut lab, 0, sent);
            lab.both(request(n + 1, us + 1));
            if n != 510 {
                lab.seen(1, sent, 10_000);
            }
            lab.both(nak(n, us + 100));
            lab.both(request(n, us + 300));
        } else if n % 50 != 11 {
            if n % 20 == 7 { only(&mut lab, 0, sent) } else { lab.both(sent) }
        }
        lab.both(ack(n, us + 500));
    }
    let row = lab.row();
    assert_eq!((row.lost, row.undecided), (None, 1));
}

/// 2,000 requests, of which tap 1 misses `missed`. The last of a message is lost for `losses` of them, which the timer
/// sends again: no NAK tells.
fn timed_out(losses: u32, missed: u32) -> (Option<u64>, u64, u64) {
    let mut lab = Lab::new();
    for n in 0..2_000u32 {
        let us = u64::from(n) * 1_000;
        if n % 100 == 50 && n / 100 < losses {
            only(&mut lab, 0, request(n, us));
            lab.both(request(n, us + 700));
        } else if n % 100 == 20 && n / 100 < missed {
            only(&mut lab, 0, request(n, us));
        } else {
            lab.both(request(n, us));
        }
        lab.both(ack(n, us + 790));
    }
    verdict(&lab.row())
}

#[test]
fn a_capture_that_misses_hardly_anything_puts_few_repeats_in_doubt() {
    assert_eq!(timed_out(1, 1), (Some(1), 1, 0));
    assert_eq!(timed_out(5, 3), (Some(5), 3, 0));
    // One in a hundred: of five losses one may be none.
    assert_eq!(timed_out(5, 20), (Some(4), 20, 1));
}

#[test]
fn what_lives_that_are_forgotten_would_tell_is_in_doubt() {
    for (lives, expected) in [(64, (Some(0), 10, 0)), (80, (None, 0, 10))] {
        let mut lab = Lab::new();
        for life in 0..lives {
            let (start, begin) = (life * 200_000, u64::from(life) * 10_000);
            for n in 0..20 {
                let sent = request(start + n, begin + u64::from(n) * 100);
                if life < 10 && n == 7 {
                    only(&mut lab, 0, sent)
                } else {
                    lab.both(sent)
                }
                lab.both(ack(start + n, begin + u64::from(n) * 100 + 70));
            }
        }
        assert_eq!(verdict(&lab.row()), expected, "{lives} lives");
    }
}

#[test]
fn reads_that_take_many_numbers_are_proven_however_far_back() {
    // 1 MiB each, at an MTU of 4096: once around a sixtieth of all numbers, and once around all of them and more.
    for reads in [600, 70_000] {
        let mut lab = Lab::new();
        for n in 0..reads {
            let (psn, us) = ((1_000 + n * 256) & 0xff_ffff, u64::from(n) * 100);
            let ask = facts(A, B, Operation::READ_REQ, psn);
            let sent = Sent { facts: Facts { dma_len: 1 << 20, ..ask }, ..request(psn, us) };
            if n == 10 {
                only(&mut lab, 0, sent)
            } else {
                lab.both(sent)
            }
            lab.both(response(psn + 255, us + 70));
        }
        assert_eq!(verdict(&lab.row()), (Some(0), 1, 0), "{reads}");
    }
}

#[test]
fn of_many_flows_the_port_tells_whose_repeat_is_in_vain() {
    // 100 queue pairs that count alike, from the ports that Linux gives both, or each its own.
    for own in [false, true] {
        let mut lab = Lab::new();
        let port = |from: u32, to: u32| {
            if own { sport::of_rxe_source(Qpn(from)) } else { sport::of_qps(Qpn(from), Qpn(to)) }
        };
        for n in 0..4 {
            for q in 0..100 {
                let us = u64::from(n) * 1_000 + u64::from(q) * 2;
                let (a, b) = (1_000 + q, 5_000 + q);
                let ask = of(request(n, us), b, port(a, b));
                let answer = of(ack(n, us + 300), a, port(b, a));
                if n < 3 || q != 50 {
                    lab.all([ask, answer]);
                    continue;
                }
                // Tap 1 misses the request, and its ACK gets lost.
                only(&mut lab, 0, ask);
                only(&mut lab, 1, answer);
                lab.all([Sent { at: ask.at + 500_000, ..ask }, Sent { at: answer.at + 500_000, ..answer }]);
            }
        }
        assert_eq!(verdict(&lab.row()), (Some(0), 1, 0), "{own}");
    }
}

/// 200 requests and their ACKs; of both, what `lacks` is not in the capture near A. ACKs lost and missed.
fn acks_of_a_leak(lacks: impl Fn(u32, bool) -> bool) -> (Option<u64>, u64) {
    let mut lab = Lab::new();
    for n in 0..200u32 {
        for (sent, is_ack) in [(request(n, u64::from(n) * 200), false), (ack(n, u64::from(n) * 200 + 100), true)] {
            lab.seen(1, sent, 0);
            if !lacks(n, is_ack) {
                lab.seen(0, sent, 0);
            }
        }
    }
    let [_, acks] = lab.rows();
    let acks = acks.unwrap();
    (acks.lost, acks.missed)
}

#[test]
fn acks_that_a_leaking_capture_lacks_are_missed() {
    assert_eq!(acks_of_a_leak(|n, is_ack| n % 10 == if is_ack { 3 } else { 7 }), (Some(0), 20));
    // A capture that shows all requests shows all ACKs that came.
    assert_eq!(acks_of_a_leak(|n, is_ack| is_ack && n % 10 == 3), (Some(20), 0));
    // One request is no reason to have missed twenty: four times as many as that are.
    assert_eq!(acks_of_a_leak(|n, is_ack| if is_ack { n % 10 == 3 } else { n == 7 }), (Some(16), 0));
}
