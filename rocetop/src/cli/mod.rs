//! The command line: arguments, commands, exit codes.

pub mod analyze;
pub mod check;
pub mod explain;
pub mod input;
#[cfg(target_os = "linux")]
pub mod live;
pub mod simulate;
mod taps;
mod unmatched;
mod write;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Exit codes that the documentation promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// All went well.
    Clean = 0,
    /// What was asked about is there: an expectation does not hold, or a finding is as bad as `--fail-on` says.
    Found = 1,
    /// Wrong usage, or input or output that failed.
    Failed = 2,
    /// A capture was cut or corrupt, and analysed as far as it goes.
    Incomplete = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Which queue pair is hurting, where, why.
#[derive(Debug, Parser)]
#[command(name = "rocetop", version, arg_required_else_help = true, max_term_width = 80)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Analyze(analyze::Args),
    Check(check::Args),
    Explain(explain::Args),
    #[cfg(target_os = "linux")]
    Live(live::Args),
    Simulate(simulate::Args),
}

impl Cli {
    /// Does what was asked.
    ///
    /// # Errors
    /// Whatever stops it, with context for a person; the exit code is then [`Exit::Failed`].
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            Command::Analyze(args) => analyze::run(&args),
            Command::Check(args) => check::run(&args),
            Command::Explain(args) => explain::run(&args),
            #[cfg(target_os = "linux")]
            Command::Live(args) => live::run(&args),
            Command::Simulate(args) => simulate::run(&args),
        }
    }
}

/// A reader that has seen enough (`| head`) is no error.
fn quiet_pipe(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}
