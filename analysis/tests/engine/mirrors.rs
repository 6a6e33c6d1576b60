//! Second copies and what only looks like them.

use crate::kit::*;

#[test]
fn a_mirror_of_both_ports_is_counted_once() {
    let (out, back) = connection();
    let routed = Way { ttl: 63, ..out };
    let answered = Way { ttl: 63, ..back };
    let mut tap = Tap::default();
    for psn in 0..40 {
        tap.send(out, WRITE_ONLY, psn).send(routed, WRITE_ONLY, psn);
        tap.ack(back, psn, psn + 1).ack(answered, psn, psn + 1);
    }
    let seen = tap.finish();
    assert_eq!(seen.totals.mirror_copies, 80);
    let (a, b) = (&seen.flows[0], &seen.flows[1]);
    assert_eq!((a.packets, a.requests.packets, a.requests.seen_again, a.requests.behind), (40, 40, 0, 0));
    assert_eq!((a.requests.messages, b.packets, b.acks), (40, 40, 40));
}

#[test]
fn a_burst_before_its_first_copy_is_counted_once() {
    // Nothing tells that there is a mirror before the first four have passed.
    let (out, _) = connection();
    let mut tap = Tap::default();
    for burst in 0..3 {
        for way in [out, Way { ttl: 63, ..out }] {
            for psn in burst * 4..burst * 4 + 4 {
                tap.send(way, WRITE_ONLY, psn);
            }
        }
    }
    let seen = tap.finish();
    let r = &seen.flows[0].requests;
    assert_eq!((seen.totals.mirror_copies, seen.flows[0].packets, r.seen_again, r.messages), (12, 12, 0, 12));
}

#[test]
fn a_brief_flow_is_copied_where_the_capture_is() {
    // One burst, and the same from one hop further on, beside another flow of which every packet comes so, or none.
    let brief = |copied: bool| {
        let (out, _) = connection();
        let other = way(1, 2, 77, 50_000);
        let mut tap = Tap::default();
        for psn in 0..80 {
            tap.send(other, WRITE_ONLY, psn);
            if copied {
                tap.send(Way { ttl: 63, ..other }, WRITE_ONLY, psn);
            }
        }
        for way in [out, Way { ttl: 63, ..out }] {
            (0..6).for_each(|psn| {
                tap.send(way, WRITE_ONLY, psn);
            });
        }
        let seen = tap.finish();
        (seen.totals.mirror_copies, seen.flows[1].packets, seen.flows[1].requests.seen_again)
    };
    assert_eq!(brief(true), (86, 6, 0));
    // A sender that goes back on another path looks the same.
    assert_eq!(brief(false), (0, 12, 6));
}

#[test]
fn copies_that_trail_are_no_packets_delivered_twice() {
    let (out, back) = connection();
    let (routed, answered) = (Way { ttl: 63, ..out }, Way { ttl: 63, ..back });
    let mut tap = Tap::default();
    for psn in 0..100 {
        tap.send(out, WRITE_ONLY, psn).ack(back, psn, psn + 1);
        if psn >= 2 {
            tap.send(routed, WRITE_ONLY, psn - 2).ack(answered, psn - 2, psn - 1);
        }
    }
    let seen = tap.finish();
    let story = seen.flows[0].story.as_ref().unwrap();
    assert_eq!((seen.totals.mirror_copies, story.duplicated_by_network, story.retransmissions.total), (196, 0, 0));
}

#[test]
fn repeats_stay_repeats_under_a_mirror() {
    let (out, _) = connection();
    let routed = Way { ttl: 63, ..out };
    let mut tap = Tap::default();
    for psn in (0..20).chain(10..30) {
        tap.send(out, WRITE_ONLY, psn).send(routed, WRITE_ONLY, psn);
    }
    let seen = tap.finish();
    let r = &seen.flows[0].requests;
    assert_eq!((seen.flows[0].packets, r.seen_again, r.behind, r.messages), (40, 10, 10, 30));
}

#[test]
fn a_new_path_is_no_mirror() {
    let (out, _) = connection();
    let detour = Way { ttl: 62, ..out };
    let mut tap = Tap::default();
    for psn in 0..100 {
        tap.send(out, WRITE_ONLY, psn);
    }
    for psn in 96..200 {
        tap.send(detour, WRITE_ONLY, psn);
    }
    let seen = tap.finish();
    assert_eq!((seen.totals.mirror_copies, seen.flows[0].requests.seen_again), (0, 4));
}

