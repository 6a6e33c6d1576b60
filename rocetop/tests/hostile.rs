//! Captures that nobody wrote: cut anywhere, bytes changed, lengths from nowhere. A report of what is there or an error
//! that says what to do; never a panic, never more memory.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "../../fuzz/feed/analyze.rs"]
mod analyze;
#[path = "kit/binary.rs"]
mod binary;
#[path = "kit/captures.rs"]
mod captures;
#[path = "kit/folder.rs"]
mod folder;

use std::fs::File;
use std::process::Command;

use binary::{Ran, rocetop};
use folder::Folder;
use proptest::prelude::*;
use rocetop::run::{Options, run};
use rocetop::source::{CaptureSummary, Timeline};

/// The frames that a run accounts, and what it says of its one capture.
fn analyzed(path: &str) -> (u64, CaptureSummary) {
    let mut outcome = run(Timeline::open(&[path]).unwrap(), &Options::default(), |_, _| {});
    (outcome.engine.totals().frames(), outcome.captures.remove(0))
}

/// Captures of up to 20 kB, with their bytes.
fn small() -> Vec<(String, Vec<u8>)> {
    let all = captures::captures(&captures::home()).into_iter();
    let all = all.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap()));
    let small: Vec<_> = all.filter(|(_, bytes)| bytes.len() <= 20_000).collect();
    assert!(small.len() >= 7, "only {} small captures", small.len());
    small
}

/// Where the records of a little-endian pcap end.
fn ends(pcap: &[u8]) -> Vec<usize> {
    assert_eq!(pcap[..4], [0x4d, 0x3c, 0xb2, 0xa1], "a pcap in nanoseconds");
    let mut ends = vec![24];
    while *ends.last().unwrap() < pcap.len() {
        let at = *ends.last().unwrap();
        let captured = u32::from_le_bytes(pcap[at + 8..at + 12].try_into().unwrap());
        ends.push(at + 16 + captured as usize);
    }
    ends
}

/// The start of a pcapng of the lab: section, interface and the first packets.
fn pcapng() -> (Vec<u8>, Vec<usize>) {
    let mut bytes = std::fs::read(captures::home().join("14a_vlan_dscp.e2.pcapng")).unwrap();
    let (mut at, mut blocks) = (0, Vec::new());
    while at < 4000 {
        blocks.push(at);
        at += u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
    }
    bytes.truncate(at);
    (bytes, blocks)
}

#[test]
fn small_captures_cut_at_every_byte() {
    let folder = Folder::new();
    for (name, bytes) in small() {
        let path = folder.file(&name, &bytes);
        let file = File::options().write(true).open(&path).unwrap();
        let ends = ends(&bytes);
        for length in (0..=bytes.len()).rev() {
            file.set_len(length as u64).unwrap();
            let whole = ends.iter().filter(|&&end| end <= length).count().saturating_sub(1) as u64;
            let (frames, summary) = analyzed(&path);
            assert_eq!((frames, summary.frames), (whole, whole), "{name} cut to {length} bytes");
            assert_eq!(summary.complete, ends.contains(&length), "{name} cut to {length} bytes: {summary:?}");
            if !summary.complete {
                let problem = summary.problem.unwrap();
                assert!(problem.contains(&format!("it ends at byte offset {length}")), "{problem}");
            }
        }
    }
}

#[test]
fn a_pcapng_cut_at_every_byte() {
    let folder = Folder::new();
    let (bytes, mut ends) = pcapng();
    ends.remove(0);
    ends.push(bytes.len());
    let path = folder.file("cut.pcapng", &bytes);
    let file = File::options().write(true).open(&path).unwrap();
    let mut before = u64::MAX;
    for length in (0..=bytes.len()).rev() {
        file.set_len(length as u64).unwrap();
        let (frames, summary) = analyzed(&path);
        assert!(frames <= before && frames == summary.frames, "{frames} frames in {length} bytes");
        assert_eq!(summary.complete, ends.contains(&length), "cut to {length} bytes: {summary:?}");
        before = frames;
    }
}

