//! DSCP, VLAN, TTL, foreign traffic, damage, source ports.

use rocetop_analysis::Severity;
use rocetop_analysis::detect::Value;
use rocetop_analysis::report::FrameRef;
use rocetop_parsers::facts::{Class, Flags};
use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Bytes, Facts};

use crate::kit::{ACK, CNP, SEND_ONLY, Tap, WRITE_ONLY, Way, connection, way};

/// DSCP 26 and ECT(0), as in `NCCL_IB_TC=106`.
const TOS: u8 = 106;

fn sent(way: Way, opcode: u8, psn: u32, tos: u8) -> Facts {
    Facts { tos, ..Tap::facts(way, opcode, psn) }
}

/// `n` WRITEs with one TOS, ACKs with another.
fn writes(tap: &mut Tap, n: u32, tos: u8, back_tos: u8) -> (Way, Way) {
    let (there, back) = connection();
    for i in 0..n {
        tap.facts_at(there, sent(there, WRITE_ONLY, 1000 + i, tos));
        tap.facts_at(back, Facts { payload: 0, ..sent(back, ACK, 1000 + i, back_tos) });
    }
    (there, back)
}

#[test]
fn acks_in_another_class_are_information() {
    let mut tap = Tap::default();
    writes(&mut tap, 20, TOS, 0);
    let seen = tap.finish();
    assert_eq!(seen.codes(Severity::Info), ["RT030"]);
    assert_eq!(seen.found("RT030").title, "data from 10.0.0.1 with DSCP 26, ACKs from 10.0.0.2 with DSCP 0");
    let mut tap = Tap::default();
    writes(&mut tap, 20, TOS, TOS);
    assert!(tap.finish().codes(Severity::Info).is_empty());
}

#[test]
fn notifications_have_a_class_of_their_own() {
    let mut tap = Tap::default();
    let (there, back) = writes(&mut tap, 20, TOS, TOS);
    tap.facts_at(back, sent(back, CNP, 0, 0xc2));
    tap.facts_at(there, Facts { tos: TOS | 3, ..Tap::facts(there, WRITE_ONLY, 1020) });
    let seen = tap.finish();
    assert_eq!(seen.codes(Severity::Info), ["RT020"]);
    assert_eq!((&seen.flows[1].dscp, &seen.flows[1].answer_dscp), (&vec![26, 48], &vec![26]));
    assert_eq!(seen.flows[1].data_dscp, Vec::<u8>::new());
}

#[test]
fn data_in_two_classes_with_harm_on_one_side() {
    let mut tap = Tap::default();
    let (there, back) = connection();
    for i in 0..20 {
        tap.facts_at(there, sent(there, WRITE_ONLY, 1000 + i, TOS)).ack(back, 1000 + i, i + 1);
        tap.facts_at(back, sent(back, WRITE_ONLY, 7000 + i, 2)).ack(there, 7000 + i, i + 1);
    }
    tap.facts_at(back, sent(back, WRITE_ONLY, 7003, 2));
    let seen = tap.finish();
    // Its ACKs differ from its data, which is no change of either.
    assert!(seen.flows.iter().all(|f| f.marks.is_none()), "{:?}", seen.flows);
    assert_eq!((&seen.flows[0].data_dscp, &seen.flows[0].answer_dscp), (&vec![26], &vec![0]));
    assert_eq!(seen.codes(Severity::Warning), ["RT030"]);
}

#[test]
fn a_flow_that_changes() {
    let mut tap = Tap::default();
    let (there, _) = writes(&mut tap, 20, TOS, TOS);
    tap.facts_at(there, sent(there, WRITE_ONLY, 1020, 2));
    let tagged =
        Facts { vlan: 3 << 13 | 100, flags: Flags::EXTENDED.with(Flags::VLAN), ..sent(there, WRITE_ONLY, 1021, 2) };
    tap.facts_at(there, tagged);
    tap.facts_at(Way { ttl: 63, ..there }, Facts { ttl: 63, psn: rocetop_parsers::Psn::new(1022), ..tagged });
    let seen = tap.finish();
    assert!(seen.codes(Severity::Warning).is_empty());
    let changes: Vec<_> = seen.findings.iter().filter(|f| f.code == "RT031").map(|f| f.frames.clone()).collect();
    assert_eq!(changes, [[FrameRef::Place(41)], [FrameRef::Place(42)]]);
    assert_eq!(seen.found("RT032").frames, [FrameRef::Place(43)]);
    assert_eq!(seen.found("RT032").title, "the TTL changed 1 time (64, 63): 10.0.0.1 -> 10.0.0.2 qp 19");
}

#[test]
fn a_mirror_changes_nothing() {
    let mut tap = Tap::default();
    let (there, back) = connection();
    for i in 0..40 {
        for (ttl, wait) in [(64, 0), (63, 0)] {
            tap.wait(wait).facts_at(there, Facts { ttl, ..sent(there, WRITE_ONLY, 1000 + i, TOS) });
        }
        tap.facts_at(back, Facts { payload: 0, ..sent(back, ACK, 1000 + i, TOS) });
    }
    let seen = tap.finish();
    assert_eq!(seen.flows[0].mirror_copies, 40);
    assert!(seen.codes(Severity::Info).is_empty());
}

