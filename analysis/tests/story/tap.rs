//! From what a tap saw to the story.

use rocetop_analysis::report::FlowReport;
use rocetop_analysis::story::StoryReport;
use rocetop_parsers::Facts;
use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::aeth::{Aeth, NakCode, Syndrome};

use crate::kit::{ACK, READ_REQ, Seen, Tap, Way, connection};
use crate::model::{Kind, Packet, Record, Scenario};

/// Where a tap stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Requester,
    Middle,
    Responder,
}

pub(crate) const PLACES: [Place; 3] = [Place::Requester, Place::Middle, Place::Responder];

/// What of a packet the tap sees.
fn facts(packet: &Packet, way: Way, s: &Scenario) -> Facts {
    let psn = s.start.wrapping_add(packet.psn as u32) & 0xff_ffff;
    let class = if s.unreliable { 0x20 } else { 0 };
    let aeth = |syndrome| Aeth::new(syndrome, packet.msn);
    let answer = |syndrome| Facts { aeth: aeth(syndrome), payload: 0, ..Tap::facts(way, ACK, psn) };
    let response = |opcode| Facts { aeth: aeth(Syndrome::Ack(31)), ..Tap::facts(way, opcode, psn) };
    match packet.kind {
        Kind::Data(opcode) => asking(Tap::facts(way, opcode | class, psn), packet.ack_req),
        Kind::Read => asking(Facts { dma_len: packet.span as u32 * 1024, ..Tap::facts(way, READ_REQ, psn) }, true),
        Kind::Atomic => asking(Facts { payload: 0, ..Tap::facts(way, 0x13, psn) }, true),
        Kind::Response(0x12) => Facts { payload: 0, ..response(0x12) },
        Kind::Response(opcode) => response(opcode),
        Kind::Ack => answer(Syndrome::Ack(31)),
        Kind::Nak => answer(Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR)),
        Kind::Rnr(code) => answer(Syndrome::RnrNak(code)),
    }
}

/// With the AckReq bit.
fn asking(facts: Facts, ack_req: bool) -> Facts {
    Facts { flags: facts.flags.when(ack_req, Flags::ACK_REQ), ..facts }
}

/// The two directions at a place; with `ttls`, each end is one router away from the middle.
pub(crate) fn ways(place: Place, ttls: bool) -> (Way, Way) {
    let (mut out, mut back) = connection();
    if ttls {
        (out.ttl, back.ttl) = match place {
            Place::Requester => (64, 62),
            Place::Middle => (63, 63),
            Place::Responder => (62, 64),
        };
    }
    (out, back)
}

/// Plays what was seen of one requester into an engine.
pub(crate) fn seen(s: &Scenario, records: &[Record], place: Place, ttls: bool) -> Seen {
    seen_all(&[(s, records)], place, ttls)
}

/// The same for two requesters, one at each end.
pub(crate) fn seen_all(sides: &[(&Scenario, &[Record])], place: Place, ttls: bool) -> Seen {
    let mut all = Vec::new();
    for (side, &(s, records)) in sides.iter().enumerate() {
        let (out, back) = ways(place, ttls);
        for record in records {
            let forth = record.packet.is_request() == (side == 0);
            all.push((record.at, facts(&record.packet, if forth { out } else { back }, s)));
        }
    }
    all.sort_by_key(|&(at, _)| at);
    let mut tap = Tap::default();
    for (at, facts) in all {
        tap.add(at, facts);
    }
    tap.finish()
}

/// The flow of the requests.
pub(crate) fn requests(seen: &Seen) -> &FlowReport {
    seen.flows.iter().find(|f| f.dst_qp == 19).unwrap()
}

/// Their story, checked for what holds wherever a tap stands.
pub(crate) fn story<'a>(seen: &'a Seen, records: &[Record], why: &str) -> &'a StoryReport {
    let flow = requests(seen);
    let story = flow.story.as_ref().unwrap();
    let mut known = std::collections::HashSet::new();
    let again = records.iter().filter(|r| r.packet.is_request() && !known.insert(r.packet.psn)).count() as u64;
    let r = &story.retransmissions;
    let c = &r.by_cause;
    assert_eq!(r.total, again, "{why}: repeats");
    assert_eq!(flow.requests.seen_again, r.total, "{why}: seen again");
    assert_eq!(r.total, c.nak + c.timeout + c.rnr + c.read_reissue + c.unknown, "{why}: causes {c:?}");
    assert!(story.episodes.iter().all(|e| e.first_ns <= e.last_ns && !e.frames.is_empty()), "{why}: episodes");
    story
}
