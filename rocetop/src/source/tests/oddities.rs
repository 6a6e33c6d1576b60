//! Captures that are whole, and yet not as captures are.

use super::*;

fn summary(bytes: &[u8]) -> CaptureSummary {
    let dir = Dir::new();
    read(&dir.file("file", bytes)).1
}

/// Frames of 60 bytes at these times.
fn stamped(times: &[u64]) -> CaptureSummary {
    let mut pcap = Pcap::plain();
    for &ts in times {
        pcap.at(Nanos(ts), &[1; 60]);
    }
    summary(&pcap.bytes)
}

#[test]
fn captures_one_behind_the_other_are_all_read() {
    let dir = Dir::new();
    let (frames, summary) = read(&dir.file("file", &[sample(), sample()].concat()));
    assert_eq!((frames.len(), summary.complete), (100, true));
    assert_eq!((frames[0].0, frames[50].0), (1_000_000_000, 1_000_000_000));
    assert_eq!(frames[50].2, [0; 100]);
    assert_eq!(summary.notes, ["2 captures lie one behind the other in this file, and all of them were read."]);
    // What cannot go on is named.
    let file = [&sample()[..], &Ng::plain().bytes].concat();
    let problem = read(&dir.file("file", &file)).1.problem.unwrap();
    assert!(problem.contains("another capture begins here, a pcapng: split the file there"), "{problem}");
    assert!(problem.contains("(pcap record at byte offset 5824)"), "{problem}");
    let mut ng = Ng::plain();
    let end = ng.enhanced(0, 1, 3, b"abc", &[]).bytes.len();
    let problem = read(&dir.file("file", &[&ng.bytes[..], &sample()].concat())).1.problem.unwrap();
    assert!(problem.contains("another capture begins here, a pcap: split"), "{problem}");
    assert!(problem.contains(&format!("byte offset {end})")), "{problem}");
}

#[test]
fn a_clock_that_goes_back_is_told() {
    const DAY: u64 = 86_400_000_000_000;
    let start = 20_000 * DAY;
    let usual = stamped(&[start, start + DAY, start + DAY - 900_000_000, start + 300 * DAY]);
    assert_eq!((usual.clock_jumps, usual.notes.len()), (false, 0));
    let zero = stamped(&[start, 0, start + 1_000, start + 2_000]);
    assert!(zero.clock_jumps);
    assert_eq!(
        zero.notes,
        ["Its clock goes back, by up to 1728000000 s (once): lengths of time across that are worth nothing."]
    );
    let set = stamped(&[start, start + DAY, start, start + 1]);
    assert_eq!(
        set.notes,
        ["Its clock goes back, by up to 86400 s (once): lengths of time across that are worth nothing."]
    );
    let first = stamped(&[0, start, start + 1]);
    assert_eq!(
        first.notes,
        ["Its clock leaps ahead by more than a year (once): lengths of time across that are worth nothing."]
    );
    assert!(!stamped(&[0, 1, 2]).clock_jumps);
}

#[test]
fn frames_that_are_stamped_before_the_one_ahead_are_counted() {
    assert_eq!(stamped(&[5, 5, 6, 7]).stamped_back, 0);
    // 3 is stamped before 9, 7 before 8; 4 and 8 are older than the latest alone.
    assert_eq!(stamped(&[1, 9, 3, 4, 8, 7, 10]).stamped_back, 2);
    // One without a stamp is neither behind nor ahead.
    let mut ng = Ng::plain();
    let bytes = &ng.enhanced(0, 5, 3, b"abc", &[]).simple(3, b"abc").enhanced(0, 4, 3, b"abc", &[]).bytes;
    assert_eq!(summary(bytes).stamped_back, 1);
}

#[test]
fn frames_without_times_are_told() {
    let mut ng = Ng::plain();
    let none = summary(&ng.simple(3, b"abc").simple(3, b"abc").bytes);
    assert!(none.is_timeless());
    assert_eq!(none.notes, ["Its frames have no times: rates, latencies and durations are not known."]);
    let some = summary(&ng.enhanced(0, 5, 3, b"abc", &[]).bytes);
    assert!(!some.is_timeless());
    assert_eq!(some.notes, ["2 of its frames have no time, and are given that of the frame before."]);
}

#[test]
fn a_length_beyond_belief_counts_as_what_is_there() {
    let mut pcap = Pcap::plain();
    pcap.record(7, 9, u32::MAX, &[1; 60]).record(7, 9, 1 << 20, &[1; 60]).record(7, 10, 1500, &[1; 60]);
    let summary = summary(&pcap.bytes);
    assert_eq!((summary.frames, summary.bytes, summary.complete), (3, Bytes(60 + (1 << 20) + 1500), true));
    assert_eq!(
        summary.notes,
        ["1 of its frames claim to be longer than any link carries, and count with the bytes that are there."]
    );
}

#[test]
fn what_the_capture_missed_is_told() {
    let mut ng = Ng::plain();
    ng.enhanced(0, 5, 3, b"abc", &[]);
    assert_eq!(summary(&ng.bytes).drops, None);
    ng.block(5, &[&[0; 12]], &[(5, &7u64.to_le_bytes()), (7, &2u64.to_le_bytes())]);
    assert_eq!(summary(&ng.bytes).drops, Some(9));
    assert_eq!(summary(&sample()).drops, None);
}

#[test]
fn a_link_type_that_nobody_reads_is_named() {
    let mut ng = Ng::new();
    ng.section(Endian::Big, &[]).interface(147, 0, &[]).enhanced(0, 5, 3, b"abc", &[]);
    assert_eq!(summary(&ng.bytes).unread_link.as_deref(), Some("LINKTYPE_147"));
    ng.interface(1, 0, &[]).enhanced(1, 5, 3, b"abc", &[]);
    assert_eq!(summary(&ng.bytes).unread_link, None);
}