fn foreign(tos: u8) -> Facts {
    Facts { class: Class::Other, tos, protocol: 6, end: 60, ..Facts::default() }
}

#[test]
fn other_traffic_in_the_class() {
    let (there, _) = connection();
    for (tos, roce, codes) in [
        (TOS, TOS, &["RT035"][..]),
        // Of another class, and of the default class, which is nobody's own.
        (0, TOS, &[]),
        (2, 2, &[]),
    ] {
        let mut tap = Tap::default();
        writes(&mut tap, 20, roce, roce);
        for _ in 0..16 {
            tap.facts_at(there, foreign(tos));
        }
        let seen = tap.finish();
        assert_eq!(seen.codes(Severity::Warning), codes, "{tos} {roce}");
    }
    let mut tap = Tap::default();
    writes(&mut tap, 20, TOS, TOS);
    for protocol in std::iter::repeat_n(6, 16).chain([1, 58]) {
        tap.facts_at(there, Facts { protocol, ..foreign(TOS) });
    }
    let seen = tap.finish();
    // Messages of ICMP are no traffic.
    assert_eq!(seen.found("RT035").frames, [41, 56].map(FrameRef::Place));
    assert_eq!(seen.found("RT035").evidence.0[0], ("foreign_frames", Value::Number(16)));
    assert_eq!(seen.found("RT035").evidence.0[2], ("tcp_frames", Value::Number(16)));
}

#[test]
fn nothing_but_tcp() {
    let mut tap = Tap::default();
    tap.facts_at(way(1, 2, 0, 0), foreign(0)).facts_at(way(1, 2, 0, 0), foreign(0));
    let seen = tap.finish();
    assert_eq!(seen.codes(Severity::Info), ["RT037"]);
    assert_eq!(seen.found("RT037").title, "no RoCE was found in 2 frames, 2 of them TCP");
}

#[test]
fn version_one() {
    let mut tap = Tap::default();
    let (there, back) = connection();
    tap.facts_at(there, Facts { class: Class::RoceV1, ..sent(there, SEND_ONLY, 5, TOS) });
    tap.facts_at(back, Facts { class: Class::RoceV1, payload: 0, ..sent(back, ACK, 5, TOS) });
    assert_eq!(tap.finish().codes(Severity::Info), ["RT036"]);
}

#[test]
fn damage_by_path() {
    let mut tap = Tap::default();
    let (there, _) = writes(&mut tap, 20, TOS, TOS);
    tap.packet(there, sent(there, WRITE_ONLY, 1020, TOS), Icrc::Bad);
    tap.packet(way(7, 8, 99, 1), sent(way(7, 8, 99, 1), WRITE_ONLY, 1020, TOS), Icrc::Bad);
    let seen = tap.finish();
    assert_eq!(seen.codes(Severity::Warning), ["RT040", "RT040"]);
    let path = seen.findings.iter().find(|f| f.title == "1 frame damaged on the way from 10.0.0.1 to 10.0.0.2");
    assert_eq!(path.unwrap().frames, [FrameRef::Place(41)]);
    assert_eq!(seen.flows[0].icrc_bad, 1);
}

#[test]
fn not_one_good_checksum() {
    let mut tap = Tap::default();
    let (there, _) = connection();
    tap.packet(there, sent(there, WRITE_ONLY, 1, TOS), Icrc::Bad);
    assert_eq!(tap.finish().found("RT040").severity, Severity::Info);
}

#[test]
fn one_port_for_all() {
    let run = |pairs: u32, wire: u64, spread: bool| {
        let mut tap = Tap::default();
        tap.wire = wire;
        for i in 0..200 {
            for qp in 0..pairs {
                let there = way(1, 2, 100 + qp, 0xc000 + if spread { qp as u16 } else { 0 });
                tap.facts_at(there, sent(there, WRITE_ONLY, i, TOS));
            }
        }
        tap.finish()
    };
    // One packet of 4,000 bytes each 10 us are 3,200 Mb/s.
    assert_eq!(run(8, 4000, false).codes(Severity::Warning), ["RT045"]);
    let found = run(8, 4000, false);
    let found = found.found("RT045");
    assert_eq!(found.evidence.0[5], ("queue_pair_entropy_millibits", Value::Number(3000)));
    assert_eq!(found.title, "all 8 queue pairs from 10.0.0.1 to 10.0.0.2 use source port 49152");
    assert!(run(8, 4000, true).codes(Severity::Warning).is_empty());
    assert!(run(8, 100, false).codes(Severity::Warning).is_empty());
    assert_eq!(run(2, 100, false).codes(Severity::Info), ["RT038", "RT045"]);
    assert_eq!(run(1, 100, false).codes(Severity::Info), ["RT038"]);
}

#[test]
fn data_that_cannot_be_marked() {
    let mut tap = Tap::default();
    writes(&mut tap, 16, 104, 104);
    let seen = tap.finish();
    assert_eq!(seen.codes(Severity::Info), ["RT027"]);
    assert!(seen.flows[0].data_ecn.not_ect && !seen.flows[0].data_ecn.ect);
    assert_eq!(seen.totals.bytes, Bytes(3200).0);
}
