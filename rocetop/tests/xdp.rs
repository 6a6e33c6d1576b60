//! `rocetop live` through the kernel programs, between two network namespaces.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a helper of tests fails like a test")]

#[path = "kit/binary.rs"]
mod binary;
#[path = "kit/captures.rs"]
mod captures;
#[path = "kit/folder.rs"]
mod folder;
#[path = "kernel/frames.rs"]
mod frames;
#[path = "kit/net.rs"]
mod net;
#[path = "kit/watch.rs"]
mod watch;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use binary::{Ran, rocetop};
use folder::Folder;
use net::{Cable, FAR};
use rocetop::source::Timeline;
use rocetop_parsers::abi::Flow;
use rocetop_parsers::{Bytes, Link, Nanos, dissect};
use serde_json::Value;
use watch::Watch;

/// Native and generic XDP, TCX and clsact.
const MODES: [(&str, &str); 4] = [("native", "tcx"), ("generic", "tcx"), ("native", "clsact"), ("generic", "clsact")];

fn read(path: &Path) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    Timeline::open(&[path]).unwrap().for_each(|frame| frames.push(frame.bytes.to_vec()));
    frames
}

/// Watches the far end through the kernel programs; `None` where this system does not let us.
fn live(cable: &Cable, args: &[&str]) -> Watch {
    let all = [&["live", "-i", FAR, "--json", "--source", "xdp"], args].concat();
    Watch::start(&mut cable.at_far_end(&rocetop(&all)))
}

fn analyzed(path: &Path) -> Value {
    serde_json::from_str(&Ran::of(&mut rocetop(&["analyze", "--json", path.to_str().unwrap()])).out).unwrap()
}

/// Sums that kernel and engine must agree on, over all lives of a queue pair number.
fn sums(report: &Value) -> BTreeMap<String, Vec<u64>> {
    const FIGURES: [&str; 15] = [
        "/packets",
        "/bytes",
        "/requests/packets",
        "/requests/gaps",
        "/requests/gap_psns",
        "/requests/behind",
        "/responses/packets",
        "/acks",
        "/naks/psn_sequence_error",
        "/naks/invalid_request",
        "/naks/remote_access_error",
        "/naks/remote_operational_error",
        "/rnr_naks",
        "/cnps",
        "/ce",
    ];
    let mut all = BTreeMap::new();
    for flow in report["flows"].as_array().unwrap() {
        let sum: &mut Vec<u64> =
            all.entry(format!("{} {} {}", flow["src"], flow["dst"], flow["dst_qp"])).or_insert_with(|| vec![0; 15]);
        for (sum, figure) in sum.iter_mut().zip(FIGURES) {
            *sum += flow.pointer(figure).and_then(Value::as_u64).unwrap();
        }
    }
    all
}

#[test]
fn captures_replayed_in_all_modes_count_the_same() {
    let Some(cable) = Cable::new() else { return };
    // IPv6, VLANs, losses, every operation, marks and notifications.
    let names = [
        "13c_ipv6_rping.e1.pcap",
        "14a_vlan_dscp.e2.pcapng",
        "07e_send_loss2pct_q4.e2.pcap",
        "05b_allops.e1.pcap",
        "05c_psnwrap.e1.pcap",
        "09a_netem_ecn.e2.pcap",
        "10a_rnr.e1.pcap",
    ];
    let all: Vec<_> = names.map(|name| captures::home().join(name)).into_iter().collect();
    for (xdp, tc) in MODES {
        for counters in [&[][..], &["--counters"]] {
            for path in &all {
                let sent = read(path);
                let watch = live(&cable, &[&["--xdp-mode", xdp, "--tc-mode", tc], counters].concat());
                // Half of it the other way: what is sent is seen by TC.
                let (there, back) = sent.split_at(sent.len() / 2);
                cable.send(there);
                cable.send_back(back);
                let watched = watch.interrupt();
                assert_eq!(watched.code, Some(0), "{watched:?}");
                let (_, report) = watched.json();
                let (capture, right) = (&report["captures"][0], analyzed(path));
                let what = format!("{xdp} {tc} {counters:?} {}", path.display());
                let name = |mode| if mode == "tcx" { "TCX" } else { "clsact" };
                assert_eq!(capture["watched"]["mode"], format!("{xdp} XDP, {}", name(tc)), "{what}");
                assert_eq!(
                    (&capture["watched"]["drops"], &capture["watched"]["fidelity"]),
                    (&0.into(), &"exact".into())
                );
                assert_eq!(capture["frames"].as_u64(), Some(sent.len() as u64), "{what}: {watched:?}");
                for key in ["frames", "bytes", "roce_frames", "other_frames", "cnp", "ecn", "opcodes"] {
                    assert_eq!(report["totals"][key], right["totals"][key], "{what}: {key}");
                }
                assert_eq!(report["findings"].is_null(), !counters.is_empty(), "{what}");
                if counters.is_empty() {
                    assert_eq!(sums(&report), sums(&right), "{what}");
                }
            }
        }
        println!("{xdp} XDP, {tc}: {} of {} captures count the same, by headers and by counters", all.len(), all.len());
    }
}

