//! `demo`: what rocetop says about a real, lossy transfer. Needs nothing but cargo.

use std::process::Command;

use anyhow::{Result, bail};

use crate::sh;

/// Four queue pairs sending through 2 % loss, captured at the responder, where the gaps show.
const CAPTURE: &str = "captures/07e_send_loss2pct_q4.e2.pcap";

pub(crate) fn run(args: &[String]) -> Result<bool> {
    if !args.is_empty() {
        bail!("demo takes no arguments");
    }
    eprintln!("building rocetop, for a first look: not as fast as a release ...");
    let rocetop = sh::rocetop_soon()?;
    eprintln!("rocetop analyze {CAPTURE}\n");
    let good = sh::run(Command::new(&rocetop).current_dir(sh::root()).args(["analyze", CAPTURE]))?;
    eprintln!("\nThe program is {}.", rocetop.display());
    Ok(good)
}
