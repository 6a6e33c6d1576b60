//! `rocetop live`: what passes now, a line a second, and a report at the end.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use rocetop_analysis::{Config, Ledger};

use super::input::{at_least_one, listen};
use super::write::ensure_apart;
use super::{Exit, quiet_pipe};
use crate::filter::Filter;
use crate::live::choose::{Choice, Kind, choose};
use crate::live::host::Host;
use crate::live::privileges::drop_all_but;
use crate::live::record::Record;
use crate::live::session::{self, Listener, Second};
use crate::live::source::xdp::{NEEDS, Received, Sent, Ways, usable};
use crate::live::source::{Opened, Settings, WHOLE, libpcap_devices, open};
use crate::report::select::Selection;
use crate::report::{json, seconds, text};
use crate::run::Outcome;
use crate::source::{CaptureSummary, Frame};

/// Watch interfaces: a line a second, and a report at the end
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Ctrl-C, SIGTERM or --duration end it with the report; a second Ctrl-C ends it without. Capturing \
    needs CAP_NET_RAW: run it as root, or once `sudo setcap cap_net_raw+ep` the program; xdp needs cap_bpf, \
    cap_net_admin and cap_perfmon. Exit codes: 0 watched to the end that was asked for, 2 usage or I/O error, 3 an \
    interface was lost before it."
)]
pub struct Args {
    /// Interface to watch, or another device that libpcap opens; more with more -i [default: all that have a link
    /// and do not sit on others]
    #[arg(short = 'i', long = "interface", value_name = "DEV", value_parser = device)]
    interfaces: Vec<String>,

    /// Through what to watch
    #[arg(long, value_name = "SOURCE", default_value = "auto")]
    source: Wish,

    /// With xdp: read what the kernel counts, exact at any rate, instead of every packet's headers. Repeats, stories
    /// and findings need packets
    #[arg(long)]
    counters: bool,

    /// With --counters: see the headers of one RoCE packet in so many, for --write
    #[arg(long, value_name = "N", requires = "counters", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,

    /// With xdp: where it runs [default: native, else generic]
    #[arg(long, value_name = "MODE")]
    xdp_mode: Option<Received>,

    /// With xdp: how sent frames are seen [default: tcx, else clsact]
    #[arg(long, value_name = "MODE")]
    tc_mode: Option<Sent>,

    /// End after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds_of)]
    duration: Option<Duration>,

    /// See only frames that pass this tcpdump filter
    #[arg(short = 'f', long, value_name = "BPF")]
    filter: Option<String>,

    /// Keep this many bytes of each frame; whole ones are needed to check the ICRC
    #[arg(
        long, value_name = "N", default_value_t = WHOLE,
        value_parser = clap::value_parser!(u32).range(64..=i64::from(WHOLE)),
    )]
    snaplen: u32,

    /// Save what is seen
    #[arg(long, value_name = "FILE.pcapng")]
    write: Option<PathBuf>,

    /// Print a JSON object a second (rocetop.live/1), and the report as the last line
    #[arg(long)]
    json: bool,

    /// Show at most this many connections in the text report
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Keep at most this many flows, a 64th of them per group of address pairs
    #[arg(long, value_name = "N", default_value_t = Config::default().most_flows, value_parser = at_least_one::<usize>)]
    max_flows: usize,
}

/// Through what somebody wants to watch.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Wish {
    /// The first of these that can do what is asked for; which and why is said
    Auto,
    /// The kernel programs: XDP for what is received, TC for what is sent
    Xdp,
    /// Any device that libpcap opens
    Libpcap,
    /// A packet socket: network interfaces, without any library
    Raw,
}

fn device(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("the name of an interface is wanted; this is empty") } else { Ok(text.to_owned()) }
}

fn seconds_of(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is wanted".to_owned())?;
    let duration = Duration::try_from_secs_f64(seconds).ok().filter(|d| !d.is_zero());
    duration.ok_or_else(|| "a number of seconds above 0 is wanted".to_owned())
}

impl Args {
    fn ways(&self) -> Ways {
        Ways { counted: self.counters, sample: self.sample, received: self.xdp_mode, sent: self.tc_mode }
    }

