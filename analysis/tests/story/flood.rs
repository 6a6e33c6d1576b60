//! Packets that no sender would send: nothing overflows, nothing grows.

use rocetop_parsers::Facts;
use rocetop_parsers::ib::aeth::Aeth;

use crate::kit::{ACK, READ_REQ, Tap, connection};
use crate::model::Rng;

#[test]
fn noise_is_survived() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let (out, back) = connection();
        let mut tap = Tap::default();
        let spread = rng.one_of(&[16, 300, 70_000, 1 << 23, 1 << 24]);
        let mut base = 0u64;
        for _ in 0..50_000 {
            base += rng.within(0, 3);
            let psn = (base + rng.within(0, spread)) as u32 & 0xff_ffff;
            let way = if rng.within(0, 3) == 0 { back } else { out };
            let opcode = match rng.within(0, 6) {
                0 => ACK,
                1 => READ_REQ,
                _ => rng.within(0, 0x18) as u8,
            };
            let bits = rng.within(1, 40);
            let at = 1_000_000_000 + rng.within(0, 1 << bits);
            let facts = Facts {
                aeth: Aeth(rng.next() as u32),
                dma_len: rng.next() as u32 >> (bits % 32),
                ..Tap::facts(way, opcode, psn)
            };
            tap.add(at, facts);
        }
        let seen = tap.finish();
        for flow in &seen.flows {
            if let Some(story) = &flow.story {
                assert_eq!(story.retransmissions.total, flow.requests.seen_again);
                assert!(story.episodes.len() < 1_100);
            }
        }
    }
}
