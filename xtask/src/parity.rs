//! `parity`: the kernel programs over captures, against userland: the same frames, the same figures.
//!
//! The comparison is a test of `rocetop`; here it is run alone, over more folders, and its outcome shown.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::sh;

pub(crate) const ARGS: &str = "[DIR...]";

pub(crate) fn run(args: &[String]) -> Result<bool> {
    let mut test = sh::cargo();
    test.args(["test", "--quiet", "--package", "rocetop", "--test", "kernel"]).args(sh::features());
    test.args(["--", "parity", "--nocapture", "--test-threads", "1"]);
    if !args.is_empty() {
        // The test runs in its own folder.
        let folders: Vec<PathBuf> = args
            .iter()
            .map(|folder| std::fs::canonicalize(folder).with_context(|| format!("cannot open the folder {folder}")))
            .collect::<Result<_>>()?;
        test.env("ROCETOP_CAPTURES", std::env::join_paths(folders).context("a folder with a colon in its name")?);
    }
    sh::run(&mut test)
}
