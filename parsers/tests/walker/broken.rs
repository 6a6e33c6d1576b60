//! Broken frames: cut at every length, every byte and bit changed, noise. The walker answers and never panics.

use proptest::prelude::*;
use rocetop_parsers::cut::Layer;
use rocetop_parsers::dissect::is_plain;
use rocetop_parsers::facts::{Flags, Tunnel};
use rocetop_parsers::{Class, Facts, Link, dissect};

use crate::frames::*;

/// Walks `bytes` at both depths in use and checks what holds of every answer.
fn plausible(bytes: &[u8], link: Link) -> [Option<Facts>; 2] {
    if link == Link::Ethernet && is_plain(bytes) {
        assert_eq!(dissect::<0, _>(bytes, link).map(|facts| facts.class), Ok(Class::Other), "{bytes:02x?}");
    }
    [dissect::<0, _>(bytes, link), dissect::<2, _>(bytes, link)].map(|answer| match answer {
        Ok(facts) => {
            // In a tunnel, the outer packet's end may cut the inner one too.
            let (cut, short) = (facts.flags.has(Flags::CUT), bytes.len() < facts.end as usize);
            assert!(cut == short || (cut && facts.tunnel != Tunnel::None));
            if facts.is_rdma() {
                assert!(usize::from(facts.bth) + 16 <= facts.end as usize, "room for BTH and ICRC");
                assert!(usize::from(facts.bth) + 12 <= bytes.len(), "a BTH that is there");
                assert!(facts.l3 < facts.bth);
            }
            Some(facts)
        }
        Err(cut) => {
            assert!(cut.had < cut.needed, "{cut}");
            assert!(cut.offset as usize <= bytes.len() + 2048 + 260, "{cut}: at most one header past the end");
            None
        }
    })
}

#[test]
fn cut_at_every_length() {
    for Sample { name, link, bytes, class, tunnel, .. } in samples() {
        let whole = dissect::<2, _>(&bytes[..], link).unwrap();
        let known = if class == Class::Pause { usize::from(whole.l3) + 2 } else { usize::from(whole.bth) + 12 };
        for had in 0..bytes.len() {
            plausible(&bytes[..had], link);
            match dissect::<2, _>(&bytes[..had], link) {
                Ok(facts) => {
                    assert!(had >= known, "{name}: {had} bytes cannot tell");
                    let cut = had < whole.end as usize;
                    let expected = Facts { flags: whole.flags.when(cut, Flags::CUT), ..whole };
                    let rest = |facts: Facts| (facts.class, facts.tunnel, facts.src, facts.dst, facts.end, facts.bth);
                    assert_eq!(rest(facts), rest(expected), "{name} at {had}");
                    assert_eq!(facts.flags.has(Flags::CUT), cut, "{name} at {had}");
                    assert_eq!((facts.class, facts.tunnel), (class, tunnel), "{name} at {had}");
                }
                Err(cut) => {
                    assert!(had < known, "{name} at {had}: {cut}");
                    assert!(cut.offset as usize <= known, "{name} at {had}: {cut}");
                    if cut.layer != Layer::Ipv6Extension {
                        let there = had.saturating_sub(cut.offset as usize);
                        assert_eq!(cut.had as usize, there, "{name} at {had}: {cut}");
                    }
                }
            }
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
                plausible(&bytes, link);
                plausible(&bytes[..bytes.len() / 2], link);
            }
        }
    }
}

#[test]
fn depth_0_and_2_agree_without_tunnels() {
    for Sample { name, link, bytes, .. } in samples() {
        for had in 0..=bytes.len() {
            let [kernel, file] = plausible(&bytes[..had], link);
            if let Some(kernel) = kernel.filter(Facts::is_rdma) {
                assert_eq!(Some(kernel), file, "{name} at {had}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn noise(bytes in proptest::collection::vec(any::<u8>(), 0..200), link in 0usize..6) {
        plausible(&bytes, Link::ALL[link]);
    }

    /// Noise behind a good start: samples with a few bytes overwritten and the end moved.
    #[test]
    fn damaged_samples(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        had in any::<prop::sample::Index>(),
    ) {
        let samples = samples();
        let Sample { link, bytes, .. } = which.get(&samples);
        let mut bytes = bytes.clone();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(had.index(bytes.len() + 1));
        plausible(&bytes, *link);
    }
}
