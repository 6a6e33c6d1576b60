//! What a timer sends again, and what only looks like it.

use rocetop_analysis::Severity;
use rocetop_analysis::story::report::{ByCause, Cause, Kind};
use rocetop_parsers::facts::Flags;

use crate::kit::*;

const TIMER: u64 = 4_000_000;

fn at_responder() -> (Way, Way) {
    let (out, back) = connection();
    (Way { ttl: 62, ..out }, back)
}

fn timeout(repeats: u64) -> ByCause {
    ByCause { timeout: repeats, ..ByCause::default() }
}

#[test]
fn the_first_window_is_a_timers_once_an_answer_comes() {
    let (out, back) = at_requester();
    for (tries, answers) in [(1, true), (3, true), (1, false)] {
        let mut tap = Tap::default();
        sends(&mut tap, out, 0..8);
        for _ in 0..tries {
            tap.wait(TIMER);
            sends(&mut tap, out, 0..8);
        }
        if answers {
            tap.ack(back, 7, 8);
        }
        let seen = tap.finish();
        let told = only_story(&seen);
        let by = told.retransmissions.by_cause;
        if !answers {
            assert_eq!((by, told.timeouts), (ByCause { unknown: 8, ..ByCause::default() }, 0));
            continue;
        }
        assert_eq!((by, told.timeouts), (timeout(8 * tries), tries));
        assert_eq!(told.timeout_ns, (tries > 1).then_some(2_097_152), "the largest power of two below 4 ms");
        assert_eq!(told.episodes[0].kind, Kind::RequestOrAckLost);
        assert_eq!(seen.found("RT003").severity, Severity::Warning);
    }
}

#[test]
fn a_refusal_that_nobody_could_place_asked_for_it() {
    // Paired by their answers alone, and the first was a NAK.
    let (out, back) = at_requester();
    let (out, back) = (Way { sport: 50_001, ..out }, Way { sport: 50_002, ..back });
    let mut tap = Tap::default();
    sends(&mut tap, out, 5_000..5_008);
    tap.nak(back, 5_000, 0).wait(TIMER);
    sends(&mut tap, out, 5_000..5_008);
    for n in 0..8 {
        tap.ack(back, 5_000 + n, n + 1);
    }
    let told = only_story(&tap.finish());
    assert_eq!(told.retransmissions.by_cause.timeout, 0, "{:?}", told.retransmissions);
}

#[test]
fn lost_answers_begin_no_other_life() {
    let (out, back) = at_responder();
    let mut tap = Tap::default();
    for n in 0..100 {
        tap.send(out, SEND_ONLY, n).ack(back, n, n + 1);
    }
    tap.wait(TIMER);
    for n in 0..100 {
        tap.send(out, SEND_ONLY, n).ack(back, 99, 100);
    }
    let seen = tap.finish();
    let told = only_story(&seen);
    assert_eq!((told.retransmissions.by_cause, told.timeouts), (timeout(100), 1));
    assert!(seen.findings.iter().all(|f| f.code != "RT045"));
}

#[test]
fn what_was_never_acknowledged_begins_no_other_life() {
    // The first packets were lost before the tap, and the NAK behind it.
    let (out, back) = at_responder();
    let mut tap = Tap::default();
    sends(&mut tap, out, 33..80);
    tap.nak(back, 0, 0).wait(TIMER);
    for n in 0..80 {
        tap.send(out, SEND_ONLY, n).ack(back, n, n + 1);
    }
    assert_eq!(only_story(&tap.finish()).retransmissions.total, 47);
}

