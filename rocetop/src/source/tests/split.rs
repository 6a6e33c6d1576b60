//! One time line for several threads.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use super::compressed::ALL;
use super::*;

/// Large enough for the reading thread to wait for the slowest part.
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

/// Frames of every part, and their summaries, each part on a thread of its own.
fn together(timelines: Vec<Timeline>) -> Vec<(Vec<Kept>, Vec<CaptureSummary>)> {
    let start = Barrier::new(timelines.len());
    let one = |(i, mut timeline): (usize, Timeline)| {
        start.wait();
        let mut frames = Vec::new();
        if i % 2 == 0 {
            timeline.for_each(|f| frames.push((f.ts.0, f.number, f.bytes.to_vec())));
        } else {
            frames = all(&mut timeline);
        }
        (frames, timeline.summaries())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = timelines.into_iter().enumerate().map(|t| scope.spawn(|| one(t))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

/// Opens `paths` for 1, 2, 3 and 5 threads: all see what one alone sees.
fn check(paths: &[PathBuf]) -> Vec<CaptureSummary> {
    let mut alone = Timeline::open(paths).unwrap();
    let frames = all(&mut alone);
    for n in [1, 2, 3, 5] {
        let parts = together(Timeline::open(paths).unwrap().split(n));
        assert_eq!(parts.len(), n);
        for part in parts {
            assert!(part.0 == frames, "{} of {} frames", part.0.len(), frames.len());
            assert_eq!(part.1, alone.summaries());
        }
    }
    alone.summaries()
}

#[test]
fn every_part_sees_everything() {
    let dir = Dir::new();
    let complete = |s: Vec<CaptureSummary>| assert!(s.iter().all(|s| s.complete), "{s:?}");
    complete(check(&[dir.file("plain", &large())]));
    let mut ng = Ng::plain();
    for i in 0..5000 {
        ng.enhanced(0, 5 + i, 100, &[7; 100], &[]).block(5, &[&[0; 8]], &[]);
    }
    let mut paths = vec![dir.file("plain", &large()), dir.file("ng", &ng.bytes)];
    for (name, compress) in ALL {
        paths.push(dir.file(name, &compress(&large())));
        complete(check(&paths[paths.len() - 1..]));
    }
    complete(check(&paths));
}

#[test]
fn damage_is_the_same_for_all() {
    let dir = Dir::new();
    let mut corrupt = large();
    let middle = 24 + corrupt[24..].len() / 2;
    corrupt[middle..middle + 300_000].fill(0xff);
    let cut = &large()[..1_000_003];
    let mut paths = vec![dir.file("corrupt", &corrupt), dir.file("cut", cut)];
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
fn a_started_time_line_goes_on_in_all_parts() {
    let dir = Dir::new();
    for paths in [vec![dir.file("a", &large())], vec![dir.file("a", &large()), dir.file("b", &ALL[0].1(&sample()))]] {
        let whole = all(&mut Timeline::open(&paths).unwrap());
        for n in 1..4 {
            for before in [1, 3, 5000] {
                let mut timeline = Timeline::open(&paths).unwrap();
                (0..before).for_each(|_| assert!(timeline.next().is_some()));
                for (frames, summaries) in together(timeline.split(n)) {
                    assert!(frames == whole[before..]);
                    assert!(summaries.iter().all(|s| s.complete));
                }
            }
        }
    }
}

#[test]
fn parked_files_are_read_once_their_time_comes() {
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
    let timelines = Timeline::open(&paths).unwrap().split(3);
    for timeline in &timelines {
        assert!(timeline.capacity() < 1024, "{}", timeline.capacity());
    }
    drop(timelines);
    assert!(check(&paths).iter().all(|s| s.complete && s.frames == 500));
}

#[test]
fn a_part_that_leaves_does_not_hold_up_the_others() {
    let dir = Dir::new();
    let paths = [dir.file("a", &large()), dir.file("b", &ALL[0].1(&large()))];
    for paths in [&paths[..1], &paths[1..], &paths] {
        let mut timelines = Timeline::open(paths).unwrap().split(3);
        let mut last = timelines.remove(2);
        let mut frames = 0;
        for mut timeline in timelines {
            (0..10).for_each(|_| assert!(timeline.next().is_some()));
        }
        last.for_each(|_| frames += 1);
        assert_eq!(frames, 20_020 * paths.len());
    }
}

#[test]
fn a_stop_request_ends_all_at_the_same_frame() {
    let dir = Dir::new();
    let paths = [dir.file("a", &large()), dir.file("b", &ALL[1].1(&large())), dir.file("c", &large())];
    for (paths, wait) in [(&paths[..1], 0), (&paths[1..2], 1), (&paths, 0), (&paths, 2)] {
        let timelines = Timeline::open(paths).unwrap().split(3);
        let stop = timelines[0].stop_handle();
        let stopper = thread::spawn(move || {
            thread::sleep(Duration::from_millis(wait));
            stop.stop();
        });
        let parts = together(timelines);
        stopper.join().unwrap();
        assert!(parts.windows(2).all(|two| two[0] == two[1]));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn pipes_are_split_too() {
    use std::io::Write;
    let (path, reader, mut writer) = super::pipes::named_pipe();
    let file = large();
    writer.write_all(&file[..100]).unwrap();
    let timelines = Timeline::open(&[path]).unwrap().split(3);
    let stop = timelines[0].stop_handle();
    let writer = thread::spawn(move || {
        writer.write_all(&file[100..file.len() - 50]).unwrap();
        // Nothing more comes, and nobody closes the pipe.
        thread::sleep(Duration::from_millis(50));
        stop.stop();
        writer
    });
    let parts = together(timelines);
    drop((writer.join().unwrap(), reader));
    for (frames, summaries) in parts {
        assert_eq!(frames.len(), 20_019);
        assert!(summaries[0].problem.as_ref().unwrap().starts_with("reading was stopped"));
    }
}
