use super::*;
use crate::engine::Config;
use crate::engine::pairing::Grade;
use crate::report::Ledger;
use rocetop_parsers::abi::Way;
use rocetop_parsers::ib::opcode::Opcode;
use rocetop_parsers::{Addr, Class, Facts, Psn, Qpn, sport};

fn facts(src: u8, dst: u8, qp: u32, opcode: u8, psn: u32, port: u16) -> Facts {
    Facts {
        src: Addr::v4([10, 0, 0, src]),
        dst: Addr::v4([10, 0, 0, dst]),
        dst_qp: Qpn(qp),
        opcode: Opcode(opcode),
        psn: Psn::new(psn),
        sport: port,
        class: Class::RoceV2,
        ..Facts::default()
    }
}

/// What a kernel would say of some packets, a hundred bytes and a second each.
fn counted(iface: u32, way: Way, packets: &[Facts]) -> Counted {
    let mut flow = Flow::NEW;
    for (second, facts) in (1..).zip(packets) {
        flow.fold(facts, facts.opcode.traits(), Bytes(100), Nanos(second * 1_000_000_000));
    }
    Counted { iface, key: Key::of(&packets[0], way), flow, over: false }
}

fn engine() -> Engine {
    Engine::new(Config { counted: true, ..Config::default() })
}

fn both_ways() -> [Counted; 2] {
    let port = sport::of_qps(Qpn(17), Qpn(23));
    let sends: Vec<Facts> = [5, 6, 9, 7].into_iter().map(|psn| facts(1, 2, 17, 4, psn, port)).collect();
    let acks: Vec<Facts> = [5, 6].into_iter().map(|psn| facts(2, 1, 23, 0x11, psn, port)).collect();
    [counted(0, Way::In, &sends), counted(0, Way::Out, &acks)]
}

#[test]
fn sums_become_flows_and_connections() {
    let mut engine = engine();
    both_ways().iter().for_each(|c| engine.counters(c));
    // The same once more is the same.
    both_ways().iter().for_each(|c| engine.counters(c));
    let engine = Engine::merge(vec![engine]);
    let ledger = Ledger::new(&engine, Vec::new());
    let flows: Vec<_> = ledger.flows().collect();
    assert_eq!(flows.len(), 2);
    let there = flows.iter().find(|f| f.dst_qp == 17).unwrap();
    assert_eq!((there.packets, there.bytes, there.requests.gaps, there.requests.gap_psns), (4, 400, 1, 2));
    assert_eq!((there.requests.behind, there.requests.messages, there.transport), (1, 4, "RC"));
    assert_eq!((there.first_ns, there.last_ns), (1_000_000_000, 4_000_000_000));
    let connections: Vec<_> = ledger.connections().collect();
    assert_eq!((connections.len(), connections[0].flows.len()), (1, 2));
    assert_eq!(connections[0].paired_by, Grade::PortHash);
    assert_eq!(engine.pulse(), Pulse { connections: 1, naks: 0, rnr_naks: 0, seen_again: None, gaps: 1 });
}

#[test]
fn what_is_seen_twice_is_told_once() {
    let mut engine = engine();
    let port = sport::of_qps(Qpn(17), Qpn(23));
    let sends: Vec<Facts> = (0..3).map(|psn| facts(1, 2, 17, 4, psn, port)).collect();
    engine.counters(&counted(0, Way::In, &sends));
    engine.counters(&counted(1, Way::Out, &sends[..2]));
    let ledger = Ledger::new(&engine, Vec::new());
    let flows: Vec<_> = ledger.flows().collect();
    assert_eq!((flows.len(), flows[0].packets, flows[0].mirror_copies), (1, 3, 2));
    assert_eq!(ledger.totals().mirror_copies, 2);
}

#[test]
fn what_made_room_in_the_kernel_begins_anew() {
    let mut engine = engine();
    let [mut there, _] = both_ways();
    there.over = true;
    engine.counters(&there);
    let mut later = counted(0, Way::In, &[facts(1, 2, 17, 4, 100, 50_000)]);
    later.flow.counters.first = Nanos(9_000_000_000);
    engine.counters(&later);
    let ledger = Ledger::new(&engine, Vec::new());
    let flows: Vec<_> = ledger.flows().map(|f| (f.epoch, f.packets)).collect();
    assert_eq!(flows, [(0, 4), (1, 1)]);
}

#[test]
fn the_past_makes_room_and_is_counted() {
    let mut engine = Engine::new(Config { counted: true, most_flows: 2, ..Config::default() });
    for qp in 0..5 {
        let mut one = counted(0, Way::In, &[facts(1, 2, qp, 4, 1, 50_000)]);
        one.over = true;
        engine.counters(&one);
    }
    assert_eq!(engine.evicted(), Evicted { flows: 3, packets: 3, bytes: Bytes(300) });
    assert_eq!(Ledger::new(&engine, Vec::new()).len(), 2);
}

#[test]
fn frames_without_a_flow_are_in_the_sums() {
    let mut frames =
        Frames { seen: 10, bytes: 5_000, pauses: 1, undecodable: 2, named_bytes: 4_000, ..Frames::default() };
    frames.ecn = [1, 0, 2, 1];
    frames.opcodes[0x81] = 3;
    frames.opcodes[4] = 1;
    let mut engine = engine();
    engine.frames(&frames, Nanos(9));
    let totals = engine.totals();
    assert_eq!((totals.frames(), totals.rdma(), totals.other, totals.undecodable), (10, 4, 3, 2));
    assert_eq!((totals.bytes, totals.ecn, totals.cnps(), totals.icrc), (Bytes(5_000), [1, 0, 2, 1], 3, [0, 0, 4]));
    // Where packets are handed over, only the others are added.
    let mut engine = Engine::new(Config::default());
    engine.frames(&frames, Nanos(9));
    assert_eq!((engine.totals().frames(), engine.totals().bytes, engine.totals().other), (5, Bytes(1_000), 3));
}
