//! What people read, as it was looked at: help, text reports, and two reports as JSON.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "kit/binary.rs"]
mod binary;

use std::fmt::Write;
use std::path::Path;

use binary::{Ran, rocetop};

/// Runs the binary and compares what it prints with a file; with UPDATE=1 in the environment, writes the file.
fn check(name: &str, args: &[&str]) {
    let ran = Ran::of(&mut rocetop(args));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args:?}");
    let out = if args.contains(&"--json") { pretty(&ran.out) } else { ran.out };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name).with_extension("txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &out).unwrap();
        return;
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == out,
        "{name} has changed:\n{}Look at each line. If all are right: UPDATE=1 cargo test --test snapshots",
        difference(&known, &out)
    );
}

fn pretty(json: &str) -> String {
    let report: serde_json::Value = serde_json::from_str(json).unwrap();
    serde_json::to_string_pretty(&report).unwrap() + "\n"
}

/// The lines that differ, between the first and the last lines that do not.
fn difference(known: &str, new: &str) -> String {
    let (known, new): (Vec<&str>, Vec<&str>) = (known.lines().collect(), new.lines().collect());
    let same = known.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (known, new) = (&known[same..], &new[same..]);
    let tail = known.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let mut text = format!("from line {}\n", same + 1);
    for line in &known[..known.len() - tail] {
        let _ = writeln!(text, "- {line}");
    }
    for line in &new[..new.len() - tail] {
        let _ = writeln!(text, "+ {line}");
    }
    text
}

#[test]
fn help() {
    check("help", &["--help"]);
    check("help_analyze", &["analyze", "--help"]);
    check("help_check", &["check", "--help"]);
    check("help_explain", &["explain", "--help"]);
    #[cfg(target_os = "linux")]
    check("help_live", &["live", "--help"]);
    check("help_simulate", &["simulate", "--help"]);
    check("explain", &["explain"]);
    check("explain_rt005", &["explain", "RT005"]);
}

#[test]
fn texts() {
    check("loss_e1", &["analyze", "07e_send_loss2pct_q4.e1.pcap"]);
    check("loss_e2", &["analyze", "07e_send_loss2pct_q4.e2.pcap"]);
    check("read", &["analyze", "02a_read_rc_mtu1024.e1.pcap"]);
    check("rnr", &["analyze", "10a_rnr.e1.pcap"]);
    check("refused", &["analyze", "11b_invreq.e1.pcap"]);
    check("cm_rping", &["analyze", "12a_rping.e1.pcap"]);
    check("vlan", &["analyze", "14a_vlan_dscp.e2.pcapng"]);
}

#[test]
fn stories() {
    check("story_ack_loss", &["analyze", "--flow", "0", "07c_write_ackloss10pct.e1.pcap.gz"]);
    check("story_rnr", &["analyze", "--flow", "0", "10a_rnr.e1.pcap"]);
    check("story_dead_peer", &["analyze", "--flow", "1", "11c_deadpeer.e1.pcap"]);
    check("story_loss", &["analyze", "--flow", "2", "07e_send_loss2pct_q4.e2.pcap"]);
    check("story_datagrams", &["analyze", "--flow", "0", "03b_send_ud.e1.pcap"]);
}

#[test]
fn taps() {
    check(
        "taps_send",
        &["analyze", "--taps", "--top", "0", "07e_send_loss2pct_q4.e1.pcap", "07e_send_loss2pct_q4.e2.pcap"],
    );
}

#[test]
fn jsons() {
    check("rnr_fail_json", &["analyze", "--json", "10b_rnr_fail.e1.pcap"]);
    check("no_listener_json", &["analyze", "--json", "12c_rping_nolistener.e1.pcap"]);
}

#[test]
fn simulations() {
    check("simulate_mixed", &["simulate", "../scenarios/lossy_marked_paused.toml"]);
    check("simulate_tree", &["simulate", "../scenarios/pause_tree.toml"]);
}

#[test]
fn a_difference_is_shown() {
    assert_eq!(difference("a\nb\nc\n", "a\nx\ny\nc\n"), "from line 2\n- b\n+ x\n+ y\n");
}