#[test]
fn compressed_captures_cut_anywhere() {
    let folder = Folder::new();
    for name in ["07c_write_ackloss10pct.e1.pcap.gz", "08a_reorder.e2.pcap.zst"] {
        let bytes = std::fs::read(captures::home().join(name)).unwrap();
        let path = folder.file(name, &bytes);
        let file = File::options().write(true).open(&path).unwrap();
        let (mut before, whole) = analyzed(&path);
        assert!(whole.complete);
        let near_the_end = (bytes.len() - 9..bytes.len()).rev();
        for length in near_the_end.chain((0..bytes.len() - 9).rev().step_by(1999)).chain((0..12).rev()) {
            file.set_len(length as u64).unwrap();
            let (frames, summary) = analyzed(&path);
            assert!(frames <= before && frames == summary.frames, "{frames} frames in {length} bytes");
            assert!(!summary.complete && summary.problem.is_some(), "{length} bytes: {summary:?}");
            before = frames;
        }
    }
}

#[test]
fn every_byte_of_the_first_200_changed() {
    for (_, bytes) in small() {
        let mut data = [&[0], &bytes[..bytes.len().min(4000)]].concat();
        for at in 1..201.min(data.len()) {
            data[at] ^= 0xff;
            analyze::feed(&data);
            data[at] ^= 0xff;
        }
    }
}

#[test]
fn the_first_64_bytes_through_all_values() {
    let bytes = std::fs::read(captures::home().join("10b_rnr_fail.e1.pcap")).unwrap();
    let mut data = [&[0], &bytes[..]].concat();
    for at in 1..65 {
        for change in 1..=255 {
            data[at] ^= change;
            analyze::feed(&data);
            data[at] ^= change;
        }
    }
}

proptest! {
    #[test]
    fn lengths_of_pcapng_blocks(block in any::<prop::sample::Index>(), length in any::<u32>(), shift in 0..32u32) {
        let (mut bytes, blocks) = pcapng();
        let at = blocks[block.index(blocks.len())];
        bytes[at + 4..at + 8].copy_from_slice(&(length >> shift).to_le_bytes());
        analyze::feed(&[&[0], &bytes[..]].concat());
    }
}

/// Runs `analyze --json` on a file of these bytes.
fn of_file(folder: &Folder, name: &str, bytes: &[u8]) -> Ran {
    Ran::of(&mut rocetop(&["analyze", "--json", &folder.file(name, bytes)]))
}

/// What is no capture, or not whole, by its name; its bytes; the exit code; what the message says.
fn broken() -> Vec<(&'static str, Vec<u8>, i32, &'static str)> {
    let pcap = std::fs::read(captures::home().join("10b_rnr_fail.e1.pcap")).unwrap();
    let (pcapng, blocks) = pcapng();
    let four_gib = [&pcap[..ends(&pcap)[1]], &[1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255, 60, 0, 0, 0]].concat();
    let no_interface = [&pcapng[..blocks[1]], &pcapng[blocks[2]..]].concat();
    let mut long_block = pcapng.clone();
    long_block[blocks[2] + 4..blocks[2] + 8].copy_from_slice(&0xffff_fffc_u32.to_le_bytes());
    let gz = std::fs::read(captures::home().join("07c_write_ackloss10pct.e1.pcap.gz")).unwrap();
    let (mut corrupt, mut checksum) = (gz.clone(), gz);
    // Still a valid stream, of other bytes.
    corrupt[20_000..20_050].fill(0xaa);
    let at = checksum.len() - 8;
    checksum[at] ^= 1;
    vec![
        ("empty.pcap", Vec::new(), 3, "the capture is empty"),
        ("one.pcap", vec![0x4d], 3, "it ends at byte offset 1"),
        ("one.pcapng", vec![0x0a], 3, "it ends at byte offset 1"),
        ("one.txt", b"x".to_vec(), 2, "one.txt: not a capture file"),
        ("notes.txt", b"some text\n".to_vec(), 2, "text that starts with \"some tex\"; pcap and pcapng can be read"),
        ("cut.pcap", pcap[..500].to_vec(), 3, "it ends at byte offset 500"),
        ("four-gib.pcap", four_gib, 3, "4294967295 captured bytes"),
        ("long.pcapng", long_block, 3, "a block claims to be 4294967292 bytes long"),
        ("no-interface.pcapng", no_interface, 3, "interface 0, and the section has described 0"),
        ("corrupt.pcap.gz", corrupt, 3, "of the decompressed data"),
        ("checksum.pcap.gz", checksum, 3, "gzip data cannot be undone behind byte offset"),
        (
            "text.gz",
            std::fs::read(captures::home().join("../fuzz/corpus/compressed/gzip-text")).unwrap(),
            2,
            "inside the gzip data it is text",
        ),
    ]
}

