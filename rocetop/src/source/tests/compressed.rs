//! Captures inside .gz, .zst and .xz.

use std::io::Write;

use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;
use crate::source::buffer::MAX_BUFFER;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(0)).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

pub(super) type Compress = fn(&[u8]) -> Vec<u8>;

pub(super) const ALL: [(&str, Compress); 3] = [("pcap.gz", gzip), ("pcap.zst", zstd), ("pcap.xz", xz)];

#[test]
fn read_as_if_they_were_plain() {
    let dir = Dir::new();
    let plain = read(&dir.file("plain", &sample()));
    for (format, compress) in ALL {
        let path = dir.file("file", &compress(&sample()));
        let (frames, summary) = read(&path);
        assert_eq!(frames, plain.0);
        let expected =
            CaptureSummary { path: path.display().to_string(), format: Some(format.into()), ..plain.1.clone() };
        assert_eq!(summary, expected);
    }
}

#[test]
fn parts_that_were_appended_read_as_one() {
    let dir = Dir::new();
    let (a, b) = (&sample()[..777], &sample()[777..]);
    let plain = read(&dir.file("plain", &sample()));
    for (_, compress) in ALL {
        let (frames, summary) = read(&dir.file("file", &[compress(a), compress(b)].concat()));
        assert_eq!((frames, summary.problem), (plain.0.clone(), None));
    }
    let skippable = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let file = [&skippable[..], &zstd(a), &skippable, &zstd(b), &skippable].concat();
    let (frames, summary) = read(&dir.file("file", &file));
    assert_eq!((frames, summary.problem), (plain.0, None));
}

#[test]
fn cut_at_every_byte() {
    let dir = Dir::new();
    let plain = read(&dir.file("plain", &sample())).0;
    for (_, compress) in ALL {
        let file = compress(&sample());
        for n in (0..file.len()).rev() {
            let (frames, summary) = read(&dir.file("file", &file[..n]));
            assert_eq!(frames, plain[..frames.len()]);
            let problem = summary.problem.unwrap();
            assert!(!summary.complete && (problem.contains("is cut") || n == 0), "{n}: {problem}");
        }
    }
}

/// 2000 frames of 100 bytes, every second of which is noise.
fn noisy() -> Vec<u8> {
    let mut pcap = Pcap::plain();
    let mut noise = 1u32;
    for i in 0..2000u64 {
        let mut frame = [0; 100];
        for byte in frame.iter_mut().step_by(2) {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (noise >> 24) as u8;
        }
        pcap.at(Nanos(1_000_000_000 + i), &frame);
    }
    pcap.bytes
}

#[test]
fn what_came_before_a_cut_is_read() {
    let dir = Dir::new();
    let plain = read(&dir.file("plain", &noisy())).0;
    for (format, compress) in ALL {
        let file = compress(&noisy());
        let (frames, summary) = read(&dir.file("file", &file[..file.len() * 3 / 4]));
        assert_eq!(frames, plain[..frames.len()]);
        // A block of zstd is whole or not there: 128 KiB are 1129 frames.
        let least = if format == "pcap.zst" { 1129 } else { 1400 };
        assert!((least..1600).contains(&frames.len()), "{format}: {}", frames.len());
        assert!(summary.problem.unwrap().contains("data is cut: the capture inside ends at byte offset"));
    }
}

/// A zstd frame of a window of 8 MiB, without a checksum: blocks as they are, 1000 bytes each.
fn zstd_of_blocks(bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x68];
    let blocks = bytes.chunks(1000);
    let last = blocks.len() - 1;
    for (i, block) in blocks.enumerate() {
        let header = (block.len() as u32) << 3 | u32::from(i == last);
        file.extend(&header.to_le_bytes()[..3]);
        file.extend(block);
    }
    file
}

#[test]
fn a_zstd_window_is_let_go_of() {
    let dir = Dir::new();
    let plain = read(&dir.file("plain", &noisy())).0;
    let whole = zstd_of_blocks(&noisy());
    assert_eq!(read(&dir.file("file", &whole)).0, plain);
    // Two blocks and half of one: 2000 bytes are a header of 24 and 17 records of 116.
    let (frames, summary) = read(&dir.file("file", &whole[..6 + 2 * 1003 + 500]));
    assert_eq!(frames, plain[..17]);
    assert_eq!(summary.problem.as_deref(), Some("the zstd data is cut: the capture inside ends at byte offset 2000"));
    // A block of a reserved type behind 200: the last 128 KiB may be the broken block's; 68928 bytes are 594 records.
    let mut broken = whole;
    broken[6 + 200 * 1003] |= 6;
    let (frames, summary) = read(&dir.file("file", &broken));
    assert_eq!(frames, plain[..594]);
    let problem = summary.problem.unwrap();
    assert!(problem.contains("cannot be undone behind byte offset 68928 of the capture inside"), "{problem}");
}

