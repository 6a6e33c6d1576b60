//! `rocetop live` between two network namespaces: what it counts is what `analyze` counts of the same frames.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a helper of tests fails like a test")]

#[path = "kit/binary.rs"]
mod binary;
#[path = "kit/captures.rs"]
mod captures;
#[path = "kit/folder.rs"]
mod folder;
#[path = "kit/net.rs"]
mod net;
#[path = "kit/watch.rs"]
mod watch;

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use binary::{Ran, rocetop};
use folder::Folder;
use net::{Cable, FAR};
use rocetop::source::Timeline;
use serde_json::Value;
use watch::Watch;

/// Sources that are built in.
const SOURCES: &[&str] = if cfg!(feature = "libpcap") { &["libpcap", "raw"] } else { &["raw"] };

/// What could only end with nothing is refused before anything is opened.
#[test]
fn what_could_not_be_saved_or_watched_is_refused() {
    let folder = Folder::new();
    let path = folder.file("counted.pcapng", b"kept");
    for (args, words) in [
        (&["live", "-i", ""][..], "the name of an interface is wanted; this is empty"),
        (&["live", "--counters", "--write", &path], "--counters alone sees none: add --sample N"),
    ] {
        let ran = Ran::of(&mut rocetop(args));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.err.contains(words), "{args:?}: {}", ran.err);
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"kept");
}

/// The frames of a capture.
fn frames(path: &Path) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    Timeline::open(&[path]).unwrap().for_each(|frame| {
        assert_eq!(frame.bytes.len(), frame.wire_len as usize, "{}: cut", path.display());
        frames.push(frame.bytes.to_vec());
    });
    frames
}

fn live(cable: &Cable, args: &[&str]) -> Watch {
    Watch::start(&mut cable.at_far_end(&rocetop(&[&["live", "-i", FAR, "--json"], args].concat())))
}

/// Counts of a report that do not depend on when frames came.
fn counts(report: &Value) -> (Value, BTreeMap<String, Value>) {
    let mut totals = report["totals"].clone();
    let flows = report["flows"].as_array().unwrap().iter().map(|flow| {
        let name = format!("{} {} {} {}", flow["src"], flow["dst"], flow["dst_qp"], flow["epoch"]);
        let keys =
            ["packets", "bytes", "requests", "responses", "acks", "naks", "rnr_naks", "cnps", "ce", "vlan", "icrc_bad"];
        (name, keys.iter().map(|key| (*key).to_owned()).zip(keys.iter().map(|key| flow[key].clone())).collect())
    });
    for key in ["rate", "message_ns"] {
        totals.as_object_mut().unwrap().remove(key);
    }
    (totals, flows.collect())
}

fn analyzed(path: &Path) -> Value {
    let ran = Ran::of(&mut rocetop(&["analyze", "--json", path.to_str().unwrap()]));
    serde_json::from_str(&ran.out).unwrap()
}

fn assert_seen(report: &Value, source: &str, frames: usize, what: &dyn std::fmt::Debug) {
    let capture = &report["captures"][0];
    assert_eq!(capture["frames"].as_u64(), Some(frames as u64), "{source} {what:?}");
    let watched = serde_json::json!({"source": source, "drops": 0, "fidelity": "exact"});
    assert_eq!((&capture["path"], &capture["watched"]), (&Value::from(FAR), &watched), "{what:?}");
}