#[test]
fn a_doubled_capture_is_a_mirror_and_a_doubling_network_is_not() {
    let (out, _) = connection();
    let double = |every: u32| {
        let mut tap = Tap::default();
        for psn in 0..100 {
            tap.send(out, WRITE_ONLY, psn);
            if psn % every == 0 {
                tap.send(out, WRITE_ONLY, psn);
            }
        }
        tap.finish()
    };
    let mirror = double(1);
    assert_eq!((mirror.totals.mirror_copies, mirror.flows[0].requests.seen_again), (100, 0));
    let network = double(5);
    assert_eq!((network.totals.mirror_copies, network.flows[0].requests.seen_again), (0, 20));
}

#[test]
fn two_taps_with_clocks_apart_are_counted_once() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    // The second file's clock is late: whole messages pass before their copies come.
    for strand in 0..2 {
        let (out, back) = (Way { strand, ..out }, Way { strand, ..back });
        for psn in 0..500 {
            tap.send(out, WRITE_ONLY, psn).ack(back, psn, psn + 1);
        }
    }
    let seen = tap.finish();
    let (a, b) = (&seen.flows[0], &seen.flows[1]);
    assert_eq!((a.packets, a.requests.seen_again, b.acks, seen.totals.mirror_copies), (500, 0, 500, 1000));
}

#[test]
fn a_path_that_failed_leaves_repeats_and_no_mirror() {
    let (out, _) = connection();
    let mut tap = Tap::default();
    for psn in 0..100 {
        tap.send(out, WRITE_ONLY, psn);
    }
    tap.wait(100_000_000);
    for psn in 50..120 {
        tap.send(Way { ttl: 62, ..out }, WRITE_ONLY, psn);
    }
    let seen = tap.finish();
    assert_eq!((seen.totals.mirror_copies, seen.flows[0].requests.seen_again), (0, 50));
}

#[test]
fn doubles_that_trail_at_line_rate_are_counted_once() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for psn in 0..500 {
        tap.send(out, WRITE_ONLY, psn);
        if psn >= 3 {
            tap.send(out, WRITE_ONLY, psn - 3);
        }
        if psn % 50 == 49 {
            tap.ack(back, psn - 10, psn - 9).ack(back, psn - 10, psn - 9);
        }
    }
    let seen = tap.finish();
    assert_eq!((seen.flows[0].packets, seen.flows[0].requests.seen_again, seen.flows[1].acks), (500, 0, 10));
}

/// A go-back-N sender that repeats at once, each frame twice in the capture, at the same stamp.
fn twice(times: u32) -> Seen {
    let (out, back) = connection();
    let mut tap = Tap::default();
    let mut both = |way, opcode, psn, nak: bool| {
        for _ in 0..times {
            tap.now -= 9_999;
            if nak {
                tap.nak(way, psn, 1)
            } else {
                tap.send(way, opcode, psn)
            };
        }
        tap.wait(5_000);
    };
    for psn in (0..5).chain(6..12) {
        both(out, WRITE_ONLY, psn, false);
    }
    both(back, ACK, 5, true);
    for psn in 5..30 {
        both(out, WRITE_ONLY, psn, false);
    }
    tap.finish()
}

#[test]
fn repeats_in_a_doubled_capture_are_told_as_in_a_single_one() {
    let (single, doubled) = (twice(1), twice(2));
    assert_eq!((single.totals.mirror_copies, doubled.totals.mirror_copies), (0, 37));
    for seen in [&single, &doubled] {
        let r = &seen.flows[0].requests;
        assert_eq!((r.packets, r.seen_again, r.gaps, r.messages), (36, 6, 1, 30));
        let story = seen.flows[0].story.as_ref().unwrap();
        assert_eq!((story.retransmissions.by_cause.nak, story.duplicated_by_network), (6, 0));
        assert_eq!(seen.flows[1].naks.psn_sequence_error, 1);
    }
}

#[test]
fn few_frames_are_doubled_where_the_whole_capture_is() {
    let (out, back) = connection();
    let brief = |pairs: u8| {
        let mut tap = Tap::default();
        for n in 0..pairs {
            let (out, back) = (Way { src: 10 + n, ..out }, Way { dst: 10 + n, ..back });
            tap.send(out, WRITE_ONLY, 7).send(out, WRITE_ONLY, 7).ack(back, 7, 1).ack(back, 7, 1);
        }
        tap.finish()
    };
    // One message and its answer may have been doubled by the network.
    assert_eq!(brief(1).totals.mirror_copies, 0);
    let many = brief(5);
    assert_eq!((many.totals.mirror_copies, many.flows[0].requests.seen_again), (10, 0));
}

