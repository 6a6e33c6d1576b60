//! The `rocetop` command.

use std::process::ExitCode;

use clap::Parser;
use rocetop::cli::{Cli, Exit};

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(exit) => exit.into(),
        Err(error) => {
            anstream::eprintln!("rocetop: {error:#}");
            Exit::Failed.into()
        }
    }
}
