//! A lab sidecar (NAME.json): what an independent parser counted in NAME.IFACE.pcap, under `verify`.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Answer, Counts};
use crate::sh;

/// What a sidecar says of one capture, beside the whole sidecar.
pub(super) struct Entry {
    pub(super) sidecar: std::rc::Rc<Value>,
    capture: String,
}

/// The sidecars of a folder, by the captures that they describe.
pub(super) fn folder(folder: &Path) -> Result<BTreeMap<String, Entry>> {
    let mut entries = BTreeMap::new();
    for file in sh::files(folder)?.into_iter().filter(|file| file.extension().is_some_and(|e| e == "json")) {
        let text = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let sidecar: Value = serde_json::from_slice(&text).with_context(|| format!("{} is no JSON", file.display()))?;
        let sidecar = std::rc::Rc::new(sidecar);
        let names = sidecar.pointer("/verify/files").and_then(Value::as_object).into_iter().flatten();
        for name in names.map(|(name, _)| name.clone()) {
            entries.insert(name.clone(), Entry { sidecar: sidecar.clone(), capture: name });
        }
    }
    Ok(entries)
}

/// The sidecars' names of the counts in a flow and ours.
const FLOW: &[(&str, &str)] = &[
    ("packets", "packets"),
    ("first_psn", "first_psn"),
    ("next_psn", "next_psn"),
    ("psn_seen_again", "seen_again"),
    ("psn_behind_max", "behind"),
    ("gaps", "gaps"),
    ("gap_psns", "gap_psns"),
    ("read_responses_seen_again", "responses_again"),
];

/// Counts that a sidecar leaves out where they are zero.
const SPARSE: &[(&str, &str)] = &[("acks", "acks"), ("naks", "naks"), ("rnr", "rnr_naks"), ("cnp", "cnps")];

/// The sidecars' names of the ECN codepoints and ours.
const ECN: &[(&str, &str)] = &[("not-ECT", "not_ect"), ("ECT(0)", "ect0"), ("ECT(1)", "ect1"), ("CE", "ce")];

impl Entry {
    /// The answer that the sidecar holds to be right.
    pub(super) fn answer(&self) -> Result<Answer> {
        let files = self.sidecar.pointer("/verify/files").context("no verify.files")?;
        answer(files.get(&self.capture).context("no such file in verify.files")?)
            .with_context(|| format!("in the sidecar of {}", self.capture))
    }
}

fn answer(verify: &Value) -> Result<Answer> {
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_u64);
    let mut answer = Answer::default();
    for (theirs, ours) in
        [("packets", "frames"), ("roce_packets", "roce_frames"), ("icrc_bad", "icrc.bad"), ("n_flows", "flows")]
    {
        let count = number(verify, theirs).with_context(|| format!("no {theirs}"))?;
        answer.totals.insert(ours.to_owned(), count);
    }
    for (theirs, ours) in ECN {
        let count = verify.get("ecn").and_then(|ecn| number(ecn, theirs)).unwrap_or(0);
        answer.totals.insert(format!("ecn.{ours}"), count);
    }
    for (name, count) in verify.get("opcodes").and_then(Value::as_object).context("no opcodes")? {
        answer.totals.insert(format!("opcodes.{name}"), count.as_u64().context("an opcode's count")?);
    }
    for flow in verify.get("flows").and_then(Value::as_array).context("no flows")? {
        let text = |name| flow.get(name).and_then(Value::as_str).map(address).context("a flow without addresses");
        let key = (text("src")?, text("dst")?, number(flow, "dqpn").context("a flow without dqpn")?);
        let mut counts: Counts =
            FLOW.iter().filter_map(|(theirs, ours)| Some(((*ours).to_owned(), number(flow, theirs)?))).collect();
        for (theirs, ours) in SPARSE {
            counts.insert((*ours).to_owned(), number(flow, theirs).unwrap_or(0));
        }
        // The sidecar counts Last/Only packets, repeats included: that is the messages where nothing came twice.
        if number(flow, "psn_seen_again") == Some(0) {
            counts.extend(number(flow, "last_or_only_packets").map(|count| ("messages".to_owned(), count)));
        }
        answer.flows.insert(key, counts);
    }
    Ok(answer)
}

/// An address as the report spells it: sidecars write IPv6 as 32 hex digits.
fn address(text: &str) -> String {
    match u128::from_str_radix(text, 16) {
        Ok(bits) if text.len() == 32 => Ipv6Addr::from_bits(bits).to_string(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_become_text() {
        assert_eq!(address("fd090001000000000000000000000001"), "fd09:1::1");
        assert_eq!(address("10.9.1.1"), "10.9.1.1");
    }

    #[test]
    fn a_sidecar_becomes_an_answer() {
        let verify = serde_json::json!({"packets": 9, "roce_packets": 8, "icrc_bad": 0, "n_flows": 2,
            "ecn": {"not-ECT": 7, "CE": 1}, "opcodes": {"RC_ACK": 3, "RC_SEND_ONLY": 5}, "flows": [
            {"src": "a", "dst": "b", "dqpn": 5, "packets": 5, "first_psn": 1, "next_psn": 5, "psn_seen_again": 1,
             "psn_behind_max": 1, "gaps": 0, "gap_psns": 0, "last_or_only_packets": 5},
            {"src": "b", "dst": "a", "dqpn": 6, "packets": 3, "acks": 2, "naks": 1}]});
        let answer = answer(&verify).unwrap();
        assert_eq!((answer.totals["frames"], answer.totals["ecn.ce"], answer.totals["ecn.ect0"]), (9, 1, 0));
        let there = &answer.flows[&("a".into(), "b".into(), 5)];
        assert_eq!((there["seen_again"], there["acks"], there.contains_key("messages")), (1, 0, false));
        let back = &answer.flows[&("b".into(), "a".into(), 6)];
        assert_eq!((back["acks"], back["naks"], back.contains_key("gaps")), (2, 1, false));
    }
}
