//! Cut frames, whose ICRC proves nothing, and damage in them.

use rocetop_parsers::icrc::Icrc;

use crate::kit::*;

fn cut(tap: &mut Tap, way: Way, opcode: u8, psn: u32) {
    tap.packet(way, Tap::facts(way, opcode, psn), Icrc::Unknown);
}

#[test]
fn a_psn_that_nothing_follows_is_no_gap() {
    let (out, _) = connection();
    let mut tap = Tap::default();
    for psn in 1000..1200 {
        // One flipped bit: ahead, and behind.
        let damaged = match psn {
            1050 => psn | 1 << 20,
            1100 => (psn - 1000) | 1 << 23,
            1150 => psn | 1 << 15,
            _ => psn,
        };
        cut(&mut tap, out, WRITE_ONLY, damaged);
    }
    let seen = tap.finish();
    assert_eq!(seen.flows.len(), 1);
    let r = &seen.flows[0].requests;
    // Each is missing where it should have been.
    assert_eq!((r.packets, r.gaps, r.gap_psns, r.behind, r.messages), (197, 3, 3, 0, 197));
    let wild = seen.flows[0].marks.as_ref().unwrap().wild.as_ref().unwrap();
    assert_eq!((wild.count, wild.frames().len(), seen.totals.wild), (3, 2, 3));
}

#[test]
fn a_jump_that_is_gone_on_from_is_a_gap() {
    let (out, _) = connection();
    let mut tap = Tap::default();
    for psn in (0..100).chain(20_000..20_100) {
        cut(&mut tap, out, WRITE_ONLY, psn);
    }
    let r = &tap.finish().flows[0].requests;
    assert_eq!((r.packets, r.gaps, r.gap_psns), (200, 1, 19_900));
}

#[test]
fn what_an_icrc_proves_is_believed_at_once() {
    let (out, _) = connection();
    let mut tap = Tap::default();
    tap.send(out, WRITE_ONLY, 5).send(out, WRITE_ONLY, 30_000).send(out, WRITE_ONLY, 6);
    let r = &tap.finish().flows[0].requests;
    assert_eq!((r.packets, r.gaps, r.gap_psns, r.behind), (3, 1, 29_994, 1));
}

#[test]
fn the_first_packet_may_be_the_wild_one() {
    let (out, _) = connection();
    let mut tap = Tap::default();
    for psn in [0x7f_0000, 10, 11, 12] {
        cut(&mut tap, out, WRITE_ONLY, psn);
    }
    let seen = tap.finish();
    let figures: Vec<_> = seen.flows.iter().map(|f| (f.requests.packets, f.requests.gap_psns)).collect();
    assert_eq!(figures, [(1, 0), (3, 0)]);
}

#[test]
fn answers_to_what_was_never_asked_tell_nothing() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for psn in 0..200 {
        cut(&mut tap, out, WRITE_ONLY, psn);
        let wild = if psn % 40 == 39 { psn | 1 << 22 } else { psn };
        let nak = psn % 40 == 39;
        let facts = Tap::facts(back, ACK, wild);
        let aeth = if nak { 0x6000_0000 } else { 0x1f00_0000 } | psn;
        tap.packet(
            back,
            rocetop_parsers::Facts { aeth: rocetop_parsers::ib::aeth::Aeth(aeth), ..facts },
            Icrc::Unknown,
        );
    }
    let seen = tap.finish();
    let story = seen.flows[0].story.as_ref().unwrap();
    assert_eq!((story.lost_or_late, story.near_evidence.naks_for_seen, story.retransmissions.total), (0, 0, 0));
    assert_eq!(seen.flows[1].naks.psn_sequence_error, 0);
}

#[test]
fn what_overtakes_others_is_believed() {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for psn in (0..50).chain([60]).chain(50..60).chain(61..100) {
        cut(&mut tap, out, WRITE_ONLY, psn);
    }
    tap.ack(back, 99, 100);
    let seen = tap.finish();
    let r = &seen.flows[0].requests;
    assert_eq!((r.packets, r.gaps, r.gap_psns, r.filled, r.never_seen), (100, 1, 10, 10, 0));
    assert!(seen.flows[0].marks.is_none());
}

#[test]
fn losses_of_cut_frames_are_told_as_those_of_whole_ones() {
    let (out, back) = connection();
    let tell = |icrc: Icrc| {
        let mut tap = Tap::default();
        let send = |tap: &mut Tap, psn: u32| {
            tap.packet(out, Tap::facts(out, WRITE_ONLY, psn), icrc);
        };
        send(&mut tap, 0);
        tap.ack(back, 0, 1);
        for psn in (1..20).chain([23]) {
            send(&mut tap, psn);
        }
        tap.nak(back, 20, 20);
        for psn in (24..27).chain(20..40) {
            send(&mut tap, psn);
        }
        tap.ack(back, 39, 40);
        let story = tap.finish().flows.swap_remove(0).story.unwrap();
        (story.lost_before_tap, story.lost_or_late, story.retransmissions, story.nak_generation_ns, story.message_ns)
    };
    assert_eq!(tell(Icrc::Unknown), tell(Icrc::Ok));
    assert_eq!(tell(Icrc::Ok).0, 3);
}

/// PSNs as they pass a tap: windows of sixteen, of which some are lost, late or come twice, and what is sent again.
fn rough(seed: u64) -> Vec<(u32, Option<u32>)> {
    let mut state = seed;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut passed = Vec::new();
    for window in 0..40 {
        let (first, mut sent) = (window * 16, Vec::new());
        let mut lost = None;
        for psn in first..first + 16 {
            match draw(12) {
                0 => lost = lost.or(Some(psn)),
                1 => sent.extend([psn, psn]),
                2 => sent.insert(sent.len().saturating_sub(3), psn),
                _ => sent.push(psn),
            }
        }
        passed.extend(sent.into_iter().map(|psn| (psn, None)));
        if let Some(lost) = lost {
            passed.push((lost, Some(lost)));
            passed.extend((lost + 1..first + 16).map(|psn| (psn, None)));
        }
    }
    passed
}

#[test]
fn whatever_happens_near_is_the_same_in_cut_frames() {
    let (out, back) = connection();
    for seed in 0..200 {
        let tell = |icrc: Icrc| {
            let mut tap = Tap::default();
            for (psn, nak) in rough(seed) {
                if let Some(nak) = nak {
                    tap.nak(back, nak, nak);
                }
                tap.packet(out, Tap::facts(out, WRITE_ONLY, psn), icrc);
            }
            tap.ack(back, 639, 640);
            let seen = tap.finish();
            format!("{} {:?} {:?}", seen.totals.wild, seen.flows[0].requests, seen.flows[0].story)
        };
        assert_eq!(tell(Icrc::Unknown), tell(Icrc::Ok), "{seed}");
    }
}
