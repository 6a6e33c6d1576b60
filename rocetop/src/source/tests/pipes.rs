//! Pipes: live, slow, and ended from either side.
#![cfg(target_os = "linux")]

use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// A pipe that can be opened by its path, as a shell's process substitution.
pub(super) fn named_pipe() -> (PathBuf, PipeReader, PipeWriter) {
    let (reader, writer) = pipe().unwrap();
    (format!("/proc/self/fd/{}", reader.as_raw_fd()).into(), reader, writer)
}

#[test]
fn frames_arrive_as_they_are_written() {
    let (path, _reader, mut writer) = named_pipe();
    let file = sample();
    writer.write_all(&file[..24 + 116]).unwrap();
    let mut timeline = Timeline::open(&[path]).unwrap();
    assert_eq!(timeline.next().unwrap().number.place(), 1);
    writer.write_all(&file[140..200]).unwrap();
    let writer = thread::spawn(move || writer.write_all(&file[200..]).unwrap());
    assert_eq!(all(&mut timeline).len(), 49);
    writer.join().unwrap();
    assert!(timeline.summaries()[0].complete);
    assert_eq!(timeline.progress(), (Bytes(5824), None));
}

#[test]
fn a_writer_that_was_killed_leaves_a_cut() {
    let (path, _reader, mut writer) = named_pipe();
    writer.write_all(&sample()[..150]).unwrap();
    drop(writer);
    let (frames, summary) = read(&path);
    assert_eq!((frames.len(), summary.complete), (1, false));
    let cut = "the capture is cut: it ends at byte offset 150, inside the record that starts at byte offset 140";
    assert_eq!(summary.problem.as_deref(), Some(cut));
}

#[test]
fn a_stop_request_ends_a_wait() {
    let (path, _reader, mut writer) = named_pipe();
    writer.write_all(&sample()[..150]).unwrap();
    let mut timeline = Timeline::open(&[path]).unwrap();
    let stop = timeline.stop_handle();
    let started = Instant::now();
    let stopper = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        stop.stop();
    });
    assert_eq!(all(&mut timeline).len(), 1);
    stopper.join().unwrap();
    assert!(started.elapsed() < Duration::from_secs(10));
    let summary = timeline.summaries().remove(0);
    assert_eq!((summary.frames, summary.complete), (1, false));
    assert_eq!(summary.problem.as_deref(), Some("reading was stopped at byte offset 140"));
}

#[test]
fn a_stop_request_ends_the_wait_for_first_bytes() {
    let (path, reader, writer) = named_pipe();
    // Its thread may come to open the path only after the test: the descriptor must not be another test's by then.
    std::mem::forget((reader, writer));
    let stop = Stop::new();
    stop.stop();
    let mut timeline = Timeline::open_with(&[path], stop).unwrap();
    assert_eq!(timeline.next(), None);
    assert_eq!(timeline.summaries()[0].format, None);
}

#[test]
fn one_writer_may_feed_two_pipes() {
    let dir = Dir::new();
    let paths = ["a", "b"].map(|name| dir.0.join(name));
    assert!(std::process::Command::new("mkfifo").args(&paths).status().unwrap().success());
    let writer = thread::spawn({
        let paths = paths.clone();
        move || {
            // Opens both before it writes to either.
            let mut files = paths.map(|p| fs::OpenOptions::new().write(true).open(p).unwrap());
            files.iter_mut().for_each(|f| f.write_all(&sample()).unwrap());
        }
    });
    let mut timeline = Timeline::open(&paths).unwrap();
    assert_eq!(all(&mut timeline).len(), 100);
    writer.join().unwrap();
}
