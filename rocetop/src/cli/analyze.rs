//! `rocetop analyze`: a report of one or more captures.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use rocetop_analysis::detect::Findings;
use rocetop_analysis::{Focus, Ledger, Severity};

use super::input::Input;
use super::write::{self, Target};
use super::{Exit, quiet_pipe, unmatched};
use crate::report::select::{Host, QpNumber, Selection};
use crate::report::{json, text};
use crate::run::Outcome;
use crate::source::CaptureSummary;

/// Report what captures say about every queue pair
#[derive(Debug, clap::Args)]
#[command(after_help = "Several files are one time line of one vantage point, such as the parts of a ring buffer or \
    one host's interfaces; with --taps each is a vantage point of its own.\n\n\
    How two flows are known to be one connection, the surest first:\n  \
    by CM            the connection managers named both queue pairs\n  \
    by port hash     the UDP source ports are the hash of both QP numbers (Linux)\n  \
    by ACKs          the ACKs fit this flow's requests and no other's\n  \
    by equal ports   both use one UDP source port that no other flow uses\n  \
    by source QP     datagrams name the queue pair that sent them\n\n\
    Exit codes: 0 analysed, 1 findings as bad as --fail-on or worse, 2 usage or I/O error, \
    3 a capture is cut or corrupt and was analysed as far as it goes (whatever was found). A selection or a filter \
    that nothing fits is said on standard error, with what is there, and ends with 0: nothing went wrong.")]
pub struct Args {
    /// Each FILE is a vantage point of its own: tell what was lost between them, and the delays
    #[arg(long, conflicts_with_all = ["threads", "flow", "write"])]
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

    /// Tell the story of this flow's connection: every episode, with its frames
    #[arg(long, value_name = "ID", conflicts_with = "no_stories")]
    flow: Option<u32>,

    /// Save the frames of the selection, with findings as packet comments; all frames where nothing is selected
    #[arg(long, value_name = "FILE.pcapng")]
    write: Option<PathBuf>,

    /// Show at most this many connections, and as many findings, in the text report
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) top: usize,

    /// Exit with 1 when a finding is as bad as this or worse
    #[arg(long, value_name = "SEVERITY")]
    pub(super) fail_on: Option<Level>,

    /// Count only: tell no stories and find nothing, but faster
    #[arg(long, conflicts_with = "fail_on")]
    pub(super) no_stories: bool,

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
    if args.write.is_some() {
        write::ensure_twice(&args.input)?;
    }
    let (options, stop) = args.input.options(!args.no_stories)?;
    let timeline = args.input.open(&stop)?;
    // Before the analysis, which may take long.
    let target = args.write.as_deref().map(|path| Target::open(path, &args.input)).transpose()?;
    let mut outcome = args.input.analyse(timeline, &options);
    let names: Vec<String> = outcome.captures.iter().map(|c| c.path.clone()).collect();
    let mut again = false;
    if let Some(flow) = args.flow {
        let focus = focus(&Ledger::new(&outcome.engine, names.clone()), flow)?;
        again = args.input.look_closer(&mut outcome, focus, &options, &stop)?;
    }
    let ledger = Ledger::new(&outcome.engine, names);
    let chosen = args.chosen();
    let found = chosen.findings(&ledger, None);
    unmatched::tell(&chosen, std::slice::from_ref(&ledger));
    print(args, &outcome, &ledger, &found, &chosen, again).or_else(quiet_pipe).context("cannot write the report")?;
    if let Some(target) = target {
        target.save(&args.input, &options, &stop, &ledger, &found, &chosen)?;
    }
    Ok(args.exit(&outcome.captures, &[found]))
}

fn focus(ledger: &Ledger<'_>, flow: u32) -> anyhow::Result<Focus> {
    ledger.focus(flow).with_context(|| match ledger.len() {
        0 => format!("there is no flow {flow}: no flow was seen at all"),
        1 => format!("there is no flow {flow}: there is only one, flow 0"),
        n => format!("there is no flow {flow}: there are {n}, from 0 to {}; --json or --qpn shows which", n - 1),
    })
}

impl Args {
    /// Which connections are asked for.
    pub(super) fn chosen(&self) -> Selection {
        Selection { flow: self.flow, qpn: self.qpn.clone(), host: self.host.clone() }
    }

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

fn print(
    args: &Args,
    outcome: &Outcome,
    ledger: &Ledger<'_>,
    found: &Findings,
    chosen: &Selection,
    again: bool,
) -> io::Result<()> {
    let captures = &outcome.captures;
    if args.json {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        json::write(&mut out, captures, ledger, found, chosen)?;
        return out.flush();
    }
    // Takes colours off where nobody wants them: no terminal, NO_COLOR.
    let mut out = BufWriter::new(anstream::stdout().lock());
    let shown = text::Shown { chosen: chosen.clone(), top: args.top, before: None };
    match args.flow {
        Some(_) => text::story::write(&mut out, captures, ledger, found, &shown, again)?,
        None => text::write(&mut out, captures, ledger, found, &shown)?,
    }
    out.flush()
}