#[test]
fn a_repeat_that_was_lost_too_makes_no_timer_early() {
    let (out, back) = at_requester();
    let mut tap = Tap::default();
    // A way there and back of 50 us.
    for n in 0..4 {
        tap.send(out, SEND_ONLY, n).wait(40_000).ack(back, n, n + 1);
    }
    sends(&mut tap, out, 4..10);
    tap.nak(back, 4, 4);
    sends(&mut tap, out, 4..10);
    tap.wait(67_000_000);
    // Its answer comes after 10 us, sooner than any before.
    for n in 4..10 {
        tap.send(out, SEND_ONLY, n).ack(back, n, n + 1);
    }
    let seen = tap.finish();
    let told = only_story(&seen);
    assert_eq!(told.timeouts, 1);
    assert!(told.episodes.iter().all(|e| e.kind != Kind::EarlyTimeout), "{:?}", told.episodes);
    assert!(seen.codes(Severity::Warning).contains(&"RT003"));
    assert!(!seen.codes(Severity::Info).contains(&"RT011"));
}

#[test]
fn a_timer_that_comes_to_what_a_lost_nak_asked_for_is_a_timer() {
    let (out, back) = at_responder();
    let mut tap = Tap::default();
    sends(&mut tap, out, [0, 1, 2, 4, 5, 6]);
    tap.nak(back, 3, 3).wait(67_000_000);
    sends(&mut tap, out, 0..7);
    tap.ack(back, 6, 7);
    let told = only_story(&tap.finish());
    assert_eq!((told.retransmissions.by_cause, told.timeouts), (timeout(6), 1));
    assert_eq!((told.lost_or_late + told.lost_before_tap, told.nak_reaction_ns.count), (1, 0));
}

#[test]
fn a_timer_that_begins_there_is_a_timer() {
    let (out, back) = at_responder();
    for (wait, nak) in [(67_000_000, false), (30_000_000, true)] {
        let mut tap = Tap::default();
        sends(&mut tap, out, [0, 1, 2, 4, 5, 6]);
        tap.nak(back, 3, 3).wait(wait);
        sends(&mut tap, out, 3..7);
        tap.ack(back, 6, 7);
        let by = only_story(&tap.finish()).retransmissions.by_cause;
        // 30 ms are a long way there and back, too.
        assert_eq!((by.nak, by.timeout), if nak { (3, 0) } else { (0, 3) }, "{wait}");
    }
}

#[test]
fn a_timer_runs_out_amid_sending() {
    let (out, back) = at_requester();
    for (waited, timer) in [(600, true), (20, false)] {
        let mut tap = Tap::default();
        let asks = |tap: &mut Tap, psn| {
            let mut facts = Tap::facts(out, SEND_ONLY, psn);
            facts.flags = facts.flags.with(Flags::ACK_REQ);
            tap.facts_at(out, facts);
            // A packet a microsecond.
            tap.now -= 9_000;
        };
        for n in 0..4 {
            asks(&mut tap, n);
            tap.ack(back, n, n + 1);
        }
        (4..4 + waited).for_each(|n| asks(&mut tap, n));
        (4..10).for_each(|n| asks(&mut tap, n));
        tap.ack(back, 3 + waited, 4 + waited);
        let told = only_story(&tap.finish());
        let expected = if timer { timeout(6) } else { ByCause { unknown: 6, ..ByCause::default() } };
        assert_eq!((told.retransmissions.by_cause, told.timeouts), (expected, u64::from(timer)), "{waited}");
    }
}

#[test]
fn a_run_whose_first_packets_were_lost_fills_holes_with_nothing_late() {
    let (out, back) = at_responder();
    let mut tap = Tap::default();
    sends(&mut tap, out, (0..11).chain([13]));
    tap.nak(back, 11, 11);
    sends(&mut tap, out, 14..21);
    // The NAK's repeats are lost but for the first; what follows is lost in part.
    sends(&mut tap, out, [11, 21].into_iter().chain(23..31));
    tap.wait(300_000);
    sends(&mut tap, out, 15..31);
    let told = only_story(&tap.finish());
    assert_eq!(told.reordered, 0, "{:?}", told.episodes);
}

