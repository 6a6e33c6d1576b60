//! Captures that are whole, and yet lack something that a report is made of: what the pages say of it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "kit/binary.rs"]
mod binary;
#[path = "kit/folder.rs"]
mod folder;

use std::path::Path;

use binary::{Ran, rocetop};
use folder::Folder;
use serde_json::Value;

const LOSS: &str = "07e_send_loss2pct_q4.e1.pcap";

/// A bundled capture.
fn bundled(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures").join(name)).unwrap()
}

/// The frames of a classic pcap, each with the seconds of its stamp.
fn records(file: &[u8]) -> Vec<(u32, &[u8])> {
    let mut records = Vec::new();
    let mut rest = &file[24..];
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        let (record, behind) = rest.split_at(16 + word(8) as usize);
        records.push((word(0), &record[16..]));
        rest = behind;
    }
    records
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let (kind, total) = (kind.to_le_bytes(), (body.len() as u32 + 12).to_le_bytes());
    [&kind[..], &total, &body, &total].concat()
}

/// A pcapng of simple packet blocks.
fn simple(link_type: u8, frames: &[&[u8]]) -> Vec<u8> {
    let section = [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255];
    let mut file = [block(0x0a0d_0d0a, &section), block(1, &[link_type, 0, 0, 0, 0, 0, 0, 0])].concat();
    for frame in frames {
        file.extend(block(3, &[&(frame.len() as u32).to_le_bytes()[..], frame].concat()));
    }
    file
}

fn text(path: &str) -> String {
    let ran = Ran::of(&mut rocetop(&["analyze", path]));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    ran.out
}

fn json(path: &str) -> Value {
    serde_json::from_str(&Ran::of(&mut rocetop(&["analyze", "--json", path])).out).unwrap()
}

#[test]
fn without_times_nothing_is_timed() {
    let file = bundled(LOSS);
    let frames: Vec<&[u8]> = records(&file).into_iter().map(|(_, frame)| frame).collect();
    let folder = Folder::new();
    let path = folder.file("simple.pcapng", &simple(1, &frames));
    let report = json(&path);
    assert_eq!((&report["captures"][0]["first_ns"], &report["totals"]["message_ns"]), (&Value::Null, &Value::Null));
    assert_eq!((&report["totals"]["rate"], &report["totals"]["roce_frames"]), (&Value::Null, &Value::from(778)));
    for flow in report["flows"].as_array().unwrap() {
        assert_eq!((&flow["first_ns"], &flow["last_ns"]), (&Value::Null, &Value::Null));
        assert!(
            flow["story"].is_null() || flow["story"]["message_ns"].is_null() && flow["story"]["stall_ns"].is_null()
        );
    }
    let page = text(&path);
    assert!(page.contains("Its frames have no times"), "{page}");
    assert!(!page.contains("\nLatency") && !page.contains("\nRate"), "{page}");
}

#[test]
fn a_false_stamp_hides_the_rate() {
    let mut file = bundled(LOSS);
    let folder = Folder::new();
    let second = 24 + 16 + records(&file)[0].1.len();
    file[second..second + 8].fill(0);
    let page = text(&folder.file("zero.pcap", &file));
    assert!(page.contains("Its clock goes back, by up to ") && page.contains(" (once)"), "{page}");
    assert!(!page.contains("\nRate") && !page.contains(" h "), "{page}");
}

#[test]
fn a_link_type_that_cannot_be_read_is_named() {
    let folder = Folder::new();
    let page = text(&folder.file("odd.pcapng", &simple(147, &[&[1; 60]])));
    assert!(page.contains("Frames of the link type LINKTYPE_147 cannot be read here."), "{page}");
    assert!(!page.contains("bypasses the kernel"), "{page}");
}

#[test]
fn frames_of_several_files_have_short_names() {
    let folder = Folder::new();
    let file = bundled(LOSS);
    let (a, b) = (folder.file("a.pcap", &file[..24]), folder.file("b.pcap", &file));
    let ran = Ran::of(&mut rocetop(&["analyze", &a, &b]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains(" b.pcap:") && !ran.out.contains(&format!("{b}:")), "{}", ran.out);
    assert!(ran.out.contains(&format!("\n{b}\n")), "{}", ran.out);
}
