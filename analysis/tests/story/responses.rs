//! READ and atomic responses that are lost, or late and asked for again meanwhile.

use rocetop_analysis::story::StoryReport;
use rocetop_analysis::story::report::Kind;
use rocetop_parsers::Facts;
use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::aeth::{Aeth, NakCode, Syndrome};

use crate::faults::Faults;
use crate::kit::{ACK, READ_REQ, Tap, Way, connection};
use crate::model::{self, Rng, run};
use crate::scenario::{Mix, clean};
use crate::tap::{PLACES, Place, requests, seen, story};

/// What the requester's tap sees: microseconds, and a request or a response.
enum Line {
    Read(u64, u32, u32),
    Response(u64, u8, u32),
    Atomic(u64, u32),
    Result(u64, u32),
}

/// READs of 4 KiB before and after what the lines tell of PSNs 100 and up.
fn told(lines: &[Line]) -> StoryReport {
    let (mut out, mut back) = connection();
    (out.ttl, back.ttl) = (64, 62);
    let mut all: Vec<(u64, Facts)> = Vec::new();
    let read = |way: Way, psn, n| Facts { dma_len: n * 1024, ..Tap::facts(way, READ_REQ, psn) };
    let group = |all: &mut Vec<(u64, Facts)>, at: u64, first: u32| {
        all.push((at, read(out, first, 4)));
        for (n, opcode) in (0..).zip([0x0d, 0x0e, 0x0e, 0x0f]) {
            all.push((at + 20_000 + u64::from(n) * 300, Tap::facts(back, opcode, first + n)));
        }
    };
    group(&mut all, 0, 96);
    for line in lines {
        all.push(match *line {
            Line::Read(at, psn, n) => (100_000 + at, read(out, psn, n)),
            Line::Response(at, opcode, psn) => (100_000 + at, Tap::facts(back, opcode, psn)),
            Line::Atomic(at, psn) => (100_000 + at, Facts { payload: 0, ..Tap::facts(out, 0x14, psn) }),
            Line::Result(at, psn) => (100_000 + at, Facts { payload: 0, ..Tap::facts(back, 0x12, psn) }),
        });
    }
    group(&mut all, 300_000, 104);
    all.sort_by_key(|&(at, _)| at);
    let mut tap = Tap::default();
    for (at, facts) in all {
        tap.add(1_000_000_000 + at, facts);
    }
    requests(&tap.finish()).story.clone().unwrap()
}

/// A READ of 100..104 whose second response comes at `second` or never; the rest is asked for again at 21.5 us.
fn overtaken(second: Option<u64>) -> StoryReport {
    let mut lines = vec![
        Line::Read(0, 100, 4),
        Line::Response(20_000, 0x0d, 100),
        Line::Response(20_600, 0x0e, 102),
        Line::Response(20_900, 0x0f, 103),
        Line::Read(21_500, 101, 3),
        Line::Response(41_500, 0x0d, 101),
        Line::Response(41_800, 0x0e, 102),
        Line::Response(42_100, 0x0f, 103),
    ];
    lines.extend(second.map(|at| Line::Response(at, 0x0e, 101)));
    told(&lines)
}

#[test]
fn a_response_that_never_came_was_lost() {
    let story = overtaken(None);
    assert_eq!((story.lost_responses, story.retransmissions.by_cause.read_reissue), (1, 0));
    let [episode] = story.episodes.as_slice() else { panic!("{:#?}", story.episodes) };
    assert_eq!((episode.kind, episode.packets, episode.psn), (Kind::ResponseLost, 1, [101, 103]));
}

#[test]
fn what_comes_before_the_reply_was_late() {
    // After the second request, and before it; and after the reply.
    for at in [23_500, 21_000, 43_000] {
        let story = overtaken(Some(at));
        assert_eq!((story.lost_responses, story.timeouts), (0, 0), "{at}");
        assert!(
            story.episodes.iter().all(|e| e.kind == Kind::ResponseLostOrLate && e.packets == 0),
            "{:#?}",
            story.episodes
        );
        assert_eq!(story.episodes.len(), 1, "{at}");
    }
}

