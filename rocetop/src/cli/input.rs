//! What every command that analyses captures takes, and the run over them.

use std::io::{self, IsTerminal};
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use rocetop_analysis::{Config, Engine, Focus};
use rocetop_parsers::{Bytes, Nanos};

use crate::filter::Filter;
use crate::run::{self, Options, Outcome};
use crate::source::{CaptureSummary, OpenError, Stop, Timeline, reads_once};

/// Captures, and how to analyse them.
#[derive(Debug, clap::Args)]
pub struct Input {
    /// Captures: pcap or pcapng, also inside .gz, .zst or .xz; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,

    /// Analyse only frames that pass this tcpdump filter
    #[arg(short = 'f', long, value_name = "BPF")]
    filter: Option<String>,

    /// Analyse with this many threads; the report is the same. One a core, at most four, where nothing is said
    #[arg(long, value_name = "N", default_value_t = cores(), hide_default_value = true,
        value_parser = at_least_one::<usize>)]
    threads: usize,

    /// Keep at most this many flows, a 64th of them per group of address pairs
    #[arg(long, value_name = "N", default_value_t = Config::default().most_flows, value_parser = at_least_one::<usize>)]
    max_flows: usize,

    /// Forget flows that were idle for this many seconds, as new ones come
    #[arg(long, value_name = "SECONDS", value_parser = at_least_one::<u64>)]
    idle: Option<u64>,
}

impl Input {
    /// How to analyse, and the flag that Ctrl-C sets.
    ///
    /// # Errors
    /// A filter that is not valid.
    pub(super) fn options(&self, stories: bool) -> anyhow::Result<(Options, Stop)> {
        let stop = listen()?;
        let options = Options {
            threads: self.threads,
            engine: Config {
                most_flows: self.max_flows,
                idle: self.idle.map(|s| Nanos(s.saturating_mul(1_000_000_000))),
                stories,
                focus: None,
                counted: false,
            },
            filter: self.filter.as_deref().map(Filter::new).transpose()?,
        };
        Ok((options, stop))
    }

    /// Reads and analyses it all. Captures that were not read to their end are told on standard error.
    ///
    /// # Errors
    /// A capture that cannot be opened, a filter that is not valid.
    pub fn read(&self) -> anyhow::Result<Outcome> {
        let (options, stop) = self.options(true)?;
        Ok(self.analyse(self.open(&stop)?, &options))
    }

    /// Opens all captures.
    ///
    /// # Errors
    /// A capture that cannot be opened.
    pub(super) fn open(&self, stop: &Stop) -> Result<Timeline, OpenError> {
        Timeline::open_with(&self.files, stop.clone())
    }

    /// [`Input::read`] of captures that were opened.
    pub(super) fn analyse(&self, timeline: Timeline, options: &Options) -> Outcome {
        let outcome = with_progress(|progress| run::run(timeline, options, progress));
        tell_problems(&outcome.captures);
        self.tell_filtered(&outcome.captures, std::iter::once(&outcome.engine));
        outcome
    }

    /// Says on standard error that no frame passed the filter, where none did.
    pub(super) fn tell_filtered<'e>(&self, captures: &[CaptureSummary], engines: impl Iterator<Item = &'e Engine>) {
        let Some(filter) = &self.filter else { return };
        let read: u64 = captures.iter().map(|c| c.frames).sum();
        if read != 0 && engines.map(|engine| engine.totals().frames()).sum::<u64>() == 0 {
            let hint = "of what is tagged or tunnelled a filter sees the outside";
            anstream::eprintln!("rocetop: none of {read} frames passes the filter {filter:?} ({hint})");
        }
    }

    /// Reads it all again for one connection. `false` where that cannot be done, or would not tell the same: then the
    /// outcome is as it was.
    ///
    /// # Errors
    /// A capture that cannot be opened any more.
    pub(super) fn look_closer(
        &self,
        outcome: &mut Outcome,
        focus: Focus,
        options: &Options,
        stop: &Stop,
    ) -> Result<bool, OpenError> {
        if stop.is_stopped() || self.read_once().is_some() {
            return Ok(false);
        }
        let timeline = self.open(stop)?;
        let second = with_progress(|progress| run::again(timeline, options, focus, progress));
        let same = second.captures == outcome.captures;
        if same {
            outcome.engine.look_closer(&focus, second.engine);
        } else {
            anstream::eprintln!("rocetop: a capture has changed meanwhile, so not every episode is told");
        }
        Ok(same)
    }

    /// A capture that can be read only once.
    pub(super) fn read_once(&self) -> Option<&Path> {
        self.files.iter().map(PathBuf::as_path).find(|path| reads_once(path))
    }
}

/// A number, but 0: of no threads, no flows or no time nothing would be analysed.
pub(super) fn at_least_one<N: FromStr<Err = ParseIntError> + Default + PartialEq>(text: &str) -> Result<N, String> {
    match text.parse() {
        Ok(n) if n == N::default() => Err("it must be 1 or more; leave the option out for what is usual".to_owned()),
        number => number.map_err(|fault: ParseIntError| fault.to_string()),
    }
}

/// Cores that this process may use, four at most. Chosen: a file's bytes come one after the other, and who watches a
/// host wants most of its cores left alone.
fn cores() -> usize {
    thread::available_parallelism().map_or(1, |n| n.get().min(4))
}

/// The flag that Ctrl-C and SIGTERM set.
///
/// # Errors
/// The system's.
pub(super) fn listen() -> anyhow::Result<Stop> {
    let stop = Stop::new();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // The first asks for the results so far, the second does not wait for them.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, stop.flag())
            .and_then(|_| signal_hook::flag::register(signal, stop.flag()))
            .context("cannot listen for Ctrl-C")?;
    }
    Ok(stop)
}

/// Names the captures that were not read to their end, on standard error.
pub(super) fn tell_problems(captures: &[CaptureSummary]) {
    for capture in captures.iter().filter(|c| !c.complete) {
        let problem = capture.problem.as_deref().unwrap_or("it was not read to its end");
        anstream::eprintln!("rocetop: {}: {problem}", capture.path);
    }
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
