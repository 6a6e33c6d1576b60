//! `rocetop analyze --taps`: captures of the same traffic from several vantage points.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

use anyhow::{Context, ensure};
use rocetop_analysis::Ledger;
use rocetop_analysis::detect::Findings;
use rocetop_analysis::taps::Between;

use super::analyze::Args;
use super::input::{Input, tell_problems, with_progress};
use super::{Exit, quiet_pipe, unmatched};
use crate::report::select::Selection;
use crate::report::taps::{self as json, Ids};
use crate::report::text;
use crate::source::CaptureSummary;
use crate::taps::{self, Taps};

/// Reads captures as vantage points of their own.
///
/// # Errors
/// One capture alone or too many, one that cannot be opened, a filter that is not valid.
pub(super) fn read(input: &Input, stories: bool) -> anyhow::Result<Taps> {
    let (options, stop) = input.options(stories)?;
    let count = input.files.len();
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
    let mut files = input.files.clone();
    files.sort();
    let taps = with_progress(|progress| taps::run(&files, &options, &stop, progress))?;
    let captures = taps.captures();
    tell_problems(&captures);
    input.tell_filtered(&captures, taps.outcomes.iter().map(|o| &o.engine));
    Ok(taps)
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut taps = read(&args.input, !args.no_stories)?;
    let captures = taps.captures();
    let mut between = std::mem::take(&mut taps.between);
    let ledgers = taps.ledgers();
    let chosen = args.chosen();
    let beside = |tap| Some((&between, tap));
    let found: Vec<Findings> =
        ledgers.iter().enumerate().map(|(n, ledger)| chosen.findings(ledger, beside(n))).collect();
    if !chosen.is_all() {
        let ways: BTreeSet<_> =
            ledgers.iter().flat_map(|ledger| chosen.flows(ledger)).map(|flow| (flow.src, flow.dst)).collect();
        between.rows.retain(|row| ways.contains(&(row.src.clone(), row.dst.clone())));
    }
    unmatched::tell(&chosen, &ledgers);
    print(args, &taps, &between, &captures, &ledgers, &found, chosen)
        .or_else(quiet_pipe)
        .context("cannot write the report")?;
    Ok(args.exit(&captures, &found))
}

fn print(
    args: &Args,
    taps: &Taps,
    between: &Between,
    captures: &[CaptureSummary],
    ledgers: &[Ledger<'_>],
    found: &[Findings],
    chosen: Selection,
) -> io::Result<()> {
    if args.json {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        json::write(&mut out, captures, ledgers, found, between, &chosen)?;
        return out.flush();
    }
    let mut out = BufWriter::new(anstream::stdout().lock());
    text::taps::write(&mut out, between, captures)?;
    let mut before = Ids::default();
    let found = text::taps::told_once(found, ledgers);
    for (n, ((outcome, ledger), found)) in taps.outcomes.iter().zip(ledgers).zip(&found).enumerate() {
        if n != 0 {
            writeln!(out)?;
        }
        let shown = text::Shown { chosen: chosen.clone(), top: args.top, before: Some(before) };
        text::write(&mut out, &outcome.captures, ledger, found, &shown)?;
        before.pass(ledger);
    }
    out.flush()
}
