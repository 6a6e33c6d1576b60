//! `test`: everything that a change must pass, in the order in which faults are cheapest to find.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::{lint, needs, parity, sh, truth};

/// A step: what it is called, the command that reruns it alone, and how to do it.
struct Step {
    name: &'static str,
    rerun: String,
    run: Box<dyn Fn() -> Result<bool>>,
}

pub(crate) fn run(args: &[String]) -> Result<bool> {
    if !args.is_empty() {
        bail!("test takes no arguments; for one crate: cargo test -p CRATE");
    }
    needs::install()?;
    let mut summary = Vec::new();
    for step in steps() {
        println!("== {} ({})", step.name, step.rerun);
        let start = Instant::now();
        if !(step.run)()? {
            println!("\nFAILED: {}. To run it again: {}", step.name, step.rerun);
            return Ok(false);
        }
        summary.push(format!("  ok  {:<8} {:>4} s", step.name, start.elapsed().as_secs()));
    }
    println!("\n{}\nall {} steps passed", summary.join("\n"), summary.len());
    Ok(true)
}

fn steps() -> Vec<Step> {
    let features = sh::features();
    let scope: Vec<String> = lint::scope().into_iter().chain(features.iter().map(|f| (*f).to_owned())).collect();
    let cargo = |name, env: Option<(&'static str, &'static str)>, head: &[&str], tail: &[&str]| {
        let args: Vec<String> = head
            .iter()
            .map(|a| (*a).to_owned())
            .chain(scope.clone())
            .chain(tail.iter().map(|a| (*a).to_owned()))
            .collect();
        let set = env.map(|(key, value)| format!("{key}=\"{value}\" ")).unwrap_or_default();
        let rerun = format!("{set}cargo {}", args.join(" "));
        let run = Box::new(move || {
            let mut command: Command = sh::cargo();
            command.args(&args).envs(env);
            sh::run(&mut command)
        });
        Step { name, rerun, run }
    };
    vec![
        Step { name: "lint", rerun: "cargo xtask lint".into(), run: Box::new(|| lint::run(&[])) },
        cargo("tests", None, &["test", "--quiet"], &[]),
        cargo("docs", Some(("RUSTDOCFLAGS", "-D warnings")), &["doc", "--quiet", "--no-deps"], &[]),
        Step {
            name: "truth",
            rerun: "cargo xtask truth captures".into(),
            run: Box::new(|| truth::run(&["captures".into()])),
        },
        Step { name: "parity", rerun: "cargo xtask parity".into(), run: Box::new(|| parity::run(&[])) },
        Step {
            name: "tshark",
            rerun: "cargo xtask truth --tshark captures".into(),
            run: Box::new(|| truth::run(&["--tshark".into(), "captures".into()])),
        },
    ]
}
