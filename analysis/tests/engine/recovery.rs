//! How a sender recovers, and to which episode each of its repeats belongs.

use rocetop_analysis::story::report::{Cause, Kind, Near, Recovery};
use rocetop_analysis::{Finding, Severity};
use rocetop_parsers::Facts;
use rocetop_parsers::ib::aeth::{Aeth, Syndrome};

use crate::kit::*;

fn has(findings: &[Finding], code: &str) -> bool {
    findings.iter().any(|f| f.code == code)
}

#[test]
fn a_tail_that_was_lost_as_a_whole_is_no_going_back() {
    // Of 64 packets the responder misses one and nearly all from the 16th on, and says so again and again.
    let (out, back) = at_requester();
    let arrived = |psn: u32| psn < 16 && psn != 5 || [20, 33].contains(&psn);
    for selective in [true, false] {
        let mut tap = Tap::default();
        sends(&mut tap, out, 0..64);
        tap.ack(back, 4, 5).nak(back, 5, 5);
        sends(&mut tap, out, 5..6);
        for _ in 0..7 {
            tap.nak(back, 5, 5);
        }
        sends(&mut tap, out, (6..64).filter(|&psn| !selective || !arrived(psn)));
        tap.ack(back, 63, 64);
        let seen = tap.finish();
        let told = only_story(&seen);
        assert_eq!(told.recovery == Recovery::GoBackN, !selective, "{:?}", told.recovery);
        assert_eq!(has(&seen.findings, "RT014"), !selective);
    }
    // Only the very last one arrived, and one of the many that were sent again was lost.
    let mut tap = Tap::default();
    sends(&mut tap, out, 0..200);
    tap.ack(back, 4, 5);
    for _ in 0..8 {
        tap.nak(back, 5, 5);
    }
    sends(&mut tap, out, 5..199);
    tap.nak(back, 50, 50);
    sends(&mut tap, out, 50..51);
    tap.ack(back, 199, 200);
    let seen = tap.finish();
    assert_ne!(only_story(&seen).recovery, Recovery::GoBackN);
    assert!(!has(&seen.findings, "RT014"));
}

#[test]
fn a_reads_later_responses_make_no_timer_early() {
    let (out, back) = at_requester();
    let response = |psn: u32, first: u32, last: u32| {
        let opcode = if psn == first {
            READ_FIRST
        } else if psn == last {
            READ_LAST
        } else {
            READ_MIDDLE
        };
        Facts { aeth: Aeth::new(Syndrome::Ack(31), 2), ..Tap::facts(back, opcode, psn) }
    };
    let all = |tap: &mut Tap, psns: std::ops::Range<u32>| {
        let (first, last) = (psns.start, psns.end - 1);
        for psn in psns {
            tap.facts_at(back, response(psn, first, last)).wait(200_000);
        }
    };
    let mut tap = Tap::default();
    tap.read(out, 0, 16 * 1024).read(out, 16, 16 * 1024);
    // The requester lacks one of the first READ's, asks for all again, and drops the second READ's; of which the last
    // one is lost.
    all(&mut tap, 0..16);
    all(&mut tap, 16..32);
    tap.read(out, 0, 16 * 1024);
    all(&mut tap, 0..16);
    // The way there and back is 10 us, and all of a READ's responses take 3 ms.
    tap.wait(4_000_000).read(out, 16, 16 * 1024);
    all(&mut tap, 16..32);
    let seen = tap.finish();
    let told = only_story(&seen);
    assert_eq!((told.timeouts, told.rtt_ns.count), (1, 0), "{told:?}");
    assert!(told.episodes.iter().all(|e| e.kind != Kind::EarlyTimeout), "{:?}", told.episodes);
    assert!(!has(&seen.findings, "RT011"));
}

#[test]
fn what_a_late_packet_costs_is_told_with_it() {
    let (out, back) = at_requester();
    let mut tap = Tap::default();
    for psn in 0..10 {
        tap.send(out, SEND_ONLY, psn).ack(back, psn, psn + 1);
    }
    // The 10th comes late, and what came while the responder waited for it is dropped from the 19th on.
    sends(&mut tap, out, 10..20);
    tap.nak(back, 10, 10);
    sends(&mut tap, out, 20..40);
    tap.ack(back, 18, 19).nak(back, 19, 19);
    sends(&mut tap, out, 19..40);
    tap.ack(back, 39, 40);
    let seen = tap.finish();
    let told = only_story(&seen);
    assert_eq!((told.reordered, told.lost_or_late, told.retransmissions.total), (1, 0, 21));
    let episodes: Vec<_> = told.episodes.iter().map(|e| (e.kind, e.cause, e.repeats)).collect();
    assert_eq!(episodes, [(Kind::Reordered, Some(Cause::Nak), 21)]);
}

