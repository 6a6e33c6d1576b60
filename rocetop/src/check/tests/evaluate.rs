//! Verdicts over reports written by hand.

use serde_json::{Value, json};

use crate::check::Verdict;
use crate::check::evaluate::Running;
use crate::check::file::parse;
use crate::check::names::Scope;

/// The verdict of one expectation over a report: its flows are one connection each, or as they say.
fn judge(expectation: &str, report: &Value) -> Verdict {
    let expectations = parse("e.toml", &format!("[[expect]]\n{expectation}")).unwrap_or_else(|f| panic!("{f:?}"));
    let mut all = Running::new(&expectations);
    let parts = |name: &str| report.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    all.part(Scope::Totals, &report["totals"], &[]);
    for flow in parts("flows") {
        let family: Vec<Value> = parts("flows").into_iter().filter(|f| f["connection"] == flow["connection"]).collect();
        all.part(Scope::Flow, &flow, &family);
    }
    for finding in parts("findings") {
        all.part(Scope::Finding, &finding, &[]);
    }
    for more in parts("more") {
        all.more_findings(more[0].as_str().unwrap(), more[1].as_u64().unwrap());
    }
    all.verdicts().remove(0)
}

/// Whether it holds, what was measured, and the first note.
fn told(expectation: &str, report: &Value) -> (bool, String, String) {
    let verdict = judge(expectation, report);
    (verdict.holds, verdict.measured, verdict.notes.first().cloned().unwrap_or_default())
}

fn flow(id: u64, connection: u64, src: &str, dst: &str, qp: u64, gaps: u64, story: Value) -> Value {
    json!({"id": id, "connection": connection, "src": src, "dst": dst, "dst_qp": qp, "transport": "RC", "epoch": 0,
           "packets": 100, "ce": gaps, "mtu": if gaps == 7 { json!(null) } else { json!(1024) }, "vlan": [],
           "requests": {"packets": 100, "gaps": gaps}, "story": story})
}

fn story(repeats: u64, p99: u64) -> Value {
    json!({"near": "src", "retransmissions": {"total": repeats}, "message_ns": {"p99": p99}, "timeout_ns": null,
           "lost_before_tap": 0, "lost_after_tap": repeats, "rnr_timer_us": 1280})
}

fn report() -> Value {
    json!({
        "totals": {"cnp": 0, "icrc": {"ok": 300, "bad": 0, "unknown": 0}, "opcodes": {"RC_ACK": 5},
                   "ecn": {"not_ect": 0, "ect0": 99, "ect1": 0, "ce": 1}},
        "flows": [
            flow(0, 0, "10.0.0.1", "10.0.0.2", 17, 0, story(2, 4_000_000)),
            flow(1, 0, "10.0.0.2", "10.0.0.1", 18, 0, json!(null)),
            flow(2, 1, "10.0.0.1", "10.0.0.3", 19, 3, story(10, 6_000_000)),
            flow(3, 1, "10.0.0.3", "10.0.0.1", 20, 7, story(0, 1_000_000)),
        ],
        "findings": [
            {"code": "RT008", "severity": "critical", "title": "refused", "flow": 2, "connection": 1, "frames": [4, 9]},
            {"code": "RT001", "severity": "info", "title": "slow", "flow": null, "connection": 0, "frames": []},
            {"code": "RT002", "severity": "warning", "title": "dark", "flow": null, "connection": null, "frames": []},
        ],
    })
}

fn no_story() -> Value {
    let mut report = report();
    for flow in report["flows"].as_array_mut().unwrap() {
        flow["story"] = Value::Null;
    }
    report
}

#[test]
fn totals() {
    assert_eq!(told("that = 'icrc.bad == 0'", &report()), (true, "0".into(), String::new()));
    assert_eq!(told("that = 'icrc.ok < 300'", &report()), (false, "300".into(), String::new()));
    assert_eq!(told("that = 'ecn.ce_share < 1%'", &report()).1, "1% (1 of 100)");
    assert_eq!(told("that = 'ecn.ce_share <= 0.01'", &report()), (true, "0.01 (1 of 100)".into(), String::new()));
    assert_eq!(told("that = 'RC_ACK == 5'", &report()).1, "5");
    // Opcodes that do not occur are not in the report.
    assert_eq!(told("that = 'RC_WRITE_ONLY == 0'", &report()), (true, "0".into(), String::new()));
}