#[test]
fn broken_files_are_told_as_such() {
    let folder = Folder::new();
    for (name, bytes, code, words) in broken() {
        let ran = of_file(&folder, name, &bytes);
        assert_eq!(ran.code, Some(code), "{name}: {ran:?}");
        assert!(ran.err.contains(name) && ran.err.contains(words), "{name}: {}", ran.err);
        assert!(ran.err.starts_with("rocetop: ") && ran.err.lines().count() == 1, "{name}: {}", ran.err);
        assert_eq!(ran.out.is_empty(), code == 2, "{name}: a report, or none");
        if ["four-gib.pcap", "long.pcapng", "no-interface.pcapng"].contains(&name) {
            assert!(ran.err.contains("at byte offset"), "{}", ran.err);
        }
    }
}

#[test]
fn what_cannot_be_opened_is_told_with_its_path() {
    let folder = Folder::new();
    let locked = folder.file("locked.pcap", &[0x4d]);
    Ran::of(Command::new("chmod").args(["0", &locked]));
    let mut cases = vec![
        (".".to_owned(), "is a directory; name the capture files in it"),
        ("missing.pcap".to_owned(), "missing.pcap: no such file"),
    ];
    if File::open(&locked).is_ok() {
        eprintln!("left out: this user may read every file");
    } else {
        cases.push((locked, "locked.pcap: may not be read by this user; change its permissions"));
    }
    for (path, words) in cases {
        let ran = Ran::of(&mut rocetop(&["analyze", &path]));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.err.contains(words), "{}", ran.err);
    }
}

/// Files that ask for much memory, and one that is much: 200 MB of records in a small .gz, cut in the last.
fn greedy() -> Vec<(&'static str, Vec<u8>)> {
    use std::io::Write;
    let corpus = |name: &str| std::fs::read(captures::home().join("../fuzz/corpus").join(name)).unwrap();
    let pcap = std::fs::read(captures::home().join("10b_rnr_fail.e1.pcap")).unwrap();
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let records = pcap[24..].repeat(4000);
    let flood = [gzip(&pcap[..24]), gzip(&records).repeat(50), gzip(&pcap[24..100])].concat();
    // A dictionary of 4 GiB, with the header's checksum right.
    let mut xz = corpus("compressed/xz");
    xz[16] = 40;
    let header = 12 + (usize::from(xz[12]) + 1) * 4 - 4;
    let crc = crc32fast::hash(&xz[12..header]).to_le_bytes();
    xz[header..header + 4].copy_from_slice(&crc);
    // A window of 2^41 bytes.
    let zstd = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0xf8, 1, 0, 0][..], &[0; 40]].concat();
    // A block at the limit of what is read, of which nothing is there.
    let mut block = corpus("pcapng/no-interface")[1..29].to_vec();
    block.extend([6u32, 2 << 20].map(u32::to_le_bytes).as_flattened());
    let mut record = pcap[..24].to_vec();
    record[16..20].fill(0xff);
    record.extend([1u32, 2, 1 << 20, 1 << 20].map(u32::to_le_bytes).as_flattened());
    vec![
        ("flood.pcap.gz", flood),
        ("dictionary.pcap.xz", xz),
        ("window.pcap.zst", zstd),
        ("block.pcapng", block),
        ("record.pcap", record),
    ]
}

#[test]
fn memory_stays_bounded() {
    let folder = Folder::new();
    for (name, bytes) in greedy() {
        let path = folder.file(name, &bytes);
        // The limit is on addresses, and every further thread's allocator sets 64 MB of them aside without using them.
        let limited = "ulimit -v 160000; exec \"$0\" analyze --json --threads 1 \"$1\"";
        let ran = Ran::of(Command::new("sh").args(["-c", limited, env!("CARGO_BIN_EXE_rocetop"), &path]));
        assert_eq!(ran.code, Some(3), "{name}: {ran:?}");
    }
}
