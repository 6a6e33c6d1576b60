//! Three counts of the same packets: live, of the capture, and of Soft-RoCE itself.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::sh;

const SENT: &str = "packets sent";
const RECEIVED: &str = "packets received";

const RUNS: [&str; 4] = ["write", "read", "send", "loss"];

/// A row: what is counted, live, in the capture, and by Soft-RoCE, where it counts that.
struct Row {
    what: &'static str,
    live: u64,
    capture: u64,
    rxe: Option<u64>,
}

pub(super) fn run(binary: &Path, out: &Path) -> Result<bool> {
    let mut all = true;
    println!("{:<6} {:<3} {:<8} {:<26} {:>9} {:>9} {:>9}", "run", "end", "live by", "", "live", "tcpdump", "rxe");
    for run in RUNS {
        let captured = |end| {
            let capture = out.join(format!("{run}.e{end}.pcap"));
            report(&sh::output(Command::new(binary).args(["analyze", "--json"]).arg(&capture))?)
        };
        let captures = [captured(1)?, captured(2)?];
        for (end, capture, far) in [(1, &captures[0], &captures[1]), (2, &captures[1], &captures[0])] {
            let place = format!("{run}.e{end}");
            let live = report(&std::fs::read_to_string(out.join(format!("{place}.live"))).context(place.clone())?)?;
            let came = sum(far, "dst", 3 - end, "/packets");
            let dropped = drops(&std::fs::read_to_string(out.join(format!("{place}.tcpdump")))?);
            let rxe = |when: &str| numbers(&out.join(format!("{run}.rxe{end}.{when}")));
            let (before, after) = (rxe("before")?, rxe("after")?);
            let grown = |name: &str| Some(after.get(name)?.saturating_sub(*before.get(name)?));
            for Row { what, live, capture, rxe } in rows(&live, capture, end, &grown) {
                let missing = rxe.and_then(|rxe| live.checked_sub(rxe)).filter(|&n| n != 0);
                let (short, why) = match what {
                    // What passes the interface may find no room in Soft-RoCE's own queue.
                    RECEIVED => (missing, "dropped by Soft-RoCE itself"),
                    // What finds no room in the virtual cable behind the interface was sent for the taps, and not for
                    // Soft-RoCE, which is told so. Then none of it came to the other end.
                    SENT => {
                        (missing.filter(|_| rxe.is_some_and(|rxe| came <= rxe)), "dropped by the cable, not counted")
                    }
                    _ => (None, ""),
                };
                let same = live == capture && rxe.is_none_or(|rxe| rxe == live || short.is_some());
                all &= same;
                let rxe = rxe.map_or_else(String::new, |n| n.to_string());
                let by = if end == 1 { "sums" } else { "headers" };
                let verdict = match short {
                    _ if !same => "  DIFFERENT".to_owned(),
                    Some(n) => format!("  {n} {why}"),
                    None => String::new(),
                };
                println!("{run:<6} e{end:<2} {by:<8} {what:<26} {live:>9} {capture:>9} {rxe:>9}{verdict}");
            }
            if dropped != 0 {
                println!("       tcpdump itself dropped {dropped} packets");
            }
        }
        let hangs = |when: &str| std::fs::read_to_string(out.join(format!("{run}.{when}")));
        let hung = hangs("attached")?.contains("prog/xdp");
        let left = hangs("detached")?;
        let clean = !left.contains("prog/xdp") && !left.contains("rocetop");
        all &= hung && clean;
        println!("{run:<6} attached while live: {hung}; nothing left behind: {clean}");
    }
    println!("{}", if all { "all counts are the same" } else { "some counts differ" });
    Ok(all)
}

fn rows(live: &Value, capture: &Value, end: u32, rxe: &dyn Fn(&str) -> Option<u64>) -> Vec<Row> {
    let row = |what, field: &str, pointer: &str, rxe| Row {
        what,
        live: sum(live, field, end, pointer),
        capture: sum(capture, field, end, pointer),
        rxe,
    };
    vec![
        row(SENT, "src", "/packets", rxe("sent_pkts")),
        row(RECEIVED, "dst", "/packets", rxe("rcvd_pkts")),
        row("sequence NAKs sent", "src", "/naks/psn_sequence_error", rxe("out_of_seq_request")),
        row("sequence NAKs received", "dst", "/naks/psn_sequence_error", None),
        row("gaps, received", "dst", "/requests/gaps", None),
        row("PSNs skipped, received", "dst", "/requests/gap_psns", None),
        row("behind, sent", "src", "/requests/behind", None),
        row("bytes sent", "src", "/bytes", None),
        row("bytes received", "dst", "/bytes", None),
    ]
}

/// A figure summed over the flows from (`src`) or to (`dst`) an end.
fn sum(report: &Value, field: &str, end: u32, pointer: &str) -> u64 {
    let here = format!("10.9.{end}.1");
    let flows = report.get("flows").and_then(Value::as_array).into_iter().flatten();
    let mine = flows.filter(|flow| flow.get(field).and_then(Value::as_str) == Some(&here));
    mine.filter_map(|flow| flow.pointer(pointer)?.as_u64()).sum()
}

/// The report: the last line.
fn report(text: &str) -> Result<Value> {
    let report: Value = serde_json::from_str(text.lines().last().context("no report")?)?;
    if report.get("schema").and_then(Value::as_str) != Some("rocetop.report/1") {
        bail!("the last line is no report");
    }
    Ok(report)
}

fn numbers(path: &Path) -> Result<HashMap<String, u64>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let pair = |line: &str| line.split_once(' ').and_then(|(name, n)| Some((name.to_owned(), n.parse().ok()?)));
    Ok(text.lines().filter_map(pair).collect())
}

/// What tcpdump says that the kernel had no room for.
fn drops(text: &str) -> u64 {
    let line = text.lines().find(|line| line.ends_with("dropped by kernel"));
    line.and_then(|line| line.split(' ').next()?.parse().ok()).unwrap_or(0)
}
