//! Why a request was sent again.

use crate::faults::Faults;
use crate::model::{Message, Why, run};
use crate::scenario::{Mix, clean};
use crate::tap::{PLACES, Place, seen, story};

#[test]
fn a_lost_request_in_mid_stream_is_a_naks() {
    let mut lost = 0;
    let mut faults = Faults::default();
    for seed in 0..400 {
        let mut s = clean(seed, Mix::Sent);
        // One packet, well before the end, so that the next ones show the hole.
        s.messages = vec![Message::Write(90), Message::Write(3), Message::Send(40)];
        (s.window, s.links[seed as usize % 2].chosen) = (256, vec![20 + seed % 50]);
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, false);
            let story = story(&seen, records, &why);
            let by = &story.retransmissions.by_cause;
            let seen_all = place == Place::Requester && truth.timeouts == 0;
            if seen_all {
                faults.same("as it was sent", (by.nak, truth.again(Why::Nak)), &why, story);
            }
            if truth.timeouts == 0 {
                faults.same("by.nak", (by.nak, story.retransmissions.total), &why, story);
                faults.same("(timeouts, stall_ns)", ((story.timeouts, story.stall_ns), (0, 0)), &why, story);
                lost += 1;
            }
        }
    }
    faults.none();
    assert!(lost > 600, "{lost}");
}

#[test]
fn a_lost_end_is_a_timers() {
    let mut faults = Faults::default();
    for seed in 0..400 {
        let mut s = clean(seed, Mix::Sent);
        s.messages = vec![Message::Write(5), Message::Send(1), Message::Write(14)];
        s.ack_each = 0;
        s.links[seed as usize % 2].chosen = vec![19];
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, false);
            let story = story(&seen, records, &why);
            let by = &story.retransmissions.by_cause;
            faults.same("by.timeout", (by.timeout, story.retransmissions.total), &why, story);
            faults.same(
                "(lost_before_tap, reordered)",
                ((story.lost_before_tap, story.reordered), (0, 0)),
                &why,
                story,
            );
        }
    }
    faults.none();
}

#[test]
fn a_receiver_that_is_not_ready_is_that() {
    let mut faults = Faults::default();
    for seed in 0..400 {
        let mut s = clean(seed, Mix::Sent);
        s.silent_rest = seed % 2 == 0;
        s.messages = vec![Message::Write(3), Message::Send(2), Message::Send(30), Message::Write(5), Message::Send(1)];
        s.not_ready = vec![(3, 1), (5, 2), (40, 3)];
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, false);
            let story = story(&seen, records, &why);
            let by = &story.retransmissions.by_cause;
            if place == Place::Requester {
                faults.same("as it was sent", (by.rnr, truth.again(Why::Rnr)), &why, story);
            }
            faults.same("by.rnr", (by.rnr, story.retransmissions.total), &why, story);
            faults.same(
                "(rnr_waits, rnr_timer_us, rnr_unresolved)",
                ((story.rnr_waits, story.rnr_timer_us, story.rnr_unresolved), (6, Some(1_280), false)),
                &why,
                story,
            );
            faults.same(
                "(lost_or_late, timeouts, naks_repeated)",
                ((story.lost_or_late, story.timeouts, story.naks_repeated), (0, 0, 0)),
                &why,
                story,
            );
        }
    }
    faults.none();
}

#[test]
fn a_lost_response_is_asked_for_again() {
    let mut faults = Faults::default();
    for seed in 0..400 {
        let mut s = clean(seed, Mix::Read);
        s.links[2 + seed as usize % 2].loss = 10_000;
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, seed % 2 == 0);
            let story = story(&seen, records, &why);
            let by = &story.retransmissions.by_cause;
            faults.same("(by.nak, by.rnr)", ((by.nak, by.rnr), (0, 0)), &why, story);
            faults.same(
                "(lost_before_tap, lost_or_late, reordered)",
                ((story.lost_before_tap, story.lost_or_late, story.reordered), (0, 0, 0)),
                &why,
                story,
            );
            if truth.timeouts == 0 {
                faults.same("(by.timeout, timeouts)", ((by.timeout, story.timeouts), (0, 0)), &why, story);
            }
        }
    }
    faults.none();
}

#[test]
fn a_lost_ack_is_not_a_lost_request() {
    let mut faults = Faults::default();
    for seed in 0..800 {
        let mut s = clean(seed, Mix::Sent);
        s.links[2].loss = 50_000;
        s.links[3].loss = 50_000;
        let truth = run(&s);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, seed % 2 == 0);
            let story = story(&seen, records, &why);
            let by = &story.retransmissions.by_cause;
            faults.same("by.timeout", (by.timeout, story.retransmissions.total), &why, story);
            faults.same(
                "(lost_before_tap, lost_or_late, reordered)",
                ((story.lost_before_tap, story.lost_or_late, story.reordered), (0, 0, 0)),
                &why,
                story,
            );
            faults.same(
                "(missed_by_capture, naks_repeated)",
                ((story.missed_by_capture, story.naks_repeated), (0, 0)),
                &why,
                story,
            );
            let lost = truth.lost(2..4, |_| true);
            faults.check("lost_acks <= lost", story.lost_acks <= lost, &why, story);
            faults.same("timeouts", (story.timeouts, truth.timeouts), &why, story);
        }
    }
    faults.few(&[("by.timeout", 2), ("timeouts", 2)]);
}
