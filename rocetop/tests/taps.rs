//! `analyze --taps` over captures of which both ends are here, against what the path of the lab dropped.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "kit/binary.rs"]
mod binary;
#[path = "kit/folder.rs"]
mod folder;

use std::collections::BTreeSet;
use std::path::Path;

use binary::{Ran, rocetop};
use folder::Folder;
use serde_json::Value;

const SEND_E1: &str = "07e_send_loss2pct_q4.e1.pcap";
const SEND_E2: &str = "07e_send_loss2pct_q4.e2.pcap";
const ATOMIC_E1: &str = "07f_atomic_loss5pct.e1.pcap";
const ATOMIC_E2: &str = "07f_atomic_loss5pct.e2.pcap";

fn report(files: &[&str]) -> Value {
    let ran = Ran::of(&mut rocetop(&[&["analyze", "--taps", "--json"], files].concat()));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{files:?}");
    serde_json::from_str(&ran.out).unwrap()
}

/// From, sent, received and lost of each row.
fn rows(report: &Value) -> Vec<(&str, u64, u64, u64)> {
    let figure = |row: &Value, name: &str| row[name].as_u64().unwrap();
    let row = |row| (row_from(row), figure(row, "sent"), figure(row, "received"), figure(row, "lost"));
    report["taps"].as_array().unwrap().iter().map(row).collect()
}

fn row_from(row: &Value) -> &str {
    row["from"].as_str().unwrap()
}

#[test]
fn what_the_path_dropped() {
    // netem's own counts: 11 and 1, 3 and 2.
    let send = report(&[SEND_E1, SEND_E2]);
    assert_eq!(rows(&send), [(SEND_E1, 688, 677, 11), (SEND_E2, 91, 90, 1)]);
    assert_eq!(
        (&send["taps"][0]["lost_by_kind"]["requests"], &send["taps"][1]["lost_by_kind"]["acks"]),
        (&11.into(), &1.into())
    );
    let atomic = report(&[ATOMIC_E1, ATOMIC_E2]);
    assert_eq!(rows(&atomic), [(ATOMIC_E1, 65, 62, 3), (ATOMIC_E2, 62, 60, 2)]);
    assert_eq!(atomic["taps"][1]["lost_by_kind"]["responses"], 2);
    for row in atomic["taps"].as_array().unwrap() {
        // Both ends had the same clock.
        let (offset, within) =
            (row["clock_offset_ns"].as_i64().unwrap(), row["clock_uncertainty_ns"].as_i64().unwrap());
        assert!(offset.abs() <= within, "{row}");
        assert_eq!((&row["missed"], &row["outside"], &row["direction_by"]), (&0.into(), &0.into(), &"ttl".into()));
    }
}

#[test]
fn the_order_of_the_taps_does_not_matter() {
    assert_eq!(report(&[SEND_E1, SEND_E2]), report(&[SEND_E2, SEND_E1]));
}

#[test]
fn flows_of_all_taps_have_ids_of_their_own() {
    let report = report(&[SEND_E1, SEND_E2]);
    let flows = report["flows"].as_array().unwrap();
    let ids: BTreeSet<u64> = flows.iter().map(|f| f["id"].as_u64().unwrap()).collect();
    assert_eq!((flows.len(), ids.len()), (16, 16));
    assert_eq!(flows.iter().filter(|f| f["tap"] == SEND_E2).count(), 8);
    for connection in report["connections"].as_array().unwrap() {
        for flow in connection["flows"].as_array().unwrap() {
            let flow = flows.iter().find(|f| &f["id"] == flow).unwrap();
            assert_eq!((&flow["connection"], &flow["tap"]), (&connection["id"], &connection["tap"]));
        }
    }
    assert_eq!(report["totals"]["frames"], 778 + 768);
    assert_eq!(report["totals"]["opcodes"]["RC_ACK"], 90 + 91);
}

#[test]
fn the_text_names_flows_as_the_json_does() {
    let ran = Ran::of(&mut rocetop(&["analyze", "--taps", ATOMIC_E1, ATOMIC_E2]));
    assert!(ran.out.contains("\n  07f_atomic_loss5pct.e1.pcap -> 07f_atomic_loss5pct.e2.pcap\n"), "{}", ran.out);
    let report = report(&[ATOMIC_E1, ATOMIC_E2]);
    let second = report["connections"].as_array().unwrap().iter().find(|c| c["tap"] == ATOMIC_E2).unwrap();
    assert_eq!((&second["id"], &second["flows"]), (&1.into(), &serde_json::json!([2, 3])));
    let (_, text) = ran.out.split_once("\n07f_atomic_loss5pct.e2.pcap\n").unwrap();
    for told in
        ["#1   10.9.1.1 qp 35", "flows 2, 3", "Without --taps and the other captures, --flow 0 tells the story of #1."]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(!text.contains("#0"), "{text}");
}