#[test]
fn counters_of_every_capture_are_those_of_its_packets() {
    let Some(cable) = Cable::new() else { return };
    let mut same = 0;
    for path in captures::captures(&captures::home()) {
        let sent = read(&path);
        let right = sums(&analyzed(&path));
        for back in [false, true] {
            let watch = live(&cable, &["--counters"]);
            if back {
                cable.send_back(&sent)
            } else {
                cable.send(&sent)
            }
            let (_, report) = watch.interrupt().json();
            assert_eq!(report["captures"][0]["frames"].as_u64(), Some(sent.len() as u64), "{}", path.display());
            let flows = sums(&report);
            // The engine leaves out what bears a bad ICRC, and what a mirror copied; the kernel can do neither.
            let apart = ["08d_corrupt", "icrc", "mirror", "erspan"].iter().any(|n| path.to_string_lossy().contains(n));
            if !apart {
                assert_eq!(flows, right, "{} back {back}", path.display());
                same += 1;
            }
            for flow in report["flows"].as_array().unwrap() {
                for figure in ["/requests/seen_again", "/requests/never_seen", "/requests/filled", "/story", "/ttl"] {
                    assert!(flow.pointer(figure).unwrap().is_null(), "{figure} is no figure of the kernel's");
                }
            }
        }
    }
    println!("{same} replays count the same by counters, received and sent");
}

/// A million packets over a thousand flows, in order but for a gap and a repeat here and there.
fn million() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for n in 0..1000u32 {
        for flow in 0..1000u32 {
            let skipped = if n > 500 { flow % 5 } else { 0 };
            let again = if n % 100 == 99 && flow % 3 == 0 { 2 } else { 0 };
            frames.push(frames::ipv4(0x07, 1000 + flow, n + skipped - again, 0));
        }
    }
    frames
}

#[test]
fn a_million_packets_over_a_thousand_flows_none_missed_none_invented() {
    let Some(cable) = Cable::new() else { return };
    let sent = million();
    let mut right: BTreeMap<u64, Flow> = BTreeMap::new();
    for frame in &sent {
        let facts = dissect::<0, _>(&frame[..], Link::Ethernet).unwrap();
        let flow = right.entry(u64::from(facts.dst_qp.0)).or_default();
        flow.fold(&facts, facts.opcode.traits(), Bytes(frame.len() as u64), Nanos(1));
    }
    let gaps: u64 = right.values().map(|flow| u64::from(flow.counters.gaps)).sum();
    let behind: u64 = right.values().map(|flow| flow.counters.behind).sum();
    for (xdp, tc) in MODES {
        // What is received and what is sent, one after the other.
        for back in [false, true] {
            let watch = live(&cable, &["--counters", "--xdp-mode", xdp, "--tc-mode", tc]);
            let start = std::time::Instant::now();
            if back {
                cable.send_back(&sent)
            } else {
                cable.send(&sent)
            }
            let took = start.elapsed();
            let (_, report) = watch.interrupt().json();
            let flows = report["flows"].as_array().unwrap();
            assert_eq!(flows.len(), 1000);
            for flow in flows {
                let there = &right[&flow["dst_qp"].as_u64().unwrap()].counters;
                let figure = |pointer: &str| flow.pointer(pointer).and_then(Value::as_u64).unwrap();
                let here = (figure("/packets"), figure("/requests/gaps"), figure("/requests/gap_psns"));
                let wanted = (there.tally.packets, u64::from(there.gaps), there.gap_psns);
                assert_eq!((here, figure("/requests/behind")), (wanted, there.behind), "{xdp} {tc} {flow}");
            }
            assert_eq!(report["totals"]["roce_frames"].as_u64(), Some(1_000_000));
            println!(
                "{xdp} XDP, {tc}, {}: 1,000,000 of 1,000,000 packets, {gaps} gaps, {behind} behind, sent in {:.1} s",
                if back { "sent" } else { "received" },
                took.as_secs_f64()
            );
        }
    }
}

