//! The life of each connection as its managers told it: request, reply, ready, reject, disconnect (IBTA 12.6, 12.9).

use std::collections::VecDeque;

use rocetop_parsers::ib::cm::rej::RejectReason;
use rocetop_parsers::ib::cm::req::Req;
use rocetop_parsers::ib::cm::sidr_rep::SidrStatus;
use rocetop_parsers::ib::cm::{Attribute, CmMessage, CommId, ServiceId, timeout};
use rocetop_parsers::{Addr, Nanos, Qpn};
use serde::Serialize;

use crate::event::{FrameNo, Packet};
use crate::report::FrameRef;

/// Exchanges remembered per shard; the oldest give way (chosen: bounds the memory).
const MOST: usize = 1024;

/// How far an exchange came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A request, and no answer.
    Requested,
    /// A reply came: the responder is ready.
    Replied,
    /// The requester confirmed the reply.
    Established,
    /// One side asked to end it.
    Disconnecting,
    /// The other side agreed.
    Disconnected,
    /// The service's queue pair was named.
    Resolved,
    /// One side refused.
    Rejected,
}

impl State {
    /// Whether the other side has agreed, whatever came then.
    #[must_use]
    pub fn is_agreed(self) -> bool {
        !matches!(self, Self::Requested | Self::Rejected)
    }
}

/// What an exchange is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A connection.
    Connect,
    /// Which queue pair serves a service.
    Resolve,
}

#[derive(Clone, Debug)]
struct Step {
    attribute: Attribute,
    by_requester: bool,
    count: u32,
    first: FrameNo,
    first_at: Nanos,
}

/// One exchange.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    purpose: Purpose,
    pub(crate) requester: Addr,
    pub(crate) responder: Addr,
    /// What each side calls it by.
    local: Option<CommId>,
    remote: Option<CommId>,
    service: Option<ServiceId>,
    request: Option<Req>,
    pub(crate) requester_qp: Option<Qpn>,
    pub(crate) responder_qp: Option<Qpn>,
    state: State,
    reason: Option<RejectReason>,
    status: Option<SidrStatus>,
    /// Each message of each side once, so there are twice nine at most.
    steps: Vec<Step>,
    pub(crate) first: FrameNo,
    last: FrameNo,
    first_at: Nanos,
    last_at: Nanos,
}

/// Who a message is from, and what it calls the exchange by.
struct Names {
    attribute: Attribute,
    purpose: Purpose,
    /// The sender's number, the receiver's.
    sender: Option<CommId>,
    receiver: Option<CommId>,
    /// Only a requester sends it, or only a responder; `None` for either.
    by_requester: Option<bool>,
}

impl Names {
    fn of(message: &CmMessage) -> Option<Self> {
        let connect = |attribute, sender, receiver, by_requester| {
            Some(Self { attribute, purpose: Purpose::Connect, sender: Some(sender), receiver, by_requester })
        };
        match message {
            CmMessage::Req(m) => connect(Attribute::REQ, m.local, None, Some(true)),
            CmMessage::Rep(m) => connect(Attribute::REP, m.local, Some(m.remote), Some(false)),
            CmMessage::Rtu(m) => connect(Attribute::RTU, m.local, Some(m.remote), Some(true)),
            CmMessage::Rej(m) => connect(Attribute::REJ, m.local, Some(m.remote), None),
            CmMessage::Mra(m) => connect(Attribute::MRA, m.local, Some(m.remote), None),
            CmMessage::Dreq(m) => connect(Attribute::DREQ, m.local, Some(m.remote), None),
            CmMessage::Drep(m) => connect(Attribute::DREP, m.local, Some(m.remote), None),
            CmMessage::SidrReq(m) => Some(Self {
                attribute: Attribute::SIDR_REQ,
                purpose: Purpose::Resolve,
                sender: Some(m.request),
                receiver: None,
                by_requester: Some(true),
            }),
            CmMessage::SidrRep(m) => Some(Self {
                attribute: Attribute::SIDR_REP,
                purpose: Purpose::Resolve,
                sender: None,
                receiver: Some(m.request),
                by_requester: Some(false),
            }),
            CmMessage::Other(_) => None,
        }
    }
}

/// The exchanges between the addresses of one shard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanges {
    list: VecDeque<Exchange>,
    /// Those that gave way.
    pub(crate) forgotten: u64,
}