#[test]
fn the_same_capture_twice_and_strangers() {
    let twice = report(&[ATOMIC_E1, ATOMIC_E1]);
    assert_eq!(rows(&twice).iter().map(|r| (r.1, r.3)).collect::<Vec<_>>(), [(65, 0), (60, 0)]);
    assert_eq!(twice["taps"][0]["direction_by"], "unknown");
    assert_eq!(report(&[ATOMIC_E1, "10b_rnr_fail.e1.pcap"])["taps"], Value::Array(Vec::new()));
    let ran = Ran::of(&mut rocetop(&["analyze", "--taps", ATOMIC_E1, "10b_rnr_fail.e1.pcap"]));
    assert!(ran.out.contains("Nothing can be compared"), "{}", ran.out);
}

#[test]
fn one_tap_has_nothing_to_be_compared_with() {
    let ran = Ran::of(&mut rocetop(&["analyze", "--taps", ATOMIC_E1]));
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("two or more"), "{}", ran.err);
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures").join(name)).unwrap()
}

/// The records of a little-endian pcap file behind its header.
fn records(bytes: &[u8]) -> Vec<&[u8]> {
    let mut records = Vec::new();
    let mut rest = &bytes[24..];
    while !rest.is_empty() {
        let len = 16 + u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        records.push(&rest[..len]);
        rest = &rest[len..];
    }
    records
}

/// A capture with its clock set back by so many seconds, of the frames `from..`.
fn other_clock(bytes: &[u8], back: u32, from: usize) -> Vec<u8> {
    let mut out = bytes[..24].to_vec();
    for record in &records(bytes)[from..] {
        let seconds = u32::from_le_bytes(record[..4].try_into().unwrap()) - back;
        out.extend(seconds.to_le_bytes());
        out.extend(&record[4..]);
    }
    out
}

#[test]
fn a_clock_that_is_hours_off_and_a_late_start() {
    let folder = Folder::new();
    let path = folder.file("e2.pcap", &other_clock(&bytes(SEND_E2), 7_200, 0));
    let report = self::report(&[SEND_E1, &path]);
    let lost: BTreeSet<u64> = rows(&report).iter().map(|r| r.3).collect();
    assert_eq!(lost, BTreeSet::from([1, 11]));
    let offset = report["taps"].as_array().unwrap().iter().map(|r| r["clock_offset_ns"].as_i64().unwrap()).max();
    assert_eq!(offset.unwrap() / 1_000_000_000, 7_200);
    // A capture that begins in the middle is compared from there on.
    let path = folder.file("late.pcap", &other_clock(&bytes(SEND_E2), 0, 400));
    let report = self::report(&[SEND_E1, &path]);
    let outside: u64 = report["taps"].as_array().unwrap().iter().map(|r| r["outside"].as_u64().unwrap()).sum();
    assert!(outside > 300, "{report}");
    assert!(rows(&report).iter().all(|r| r.3 <= 11), "{report}");
}

#[test]
fn what_a_capture_misses_was_not_lost() {
    let folder = Folder::new();
    let bytes = bytes("05e_qp_reuse.e1.pcap");
    // Every ninth frame is missing, as a busy capture drops them; but for the very first and last ones.
    let mut less = bytes[..24].to_vec();
    let all = records(&bytes);
    let kept = all.iter().enumerate().filter(|(n, _)| n % 9 != 4 || n + 9 > all.len());
    kept.for_each(|(_, record)| less.extend(*record));
    let report = self::report(&["05e_qp_reuse.e1.pcap", &folder.file("busy.pcap", &less)]);
    for row in report["taps"].as_array().unwrap() {
        assert_eq!(row["lost_by_kind"]["requests"], 0, "{row}");
    }
}

/// Code, severity and title of what is found at each tap about loss.
fn told(report: &Value) -> Vec<String> {
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let all = report["findings"].as_array().unwrap().iter();
    let mine = all.filter(|f| ["RT001", "RT009"].contains(&f["code"].as_str().unwrap()));
    mine.map(|f| format!("{} {} {}", text(f, "code"), text(f, "severity"), text(f, "title"))).collect()
}