#[test]
fn an_atomic_that_is_asked_for_again_at_once_is_no_timers() {
    for late in [true, false] {
        let mut lines: Vec<Line> = (0..4).map(|n| Line::Atomic(u64::from(n) * 100, 100 + n)).collect();
        lines.extend((1..4).map(|n| Line::Result(20_000 + u64::from(n) * 300, 100 + n)));
        lines.extend((0..4).map(|n| Line::Atomic(21_100 + u64::from(n) * 100, 100 + n)));
        lines.extend((0..4).map(|n| Line::Result(41_100 + u64::from(n) * 100, 100 + n)));
        if late {
            lines.push(Line::Result(21_500, 100));
        }
        let story = told(&lines);
        let by = story.retransmissions.by_cause;
        assert_eq!((story.lost_responses, story.lost_acks), (u64::from(!late), 0));
        assert_eq!((by.read_reissue, by.timeout, story.timeouts, story.stall_ns), (4, 0, 0, 0));
    }
}

#[test]
fn a_span_that_a_late_packet_told_of_is_no_promise() {
    // Atomics 101 to 103 are late, so the READ of 1,024 bytes seems to take four PSNs. Its response takes one.
    let (out, back) = connection();
    let mut tap = Tap::default();
    let read = |psn, dma_len| Facts { dma_len, ..Tap::facts(out, READ_REQ, psn) };
    let result = |psn| Facts { payload: 0, ..Tap::facts(back, 0x12, psn) };
    let atomic = |psn| Facts { payload: 0, ..Tap::facts(out, 0x14, psn) };
    tap.add(1_000, read(100, 1_024));
    for (at, psn) in (2_000..).step_by(1_000).zip([104, 101, 102, 103]) {
        tap.add(at, atomic(psn));
    }
    tap.add(6_000, Tap::facts(back, 0x10, 100));
    (101..105).for_each(|psn| tap.add(6_000 + u64::from(psn), result(psn)));
    for psn in 105..125 {
        let at = u64::from(psn) * 10_000;
        tap.add(at, read(psn, 817));
        tap.add(at + 1_000, Facts { payload: 817, ..Tap::facts(back, 0x10, psn) });
    }
    let seen = tap.finish();
    let flow = requests(&seen);
    let story = flow.story.as_ref().unwrap();
    assert_eq!((story.lost_responses, story.lost_or_late, story.retransmissions.total), (0, 0, 0));
    assert_eq!(flow.requests.messages, 25);
    assert_eq!(seen.flows.iter().map(|f| f.responses.gaps).sum::<u64>(), 0);
}

#[test]
fn a_read_that_was_lost_is_one_packet_however_often_its_rest_is_asked_for() {
    let (mut out, back) = connection();
    out.ttl = 62;
    let mut tap = Tap::default();
    let read = |psn, n: u32| Facts { dma_len: n * 1024, ..Tap::facts(out, READ_REQ, psn) };
    let mut at = 0;
    let mut serve = |tap: &mut Tap, psn: u32, n: u32| {
        at += 1_000;
        tap.add(at, read(psn, n));
        for k in 0..n {
            let opcode = match (k, n) {
                (0, 1) => 0x10,
                (0, _) => 0x0d,
                (k, n) if k + 1 == n => 0x0f,
                _ => 0x0e,
            };
            tap.add(at + 100 + u64::from(k) * 100, Tap::facts(back, opcode, psn + k));
        }
        at
    };
    serve(&mut tap, 100, 2);
    serve(&mut tap, 102, 1);
    // The READ of 103..106 is lost.
    tap.add(2_500, read(106, 1));
    let aeth = Aeth::new(Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR), 0);
    tap.add(2_600, Facts { aeth, payload: 0, ..Tap::facts(back, ACK, 103) });
    for (psn, n) in [(103, 3), (106, 1), (104, 2), (106, 1), (105, 1), (106, 1), (104, 2), (106, 1)] {
        serve(&mut tap, psn, n);
    }
    let seen = tap.finish();
    let story = requests(&seen).story.as_ref().unwrap();
    assert_eq!((story.lost_before_tap + story.lost_or_late, story.lost_responses), (1, 0));
}

