//! The command line: arguments, commands, exit codes.

pub mod analyze;
mod taps;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Exit codes that the documentation promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// All went well.
    Clean = 0,
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
}

impl Cli {
    /// Does what was asked.
    ///
    /// # Errors
    /// Whatever stops it, with context for a person; the exit code is then [`Exit::Failed`].
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            Command::Analyze(args) => analyze::run(&args),
        }
    }
}