#[test]
fn jumbo_frames_are_read_natively_where_the_mtu_is_9000() {
    let Some(cable) = Cable::new() else { return };
    let sent: Vec<_> = (0..100).map(|psn| frames::ipv4(0x07, 77, psn, 4096)).collect();
    for args in [&[][..], &["--counters"]] {
        let watch = live(&cable, args);
        cable.send(&sent);
        cable.send_back(&sent);
        let (_, report) = watch.interrupt().json();
        assert_eq!(report["captures"][0]["watched"]["mode"], "native XDP, TCX");
        let bytes = 2 * sent.iter().map(|frame| frame.len() as u64).sum::<u64>();
        assert_eq!(report["totals"]["bytes"].as_u64(), Some(bytes), "{args:?}");
        assert_eq!(report["totals"]["roce_frames"].as_u64(), Some(200), "{args:?}");
    }
}

#[test]
fn what_is_written_is_cut_with_its_true_length() {
    let Some(cable) = Cable::new() else { return };
    let dir = Folder::new();
    let path = dir.file("headers.pcapng", b"");
    let sent: Vec<_> = (0..50).map(|psn| frames::ipv4(0x07, 77, psn, 1024)).collect();
    let watch = live(&cable, &["--write", &path]);
    cable.send(&sent);
    let (_, report) = watch.interrupt().json();
    let mut seen = Vec::new();
    Timeline::open(&[Path::new(&path)]).unwrap().for_each(|f| seen.push((f.wire_len as usize, f.bytes.to_vec())));
    let right: Vec<_> = sent.iter().map(|frame| (frame.len(), frame[..128].to_vec())).collect();
    assert_eq!(seen, right);
    let again = analyzed(Path::new(&path));
    assert_eq!((&report["flows"], &report["findings"]), (&again["flows"], &again["findings"]));
}

#[test]
fn an_interface_that_is_removed_ends_it_with_all_that_was_counted() {
    for args in [&[][..], &["--counters"]] {
        let Some(cable) = Cable::new() else { return };
        let sent = read(&captures::home().join("01c_write_rc_small.e1.pcap"));
        let watch = live(&cable, args);
        cable.send(&sent);
        std::thread::sleep(Duration::from_millis(200));
        cable.link(&format!("del {FAR}"));
        let watched = watch.end();
        assert_eq!(watched.code, Some(3), "{watched:?}");
        assert!(watched.err.contains("far: it was removed while it was watched"), "{watched:?}");
        assert_eq!(watched.json().1["totals"]["frames"].as_u64(), Some(sent.len() as u64));
    }
}

#[test]
fn a_ring_that_overflows_is_counted_and_nothing_else_is_lost() {
    let Some(cable) = Cable::new() else { return };
    // More headers than the ring has room for, while nobody reads them.
    let sent: Vec<_> = (0..300_000).map(|psn| frames::ipv4(0x07, 77, psn, 0)).collect();
    let watch = live(&cable, &[]);
    watch.signal("STOP");
    cable.send(&sent);
    watch.signal("CONT");
    std::thread::sleep(Duration::from_millis(500));
    let (_, report) = watch.interrupt().json();
    let watched = &report["captures"][0]["watched"];
    let (drops, seen) = (watched["drops"].as_u64().unwrap(), report["totals"]["roce_frames"].as_u64().unwrap());
    assert!(drops > 0 && seen > 0, "{watched}");
    assert_eq!((drops + seen, &watched["fidelity"]), (300_000, &"sampled".into()));
    // The same flood where flows are counted: rare frames may be dropped on their way here, and no sum changes.
    let naks: Vec<_> =
        (0..300_000).map(|psn| [&frames::ipv4(0x11, 9, psn, 4)[..54], &[0x60, 0, 0, 7], &[0; 4]].concat()).collect();
    let watch = live(&cable, &["--counters"]);
    watch.signal("STOP");
    cable.send(&naks);
    watch.signal("CONT");
    let (_, report) = watch.interrupt().json();
    assert!(report["captures"][0]["watched"]["unshown"].as_u64().unwrap() > 0, "{}", report["captures"][0]);
    assert_eq!(report["flows"][0]["naks"]["psn_sequence_error"].as_u64(), Some(300_000));
    println!("ring overflow: {drops} of 300,000 headers dropped and counted; 300,000 of 300,000 NAKs counted exactly");
}

