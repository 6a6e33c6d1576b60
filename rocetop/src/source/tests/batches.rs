//! Batches that are looked at while the time line goes on.

use std::thread;
use std::time::Duration;

use super::compressed::ALL;
use super::*;
use crate::source::Batch;

/// Large enough for several chunks, with records that reach over some.
fn large() -> Vec<u8> {
    let mut pcap = Pcap::plain();
    for i in 0..20_000u64 {
        pcap.at(Nanos(1 + i / 2), &[i as u8; 150][..(i % 150) as usize]);
    }
    for i in 0..20u64 {
        pcap.at(Nanos(20_000 + i), &vec![i as u8; 200_000]);
    }
    pcap.bytes
}

/// Takes all frames, `n` batches at a time: they are claimed in their order, read in another, and looked at once the
/// time line has gone on.
fn taken(timeline: &mut Timeline, n: usize) -> Vec<Kept> {
    let file = timeline.share();
    let mut batches: Vec<Batch> = (0..n).map(|_| Batch::default()).collect();
    let mut frames = Vec::new();
    loop {
        let claims: Vec<_> = batches.iter().map(|_| file.as_ref().and_then(|file| file.claim())).collect();
        for (batch, claim) in batches.iter_mut().zip(claims).rev() {
            if let Some((file, claim)) = file.as_ref().zip(claim) {
                file.read(claim, batch);
            }
        }
        batches.iter_mut().for_each(|batch| timeline.take(batch));
        let before = frames.len();
        for frame in batches.iter().flat_map(Batch::frames) {
            frames.push((frame.ts.0, frame.number, frame.bytes.to_vec()));
        }
        if frames.len() == before {
            return frames;
        }
    }
}

/// Takes all of `paths` in several ways: all see what one frame at a time sees.
fn check(paths: &[PathBuf]) -> Vec<CaptureSummary> {
    let mut alone = Timeline::open(paths).unwrap();
    let frames = all(&mut alone);
    for n in [1, 2, 3, 5] {
        let mut timeline = Timeline::open(paths).unwrap();
        let taken = taken(&mut timeline, n);
        assert!(taken == frames, "{} of {} frames", taken.len(), frames.len());
        assert_eq!((timeline.summaries(), timeline.progress()), (alone.summaries(), alone.progress()));
    }
    alone.summaries()
}

#[test]
fn have_all_frames() {
    let dir = Dir::new();
    let complete = |s: Vec<CaptureSummary>| assert!(s.iter().all(|s| s.complete), "{s:?}");
    complete(check(&[dir.file("plain", &large())]));
    complete(check(&[dir.file("small", &sample())]));
    let mut ng = Ng::plain();
    for i in 0..5000 {
        ng.enhanced(0, 5 + i, 100, &[7; 100], &[]).block(5, &[&[0; 8]], &[]);
    }
    // Longer than several chunks: one is passed over, one is read whole.
    ng.block(0x0bad, &[&vec![0; 3 << 20]], &[]).enhanced(
        0,
        6000,
        1 << 20,
        &vec![8; 1 << 18],
        &[(1, &[b'x'; 60_000][..]); 9],
    );
    ng.enhanced(0, 6001, 100, &[7; 100], &[]);
    let mut paths = vec![dir.file("plain", &large()), dir.file("ng", &ng.bytes)];
    complete(check(&paths[1..]));
    for (name, compress) in ALL {
        paths.push(dir.file(name, &compress(&large())));
        complete(check(&paths[paths.len() - 1..]));
    }
    complete(check(&paths));
}

