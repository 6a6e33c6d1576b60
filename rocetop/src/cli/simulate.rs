//! `rocetop simulate`: plays a scenario through a modelled fabric.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use rocetop_model::observe::{link_name, port_of};
use rocetop_model::scenario::{Ended, Fault, Faults, KEYS, Run, Scenario};
use rocetop_model::topology::PortId;

use super::input::listen;
use super::write::{Target, is_read, is_stdout};
use super::{Exit, quiet_pipe};
use crate::report::flow_level::FlowLevel;
use crate::report::simulation::Simulation;
use crate::report::{played, text};
use crate::simulate::Captures;
use crate::source::Stop;

/// Play a scenario through a modelled fabric
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The scenario: a TOML file, or - for standard input
    #[arg(required_unless_present = "keys")]
    scenario: Option<PathBuf>,

    /// Print all that a scenario can say, with its defaults, and end
    #[arg(long, exclusive = true)]
    keys: bool,

    /// Draw everything from this seed, and not from the scenario's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Print the run as JSON (rocetop.simulation/1; with --flow-level rocetop.flow_level/1)
    #[arg(long)]
    json: bool,

    /// With --json: queues and rates over time too
    #[arg(long, requires = "json")]
    series: bool,

    /// Save what a link carries as pcapng; may be given several times
    #[arg(long, value_name = "LINK=FILE")]
    pcap: Vec<Tap>,

    /// Save no more than this many bytes of each frame
    #[arg(long, value_name = "BYTES", default_value_t = 0, hide_default_value = true, requires = "pcap")]
    snaplen: u32,

    /// Play flows alone, at max-min fair rates: orders of magnitude faster, without queues and losses
    #[arg(long, conflicts_with_all = ["pcap", "series"])]
    flow_level: bool,

    /// Show at most this many flows and links in the text report
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
}

const AFTER: &str = "\
A scenario has a fabric and traffic; all else has a default (--keys lists all):

  [fabric]
  shape = \"star\"
  hosts = 8
  rate = \"100 Gb/s\"

  [cc]
  name = \"dcqcn\"

  [[traffic]]
  kind = \"incast\"
  to = 0
  bytes = \"1 MB\"

A LINK is a host's cable (h3), or one between two nodes (t1s0-t2s1; a second
one is t1s0-t2s1.1), seen at the end that is named first: hosts are h0, h1 and
so on, the switches of tier 1 t1s0, t1s1. `rocetop analyze` reads what is saved.
Frames cut by --snaplen keep their length; their ICRC cannot be told.

Exit codes: 0 the run went to its end, or to its `until`, whatever became of the
traffic, 2 usage or I/O error or a fault in the scenario, 3 it was interrupted,
or its `hops` were used up: the report and the files are of what was played
until then. Ctrl-C before anything was played, or with --flow-level, ends it at
once and without a report.
The same scenario and seed give the same bytes.";

/// A link and the file for its frames.
#[derive(Clone, Debug)]
struct Tap {
    link: String,
    file: PathBuf,
}

impl FromStr for Tap {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((link, file)) if !link.is_empty() && !file.is_empty() => {
                Ok(Self { link: link.to_owned(), file: file.into() })
            }
            _ => Err("write the link and the file, such as h0=h0.pcapng"),
        }
    }
}

/// Bytes of a scenario that are read: the model refuses more than a mebibyte.
const MOST: u64 = (1 << 20) + 1;

/// Bytes of a flow file that are read: a hundred for each flow that a scenario may have.
const MOST_OF_FLOWS: u64 = 100 << 20;

/// Runs the command.
///
/// # Errors
/// A scenario that cannot be read or played, a link that is not there, output that fails.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let Some(path) = &args.scenario else {
        io::stdout().write_all(KEYS.as_bytes()).or_else(quiet_pipe).context("cannot write the keys")?;
        return Ok(Exit::Clean);
    };
    let (mut scenario, inputs) = read(path)?;
    if let Some(seed) = args.seed {
        scenario.settings.seed = seed;
    }
    if args.flow_level {
        let played = scenario.fluid().map_err(|fault| anyhow::anyhow!(at(path, &fault)))?;
        let report = FlowLevel::new(&scenario, &played);
        let json = |mut out: &mut dyn Write| played::write(&mut out, &report);
        let page = |mut out: &mut dyn Write| text::flow_level::write(&mut out, &report, args.top);
        print(args, json, page).or_else(quiet_pipe).context("cannot write the report")?;
        return Ok(Exit::Clean);
    }
    let mut taps: Vec<(PortId, &Path)> = Vec::new();
    for tap in &args.pcap {
        let port = port_of(&scenario.fabric, &tap.link).map_err(|error| anyhow::anyhow!("--pcap: {error}"))?;
        taps.push((port, &tap.file));
    }
    scenario.taps.extend(taps.iter().map(|(port, _)| *port));
    let mut run = scenario.begin().map_err(|unfit| anyhow::anyhow!(at(path, &unfit.fault)))?;
    let mut captures = Captures::new(&scenario.fabric, args.snaplen);
    let targets = targets(taps.iter().map(|(_, path)| *path), &inputs)?;
    for ((port, path), target) in taps.iter().zip(&targets) {
        let file = BufWriter::with_capacity(1 << 16, target.begin()?);
        captures.add(*port, file).with_context(|| format!("cannot write {}", path.display()))?;
    }
    // Until here a signal ends the program as it ends any other: there is nothing to tell yet.
    let stop = listen()?;
    play(&mut run, &mut captures, &stop);
    let frames = captures.finish().map_err(|(port, error)| {
        let file = taps.iter().find(|(tap, _)| *tap == port).map_or(Path::new(""), |(_, file)| file);
        anyhow::Error::new(error).context(format!("cannot write {}", file.display()))
    })?;
    if !taps.is_empty() {
        let links: Vec<String> = taps.iter().map(|(port, _)| link_name(&scenario.fabric, *port)).collect();
        anstream::eprintln!("rocetop: {frames} frames of {} saved", links.join(", "));
    }
    let report = Simulation::new(&scenario, &run, args.series);
    let done = format!("{} of {} flows done", report.totals.flows_done, report.totals.flows);
    let json = |mut out: &mut dyn Write| played::write(&mut out, &report);
    let page = |mut out: &mut dyn Write| text::simulation::write(&mut out, &report, args.top);
    print(args, json, page).or_else(quiet_pipe).context("cannot write the report")?;
    let cut = match run.ended() {
        None => "interrupted",
        Some(Ended::Hops) => "the scenario's hops ([run] hops) were used up",
        Some(Ended::Done | Ended::Stuck | Ended::Deadlock | Ended::Time) => return Ok(Exit::Clean),
    };
    anstream::eprintln!("rocetop: {cut} after {} of simulated time, {done}", run.simulation().now());
    Ok(Exit::Incomplete)
}