#[test]
fn a_timer_that_runs_out_just_when_the_sender_goes_on_is_told() {
    let (out, back) = at_requester();
    let mut tap = Tap::default();
    for psn in 0..10 {
        tap.send(out, SEND_ONLY, psn).wait(120_000).ack(back, psn, psn + 1);
    }
    // Long before, a NAK was heeded.
    sends(&mut tap, out, 10..20);
    tap.nak(back, 10, 10);
    sends(&mut tap, out, 10..20);
    tap.ack(back, 19, 20);
    for psn in 20..30 {
        tap.send(out, SEND_ONLY, psn).wait(120_000).ack(back, psn, psn + 1);
    }
    tap.send(out, WRITE_FIRST, 30).wait(42_000_000).send(out, WRITE_MIDDLE, 31).wait(90_000);
    tap.send(out, WRITE_FIRST, 30).send(out, WRITE_MIDDLE, 31).send(out, WRITE_LAST, 32).ack(back, 32, 31);
    let seen = tap.finish();
    let told = only_story(&seen);
    let by = told.retransmissions.by_cause;
    assert_eq!((by.nak, by.timeout, by.unknown), (10, 2, 0), "{:?}", told.episodes);
    assert_eq!(told.episodes.iter().map(|e| e.repeats).sum::<u64>(), 12);
}

#[test]
fn the_timer_is_no_longer_than_the_shortest_time_between_tries() {
    // One with adaptive retransmission doubles it each time.
    let (out, back) = at_requester();
    let mut tap = Tap::default();
    for psn in 0..10 {
        tap.send(out, SEND_ONLY, psn).ack(back, psn, psn + 1);
    }
    sends(&mut tap, out, 10..11);
    for ms in [4, 4, 8, 16] {
        tap.wait(ms * 1_000_000).send(out, SEND_ONLY, 10);
    }
    tap.ack(back, 10, 11);
    let seen = tap.finish();
    let told = only_story(&seen);
    assert_eq!((told.timeouts, told.tries_apart_ns, told.timeout_ns), (4, Some(4_010_000), Some(2_097_152)));
    assert!(seen.codes(Severity::Warning).contains(&"RT003"));
}

#[test]
fn what_a_late_packet_left_behind_was_not_lost_before_the_tap() {
    // The answer to 10 to 15 was lost behind the tap. A timer sends them again, and the sender goes on up to 25: at the
    // responder 20 to 25 come before 15 to 19, and are dropped there. When these are in and 26 comes, it asks for 20.
    for stamped in [false, true] {
        let (out, back) = connection();
        let out = Way { ttl: 63, ..out };
        let mut tap = Tap::default();
        for psn in 0..10 {
            tap.send(out, SEND_ONLY, psn).ack(back, psn, psn + 1);
        }
        sends(&mut tap, out, 10..16);
        tap.wait(67_000_000);
        for psn in 10..15 {
            tap.send(out, SEND_ONLY, psn).ack(back, 15, 16);
        }
        let now = tap.now;
        tap.wait(10_000_000).send(out, SEND_ONLY, 20).nak(back, 16, 16);
        sends(&mut tap, out, 21..26);
        let then = tap.now;
        if stamped {
            // By their stamps they came in order.
            tap.now = now;
        }
        sends(&mut tap, out, 15..20);
        tap.now = then + 100_000;
        tap.ack(back, 19, 20).wait(10_000_000).send(out, SEND_ONLY, 26).nak(back, 20, 20);
        sends(&mut tap, out, 20..27);
        tap.ack(back, 26, 27);
        let seen = tap.finish();
        let story = only_story(&seen);
        // By the file alone, 16 to 19 may be repeats of what was lost. What had passed behind them was not.
        let (late, either) = if stamped { (4, 0) } else { (0, 4) };
        let told = (story.lost_before_tap, story.lost_or_late, story.reordered);
        assert_eq!((told, story.near), ((0, either, late), Near::Dst), "{stamped}");
        assert_eq!(story.near_evidence.naks_for_unseen, 1, "{stamped}");
        let kind = if stamped { Kind::Reordered } else { Kind::LostOrLate };
        let hole = story.episodes.iter().find(|e| e.kind == kind).unwrap();
        assert_eq!((hole.psn, hole.cause, hole.repeats), ([16, 19], Some(Cause::Nak), 7), "{stamped}");
        assert_eq!(has(&seen.findings, "RT001"), !stamped);
    }
}
