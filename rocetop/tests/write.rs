//! `analyze --write`: what is saved, what is said about it, and whether others can read it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "kit/binary.rs"]
mod binary;
#[path = "kit/folder.rs"]
mod folder;

use std::path::{Path, PathBuf};
use std::process::Command;

use binary::{Ran, rocetop};
use folder::Folder;
use rocetop::source::Timeline;
use serde_json::Value;

const LOSS: &str = "07e_send_loss2pct_q4.e1.pcap";
const TAGGED: &str = "14a_vlan_dscp.e2.pcapng";
const PACKED: &str = "08a_reorder.e2.pcap.zst";

/// A frame: its time, length on the wire and bytes.
type Kept = (u64, u32, Vec<u8>);

fn frames<P: AsRef<Path>>(paths: &[P]) -> Vec<Kept> {
    let mut timeline = Timeline::open(paths).unwrap();
    let mut all = Vec::new();
    timeline.for_each(|f| all.push((f.ts.0, f.wire_len, f.bytes.to_vec())));
    assert!(timeline.summaries().iter().all(|c| c.complete));
    all
}

fn home(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures").join(name)
}

/// Runs with `--write` and returns what it said about it.
fn write(to: &str, args: &[&str]) -> String {
    let ran = Ran::of(&mut rocetop(&[&["analyze", "--json", "--write", to], args].concat()));
    assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
    let line = ran.err.lines().last().unwrap();
    line.strip_prefix(&format!("rocetop: {to}: ")).unwrap().to_owned()
}

#[test]
fn everything_is_saved_as_it_was() {
    let folder = Folder::new();
    let to = folder.file("all.pcapng", &[7; 1_000_000]);
    for names in [&[LOSS][..], &[TAGGED], &[PACKED, LOSS, TAGGED, "12a_rping.e1.pcap"]] {
        let said = write(&to, names);
        let (before, after) = (frames(&names.iter().map(|name| home(name)).collect::<Vec<_>>()), frames(&[&to]));
        assert!(before == after, "{names:?}");
        assert!(said.starts_with(&format!("{} frames, ", after.len())), "{said}");
        let timeline = {
            let mut timeline = Timeline::open(&[&to]).unwrap();
            timeline.for_each(|_| {});
            timeline
        };
        assert_eq!(timeline.interfaces(0).len(), names.len());
    }
}

#[test]
fn a_selection_is_saved() {
    let folder = Folder::new();
    let to = folder.file("some.pcapng", b"");
    let report = |args: &[&str]| -> Value {
        serde_json::from_str(&Ran::of(&mut rocetop(&[&["analyze", "--json"], args].concat())).out).unwrap()
    };
    let packets = |report: &Value| -> u64 {
        report["flows"].as_array().unwrap().iter().map(|f| f["packets"].as_u64().unwrap()).sum()
    };
    for args in [&["--flow", "2"][..], &["--flow", "3"], &["--qpn", "32"], &["--host", "10.9.1.1"]] {
        write(&to, &[args, &[LOSS]].concat());
        let (chosen, saved) = (report(&[args, &[LOSS]].concat()), report(&[&to]));
        assert_eq!(packets(&chosen), frames(&[&to]).len() as u64, "{args:?}");
        // What was saved tells the same story.
        let stories = |r: &Value| -> Vec<Value> {
            r["flows"].as_array().unwrap().iter().map(|f| f["story"]["retransmissions"].clone()).collect()
        };
        assert_eq!(stories(&chosen), stories(&saved), "{args:?}");
    }
    assert_eq!(write(&to, &["--qpn", "99", LOSS]), "0 frames, 0 of them with comments");
    assert_eq!(frames(&[&to]), []);
    if cfg!(feature = "libpcap") {
        write(&to, &["-f", "src host 10.9.1.1", LOSS]);
        let sent = frames(&[&to]);
        assert!(sent.iter().all(|(.., bytes)| bytes[26..30] == [10, 9, 1, 1]) && sent.len() > 500);
    }
}

