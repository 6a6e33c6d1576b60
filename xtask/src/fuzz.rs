//! `fuzz`: feeds the parsers broken input, with coverage feedback, on the stable toolchain.
//!
//! libFuzzer needs a binary with coverage counters, which any rustc can put in; only sanitizers would need nightly, and
//! the parsers forbid `unsafe`. `fuzz/README.md` says how to add a target.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::sh;

pub(crate) const ARGS: &str = "[TARGET] [--seconds N]   all targets in turn; 60 seconds each";

/// Coverage counters, the comparisons' operands, and the guard that libfuzzer-sys wants to see.
const FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

pub(crate) fn run(args: &[String]) -> Result<bool> {
    let mut seconds = 60u32;
    let mut wanted = None;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => {
                let number = args.next().and_then(|number| number.parse().ok());
                seconds = number.context("--seconds wants a whole number")?;
            }
            flag if flag.starts_with('-') => bail!("fuzz knows no {flag}; usage: fuzz {ARGS}"),
            target => wanted = Some(target.to_owned()),
        }
    }
    let fuzz = sh::root().join("fuzz");
    let mut targets = Vec::new();
    for file in sh::files(&fuzz.join("fuzz_targets"))? {
        targets.extend(sh::name(&file).strip_suffix(".rs").map(str::to_owned));
    }
    if let Some(wanted) = wanted {
        ensure!(targets.contains(&wanted), "there is no target {wanted}; there are: {}", targets.join(", "));
        targets = vec![wanted];
    }
    let triple = host()?;
    let out = sh::target()?.join("fuzz");
    for target in targets {
        eprintln!("{target}: {seconds} s");
        if !one(&fuzz, &target, &triple, &out, seconds)? {
            println!(
                "{target}: a find. Its input is named above; copied into fuzz/corpus/{target}/ it becomes a test."
            );
            return Ok(false);
        }
    }
    Ok(true)
}

/// Builds and runs one target; whether it found nothing.
fn one(fuzz: &Path, target: &str, triple: &str, out: &Path, seconds: u32) -> Result<bool> {
    // With a triple named, the flags are for the target alone and not for build scripts.
    let built = sh::run(
        sh::cargo()
            .current_dir(fuzz)
            .args(["build", "--quiet", "--release", "--bin", target, "--target", triple, "--target-dir"])
            .arg(out)
            .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}")),
    )?;
    ensure!(built, "the target {target} does not build (it needs a C++ compiler, for libFuzzer itself)");
    let learned = out.join("corpus").join(target);
    let finds = out.join("finds");
    for folder in [&learned, &finds] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut prefix = std::ffi::OsString::from("-artifact_prefix=");
    prefix.push(finds.join(format!("{target}-")));
    let mut run = std::process::Command::new(out.join(triple).join("release").join(target));
    // New inputs go into the first folder; the seeds are only read.
    run.arg(format!("-max_total_time={seconds}"))
        .arg("-print_final_stats=1")
        .arg("-verbosity=0")
        .arg(prefix)
        .arg(learned)
        .arg(fuzz.join("corpus").join(target));
    sh::run(&mut run)
}

/// The triple that this machine builds for.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let text = sh::output(std::process::Command::new(rustc).arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say what it builds for")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every target has its feed, its seeds and its entry in the manifest, and the seeds stay small.
    #[test]
    fn targets_are_complete() {
        let fuzz = sh::root().join("fuzz");
        let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
        let mut size = 0;
        for file in sh::files(&fuzz.join("fuzz_targets")).unwrap() {
            let name = sh::name(&file);
            let target = name.strip_suffix(".rs").unwrap();
            assert!(fuzz.join("feed").join(&name).is_file(), "{target} has no feed");
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is not in the manifest");
            let seeds = sh::files(&fuzz.join("corpus").join(target)).unwrap();
            assert!(!seeds.is_empty(), "{target} has no seeds");
            size += seeds.iter().map(|seed| std::fs::metadata(seed).unwrap().len()).sum::<u64>();
        }
        assert!(size < 200_000, "the seeds weigh {size} bytes");
    }

    #[test]
    fn the_host_is_a_triple() {
        assert!(host().unwrap().split('-').count() >= 3);
    }
}
