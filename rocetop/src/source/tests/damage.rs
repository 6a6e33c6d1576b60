//! Captures that are cut or corrupt.

use super::*;

#[test]
fn cut_at_every_byte() {
    let dir = Dir::new();
    let mut pcap = Pcap::plain();
    pcap.at(Nanos(1), &[1; 20]).at(Nanos(2), &[2; 30]);
    let mut ng = Ng::plain();
    ng.enhanced(0, 1, 20, &[1; 20], &[]).block(5, &[&[0; 8]], &[]).enhanced(0, 2, 30, &[2; 30], &[]);
    for file in [pcap.bytes, ng.bytes] {
        let whole = read(&dir.file("whole", &file));
        assert!(whole.1.complete);
        for n in 0..file.len() {
            let (frames, summary) = read(&dir.file("file", &file[..n]));
            assert_eq!(frames, whole.0[..frames.len()]);
            if summary.complete {
                assert_eq!(summary.problem, None);
            } else {
                assert!(summary.problem.unwrap().contains(&format!("ends at byte offset {n}")));
            }
        }
    }
}

#[test]
fn problems_tell_their_offset() {
    let dir = Dir::new();
    let problem = |bytes: &[u8]| read(&dir.file("file", bytes)).1.problem.unwrap();
    assert_eq!(problem(b""), "the capture is empty: it ends at byte offset 0, before its header");
    assert_eq!(
        problem(&sample()[..10]),
        "the capture is cut: it ends at byte offset 10, inside the header that starts at byte offset 0"
    );
    assert_eq!(
        problem(&sample()[..200]),
        "the capture is cut: it ends at byte offset 200, inside the record that starts at byte offset 140"
    );
    assert_eq!(
        problem(&[&sample()[..256], &[0xff; 16]].concat()),
        "the capture is corrupt: a record claims 4294967295 captured bytes, of which 262144 are plausible at most \
         (pcap record at byte offset 256); nothing behind it was read"
    );
}

#[test]
fn one_byte_tells_little() {
    let dir = Dir::new();
    let summary = |bytes: &[u8]| read(&dir.file("file", bytes)).1;
    let empty = summary(b"");
    assert_eq!((empty.format, empty.link_type, empty.first_ns, empty.complete), (None, None, None, false));
    assert_eq!(summary(&[0xd4]).format.as_deref(), Some("pcap"));
    assert_eq!(summary(&[0x0a]).format.as_deref(), Some("pcapng"));
    assert_eq!(summary(&[0x1f]).format.as_deref(), Some("gz"));
}

#[test]
fn every_byte_of_the_first_turned() {
    let dir = Dir::new();
    let mut ng = Ng::plain();
    ng.enhanced(0, 1, 20, &[1; 20], &[]).simple(5, b"abcde").enhanced(0, 2, 100, &[2; 100], &[]);
    for file in [sample(), ng.bytes] {
        for at in 0..file.len().min(200) {
            for turn in [1, 0x80, 0xff] {
                let mut file = file.clone();
                file[at] ^= turn;
                // A file whose magic is gone is no capture; any other is read as far as it goes.
                match Timeline::open(&[dir.file("file", &file)]) {
                    Ok(mut timeline) => timeline.for_each(|f| assert!(f.bytes.len() <= f.wire_len as usize)),
                    Err(error) => assert!(at < 4 && matches!(error, OpenError::NotACapture { .. }), "{at}: {error}"),
                }
            }
        }
    }
}
