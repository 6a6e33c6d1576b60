//! `rocetop analyze --taps`: captures of the same traffic from several vantage points.

use std::io::{self, BufWriter, Write};

use anyhow::{Context, ensure};
use rocetop_analysis::Ledger;

use super::Exit;
use super::analyze::{Args, ended, quiet_pipe, with_progress};
use crate::report::select::Selection;
use crate::report::{taps as json, text};
use crate::run::Options;
use crate::source::{CaptureSummary, Stop};
use crate::taps::{self, Taps};

pub(super) fn run(args: &Args, options: &Options, stop: &Stop) -> anyhow::Result<Exit> {
    let count = args.files.len();
    ensure!(
        count >= 2,
        "--taps compares captures of the same traffic: name two or more, each a vantage point of its own"
    );
    ensure!(
        count <= taps::MOST,
        "--taps matches each capture with each: {count} are too many, {} the most",
        taps::MOST
    );
    // So that the order in which they were named makes no difference.
    let mut files = args.files.clone();
    files.sort();
    let taps = with_progress(|progress| taps::run(&files, options, stop, progress))?;
    let captures: Vec<CaptureSummary> = taps.outcomes.iter().flat_map(|o| &o.captures).cloned().collect();
    let exit = ended(&captures);
    print(args, &taps, &captures).or_else(quiet_pipe).context("cannot write the report")?;
    Ok(exit)
}

fn print(args: &Args, taps: &Taps, captures: &[CaptureSummary]) -> io::Result<()> {
    let names: Vec<String> = captures.iter().map(|c| c.path.clone()).collect();
    let ledgers: Vec<Ledger<'_>> = taps.outcomes.iter().map(|o| Ledger::new(&o.engine, names.clone())).collect();
    let chosen = Selection { qpn: args.qpn, host: args.host.clone() };
    if args.json {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        json::write(&mut out, captures, &ledgers, &taps.between, &chosen)?;
        return out.flush();
    }
    let mut out = BufWriter::new(anstream::stdout().lock());
    text::taps::write(&mut out, &taps.between)?;
    let shown = text::Shown { chosen, top: args.top };
    for (n, (outcome, ledger)) in taps.outcomes.iter().zip(&ledgers).enumerate() {
        if n != 0 {
            writeln!(out)?;
        }
        text::write(&mut out, &outcome.captures, ledger, &shown)?;
    }
    out.flush()
}