#[test]
fn a_receiver_that_is_not_ready_doubles_nothing() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for _ in 0..40 {
        tap.send(out, SEND_ONLY, 3).rnr(back, 3, 1);
    }
    let seen = tap.finish();
    assert_eq!((seen.totals.mirror_copies, seen.flows[0].requests.seen_again, seen.flows[1].rnr_naks), (0, 39, 40));
}

#[test]
fn notifications_are_no_doubles_of_each_other() {
    let (_, back) = connection();
    let mut tap = Tap::default();
    for _ in 0..40 {
        tap.send(back, CNP, 0);
    }
    let seen = tap.finish();
    assert_eq!((seen.totals.mirror_copies, seen.flows[0].cnps), (0, 40));
}

/// What happens at a time, in nanoseconds: a request (`true`) or its answer, and its PSN.
type Event = (u64, bool, u32);

/// Those events, and each of them again after `lag` on interface `iface`. Requests are WRITEs or READs.
fn seen_late(events: &[Event], reads: bool, lag: u64, iface: u32) -> Seen {
    let (out, back) = connection();
    let mut all: Vec<(Event, u32)> = events.iter().map(|&event| (event, 0)).collect();
    all.extend(events.iter().map(|&(at, asks, psn)| ((at + lag, asks, psn), iface)));
    all.sort();
    let mut tap = Tap::default();
    for ((at, asks, psn), iface) in all {
        tap.now = 1_000_000_000 + at;
        let (out, back) = (Way { iface, ..out }, Way { iface, ..back });
        match (asks, reads) {
            (true, false) => tap.send(out, WRITE_ONLY, psn),
            (false, false) => tap.ack(back, psn, psn + 1),
            (true, true) => tap.read(out, psn, 1024),
            (false, true) => tap.send(back, READ_ONLY, psn),
        };
    }
    tap.finish()
}

/// Bursts of eight requests, answered after 2 us each; a burst every 100 us.
fn bursts(count: u32) -> Vec<Event> {
    let burst = |n: u32| {
        let at = u64::from(n) * 100_000;
        (0..8).flat_map(move |i| {
            let sent = at + u64::from(i) * 500;
            [(sent, true, 8 * n + i), (sent + 2_000, false, 8 * n + i)]
        })
    };
    (0..count).flat_map(burst).collect()
}

#[test]
fn doubles_that_come_after_the_answer_are_counted_once() {
    for lag in [10_000, 50_000, 99_000, 250_000, 500_000] {
        let seen = seen_late(&bursts(40), false, lag, 0);
        let (a, b) = (&seen.flows[0], &seen.flows[1]);
        assert_eq!((seen.totals.mirror_copies, a.packets, a.requests.seen_again), (640, 320, 0), "{lag}");
        assert_eq!((b.acks, a.story.as_ref().unwrap().retransmissions.total), (320, 0), "{lag}");
        assert!(seen.findings.is_empty(), "{lag}");
    }
    // A timer may be as short as that.
    assert_eq!(seen_late(&bursts(40), false, 3_000_000, 0).totals.mirror_copies, 0);
}

#[test]
fn brief_doubles_are_told_by_acknowledgements_and_interfaces() {
    // All is over before the first double comes.
    let told = |reads, iface| {
        let seen = seen_late(&bursts(2), reads, 150_000, iface);
        (seen.totals.mirror_copies, seen.flows[0].requests.seen_again)
    };
    assert_eq!((told(false, 0), told(false, 1)), ((32, 0), (32, 0)));
    // Responses are sent again to who asks again.
    assert_eq!((told(true, 0), told(true, 1)), ((0, 16), (32, 0)));
}