#[test]
fn every_capture_replayed_at_full_speed_counts_the_same() {
    let Some(cable) = Cable::new() else { return };
    let all = captures::captures(&captures::home());
    for source in SOURCES {
        for path in &all {
            let sent = frames(path);
            let watch = live(&cable, &["--source", source]);
            cable.send(&sent);
            let watched = watch.interrupt();
            assert_eq!(watched.code, Some(0), "{path:?} {watched:?}");
            let (seconds, report) = watched.json();
            assert_seen(&report, source, sent.len(), path);
            assert_eq!(counts(&report), counts(&analyzed(path)), "{source} {}", path.display());
            let sum = |key: &str| seconds.iter().filter_map(|second| second[key].as_u64()).sum::<u64>();
            let flows = report["flows"].as_array().unwrap();
            let of = |pointers: &[&str]| -> u64 {
                let one = |flow: &Value| pointers.iter().filter_map(|p| flow.pointer(p)?.as_u64()).sum::<u64>();
                flows.iter().map(one).sum()
            };
            let naks =
                ["psn_sequence_error", "invalid_request", "remote_access_error", "remote_operational_error", "other"]
                    .map(|code| format!("/naks/{code}"));
            let right = [
                ("frames", sent.len() as u64),
                ("cnp", report["totals"]["cnp"].as_u64().unwrap()),
                ("ce", report["totals"]["ecn"]["ce"].as_u64().unwrap()),
                ("naks", of(&naks.each_ref().map(String::as_str))),
                ("rnr_naks", of(&["/rnr_naks"])),
                ("seen_again", of(&["/requests/seen_again", "/responses/seen_again"])),
                ("gaps", of(&["/requests/gaps", "/responses/gaps"])),
            ];
            assert_eq!(right.map(|(key, _)| (key, sum(key))), right, "{source} {}", path.display());
            assert_eq!(sum("new_connections") > 0, report["connections"].as_array().is_some_and(|c| !c.is_empty()));
        }
        println!("{source}: {} of {} captures count the same live", all.len(), all.len());
    }
}

/// A frame of that many bytes; RoCE of a whole 4096-byte packet where it is one.
fn jumbo(len: usize, psn: u8) -> Vec<u8> {
    let udp_port = if len == 4096 + 58 { 4791 } else { 9 };
    let mut payload = vec![4, 0x40, 0xff, 0xff, 0, 0, 0, 17, 0x80, 0, 0, psn];
    payload.resize(len - 42, 7);
    let builder = etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let mut frame = Vec::new();
    builder.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(50_000, udp_port).write(&mut frame, &payload).unwrap();
    frame
}

#[test]
fn jumbo_frames_and_both_directions_once_each() {
    let Some(cable) = Cable::new() else { return };
    let sent = [jumbo(4096 + 58, 1), jumbo(9014, 2), jumbo(4096 + 58, 2)];
    let back = [jumbo(4096 + 58, 3)];
    for source in SOURCES {
        let watch = live(&cable, &["--source", source]);
        cable.send(&sent);
        cable.send_back(&back);
        let (_, report) = watch.interrupt().json();
        assert_seen(&report, source, 4, &"jumbo");
        assert_eq!(report["totals"]["bytes"].as_u64(), Some(3 * 4154 + 9014));
        assert_eq!(report["totals"]["other_frames"].as_u64(), Some(1));
    }
}

#[test]
fn a_frame_over_the_loopback_counts_once() {
    let Some(cable) = Cable::new() else { return };
    cable.link("set lo up");
    for source in SOURCES {
        let args = ["live", "-i", "lo", "--json", "--source", source];
        let watch = Watch::start(&mut cable.at_far_end(&rocetop(&args)));
        let mut ping = Command::new("bash");
        ping.args(["-c", "echo hello > /dev/udp/127.0.0.1/9"]);
        assert!(cable.at_far_end(&ping).status().unwrap().success());
        let (_, report) = watch.interrupt().json();
        // The datagram and the answer that nobody is there.
        assert_eq!(report["totals"]["frames"].as_u64(), Some(2), "{source}: {report}");
    }
}

#[test]
fn what_is_written_is_what_was_sent() {
    let Some(cable) = Cable::new() else { return };
    let dir = Folder::new();
    for (source, capture) in
        SOURCES.iter().flat_map(|s| ["14a_vlan_dscp.e2.pcapng", "13c_ipv6_rping.e1.pcap"].map(|c| (s, c)))
    {
        let sent = frames(&captures::home().join(capture));
        let path = PathBuf::from(dir.file(&format!("{source}.pcapng"), b""));
        let watch = live(&cable, &["--source", source, "--write", path.to_str().unwrap()]);
        cable.send(&sent);
        let watched = watch.interrupt();
        assert!(watched.err.contains(&format!("{}: {} frames\n", path.display(), sent.len())), "{watched:?}");
        assert_eq!(frames(&path), sent, "{source} {capture}");
        let (_, report) = watched.json();
        let again = analyzed(&path);
        // The same stamps too, so all of it is the same.
        assert_eq!(
            (&report["flows"], &report["findings"]),
            (&again["flows"], &again["findings"]),
            "{source} {capture}"
        );
        let tshark =
            Command::new("tshark").args(["-r", path.to_str().unwrap(), "-T", "fields", "-e", "frame.len"]).output();
        match tshark {
            Ok(output) => {
                let lens: Vec<usize> =
                    String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect();
                assert_eq!(lens, sent.iter().map(Vec::len).collect::<Vec<_>>());
            }
            Err(error) => println!("not read by tshark: {error}"),
        }
    }
}

