//! A folder of one test, gone with it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("rocetop-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // In memory where the system has such a folder: some tests write thousands of files.
        let memory = PathBuf::from("/dev/shm");
        let path = if memory.is_dir() { memory } else { std::env::temp_dir() }.join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
