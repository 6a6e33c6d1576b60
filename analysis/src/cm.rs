//! What the CM exchange says about the queue pairs it connects (IBTA 12.7).
//!
//! A REQ names the requester's QP, a REP that answers it the responder's. Each also gives the PSN that its sender
//! expects to receive, so it is a promise about the flow *towards* it: the QP number, where its requests start, the QP
//! at the other end, the path MTU.

use std::collections::VecDeque;

use rocetop_parsers::{Addr, Psn, Qpn};

use crate::flow::Key;

/// One side of an exchange, as a REQ or REP gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) qp: Qpn,
    pub(crate) start: Psn,
    /// Path MTU in bytes; the requester's counts.
    pub(crate) mtu: u32,
}

/// What is known about a flow before its first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Promise {
    /// Destination queue pair of the way back.
    pub(crate) peer: Qpn,
    /// PSN of the first request.
    pub(crate) start: Psn,
    pub(crate) mtu: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    src: Addr,
    dst: Addr,
    comm_id: u32,
    offer: Offer,
}

/// Exchanges and promises remembered per shard; the oldest give way.
const MOST: usize = 1024;

/// The exchanges between the addresses of one shard.
#[derive(Debug, Default)]
pub(crate) struct Cm {
    requests: VecDeque<Request>,
    /// Exchanges that were answered: a REP is sent again until it is acknowledged, and must not promise twice.
    answered: VecDeque<(Request, Offer)>,
    promises: VecDeque<(Key, Promise)>,
}

impl Cm {
    /// A REQ from `src`.
    pub(crate) fn request(&mut self, src: Addr, dst: Addr, comm_id: u32, offer: Offer) {
        let request = Request { src, dst, comm_id, offer };
        if !self.requests.contains(&request) {
            push(&mut self.requests, request);
        }
    }

    /// A REP from `src` to the requester's `comm_id`. `key` makes a flow's key of (source, destination, queue pair).
    pub(crate) fn reply(
        &mut self,
        src: Addr,
        dst: Addr,
        comm_id: u32,
        offer: Offer,
        key: impl Fn(Addr, Addr, Qpn) -> Key,
    ) {
        let asked = |r: &&Request| r.src == dst && r.dst == src && r.comm_id == comm_id;
        let Some(&request) = self.requests.iter().rev().find(asked) else { return };
        if self.answered.contains(&(request, offer)) {
            return;
        }
        push(&mut self.answered, (request, offer));
        let mtu = request.offer.mtu;
        let to_responder = Promise { peer: request.offer.qp, start: offer.start, mtu };
        let to_requester = Promise { peer: offer.qp, start: request.offer.start, mtu };
        push(&mut self.promises, (key(dst, src, offer.qp), to_responder));
        push(&mut self.promises, (key(src, dst, request.offer.qp), to_requester));
    }

    /// What was promised about this flow.
    #[inline(always)]
    pub(crate) fn promised(&self, key: &Key) -> Option<&Promise> {
        if self.promises.is_empty() {
            return None;
        }
        self.promises.iter().rev().find(|(k, _)| k == key).map(|(_, promise)| promise)
    }

    /// Takes that promise: the flow begins.
    pub(crate) fn fulfil(&mut self, key: &Key) -> Option<Promise> {
        let at = self.promises.iter().rposition(|(k, _)| k == key)?;
        self.promises.remove(at).map(|(_, promise)| promise)
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == MOST {
        queue.pop_front();
    }
    queue.push_back(item);
}