#[test]
fn a_filter_and_a_snap_length() {
    let Some(cable) = Cable::new() else { return };
    let sent = frames(&captures::home().join("07e_send_loss2pct_q4.e1.pcap"));
    for source in SOURCES.iter().filter(|_| cfg!(feature = "libpcap")) {
        let watch = live(&cable, &["--source", source, "--snaplen", "96", "-f", "src host 10.9.1.1"]);
        cable.send(&sent);
        let (_, report) = watch.interrupt().json();
        let from = sent.iter().filter(|frame| frame[26..30] == [10, 9, 1, 1]);
        let (count, bytes) = from.fold((0, 0), |(count, bytes), frame| (count + 1, bytes + frame.len() as u64));
        assert_eq!(report["totals"]["bytes"].as_u64(), Some(bytes), "{source}");
        assert_seen(&report, source, count, &"filter");
        assert!(report["totals"]["icrc"]["unknown"].as_u64().unwrap() > 0);
    }
}

#[test]
fn what_there_is_no_room_for_is_counted() {
    let Some(cable) = Cable::new() else { return };
    // Three times what the kernel keeps for it.
    let sent: Vec<Vec<u8>> = (0..24_000).map(|n| jumbo(4096 + 58, n as u8)).collect();
    for source in SOURCES {
        let watch = live(&cable, &["--source", source]);
        watch.signal("STOP");
        cable.send(&sent);
        watch.signal("CONT");
        std::thread::sleep(Duration::from_millis(1500));
        let (seconds, report) = watch.interrupt().json();
        let capture = &report["captures"][0];
        let (frames, drops) = (capture["frames"].as_u64().unwrap(), capture["watched"]["drops"].as_u64().unwrap());
        assert!(drops > 0 && frames > 0, "{source}: {capture}");
        assert_eq!(frames + drops, sent.len() as u64, "{source}: {capture}");
        assert_eq!(capture["watched"]["fidelity"], "sampled");
        assert_eq!(seconds.iter().filter_map(|second| second["drops"].as_u64()).sum::<u64>(), drops, "{source}");
    }
}

#[test]
fn the_end_comes_when_it_is_asked_for() {
    let Some(cable) = Cable::new() else { return };
    let start = Instant::now();
    let watched = live(&cable, &["--duration", "1.5"]).end();
    assert!(start.elapsed() >= Duration::from_millis(1500) && start.elapsed() < Duration::from_secs(10));
    assert_eq!((watched.code, watched.json().0.len()), (Some(0), 1));
    let watch = live(&cable, &[]);
    watch.signal("TERM");
    let watched = watch.end();
    assert_eq!((watched.code, watched.json().0.len()), (Some(0), 0));
}

#[test]
fn what_is_not_needed_is_given_up() {
    let Some(cable) = Cable::new() else { return };
    for source in SOURCES {
        let watch = live(&cable, &["--source", source]);
        // The threads start behind the first note.
        std::thread::sleep(Duration::from_millis(300));
        let tasks = std::fs::read_dir(format!("/proc/{}/task", watch.id())).unwrap();
        let status = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).unwrap());
        let status: Vec<String> = status.collect();
        assert!(status.len() >= 2, "{status:?}");
        for task in status {
            let field = |name: &str| task.lines().find_map(|l| l.strip_prefix(name)).unwrap().trim().to_owned();
            for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
                assert_eq!(field(set), "0000000000000000", "{source} {set}");
            }
            assert_eq!(field("NoNewPrivs:"), "1");
        }
        assert_eq!(watch.interrupt().code, Some(0));
    }
}

#[test]
fn an_interface_that_goes_away_ends_it_with_a_report() {
    for source in SOURCES {
        let Some(cable) = Cable::new() else { return };
        let sent = frames(&captures::home().join("01c_write_rc_small.e1.pcap"));
        let watch = live(&cable, &["--source", source]);
        cable.send(&sent);
        std::thread::sleep(Duration::from_millis(200));
        cable.link(&format!("del {FAR}"));
        let watched = watch.end();
        assert_eq!(watched.code, Some(3), "{watched:?}");
        assert!(watched.err.contains("far: it was removed while it was watched"), "{watched:?}");
        let (_, report) = watched.json();
        assert_eq!(report["totals"]["frames"].as_u64(), Some(sent.len() as u64));
        assert_eq!(report["captures"][0]["complete"], false);
    }
}

