//! The binary, run to its end.

use std::path::Path;
use std::process::{Command, Stdio};

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// A command in the folder of captures, so that reports name them as users do.
pub(crate) fn rocetop(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rocetop"));
    command.args(args).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures"));
    // Whatever the caller's terminal is like.
    command.env_remove("NO_COLOR").env_remove("CLICOLOR").env_remove("CLICOLOR_FORCE");
    command
}