#[test]
fn a_table_that_is_full_is_counted() {
    let Some(cable) = Cable::new() else { return };
    // A million flows of a packet each.
    let sent: Vec<_> = (0..1_000_000).map(|qp| frames::ipv4(0x04, qp, 5, 0)).collect();
    let watch = live(&cable, &["--counters"]);
    cable.send(&sent);
    let (_, report) = watch.interrupt().json();
    let watched = &report["captures"][0]["watched"];
    let listed: u64 = report["flows"].as_array().unwrap().iter().map(|flow| flow["packets"].as_u64().unwrap()).sum();
    let unlisted = watched["unlisted"].as_u64().unwrap();
    // All places, and what found them taken in the other table; more where silent flows made room meanwhile.
    assert!(listed + unlisted == 1_000_000 && listed >= 131_072, "{listed}: {watched}");
    assert_eq!((watched["drops"].as_u64(), &watched["fidelity"]), (Some(unlisted), &"sampled".into()));
    assert_eq!(report["totals"]["roce_frames"].as_u64(), Some(1_000_000));
    println!("a million flows: {listed} listed, {unlisted} packets without one, all 1,000,000 in the sums");
}

/// What hangs in the far end: lines of `ip` and `tc` that name a program.
fn hanging(cable: &Cable) -> Vec<String> {
    let line = format!("ip -d link show {FAR}; tc filter show dev {FAR} egress; tc qdisc show dev {FAR}");
    let mut command = Command::new("sh");
    command.args(["-c", &line]);
    let output = cable.at_far_end(&command).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|l| l.contains("rocetop") || l.contains("prog/xdp")).map(|l| l.trim().to_owned()).collect()
}

#[test]
fn nothing_stays_attached_however_it_ends() {
    let Some(cable) = Cable::new() else { return };
    for signal in ["INT", "TERM", "KILL"] {
        let watch = live(&cable, &[]);
        assert!(hanging(&cable).iter().any(|line| line.contains("prog/xdp")), "{:?}", hanging(&cable));
        watch.signal(signal);
        let watched = watch.end();
        assert_eq!(watched.code, if signal == "KILL" { None } else { Some(0) });
        // The kernel takes links away when the last descriptor is closed, a moment later.
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(hanging(&cable), [""; 0], "after SIG{signal}");
    }
    for signal in ["INT", "TERM"] {
        let watch = live(&cable, &["--tc-mode", "clsact"]);
        assert!(hanging(&cable).iter().any(|line| line.contains("rocetop_out")), "{:?}", hanging(&cable));
        watch.signal(signal);
        assert_eq!(watch.end().code, Some(0));
        assert_eq!(hanging(&cable), [""; 0], "clsact after SIG{signal}");
    }
    // A filter outlives its process, and the next start takes it away.
    let watch = live(&cable, &["--tc-mode", "clsact"]);
    watch.signal("KILL");
    watch.end();
    assert!(hanging(&cable).iter().any(|line| line.contains("rocetop_out")), "{:?}", hanging(&cable));
    let watched = live(&cable, &[]).interrupt();
    assert!(watched.err.contains("a filter was removed that a killed rocetop had left behind"), "{watched:?}");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(hanging(&cable), [""; 0]);
}

