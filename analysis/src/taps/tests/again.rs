//! What is sent a second time, and what a tap shows a second time.

use super::*;

/// Nanoseconds between packets of a burst: 1000 bytes at 100 Gb/s.
const GAP: u64 = 80;

fn sent(psn: u32, ns: u64) -> Sent {
    let mut sent = request(psn, 0);
    sent.at += ns;
    sent
}

/// An answer that B sent by then.
fn answer(syndrome: Syndrome, psn: u32, msn: u32, ns: u64) -> Sent {
    let aeth = Aeth::new(syndrome, msn);
    Sent { facts: Facts { aeth, ..facts(B, A, Operation::ACK, psn) }, at: BEGIN + ns }
}

const NAK: Syndrome = Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR);
const ACK: Syndrome = Syndrome::Ack(31);

#[test]
fn a_burst_sent_again_is_no_mirror() {
    // Of 100 requests the second is lost; the NAK brings all from there, 13 us after they were sent.
    let mut lab = Lab::new();
    for n in 0..100 {
        lab.seen(0, sent(n, u64::from(n) * GAP), 0);
        if n != 1 {
            lab.seen(1, sent(n, u64::from(n) * GAP), 0);
        }
    }
    lab.both(answer(NAK, 1, 1, 5_000));
    for n in 1..100 {
        lab.both(sent(n, 13_000 + u64::from(n) * GAP));
        lab.both(answer(ACK, n, n, 47_000 + u64::from(n) * GAP));
    }
    let [there, back] = lab.rows().map(Option::unwrap);
    assert_eq!((there.sent, there.received, there.lost, there.mirror_copies), (199, 198, Some(1), 0));
    assert_eq!(frames(&there), ["a:2"]);
    assert_eq!((back.sent, back.received, back.lost, back.mirror_copies), (100, 100, Some(0), 0));
}

#[test]
fn a_burst_refused_whole_is_no_mirror() {
    let mut lab = Lab::new();
    lab.all((0..32).map(|n| sent(n, u64::from(n) * GAP)));
    lab.both(answer(Syndrome::RnrNak(1), 0, 0, 4_000));
    lab.all((0..32).map(|n| sent(n, 20_000 + u64::from(n) * GAP)));
    lab.all((0..32).map(|n| answer(ACK, n, n + 1, 60_000 + u64::from(n) * GAP)));
    let row = lab.row();
    assert_eq!((row.sent, row.received, row.lost, row.mirror_copies), (64, 64, Some(0), 0));
}

#[test]
fn each_refused_once_is_no_mirror() {
    // One at a time; three that are taken at last are lost and come a third time.
    let mut lab = Lab::new();
    for n in 0..100 {
        let begin = u64::from(n) * 1_000_000;
        lab.both(sent(n, begin));
        lab.both(answer(Syndrome::RnrNak(1), n, n, begin + 31_000));
        let again = sent(n, begin + 80_000);
        lab.seen(0, again, 0);
        if n % 40 == 5 {
            lab.both(sent(n, begin + 600_000));
        } else {
            lab.seen(1, again, 0);
        }
        lab.both(answer(ACK, n, n + 1, begin + 700_000));
    }
    let row = lab.row();
    assert_eq!((row.sent, row.received, row.lost, row.mirror_copies), (203, 200, Some(3), 0));
}