#[test]
fn over_flows() {
    let worst = "flow 3, 10.0.0.3 -> 10.0.0.1 qp 20 RC";
    let each = told("that = 'flow.requests.gaps == 0'", &report());
    assert_eq!(each, (false, "7".into(), format!("2 of 4 values fail; the worst: {worst}")));
    let sum = told("that = 'flow.requests.gaps < 10'\nover = 'sum'", &report());
    assert_eq!(sum, (false, "10".into(), format!("the sum of 4 flows; the worst, with 7: {worst}")));
    assert_eq!(told("that = 'flow.requests.gaps <= 6'\nover = 'max'", &report()), (false, "7".into(), worst.into()));
    assert_eq!(told("that = 'flow.requests.gaps == 0'\nover = 'min'", &report()), (true, "0".into(), String::new()));
    assert_eq!(told("that = 'flow.requests.gaps == 3'\nover = 'any'", &report()), (true, "3".into(), String::new()));
    let any = told("that = 'flow.requests.gaps > 7'\nover = 'any'", &report());
    assert_eq!(any, (false, "7".into(), format!("none of 4 values; the nearest: {worst}")));
    assert_eq!(told("that = 'flow.transport == RC'", &report()), (true, "RC".into(), String::new()));
    assert!(!told("that = 'flow.transport != RC'", &report()).0);
    assert_eq!(told("that = 'flows.count == 4'", &report()), (true, "4".into(), String::new()));
}

#[test]
fn stories() {
    assert_eq!(told("that = 'retransmissions.total <= 12'", &report()), (true, "12".into(), String::new()));
    let p99 = told("that = 'flow.story.message_ns.p99 < 5 ms'", &report());
    assert_eq!((p99.0, p99.1.as_str()), (false, "6 ms"));
    // A sum of shares is the share of the sums: 12 of the 300 packets of flows that have a story.
    assert_eq!(told("that = 'retransmissions.share < 10%'", &report()).1, "4% (12 of 300)");
    assert_eq!(told("that = 'flow.story.loss.share <= 1%'", &report()).1, "10% (10 of 100)");
    assert_eq!(told("that = 'flow.story.rnr_timer_us < 1 ms'", &report()).1, "1.28 ms");
}

#[test]
fn what_is_not_known_does_not_pass() {
    for that in ["flow.mtu == 1024", "flow.mtu != 7", "flow.mtu < 5 kB"] {
        let (holds, measured, note) = told(&format!("that = '{that}'"), &report());
        assert_eq!((holds, measured.as_str()), (false, "not known from this capture"));
        assert_eq!(note, "not known of 1 value; first of flow 3, 10.0.0.3 -> 10.0.0.1 qp 20 RC");
    }
    for over in ["sum", "max", "min", "any"] {
        let (holds, measured, _) = told(
            &format!("that = 'flow.story.rnr_timer_us < 1 us'\nover = '{over}'").replace("sum", "max"),
            &no_story(),
        );
        assert_eq!((holds, measured.as_str()), (false, "no flow has a story"), "{over}");
    }
    assert!(!told("that = 'flow.mtu == 1024'\nover = 'max'", &report()).0);
    // One that is known to hold is enough, one that is known to fail is too.
    assert!(told("that = 'flow.mtu == 1024'\nover = 'any'", &report()).0);
    assert_eq!(told("that = 'flow.mtu == 4096'", &report()).1, "1024");
    assert_eq!(told("that = 'retransmissions.total == 0'", &no_story()).1, "no flow has a story");
    assert_eq!(told("that = 'retransmissions.share == 0'", &no_story()).1, "no flow has a story");
    // The 99th percentile of no message is written as 0, and is none.
    let mut silent = report();
    silent["flows"][0]["story"]["message_ns"] = json!({"count": 0, "p99": 0});
    let (holds, measured, note) = told("that = 'flow.story.message_ns.p99 < 5 s'", &silent);
    assert_eq!((holds, measured.as_str()), (false, "not known from this capture"));
    assert!(note.contains("first of flow 0, 10.0.0.1"), "{note}");
    let mut dark = report();
    dark["totals"]["ecn"] = json!({"not_ect": 100, "ect0": 0, "ect1": 0, "ce": 0});
    let (holds, measured, _) = told("that = 'ecn.ce_share < 1%'", &dark);
    assert_eq!(
        (holds, measured.as_str()),
        (false, "not known from this capture: there is nothing to take the share of")
    );
}

