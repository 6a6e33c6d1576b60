//! What is found in the bundled captures: congestion, consistency, connection setup and patterns (RT020 to RT069). What
//! is not in the table must not be found.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "kit/captures.rs"]
mod captures;

use std::collections::BTreeSet;
use std::path::Path;

use rocetop::run::{self, Options};
use rocetop::source::Timeline;
use rocetop_analysis::engine::exchanges::{ExchangeReport, State};
use rocetop_analysis::report::{FlowReport, FrameRef};
use rocetop_analysis::{Engine, Finding, Ledger, Severity};

fn engine(path: &Path) -> Engine {
    run::run(Timeline::open(&[path]).unwrap(), &Options::default(), |_, _| {}).engine
}

fn bundled(name: &str) -> Engine {
    engine(&captures::home().join(name))
}

/// Beginning of the capture's name, findings of severity warning and above, and information. "Not ECN-capable" (RT027)
/// is said of all that lost something or has a class of its own, so it is left out here.
const FOUND: &[(&str, &[&str], &[&str])] = &[
    ("08d_corrupt.e2", &["RT040"], &[]),
    ("09a_netem_ecn.e2", &["RT020", "RT022"], &[]),
    ("09e_cnp_synthetic.e1", &[], &["RT021"]),
    ("12c_rping_nolistener.e1", &["RT050"], &[]),
    ("18b_netns73shared.e1", &[], &["RT035"]),
];

#[test]
fn every_bundled_capture() {
    let mut known: BTreeSet<&str> = FOUND.iter().map(|(name, ..)| *name).collect();
    for path in captures::captures(&captures::home()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let row = FOUND.iter().find(|(start, ..)| name.starts_with(start));
        let (worse, info) = row.map_or((&[][..], &[][..]), |&(_, worse, info)| (worse, info));
        known.remove(row.map_or("", |(start, ..)| start));
        let engine = engine(&path);
        let findings = Ledger::new(&engine, Vec::new()).findings();
        let codes = |of: fn(Severity) -> bool| -> BTreeSet<&str> {
            let mine = findings.list.iter().filter(|f| f.code >= "RT020" && f.code != "RT027" && of(f.severity));
            mine.map(|f| f.code).collect()
        };
        assert_eq!(codes(|s| s >= Severity::Warning), worse.iter().copied().collect(), "{name}");
        assert_eq!(codes(|s| s == Severity::Info), info.iter().copied().collect(), "{name}");
    }
    assert!(known.is_empty(), "not there: {known:?}");
}

#[test]
fn a_frame_of_each_finding_is_named() {
    let engine = bundled("11b_invreq.e1.pcap");
    let list = Ledger::new(&engine, Vec::new()).findings().list;
    let frames: Vec<_> = list.iter().filter(|f| f.code == "RT008").map(|f| f.frames.clone()).collect();
    assert_eq!(frames, [[FrameRef::Place(2)], [FrameRef::Place(4)]]);
}

/// The first finding of this rule.
fn said(name: &str, code: &str) -> Finding {
    let engine = bundled(name);
    let list = Ledger::new(&engine, Vec::new()).findings().list;
    list.into_iter().find(|f| f.code == code).unwrap()
}

#[test]
fn who_gave_up_and_what_it_cost() {
    // Frames 6, 10, 14, 18 and 22.
    let dead = said("11c_deadpeer.e1.pcap", "RT004");
    let title = "no answer to 5 sendings (4 retries), or the capture ends too soon: 10.9.1.1 -> 10.9.2.1 qp 28";
    assert_eq!(dead.title, title);
    let refused = said("10b_rnr_fail.e1.pcap", "RT007");
    assert!(refused.advice.ends_with(" after 4 RNR NAKs. The capture ends with the last one."), "{}", refused.advice);
    let waits = said("10a_rnr.e1.pcap", "RT005");
    let title = "50 RNR NAKs (timer 2.56 ms), stalled 382 ms, 150 sent again: 10.9.1.1 -> 10.9.2.1 qp 20";
    assert_eq!(waits.title, title);
}

#[test]
fn no_shorter_timeout_is_advised_where_one_ran_out_too_early() {
    let late = said("07c_write_ackloss10pct.e1.pcap.gz", "RT003");
    assert!(late.advice.ends_with(" Do not shorten the timeout: it ran out too early as well (RT011)."), "{late:?}");
    let early = said("07c_write_ackloss10pct.e1.pcap.gz", "RT011");
    assert!(
        early.advice.contains(" If a longer timeout is set, this timer does not follow the setting: "),
        "{early:?}"
    );
}

#[test]
fn what_is_sent_again_belongs_to_what_asked_for_it() {
    let engine = bundled("10a_rnr.e1.pcap");
    let ledger = Ledger::new(&engine, Vec::new());
    let story = ledger.flow(0).unwrap().story.unwrap();
    assert_eq!(story.retransmissions.total, 150);
    assert_eq!(story.episodes.iter().map(|e| e.repeats).sum::<u64>(), 150);
}

#[test]
fn vlan_priority_and_dscp() {
    let engine = bundled("14a_vlan_dscp.e2.pcapng");
    let flows: Vec<FlowReport> = Ledger::new(&engine, Vec::new()).flows().collect();
    assert_eq!(flows.len(), 2);
    for flow in flows {
        assert_eq!((flow.vlan[0].id, flow.vlan[0].pcp, flow.vlan.len()), (100, 3, 1));
        assert_eq!(flow.dscp, [26]);
        assert_eq!(flow.marks, None);
    }
}

fn lives(exchange: &ExchangeReport) -> Vec<(&str, bool)> {
    exchange.messages.iter().map(|m| (m.message.as_str(), m.by_requester)).collect()
}

#[test]
fn life_cycles() {
    let engine = bundled("12a_rping.e1.pcap");
    let ledger = Ledger::new(&engine, Vec::new());
    let all: Vec<_> = ledger.exchanges().collect();
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].state, all[0].service_port), (State::Disconnected, Some(7174)));
    assert_eq!(&lives(&all[0])[..3], [("REQ", true), ("REP", false), ("RTU", true)]);
    let terms = ledger.flows().find(|f| f.transport == "RC").unwrap().cm.unwrap();
    assert_eq!((Some(terms), terms.path_mtu), (all[0].terms, Some(1024)));

    let engine = bundled("12d_udaddy.e1.pcap");
    let all: Vec<_> = Ledger::new(&engine, Vec::new()).exchanges().collect();
    assert!(!all.is_empty() && all.iter().all(|e| e.state == State::Resolved));
    assert_eq!(lives(&all[0]), [("SIDR_REQ", true), ("SIDR_REP", false)]);

    let engine = bundled("12c_rping_nolistener.e1.pcap");
    let all: Vec<_> = Ledger::new(&engine, Vec::new()).exchanges().collect();
    assert_eq!((all[0].state, all[0].reject_code), (State::Rejected, Some(8)));
    assert_eq!(all[0].reject_reason.as_deref(), Some("invalid service id"));
}