#[test]
fn bursts_shown_twice_are_doubles_as_their_answers_are() {
    // The first tap shows what passes two ports, 5 us apart: rows of 20, as a sender repeats them.
    let mut lab = Lab::new();
    let twice = |lab: &mut Lab, sent: Sent| {
        lab.both(sent);
        lab.seen(0, sent, 5_000);
    };
    for burst in 0..10 {
        let begin = u64::from(burst) * 100_000;
        for n in burst * 20..burst * 20 + 20 {
            let sent = sent(n, begin + u64::from(n % 20) * GAP);
            if n == 70 {
                lab.seen(0, sent, 0);
                lab.seen(0, sent, 5_000);
            } else {
                twice(&mut lab, sent);
            }
        }
        if burst == 3 {
            twice(&mut lab, answer(NAK, 70, 70, begin + 32_000));
            twice(&mut lab, sent(70, begin + 50_000));
        }
        for n in [9, 19] {
            let psn = burst * 20 + n;
            twice(&mut lab, answer(ACK, psn, psn, begin + 85_000 + u64::from(n)));
        }
        if burst % 3 == 2 {
            // A repeat, moments after it was acknowledged, and the same answer to it.
            twice(&mut lab, sent(burst * 20 + 19, begin + 91_000));
            twice(&mut lab, answer(ACK, burst * 20 + 19, burst * 20 + 19, begin + 95_000));
        }
    }
    let [there, back] = lab.rows().map(Option::unwrap);
    assert_eq!((there.sent, there.received, there.lost, there.mirror_copies), (204, 203, Some(1), 204));
    assert_eq!(frames(&there).len(), 1);
    assert_eq!((back.sent, back.received, back.lost, back.mirror_copies), (24, 24, Some(0), 24));
}

/// A READ of so many bytes.
fn read(psn: u32, bytes: u32, us: u64) -> Sent {
    Sent { facts: Facts { dma_len: bytes, ..facts(A, B, Operation::READ_REQ, psn) }, at: BEGIN + us * 1000 }
}

fn response(operation: Operation, psn: u32, us: u64) -> Sent {
    Sent { facts: Facts { payload: 256, ..facts(B, A, operation, psn) }, at: BEGIN + us * 1000 }
}

/// What B answers, from `start` to before `end`.
fn responses(start: u32, end: u32, us: u64) -> impl Iterator<Item = Sent> {
    (start..end).map(move |psn| {
        let operation = match (psn == start, psn + 1 == end) {
            (true, true) => Operation::READ_RESP_ONLY,
            (true, false) => Operation::READ_RESP_FIRST,
            (false, true) => Operation::READ_RESP_LAST,
            (false, false) => Operation::READ_RESP_MIDDLE,
        };
        response(operation, psn, us + u64::from(psn - start))
    })
}

/// A READ of eight packets whose fourth response is late, so that the rest is asked for twice: from there and, when
/// that response has come, from the next on. The second tap does not show the requests at `lacks`.
fn asked_again(lacks: &[u32]) -> TapReport {
    let mut lab = Lab::new();
    let ask = |lab: &mut Lab, sent: Sent| {
        lab.seen(0, sent, 0);
        if !lacks.contains(&sent.facts.psn.get()) {
            lab.seen(1, sent, 0);
        }
    };
    ask(&mut lab, read(100, 2048, 0));
    lab.all(responses(100, 108, 40).filter(|r| r.facts.psn.get() < 103));
    ask(&mut lab, read(103, 1280, 100));
    lab.both(response(Operation::READ_RESP_MIDDLE, 103, 110));
    ask(&mut lab, read(104, 1024, 150));
    lab.all(responses(104, 108, 200));
    // Others, of fewer bytes each.
    ask(&mut lab, read(108, 1024, 300));
    lab.all(responses(108, 112, 340));
    ask(&mut lab, read(112, 256, 400));
    lab.all(responses(112, 113, 440));
    ask(&mut lab, read(113, 256, 500));
    lab.all(responses(113, 114, 540));
    lab.row()
}

#[test]
fn an_answer_proves_no_delivery_of_what_asked_for_the_rest() {
    let row = asked_again(&[103]);
    assert_eq!((row.sent, row.received, row.lost, row.missed), (6, 5, Some(1), 0));
    assert_eq!(frames(&row), ["a:5"]);
}

#[test]
fn a_read_that_was_answered_had_arrived() {
    let row = asked_again(&[108]);
    assert_eq!((row.sent, row.received, row.lost, row.missed), (6, 5, Some(0), 1));
    let row = asked_again(&[112]);
    assert_eq!((row.sent, row.received, row.lost, row.missed), (6, 5, Some(0), 1));
}