#[test]
fn findings_say_what_the_taps_prove() {
    // Of each queue pair what was lost of it, at both taps; an ACK that nobody missed is no finding.
    let send = report(&[SEND_E1, SEND_E2]);
    let road = |qp: u32| format!("10.9.1.1 -> 10.9.2.1 qp {qp}");
    assert_eq!(
        told(&send),
        [
            format!("RT001 critical 3 packets lost between the taps, 32 sent again: {}", road(32)),
            format!("RT001 critical 3 packets lost between the taps, 29 seen again here: {}", road(32)),
            format!("RT001 critical 5 packets lost between the taps, 10 sent again: {}", road(33)),
            format!("RT001 warning 3 packets lost between the taps, 6 sent again: {}", road(31)),
            format!("RT001 warning 5 packets lost between the taps, 5 seen again here: {}", road(33)),
            format!("RT001 warning 3 packets lost between the taps, 3 seen again here: {}", road(31)),
        ]
    );
    // netem took 11 requests, one by one.
    let spread = send["findings"].as_array().unwrap().iter().find(|f| f["code"] == "RT016").unwrap();
    assert_eq!((&spread["evidence"]["lost"], &spread["evidence"]["in_bursts"]), (&11.into(), &0.into()));
    assert_eq!(spread["frames"][0], format!("{SEND_E1}:105"));
    let found = &send["findings"][0];
    let frames = [105, 410, 418].map(|frame| Value::from(format!("{SEND_E1}:{frame}")));
    assert_eq!(found["frames"], Value::from(frames.to_vec()));
    assert_eq!(
        found["advice"],
        "Lost between 07e_send_loss2pct_q4.e1.pcap and 07e_send_loss2pct_q4.e2.pcap: 3. Compare discards and errors of \
         the ports between these taps."
    );
    let evidence = &found["evidence"];
    let between = (&evidence["requests_lost_between_taps"], &evidence["answers_lost_between_taps"]);
    assert_eq!(between, (&3.into(), &0.into()));
    // netem took 3 requests and 2 answers.
    assert_eq!(
        told(&report(&[ATOMIC_E1, ATOMIC_E2])),
        [
            format!("RT009 warning 2 answers lost between the taps: {}", road(35)),
            format!("RT001 warning 3 packets lost between the taps: {}", road(35)),
        ]
    );
    // The same place twice proves nothing: what is lost behind it stays in doubt.
    let twice = told(&report(&[SEND_E1, SEND_E1]));
    assert_eq!(twice[0], format!("RT001 warning at least 3 packets lost or late, 32 sent again: {}", road(32)));
}

#[test]
fn the_text_tells_each_loss_once() {
    let text = Ran::of(&mut rocetop(&["analyze", "--taps", SEND_E1, SEND_E2])).out;
    let told: Vec<&str> = text.lines().filter(|line| line.starts_with("RT001")).collect();
    // As many as queue pairs lost something, with the worst severity that a tap gave it.
    assert_eq!(told.len(), 3, "{told:#?}");
    assert_eq!(told.iter().filter(|line| line.starts_with("RT001 critical")).count(), 2, "{told:#?}");
    let clean = ["01c_write_rc_small.e1.pcap"; 2];
    let text = Ran::of(&mut rocetop(&[&["analyze", "--taps"], &clean[..]].concat())).out;
    assert_eq!(text.matches("\n1 connection: no gaps, no repeats, no NAKs at this tap.\n").count(), 2, "{text}");
}

#[test]
fn managers_and_pauses_are_told_by_tap() {
    let report = report(&["12a_rping.e1.pcap", "12c_rping_nolistener.e1.pcap"]);
    let told: Vec<_> = report["cm"].as_array().unwrap().iter().map(|c| (&c["id"], &c["tap"], &c["state"])).collect();
    assert_eq!(
        told,
        [
            (&0.into(), &"12a_rping.e1.pcap".into(), &"disconnected".into()),
            (&1.into(), &"12c_rping_nolistener.e1.pcap".into(), &"rejected".into())
        ]
    );
    assert_eq!((&report["more_cm"], &report["pauses"]), (&0.into(), &Value::Array(Vec::new())));
}

#[test]
fn a_selection_reaches_the_comparison() {
    let count = |more: &[&str]| {
        let ran = Ran::of(&mut rocetop(&[&["analyze", "--taps", "--json", SEND_E1, SEND_E2], more].concat()));
        serde_json::from_str::<Value>(&ran.out).unwrap()["taps"].as_array().unwrap().len()
    };
    assert_eq!((count(&[]), count(&["--host", "10.9.1.1"]), count(&["--host", "10.9.9.9"])), (2, 2, 0));
}
