//! The target `analyze`: a whole capture through reader, walker, ICRC, engine and reports.

#[path = "file.rs"]
mod file;

use rocetop::report::select::Selection;
use rocetop::report::{json, text};
use rocetop::run::{Options, Outcome, run};
use rocetop::source::Timeline;
use rocetop_analysis::Config;
use rocetop_analysis::Ledger;
use rocetop_parsers::Nanos;
use serde_json::Value;

/// The first byte chooses the bounds of the engine, the rest is the file.
pub(crate) fn feed(data: &[u8]) {
    let Some((&first, file)) = data.split_first() else { return };
    let path = file::written("analyze", file);
    let idle = (first & 0x80 != 0).then_some(Nanos(u64::from(first & 0x0f) * 1_000_000));
    // Two flows a shard at least, which any input can fill.
    let most_flows = if first & 0x40 == 0 { 1 << 20 } else { 1 };
    let threads = if first & 0x30 == 0x30 { 3 } else { 1 };
    let options = Options { threads, engine: Config { most_flows, idle, ..Config::default() }, filter: None };
    let outcome = Timeline::open(&[&path]).map(|timeline| run(timeline, &options, |_, _| {}));
    let _ = std::fs::remove_file(&path);
    if let Ok(outcome) = outcome {
        reported(&outcome);
    }
}

/// Writes both reports and checks the sums of the one for programs.
fn reported(outcome: &Outcome) {
    let ledger = Ledger::new(&outcome.engine, Vec::new());
    let mut page = Vec::new();
    let found = ledger.findings();
    let shown = text::Shown { chosen: Selection::default(), top: 10, before: None };
    assert!(text::write(&mut page, &outcome.captures, &ledger, &found, &shown).is_ok());
    let mut json = Vec::new();
    assert!(json::write(&mut json, &outcome.captures, &ledger, &found, &Selection::default()).is_ok());
    let report: Value = serde_json::from_slice(&json).expect("the report is JSON");
    let n = |value: &Value, path: &str| {
        let number = value.pointer(path).and_then(Value::as_u64);
        assert!(number.is_some(), "no number at {path}");
        number.unwrap_or_default()
    };
    let total = |path: &str| n(&report, &format!("/totals/{path}"));
    let list = |name: &str| report.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let sum = |name: &str, path: &str| list(name).iter().map(|item| n(item, path)).sum::<u64>();

    let with_bth = total("roce_frames") + total("rocev1_frames") + total("infiniband_frames");
    let without = total("pfc_frames") + total("other_frames") + total("undecodable_frames");
    assert_eq!(total("frames"), with_bth + without, "frames by class");
    assert_eq!(total("frames"), sum("captures", "/frames"), "frames by capture");
    assert_eq!(total("bytes"), sum("captures", "/bytes"), "bytes by capture");
    assert_eq!(total("icrc/ok") + total("icrc/bad") + total("icrc/unknown"), with_bth, "frames by ICRC");
    let ecn = ["ecn/not_ect", "ecn/ect0", "ecn/ect1", "ecn/ce"].map(total).iter().sum::<u64>();
    // A local InfiniBand packet has none.
    assert!(ecn <= with_bth && ecn + total("infiniband_frames") >= with_bth, "frames by ECN");
    let opcodes = report.pointer("/totals/opcodes").and_then(Value::as_object);
    let opcodes = opcodes.map(|all| all.values().filter_map(Value::as_u64).sum::<u64>());
    assert_eq!(opcodes, Some(with_bth), "frames by opcode");

    // Every frame with a BTH is in a flow, or was, or is a copy, or is damaged or seems so.
    let gone = total("evicted/packets") + total("aged_out/packets");
    let in_flows = sum("flows", "/packets") + total("mirror_copies") + total("wild") + gone;
    assert_eq!(in_flows + total("icrc/bad"), with_bth, "packets by flow");
    let connections = list("connections");
    let mut flows = 0;
    for (id, connection) in (0u64..).zip(connections) {
        let members = connection.get("flows").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for member in members.iter().filter_map(Value::as_u64) {
            let flow = list("flows").get(member as usize).map(|flow| (n(flow, "/id"), n(flow, "/connection")));
            assert_eq!(flow, Some((member, id)), "a flow is in the connection that names it");
            flows += 1;
        }
    }
    assert_eq!(flows, list("flows").len(), "every flow is in one connection");
}