#[test]
fn what_follows_a_gzip_member() {
    let dir = Dir::new();
    let problem = |more: &[u8]| {
        let (frames, summary) = read(&dir.file("file", &[&gzip(&sample())[..], more].concat()));
        assert_eq!(frames.len(), 50);
        summary.problem
    };
    let garbage = "the gzip data cannot be undone behind byte offset 5824 of the capture inside: what follows is no \
                   gzip data; if gzip itself can unpack it, do that first";
    assert_eq!(problem(b"x").as_deref(), Some(garbage));
    assert_eq!(problem(b"\0\0trailing garbage").as_deref(), Some(garbage));
    // Padding, as tapes have it.
    assert_eq!(problem(&[0; 1000]), None);
    let cut = "the gzip data is cut: the capture inside ends at byte offset 5824";
    assert_eq!(problem(&[0x1f]).as_deref(), Some(cut));
}

#[test]
fn every_byte_turned() {
    let dir = Dir::new();
    for (_, compress) in ALL {
        let file = compress(&sample());
        for at in 6..file.len().min(200) {
            let mut file = file.clone();
            file[at] ^= 0x55;
            if let Ok(mut timeline) = Timeline::open(&[dir.file("file", &file)]) {
                timeline.for_each(|_| {});
            }
        }
    }
}

#[test]
fn what_follows_is_corrupt() {
    let dir = Dir::new();
    for (_, compress) in ALL {
        let file = [&compress(&sample())[..], b"and then some text"].concat();
        let (frames, summary) = read(&dir.file("file", &file));
        assert_eq!(frames.len(), 50);
        assert!(
            summary.problem.unwrap().contains("data cannot be undone behind byte offset 5824 of the capture inside")
        );
    }
}

#[test]
fn what_is_inside_must_be_a_capture() {
    let dir = Dir::new();
    for (_, compress) in ALL {
        let error = Timeline::open(&[dir.file("file", &compress(b"some text"))]).unwrap_err();
        assert!(error.to_string().contains("data it is text that starts with \"some tex\""), "{error}");
    }
    let error = Timeline::open(&[dir.file("file", &gzip(&gzip(&sample())))]).unwrap_err();
    assert!(error.to_string().contains("compressed once more"), "{error}");
}

#[test]
fn memory_is_bounded() {
    let dir = Dir::new();
    let check = |file: Vec<u8>, frames: usize| {
        let mut timeline = Timeline::open(&[dir.file("file", &gzip(&file))]).unwrap();
        assert_eq!(all(&mut timeline).len(), frames);
        assert!(timeline.capacity() <= MAX_BUFFER, "{}", timeline.capacity());
        timeline.summaries().remove(0).problem
    };
    // A bomb: a record of zeros ends it at once.
    let mut bomb = Pcap::plain().bytes;
    bomb.resize(64 << 20, 0);
    assert!(check(bomb, 0).unwrap().contains("reserved and never written (pcap record at byte offset 24)"));
    // Blocks at their limits, first passed over, then read whole.
    let mut ng = Ng::plain();
    ng.block(0x0bad, &[&vec![0; (16 << 20) - 12]], &[]);
    ng.enhanced(0, 1, 3, &[7; 256 << 10], &[(1, &[b'x'; 60_000][..]); 29]).enhanced(0, 2, 3, b"abc", &[]);
    assert_eq!(check(ng.bytes, 2), None);
    // Lengths that only claim to be long.
    for length in [1 << 18, 1 << 20, 1 << 21, 1 << 24, u32::MAX - 3] {
        let mut pcap = Pcap::plain().bytes;
        pcap.extend([1, 1, length, length].map(u32::to_le_bytes).as_flattened());
        assert!(check(pcap, 0).is_some());
        for kind in [1, 2, 3, 5, 6] {
            let mut ng = Ng::plain();
            ng.bytes.extend([kind, length].map(u32::to_le_bytes).as_flattened());
            ng.bytes.extend(vec![0; 3 << 20]);
            assert!(check(ng.bytes, 0).is_some());
        }
    }
}

#[test]
fn many_are_parked_until_their_time_comes() {
    let dir = Dir::new();
    let mut paths = Vec::new();
    for part in 0..40u64 {
        let mut pcap = Pcap::plain();
        for i in 0..20 {
            pcap.at(Nanos(1 + part * 20 + i), &[part as u8; 10]);
        }
        paths.push(dir.file(&part.to_string(), &ALL[part as usize % 3].1(&pcap.bytes)));
    }
    paths.reverse();
    let mut timeline = Timeline::open(&paths).unwrap();
    let first = timeline.next().unwrap();
    assert_eq!((first.ts, first.bytes), (Nanos(1), &[0; 10][..]));
    assert!(timeline.capacity() < 1024, "{}", timeline.capacity());
    let frames = all(&mut timeline);
    assert!(frames.iter().map(|f| f.0).eq(2..=800));
    assert!(frames.iter().all(|f| f.2 == [((f.0 - 1) / 20) as u8; 10]));
    assert!(timeline.summaries().iter().all(|s| s.complete && s.frames == 20));
    let (done, total) = timeline.progress();
    assert_eq!(Some(done), total);
}