#[test]
fn two_at_once() {
    let Some(cable) = Cable::new() else { return };
    let sent = read(&captures::home().join("01c_write_rc_small.e1.pcap"));
    let first = live(&cable, &["--counters"]);
    // Forced, the second says what is in the way; left alone, it takes what there is, and says so.
    let forced = Ran::of(&mut cable.at_far_end(&rocetop(&["live", "-i", FAR, "--source", "xdp"])));
    assert_eq!(forced.code, Some(2), "{forced:?}");
    assert!(forced.err.contains("another XDP program hangs in far already"), "{forced:?}");
    let second = Watch::start(&mut cable.at_far_end(&rocetop(&["live", "-i", FAR, "--json"])));
    cable.send(&sent);
    let second = second.interrupt();
    assert!(second.err.contains("not xdp: cannot watch far: native XDP: another XDP program"), "{second:?}");
    assert_eq!(second.json().1["totals"]["frames"].as_u64(), Some(sent.len() as u64), "{second:?}");
    let first = first.interrupt();
    assert_eq!(first.json().1["totals"]["frames"].as_u64(), Some(sent.len() as u64), "{first:?}");
}

#[test]
fn a_loopback_counts_once() {
    let Some(cable) = Cable::new() else { return };
    cable.link("set lo up");
    let args = ["live", "-i", "lo", "--json", "--source", "xdp", "--counters"];
    let watch = Watch::start(&mut cable.at_far_end(&rocetop(&args)));
    let mut ping = Command::new("bash");
    ping.args(["-c", "echo hello > /dev/udp/127.0.0.1/9"]);
    assert!(cable.at_far_end(&ping).status().unwrap().success());
    let watched = watch.interrupt();
    assert!(watched.err.contains("lo gives back what it is sent"), "{watched:?}");
    // The datagram and the answer that nobody is there.
    assert_eq!(watched.json().1["totals"]["frames"].as_u64(), Some(2), "{watched:?}");
}

#[test]
fn only_what_is_needed_is_kept() {
    let Some(cable) = Cable::new() else { return };
    let watch = live(&cable, &[]);
    std::thread::sleep(Duration::from_millis(300));
    for task in std::fs::read_dir(format!("/proc/{}/task", watch.id())).unwrap() {
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let field = |name: &str| status.lines().find_map(|l| l.strip_prefix(name)).unwrap().trim().to_owned();
        // CAP_NET_ADMIN (12), CAP_PERFMON (38) and CAP_BPF (39), capability.h.
        let kept = format!("{:016x}", 1u64 << 12 | 1 << 38 | 1 << 39);
        assert_eq!((field("CapPrm:"), field("CapEff:"), field("CapBnd:")), (kept.clone(), kept.clone(), kept));
        assert_eq!((field("CapInh:"), field("CapAmb:")), ("0".repeat(16), "0".repeat(16)));
    }
    assert_eq!(watch.interrupt().code, Some(0));
}

#[test]
fn what_is_in_the_way_is_named() {
    let Some(cable) = Cable::new() else { return };
    let says = |args: &[&str]| {
        let ran = Ran::of(&mut cable.at_far_end(&rocetop(&[&["live"], args].concat())));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
        ran.err
    };
    cable.link("add idle type veth peer name idle0");
    assert!(says(&["-i", "idle", "--source", "xdp"]).contains("idle is down: bring it up with `ip link set idle up`"));
    assert!(says(&["-i", FAR, "--source", "xdp", "--snaplen", "96"]).contains("it keeps 128 bytes"));
    assert!(says(&["-i", FAR, "--source", "raw", "--counters"]).contains("are for --source xdp"));
    cable.link("set lo up");
    assert!(says(&["-i", "lo", "--source", "xdp", "--xdp-mode", "native"]).contains("the driver of lo has none"));
}

#[test]
fn a_missing_permission_is_named_with_all_that_are_needed() {
    use std::os::unix::process::CommandExt;
    let Some(_root) = Cable::new() else { return };
    let dir = Folder::new();
    let program = dir.file("rocetop", &std::fs::read(env!("CARGO_BIN_EXE_rocetop")).unwrap());
    assert!(Command::new("chmod").args(["755", &program]).status().unwrap().success());
    let args = ["live", "-i", "lo", "--source", "xdp"];
    let ran = Ran::of(Command::new(&program).args(args).current_dir("/").uid(65_534).gid(65_534));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let right = format!("`sudo setcap cap_bpf,cap_net_admin,cap_perfmon+ep {program}`\n");
    assert!(ran.err.contains("needs the capability CAP_BPF") && ran.err.ends_with(&right), "{ran:?}");
}
