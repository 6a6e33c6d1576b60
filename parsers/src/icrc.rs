//! The invariant CRC: what proves that a packet is RoCE and arrived whole (IBTA 7.8.1, annexes A16 and A17).
//!
//! CRC-32 (IEEE 802.3, reflected) over the packet from its link or network header to the pad, with every field that the
//! path may change set to ones. Owns what is masked; the arithmetic is a [`Crc32`] that the caller brings, because the
//! fast ones need the standard library.

use crate::facts::{Class, Facts, Flags};
use crate::ib::bth::Bth;
use crate::window::Window;

/// Whether a frame's ICRC is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Icrc {
    /// It is what the bytes give.
    Ok,
    /// It is not.
    Bad,
    /// It cannot be told: the frame was cut, or is no RoCE.
    #[default]
    Unknown,
}

/// CRC-32 as Ethernet has it: polynomial 0x04C11DB7, reflected.
pub trait Crc32 {
    /// The checksum of earlier bytes and then `bytes`, where `crc` is the checksum of the earlier ones.
    ///
    /// Both are *finished* checksums, inverted at the end as one writes them down: zero is the checksum of nothing, and
    /// `update(0, b"123456789")` is 0xCBF43926. This is what zlib's `crc32` takes and gives, and what
    /// `crc32fast::Hasher::new_with_initial` starts from.
    fn update(&self, crc: u32, bytes: &[u8]) -> u32;
}

/// The plain table implementation, eight bytes a step. For tests and where nothing faster is at hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Table;

