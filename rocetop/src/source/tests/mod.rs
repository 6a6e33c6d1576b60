//! Tests of sources over real files and pipes.

mod batches;
mod compressed;
mod damage;
mod merge;
mod oddities;
mod pipes;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rocetop_parsers::{Bytes, Link, Nanos};

use rocetop_analysis::FrameNo;

use super::{CaptureSummary, OpenError, Stop, Timeline};
use crate::pcap::forge::{Endian, Ng, Pcap};

/// A directory of its own for each test, gone afterwards.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("rocetop-source-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A frame that outlives its time line.
type Kept = (u64, FrameNo, Vec<u8>);

fn all(timeline: &mut Timeline) -> Vec<Kept> {
    let mut frames = Vec::new();
    while let Some(f) = timeline.next() {
        frames.push((f.ts.0, f.number, f.bytes.to_vec()));
    }
    assert!(timeline.next().is_none());
    frames
}

fn read(path: &Path) -> (Vec<Kept>, CaptureSummary) {
    let mut timeline = Timeline::open(&[path]).unwrap();
    let frames = all(&mut timeline);
    (frames, timeline.summaries().remove(0))
}

fn sample() -> Vec<u8> {
    let mut pcap = Pcap::plain();
    for i in 0..50u8 {
        pcap.at(Nanos(1_000_000_000 + u64::from(i)), &[i; 100]);
    }
    pcap.bytes
}

#[test]
fn reads_a_file_and_sums_it_up() {
    let dir = Dir::new();
    let mut pcap = Pcap::plain();
    pcap.record(7, 9, 1500, &[1; 60]).record(7, 3, 60, &[2; 60]);
    let path = dir.file("a.pcap", &pcap.bytes);
    let mut timeline = Timeline::open(&[&path]).unwrap();
    let frame = timeline.next().unwrap();
    assert_eq!((frame.ts, frame.iface, frame.link), (Nanos(7_000_000_009), 0, Some(Link::Ethernet)));
    assert_eq!((frame.number, frame.wire_len, frame.bytes), (FrameNo::new(0, 1), 1500, &[1; 60][..]));
    assert_eq!(timeline.summaries()[0].problem.as_deref(), Some("reading was stopped at byte offset 100"));
    assert_eq!(timeline.next().unwrap().number, FrameNo::new(0, 2));
    assert_eq!(timeline.next(), None);
    let size = Bytes(pcap.bytes.len() as u64);
    assert_eq!(timeline.progress(), (size, Some(size)));
    let expected = CaptureSummary {
        path: path.display().to_string(),
        format: Some("pcap".into()),
        link_type: Some("EN10MB".into()),
        frames: 2,
        bytes: Bytes(1560),
        first_ns: Some(Nanos(7_000_000_003)),
        last_ns: Some(Nanos(7_000_000_009)),
        stamped_back: 1,
        complete: true,
        problem: None,
        drops: None,
        notes: Vec::new(),
        clock_jumps: false,
        unread_link: None,
        stopped: false,
        watched: None,
    };
    assert_eq!(timeline.summaries(), [expected]);
}

#[test]
fn unknown_link_types_still_count() {
    let dir = Dir::new();
    let mut ng = Ng::plain();
    ng.interface(147, 0, &[(2, b"odd")]).enhanced(1, 5, 9, b"abc", &[]);
    let mut timeline = Timeline::open(&[dir.file("a.pcapng", &ng.bytes)]).unwrap();
    let frame = timeline.next().unwrap();
    assert_eq!((frame.link, frame.iface, frame.wire_len), (None, 1, 9));
    assert_eq!(timeline.interfaces(0)[1].name.as_deref(), Some("odd"));
    assert_eq!(timeline.interfaces(1), []);
    assert_eq!(timeline.summaries()[0].link_type.as_deref(), Some("EN10MB,LINKTYPE_147"));
}

