//! The life of connections as their managers tell it.

use rocetop_analysis::Severity;
use rocetop_analysis::engine::exchanges::{Purpose, State};
use rocetop_analysis::report::FrameRef;
use rocetop_parsers::ib::cm::dreq::Dreq;
use rocetop_parsers::ib::cm::rej::{Rej, RejectReason};
use rocetop_parsers::ib::cm::rep::Rep;
use rocetop_parsers::ib::cm::req::Req;
use rocetop_parsers::ib::cm::rtu::Rtu;
use rocetop_parsers::ib::cm::sidr_rep::{SidrRep, SidrStatus};
use rocetop_parsers::ib::cm::sidr_req::SidrReq;
use rocetop_parsers::ib::cm::{CmMessage, CommId, PathMtu, ServiceId};
use rocetop_parsers::ib::mad::TransactionId;
use rocetop_parsers::sport::FlowLabel;
use rocetop_parsers::{Addr, Detail, Facts, Psn, Qpn};

use crate::kit::{Tap, WRITE_FIRST, WRITE_LAST, WRITE_ONLY, Way, connection, host, way};

const ID: TransactionId = TransactionId(9);
const PORT_7199: ServiceId = ServiceId(0x0106_1c1f);

/// Management goes from queue pair 1 to queue pair 1.
fn ways() -> (Way, Way) {
    (way(1, 2, 1, 55410), way(2, 1, 1, 55410))
}

fn req(local: u32) -> CmMessage {
    CmMessage::Req(Req {
        transaction: ID,
        local: CommId(local),
        service: PORT_7199,
        qpn: Qpn(17),
        responder_resources: 1,
        initiator_depth: 1,
        service_type: 0,
        starting_psn: Psn::new(7000),
        retry_count: 7,
        pkey: 0xffff,
        path_mtu: PathMtu(3),
        rnr_retry: 6,
        src: host(1),
        dst: Addr::default(),
        flow_label: FlowLabel::new(0),
        traffic_class: 106,
        hop_limit: 64,
        ack_timeout: 14,
        ip: None,
    })
}

fn rep() -> CmMessage {
    CmMessage::Rep(Rep {
        transaction: ID,
        local: CommId(22),
        remote: CommId(11),
        qpn: Qpn(19),
        starting_psn: Psn::new(1000),
        responder_resources: 1,
        initiator_depth: 1,
        target_ack_delay: 0,
        rnr_retry: 7,
    })
}

fn rej(local: u32, reason: RejectReason) -> CmMessage {
    CmMessage::Rej(Rej { transaction: ID, local: CommId(local), remote: CommId(11), message: 0, reason })
}

fn tell(tap: &mut Tap, way: Way, message: CmMessage) {
    tap.detail(way, Tap::facts(way, 0x64, 0), &Detail::Cm(message));
}

#[test]
fn a_whole_life() {
    let mut tap = Tap::default();
    let (there, back) = ways();
    tell(&mut tap, there, req(11));
    tell(&mut tap, there, req(11));
    tell(&mut tap, back, rep());
    tell(&mut tap, there, CmMessage::Rtu(Rtu { transaction: ID, local: CommId(11), remote: CommId(22) }));
    let (data, acks) = connection();
    tap.send(data, WRITE_ONLY, 1000).ack(acks, 1000, 1);
    let (local, remote, remote_qpn) = (CommId(22), CommId(11), Qpn(17));
    tell(&mut tap, back, CmMessage::Dreq(Dreq { transaction: ID, local, remote, remote_qpn }));
    let seen = tap.finish();
    assert!(seen.codes(Severity::Info).is_empty(), "{:?}", seen.findings);
    let [exchange] = &seen.exchanges[..] else { panic!("{:?}", seen.exchanges) };
    assert_eq!((exchange.purpose, exchange.state), (Purpose::Connect, State::Disconnecting));
    assert_eq!((exchange.requester.as_str(), exchange.responder.as_str()), ("10.0.0.1", "10.0.0.2"));
    assert_eq!((exchange.service_port, exchange.requester_qp, exchange.responder_qp), (Some(7199), Some(17), Some(19)));
    let messages: Vec<_> = exchange.messages.iter().map(|m| (m.message.as_str(), m.by_requester, m.count)).collect();
    assert_eq!(messages, [("REQ", true, 2), ("REP", false, 1), ("RTU", true, 1), ("DREQ", false, 1)]);
    assert_eq!((&exchange.first_frame, &exchange.last_frame), (&FrameRef::Place(1), &FrameRef::Place(7)));
    for flow in seen.flows.iter().filter(|f| f.transport == "RC") {
        let terms = flow.cm.unwrap();
        // 4.096 us times 2^14.
        assert_eq!((terms.ack_timeout_ns, terms.retry_count, terms.rnr_retry), (Some(67_108_864), 7, 6));
        assert_eq!((terms.path_mtu, terms.exchange), (Some(1024), 0));
    }
}

