//! The captures of the repository.

use std::path::{Path, PathBuf};

/// All captures below `folder`, in the order of their names.
pub(crate) fn captures(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.extension().is_some_and(|e| !["toml", "md", "json"].iter().any(|other| e == *other)));
    all.sort();
    assert!(!all.is_empty(), "no captures in {}", folder.display());
    all
}

/// The folder of the repository's captures.
pub(crate) fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures")
}
