//! Which directions belong together, and when that stays open.

use crate::kit::*;
use rocetop_analysis::Grade;
use rocetop_parsers::{Facts, Qpn, sport};

#[test]
fn answers_pair_flows_whose_ports_say_nothing() {
    let (out, back) = (way(1, 2, 500, 111), way(2, 1, 600, 222));
    let (other, other_back) = (way(1, 2, 501, 111), way(2, 1, 601, 222));
    let mut tap = Tap::default();
    for n in 0..5 {
        tap.send(out, WRITE_ONLY, 100_000 + n).send(other, WRITE_ONLY, 900_000 + n);
        tap.ack(other_back, 900_000 + n, n + 1).ack(back, 100_000 + n, n + 1);
    }
    let seen = tap.finish();
    let pairs: Vec<_> = seen.connections.iter().map(|c| (c.flows.clone(), c.paired_by)).collect();
    assert_eq!(pairs, [(vec![0, 3], Grade::Ack), (vec![1, 2], Grade::Ack)]);
}

#[test]
fn equal_answers_leave_it_open() {
    let (out, back) = (way(1, 2, 500, 111), way(2, 1, 600, 222));
    let (other, other_back) = (way(1, 2, 501, 111), way(2, 1, 601, 222));
    let mut tap = Tap::default();
    for psn in 0..5 {
        tap.send(out, WRITE_ONLY, psn).send(other, WRITE_ONLY, psn);
        tap.ack(other_back, psn, psn + 1).ack(back, psn, psn + 1);
    }
    let seen = tap.finish();
    assert_eq!(seen.connections.len(), 4);
    assert!(seen.connections.iter().all(|c| c.paired_by == Grade::Unpaired));
}

#[test]
fn equal_ports_pair_what_is_left() {
    let mut tap = Tap::default();
    tap.send(way(1, 2, 500, 111), WRITE_ONLY, 5).send(way(2, 1, 600, 111), WRITE_ONLY, 90);
    let seen = tap.finish();
    assert_eq!((seen.connections.len(), seen.connections[0].paired_by), (1, Grade::Ports));
}

#[test]
fn datagrams_pair_by_their_source_qp() {
    let (out, back) = (way(1, 2, 500, 111), way(2, 1, 600, 222));
    let mut tap = Tap::default();
    for (way, src_qp) in [(out, 600), (back, 500), (out, 600)] {
        tap.facts_at(way, Facts { src_qp: Qpn(src_qp), ..Tap::facts(way, 0x64, 7) });
    }
    let seen = tap.finish();
    assert_eq!((seen.connections.len(), seen.connections[0].paired_by), (1, Grade::Ud));
    assert_eq!((seen.flows[0].src_qp, seen.flows[0].requests.first_psn), (Some(600), None));
    assert_eq!((seen.flows[0].requests.messages, seen.flows[0].requests.seen_again), (2, 0));
}

#[test]
fn notifications_with_a_port_of_their_own_do_not_hide_the_pair() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    tap.send(Way { sport: 0, ..back }, CNP, 0).send(out, WRITE_ONLY, 5).ack(back, 5, 1);
    let seen = tap.finish();
    assert_eq!((seen.flows[0].udp_sports.clone(), seen.connections[0].paired_by), (vec![back.sport], Grade::PortHash));
}

#[test]
fn answers_prove_nothing_where_every_queue_pair_starts_at_zero() {
    // Two connections in step, of which one direction each was captured.
    let mut tap = Tap::default();
    for psn in 0..50 {
        tap.send(way(1, 2, 500, 111), WRITE_ONLY, psn).ack(way(2, 1, 601, 222), psn, psn + 1);
    }
    assert!(tap.finish().connections.iter().all(|c| c.paired_by == Grade::Unpaired));
}

#[test]
fn one_answer_three_times_is_one_answer() {
    let (out, back) = (way(1, 2, 500, 111), way(2, 1, 600, 222));
    let mut tap = Tap::default();
    tap.send(out, WRITE_ONLY, 500_000).send(way(1, 2, 501, 112), WRITE_ONLY, 5_000_000);
    for _ in 0..3 {
        tap.ack(back, 500_000, 1);
    }
    // It is the only evidence, and at the end that counts; but a second suspect takes it back.
    tap.ack(back, 5_000_000, 2);
    let seen = tap.finish();
    assert!(seen.connections.iter().all(|c| !c.flows.contains(&0) || c.paired_by == Grade::Unpaired));
}

