//! The one entry for people and for CI: `cargo xtask COMMAND`.
//!
//! Owns: everything around the product that is no part of it. May use: no crate of the house. One file (or folder) a
//! command; a test compares [`COMMANDS`] with the folder.

mod bench;
mod build_ebpf;
mod demo;
mod fuzz;
mod lab;
mod lint;
mod needs;
mod parity;
mod sh;
mod test;
mod truth;
mod validate;

use std::process::ExitCode;

use anyhow::Result;

/// One command: its name, what may follow it, what it does, and its file's `run`.
struct Command {
    name: &'static str,
    args: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<bool>,
}

/// Every command. `run` says whether all was well; an error is for what kept it from finding out.
const COMMANDS: &[Command] = &[
    Command { name: "demo", args: "", about: "build rocetop and analyse a bundled lossy transfer", run: demo::run },
    Command { name: "test", args: "", about: "everything a change must pass; installs what it needs", run: test::run },
    Command { name: "lint", args: "", about: "formatting, clippy and the house rules", run: lint::run },
    Command { name: "truth", args: truth::ARGS, about: "captures against their right answers", run: truth::run },
    Command {
        name: "bench",
        args: bench::ARGS,
        about: "what an analysis, a packet in the kernel or a simulated hop costs",
        run: bench::run,
    },
    Command { name: "validate", args: validate::ARGS, about: "the model against what is known", run: validate::run },
    Command { name: "parity", args: parity::ARGS, about: "the kernel programs against userland", run: parity::run },
    Command {
        name: "build-ebpf",
        args: build_ebpf::ARGS,
        about: "the kernel programs; --check: is it what is committed?",
        run: build_ebpf::run,
    },
    Command {
        name: "lab",
        args: lab::ARGS,
        about: "live against real Soft-RoCE traffic, in a machine of its own",
        run: lab::run,
    },
    Command { name: "fuzz", args: fuzz::ARGS, about: "feed a parser broken input", run: fuzz::run },
];

/// Helpers that other commands start; left out of the help.
const HIDDEN: &[Command] = &[
    Command { name: "bench-crc", args: "FILE", about: "one CRC pass over a file", run: bench::crc::run },
    Command { name: "bench-make", args: "PLAN FILE", about: "write a capture to measure", run: bench::generate::run },
];

fn help() -> String {
    let mut text = String::from("cargo xtask COMMAND\n\n");
    for Command { name, args, about, .. } in COMMANDS {
        text += &format!("  {name:<10} {about}\n");
        for line in args.lines() {
            text += &format!("             {name} {line}\n");
        }
    }
    text
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = args.split_first() else {
        eprint!("{}", help());
        return ExitCode::from(2);
    };
    if matches!(name.as_str(), "help" | "-h" | "--help") {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().chain(HIDDEN).find(|c| c.name == name) else {
        eprint!("there is no command `{name}`; these are:\n\n{}", help());
        return ExitCode::from(2);
    };
    match (command.run)(rest) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("xtask {name}: {why:#}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_and_the_folder_agree() {
        let helpers = ["main", "sh", "needs"];
        let mut found: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().replace('_', "-"))
            .filter(|name| !helpers.contains(&name.as_str()))
            .collect();
        found.sort();
        found.dedup();
        let mut listed: Vec<&str> = COMMANDS.iter().map(|c| c.name).collect();
        listed.sort_unstable();
        assert_eq!(found, listed);
    }

    #[test]
    fn help_names_every_command() {
        assert!(COMMANDS.iter().all(|c| help().contains(c.name)));
    }
}
