//! `rocetop analyze`: a report of one or more captures.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use rocetop_analysis::Config;
use rocetop_analysis::Ledger;
use rocetop_parsers::{Bytes, Nanos};

use super::Exit;
use crate::filter::Filter;
use crate::report::select::{Host, QpNumber, Selection};
use crate::report::{json, text};
use crate::run::{self, Options, Outcome};
use crate::source::{CaptureSummary, Stop, Timeline};

/// Report what captures say about every queue pair
#[derive(Debug, clap::Args)]
#[command(after_help = "Several files are one time line of one vantage point, such as the parts of a ring buffer or \
    one host's interfaces; with --taps each is a vantage point of its own. Exit codes: 0 analysed, 2 usage or I/O error, 3 a capture is cut or corrupt and was \
    analysed as far as it goes.")]
pub struct Args {
    /// Captures: pcap or pcapng, also inside .gz, .zst or .xz; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,

    /// Each FILE is a vantage point of its own: tell what was lost between them, and the delays
    #[arg(long, conflicts_with = "threads")]
    taps: bool,

    /// Print the report as JSON (rocetop.report/1)
    #[arg(long)]
    pub(super) json: bool,

    /// Analyse only frames that pass this tcpdump filter
    #[arg(short = 'f', long, value_name = "BPF")]
    filter: Option<String>,

    /// Show only connections with this queue pair number (decimal or 0x...)
    #[arg(long, value_name = "N")]
    pub(super) qpn: Option<QpNumber>,

    /// Show only connections with this address or GID
    #[arg(long, value_name = "A")]
    pub(super) host: Option<Host>,

    /// Show at most this many connections in the text report
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) top: usize,

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
    if args.taps {
        return super::taps::run(args, &options, &stop);
    }
    let timeline = Timeline::open_with(&args.files, stop)?;
    let outcome = with_progress(|progress| run::run(timeline, &options, progress));
    let exit = ended(&outcome.captures);
    print(args, &outcome).or_else(quiet_pipe).context("cannot write the report")?;
    Ok(exit)
}

/// Tells of captures that were not read to their ends.
pub(super) fn ended(captures: &[CaptureSummary]) -> Exit {
    for capture in captures.iter().filter(|c| !c.complete) {
        let problem = capture.problem.as_deref().unwrap_or("it was not read to its end");
        anstream::eprintln!("rocetop: {}: {problem}", capture.path);
    }
    // A live pipe has no other end than the one that somebody gives it.
    let ended = |c: &CaptureSummary| c.complete || c.stopped;
    if captures.iter().all(ended) { Exit::Clean } else { Exit::Incomplete }
}

/// Reads it all, with a bar on standard error when someone is looking and it takes a while.
pub(super) fn with_progress<T>(run: impl FnOnce(&mut dyn FnMut(Bytes, Option<Bytes>)) -> T) -> T {
    if !io::stderr().is_terminal() {
        return run(&mut |_, _| {});
    }
    let bar = ProgressBar::new(0);
    let style = "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} to go";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    let result = run(&mut |done, total| {
        bar.set_length(total.unwrap_or(done).0);
        bar.set_position(done.0);
    });
    bar.finish_and_clear();
    result
}

fn print(args: &Args, outcome: &Outcome) -> io::Result<()> {
    let names = outcome.captures.iter().map(|c| c.path.clone()).collect();
    let ledger = Ledger::new(&outcome.engine, names);
    let chosen = Selection { qpn: args.qpn, host: args.host.clone() };
    let captures = &outcome.captures;
    if args.json {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        json::write(&mut out, captures, &ledger, &chosen)?;
        return out.flush();
    }
    // Takes colours off where nobody wants them: no terminal, NO_COLOR.
    let mut out = BufWriter::new(anstream::stdout().lock());
    text::write(&mut out, captures, &ledger, &text::Shown { chosen, top: args.top })?;
    out.flush()
}

/// A reader that has seen enough (`| head`) is no error.
pub(super) fn quiet_pipe(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}