#[test]
fn an_interface_that_goes_down_is_watched_when_it_comes_back() {
    for source in SOURCES {
        let Some(cable) = Cable::new() else { return };
        let sent = frames(&captures::home().join("11b_invreq.e1.pcap"));
        let watch = live(&cable, &["--source", source]);
        cable.send(&sent);
        std::thread::sleep(Duration::from_millis(100));
        cable.link(&format!("set {FAR} down"));
        std::thread::sleep(Duration::from_millis(700));
        cable.link(&format!("set {FAR} up"));
        cable.settle();
        cable.send(&sent);
        let watched = watch.interrupt();
        assert_eq!(watched.code, Some(0), "{source} {watched:?}");
        assert_seen(&watched.json().1, source, 2 * sent.len(), &"down and up");
    }
}

#[test]
fn two_interfaces_are_one_time_line() {
    let Some(cable) = Cable::new() else { return };
    cable.link("add other type veth peer name end");
    cable.link("set end up");
    cable.link("set other up");
    cable.settle();
    let dir = Folder::new();
    let capture = captures::home().join("01c_write_rc_small.e1.pcap");
    let sent = frames(&capture);
    for source in SOURCES {
        let path = dir.file("two.pcapng", b"");
        let watch = live(&cable, &["-i", "other", "--source", source, "--write", &path]);
        for (place, part) in sent.chunks(40).enumerate() {
            if place % 2 == 0 { cable.send(part) } else { cable.send_by("end", part) }
        }
        let watched = watch.interrupt();
        let (_, report) = watched.json();
        let by = |place: usize| (&report["captures"][place]["path"], report["captures"][place]["frames"].as_u64());
        assert_eq!((by(0), by(1)), ((&Value::from(FAR), Some(400)), (&Value::from("other"), Some(400))), "{watched:?}");
        // In the order of time, though they came on different ways.
        assert_eq!(frames(Path::new(&path)), sent, "{source}");
        assert_eq!(counts(&report).1, counts(&analyzed(&capture)).1, "{source}");
    }
    let watch = live(&cable, &["-i", "other"]);
    cable.link("del other");
    std::thread::sleep(Duration::from_millis(1200));
    cable.send(&sent);
    let watched = watch.interrupt();
    assert_eq!(watched.code, Some(3), "{watched:?}");
    assert!(watched.err.contains("other: it was removed"), "{watched:?}");
    assert_eq!(watched.json().1["totals"]["frames"].as_u64(), Some(sent.len() as u64));
}

#[test]
fn what_cannot_be_watched_is_explained() {
    let Some(cable) = Cable::new() else { return };
    cable.link("add idle type veth peer name idle0");
    let says = |args: &[&str]| {
        let ran = Ran::of(&mut cable.at_far_end(&rocetop(&[&["live"], args].concat())));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
        ran.err
    };
    let unknown = says(&["-i", "fra"]);
    assert!(
        unknown.starts_with("rocetop: no interface is called fra (did you mean far?): there are lo, "),
        "{unknown}"
    );
    assert_eq!(says(&["-i", "idle"]), "rocetop: idle is down: bring it up with `ip link set idle up`\n");
    if cfg!(feature = "libpcap") {
        assert!(says(&["-i", "far", "-f", "hsot 1"]).contains("the filter \"hsot 1\" is not valid"));
    } else {
        assert!(says(&["-i", "far", "--source", "libpcap"]).contains("built without libpcap"));
    }
}

#[test]
fn a_missing_permission_is_named() {
    let Some(_root) = Cable::new() else { return };
    let dir = Folder::new();
    let program = dir.file("rocetop", &std::fs::read(env!("CARGO_BIN_EXE_rocetop")).unwrap());
    assert!(Command::new("chmod").args(["755", &program]).status().unwrap().success());
    // Nobody.
    let ran = Ran::of(Command::new(&program).args(["live", "-i", "lo"]).current_dir("/").uid(65_534).gid(65_534));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let right = format!("`sudo setcap cap_net_raw+ep {program}`\n");
    assert!(ran.err.contains("needs the capability CAP_NET_RAW") && ran.err.ends_with(&right), "{ran:?}");
}
