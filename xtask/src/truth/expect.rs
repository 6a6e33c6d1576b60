//! NAME.toml: where a capture came from and what a right answer is. `captures/README.md` describes the format.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

use super::{Answer, Counts};

/// What a `[[flow]]` may say beside its key.
pub(super) const FLOW: &[&str] = &[
    "packets",
    "messages",
    "first_psn",
    "next_psn",
    "seen_again",
    "responses_again",
    "behind",
    "gaps",
    "gap_psns",
    "acks",
    "naks",
    "rnr_naks",
    "cnps",
];

pub(super) fn read(path: &Path) -> Result<Answer> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).with_context(|| format!("in {}", path.display()))
}

pub(super) fn parse(text: &str) -> Result<Answer> {
    let table: Table = toml::from_str(text)?;
    for (name, value) in &table {
        match name.as_str() {
            "origin" | "what" => ensure!(value.as_str().is_some_and(|s| !s.is_empty()), "`{name}` is a sentence"),
            "truth" | "flow" => {}
            _ => bail!("`{name}` means nothing here; there are origin, what, [truth] and [[flow]]"),
        }
    }
    for name in ["origin", "what"] {
        ensure!(table.contains_key(name), "`{name}` is missing");
    }
    let mut answer = Answer::default();
    flatten("", table.get("truth").context("[truth] is missing")?, &mut answer.totals)?;
    let flows = table.get("flow").map(|flows| flows.as_array().context("write [[flow]]")).transpose()?;
    for flow in flows.into_iter().flatten() {
        let flow = flow.as_table().context("write [[flow]]")?;
        let text = |name| flow.get(name).and_then(Value::as_str).with_context(|| format!("a [[flow]] needs `{name}`"));
        let qp = flow.get("dst_qp").context("a [[flow]] needs `dst_qp`").and_then(|qp| count("dst_qp", qp))?;
        let key = (text("src")?.to_owned(), text("dst")?.to_owned(), qp);
        let mut counts = Counts::new();
        for (name, value) in flow.iter().filter(|(name, _)| !matches!(name.as_str(), "src" | "dst" | "dst_qp")) {
            ensure!(FLOW.contains(&name.as_str()), "a [[flow]] has no `{name}`; it has {}", FLOW.join(", "));
            counts.insert(name.clone(), count(name, value)?);
        }
        ensure!(answer.flows.insert(key.clone(), counts).is_none(), "[[flow]] {key:?} stands there twice");
    }
    Ok(answer)
}

fn count(name: &str, value: &Value) -> Result<u64> {
    let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
    number.with_context(|| format!("`{name}` is a count, not {value:?}"))
}

fn flatten(place: &str, value: &Value, counts: &mut Counts) -> Result<()> {
    let Some(table) = value.as_table() else {
        counts.insert(place.to_owned(), count(place, value)?);
        return Ok(());
    };
    for (name, value) in table {
        let dot = if place.is_empty() { "" } else { "." };
        flatten(&format!("{place}{dot}{name}"), value, counts)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "origin = 'a lab'\nwhat = 'a write'\n[truth]\nframes = 2\nicrc.bad = 0\nopcodes.RC_ACK = 1\n\
                        [[flow]]\nsrc = 'a'\ndst = 'b'\ndst_qp = 17\npackets = 1\nacks = 1\n";

    #[test]
    fn a_truth_is_read_by_the_reports_names() {
        let answer = parse(GOOD).unwrap();
        assert_eq!((answer.totals["frames"], answer.totals["opcodes.RC_ACK"]), (2, 1));
        assert_eq!(answer.flows[&("a".into(), "b".into(), 17)]["acks"], 1);
    }

    #[test]
    fn every_bundled_truth_can_be_read() {
        let mut read_files = 0;
        for file in crate::sh::files(&crate::sh::root().join("captures")).unwrap() {
            if file.extension().is_some_and(|e| e == "toml") {
                assert!(read(&file).unwrap().totals.contains_key("frames"), "{} counts no frames", file.display());
                read_files += 1;
            }
        }
        assert!(read_files > 0);
    }

    #[test]
    fn a_slip_is_said() {
        for (from, to, says) in [
            ("acks", "ackz", "has no `ackz`"),
            ("origin", "orgin", "means nothing here"),
            ("frames = 2", "frames = -2", "is a count"),
            ("dst_qp = 17\n", "", "needs `dst_qp`"),
            ("what = 'a write'\n", "", "`what` is missing"),
        ] {
            let why = parse(&GOOD.replace(from, to)).unwrap_err().to_string();
            assert!(why.contains(says), "{why}");
        }
    }
}
