//! The target `icrc`: the invariant CRC of any frame that the walker takes for RoCE.

#[path = "links.rs"]
mod links;

use rocetop_parsers::facts::Flags;
use rocetop_parsers::icrc::{Crc32, Icrc, Table, check, compute};
use rocetop_parsers::{Class, Facts, dissect};

/// Checks the CRC of a frame, sets it right, and damages the frame again.
pub(crate) fn feed(data: &[u8]) {
    let Some((link, frame)) = links::framed(data) else { return };
    let Ok(facts) = dissect::<2, _>(frame, link) else { return };
    let answer = check(frame, &facts, &Table);
    if !facts.is_rdma() || facts.flags.has(Flags::CUT) {
        assert_eq!(answer, Icrc::Unknown, "{facts:?}");
    }
    // Facts of another frame: whatever comes out, nothing may break.
    for had in [0, usize::from(facts.l3), usize::from(facts.bth), frame.len() / 2] {
        let _ = compute(frame.get(..had).unwrap_or(frame), &facts, &Table);
    }
    let Some(right) = compute(frame, &facts, &Table) else {
        assert_eq!(answer, Icrc::Unknown, "{facts:?}");
        return;
    };
    if let Some(plain) = plain(frame, &facts) {
        assert_eq!(right, plain, "one run and two differ: {facts:?}");
    }
    let mut mended = frame.to_vec();
    let at = facts.end as usize - 4;
    let Some(stored) = mended.get_mut(at..at + 4) else { return };
    stored.copy_from_slice(&right.to_le_bytes());
    if facts.flags.has(Flags::CUT) {
        return;
    }
    assert_eq!(check(&mended, &facts, &Table), Icrc::Ok, "{facts:?}");
    // The PSN is in no mask.
    if let Some(psn) = mended.get_mut(usize::from(facts.bth) + 11) {
        *psn ^= 1;
    }
    assert_eq!(check(&mended, &facts, &Table), Icrc::Bad, "{facts:?}");
}

/// RoCEv2 over plain IPv4 or IPv6, computed by the letter: all bytes, those that may change set to ones.
fn plain(frame: &[u8], facts: &Facts) -> Option<u32> {
    let (l3, bth) = (usize::from(facts.l3), usize::from(facts.bth));
    let mut packet = frame.get(l3..(facts.end as usize).checked_sub(4)?)?.to_vec();
    let (network, masks): (usize, &[(usize, u8)]) = match (facts.class, *packet.first()? >> 4) {
        (Class::RoceV2, 4) => (20, &[(1, 0xff), (8, 0xff), (10, 0xff), (11, 0xff)]),
        (Class::RoceV2, 6) => (40, &[(0, 0x0f), (1, 0xff), (2, 0xff), (3, 0xff), (7, 0xff)]),
        _ => return None,
    };
    if bth != l3 + network + 8 {
        return None;
    }
    for &(at, mask) in masks.iter().chain(&[(network + 6, 0xff), (network + 7, 0xff), (network + 12, 0xff)]) {
        *packet.get_mut(at)? |= mask;
    }
    Some(Table.update(Table.update(0, &[0xff; 8]), &packet))
}