impl Exchanges {
    pub(crate) fn message(&mut self, packet: &Packet, message: &CmMessage) {
        let Some(names) = Names::of(message) else { return };
        let (src, dst) = (packet.facts.src, packet.facts.dst);
        let known = self.list.iter_mut().rev().find_map(|e| Some((e.sent_by_requester(&names, src, dst)?, e)));
        if let Some((by_requester, exchange)) = known {
            exchange.add(packet, message, names.attribute, by_requester);
            return;
        }
        // Who asked whom, where the beginning was not seen: a refusal is most often the responder's.
        let by_requester = names.by_requester.unwrap_or(names.attribute != Attribute::REJ);
        let mut exchange = Exchange::new(packet, &names, by_requester);
        exchange.add(packet, message, names.attribute, by_requester);
        if self.list.len() == MOST {
            self.list.pop_front();
            self.forgotten += 1;
        }
        self.list.push_back(exchange);
    }

    pub(crate) fn get(&self, place: usize) -> Option<&Exchange> {
        self.list.get(place)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Exchange> {
        self.list.iter()
    }
}

impl Exchange {
    fn new(packet: &Packet, names: &Names, by_requester: bool) -> Self {
        let (src, dst) = (packet.facts.src, packet.facts.dst);
        let (requester, responder) = if by_requester { (src, dst) } else { (dst, src) };
        Self {
            purpose: names.purpose,
            requester,
            responder,
            local: None,
            remote: None,
            service: None,
            request: None,
            requester_qp: None,
            responder_qp: None,
            state: State::Requested,
            reason: None,
            status: None,
            steps: Vec::new(),
            first: packet.frame,
            last: packet.frame,
            first_at: packet.at,
            last_at: packet.at,
        }
        .named(names, by_requester)
    }

    fn named(mut self, names: &Names, by_requester: bool) -> Self {
        let (local, remote) =
            if by_requester { (names.sender, names.receiver) } else { (names.receiver, names.sender) };
        (self.local, self.remote) = (local, remote.filter(|id| id.0 != 0));
        self
    }

    /// Whether a message belongs here; then, whether it is the requester's.
    fn sent_by_requester(&self, names: &Names, src: Addr, dst: Addr) -> Option<bool> {
        if self.purpose != names.purpose {
            return None;
        }
        let mine = (src, dst) == (self.requester, self.responder) && names.by_requester != Some(false);
        let theirs = (src, dst) == (self.responder, self.requester) && names.by_requester != Some(true);
        // A number that is not given, or 0 in a refusal of what has none yet, fits all.
        let fits = |known: Option<CommId>, given: Option<CommId>| match (known, given) {
            (Some(known), Some(given)) => known == given || given.0 == 0,
            _ => true,
        };
        if mine && self.local.is_some() && self.local == names.sender && fits(self.remote, names.receiver) {
            return Some(true);
        }
        (theirs && self.local.is_some() && self.local == names.receiver && fits(self.remote, names.sender))
            .then_some(false)
    }

    fn add(&mut self, packet: &Packet, message: &CmMessage, attribute: Attribute, by_requester: bool) {
        (self.last, self.last_at) = (packet.frame, packet.at);
        match self.steps.iter_mut().find(|s| s.attribute == attribute && s.by_requester == by_requester) {
            Some(step) => step.count += 1,
            None => {
                let (first, first_at) = (packet.frame, packet.at);
                self.steps.push(Step { attribute, by_requester, count: 1, first, first_at });
            }
        }
        match message {
            CmMessage::Req(req) => {
                self.service = Some(req.service);
                self.requester_qp = Some(req.qpn);
                self.request = Some(*req);
            }
            CmMessage::Rep(rep) => {
                self.remote = Some(rep.local);
                self.responder_qp = Some(rep.qpn);
                self.reach(State::Replied);
            }
            CmMessage::Rtu(_) => self.reach(State::Established),
            CmMessage::Rej(rej) => {
                self.reason = Some(rej.reason);
                self.state = State::Rejected;
            }
            CmMessage::Dreq(dreq) => {
                let qp = if by_requester { &mut self.responder_qp } else { &mut self.requester_qp };
                qp.get_or_insert(dreq.remote_qpn);
                self.reach(State::Disconnecting);
            }
            CmMessage::Drep(_) => self.reach(State::Disconnected),
            CmMessage::SidrReq(req) => self.service = Some(req.service),
            CmMessage::SidrRep(rep) => {
                self.status = Some(rep.status);
                let valid = rep.status == SidrStatus::VALID;
                self.responder_qp = valid.then_some(rep.qpn);
                self.state = if valid { State::Resolved } else { State::Rejected };
            }
            CmMessage::Mra(_) | CmMessage::Other(_) => {}
        }
    }