#[test]
fn late_responses_are_never_lost_for_certain() {
    let mut faults = Faults::default();
    let mut reissued = 0;
    for seed in 0..600 {
        let mut rng = Rng::new(seed ^ 0x1e5b);
        let mut s = clean(seed, [Mix::Read, Mix::All][seed as usize % 2]);
        for link in [2, 3] {
            s.links[link].late = rng.one_of(&[0, 10_000, 100_000]);
            s.links[link].late_by = rng.one_of(&[500, 3_000, 10_000]);
        }
        let truth = run(&s);
        reissued += truth.again(model::Why::Reissue);
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, seed % 3 == 0);
            let story = story(&seen, records, &why);
            faults.same("lost_responses", (story.lost_responses, 0), &why, story);
            faults.same("lost_acks", (story.lost_acks, 0), &why, story);
        }
    }
    assert!(reissued > 1_000, "{reissued}");
    // Later than several times the way there and back, in place of a reply that comes later still.
    faults.few(&[("lost_responses", 3), ("lost_acks", 2)]);
}

#[test]
fn no_more_are_lost_than_were() {
    let mut faults = Faults::default();
    let (mut told, mut lost) = (0, 0);
    for seed in 0..600 {
        let mut s = clean(seed, [Mix::Read, Mix::All][seed as usize % 2]);
        s.links[2 + seed as usize / 2 % 2].loss = 10_000;
        let truth = run(&s);
        let responses = |p: &model::Packet| matches!(p.kind, model::Kind::Response(_));
        for place in PLACES {
            let records = &truth.taps[place as usize];
            let why = format!("seed {seed} {place:?}");
            let seen = seen(&s, records, place, seed % 3 == 0);
            let story = story(&seen, records, &why);
            let links = if place == Place::Requester { 2..4 } else { 2..3 };
            let before = if place == Place::Responder { 0 } else { truth.lost(links, responses) };
            faults.check("lost_responses", story.lost_responses <= before, &why, story);
            if place == Place::Requester {
                (told, lost) = (told + story.lost_responses, lost + before);
            }
        }
    }
    faults.none();
    assert!(told * 3 > lost, "{told} of {lost}");
}

/// One request after the other, each answered by one packet: nanoseconds, PSN, and whether the answer comes by, which
/// it does this many nanoseconds later.
fn one_by_one(opcode: u8, after: u64, sent: impl IntoIterator<Item = (u64, u32, bool)>) -> StoryReport {
    let (mut out, mut back) = connection();
    (out.ttl, back.ttl) = if after < 1_000 { (62, 64) } else { (64, 62) };
    let (response, dma_len) = if opcode == READ_REQ { (0x10, 1_024) } else { (0x12, 0) };
    let mut all: Vec<(u64, Facts)> = Vec::new();
    for (at, psn, answered) in sent {
        all.push((at, Facts { dma_len, payload: 0, ..Tap::facts(out, opcode, psn) }));
        if answered {
            all.push((at + after, Facts { payload: dma_len, ..Tap::facts(back, response, psn) }));
        }
    }
    all.sort_by_key(|&(at, _)| at);
    let mut tap = Tap::default();
    all.into_iter().for_each(|(at, facts)| tap.add(1_000_000_000 + at, facts));
    requests(&tap.finish()).story.clone().unwrap()
}

