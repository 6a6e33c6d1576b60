//! Why a request was sent again.

use rocetop_analysis::story::StoryReport;
use rocetop_analysis::story::report::{Cause, Kind, Recovery};
use rocetop_parsers::Facts;
use rocetop_parsers::ib::aeth::{Aeth, NakCode, Syndrome};

use crate::faults::Faults;
use crate::kit::{ACK, Tap, connection};
use crate::model::{Message, Why, run};
use crate::scenario::{Mix, clean};
use crate::tap::{PLACES, Place, requests, seen, story};

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

/// Where `Sent` is a request, `Ack`, `Nak` and `Rnr` answers.
#[derive(Clone, Copy)]
enum Step {
    Sent(u32),
    Ack(u32),
    Nak(u32),
    Rnr(u32),
}

/// The story of single packets at these times in microseconds, as the responder's tap sees them.
fn told(steps: &[(u64, Step)]) -> StoryReport {
    let (out, back) = connection();
    let mut tap = Tap::default();
    for &(at, step) in steps {
        let answer = |psn, syndrome| Facts { aeth: Aeth::new(syndrome, 0), payload: 0, ..Tap::facts(back, ACK, psn) };
        let facts = match step {
            Step::Sent(psn) => Tap::facts(out, 0x0a, psn),
            Step::Ack(psn) => answer(psn, Syndrome::Ack(31)),
            Step::Nak(psn) => answer(psn, Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR)),
            Step::Rnr(psn) => answer(psn, Syndrome::RnrNak(1)),
        };
        tap.add(1_000_000_000 + at * 1_000, facts);
    }
    requests(&tap.finish()).story.clone().unwrap()
}

#[test]
fn a_wait_ends_with_the_acknowledgement_of_what_was_on_its_way() {
    // 101 is late; all repeats are on their way when the receiver is not ready for 103, and one of them is accepted.
    let sent = |at, psn| (at, Step::Sent(psn));
    let mut steps = vec![sent(0, 100), sent(2, 102), (3, Step::Nak(101)), sent(4, 103)];
    steps.extend([sent(20, 101), sent(21, 102), sent(22, 103), (23, Step::Rnr(103))]);
    assert!(told(&steps).rnr_unresolved);
    steps.extend([sent(24, 103), (25, Step::Ack(103)), sent(26, 104), (27, Step::Ack(104))]);
    assert!(!told(&steps).rnr_unresolved);
}

#[test]
fn what_comes_late_in_a_wait_is_not_what_was_asked_for() {
    let mut steps: Vec<(u64, Step)> = [100, 101, 102, 103, 104].map(|p| (u64::from(p) - 100, Step::Sent(p))).to_vec();
    steps.extend([(5, Step::Ack(104)), (6, Step::Sent(106)), (7, Step::Nak(105))]);
    steps.extend([107, 108, 109].map(|p| (u64::from(p) - 99, Step::Sent(p))));
    steps.extend([(32, Step::Sent(105)), (33, Step::Ack(105)), (34, Step::Sent(106)), (35, Step::Rnr(106))]);
    steps.extend([107, 108, 109].map(|p| (u64::from(p) - 70, Step::Sent(p))));
    // Here is the first 105, and then what the receiver waited for.
    steps.extend([(51, Step::Sent(105)), (52, Step::Ack(105))]);
    steps.extend([106, 107, 108, 109].map(|p| (u64::from(p) - 44, Step::Sent(p))));
    steps.extend([(66, Step::Ack(109))]);
    let story = told(&steps);
    assert_eq!((story.lost_before_tap, story.lost_or_late, story.reordered), (0, 0, 1));
    let by = &story.retransmissions.by_cause;
    assert_eq!((by.nak, by.rnr, story.retransmissions.total, story.rnr_unresolved), (5, 4, 9, false));
}

#[test]
fn a_first_packet_that_is_late_is_asked_for_too() {
    let mut steps = vec![(0, Step::Sent(101)), (1, Step::Nak(100)), (2, Step::Sent(102)), (3, Step::Sent(100))];
    steps.extend([(4, Step::Ack(100)), (5, Step::Sent(103))]);
    steps.extend([100, 101, 102, 103].map(|p| (u64::from(p) - 75, Step::Sent(p))));
    steps.extend([(29, Step::Ack(103)), (40, Step::Sent(104)), (41, Step::Ack(104))]);
    let story = told(&steps);
    assert_eq!((story.lost_before_tap, story.timeouts), (0, 0));
    assert_eq!((story.retransmissions.by_cause.nak, story.retransmissions.total), (4, 4));
    assert_eq!(story.near_evidence.naks_for_seen, 0);
}