#[test]
fn equal_ports_of_others_leave_it_open() {
    let mut tap = Tap::default();
    let (out, back) = (way(1, 2, 500, 111), way(2, 1, 600, 111));
    for n in 0..5 {
        tap.send(out, WRITE_ONLY, 100_000 + n).ack(back, 100_000 + n, n + 1);
    }
    tap.send(way(1, 2, 700, 111), WRITE_ONLY, 5).send(way(2, 1, 800, 111), WRITE_ONLY, 9_000_000);
    let grades: Vec<_> = tap.finish().connections.iter().map(|c| c.paired_by).collect();
    assert_eq!(grades, [Grade::Ack, Grade::Unpaired, Grade::Unpaired]);
}

#[test]
fn a_hundred_queue_pairs_are_paired_whoever_comes_first() {
    let pairs: Vec<_> = (0..100)
        .map(|n| {
            let port = sport::of_qps(Qpn(1000 + n), Qpn(5000 + n));
            (way(1, 2, 5000 + n, port), way(2, 1, 1000 + n, port))
        })
        .collect();
    let mut tap = Tap::default();
    for (out, _) in &pairs {
        tap.send(*out, WRITE_ONLY, 0);
    }
    for (_, back) in &pairs {
        tap.ack(*back, 0, 1);
    }
    let seen = tap.finish();
    assert_eq!(seen.connections.len(), 100);
    assert!(seen.connections.iter().all(|c| c.paired_by == Grade::PortHash));
}

#[test]
fn datagrams_of_several_queue_pairs_name_none() {
    let out = way(1, 2, 500, 111);
    let mut tap = Tap::default();
    for src_qp in [600, 601, 601] {
        tap.facts_at(out, Facts { src_qp: Qpn(src_qp), ..Tap::facts(out, 0x64, 7) });
    }
    assert_eq!(tap.finish().flows[0].src_qp, None);
}

#[test]
fn answers_that_nothing_pairs_were_seen_all_the_same() {
    // Small PSNs and ports of their own: another queue pair's answers would look like these.
    let (out, back) = (way(1, 2, 0x200, 50_000), way(2, 1, 0x100, 60_000));
    let mut tap = Tap::default();
    for psn in 100..200 {
        tap.send(out, WRITE_ONLY, psn).ack(back, psn, psn - 99);
    }
    let seen = tap.finish();
    assert_eq!(seen.found("RT038").title, "for 1 flow of requests it cannot be told which answers are theirs");
}

#[test]
fn a_port_that_all_queue_pairs_have_verifies_nothing() {
    // mlx5 gives queue pairs without a flow label one port; by chance it is the hash of some of these numbers.
    let mut tap = Tap::default();
    let mut by_chance = 0;
    for n in 0..64 {
        let m = (n * 5 + 3) % 64;
        tap.send(way(1, 2, 0x200 + n, 49_152), WRITE_ONLY, 0);
        tap.ack(way(2, 1, 0x100 + m, 49_152), 0, 1);
        by_chance += (0..64).filter(|&q| sport::of_qps(Qpn(0x100 + q), Qpn(0x200 + n)) == 49_152).count();
    }
    let seen = tap.finish();
    assert_ne!(by_chance, 0);
    assert_eq!(seen.connections.len(), 128);
    assert!(seen.connections.iter().all(|c| c.paired_by == Grade::Unpaired));
}

#[test]
fn what_was_answered_before_the_pair_was_known_is_not_timed() {
    let (out, back) = (way(1, 2, 34, 50_000), way(2, 1, 17, 51_000));
    let mut tap = Tap::default();
    for n in 0..30 {
        tap.send(out, SEND_ONLY, 100_000 + n).ack(back, 100_000 + n, n + 1);
        tap.send(back, SEND_ONLY, 900_000 + n).ack(out, 900_000 + n, n + 1);
        tap.wait(1_000_000_000);
    }
    let seen = tap.finish();
    assert_eq!((seen.connections.len(), seen.connections[0].paired_by), (1, Grade::Ack));
    for flow in &seen.flows {
        let times = flow.story.as_ref().unwrap().message_ns;
        assert_eq!((times.count >= 26, times.max), (true, 10_000), "{times:?}");
    }
}