#[test]
fn a_round_trip_behind_a_lost_result_no_timer_has_run() {
    // Bursts of four; of the third, the first result is lost behind the responder's tap, and the second tells of it.
    for (trip, reissued) in [(5_000, 0), (8_000, 0), (12_000, 4), (20_000, 4), (30_000, 4), (200_000, 4)] {
        let burst = |n: u64, first: u32| (0..4).map(move |k| (n * trip + u64::from(k) * 300, first + k, true));
        let bursts = [(0, 100), (1, 104), (2, 108), (3, 108), (4, 112), (5, 116)];
        let story = one_by_one(0x14, 100, bursts.into_iter().flat_map(|(n, first)| burst(n, first)));
        let by = story.retransmissions.by_cause;
        assert_eq!((by.read_reissue, by.unknown, by.timeout), (reissued, 4 - reissued, 0), "{trip}");
        assert_eq!((story.timeouts, story.stall_ns), (0, 0), "{trip}");
    }
}

#[test]
fn a_silence_that_nothing_behind_it_ended_is_a_timers() {
    // One operation at a time; no answer to the sixteenth comes to the requester.
    for opcode in [READ_REQ, 0x14] {
        for (trip, timer) in [(12_000, 100_000), (46_000, 300_000), (46_000, 4_000_000), (200_000, 600_000)] {
            for after in [trip - 100, 100] {
                let sent = (0..30u32).flat_map(|n| {
                    let at = u64::from(n) * trip + if n > 15 { timer } else { 0 };
                    let again = (n == 15).then_some((at + timer, 100 + n, true));
                    [Some((at, 100 + n, n != 15 || after == 100)), again].into_iter().flatten()
                });
                let story = one_by_one(opcode, after, sent);
                let by = story.retransmissions.by_cause;
                let why = format!("{opcode:#x} {trip} {timer} {after}");
                // The answer passed the responder's end, and so short a timer is hardly in use: then nobody knows.
                let timeout = u64::from(after != 100 || timer == 4_000_000);
                assert_eq!((by.timeout, by.unknown, story.timeouts), (timeout, 1 - timeout, timeout), "{why}");
                assert_eq!((by.read_reissue, story.duplicated_by_network), (0, 0), "{why}");
                let kinds: Vec<Kind> = story.episodes.iter().map(|e| e.kind).collect();
                let told = if timeout == 0 || after == 100 { Kind::Unexplained } else { Kind::AckLost };
                assert!(kinds == [told] || kinds == [Kind::RequestOrAckLost], "{why} {kinds:?}");
            }
        }
    }
}

#[test]
fn a_request_that_comes_again_right_after_its_answer_is_no_networks_copy() {
    // Of the sixth, 2.5 us or 1 ms after its answer passed; at once after a round trip of 10 us or of 1 ms.
    for opcode in [READ_REQ, 0x14] {
        for (trip, later) in [(10_000, 2_500), (1_000_000, 2_500), (10_000, 30_000), (10_000, 1_000_000)] {
            let sent = (0..10u32).flat_map(|n| {
                let at = u64::from(n) * (trip + 2_000_000);
                let again = (n == 5).then_some((at + trip + later, 100 + n, true));
                [Some((at, 100 + n, true)), again].into_iter().flatten()
            });
            let story = one_by_one(opcode, trip, sent);
            let by = story.retransmissions.by_cause;
            let why = format!("{opcode:#x} {trip} {later}");
            assert_eq!((story.duplicated_by_network, story.timeouts, story.lost_responses), (0, 0, 0), "{why}");
            assert_eq!((by.unknown, by.timeout, by.read_reissue), (1, 0, 0), "{why}");
        }
    }
}