#[test]
fn the_repeat_of_a_run_that_a_nak_asked_for_is_no_networks_copy() {
    let (out, back) = at_responder();
    let mut tap = Tap::default();
    sends(&mut tap, out, [50, 51, 52, 54]);
    tap.nak(back, 53, 53);
    // The sender goes back to 53, and only the last of its repeats arrives.
    tap.send(out, SEND_ONLY, 55);
    tap.now -= 9_900;
    sends(&mut tap, out, [55, 56, 57]);
    let told = only_story(&tap.finish());
    assert_eq!((told.duplicated_by_network, told.retransmissions.by_cause.nak), (0, 1), "{:?}", told.episodes);
}

#[test]
fn what_a_nak_named_is_no_lost_answer() {
    let (out, back) = at_requester();
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Nak {
        None,
        Unheeded,
        Heeded,
        OfEarlier,
        AfterTheTimer,
    }
    for nak in [Nak::None, Nak::Unheeded, Nak::Heeded, Nak::OfEarlier, Nak::AfterTheTimer] {
        let mut tap = Tap::default();
        sends(&mut tap, out, 0..4);
        tap.ack(back, 3, 4);
        sends(&mut tap, out, 4..8);
        if nak == Nak::OfEarlier {
            // It came late and was acknowledged: that it had been named says nothing of the timer.
            tap.nak(back, 4, 4).ack(back, 4, 5);
        } else if nak != Nak::None && nak != Nak::AfterTheTimer {
            tap.nak(back, 4, 4);
        }
        if nak == Nak::Heeded {
            sends(&mut tap, out, 4..8);
        }
        // Longer than any way that a NAK and what it asks for may take.
        tap.wait(20 * TIMER);
        sends(&mut tap, out, 4..8);
        if nak == Nak::AfterTheTimer {
            tap.nak(back, 5, 5);
            sends(&mut tap, out, 5..8);
        }
        tap.ack(back, 7, 8);
        let seen = tap.finish();
        assert_eq!(seen.found("RT003").severity, Severity::Warning, "{nak:?}");
        let doubt = matches!(nak, Nak::None | Nak::OfEarlier);
        assert_eq!(seen.findings.iter().any(|f| f.code == "RT009"), doubt, "{nak:?}: {:?}", seen.findings);
        let kind = only_story(&seen).episodes.iter().find(|e| e.cause == Some(Cause::Timeout)).map(|e| e.kind);
        assert_eq!(kind == Some(Kind::RequestLost), !doubt, "{nak:?} {kind:?}");
    }
}

/// A lone request after a second in which nothing was out, or while another one is; sent again after these times, in
/// ms, each since the one before. What the finding advises.
fn tried(beside: bool, waits: &[u64]) -> String {
    let (out, back) = at_requester();
    let mut tap = Tap::default();
    for psn in 0..20 {
        asking(&mut tap, out, psn);
        tap.ack(back, psn, psn + 1);
    }
    tap.wait(1_000_000_000);
    if beside {
        // Its answer is not the one that is lost: the timer goes on.
        asking(&mut tap, out, 20);
        tap.wait(40_000_000);
    }
    let psn = 20 + u32::from(beside);
    asking(&mut tap, out, psn);
    if beside {
        tap.ack(back, 20, 21);
    }
    for ms in waits {
        tap.wait(ms * 1_000_000);
        asking(&mut tap, out, psn);
    }
    tap.ack(back, psn, psn + 1);
    tap.finish().found("RT003").advice.clone()
}

fn asking(tap: &mut Tap, way: Way, psn: u32) {
    let mut facts = Tap::facts(way, SEND_ONLY, psn);
    facts.flags = facts.flags.with(Flags::ACK_REQ);
    tap.facts_at(way, facts);
}

#[test]
fn a_timer_ran_before_only_where_something_was_out() {
    assert!(!tried(false, &[40, 70]).contains("sooner than the timer takes"));
    assert!(tried(true, &[30, 70]).contains("sooner than the timer takes: the timer was running when it was sent."));
    // A timer that starts low and doubles.
    for beside in [false, true] {
        let advice = tried(beside, &[4, 9, 18]);
        assert!(advice.contains("the times between tries grow, as they do with adaptive retransmission."), "{advice}");
    }
}
