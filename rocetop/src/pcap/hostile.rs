//! Tests: files that nobody wrote. No panic, no wish beyond the bound, and everything before the damage.

use proptest::collection::vec;
use proptest::prelude::*;

use super::MAX_INTERFACES;
use super::forge::{End, Endian, Ng, Pcap, walk};
use super::{What, classic};

fn samples() -> Vec<Vec<u8>> {
    let mut samples = Vec::new();
    for endian in [Endian::Little, Endian::Big] {
        for magic in classic::MAGICS {
            let mut pcap = Pcap::new(endian, magic, 65_535, 1);
            pcap.record(1, 2, 60, &[7; 60]).record(3, 4, 1500, &[8; 33]);
            samples.push(pcap.bytes);
        }
        let mut ng = Ng::new();
        ng.section(endian, &[(1, b"comment")]).interface(1, 0, &[(2, b"eth0"), (9, &[6])]);
        ng.enhanced(0, 5, 60, &[7; 33], &[(1, b"x")]).block(4, &[&[0; 20]], &[]);
        ng.obsolete(0, 6, 60, &[8; 60]).simple(20, &[9; 20]);
        samples.push(ng.bytes);
    }
    samples
}

#[test]
fn cut_at_every_byte() {
    for sample in samples() {
        let (all, end) = walk(&sample);
        assert_eq!(end, End::Whole);
        for n in 0..sample.len() {
            let (records, end) = walk(&sample[..n]);
            assert_eq!(records, all[..records.len()]);
            // Between two records a file may end; anywhere else it is cut, and never corrupt.
            assert!(!matches!(end, End::Fault(_)), "{n}: {end:?}");
        }
    }
}

#[test]
fn every_bit_of_the_first_bytes_turned() {
    for sample in samples() {
        for at in 0..sample.len().min(200) {
            for bit in 0..8 {
                let mut file = sample.clone();
                file[at] ^= 1 << bit;
                walk(&file);
            }
        }
    }
}

#[test]
fn lengths_of_four_gibibytes() {
    for sample in samples() {
        for at in (0..sample.len() - 4).step_by(4) {
            for length in [u32::MAX, u32::MAX - 3, 1 << 31, 1 << 24, 1 << 20, 1 << 18, 1, 0] {
                for raw in [length.to_le_bytes(), length.to_be_bytes()] {
                    let mut file = sample.clone();
                    file[at..at + 4].copy_from_slice(&raw);
                    walk(&file);
                }
            }
        }
    }
}

#[test]
fn what_follows_a_capture_is_corrupt_at_its_offset() {
    for sample in samples() {
        let (all, _) = walk(&sample);
        for tail in [&b"and then some text that is no record"[..], &[0; 64]] {
            let (records, end) = walk(&[&sample, tail].concat());
            assert_eq!(records, all);
            let End::Fault(fault) = end else { panic!("{end:?}") };
            assert_eq!(fault.offset.0, sample.len() as u64);
        }
    }
}

#[test]
fn a_packet_without_interface_is_corrupt() {
    let mut ng = Ng::new();
    ng.section(Endian::Big, &[]).simple(3, b"abc");
    let (records, End::Fault(fault)) = walk(&ng.bytes) else { panic!("no fault") };
    assert_eq!((records.len(), fault.offset.0, fault.what), (0, 28, What::NoInterface { wanted: 0, known: 0 }));
    // Interfaces of the section before do not count.
    let mut ng = Ng::plain();
    ng.section(Endian::Little, &[]).enhanced(0, 1, 3, b"abc", &[]);
    assert!(matches!(walk(&ng.bytes).1, End::Fault(_)));
}

#[test]
fn interfaces_are_bounded() {
    let mut ng = Ng::plain();
    for _ in 0..MAX_INTERFACES {
        ng.interface(1, 0, &[]);
    }
    let End::Fault(fault) = walk(&ng.bytes).1 else { panic!("no fault") };
    assert_eq!(fault.what, What::TooManyInterfaces { limit: MAX_INTERFACES });
}

proptest! {
    #[test]
    fn noise_behind_a_header(sample in 0..8usize, keep in 0..200usize, noise in vec(any::<u8>(), 0..500)) {
        let sample = &samples()[sample];
        walk(&[&sample[..keep.min(sample.len())], &noise].concat());
    }

    #[test]
    fn random_block_lengths(length in any::<u32>(), kind in 0..7u32, shift in 0..32u32) {
        let mut ng = Ng::plain();
        ng.bytes.extend([kind, length >> shift].map(u32::to_le_bytes).as_flattened());
        ng.bytes.extend([0; 64]);
        walk(&ng.bytes);
    }
}
