//! The short look against the walker: where it answers, both give the same addresses.

use crate::frames::*;
use proptest::prelude::*;
use rocetop_parsers::{Class, Link, dissect, endpoints};

/// Whether the short look answered. If it did, the walker does too, with the same addresses.
fn agrees(bytes: &[u8], link: Link) -> bool {
    let Some(pair) = endpoints(bytes, link) else { return false };
    for facts in [dissect::<0, _>(bytes, link), dissect::<2, _>(bytes, link)] {
        let facts = facts.expect("what was looked at is no cut");
        assert_eq!((facts.src, facts.dst), pair);
    }
    true
}

#[test]
fn answers_for_plain_frames_only() {
    let answered: Vec<_> = samples().iter().filter(|s| agrees(&s.bytes, s.link)).map(|s| s.name).collect();
    assert_eq!(answered, ["IPv4", "IPv4 with a trailer", "IPv6"]);
}

#[test]
fn cut_at_every_length() {
    for Sample { name, link, bytes, .. } in samples() {
        let whole = endpoints(&bytes[..], link);
        for had in 0..bytes.len() {
            let known = matches!(dissect::<2, _>(&bytes[..had], link), Ok(facts) if facts.class == Class::RoceV2);
            assert_eq!(agrees(&bytes[..had], link), whole.is_some() && known, "{name} at {had}");
        }
    }
}

#[test]
fn every_byte_and_bit_changed() {
    for Sample { link, bytes, .. } in samples() {
        for at in 0..bytes.len() {
            let changed = (0..8).map(|bit| bytes[at] ^ 1 << bit).chain([0, 0xff, 0x7f, bytes[at].wrapping_add(1)]);
            for byte in changed {
                let mut bytes = bytes.clone();
                bytes[at] = byte;
                agrees(&bytes, link);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn many_bytes_changed(
        sample in any::<proptest::sample::Index>(),
        changes in proptest::collection::vec((0..90usize, any::<u8>()), 0..6),
        had in 0..120usize,
    ) {
        let samples = samples();
        let Sample { link, mut bytes, .. } = sample.get(&samples).clone();
        for (at, byte) in changes {
            if let Some(slot) = bytes.get_mut(at) {
                *slot = byte;
            }
        }
        bytes.truncate(had.max(40));
        agrees(&bytes, link);
    }
}
