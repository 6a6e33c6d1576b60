//! `bench-crc FILE`: one CRC32 pass over a mapped file, the least that checking every ICRC must cost.

use std::fs::File;

use anyhow::{Context, Result, bail};

pub(crate) fn run(args: &[String]) -> Result<bool> {
    let [path] = args else { bail!("bench-crc wants one file") };
    let file = File::open(path).with_context(|| format!("cannot open {path}"))?;
    // SAFETY: the file is ours, written by the generator before and by nobody while we read.
    #[allow(unsafe_code, reason = "the least that a pass over the file can cost")]
    let bytes = unsafe { memmap2::Mmap::map(&file) }.with_context(|| format!("cannot map {path}"))?;
    println!("{:08x}", crc32fast::hash(&bytes));
    Ok(true)
}
