//! What collective libraries and slow senders look like.

use rocetop_analysis::Severity;
use rocetop_analysis::detect::Value;
use rocetop_parsers::Facts;
use rocetop_parsers::facts::Flags;

use crate::kit::{SEND_ONLY, Tap, WRITE_FIRST, WRITE_LAST, WRITE_ONLY, Way, connection};

const WRITE_ONLY_IMM: u8 = 0x0b;
/// ECT(0).
const ECT: u8 = 2;

fn put(tap: &mut Tap, way: Way, opcode: u8, psn: u32, payload: u32, dma_len: u32) {
    let facts = Facts { tos: ECT, payload, dma_len, ..Tap::facts(way, opcode, psn) };
    tap.facts_at(way, Facts { flags: Flags::EXTENDED, ..facts });
}

#[test]
fn adaptive_routing_mode() {
    let mut tap = Tap::default();
    let (there, back) = connection();
    for i in 0..10 {
        let psn = 1000 + 3 * i;
        put(&mut tap, there, WRITE_FIRST, psn, 4096, 8192);
        put(&mut tap, there, WRITE_LAST, psn + 1, 4096, 0);
        put(&mut tap, there, WRITE_ONLY_IMM, psn + 2, 0, 0);
        tap.ack(back, psn + 2, 2 * i + 2);
    }
    let seen = tap.finish();
    assert_eq!(seen.codes(Severity::Info), ["RT060"]);
    let found = seen.found("RT060");
    assert!(found.title.contains("adaptive-routing mode"));
    assert_eq!(found.evidence.0[0], ("after_large", Value::Number(10)));
}

#[test]
fn sends_of_length_zero() {
    let mut tap = Tap::default();
    let (there, back) = connection();
    for psn in 1000..1008 {
        put(&mut tap, there, WRITE_ONLY_IMM, psn, 0, 0);
        tap.ack(back, psn, psn - 999);
    }
    let seen = tap.finish();
    assert_eq!(seen.found("RT060").title, "10.0.0.1 sent 8 empty WRITEs with immediate: sends of length zero");
}

#[test]
fn clear_to_send() {
    let run = |answered: bool| {
        let mut tap = Tap::default();
        let (there, back) = connection();
        // Both directions are known to each other by then.
        put(&mut tap, there, SEND_ONLY, 999, 64, 0);
        tap.ack(back, 999, 1);
        for i in 0..10 {
            put(&mut tap, back, WRITE_ONLY, 7000 + i, 64, 64);
            tap.ack(there, 7000 + i, i + 1);
            if answered {
                put(&mut tap, there, WRITE_ONLY, 1000 + i, 4096, 4096);
                tap.ack(back, 1000 + i, i + 2);
            }
        }
        tap.finish()
    };
    let seen = run(true);
    assert_eq!(seen.codes(Severity::Info), ["RT061"]);
    // Slot, its ACK, data: two packets of 10 us later.
    assert_eq!(seen.found("RT061").evidence.0[2], ("mean_ns", Value::Number(20_000)));
    assert!(run(false).codes(Severity::Info).is_empty());
}

#[test]
fn a_sender_that_rests() {
    let run = |gap: u64| {
        let mut tap = Tap::default();
        let (there, back) = connection();
        for i in 0..60 {
            tap.wait(gap);
            // Its packets are 10 us apart, the ACK included.
            put(&mut tap, there, WRITE_FIRST, 1000 + 2 * i, 4096, 128 * 1024);
            put(&mut tap, there, WRITE_LAST, 1001 + 2 * i, 4096, 0);
            tap.ack(back, 1001 + 2 * i, i + 1);
        }
        tap.finish()
    };
    let seen = run(0);
    assert_eq!(seen.codes(Severity::Info), ["RT062"]);
    // After the first message each begins 20 us after the packet before.
    let steps = [("steps", Value::Number(59)), ("mean_gap_ns", Value::Number(20_000))];
    assert_eq!(seen.found("RT062").evidence.0[..2], steps);
    assert!(run(100_000).codes(Severity::Info).is_empty());
}
