//! NAME.toml out of a lab sidecar, so that the bundled truths can be made again.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Answer, expect, sidecar};
use crate::sh;

/// Writes DIR/NAME.toml for every capture in DIR that a sidecar knows; whether every capture found one.
pub(super) fn run(sidecars: &Path, captures: &Path) -> Result<bool> {
    let lab = sidecar::folder(sidecars)?;
    ensure!(!lab.is_empty(), "{}: no sidecar there (NAME.json with `verify`)", sidecars.display());
    let mut all = true;
    for file in sh::files(captures)? {
        let Some(stem) = sh::capture_stem(&file) else { continue };
        let name = sh::name(&file);
        // A bundled capture may be compressed; the sidecar knows it as it was taken.
        let taken = [".gz", ".zst", ".xz"].iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(&name);
        let Some(entry) = lab.get(taken) else {
            println!("no sidecar for {name}");
            all = false;
            continue;
        };
        let text = toml(&stem, &entry.sidecar, &entry.answer()?)?;
        let path = captures.join(format!("{stem}.toml"));
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", sh::name(&path));
    }
    Ok(all)
}

fn toml(stem: &str, sidecar: &Value, answer: &Answer) -> Result<String> {
    let text = |pointer: &str| sidecar.pointer(pointer).and_then(Value::as_str).unwrap_or("unknown").to_owned();
    let tap = stem.rsplit_once('.').map_or("", |(_, tap)| tap);
    let mut out =
        String::from("# Made by `cargo xtask truth --write-toml`; README.md beside it describes the format.\n");
    let origin = format!(
        "our Soft-RoCE lab: rdma_rxe of Linux {}, veth and a router namespace in {}; taken at {tap} with tcpdump or \
        dumpcap",
        text("/versions/kernel"),
        text("/versions/emulation").split(" (").next().unwrap_or_default(),
    );
    let mut what = text("/description").trim_end_matches('.').to_owned();
    for command in path(sidecar) {
        write!(what, "; path: {command}")?;
    }
    write!(what, "; run: {}", client(sidecar))?;
    writeln!(out, "origin = {}\nwhat = {}\n\n[truth]", quote(&origin), quote(&what))?;
    for group in ["", "icrc", "ecn", "opcodes"] {
        for (name, count) in &answer.totals {
            let (family, _) = name.split_once('.').unwrap_or_default();
            if family == group {
                writeln!(out, "{name} = {count}")?;
            }
        }
    }
    for ((src, dst, qp), counts) in &answer.flows {
        writeln!(out, "\n[[flow]]\nsrc = {}\ndst = {}\ndst_qp = {qp}", quote(src), quote(dst))?;
        for name in expect::FLOW {
            if let Some(count) = counts.get(*name) {
                writeln!(out, "{name} = {count}")?;
            }
        }
    }
    Ok(out)
}

/// What the path was told to do to packets, without the words that only place it.
fn path(sidecar: &Value) -> Vec<String> {
    let commands = sidecar.get("fabric_commands").and_then(Value::as_array).into_iter().flatten();
    let words = commands.filter_map(Value::as_str).filter_map(|command| command.split_once("qdisc add dev "));
    words.map(|(_, rest)| rest.to_owned()).collect()
}

/// The command that made the traffic: the client's, or the only one; scripts by their name alone.
fn client(sidecar: &Value) -> String {
    let runs = sidecar.get("runs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let role = |run: &&Value| run.get("role").and_then(Value::as_str) == Some("client");
    let run = runs.iter().find(role).or_else(|| runs.first());
    let command = run.and_then(|run| run.get("cmd")).and_then(Value::as_str).unwrap_or("unknown");
    let words = command.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    words.collect::<Vec<_>>().join(" ")
}

/// A basic string of TOML: it escapes as JSON does.
fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let sidecar = serde_json::json!({"description": "a \"write\"", "versions": {"kernel": "6.1"},
            "fabric_commands": ["ip netns exec fab tc qdisc add dev p2 root netem loss 2%"],
            "runs": [{"role": "server", "cmd": "no"}, {"role": "client", "cmd": "python3 /some/where/pv.py rnr"}]});
        let mut answer = Answer::default();
        for (name, count) in [("frames", 3), ("icrc.bad", 0), ("opcodes.RC_ACK", 1), ("ecn.ce", 2), ("flows", 1)] {
            answer.totals.insert(name.to_owned(), count);
        }
        let counts = [("packets".to_owned(), 3), ("gaps".to_owned(), 1)].into();
        answer.flows.insert(("10.0.0.1".into(), "10.0.0.2".into(), 9), counts);
        let text = toml("x.e2", &sidecar, &answer).unwrap();
        assert!(text.contains("run: python3 pv.py rnr") && text.contains("path: p2 root netem loss 2%"), "{text}");
        assert_eq!(expect::parse(&text).unwrap(), answer);
    }
}
