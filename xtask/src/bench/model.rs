//! `bench model`: what a simulated hop costs, beside an event loop that does nothing else.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, bail};

use super::measure::{Cost, Line, interleaved};
use super::{Row, mega};
use crate::sh;

/// Runs of each workload; the median counts.
const ROUNDS: usize = 5;

/// A workload of `model/examples/load.rs`: its name, what it is, the ports of its fabric (as many events wait in the
/// bare loop), and what is asked of it: millions of hops in a CPU second, megabytes.
struct Case {
    name: &'static str,
    about: &'static str,
    ports: &'static str,
    speed: &'static str,
    memory: &'static str,
}

const CASES: &[Case] = &[
    Case { name: "perm128", about: "128 hosts, 64 MB, 100G, 1000 B", ports: "768", speed: ">= 6", memory: "-" },
    Case { name: "inc128", about: "127 into 1, 51 MB, 100G, 1000 B", ports: "768", speed: ">= 6", memory: "-" },
    Case {
        name: "perm1024",
        about: "1,024 hosts x 1 MB, 400G, 4096 B",
        ports: "6144",
        speed: ">= 2.5",
        memory: "<= 25",
    },
    Case { name: "perm8192", about: "8,192 hosts x 32 KiB", ports: "49152", speed: "-", memory: "-" },
    Case { name: "perm27648", about: "27,648 hosts x 32 KiB", ports: "165888", speed: "-", memory: "<= 200" },
];

/// Hops of the bare loop.
const BARE: &str = "3000000";

pub(super) fn run() -> Result<Vec<Row>> {
    let load = build("load")?;
    let line = |words: &[&str]| {
        let words: Vec<&OsStr> = std::iter::once(load.as_os_str()).chain(words.iter().map(OsStr::new)).collect();
        Line::new(&words)
    };
    let mut rows = Vec::new();
    for case in CASES {
        eprintln!("{}: {}", case.name, case.about);
        let (full, bare) = (line(&[case.name]), line(&["bare", case.ports, BARE]));
        // The same every time, since it is seeded.
        let hops: u64 = told(&full, "hops")?;
        let costs = interleaved(&[full, bare], ROUNDS)?;
        let [ours, theirs] = costs.as_slice() else { continue };
        let (speed, floor) = (per_second(hops, ours), per_second(BARE.parse().unwrap_or(0), theirs));
        rows.push(Row {
            what: case.name,
            figure: format!("{speed:.2} M/s"),
            target: case.speed,
            how: format!("{hops} hops in {:.3} s of CPU, set-up included; {}", ours.cpu.as_secs_f64(), case.about),
        });
        rows.push(Row {
            what: "  of a bare event loop",
            figure: format!("{:.2}", speed / floor),
            target: ">= 0.5",
            how: format!("{floor:.2} M/s with {} events waiting, a heap and a cache miss each", case.ports),
        });
        rows.push(Row {
            what: "  memory",
            figure: format!("{} MB", mega(ours.peak)),
            target: case.memory,
            how: "peak of the process".into(),
        });
    }
    let setup = interleaved(&[line(&["perm27648", "--setup"])], 3)?;
    if let [cost] = setup.as_slice() {
        rows.push(Row {
            what: "27,648 hosts, set-up",
            figure: format!("{:.2} s", cost.cpu.as_secs_f64()),
            target: "<= 3 s",
            how: format!("{} MB", mega(cost.peak)),
        });
    }
    eprintln!("fluid: 442,368 flows over 27,648 hosts");
    let solved: f64 = told(&Line::new(&[build("fluid")?.as_os_str()]), "in")?;
    rows.push(Row {
        what: "fluid, rates solved again",
        figure: format!("{solved:.2} s"),
        target: "<= 0.3 s",
        how: "wall time, best of 5; 442,368 flows over 27,648 hosts".into(),
    });
    Ok(rows)
}

/// Builds an example in release and names it.
fn build(example: &str) -> Result<PathBuf> {
    let mut cargo = sh::cargo();
    if !sh::run(cargo.args(["build", "--quiet", "--release", "--package", "rocetop-model", "--example", example]))? {
        bail!("the example `{example}` of rocetop-model does not build");
    }
    Ok(sh::target()?.join("release").join("examples").join(example))
}

/// The number that a run prints behind a word.
fn told<N: FromStr>(line: &Line, word: &str) -> Result<N> {
    let text = String::from_utf8_lossy(&line.output()?).into_owned();
    let mut words = text.split_whitespace().skip_while(|found| *found != word);
    words.nth(1).and_then(|found| found.parse().ok()).with_context(|| format!("{line} prints no {word}: {text}"))
}

/// Millions in a second of CPU time.
fn per_second(hops: u64, cost: &Cost) -> f64 {
    hops as f64 / cost.cpu.as_secs_f64().max(1e-6) / 1e6
}
