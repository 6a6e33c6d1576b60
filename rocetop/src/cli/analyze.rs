//! `rocetop analyze`: a report of one or more captures.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use rocetop_analysis::detect::Findings;
use rocetop_analysis::{Config, Ledger, Severity};
use rocetop_parsers::Nanos;

use super::{Exit, quiet_pipe};
use crate::filter::Filter;
use crate::report::select::{Host, QpNumber, Selection};
use crate::report::{json, text};
use crate::run::{self, Options, Outcome};
use crate::source::{CaptureSummary, Stop, Timeline};

/// Report what captures say about every queue pair
#[derive(Debug, clap::Args)]
#[command(after_help = "Several files are one time line of one vantage point, such as the parts of a ring buffer or \
    one host's interfaces. Exit codes: 0 analysed, 1 findings as bad as --fail-on or worse, 2 usage or I/O error, \
    3 a capture is cut or corrupt and was analysed as far as it goes (whatever was found).")]
pub struct Args {
    /// Captures: pcap or pcapng, also inside .gz, .zst or .xz; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print the report as JSON (rocetop.report/1)
    #[arg(long)]
    json: bool,

    /// Analyse only frames that pass this tcpdump filter
    #[arg(short = 'f', long, value_name = "BPF")]
    filter: Option<String>,

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

    /// Analyse with this many threads; the report is the same
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,

    /// Keep at most this many flows, a 64th of them per group of address pairs
    #[arg(long, value_name = "N", default_value_t = Config::default().most_flows)]
    max_flows: usize,

    /// Forget flows that were idle for this many seconds, as new ones come
    #[arg(long, value_name = "SECONDS")]
    idle: Option<u64>,
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
    let stop = Stop::new();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // The first asks for the results so far, the second does not wait for them.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, stop.flag())
            .and_then(|_| signal_hook::flag::register(signal, stop.flag()))
            .context("cannot listen for Ctrl-C")?;
    }
    let options = Options {
        threads: args.threads,
        engine: Config { most_flows: args.max_flows, idle: args.idle.map(|s| Nanos(s.saturating_mul(1_000_000_000))) },
        filter: args.filter.as_deref().map(Filter::new).transpose()?,
    };
    let timeline = Timeline::open_with(&args.files, stop)?;
    let outcome = with_progress(timeline, &options);
    for capture in outcome.captures.iter().filter(|c| !c.complete) {
        let problem = capture.problem.as_deref().unwrap_or("it was not read to its end");
        anstream::eprintln!("rocetop: {}: {problem}", capture.path);
    }
    let names = outcome.captures.iter().map(|c| c.path.clone()).collect();
    let ledger = Ledger::new(&outcome.engine, names);
    let chosen = Selection { qpn: args.qpn, host: args.host.clone() };
    let found = chosen.findings(&ledger);
    let failed = args.fail_on.is_some_and(|level| found.list.iter().any(|f| f.severity >= level.into()));
    print(args, &outcome, &ledger, &found, chosen).or_else(quiet_pipe).context("cannot write the report")?;
    // A live pipe has no other end than the one that somebody gives it.
    let ended = |c: &CaptureSummary| c.complete || c.stopped;
    Ok(if !outcome.captures.iter().all(ended) {
        Exit::Incomplete
    } else if failed {
        Exit::Findings
    } else {
        Exit::Clean
    })
}

/// Reads it all, with a bar on standard error when someone is looking and it takes a while.
fn with_progress(timeline: Timeline, options: &Options) -> Outcome {
    if !io::stderr().is_terminal() {
        return run::run(timeline, options, |_, _| {});
    }
    let bar = ProgressBar::new(0);
    let style = "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} to go";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    let outcome = run::run(timeline, options, |done, total| {
        bar.set_length(total.unwrap_or(done).0);
        bar.set_position(done.0);
    });
    bar.finish_and_clear();
    outcome
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
