//! `truth`: every capture against its right answer, read from what `rocetop analyze FILE --json` prints.

mod cases;
mod compare;
mod expect;
mod known;
mod report;
mod sidecar;
mod tshark;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::sh;
use compare::Difference;

pub(crate) const ARGS: &str = "DIR...           totals and flows against NAME.toml or a lab sidecar
--clean DIR...   no loss, no repeats, no bad ICRC in any capture
--tshark DIR...  the opcode mix against tshark's
--write-toml SIDECARS DIR   make DIR/NAME.toml from lab sidecars, for the captures in DIR
--bin FILE ...   with any of these: ask that rocetop instead of building one";

/// Counts by dotted name, as in the report: `frames`, `icrc.bad`, `opcodes.RC_ACK`; or a flow's `gaps`, `acks`...
type Counts = BTreeMap<String, u64>;

/// What a flow is known by: source and destination address as text, destination queue pair. Epochs are summed.
type Key = (String, String, u64);

/// What is right for one capture, or what a report says of it.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    totals: Counts,
    flows: BTreeMap<Key, Counts>,
}

/// Finds in what an answer is wrong.
type Judge = Box<dyn Fn(&Answer) -> Result<Vec<Difference>>>;

/// A capture and how to judge its report. `check` is the name by which known differences refer to it.
struct Case {
    file: PathBuf,
    check: &'static str,
    judge: Judge,
}

pub(crate) fn run(args: &[String]) -> Result<bool> {
    let mut make: fn(&Path) -> Result<Vec<Case>> = cases::truths;
    let mut write = false;
    let mut binary = None;
    let mut folders = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--clean" => make = cases::clean,
            "--tshark" => make = cases::tshark,
            "--write-toml" => write = true,
            "--bin" => binary = Some(PathBuf::from(args.next().context("--bin wants a file")?)),
            flag if flag.starts_with('-') => bail!("truth knows no {flag}; usage:\ntruth {ARGS}"),
            folder => folders.push(at(folder)),
        }
    }
    if write {
        let [sidecars, captures] = folders.as_slice() else { bail!("--write-toml wants two folders:\n{ARGS}") };
        return write::run(sidecars, captures);
    }
    if folders.is_empty() {
        bail!("which folders? usage:\ntruth {ARGS}");
    }
    let mut cases = Vec::new();
    for folder in &folders {
        let found = make(folder)?;
        if found.is_empty() {
            bail!("{}: no capture to judge there (truth needs NAME.toml or a sidecar; try --clean)", folder.display());
        }
        cases.extend(found);
    }
    let binary = match binary {
        Some(binary) => binary,
        None => sh::rocetop()?,
    };
    let good = cases.iter().map(|case| judge(&binary, case)).collect::<Result<Vec<bool>>>()?;
    let right = good.iter().filter(|good| **good).count();
    println!("{right} of {}", good.len());
    Ok(right == good.len())
}

/// A folder as it was typed; from the workspace's root when it is not below the current one.
fn at(folder: &str) -> PathBuf {
    let path = PathBuf::from(folder);
    if path.exists() { path } else { sh::root().join(folder) }
}

/// Judges one capture and prints the verdict; whether it is right.
fn judge(binary: &Path, case: &Case) -> Result<bool> {
    let name = sh::name(&case.file);
    let differences = match report::of(binary, &case.file)? {
        Ok(answer) => (case.judge)(&answer)?,
        Err(why) => vec![Difference { field: "report".into(), wanted: "a complete one".into(), got: why }],
    };
    let (known, wrong): (Vec<_>, Vec<_>) = differences
        .into_iter()
        .map(|d| (known::reason(&name, case.check, &d.field), d))
        .partition(|(why, _)| why.is_some());
    println!("{:<5} {name}", if wrong.is_empty() { "ok" } else { "WRONG" });
    for (why, difference) in known.iter().chain(&wrong) {
        let note = why.map(|why| format!(" (known: {why})")).unwrap_or_default();
        println!("        {difference}{note}");
    }
    Ok(wrong.is_empty())
}
