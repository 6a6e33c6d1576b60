//! What the feeds of whole captures share: a file of their own to write an input to.

use std::path::PathBuf;

/// Writes an input to a file, in memory where the system has such a folder. One per target and thread.
pub(crate) fn written(target: &str, data: &[u8]) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let path = folder.join(format!("rocetop-fuzz-{target}-{process}-{thread:?}"));
    assert!(std::fs::write(&path, data).is_ok(), "cannot write {}", path.display());
    path
}
