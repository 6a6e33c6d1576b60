//! What the CM exchange says about the queue pairs it connects (IBTA 12.7).
//!
//! A REQ names the requester's QP, a REP that answers it the responder's. Each also gives the PSN that its sender
//! expects to receive, so it is a promise about the flow *towards* it: the QP number, where its requests start, the QP
//! at the other end, the path MTU.

use std::collections::{HashMap, VecDeque};

use rocetop_parsers::ib::cm::{CmMessage, CommId};
use rocetop_parsers::{Bytes, Psn, Qpn};

use crate::flow::Key;

/// One side of an exchange, as a REQ or REP gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offer {
    qp: Qpn,
    start: Psn,
    /// Path MTU; only a REQ gives it.
    mtu: Option<Bytes>,
}

/// What is known about a flow before its first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Promise {
    /// Destination queue pair of the way back.
    pub(crate) peer: Qpn,
    /// PSN of the first request.
    pub(crate) start: Psn,
    pub(crate) mtu: Option<Bytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    /// The flow of management datagrams that it came in.
    way: Key,
    comm_id: CommId,
    offer: Offer,
}

/// Exchanges and promises remembered per shard; the oldest give way (chosen: bounds the memory).
const MOST: usize = 1024;

/// The exchanges between the addresses of one shard.
#[derive(Debug, Default)]
pub(crate) struct Cm {
    requests: VecDeque<Request>,
    /// Exchanges that were answered: a REP is sent again until it is acknowledged, and must not promise twice.
    answered: VecDeque<(Request, Offer)>,
    promises: HashMap<Key, Promise>,
    /// Whose promise is the oldest.
    promised: VecDeque<Key>,
}

impl Cm {
    /// A message in a flow of management datagrams. Returns the flow whose life a DREQ ends.
    pub(crate) fn message(&mut self, way: Key, message: &CmMessage) -> Option<Key> {
        match message {
            CmMessage::Req(req) => {
                let offer = Offer { qp: req.qpn, start: req.starting_psn, mtu: req.path_mtu.bytes() };
                self.request(Request { way, comm_id: req.local, offer });
            }
            CmMessage::Rep(rep) => {
                self.reply(way, rep.remote, Offer { qp: rep.qpn, start: rep.starting_psn, mtu: None });
            }
            CmMessage::Dreq(dreq) => return Some(way.to(dreq.remote_qpn)),
            _ => {}
        }
        None
    }

    fn request(&mut self, request: Request) {
        if !self.requests.contains(&request) {
            push(&mut self.requests, request);
        }
    }

    fn reply(&mut self, way: Key, comm_id: CommId, offer: Offer) {
        let back = way.reverse(Qpn::GSI);
        let Some(&request) = self.requests.iter().rev().find(|r| r.way == back && r.comm_id == comm_id) else { return };
        if self.answered.contains(&(request, offer)) {
            return;
        }
        push(&mut self.answered, (request, offer));
        let mtu = request.offer.mtu;
        let to_responder = Promise { peer: request.offer.qp, start: offer.start, mtu };
        let to_requester = Promise { peer: offer.qp, start: request.offer.start, mtu };
        self.promise(back.to(offer.qp), to_responder);
        self.promise(way.to(request.offer.qp), to_requester);
    }

    fn promise(&mut self, key: Key, promise: Promise) {
        if self.promised.len() == MOST
            && let Some(oldest) = self.promised.front()
        {
            self.promises.remove(oldest);
        }
        push(&mut self.promised, key);
        self.promises.insert(key, promise);
    }

    /// What was promised about this flow.
    #[inline(always)]
    pub(crate) fn promised(&self, key: &Key) -> Option<&Promise> {
        if self.promises.is_empty() {
            return None;
        }
        self.promises.get(key)
    }

    /// Takes that promise: the flow begins.
    pub(crate) fn fulfil(&mut self, key: &Key) -> Option<Promise> {
        self.promises.remove(key)
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == MOST {
        queue.pop_front();
    }
    queue.push_back(item);
}