#[test]
fn end_where_the_damage_is() {
    let dir = Dir::new();
    let mut corrupt = large();
    let middle = 24 + corrupt[24..].len() / 2;
    corrupt[middle..middle + 300_000].fill(0xff);
    // The middle one ends with a chunk.
    let cut = |at: usize| large()[..at].to_vec();
    let mut paths =
        vec![dir.file("corrupt", &corrupt), dir.file("chunk", &cut(3 << 18)), dir.file("cut", &cut(1_000_003))];
    for (name, compress) in ALL {
        let whole = compress(&large());
        paths.push(dir.file(name, &whole[..whole.len() / 2]));
    }
    for path in &paths {
        assert!(check(std::slice::from_ref(path)).iter().all(|s| !s.complete));
    }
    paths.push(dir.file("whole", &large()));
    assert_eq!(check(&paths).iter().filter(|s| s.complete).count(), 1);
}

#[test]
fn go_on_from_a_started_time_line() {
    let dir = Dir::new();
    for paths in [vec![dir.file("a", &large())], vec![dir.file("a", &large()), dir.file("b", &ALL[0].1(&sample()))]] {
        let whole = all(&mut Timeline::open(&paths).unwrap());
        for before in [1, 3, 5000] {
            let mut timeline = Timeline::open(&paths).unwrap();
            (0..before).for_each(|_| assert!(timeline.next().is_some()));
            assert!(taken(&mut timeline, 3) == whole[before..]);
            assert!(timeline.summaries().iter().all(|s| s.complete));
        }
    }
}

#[test]
fn come_from_parked_files_too() {
    let dir = Dir::new();
    let part = |part: u64| {
        let mut pcap = Pcap::plain();
        for i in 0..500 {
            pcap.at(Nanos(1 + part * 400 + i), &[part as u8; 700]);
        }
        let plain = |bytes: &[u8]| bytes.to_vec();
        let compress = [plain, ALL[0].1, ALL[1].1, ALL[2].1][part as usize % 4];
        dir.file(&part.to_string(), &compress(&pcap.bytes))
    };
    let paths: Vec<_> = (0..40).rev().map(part).collect();
    assert!(check(&paths).iter().all(|s| s.complete && s.frames == 500));
}

#[test]
fn a_file_that_shrinks_meanwhile_is_cut() {
    let dir = Dir::new();
    let path = dir.file("shrinks", &large());
    let mut timeline = Timeline::open(&[&path]).unwrap();
    assert!(timeline.next().is_some());
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(300).unwrap();
    assert!(taken(&mut timeline, 2).len() < 20_000);
    assert!(timeline.summaries()[0].problem.as_ref().unwrap().contains("is cut"));
}

#[test]
fn a_chunk_that_never_comes_is_not_waited_for_after_a_stop_request() {
    let dir = Dir::new();
    let mut timeline = Timeline::open(&[dir.file("a", &large())]).unwrap();
    let (file, stop, mut batch) = (timeline.share().unwrap(), timeline.stop_handle(), Batch::default());
    // Whoever claims one may panic before it is read.
    assert!(file.claim().is_some());
    let stopper = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        stop.stop();
    });
    let mut frames = 0;
    loop {
        timeline.take(&mut batch);
        if batch.is_empty() {
            break;
        }
        frames += batch.frames().count();
    }
    stopper.join().unwrap();
    assert_eq!(timeline.summaries()[0].frames, frames as u64);
    assert!(frames < 20_020);
}

#[cfg(target_os = "linux")]
#[test]
fn a_stop_request_ends_a_wait_for_a_pipe() {
    use std::io::Write;
    let (path, reader, mut writer) = super::pipes::named_pipe();
    let file = large();
    writer.write_all(&file[..100]).unwrap();
    let mut timeline = Timeline::open(&[path]).unwrap();
    assert!(timeline.share().is_none());
    let stop = timeline.stop_handle();
    let writer = thread::spawn(move || {
        writer.write_all(&file[100..file.len() - 50]).unwrap();
        // Nothing more comes, and nobody closes the pipe.
        thread::sleep(Duration::from_millis(50));
        stop.stop();
        writer
    });
    assert_eq!(taken(&mut timeline, 3).len(), 20_019);
    drop((writer.join().unwrap(), reader));
    assert!(timeline.summaries()[0].problem.as_ref().unwrap().starts_with("reading was stopped"));
}