#[test]
fn a_capture_that_is_cut_is_saved_as_far_as_it_goes() {
    let folder = Folder::new();
    let to = folder.file("all.pcapng", b"");
    let whole = std::fs::read(home(LOSS)).unwrap();
    let cut = folder.file("cut.pcap", &whole[..whole.len() - 10]);
    let ran = Ran::of(&mut rocetop(&["analyze", "--write", &to, &cut]));
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(frames(&[&to]).len(), 777);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let folder = Folder::new();
    let input = folder.file("input.pcap", &std::fs::read(home(LOSS)).unwrap());
    let link = format!("{input}.pcapng");
    std::fs::hard_link(&input, &link).unwrap();
    let missing = format!("{input}.no/x.pcapng");
    let new = format!("{input}.new.pcapng");
    for (args, why) in [
        (&["--write", &new, "-"][..], "standard input can be read only once: save it to a file first"),
        (&["--write", &input, &input], "input.pcap is the capture "),
        (&["--write", &link, LOSS, &input], "--write needs another file"),
        (&["--write", "-", &input], "standard output has the report"),
        (&["--write", "/dev/stdout", &input], "standard output has the report"),
        (&["--write", &missing, &input], "cannot write "),
        (&["--write", &new, "missing.pcap"], "no such file"),
        (&["--write", &new, "--taps", &input, LOSS], "cannot be used with"),
    ] {
        let ran = Ran::of(&mut rocetop(&[&["analyze"], args].concat()));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.err.contains(why), "{args:?}: {}", ran.err);
    }
    assert_eq!(frames(&[&input]).len(), 778);
    assert!(!Path::new(&new).exists());
}

/// Wireshark's own reader sees what is said about which frames, and has nothing to complain about.
#[test]
fn tshark_sees_the_comments() {
    let there = Command::new("tshark").arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        eprintln!("left out: no tshark here");
        return;
    }
    let folder = Folder::new();
    let to = folder.file("all.pcapng", b"");
    let said = write(&to, &[LOSS]);
    let tshark = |args: &[&str]| {
        let ran = Ran::of(Command::new("tshark").args(["-r", &to]).args(args));
        let complaints: Vec<&str> = ran.err.lines().filter(|l| !l.starts_with("Running as user")).collect();
        assert_eq!((ran.code, complaints), (Some(0), Vec::new()));
        ran.out
    };
    let fields =
        ["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=|", "-e", "frame.number", "-e", "frame.comment"];
    let seen = tshark(&[&["-Y", "frame.comment"], &fields[..]].concat());
    assert!(said.ends_with(&format!(" frames, {} of them with comments", seen.lines().count())), "{said}");
    let report = Ran::of(&mut rocetop(&["analyze", "--json", LOSS])).out;
    let report: Value = serde_json::from_str(&report).unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        for frame in finding["frames"].as_array().unwrap() {
            let line = seen.lines().find(|l| l.split('\t').next() == Some(&frame.to_string())).unwrap();
            let [code, severity, title] = ["code", "severity", "title"].map(|f| finding[f].as_str().unwrap());
            assert!(line.contains(&format!("{code} {severity}: {title}")), "{line}");
        }
    }
    assert!(
        seen.contains("|#1 -> 10.9.2.1 qp 32: lost or late behind the tap; sent again after a NAK (PSN "),
        "{seen}"
    );
    assert_eq!(tshark(&["-T", "fields", "-e", "frame.number"]).lines().count(), 778);
}

#[test]
fn an_early_failure_leaves_no_file() {
    let folder = Folder::new();
    let there = folder.file("there.pcapng", b"");
    let new = there.replace("there", "new");
    for to in [&there, &new] {
        assert_eq!(Ran::of(&mut rocetop(&["analyze", "--write", to, "--flow", "99", LOSS])).code, Some(2));
    }
    // What somebody else made is not taken away.
    assert!(Path::new(&there).exists() && !Path::new(&new).exists());
}
