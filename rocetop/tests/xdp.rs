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
use net::{Cable, FAR, NEAR};
use rocetop::source::Timeline;
use rocetop_parsers::abi::Flow;
use rocetop_parsers::{Bytes, Link, Nanos, dissect};
use serde_json::Value;
use watch::Watch;

/// Native and generic XDP, TCX and clsact.
const MODES: [(&str, &str); 4] =
    [("native", "tcx"), ("generic", "tcx"), ("native", "clsact"), ("generic", "clsact")];

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
                assert_eq!((&capture["watched"]["drops"], &capture["watched"]["fidelity"]), (&0.into(), &"exact".into()));
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