/// A fault with the name of the scenario's file before it, and its line.
fn at(path: &Path, fault: &Fault) -> String {
    let name = path.display();
    match fault.line {
        0 => format!("{name}: {}", fault.text),
        line => format!("{name}:{line}: {}", fault.text),
    }
}

/// The scenario, and the files that it was read from, its own first.
fn read(path: &Path) -> anyhow::Result<(Scenario, Vec<PathBuf>)> {
    let name = path.display();
    let mut text = Vec::new();
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().take(MOST).read_to_end(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut text))
    };
    read.with_context(|| format!("cannot read {name}"))?;
    // It may have been cut within a character.
    ensure!((text.len() as u64) < MOST, "{name} has more than {} bytes; a scenario may have no more", MOST - 1);
    let text = utf8(text).map_err(|NotText { line, why }| {
        anyhow::anyhow!("{name}:{line}: {why}; a scenario is UTF-8 text, and `rocetop simulate --help` shows one")
    })?;
    // Files are named as they stand to the scenario's own.
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut inputs = vec![path.to_owned()];
    let mut file = |name: &str| {
        inputs.push(folder.join(name));
        flow_file(&folder.join(name))
    };
    let scenario = Scenario::parse_with(&text, &mut file).map_err(|Faults(faults)| {
        /// So many can be mended before the next run.
        const SHOWN: usize = 10;
        let mut lines: Vec<String> = faults.iter().take(SHOWN).map(|fault| at(path, fault)).collect();
        if faults.len() > SHOWN {
            lines.push(format!("{name}: and {} more", faults.len() - SHOWN));
        }
        anyhow::anyhow!(lines.join("\n"))
    })?;
    Ok((scenario, inputs))
}

/// The text of a flow file.
fn flow_file(path: &Path) -> Result<String, String> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_OF_FLOWS + 1).read_to_end(&mut text));
    read.map_err(|error| format!("cannot be read ({error})"))?;
    if text.len() as u64 > MOST_OF_FLOWS {
        return Err(format!("it is larger than {} MB, more than any scenario's flows need", MOST_OF_FLOWS >> 20));
    }
    utf8(text).map_err(|NotText { line, why }| format!("line {line}: {why}"))
}

/// Where bytes are no text.
struct NotText {
    line: usize,
    why: String,
}

/// The text of a file.
fn utf8(bytes: Vec<u8>) -> Result<String, NotText> {
    String::from_utf8(bytes).map_err(|error| {
        let (right, rest) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let line = right.iter().filter(|byte| **byte == b'\n').count() + 1;
        let before = right.iter().rev().take_while(|byte| **byte != b'\n').count();
        let byte = rest.first().copied().unwrap_or_default();
        NotText { line, why: format!("byte {} of the line (0x{byte:02x}) is not UTF-8", before + 1) }
    })
}

/// Opens the files for captures, none of them twice and none that was read. What is in them stays until all are open.
fn targets<'a>(paths: impl Iterator<Item = &'a Path>, inputs: &[PathBuf]) -> anyhow::Result<Vec<Target>> {
    let mut targets = Vec::new();
    let mut open: Vec<PathBuf> = Vec::new();
    for path in paths {
        let name = path.display();
        ensure!(!is_stdout(path), "--pcap needs the name of a file: standard output has the report");
        if let Some(input) = is_read(path, inputs) {
            let what = if inputs.first() == Some(input) { "the scenario" } else { "a flow file of the scenario" };
            bail!("{name} is {what}, which is read: --pcap needs another file");
        }
        ensure!(is_read(path, &open).is_none(), "{name} is named for two links: each needs a file of its own");
        targets.push(Target::at(path)?);
        open.push(path.to_owned());
    }
    Ok(targets)
}

/// Plays to the end, or until somebody asks for it; a line on a terminal says how far it is.
fn play(run: &mut Run, captures: &mut Captures<'_>, stop: &Stop) {
    let bar = io::stderr().is_terminal().then(ProgressBar::new_spinner);
    if let Some(bar) = &bar {
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    while run.step(captures).is_none() && !stop.is_stopped() && !captures.failed() {
        if let Some(bar) = &bar {
            let done = run.simulation().totals().done;
            bar.set_message(format!("{} simulated, {done} flows done", run.simulation().now()));
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

/// Prints a report in the form that was asked for.
fn print(
    args: &Args,
    json: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    page: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if args.json {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        json(&mut out)?;
        return out.flush();
    }
    let mut out = BufWriter::new(anstream::stdout().lock());
    page(&mut out)?;
    out.flush()
}