#[test]
fn more_than_agreed() {
    let mut tap = Tap::default();
    let (there, back) = ways();
    tell(&mut tap, there, req(11));
    tell(&mut tap, back, rep());
    let (data, acks) = connection();
    let large = Facts { tos: 2, payload: 2048, ..Tap::facts(data, WRITE_FIRST, 1000) };
    tap.facts_at(data, large).send(data, WRITE_LAST, 1001).ack(acks, 1001, 1);
    let seen = tap.finish();
    let found = seen.found("RT033");
    assert_eq!(found.severity, Severity::Info);
    assert_eq!(found.title, "10.0.0.1 to 10.0.0.2 uses a path MTU of 2048; 1024 was agreed on");
}

#[test]
fn refused() {
    let refuse = |reason| {
        let mut tap = Tap::default();
        let (there, back) = ways();
        tell(&mut tap, there, req(11));
        tell(&mut tap, back, rej(0, reason));
        tap.finish()
    };
    let seen = refuse(RejectReason::INVALID_SERVICE_ID);
    assert_eq!(seen.codes(Severity::Warning), ["RT050"]);
    assert_eq!(seen.exchanges[0].state, State::Rejected);
    let title = "the connection of 10.0.0.1 to tcp port 7199 on 10.0.0.2 was refused: invalid service id, \
                 no such service (8)";
    assert_eq!((seen.found("RT050").title.as_str(), seen.found("RT050").frames.len()), (title, 2));
    // An application's own no.
    assert_eq!(refuse(RejectReason::CONSUMER).found("RT050").severity, Severity::Info);
}

#[test]
fn resolved_and_not() {
    let run = |status| {
        let mut tap = Tap::default();
        let (there, back) = ways();
        let (request, service) = (CommId(5), ServiceId(0x0111_1c23));
        let question = SidrReq { transaction: ID, request, pkey: 0xffff, service, ip: None };
        tell(&mut tap, there, CmMessage::SidrReq(question));
        let answer = SidrRep { transaction: ID, request, status, qpn: Qpn(18), service, qkey: 1 };
        tell(&mut tap, back, CmMessage::SidrRep(answer));
        tap.finish()
    };
    let seen = run(SidrStatus::VALID);
    assert_eq!((seen.exchanges[0].state, seen.exchanges[0].responder_qp), (State::Resolved, Some(18)));
    assert!(seen.codes(Severity::Info).is_empty());
    assert_eq!(run(SidrStatus::UNSUPPORTED_SERVICE).codes(Severity::Warning), ["RT050"]);
}

#[test]
fn nobody_answers() {
    let run = |tries: u32, speaks: bool| {
        let mut tap = Tap::default();
        let (there, back) = ways();
        for _ in 0..tries {
            tell(&mut tap, there, req(11));
        }
        if speaks {
            tap.send(Way { qp: 40, ..back }, WRITE_ONLY, 1);
        }
        tap.finish()
    };
    assert!(run(1, true).codes(Severity::Info).is_empty());
    assert_eq!(run(3, true).codes(Severity::Warning), ["RT051"]);
    assert_eq!(run(3, false).codes(Severity::Info), ["RT051"]);
    assert_eq!(run(3, false).found("RT051").severity, Severity::Info);
}

#[test]
fn the_beginning_was_not_seen() {
    let mut tap = Tap::default();
    let (_, back) = ways();
    tell(&mut tap, back, rej(0, RejectReason::STALE_CONNECTION));
    let seen = tap.finish();
    assert_eq!((seen.exchanges[0].requester.as_str(), seen.exchanges[0].service.as_deref()), ("10.0.0.1", None));
    assert_eq!(seen.codes(Severity::Warning), ["RT050"]);
}