#[test]
fn a_timer_that_resumes_where_a_nak_was_served_is_a_timer() {
    let sent = |at: u64, psns: std::ops::Range<u32>| psns.zip(at..).map(|(p, at)| (at, Step::Sent(p)));
    let mut steps: Vec<(u64, Step)> = sent(0, 100..105).collect();
    steps.extend([(5, Step::Ack(104)), (6, Step::Sent(106)), (7, Step::Nak(105))]);
    steps.extend(sent(8, 107..110));
    // Sent again and acknowledged; the first 105 comes late; the acknowledgements are lost on their way.
    steps.extend(sent(22, 105..110));
    steps.extend([(28, Step::Ack(109)), (41, Step::Sent(105))]);
    let mut slow = steps.clone();
    steps.extend(sent(1_000, 106..110));
    steps.extend([(1_010, Step::Ack(109)), (1_020, Step::Sent(110)), (1_021, Step::Ack(110))]);
    let story = told(&steps);
    let by = &story.retransmissions.by_cause;
    assert_eq!((by.nak, by.timeout, story.timeouts, story.retransmissions.total), (5, 4, 1, 9));
    // What nobody had acknowledged may come from a sender that is slow.
    slow.retain(|(at, _)| *at != 28);
    slow.extend(sent(1_000, 106..110));
    slow.extend([(1_010, Step::Ack(109)), (1_020, Step::Sent(110)), (1_021, Step::Ack(110))]);
    let story = told(&slow);
    let by = &story.retransmissions.by_cause;
    assert_eq!((by.nak, by.timeout, story.timeouts, story.retransmissions.total), (9, 0, 0, 9));
}

#[test]
fn one_packet_that_is_sent_again_is_no_habit() {
    let mut steps: Vec<(u64, Step)> = (100..110).map(|p| (u64::from(p) - 100, Step::Sent(p))).collect();
    steps.extend([(20, Step::Ack(102)), (23, Step::Nak(103)), (24, Step::Sent(103))]);
    let again = |psns: std::ops::Range<u32>| psns.map(|p| (u64::from(p) - 80, Step::Sent(p)));
    let ends = [(44, Step::Ack(109)), (45, Step::Sent(110)), (64, Step::Ack(110))];
    let recovery = |more: &[(u64, Step)]| told(&[&steps, more].concat()).recovery;
    assert_eq!(recovery(&[]), Recovery::Unknown);
    assert_eq!(recovery(&ends[..1]), Recovery::Unknown);
    assert_eq!(recovery(&ends), Recovery::Selective);
    let back: Vec<_> = again(104..110).chain(ends).collect();
    assert_eq!(recovery(&back), Recovery::GoBackN);
    // It is cut short: the first few of a burst that was lost would look the same.
    assert_eq!(recovery(&back[..3]), Recovery::Unknown);
}

#[test]
fn a_burst_that_is_mended_alone_is_no_going_back() {
    // Every packet that comes too early draws a NAK that names the first one missing, as in selective repeat.
    let recovery = |again: &[u32], acked_first: bool| {
        let mut steps: Vec<(u64, Step)> = (100..120).map(|p| (u64::from(p) - 100, Step::Sent(p))).collect();
        steps.extend((20..24).map(|at| (at, Step::Nak(103))));
        steps.extend(again.iter().zip(24..).map(|(&p, at)| (at, Step::Sent(p))));
        let more = [(50, Step::Sent(120)), (51, Step::Sent(121))];
        if acked_first {
            steps.extend([(48, Step::Ack(119))]);
        }
        steps.extend(more);
        steps.extend([(80, Step::Ack(121))]);
        told(&steps).recovery
    };
    assert_eq!(recovery(&[103, 104, 105], false), Recovery::Selective);
    assert_eq!(recovery(&[103, 107, 112], false), Recovery::Selective);
    assert_eq!(recovery(&[103, 107, 112], true), Recovery::Selective);
    // An answer may have stopped a sender that goes through all of it.
    assert_eq!(recovery(&[103, 104, 105], true), Recovery::Unknown);
    let all: Vec<u32> = (103..120).collect();
    assert_eq!(recovery(&all, false), Recovery::GoBackN);
}

