//! `rocetop live` while it runs.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;

pub(crate) struct Watch {
    child: Child,
    out: JoinHandle<String>,
    err: JoinHandle<String>,
}

/// What it said.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Watch {
    /// Starts it, and waits until it watches.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        err.read_line(&mut first).unwrap();
        let out = std::thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            text
        });
        let err = std::thread::spawn(move || {
            err.read_to_string(&mut first).unwrap();
            first
        });
        Self { child, out, err }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> Watched {
        let code = self.child.wait().unwrap().code();
        Watched { code, out: self.out.join().unwrap(), err: self.err.join().unwrap() }
    }

    /// Asks for the end as Ctrl-C does, and waits for it.
    pub(crate) fn interrupt(self) -> Watched {
        self.signal("INT");
        self.end()
    }
}

impl Watched {
    /// The lines of the seconds, and the report.
    pub(crate) fn json(&self) -> (Vec<Value>, Value) {
        let mut lines: Vec<Value> = self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let report = lines.pop().unwrap();
        assert_eq!(report["schema"], "rocetop.report/1", "{self:?}");
        assert!(lines.iter().all(|line| line["schema"] == "rocetop.live/1"), "{self:?}");
        (lines, report)
    }
}
