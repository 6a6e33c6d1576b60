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
    one host's interfaces. Exit codes: 0 analysed, 1 findings as bad as --fail-on or worse, 2 usage or I/O error, \
    3 a capture is cut or corrupt and was analysed as far as it goes (whatever was found).")]
pub struct Args {
    /// Print the report as JSON (rocetop.report/1)
    #[arg(long)]
    json: bool,

    /// Show only connections with this queue pair number (decimal or 0x...)
    #[arg(long, value_name = "N")]
    qpn: Option<QpNumber>,

    /// Show only connections with this address or GID
    #[arg(long, value_name = "A")]
    host: Option<Host>,

    /// Show at most this many connections in the text report
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Exit with 1 when a finding is as bad as this or worse
    #[arg(long, value_name = "SEVERITY")]
    fail_on: Option<Level>,

    #[command(flatten)]
    input: Input,
}

/// How bad a finding must be.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Level {
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
    let outcome = args.input.read()?;
    let names = outcome.captures.iter().map(|c| c.path.clone()).collect();
    let ledger = Ledger::new(&outcome.engine, names);
    let chosen = Selection { qpn: args.qpn, host: args.host.clone() };
    let found = chosen.findings(&ledger);
    let failed = args.fail_on.is_some_and(|level| found.list.iter().any(|f| f.severity >= level.into()));
    print(args, &outcome, &ledger, &found, chosen).or_else(quiet_pipe).context("cannot write the report")?;
    Ok(if !outcome.captures.iter().all(CaptureSummary::ended) {
        Exit::Incomplete
    } else if failed {
        Exit::Found
    } else {
        Exit::Clean
    })
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