#[test]
fn a_frame_without_stamp_has_that_of_the_frame_before() {
    let dir = Dir::new();
    let mut ng = Ng::plain();
    ng.simple(3, b"abc").enhanced(0, 5, 3, b"abc", &[]).simple(3, b"abc");
    let (frames, summary) = read(&dir.file("a.pcapng", &ng.bytes));
    assert_eq!(frames.iter().map(|f| f.0).collect::<Vec<_>>(), [0, 5, 5]);
    assert_eq!((summary.frames, summary.first_ns, summary.last_ns), (3, Some(Nanos(5)), Some(Nanos(5))));
}

#[test]
fn all_ways_through_a_file_are_one() {
    let dir = Dir::new();
    let mut ng = Ng::new();
    ng.section(Endian::Big, &[]).interface(1, 0, &[]).enhanced(0, 1, 3, b"abc", &[]).block(5, &[], &[]);
    ng.simple(5, b"defgh").enhanced(0, 9, 3, b"ijk", &[]);
    for file in [sample(), ng.bytes] {
        let path = dir.file("file", &file);
        let open = || Timeline::open(&[&path]).unwrap();
        let mut timeline = open();
        let frames = all(&mut timeline);
        let (mut other, mut same) = (open(), Vec::new());
        other.for_each(|f| same.push((f.ts.0, f.number, f.bytes.to_vec())));
        assert_eq!(frames, same);
        assert_eq!(timeline.summaries(), other.summaries());
        for most in 1..5 {
            let (mut other, mut n) = (open(), 0);
            loop {
                let done = other.batch(most, |f| {
                    assert_eq!((f.ts.0, f.number, f.bytes.to_vec()), frames[n]);
                    n += 1;
                });
                if done == 0 {
                    break;
                }
            }
            assert_eq!((n, other.summaries()), (frames.len(), timeline.summaries()));
        }
    }
}

#[test]
fn a_file_may_grow_and_shrink_meanwhile() {
    let dir = Dir::new();
    let mut pcap = Pcap::plain();
    for i in 0..4000u64 {
        pcap.at(Nanos(1 + i), &[i as u8; 200]);
    }
    let path = dir.file("grows", &pcap.bytes[..400_100]);
    let mut timeline = Timeline::open(&[&path]).unwrap();
    assert!(timeline.next().is_some());
    let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    (&file).write_all(&pcap.bytes[400_100..]).unwrap();
    assert_eq!(all(&mut timeline).len(), 3999);
    let size = Bytes(pcap.bytes.len() as u64);
    assert_eq!(timeline.progress(), (size, Some(size)));
    let path = dir.file("shrinks", &pcap.bytes);
    let mut timeline = Timeline::open(&[&path]).unwrap();
    assert!(timeline.next().is_some());
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(300).unwrap();
    assert!(all(&mut timeline).len() < 4000);
    assert!(timeline.summaries()[0].problem.as_ref().unwrap().contains("is cut"));
}

#[test]
fn a_stop_request_ends_it() {
    let dir = Dir::new();
    let mut timeline = Timeline::open(&[dir.file("a.pcap", &sample())]).unwrap();
    timeline.next().unwrap();
    timeline.stop_handle().stop();
    assert_eq!(timeline.next(), None);
    assert_eq!(timeline.batch(9, |_| {}), 0);
    let summary = &timeline.summaries()[0];
    assert_eq!((summary.frames, summary.complete), (1, false));
}

#[test]
fn what_is_no_capture_is_an_error() {
    let dir = Dir::new();
    let open = |path: &Path| Timeline::open(&[path]).unwrap_err();
    assert!(matches!(open(&dir.0), OpenError::Directory { .. }));
    assert!(matches!(open(&dir.0.join("none")), OpenError::Missing { .. }));
    assert!(matches!(open(&dir.file("text", b"GET / HTTP/1.1")), OpenError::NotACapture { .. }));
    assert!(matches!(open(&dir.file("short", b"hi")), OpenError::NotACapture { .. }));
    assert!(matches!(Timeline::open::<PathBuf>(&[]), Err(OpenError::NoFiles)));
    assert!(matches!(Timeline::open(&["-", "-"]), Err(OpenError::StdinTwice)));
}
