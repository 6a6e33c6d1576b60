//! `rocetop analyze`: a report of one or more captures.

use std::io::{self, BufWriter, Write};

use anyhow::Context;
use rocetop_analysis::detect::Findings;
use rocetop_analysis::{Ledger, Severity};

use super::input::Input;
use super::{Exit, quiet_pipe};
use crate::report::select::{Host, QpNumber, Selection};
use crate::report::{json, text};
use crate::run::Outcome;
use crate::source::CaptureSummary;

/// Report what captures say about every queue pair
#[derive(Debug, clap::Args)]
#[command(after_help = "Several files are one time line of one vantage point, such as the parts of a ring buffer or \
    one host's interfaces; with --taps each is a vantage point of its own. Exit codes: 0 analysed, 1 findings as bad as --fail-on or worse, 2 usage or I/O error, \
    3 a capture is cut or corrupt and was analysed as far as it goes (whatever was found).")]
pub struct Args {
    /// Each FILE is a vantage point of its own: tell what was lost between them, and the delays
    #[arg(long, conflicts_with = "threads")]
    taps: bool,

    /// Print the report as JSON (rocetop.report/1)
    #[arg(long)]
    pub(super) json: bool,

    /// Show only connections with this queue pair number (decimal or 0x...)
    #[arg(long, value_name = "N")]
    pub(super) qpn: Option<QpNumber>,

    /// Show only connections with this address or GID
    #[arg(long, value_name = "A")]
    pub(super) host: Option<Host>,

    /// Show at most this many connections in the text report
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) top: usize,

    /// Exit with 1 when a finding is as bad as this or worse
    #[arg(long, value_name = "SEVERITY")]
    pub(super) fail_on: Option<Level>,

    #[command(flatten)]
    pub(super) input: Input,
}

/// How bad a finding must be.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Level {
    Info,
    Warning,
    Critical,
}

impl From<Level> for Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Info => Self::Info,
            Level::Warning => Self::Warning,
            Level::Critical => Self::Critical,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// A capture that cannot be opened, a filter that is not valid, output that fails.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.taps {
        return super::taps::run(args);
    }
    let outcome = args.input.read()?;
    let names = outcome.captures.iter().map(|c| c.path.clone()).collect();
    let ledger = Ledger::new(&outcome.engine, names);
    let chosen = Selection { qpn: args.qpn, host: args.host.clone() };
    let found = chosen.findings(&ledger);
    print(args, &outcome, &ledger, &found, chosen).or_else(quiet_pipe).context("cannot write the report")?;
    Ok(args.exit(&outcome.captures, &[found]))
}

impl Args {
    /// A capture that is cut beats a finding that `--fail-on` asks for.
    pub(super) fn exit(&self, captures: &[CaptureSummary], found: &[Findings]) -> Exit {
        let failed = |level: Severity| found.iter().flat_map(|f| &f.list).any(|f| f.severity >= level);
        if !captures.iter().all(CaptureSummary::ended) {
            Exit::Incomplete
        } else if self.fail_on.is_some_and(|level| failed(level.into())) {
            Exit::Found
        } else {
            Exit::Clean
        }
    }
}

fn print(args: &Args, outcome: &Outcome, ledger: &Ledger<'_>, found: &Findings, chosen: Selection) -> io::Result<()> {
    let captures = &outcome.captures;
    if args.json {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        json::write(&mut out, captures, ledger, found, &chosen)?;
        return out.flush();
    }
    // Takes colours off where nobody wants them: no terminal, NO_COLOR.
    let mut out = BufWriter::new(anstream::stdout().lock());
    text::write(&mut out, captures, ledger, found, &text::Shown { chosen, top: args.top })?;
    out.flush()
}