#[test]
fn what_no_nak_names_may_have_been_missed_by_the_capture() {
    // In a window of 40, one packet is lost, and what comes behind it is dropped by the responder, whatever the capture
    // saw.
    let told = |losses: u32| {
        let mut steps = vec![(0, Step::Sent(99)), (1, Step::Ack(99))];
        for n in 0..losses {
            let (at, from) = (u64::from(n) * 1_000 + 10, 100 + n * 400);
            let sent = |at, psns: std::ops::Range<u32>| psns.zip(at..).map(|(p, at)| (at, Step::Sent(p)));
            steps.extend(sent(at, from + 1..from + 10));
            steps.push((at + 2, Step::Nak(from)));
            steps.extend(sent(at + 10, from + 11..from + 40));
            steps.extend(sent(at + 60, from..from + 400));
            steps.push((at + 461, Step::Ack(from + 399)));
        }
        steps.sort_by_key(|&(at, _)| at);
        let story = told(&steps);
        (story.lost_before_tap, story.lost_or_late, story.reordered)
    };
    assert_eq!(told(1), (1, 1, 0));
    assert_eq!(told(2), (2, 2, 0));
    // A network that is known to lose packets loses those, too.
    assert_eq!(told(3), (6, 0, 0));
}

#[test]
fn a_nak_that_is_on_its_way_is_heeded_before_a_wait() {
    // In the middle: 101 and 102 came late behind the tap and were accepted, there was no buffer for 103.
    let mut steps: Vec<(u64, Step)> = (100..106).map(|p| (u64::from(p) - 100, Step::Sent(p))).collect();
    steps.extend([(40, Step::Ack(100)), (44, Step::Nak(101)), (45, Step::Ack(102)), (47, Step::Rnr(103))]);
    steps.extend([(90, Step::Sent(101)), (91, Step::Sent(102)), (130, Step::Ack(102))]);
    steps.extend([(140, Step::Sent(103)), (141, Step::Sent(104)), (142, Step::Sent(105)), (180, Step::Ack(105))]);
    let story = told(&steps);
    let by = &story.retransmissions.by_cause;
    assert_eq!((by.nak, by.rnr, by.timeout, story.timeouts, story.retransmissions.total), (2, 3, 0, 0, 5));
    assert_eq!((story.rnr_waits, story.rnr_unresolved, story.stall_ns), (1, false, 93_000));
    // What was sent again belongs to what asked for it, though all had arrived by then.
    let told: Vec<_> = story.episodes.iter().map(|e| (e.kind, e.cause, e.repeats)).collect();
    assert_eq!(told, [(Kind::Reordered, Some(Cause::Nak), 2), (Kind::Rnr, Some(Cause::Rnr), 3)]);
}

#[test]
fn answers_to_what_came_twice_keep_no_timer_from_running() {
    // 30 ms there and back, 10 ms of patience, four WRITEs out at once.
    let mut steps = Vec::new();
    for group in 0..4 {
        let (at, first) = (group * 30_010, 100 + group as u32 * 4);
        for n in 0..4u32 {
            let at = at + u64::from(n);
            steps.extend((0..3).map(|k| (at + k * 10_004, Step::Sent(first + n))));
            steps.push((at + 30_000, Step::Ack(first + n)));
            steps.extend((1..3).map(|k| (at + k * 10_004 + 30_000, Step::Ack(first + 3))));
        }
    }
    steps.sort_by_key(|&(at, _)| at);
    let story = told(&steps);
    let by = &story.retransmissions.by_cause;
    assert_eq!((by.timeout, by.unknown, story.timeouts, story.lost_acks), (32, 0, 8, 0));
    let kinds: Vec<_> = story.episodes.iter().map(|e| e.kind).collect();
    // Before the first answer, nobody knows how long the way is.
    let early = Kind::EarlyTimeout;
    assert_eq!(kinds, [Kind::RequestOrAckLost, early, early, early]);
    assert_eq!(story.episodes[1].waited_ns, Some(10_004_000));
}

#[test]
fn what_comes_right_after_its_nak_and_once_more_was_late() {
    // 101 to 103 come late, 1 us behind their NAK; what that asks for comes 40 us later. Then there is no buffer for
    // 103.
    let sent = |at: u64, psns: std::ops::Range<u32>| psns.zip(at..).map(|(p, at)| (at, Step::Sent(p)));
    let mut steps = vec![(0, Step::Sent(100)), (1, Step::Ack(100)), (2, Step::Sent(104)), (3, Step::Nak(101))];
    steps.extend(sent(4, 101..104));
    steps.extend([(7, Step::Ack(102)), (8, Step::Rnr(103))]);
    steps.extend(sent(44, 101..103));
    steps.extend([(47, Step::Ack(102))]);
    steps.extend(sent(95, 103..106));
    steps.extend([(99, Step::Ack(105))]);
    let story = told(&steps);
    let by = &story.retransmissions.by_cause;
    assert_eq!((by.nak, by.rnr, story.retransmissions.total), (2, 2, 4));
    assert_eq!((story.lost_before_tap, story.lost_or_late, story.reordered, story.timeouts), (0, 0, 3, 0));
}