#[test]
fn selections() {
    let gaps = |select: &str| told(&format!("that = 'flow.requests.gaps == 0'\nwhere = {{ {select} }}"), &report());
    for (select, measured) in [
        ("dst = '10.0.0.2'", "0"),
        ("src = '10.0.0.1'", "3"),
        ("src = '10.0.0.1', dst_qp = 17", "0"),
        ("dst_qp = [17, 20]", "7"),
        ("connection = 0", "0"),
        ("requests.gaps = '> 0', requests.packets = 100", "7"),
        ("story.near = 'src'", "7"),
        // Either end of the connection: the peer's flow names the number.
        ("qpn = 19, src = '10.0.0.3'", "7"),
        ("qpn = '0x11'", "0"),
        ("qpn = [99, '0x11']", "0"),
        ("host = '10.0.0.2'", "0"),
        ("host = ['10.9.9.9', '10.0.0.2']", "0"),
        ("dst_qp = 99", "no flow is selected"),
        ("vlan.id = 7", "no flow is selected"),
    ] {
        assert_eq!(gaps(select).1, measured, "{select}");
    }
    assert!(!gaps("dst_qp = 99").0);
    let none = "that = 'flow.requests.gaps == 0'\nwhere = { dst_qp = 99 }\nmay_be_none = true";
    assert_eq!(told(none, &report()), (true, "no flow is selected".into(), String::new()));
    assert_eq!(told("that = 'flow.vlan[].pcp == 3'", &report()).1, "no flow has a vlan");
    assert_eq!(told("that = 'flow.requests.gaps == 0'", &json!({})).1, "there is no flow");
    assert!(told("that = 'flows.count == 2'\nwhere = { src = '10.0.0.1' }", &report()).0);
}

#[test]
fn findings() {
    for (that, holds, measured) in [
        ("finding RT008 absent", false, "1"),
        ("finding RT008 present", true, "1"),
        ("finding critical absent", false, "1"),
        ("finding warning <= 2", true, "2"),
        ("finding info == 3", true, "3"),
        ("findings any < 3", false, "3"),
    ] {
        let verdict = judge(&format!("that = '{that}'"), &report());
        assert_eq!((verdict.holds, verdict.measured.as_str()), (holds, measured), "{that}");
    }
    assert_eq!(told("that = 'finding RT008 absent'", &report()).2, "RT008 critical: refused; frames 4, 9");
    // Of a flow, of its connection; what is about the whole capture is nobody's.
    let of = |select: &str| told(&format!("that = 'finding any absent'\nwhere = {{ {select} }}"), &report()).1;
    assert_eq!([of("dst_qp = 19"), of("dst_qp = 20"), of("connection = 0"), of("qpn = 20")], ["1", "0", "1", "1"]);
    assert_eq!(of("dst_qp = 99"), "no flow is selected");
}

#[test]
fn findings_that_are_not_listed() {
    let mut report = report();
    report["more"] = json!([["RT008", 5]]);
    let measured = |that: &str| judge(&format!("that = '{that}'"), &report);
    assert!(measured("finding RT008 == 6").holds);
    assert!(measured("findings any == 8").holds);
    // They may be less bad than the listed one.
    let critical = measured("finding critical <= 3");
    assert_eq!((critical.holds, critical.measured.as_str()), (false, "1 to 6"));
    assert_eq!([measured("finding critical != 3").holds, measured("finding critical < 7").holds], [false, true]);
    assert_eq!(judge("that = 'finding RT008 == 1'\nwhere = { dst_qp = 19 }", &report).measured, "1 to 6");
}