    fn reach(&mut self, state: State) {
        self.state = self.state.max(state);
    }

    /// The terms that a flow between these addresses to this queue pair runs under, if this exchange made them.
    pub(crate) fn terms(&self, id: u32) -> Option<CmTerms> {
        let request = self.request.as_ref()?;
        Some(CmTerms {
            exchange: id,
            path_mtu: request.path_mtu.bytes().map(|b| b.0 as u32),
            ack_timeout_exponent: request.ack_timeout,
            ack_timeout_ns: timeout(request.ack_timeout).map(|t| t.0),
            retry_count: request.retry_count,
            rnr_retry: request.rnr_retry,
        })
    }

    /// In the shape of the report.
    pub(crate) fn report(&self, id: u32, frame: &dyn Fn(FrameNo) -> FrameRef) -> ExchangeReport {
        let step = |step: &Step| StepReport {
            message: step.attribute.to_string(),
            by_requester: step.by_requester,
            count: step.count,
            first_ns: step.first_at.0,
            first_frame: frame(step.first),
        };
        ExchangeReport {
            id,
            purpose: self.purpose,
            requester: self.requester.to_string(),
            responder: self.responder.to_string(),
            service: self.service.map(|s| s.to_string()),
            service_port: self.service.and_then(ServiceId::port),
            requester_qp: self.requester_qp.map(|qp| qp.0),
            responder_qp: self.responder_qp.map(|qp| qp.0),
            terms: self.terms(id),
            traffic_class: self.request.as_ref().map(|r| r.traffic_class),
            state: self.state,
            reject_code: self.reason.map(|r| r.0).or(self.refused().map(|s| u16::from(s.0))),
            reject_reason: self.reason.map(|r| r.to_string()).or(self.refused().map(|s| s.to_string())),
            first_ns: self.first_at.0,
            last_ns: self.last_at.0,
            first_frame: frame(self.first),
            last_frame: frame(self.last),
            messages: self.steps.iter().map(step).collect(),
        }
    }

    fn refused(&self) -> Option<SidrStatus> {
        self.status.filter(|&s| s != SidrStatus::VALID)
    }
}

/// What a connection's request asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CmTerms {
    /// Id of the exchange, in the report's `cm`.
    pub exchange: u32,
    /// Path MTU in bytes.
    pub path_mtu: Option<u32>,
    /// Local ACK timeout as its exponent; 0 is for ever.
    pub ack_timeout_exponent: u8,
    /// The same as a time: 4.096 us times two to that power.
    pub ack_timeout_ns: Option<u64>,
    /// Times that a packet is sent again before the connection fails.
    pub retry_count: u8,
    /// The same after receiver-not-ready; 7 is for ever.
    pub rnr_retry: u8,
}

/// One message of an exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepReport {
    /// Which: `REQ`, `REP`, `RTU`...
    pub message: String,
    /// Sent by who asked for the connection.
    pub by_requester: bool,
    /// Times that it was sent.
    pub count: u32,
    /// When first.
    pub first_ns: u64,
    /// Where first.
    pub first_frame: FrameRef,
}

/// An exchange of connection managers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExchangeReport {
    /// Number, in the order of the first frame.
    pub id: u32,
    /// What it is about.
    pub purpose: Purpose,
    /// Who asked.
    pub requester: String,
    /// Who was asked.
    pub responder: String,
    /// The service that was asked for.
    pub service: Option<String>,
    /// Its port, where it is one of the RDMA connection manager's.
    pub service_port: Option<u16>,
    /// Queue pair of who asked.
    pub requester_qp: Option<u32>,
    /// Queue pair of who was asked.
    pub responder_qp: Option<u32>,
    /// What the request asked for.
    pub terms: Option<CmTerms>,
    /// Traffic class of the path: DSCP and ECN.
    pub traffic_class: Option<u8>,
    /// How far it came.
    pub state: State,
    /// Why it was refused, as the code on the wire.
    pub reject_code: Option<u16>,
    /// The same by name.
    pub reject_reason: Option<String>,
    /// Time of its first message.
    pub first_ns: u64,
    /// Time of its last message.
    pub last_ns: u64,
    /// Its first frame.
    pub first_frame: FrameRef,
    /// Its last frame.
    pub last_frame: FrameRef,
    /// Its messages in the order of their first frames.
    pub messages: Vec<StepReport>,
}

impl ExchangeReport {
    /// Times that a message was sent.
    #[must_use]
    pub fn times(&self, message: &str) -> u32 {
        self.messages.iter().filter(|m| m.message == message).map(|m| m.count).sum()
    }
}