#[test]
fn what_is_asked_and_answered_again_is_no_double() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    // Four READs of eight responses, all of which are lost behind the tap and asked for again, and then READs that go
    // well.
    for round in [0, 0, 1, 2, 3, 4, 5, 6, 7] {
        for read in 0..4 {
            tap.now -= 9_000;
            tap.read(out, 32 * round + 8 * read, 8 * 1024);
        }
        for psn in 32 * round..32 * round + 32 {
            tap.now -= 9_000;
            let opcode = [READ_FIRST, READ_MIDDLE, READ_LAST][usize::from(psn % 8 > 0) + usize::from(psn % 8 > 6)];
            tap.send(back, opcode, psn);
        }
    }
    let seen = tap.finish();
    assert_eq!(seen.totals.mirror_copies, 0);
    assert_eq!((seen.flows[0].requests.seen_again, seen.flows[1].responses.seen_again), (4, 32));
}

#[test]
fn what_all_comes_after_the_same_time_is_doubled() {
    // READs, whose answers no responder acknowledges. Far between, and one burst right behind the other.
    for (count, lag) in [(40, 300_000), (40, 800), (12, 150_000)] {
        let seen = seen_late(&bursts(count), true, lag, 0);
        let r = &seen.flows[0].requests;
        assert_eq!((seen.totals.mirror_copies, r.seen_again), (u64::from(16 * count), 0), "{lag}");
    }
    // Where all was over before the time had passed three times, a sender may have gone back.
    assert_eq!(seen_late(&bursts(4), true, 150_000, 0).totals.mirror_copies, 0);
    // Each after a time of its own: whoever asks again waits for what may be long or short.
    let mut events = bursts(40);
    events.extend(bursts(40).into_iter().map(|(at, asks, psn)| (at + 40_000 + u64::from(psn) * 700, asks, psn)));
    let (out, back) = connection();
    events.sort();
    let mut tap = Tap::default();
    for (at, asks, psn) in events {
        tap.now = 1_000_000_000 + at;
        if asks {
            tap.read(out, psn, 1024)
        } else {
            tap.send(back, READ_ONLY, psn)
        };
    }
    assert_eq!(tap.finish().totals.mirror_copies, 0);
}

#[test]
fn one_way_alone_may_be_doubled() {
    let (out, back) = connection();
    let told = |answers: u64| {
        let mut all: Vec<(u64, bool, u32)> = Vec::new();
        for (at, asks, psn) in bursts(40) {
            all.push((at, asks, psn));
            if asks || answers != 0 {
                all.push((at + if asks { 20_000 } else { answers }, asks, psn));
            }
        }
        all.sort();
        let mut tap = Tap::default();
        for (at, asks, psn) in all {
            tap.now = 1_000_000_000 + at;
            if asks {
                tap.send(out, WRITE_ONLY, psn)
            } else {
                tap.ack(back, psn, psn + 1)
            };
        }
        tap.finish()
    };
    let seen = told(0);
    assert_eq!((seen.totals.mirror_copies, seen.flows[0].requests.seen_again, seen.flows[1].acks), (320, 0, 320));
    assert_eq!(told(20_000).totals.mirror_copies, 640);
}

#[test]
fn one_sender_that_goes_back_is_not_doubled() {
    // All of a window comes again after the same time, and the answers once.
    let (out, back) = connection();
    let mut tap = Tap::default();
    let at = |tap: &mut Tap, now: u64| tap.now = 1_000_000_000 + now;
    for psn in 0..200 {
        at(&mut tap, u64::from(psn) * 300);
        tap.send(out, WRITE_ONLY, psn);
        if psn < 100 {
            tap.ack(back, psn, psn + 1);
        }
    }
    at(&mut tap, 59_900);
    tap.nak(back, 100, 100);
    for psn in 100..200 {
        at(&mut tap, 70_000 + u64::from(psn) * 300);
        tap.send(out, WRITE_ONLY, psn).ack(back, psn, psn + 1);
    }
    let seen = tap.finish();
    assert_eq!((seen.totals.mirror_copies, seen.flows[0].requests.seen_again), (0, 100));
}

#[test]
fn answers_that_say_the_same_again_are_no_doubles() {
    // The answers alone: one NAK came to two places, and a run of repeats was answered packet by packet.
    let (_, back) = connection();
    let mut tap = Tap::default();
    for psn in [2, 3, 3, 7, 10, 10, 14, 17] {
        tap.now -= 8_000;
        tap.nak(back, psn, 0);
    }
    for _ in 0..16 {
        tap.now -= 8_000;
        tap.ack(back, 49, 9);
    }
    let seen = tap.finish();
    let flow = &seen.flows[0];
    assert_eq!((seen.totals.mirror_copies, flow.acks, flow.naks.psn_sequence_error), (0, 16, 8));
}
