//! Selective repeat: the receiver keeps what comes too early, and the sender repeats what is missing and no more.
//!
//! As IRN has it (Mittal et al., SIGCOMM 2018): every packet that comes too early is answered with a NAK that
//! names the one that is waited for and the one that came. The sender takes all between the two that it has heard
//! nothing of for lost, once, and sends them before anything new; what is lost again waits for the time-out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::cc::Loss;
use crate::engine::State;
use crate::engine::packet::{Packet, QpId, What};
use crate::nic::sender::NO_FLOW;
use crate::wire;
use crate::workload::FlowId;

/// How a queue pair makes a loss good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Recovery {
    /// All from the lost packet on is sent again, and the receiver drops what comes too early (IBTA).
    #[default]
    GoBackN,
    /// What is lost is sent again.
    Selective,
}

/// What both ends know beyond their frontiers; only queue pairs that have lost something are here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repair {
    /// At the receiver: what came too early, and the message that it ends.
    early: BTreeMap<u32, Option<FlowId>>,
    /// At the sender: what is known to have come too early, and one past the highest of it.
    known: BTreeSet<u32>,
    top: u32,
    /// What is to be sent again.
    holes: VecDeque<u32>,
}

/// All repairs.
pub(crate) type Repairs = BTreeMap<QpId, Repair>;

impl State {
    /// Keeps a packet that has come too early; whether it is the first of its number.
    pub(super) fn keep(&mut self, packet: &Packet) -> bool {
        let ends = (packet.what == What::Last).then_some(packet.flow);
        self.repairs.entry(packet.qp).or_default().early.insert(packet.seq, ends).is_none()
    }

    /// The packet that a receiver waited for has come: what had come too early follows it.
    #[inline(never)]
    pub(super) fn follow(&mut self, qp: QpId) {
        let mut ended = Vec::new();
        let Some(repair) = self.repairs.get_mut(&qp) else { return };
        let receiver = &mut self.receivers[qp];
        while let Some(ends) = repair.early.remove(&receiver.expected) {
            receiver.expected += 1;
            ended.extend(ends);
        }
        for flow in ended {
            self.arrived(flow);
        }
    }

    /// A NAK says that `came` has come too early.
    pub(super) fn missing(&mut self, qp: QpId, came: u32) {
        let (una, top) = (self.senders[qp].una, self.senders[qp].top);
        if came < una || came >= top {
            return;
        }
        let repair = self.repairs.entry(qp).or_default();
        repair.known.insert(came);
        let before = repair.holes.len();
        let new = (repair.top.max(una)..came).filter(|seq| !repair.known.contains(seq));
        repair.holes.extend(new);
        repair.top = repair.top.max(came + 1);
        let more = repair.holes.len() > before;
        self.senders[qp].holes = repair.holes.len() as u32;
        if more {
            self.lessen(qp, Loss::Nak);
        }
        self.wake(qp);
    }

    /// Nothing has come for the time-out: all that is not known to have arrived is sent again.
    pub(super) fn all_missing(&mut self, qp: QpId) {
        let sender = &mut self.senders[qp];
        let (una, next) = (sender.una, sender.next);
        let repair = self.repairs.entry(qp).or_default();
        repair.holes = (una..next).filter(|seq| !repair.known.contains(seq)).collect();
        repair.top = repair.top.max(next);
        sender.holes = repair.holes.len() as u32;
        self.lessen(qp, Loss::Timeout);
        self.wake(qp);
    }

    /// All before `una` has arrived.
    pub(super) fn forget(&mut self, qp: QpId) {
        let una = self.senders[qp].una;
        let Some(repair) = self.repairs.get_mut(&qp) else { return };
        // Both are in order: only what has arrived since is looked at.
        while repair.known.first().is_some_and(|seq| *seq < una) {
            repair.known.pop_first();
        }
        while repair.holes.front().is_some_and(|seq| *seq < una) {
            repair.holes.pop_front();
        }
        self.senders[qp].holes = repair.holes.len() as u32;
    }

    /// The next number to send again, and its message.
    pub(super) fn hole(&mut self, qp: QpId) -> Option<(u32, FlowId)> {
        let repair = self.repairs.get_mut(&qp)?;
        let seq = repair.holes.pop_front()?;
        let sender = &mut self.senders[qp];
        sender.holes = repair.holes.len() as u32;
        let mut flow = sender.oldest;
        while flow != NO_FLOW && self.flows[flow].end <= seq {
            flow = self.flows[flow].next;
        }
        (flow != NO_FLOW).then_some((seq, flow))
    }
}

impl State {
    /// A packet that has been sent before.
    pub(super) fn again(&mut self, qp: QpId, seq: u32, id: FlowId) -> Packet {
        let mtu = self.settings.nic.mtu.0;
        let flow = &mut self.flows[id];
        flow.resent += 1;
        self.count.resent += 1;
        self.nic_counts[self.senders[qp].port].resent += 1;
        let (first, last) = (seq == flow.first, seq + 1 == flow.end);
        let payload = if last { flow.bytes - u64::from(seq - flow.first) * mtu } else { mtu } as u32;
        let reth = if first { wire::RETH } else { 0 };
        let int = if self.feedback.telemetry { wire::INT } else { 0 };
        let sender = &self.senders[qp];
        Packet {
            // Whoever repeats wants to know.
            asks: true,
            sent: self.now,
            qp,
            flow: id,
            seq,
            dst: sender.dst,
            entropy: sender.entropy,
            size: payload + wire::HEADERS + reth + int,
            payload,
            what: if last { What::Last } else { What::Data },
            priority: sender.priority,
            ..Packet::default()
        }
    }
}
