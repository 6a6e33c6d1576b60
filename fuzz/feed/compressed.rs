//! The target `compressed`: files inside .gz, .zst and .xz, read in a stream.

#[path = "file.rs"]
mod file;

use rocetop::source::Timeline;

/// Opens and reads a file of these bytes; what was read and what is said of it must agree.
pub(crate) fn feed(data: &[u8]) {
    let path = file::written("compressed", data);
    let opened = Timeline::open(&[&path]);
    // What could not be undone is told by the summary; what is no capture by the error, without opening it again.
    let Ok(mut timeline) = opened else {
        let _ = std::fs::remove_file(&path);
        return;
    };
    let (mut frames, mut bytes) = (0, 0);
    timeline.for_each(|frame| {
        assert!(frame.bytes.len() <= frame.wire_len as usize);
        frames += 1;
        bytes += u64::from(frame.wire_len);
    });
    let _ = std::fs::remove_file(&path);
    let summaries = timeline.summaries();
    assert_eq!(summaries.len(), 1);
    for summary in &summaries {
        assert_eq!((summary.frames, summary.bytes.0), (frames, bytes), "{summary:?}");
        assert_eq!(summary.complete, summary.problem.is_none(), "{summary:?}");
        assert!(summary.first_ns <= summary.last_ns, "{summary:?}");
    }
}
