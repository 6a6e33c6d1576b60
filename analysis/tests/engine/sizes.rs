//! Packet sizes: an MTU that both ends do not share, and the first message that does not pass.

use rocetop_analysis::Severity;
use rocetop_analysis::detect::Value;
use rocetop_analysis::report::FrameRef;
use rocetop_parsers::Facts;

use crate::kit::{READ_FIRST, READ_LAST, READ_MIDDLE, Seen, Tap, WRITE_FIRST, WRITE_LAST, WRITE_ONLY, Way, connection};

/// ECT(0).
const ECT: u8 = 2;

fn put(tap: &mut Tap, way: Way, opcode: u8, psn: u32, payload: u32) {
    tap.facts_at(way, Facts { tos: ECT, payload, dma_len: payload, ..Tap::facts(way, opcode, psn) });
}

#[test]
fn each_side_has_its_own() {
    let mut tap = Tap::default();
    let (there, back) = connection();
    for i in 0..5 {
        put(&mut tap, there, WRITE_FIRST, 1000 + 2 * i, 4096);
        put(&mut tap, there, WRITE_LAST, 1001 + 2 * i, 100);
        tap.ack(back, 1001 + 2 * i, i + 1);
        put(&mut tap, back, WRITE_FIRST, 7000 + 2 * i, 1024);
        put(&mut tap, back, WRITE_LAST, 7001 + 2 * i, 100);
        tap.ack(there, 7001 + 2 * i, i + 1);
    }
    let seen = tap.finish();
    assert_eq!(seen.codes(Severity::Info), ["RT033"]);
    let found = seen.found("RT033");
    assert_eq!((found.severity, found.flow), (Severity::Info, Some(1)));
    assert_eq!(found.title, "10.0.0.2 sends 1024 bytes a packet to 10.0.0.1, on a path MTU of 4096");
    assert_eq!(found.frames, [FrameRef::Place(4), FrameRef::Place(28)]);
}

/// Ten small messages pass; the large one is sent `tries` times. Then `after`.
fn hang(tries: u32, after: impl Fn(&mut Tap, Way)) -> Vec<&'static str> {
    let mut tap = Tap::default();
    let (there, back) = connection();
    for i in 0..10 {
        put(&mut tap, there, WRITE_ONLY, 1000 + i, 512);
        tap.ack(back, 1000 + i, i + 1);
    }
    for _ in 0..tries {
        put(&mut tap, there, WRITE_ONLY, 1010, 4096);
        tap.wait(100_000_000);
    }
    after(&mut tap, back);
    let seen = tap.finish();
    if let Some(found) = seen.findings.iter().find(|f| f.code == "RT034") {
        assert_eq!(found.frames, [FrameRef::Place(21), FrameRef::Place(20 + u64::from(tries))]);
        let sizes = [("passed_bytes", Value::Number(512)), ("stuck_bytes", Value::Number(4096))];
        assert_eq!(found.evidence.0[..2], sizes);
    }
    seen.codes(Severity::Warning).into_iter().filter(|code| *code > "RT019").collect()
}

#[test]
fn the_first_large_message_hangs() {
    assert_eq!(hang(5, |_, _| {}), ["RT034"]);
}

#[test]
fn it_does_not() {
    // At the end of the capture; answered late; refused.
    assert!(hang(2, |_, _| {}).is_empty());
    assert!(hang(5, |tap, back| _ = tap.ack(back, 1010, 11)).is_empty());
    assert!(hang(5, |tap, back| _ = tap.nak(back, 1010, 10)).is_empty());
}

#[test]
fn a_dead_peer_is_no_matter_of_size() {
    let mut tap = Tap::default();
    let (there, back) = connection();
    put(&mut tap, there, WRITE_ONLY, 1000, 512);
    tap.ack(back, 1000, 1);
    for _ in 0..5 {
        put(&mut tap, there, WRITE_ONLY, 1001, 512);
    }
    assert!(!tap.finish().codes(Severity::Info).contains(&"RT034"));
}

#[test]
fn messages_are_measured_by_their_psns() {
    let mut tap = Tap::default();
    let (there, back) = connection();
    put(&mut tap, there, WRITE_ONLY, 1000, 8);
    // The middle packet of this one is missing.
    put(&mut tap, there, WRITE_FIRST, 1001, 1024);
    put(&mut tap, there, WRITE_LAST, 1003, 100);
    tap.read(there, 1004, 65_536);
    tap.ack(back, 1003, 2);
    let seen = tap.finish();
    let size = seen.flows[0].story.as_ref().and_then(|story| story.message_size).unwrap();
    assert_eq!((size.count, size.min, size.mean, size.max), (3, 8, (8 + 2148 + 65_536) / 3, 65_536));
}

/// READs of 64 packets, one after the other or `out` at a time; the first response comes 20 us after the last request,
/// and the others 10 us apart.
fn long_reads(count: u32, out: u32) -> Seen {
    let (there, back) = connection();
    let mut tap = Tap::default();
    for first in (0..count).step_by(out as usize) {
        for n in first..first + out {
            tap.read(there, 64 * n, 64 * 1024);
        }
        tap.wait(10_000);
        for psn in 64 * first..64 * (first + out) {
            let opcode = [READ_FIRST, READ_MIDDLE, READ_LAST][usize::from(psn % 64 > 0) + usize::from(psn % 64 > 62)];
            tap.send(back, opcode, psn);
        }
    }
    tap.finish()
}

#[test]
fn a_read_is_complete_with_its_last_response() {
    for count in [1, 2, 10] {
        let times = long_reads(count, 1).flows[0].story.as_ref().unwrap().message_ns;
        assert_eq!((times.count, times.max), (u64::from(count), 650_000), "{count}");
        assert!(times.p50 > 640_000, "{times:?}");
    }
    // Three at a time: from the first request, 10 us each, to the last response of its own.
    let times = long_reads(3, 3).flows[0].story.as_ref().unwrap().message_ns;
    assert_eq!((times.count, times.max), (3, 1_930_000), "{times:?}");
    assert!(times.p50 > 1_200_000, "{times:?}");
}
