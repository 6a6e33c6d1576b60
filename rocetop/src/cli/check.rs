//! `rocetop check`: does a capture keep what was expected of it?

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use super::input::Input;
use super::write::is_read;
use super::{Exit, quiet_pipe};
use crate::check::{self, Expectation, Verdict, junit, table};
use crate::source::CaptureSummary;
use crate::taps::Taps;
use anyhow::{Context, bail};

/// Check captures against a file of expectations
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// What is expected: a TOML file; may be given several times
    #[arg(long, value_name = "E.toml", required = true)]
    expect: Vec<PathBuf>,

    /// Write the verdicts as JUnit XML too, one test case an expectation
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Print the figures that can be named and end
    #[arg(long, exclusive = true)]
    figures: bool,

    /// Each FILE is a vantage point of its own: tap.NAME is what was lost between them, and the delays
    #[arg(long, conflicts_with = "threads")]
    taps: bool,

    #[command(flatten)]
    input: Input,
}

const AFTER: &str = "\
An expectation file:

  [[expect]]
  that = \"totals.icrc.bad == 0\"          # == != < <= > >=

  [[expect]]
  name = \"storage answers in time\"       # name and why are shown
  that = \"flow.story.message_ns.p99 < 5 ms\"
  where = { dst = \"10.0.0.7\", requests.packets = \"> 100\" }
  over = \"each\"                          # or any, sum, max, min

  [[expect]]
  that = \"finding warning absent\"        # that bad or worse; or a code, or any

flow.NAME is looked at in each flow, capture.NAME, connection.NAME and
finding.NAME likewise, cm.NAME, pause.NAME and, with --taps, tap.NAME. A short
name such as retransmissions.total is summed over flows. --figures lists all
names. where takes figures of the flow, and qpn and host for either end. What is
null in the report is not known, and fails; what selects nothing fails, unless
may_be_none = true.

Exit codes: 0 all hold, 1 some fail, 2 usage or I/O error or a fault in an
expectation file, 3 a capture is cut or corrupt (whatever else).";

/// Runs the command.
///
/// # Errors
/// A file of expectations with faults, a capture that cannot be opened, a filter that is not valid, output that fails.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.figures {
        figures().or_else(quiet_pipe).context("cannot write the figures")?;
        return Ok(Exit::Clean);
    }
    let mut expectations = Vec::new();
    for path in &args.expect {
        expectations.extend(check::read(path)?);
    }
    if let Some(path) = &args.junit {
        if path.as_os_str() == "-" {
            bail!("--junit needs a file: the table goes to standard output");
        }
        for files in [args.input.files.as_slice(), args.expect.as_slice()] {
            if let Some(read) = is_read(path, files) {
                bail!("{} is {}, which is read: --junit needs another file", path.display(), read.display());
            }
        }
    }
    // Before the analysis: an old file must not pass for this run's when this run fails.
    let report = args.junit.as_ref().map(|path| {
        let name = path.display();
        File::create(path).map(|file| (file, name.to_string())).with_context(|| format!("cannot write {name}"))
    });
    let report = report.transpose()?;
    let taps = if args.taps { super::taps::read(&args.input, true)? } else { Taps::of_one(args.input.read()?) };
    let captures = &taps.captures();
    let verdicts = check::evaluate(&expectations, captures, &taps.ledgers(), &taps.between);
    let judged: Vec<(&Expectation, &Verdict)> = expectations.iter().zip(&verdicts).collect();
    if let Some((file, name)) = report {
        let mut out = BufWriter::new(file);
        let written = junit::write(&mut out, &judged, captures).and_then(|()| out.flush());
        written.with_context(|| format!("cannot write {name}"))?;
    }
    let whole = captures.iter().all(CaptureSummary::ended);
    print(&judged, whole).or_else(quiet_pipe).context("cannot write the table")?;
    Ok(match (whole, verdicts.iter().all(|v| v.holds)) {
        (false, _) => Exit::Incomplete,
        (true, false) => Exit::Found,
        (true, true) => Exit::Clean,
    })
}

fn print(judged: &[(&Expectation, &Verdict)], whole: bool) -> io::Result<()> {
    let mut out = BufWriter::new(anstream::stdout().lock());
    table::write(&mut out, judged, whole)?;
    out.flush()
}

fn figures() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for (name, says) in check::figures() {
        writeln!(out, "{name:52}  {says}")?;
    }
    out.flush()
}