    /// Chooses and opens. What nobody forced and cannot be opened is not taken, with the reason told.
    fn open(&self, forced: Option<Kind>, filter: Option<(String, Filter)>) -> anyhow::Result<(Choice, Vec<Opened>)> {
        let host = Host::here();
        let pick = |xdp: Result<(), String>| choose(&host, &self.interfaces, forced, libpcap_devices().as_deref(), xdp);
        let only = self.counters || self.sample.is_some() || self.xdp_mode.is_some() || self.tc_mode.is_some();
        // The kernel programs give neither; what is to be kept in a file is better kept whole.
        let whole = self
            .filter
            .is_some()
            .then_some("it takes no --filter")
            .or_else(|| (self.snaplen != WHOLE).then_some("it keeps 128 bytes, whatever --snaplen says"));
        let cut = (self.write.is_some() && !only)
            .then_some("it keeps 128 bytes of a frame, and --write is better served with all");
        let forced_away = forced.is_some_and(|kind| kind != Kind::Xdp);
        if only && forced_away {
            bail!("--counters, --sample, --xdp-mode and --tc-mode are for --source xdp");
        }
        if let (Some(Kind::Xdp), Some(why)) = (forced, whole) {
            bail!("--source xdp: {why}; leave it out, or use --source libpcap");
        }
        let xdp = whole.or(cut).map_or_else(usable, |why| Err(why.to_owned()));
        let settings = Settings { snaplen: self.snaplen, filter, ways: self.ways() };
        let choice = pick(xdp)?;
        if only && choice.kind != Kind::Xdp {
            bail!(
                "--counters, --sample, --xdp-mode and --tc-mode need the kernel programs: {}",
                choice.notes.join("; ")
            );
        }
        match open(&choice, &settings) {
            Ok(opened) => Ok((choice, opened)),
            Err(error) if choice.kind == Kind::Xdp && forced.is_none() && !only => {
                let choice = pick(Err(error.to_string()))?;
                let opened = open(&choice, &settings)?;
                Ok((choice, opened))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// Nothing that can be watched, a filter that is not valid, output that fails.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.counters && args.write.is_some() && args.sample.is_none() {
        bail!(
            "--write saves frames, and --counters alone sees none: add --sample N for one in so many, or leave out one \
            of both"
        );
    }
    let stop = listen()?;
    let filter = args.filter.clone().map(|text| Filter::new(&text).map(|filter| (text, filter))).transpose()?;
    let forced = match args.source {
        Wish::Auto => None,
        Wish::Xdp => Some(Kind::Xdp),
        Wish::Libpcap => Some(Kind::Libpcap),
        Wish::Raw => Some(Kind::Raw),
    };
    let (choice, opened) = args.open(forced, filter)?;
    let kind = choice.kind;
    let record = match &args.write {
        Some(path) => {
            ensure_apart(path)?;
            let record = Record::create(path, &opened);
            Some(record.with_context(|| format!("cannot write {}", path.display()))?)
        }
        None => None,
    };
    // Whatever is open stays open; nothing more is needed to read it, but for what the kernel's tables need.
    drop_all_but(if kind == Kind::Xdp { &NEEDS } else { &[] })?;
    for note in choice.notes.iter().chain(opened.iter().flat_map(|one| &one.notes)) {
        anstream::eprintln!("rocetop: {note}");
    }
    let mut screen = Screen { args, record, seconds: 0, failed: None, quiet: false };
    let counted = kind == Kind::Xdp && args.ways().counted;
    let config = Config { most_flows: args.max_flows, counted, ..Config::default() };
    let outcome = session::watch(opened, config, args.duration, &stop, &mut screen);
    screen.finish(&outcome)?;
    let whole = outcome.captures.iter().all(CaptureSummary::ended);
    Ok(if whole { Exit::Clean } else { Exit::Incomplete })
}

/// Where everything goes.
struct Screen<'a> {
    args: &'a Args,
    record: Option<Record>,
    seconds: u64,
    failed: Option<anyhow::Error>,
    /// Whoever read along has gone.
    quiet: bool,
}

impl Listener for Screen<'_> {
    fn frame(&mut self, frame: &Frame<'_>) {
        if let Some(record) = &mut self.record
            && let Err(error) = record.frame(frame)
        {
            self.lose(error);
        }
    }

    fn second(&mut self, second: &Second) -> bool {
        if let Some(record) = &mut self.record
            && let Err(error) = record.flush()
        {
            self.lose(error);
        }
        let done = if self.args.json {
            let mut out = io::stdout().lock();
            seconds::json(&mut out, second).and_then(|()| out.flush())
        } else {
            let mut out = anstream::stdout().lock();
            seconds::text(&mut out, self.seconds, second).and_then(|()| out.flush())
        };
        self.seconds += 1;
        if let Err(error) = done {
            self.quiet = true;
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.failed.get_or_insert(anyhow!(error).context("cannot write to standard output"));
            }
        }
        !self.quiet
    }

    fn note(&mut self, text: &str) {
        anstream::eprintln!("rocetop: {text}");
    }
}

impl Screen<'_> {
    /// The file cannot be written any more. What is watched is watched all the same.
    fn lose(&mut self, error: io::Error) {
        self.record = None;
        let name = self.args.write.as_deref().unwrap_or_else(|| "".as_ref()).display();
        anstream::eprintln!("rocetop: cannot write {name} any more: {error}; watching goes on");
        self.failed = Some(anyhow!(error).context(format!("{name} is not complete")));
    }

    fn finish(mut self, outcome: &Outcome) -> anyhow::Result<()> {
        if let (Some(record), Some(path)) = (self.record.take(), &self.args.write) {
            let name = path.display();
            let frames = record.finish().with_context(|| format!("{name} is not complete"))?;
            anstream::eprintln!("rocetop: {name}: {frames} frames");
        }
        if !self.quiet {
            self.report(outcome).or_else(quiet_pipe).context("cannot write the report")?;
        }
        self.failed.map_or(Ok(()), Err)
    }

    fn report(&self, outcome: &Outcome) -> io::Result<()> {
        let captures = &outcome.captures;
        // Frames of all interfaces are counted as one capture, as they stand in the file that --write makes.
        let ledger = Ledger::new(&outcome.engine, Vec::new());
        let found = ledger.findings();
        let chosen = Selection::default();
        if self.args.json {
            let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
            json::write(&mut out, captures, &ledger, &found, &chosen)?;
            return out.flush();
        }
        let mut out = BufWriter::new(anstream::stdout().lock());
        if self.seconds != 0 {
            writeln!(out)?;
        }
        text::write(&mut out, captures, &ledger, &found, &text::Shown { chosen, top: self.args.top, before: None })?;
        out.flush()
    }
}