/// `TABLES[k][b]`: what byte `b` does to the register when `k` more bytes follow it in a step.
static TABLES: [[u32; 256]; 8] = tables();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks it")]
const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut register = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            register = if register & 1 != 0 { register >> 1 ^ 0xedb8_8320 } else { register >> 1 };
            bit += 1;
        }
        tables[0][byte] = register;
        byte += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[k - 1][byte];
            tables[k][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

impl Crc32 for Table {
    fn update(&self, crc: u32, bytes: &[u8]) -> u32 {
        // A byte and 256 entries: the default is never taken.
        let look = |table: &[u32; 256], byte: u8| table.get(usize::from(byte)).copied().unwrap_or_default();
        let [t0, t1, t2, t3, t4, t5, t6, t7] = &TABLES;
        let mut register = !crc;
        let (steps, rest) = bytes.as_chunks::<8>();
        for &[a, b, c, d, e, f, g, h] in steps {
            let [a, b, c, d] = (register ^ u32::from_le_bytes([a, b, c, d])).to_le_bytes();
            register = look(t7, a) ^ look(t6, b) ^ look(t5, c) ^ look(t4, d);
            register ^= look(t3, e) ^ look(t2, f) ^ look(t1, g) ^ look(t0, h);
        }
        for &byte in rest {
            register = register >> 8 ^ look(t0, register as u8 ^ byte);
        }
        !register
    }
}

/// The checksum of eight bytes of ones: the LRH as it counts for every packet that has none, or that may be routed
/// (A17.3.3; Linux starts its register at the inverse, 0xdebb20e3).
const MASKED_LRH: u32 = !0xdebb_20e3;

const IPV4: usize = 20;
/// IPv6 header and GRH alike.
const IPV6: usize = 40;
const UDP: usize = 8;
const LRH: usize = 8;

/// The last four bytes of the packet that `facts` were read from, as they should be: to be compared with
/// `u32::from_le_bytes` of what is there.
///
/// `None` when it cannot be told: no RoCE, a frame that was cut, offsets that do not belong to it.
#[must_use]
#[inline]
pub fn compute<C: Crc32>(frame: &[u8], facts: &Facts, crc: &C) -> Option<u32> {
    let (l3, bth) = (usize::from(facts.l3), usize::from(facts.bth));
    let body = frame.get(..(facts.end as usize).checked_sub(4)?)?;
    match (facts.class, body.get(l3)? >> 4) {
        (Class::RoceV2, 4) if bth.checked_sub(l3)? == IPV4 + UDP => {
            // The common case. Short packets take one run, long ones a small copy and two.
            if let Some(short) = short_v4(body, l3, crc) {
                return Some(short);
            }
            let mut head: [u8; IPV4 + UDP + Bth::LEN] = body.load(l3)?;
            mask_v4(&mut head);
            mask_udp::<{ IPV4 }>(&mut head);
            mask_bth::<{ IPV4 + UDP }>(&mut head);
            Some(crc.update(crc.update(MASKED_LRH, &head), body.get(bth + Bth::LEN..)?))
        }
        (Class::RoceV2, 4) => {
            let mut head: [u8; IPV4] = body.load(l3)?;
            mask_v4(&mut head);
            tail(body, l3 + IPV4, bth, crc.update(MASKED_LRH, &head), crc)
        }
        (Class::RoceV2, 6) if bth.checked_sub(l3)? == IPV6 + UDP => {
            let mut head: [u8; IPV6 + UDP + Bth::LEN] = body.load(l3)?;
            mask_v6(&mut head);
            mask_udp::<{ IPV6 }>(&mut head);
            mask_bth::<{ IPV6 + UDP }>(&mut head);
            Some(crc.update(crc.update(MASKED_LRH, &head), body.get(bth + Bth::LEN..)?))
        }
        (Class::RoceV2, 6) => {
            let mut head: [u8; IPV6] = body.load(l3)?;
            mask_v6(&mut head);
            tail(body, l3 + IPV6, bth, crc.update(MASKED_LRH, &head), crc)
        }
        // A GRH: RoCEv1, and a global packet of native InfiniBand, whose LRH a router replaces and so is ones too.
        (Class::RoceV1 | Class::Infiniband, 6) if bth.checked_sub(l3)? == IPV6 => {
            let mut head: [u8; IPV6 + Bth::LEN] = body.load(l3)?;
            mask_v6(&mut head);
            mask_bth::<{ IPV6 }>(&mut head);
            Some(crc.update(crc.update(MASKED_LRH, &head), body.get(bth + Bth::LEN..)?))
        }
        // A local packet: the LRH counts but for its virtual lane, the high half of its first byte. The link version
        // beside it does not change on the way and is not masked.
        (Class::Infiniband, _) if bth.checked_sub(l3)? == LRH => {
            let mut head: [u8; LRH + Bth::LEN] = body.load(l3)?;
            head[0] |= 0xf0;
            mask_bth::<{ LRH }>(&mut head);
            Some(crc.update(crc.update(0, &head), body.get(bth + Bth::LEN..)?))
        }
        _ => None,
    }
}

/// Longest packet that is copied for one run of the CRC.
const SHORT: usize = 256;
/// Shortest run that is made: from here on `crc32fast` multiplies sixteen bytes at a time and takes less than for half
/// of it by table.
const LEAST_RUN: usize = 128;

/// A word of ones and four that are zero but for these bytes.
#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks it")]
const fn behind_ones(set: &[(usize, u8)]) -> [u8; 80] {
    let (mut bytes, mut n) = ([0; 80], 0);
    while n < 16 {
        bytes[n] = 0xff;
        n += 1;
    }
    n = 0;
    while n < set.len() {
        let (at, byte) = set[n];
        bytes[16 + at] = byte;
        n += 1;
    }
    bytes
}

/// The ICRC of a short IPv4 packet without options, which is the frame from `l3` on; `None` when it is not short, or
/// when less than a word is before it.
///
/// All is copied in words of 16 bytes, so that the last one ends where the packet does and the CRC reads what was
/// written as one: a CPU hands a load what one store before it wrote, and makes it wait where it takes two. What the
/// first word has of the bytes before the packet becomes zeros, as is the rest of the run before it. Zeros change
/// nothing where the register starts at zero too; what it should have started at (A17.3.3) is added to the first four
/// bytes of the packet, which is the same.
fn short_v4<C: Crc32>(body: &[u8], l3: usize, crc: &C) -> Option<u32> {
    /// What is set to ones: all of the word before the packet, then TOS, TTL, both checksums, FECN and BECN with the
    /// reserved bits beside them.
    const ONES: [u8; 80] =
        behind_ones(&[(1, 0xff), (8, 0xff), (10, 0xff), (11, 0xff), (26, 0xff), (27, 0xff), (32, 0xff)]);
    /// What is flipped then: the word before the packet, to zeros, and the start of the register.
    const FLIPPED: [u8; 80] = {
        let [a, b, c, d] = u32::to_le_bytes(!MASKED_LRH);
        behind_ones(&[(0, a), (1, b), (2, c), (3, d)])
    };
    let len = body.len().checked_sub(l3)?;
    let before = len.wrapping_neg() % 16;
    let words = body.get(l3.checked_sub(before)?..)?.as_chunks::<16>().0;
    let run = (words.len() * 16).max(LEAST_RUN);
    let mut buffer = [0; SHORT];
    let copy = buffer.get_mut(run.checked_sub(words.len() * 16)?..run)?.as_chunks_mut::<16>().0;
    let ones = ONES.get(16 - before..)?.as_chunks::<16>().0;
    let flipped = FLIPPED.get(16 - before..)?.as_chunks::<16>().0;
    let (head, rest) = copy.split_at_mut_checked(4)?;
    let (head_from, rest_from) = words.split_at_checked(4)?;
    for (((to, from), ones), flipped) in head.iter_mut().zip(head_from).zip(ones).zip(flipped) {
        let word = u128::from_ne_bytes(*from) | u128::from_ne_bytes(*ones);
        *to = (word ^ u128::from_ne_bytes(*flipped)).to_ne_bytes();
    }
    rest.copy_from_slice(rest_from);
    Some(crc.update(!0, buffer.get(..run)?))
}

/// Whether the ICRC at the end of the frame is the one that its bytes give.
#[must_use]
#[inline]
pub fn check<C: Crc32>(frame: &[u8], facts: &Facts, crc: &C) -> Icrc {
    // A packet that was cut inside a tunnel may have other bytes behind it.
    if facts.flags.has(Flags::CUT) {
        return Icrc::Unknown;
    }
    let Some(stored) = (facts.end as usize).checked_sub(4).and_then(|at| frame.load(at)) else {
        return Icrc::Unknown;
    };
    match compute(frame, facts, crc) {
        None => Icrc::Unknown,
        Some(right) if right == u32::from_le_bytes(stored) => Icrc::Ok,
        Some(_) => Icrc::Bad,
    }
}

/// From `at`, past the fixed network header: options or extension headers as they are, then UDP and BTH masked, then
/// the rest.
fn tail<C: Crc32>(body: &[u8], at: usize, bth: usize, so_far: u32, crc: &C) -> Option<u32> {
    let udp = bth.checked_sub(UDP)?;
    let between = crc.update(so_far, body.get(at..udp)?);
    let mut head: [u8; UDP + Bth::LEN] = body.load(udp)?;
    mask_udp::<0>(&mut head);
    mask_bth::<{ UDP }>(&mut head);
    Some(crc.update(crc.update(between, &head), body.get(bth + Bth::LEN..)?))
}

/// IPv4: TOS, TTL and header checksum (A17.3.3).
fn mask_v4<const N: usize>(head: &mut [u8; N]) {
    set::<1, N>(head);
    set::<8, N>(head);
    set::<10, N>(head);
    set::<11, N>(head);
}

/// IPv6 and GRH: traffic class, flow label and hop limit. The version beside them counts.
fn mask_v6<const N: usize>(head: &mut [u8; N]) {
    if let Some(version) = head.first_mut() {
        *version |= 0x0f;
    }
    set::<1, N>(head);
    set::<2, N>(head);
    set::<3, N>(head);
    set::<7, N>(head);
}

/// UDP: the checksum.
fn mask_udp<const AT: usize>(head: &mut [u8]) {
    for byte in head.iter_mut().skip(AT + 6).take(2) {
        *byte = 0xff;
    }
}

/// BTH: FECN, BECN and the reserved bits beside them (Resv8a).
fn mask_bth<const AT: usize>(head: &mut [u8]) {
    if let Some(byte) = head.get_mut(AT + 4) {
        *byte = 0xff;
    }
}

fn set<const AT: usize, const N: usize>(head: &mut [u8; N]) {
    if let Some(byte) = head.get_mut(AT) {
        *byte = 0xff;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ib::transport::fill;
    use proptest::prelude::*;

    // Whole frames from the lab, Ethernet to ICRC.
    const ACK: &str = "0209000001010209000001fe080045000030eca540003f1138040a0902010a090101c16912b7001c00001100\
         ffff0000001300ba525b600000003c4aee0b";
    const READ: &str = "0209000001fe02090000010108004500003c160c400040110d920a0901010a090201c14412b7002800000c00\
         ffff000000128011111200000000280f4000000003b300000001a02751ee";
    const CNP: &str = "0209000001010209000001fe080045c0003c00014000401122dd0a0902010a090101c00112b7002800008140\
         ffff4000001a00000000000000000000000000000000000000009ff38ed4";
    const ACK_IPV6: &str = "0209000001010209000001fe86dd60000000001c113ffd090002000000000000000000000001fd0900010000\
         00000000000000000001c7e912b7001c00001100ffff0000002d008abb041f000001dc0323a6";
    const ACK_VLAN: &str = "0209000001010209000001fe810060640800456800305f9240003f11c4b10a0802010a080101caf912b7001c\
         00001100ffff0000003500caf2b01f00000173a5bdb4";

    fn hex(digits: &str) -> Vec<u8> {
        let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
        let digit = |c: u8| (c as char).to_digit(16).unwrap() as u8;
        digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
    }

    fn facts(frame: &[u8], class: Class, l3: usize, bth: usize) -> Facts {
        let mut facts = Facts { class, l3: l3 as u16, ..Facts::default() };
        fill(frame, bth, frame.len(), &mut facts).unwrap();
        facts
    }

    fn lab() -> [(Vec<u8>, Facts); 5] {
        [(ACK, 14, 42), (READ, 14, 42), (CNP, 14, 42), (ACK_IPV6, 14, 62), (ACK_VLAN, 18, 46)].map(
            |(digits, l3, bth)| {
                let frame = hex(digits);
                let facts = facts(&frame, Class::RoceV2, l3, bth);
                (frame, facts)
            },
        )
    }

    /// The whole rule, written as plainly as can be: a copy with ones put in, and one bit at a time.
    fn by_hand(frame: &[u8], facts: &Facts) -> u32 {
        let (l3, bth) = (usize::from(facts.l3), usize::from(facts.bth));
        let global = bth - l3 != LRH;
        let mut bytes = if global { vec![0xff; 8] } else { vec![] };
        bytes.extend_from_slice(&frame[l3..facts.end as usize - 4]);
        for (byte, mask) in masks(frame, facts) {
            bytes[byte - l3 + if global { 8 } else { 0 }] |= mask;
        }
        let mut register = u32::MAX;
        for byte in bytes {
            register ^= u32::from(byte);
            for _ in 0..8 {
                register = if register & 1 == 1 { register >> 1 ^ 0xedb8_8320 } else { register >> 1 };
            }
        }
        !register
    }

    /// The masked bits, by byte of the frame.
    fn masks(frame: &[u8], facts: &Facts) -> Vec<(usize, u8)> {
        let (l3, bth) = (usize::from(facts.l3), usize::from(facts.bth));
        let mut masks = match frame[l3] >> 4 {
            _ if bth - l3 == LRH => vec![(l3, 0xf0)],
            4 => vec![(l3 + 1, 0xff), (l3 + 8, 0xff), (l3 + 10, 0xff), (l3 + 11, 0xff)],
            _ => vec![(l3, 0x0f), (l3 + 1, 0xff), (l3 + 2, 0xff), (l3 + 3, 0xff), (l3 + 7, 0xff)],
        };
        if facts.class == Class::RoceV2 {
            masks.extend([(bth - 2, 0xff), (bth - 1, 0xff)]);
        }
        masks.push((bth + 4, 0xff));
        masks
    }

    #[test]
    fn the_table_is_crc_32() {
        assert_eq!(Table.update(0, b"123456789"), 0xcbf4_3926);
        assert_eq!(Table.update(Table.update(0, b"1234"), b"56789"), 0xcbf4_3926);
        assert_eq!(Table.update(0, &[0xff; 8]), MASKED_LRH);
        assert_eq!(Table.update(7, &[]), 7);
    }

    #[test]
    fn frames_of_the_lab() {
        for (frame, facts) in lab() {
            assert_eq!(check(&frame, &facts, &Table), Icrc::Ok);
            assert_eq!(compute(&frame, &facts, &Table), Some(by_hand(&frame, &facts)));
        }
        assert_eq!(compute(&lab()[2].0, &lab()[2].1, &Table).map(u32::to_le_bytes), Some([0x9f, 0xf3, 0x8e, 0xd4]));
    }

    /// A CNP that a ConnectX-4 Lx sent, and a UC SEND Only: frames that scapy's tests have from hardware.
    #[test]
    fn frames_of_hardware() {
        let cnp = "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff40000118\
                   000000000000000000000000000000000000000082fd002a";
        let send = "248a07a8fa22248a07a8fa22080045010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460\
             ffff000000d300cf17104630818be28935d90e9a95505401be885e50000078f353f3";
        for frame in [cnp, send] {
            let frame = hex(frame);
            let facts = facts(&frame, Class::RoceV2, 14, 42);
            assert_eq!(check(&frame, &facts, &Table), Icrc::Ok);
        }
    }

    #[test]
    fn every_bit_counts_unless_masked() {
        for (frame, facts) in lab() {
            let masks = masks(&frame, &facts);
            for byte in usize::from(facts.l3)..frame.len() {
                for bit in 0..8 {
                    let mut frame = frame.clone();
                    frame[byte] ^= 1 << bit;
                    let masked = masks.iter().any(|&(b, mask)| b == byte && mask >> bit & 1 == 1);
                    // A version or header length that no longer fits the offsets cannot be told.
                    match check(&frame, &facts, &Table) {
                        Icrc::Ok => assert!(masked, "byte {byte} bit {bit}"),
                        Icrc::Bad => assert!(!masked, "byte {byte} bit {bit}"),
                        Icrc::Unknown => assert_eq!(byte, usize::from(facts.l3)),
                    }
                }
            }
            for byte in 0..usize::from(facts.l3) {
                let mut frame = frame.clone();
                frame[byte] ^= 0xff;
                assert_eq!(check(&frame, &facts, &Table), Icrc::Ok);
            }
        }
    }

    #[test]
    fn a_cut_frame_is_unknown() {
        for (frame, facts) in lab() {
            for had in 0..frame.len() {
                assert_eq!(check(&frame[..had], &facts, &Table), Icrc::Unknown);
            }
            // What the tap adds behind the end does not matter.
            assert_eq!(check(&[&frame[..], &[1, 2, 3]].concat(), &facts, &Table), Icrc::Ok);
        }
    }

    #[test]
    fn offsets_of_another_frame_are_unknown() {
        let frame = hex(ACK);
        let right = facts(&frame, Class::RoceV2, 14, 42);
        for facts in [
            Facts { class: Class::Other, ..right },
            Facts { class: Class::RoceV1, ..right },
            Facts { l3: 60, ..right },
            Facts { bth: 20, ..right },
            Facts { bth: 60, ..right },
            Facts { end: 3, ..right },
            Facts { end: 50, ..right },
            Facts { end: u32::MAX, ..right },
        ] {
            assert_eq!(check(&frame, &facts, &Table), Icrc::Unknown);
        }
    }

    proptest! {
        /// Every shape of packet with anything in it: IPv4 with and without options, IPv6 with and without extension
        /// headers, RoCEv1, native InfiniBand global and local.
        #[test]
        fn is_the_plain_rule(
            bytes in prop::collection::vec(any::<u8>(), 440),
            l3 in 0usize..40,
            shape in 0usize..8,
            payload in 0usize..300,
            flip: prop::sample::Index,
        ) {
            let (class, nibble, network) = [
                (Class::RoceV2, 0x40, 28), (Class::RoceV2, 0x40, 32), (Class::RoceV2, 0x40, 68),
                (Class::RoceV2, 0x60, 48), (Class::RoceV2, 0x60, 56),
                (Class::RoceV1, 0x60, 40), (Class::Infiniband, 0x60, 40), (Class::Infiniband, 0x30, 8),
            ][shape];
            let mut frame = bytes;
            frame.truncate(l3 + network + Bth::LEN + payload + 4);
            frame[l3] = frame[l3] & 0x0f | nibble;
            let facts = facts(&frame, class, l3, l3 + network);
            let right = by_hand(&frame, &facts);
            prop_assert_eq!(compute(&frame, &facts, &Table), Some(right));
            let icrc = frame.len() - 4;
            frame[icrc..].copy_from_slice(&right.to_le_bytes());
            prop_assert_eq!(check(&frame, &facts, &Table), Icrc::Ok);
            let behind = l3 + network + 5 + flip.index(frame.len() - l3 - network - 5);
            frame[behind] ^= 1;
            prop_assert_eq!(check(&frame, &facts, &Table), Icrc::Bad);
        }
    }
}
