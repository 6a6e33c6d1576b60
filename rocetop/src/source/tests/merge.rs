//! Several captures as one time line.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn capture(stamps: &[u32]) -> Vec<u8> {
    let mut pcap = Pcap::plain();
    for &ts in stamps {
        pcap.at(Nanos(1 + u64::from(ts)), &ts.to_le_bytes());
    }
    pcap.bytes
}

/// What the rule says, spelled out: a file goes on until another's next frame is earlier, by more than stamps have gone
/// back so far where that one has not begun. Of several the earliest, ties to the file named first.
fn expected(files: &[Vec<u32>]) -> Vec<(u64, FrameNo)> {
    let (mut at, mut merged) = (vec![0; files.len()], Vec::new());
    let (mut current, mut back) = (None, 0);
    loop {
        let of = |f: usize| files[f].get(at[f]).copied();
        let on = current.and_then(of);
        let key = |f: usize| Some((of(f)? + if at[f] == 0 && on.is_some() { back } else { 0 }, f));
        let other = (0..files.len()).filter(|&f| current != Some(f)).filter_map(key).min();
        let f = match (on, other) {
            (Some(ts), Some((key, other))) if key < ts => other,
            (Some(_), _) => current.unwrap(),
            (None, Some((_, other))) => other,
            (None, None) => return merged,
        };
        let ts = files[f][at[f]];
        at[f] += 1;
        if let Some(&next) = files[f].get(at[f]) {
            back = back.max(files[f][..at[f]].iter().max().unwrap().saturating_sub(next));
        }
        current = Some(f);
        merged.push((1 + u64::from(ts), FrameNo::new(f as u16, at[f] as u64)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Stamps may step back anywhere.
    #[test]
    fn earliest_first(files in vec(vec(0..50u32, 0..30), 1..6)) {
        let dir = Dir::new();
        let paths: Vec<_> = files.iter().enumerate().map(|(i, f)| dir.file(&i.to_string(), &capture(f))).collect();
        let mut timeline = Timeline::open(&paths).unwrap();
        let frames: Vec<_> = all(&mut timeline).into_iter().map(|f| (f.0, f.1)).collect();
        prop_assert_eq!(frames, expected(&files));
        prop_assert!(timeline.summaries().iter().all(|s| s.complete));
    }
}

#[test]
fn parts_of_a_ring_buffer_may_come_in_any_order() {
    let dir = Dir::new();
    let parts: Vec<_> = (0..4u32).map(|p| (p * 10..p * 10 + 10).collect::<Vec<_>>()).collect();
    let paths: Vec<_> = parts.iter().zip(["f", "f1", "f2", "f3"]).map(|(p, n)| dir.file(n, &capture(p))).collect();
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        let mut timeline = Timeline::open(&order.map(|i| &paths[i])).unwrap();
        let frames = all(&mut timeline);
        assert_eq!(frames.iter().map(|f| f.0 - 1).collect::<Vec<_>>(), (0..40).collect::<Vec<_>>());
        // Numbers follow the order of naming.
        let first = order.iter().position(|&i| i == 0).unwrap();
        assert_eq!(frames[0].1, FrameNo::new(first as u16, 1));
    }
}

/// Several receive queues of the capturing host stamp frames that they hand on later; tcpdump goes to the next file
/// then. And a clock of microseconds may give the last frame of a part and the first of the next one the same time.
#[test]
fn parts_of_a_ring_buffer_may_overlap_by_as_much_as_their_stamps_go_back() {
    let dir = Dir::new();
    for parts in [[&[0, 9, 4, 12, 8, 13][..], &[10, 15, 14, 20]], [&[0, 5, 9], &[9, 12]]] {
        let paths: Vec<_> = parts.iter().enumerate().map(|(i, p)| dir.file(&i.to_string(), &capture(p))).collect();
        for order in [[0, 1], [1, 0]] {
            let mut timeline = Timeline::open(&order.map(|i| &paths[i])).unwrap();
            let (mut stamps, mut strands) = (Vec::new(), Vec::new());
            timeline.for_each(|frame| {
                stamps.push(frame.ts.0 as u32 - 1);
                strands.push(frame.strand);
            });
            assert_eq!(stamps, parts.concat());
            assert!(strands.iter().all(|&strand| strand == 0));
        }
    }
}

#[test]
fn files_that_follow_each_other_are_one_strand() {
    let dir = Dir::new();
    // Two rings of two parts, and one part that is alone.
    let parts: [&[u32]; 5] = [&[0, 5, 9], &[1, 6, 8], &[10, 15], &[11, 16], &[20, 21]];
    let paths: Vec<_> = parts.iter().enumerate().map(|(i, p)| dir.file(&i.to_string(), &capture(p))).collect();
    let mut timeline = Timeline::open(&paths).unwrap();
    let mut strands = [None; 5];
    timeline.for_each(|frame| {
        let known = strands[usize::from(frame.number.file())].replace(frame.strand);
        assert!(known.is_none_or(|known| known == frame.strand));
    });
    assert_eq!(strands, [Some(0), Some(1), Some(0), Some(1), Some(0)]);
}

#[test]
fn damage_in_one_file_does_not_end_the_others() {
    let dir = Dir::new();
    let whole = capture(&[1, 4, 5, 6]);
    let cut = capture(&[2, 3]);
    let mut timeline = Timeline::open(&[dir.file("a", &cut[..cut.len() - 1]), dir.file("b", &whole)]).unwrap();
    assert_eq!(all(&mut timeline).iter().map(|f| f.0 - 1).collect::<Vec<_>>(), [1, 2, 4, 5, 6]);
    assert_eq!(timeline.summaries().iter().map(|s| s.complete).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn formats_mix() {
    let dir = Dir::new();
    let mut ng = Ng::plain();
    ng.enhanced(0, 3, 3, b"abc", &[]).enhanced(0, 6, 3, b"def", &[]);
    let mut timeline = Timeline::open(&[dir.file("a", &capture(&[1, 4, 5])), dir.file("b", &ng.bytes)]).unwrap();
    assert_eq!(all(&mut timeline).iter().map(|f| f.0).collect::<Vec<_>>(), [2, 3, 5, 6, 6]);
}

#[test]
fn many_plain_files_are_parked_as_well() {
    let dir = Dir::new();
    let paths: Vec<_> = (0..40u32).map(|i| dir.file(&i.to_string(), &capture(&[i, 40 + i, 80 + i]))).collect();
    let mut timeline = Timeline::open(&paths).unwrap();
    assert_eq!(timeline.next().unwrap().ts, Nanos(1));
    assert!(timeline.capacity() < 1024, "{}", timeline.capacity());
    assert!(all(&mut timeline).iter().map(|f| f.0).eq(2..=120));
    assert!(timeline.summaries().iter().all(|s| s.complete && s.frames == 3));
    let (done, total) = timeline.progress();
    assert_eq!(Some(done), total);
}