#[test]
fn a_timer_that_crosses_with_the_answer_makes_no_copy() {
    // WRITEs that take 1 ms there and back; the timer of the sixth runs out just when the answer has passed.
    let (out, back) = connection();
    let ask = |psn| Facts { flags: Flags::EXTENDED.with(Flags::ACK_REQ), ..Tap::facts(out, 0x0a, psn) };
    let answer = |psn| Facts { aeth: Aeth::new(Syndrome::Ack(31), 0), payload: 0, ..Tap::facts(back, ACK, psn) };
    let mut tap = Tap::default();
    for n in 0..10 {
        let at = 1_000_000_000 + u64::from(n) * 3_000_000;
        tap.add(at, ask(100 + n));
        tap.add(at + 1_000_000, answer(100 + n));
        if n == 5 {
            tap.add(at + 1_002_500, ask(100 + n));
            tap.add(at + 2_002_500, answer(100 + n));
        }
    }
    let seen = tap.finish();
    let story = requests(&seen).story.as_ref().unwrap();
    assert_eq!((story.duplicated_by_network, story.retransmissions.by_cause.unknown), (0, 1));
}

#[test]
fn a_timer_shorter_than_the_way_is_early() {
    // 30 ms there and back, 10 ms of patience: each of these is sent three times and answered three times.
    for opcode in [READ_REQ, 0x14] {
        let trip = 30_000_000;
        let sent = (0..5u32).flat_map(|n| {
            let at = u64::from(n) * (trip + 10_000);
            (0..3).map(move |k| (at + k * 10_000_000, 100 + n, true))
        });
        let story = one_by_one(opcode, trip, sent);
        let by = story.retransmissions.by_cause;
        assert_eq!((by.timeout, by.unknown, story.timeouts), (10, 0, 10), "{opcode:#x}");
        let kinds: Vec<Kind> = story.episodes.iter().map(|e| e.kind).collect();
        // Before the first answer, nobody knows how long the way is.
        let early = Kind::EarlyTimeout;
        assert_eq!(kinds, [Kind::RequestOrAckLost, early, early, early, early], "{opcode:#x}");
    }
}

#[test]
fn one_direction_alone_tells_no_cause() {
    // A READ of 102 is lost, and the sender goes back; no answer is seen.
    let (out, _) = connection();
    let mut tap = Tap::default();
    let sent = [100, 101, 103, 104, 102, 103, 104, 105];
    for (at, psn) in (1_000_000_000..).step_by(40_000).zip(sent) {
        tap.add(at, Facts { dma_len: 256, payload: 0, ..Tap::facts(out, READ_REQ, psn) });
    }
    let seen = tap.finish();
    let story = requests(&seen).story.as_ref().unwrap();
    let by = story.retransmissions.by_cause;
    assert_eq!((by.unknown, by.read_reissue, story.retransmissions.total), (2, 0, 2));
    assert_eq!((story.lost_before_tap, story.lost_or_late), (0, 1));
}

#[test]
fn a_read_that_came_late_or_lost_its_response_is_either() {
    let (mut out, mut back) = connection();
    (out.ttl, back.ttl) = (62, 64);
    let mut tap = Tap::default();
    let read = |psn| Facts { dma_len: 256, payload: 0, ..Tap::facts(out, READ_REQ, psn) };
    let response = |psn| Facts { payload: 256, ..Tap::facts(back, 0x10, psn) };
    let nak = Aeth::new(Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR), 0);
    tap.add(1_000, read(100));
    tap.add(1_100, response(100));
    tap.add(2_000, read(102));
    tap.add(2_100, Facts { aeth: nak, payload: 0, ..Tap::facts(back, ACK, 101) });
    tap.add(4_500, read(101));
    (101..103).for_each(|psn| tap.add(4_700 + u64::from(psn), response(psn)));
    tap.add(14_500, read(101));
    tap.add(14_800, response(101));
    tap.add(20_000, read(103));
    tap.add(20_100, response(103));
    let seen = tap.finish();
    let story = requests(&seen).story.as_ref().unwrap();
    let by = story.retransmissions.by_cause;
    assert_eq!((by.unknown, by.read_reissue, by.nak, story.retransmissions.total), (1, 0, 0, 1));
    assert_eq!((story.lost_before_tap, story.lost_or_late, story.reordered), (0, 1, 0));
}
