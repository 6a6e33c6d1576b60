//! A report (`rocetop.report/1`) as an [`Answer`].

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Answer, Counts, Key};

/// What `rocetop analyze FILE --json` answers; the inner error says in what way it gave no complete report.
pub(super) fn of(binary: &Path, file: &Path) -> Result<Result<Answer, String>> {
    let mut command = Command::new(binary);
    command.arg("analyze").arg(file).arg("--json").stdin(Stdio::null());
    let done = command.output().with_context(|| format!("cannot start {}", binary.display()))?;
    if !done.status.success() {
        let talk = String::from_utf8_lossy(&done.stderr);
        return Ok(Err(format!("{} {}", done.status, talk.trim())));
    }
    Ok(parse(&done.stdout))
}

fn parse(text: &[u8]) -> Result<Answer, String> {
    let report: Value = serde_json::from_slice(text).map_err(|why| format!("no JSON: {why}"))?;
    let schema = report.get("schema").and_then(Value::as_str).unwrap_or("none");
    if schema != "rocetop.report/1" {
        return Err(format!("schema {schema}"));
    }
    let mut answer = Answer::default();
    if let Some(totals) = report.get("totals") {
        flatten("", totals, &mut answer.totals);
    }
    let flows = report.get("flows").and_then(Value::as_array).ok_or("no flows")?;
    for flow in flows {
        add(&mut answer, flow).ok_or_else(|| format!("a flow without its key: {flow}"))?;
    }
    answer.totals.insert("flows".into(), answer.flows.len() as u64);
    Ok(answer)
}

/// Every number below a value, by its dotted name.
fn flatten(place: &str, value: &Value, counts: &mut Counts) {
    match value {
        Value::Number(number) => {
            counts.extend(number.as_u64().map(|number| (place.to_owned(), number)));
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let dot = if place.is_empty() { "" } else { "." };
                flatten(&format!("{place}{dot}{name}"), field, counts);
            }
        }
        _ => {}
    }
}

/// Adds a flow to those with its key.
fn add(answer: &mut Answer, flow: &Value) -> Option<()> {
    let key: Key = (
        flow.get("src")?.as_str()?.to_owned(),
        flow.get("dst")?.as_str()?.to_owned(),
        flow.get("dst_qp").and_then(Value::as_u64)?,
    );
    let mut fields = Counts::new();
    flatten("", flow, &mut fields);
    let packets = *fields.get("packets")?;
    let sums = answer.flows.entry(key).or_default();
    let mut plus = |name: &str, count: u64| *sums.entry(name.to_owned()).or_default() += count;
    plus("packets", packets);
    for (name, count) in &fields {
        match name.split_once('.') {
            Some(("naks", _)) => plus("naks", *count),
            Some(("requests", field @ ("messages" | "seen_again" | "behind" | "gaps" | "gap_psns"))) => {
                plus(field, *count)
            }
            Some(("responses", "seen_again")) => plus("responses_again", *count),
            Some(("responses", "gaps")) => plus("response_gaps", *count),
            None if matches!(name.as_str(), "acks" | "rnr_naks" | "cnps") => plus(name, *count),
            _ => {}
        }
    }
    // First and last PSN mean something where one life of the queue pair carries all the requests.
    if fields.get("requests.packets").is_some_and(|packets| *packets > 0) {
        let lives = sums.entry("lives".into()).or_default();
        *lives += 1;
        let single = *lives == 1;
        for name in ["first_psn", "next_psn"] {
            sums.remove(name);
            let psn = fields.get(&format!("requests.{name}")).filter(|_| single);
            sums.extend(psn.map(|psn| (name.to_owned(), *psn)));
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(epoch: u64, first: u64) -> Value {
        serde_json::json!({"src": "10.0.0.1", "dst": "10.0.0.2", "dst_qp": 20, "transport": "RC", "epoch": epoch,
            "packets": 12, "icrc_bad": 2, "acks": 3, "rnr_naks": 1, "cnps": 0,
            "requests": {"packets": 6, "first_psn": first, "next_psn": first + 5, "messages": 2, "seen_again": 1,
                         "behind": 2, "filled": 1, "gaps": 1, "gap_psns": 1, "never_seen": 0},
            "responses": {"packets": 0, "seen_again": 9, "gaps": 9, "gap_psns": 9},
            "naks": {"psn_sequence_error": 2, "invalid_request": 1}, "story": null})
    }

    fn report(flows: &[Value]) -> String {
        serde_json::json!({"schema": "rocetop.report/1", "flows": flows, "totals": {"frames": 12, "icrc": {"bad": 2},
            "ecn": {"ce": 1}, "opcodes": {"RC_ACK": 3}, "cnp": null}})
        .to_string()
    }

    #[test]
    fn totals_and_flows_come_out_by_name() {
        let answer = parse(report(&[flow(0, 7)]).as_bytes()).unwrap();
        assert_eq!(answer.totals["icrc.bad"], 2);
        assert_eq!(answer.totals["opcodes.RC_ACK"], 3);
        assert_eq!(answer.totals["flows"], 1);
        assert!(!answer.totals.contains_key("cnp"));
        let flow = &answer.flows[&("10.0.0.1".into(), "10.0.0.2".into(), 20)];
        for (name, want) in [
            ("packets", 12),
            ("responses_again", 9),
            ("naks", 3),
            ("acks", 3),
            ("rnr_naks", 1),
            ("gaps", 1),
            ("seen_again", 1),
        ] {
            assert_eq!(flow[name], want, "{name}");
        }
        assert_eq!((flow["first_psn"], flow["next_psn"]), (7, 12));
    }

    #[test]
    fn epochs_are_summed_and_then_have_no_single_first_psn() {
        let answer = parse(report(&[flow(0, 7), flow(1, 900), flow(2, 3)]).as_bytes()).unwrap();
        let flow = answer.flows.values().next().unwrap();
        assert_eq!((answer.flows.len(), flow["packets"], flow["behind"]), (1, 36, 6));
        assert!(!flow.contains_key("first_psn") && !flow.contains_key("next_psn"));
    }

    #[test]
    fn what_is_no_report_is_said() {
        assert!(parse(b"").unwrap_err().contains("no JSON"));
        assert_eq!(parse(b"{\"schema\": \"x/2\"}").unwrap_err(), "schema x/2");
    }
}
