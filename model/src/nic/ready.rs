//! Receivers that are not ready: a message needs a receive that is posted for it, or it is sent away with an RNR NAK.
//!
//! The sender waits for the timer that the NAK names and sends the message again; it gives up after so many times in a
//! row, and never where that is seven (IBTA 9.7.5.2.8).

use std::collections::{BTreeMap, VecDeque};

use crate::engine::State;
use crate::engine::packet::{Packet, PacketId, QpId, What};
use crate::engine::results::Failure;
use crate::nic::sender::NO_FLOW;
use crate::units::Time;

/// The receives of every queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receives {
    /// How many are posted at first.
    pub posted: u16,
    /// From a message's arrival until the receive that it took is posted again.
    pub refill: Time,
    /// How long a sender waits that was sent away.
    pub timer: Time,
    /// How often in a row it may be sent away; 7: as often as need be.
    pub retries: u8,
}

impl Default for Receives {
    /// 128 receives that are posted again after a microsecond (declared); a timer of 0.64 ms (code 12 of IBTA table 46)
    /// and endless retries, as common libraries set them.
    fn default() -> Self {
        Self { posted: 128, refill: Time::us(1), timer: Time::us(640), retries: 7 }
    }
}

/// Receives by queue pair: when each that is not taken can be used.
pub(crate) type Stocks = BTreeMap<QpId, VecDeque<Time>>;

impl State {
    /// Whether there is a receive for a packet that has come in its turn.
    #[inline(never)]
    pub(super) fn admits(&mut self, packet: &Packet, receives: &Receives) -> bool {
        if packet.seq == self.flows[packet.flow].first && !self.take_receive(packet.qp, receives) {
            // What follows it is not answered.
            self.receivers[packet.qp].asked = true;
            self.count.not_ready += 1;
            return false;
        }
        if packet.what == What::Last {
            self.post_receive(packet.qp, receives);
        }
        true
    }

    /// Takes a receive for a message that begins; whether there was one.
    fn take_receive(&mut self, qp: QpId, receives: &Receives) -> bool {
        let fresh = || std::iter::repeat_n(Time::ZERO, usize::from(receives.posted)).collect();
        let stock: &mut VecDeque<Time> = self.stocks.entry(qp).or_insert_with(fresh);
        let ready = stock.front().is_some_and(|at| *at <= self.now);
        if ready {
            stock.pop_front();
        }
        ready
    }

    /// A message has arrived: its receive is posted again in a while.
    fn post_receive(&mut self, qp: QpId, receives: &Receives) {
        let at = self.now + receives.refill;
        self.stocks.entry(qp).or_default().push_back(at);
    }

    /// The receiver has no receive for the message that begins with `packet.seq`.
    pub(super) fn sent_away(&mut self, id: PacketId, packet: &Packet) {
        self.acked(id, packet);
        let (qp, now, timeout) = (packet.qp, self.now, self.settings.nic.timeout);
        let Some(receives) = self.settings.nic.receives else { return };
        let sender = &mut self.senders[qp];
        if sender.broken.is_some() || packet.seq != sender.una {
            return;
        }
        sender.away += 1;
        if receives.retries < 7 && sender.away > receives.retries {
            return self.break_off(qp, Failure::NotReady);
        }
        sender.away = sender.away.min(7);
        sender.next = sender.una;
        sender.due = now + receives.timer;
        sender.patience = sender.due + timeout;
        sender.asleep = true;
        let (due, paced, oldest) = (sender.due, sender.paced, sender.oldest);
        sender.paced = true;
        if oldest != NO_FLOW {
            self.enter(qp, oldest);
        }
        if !paced {
            self.sleep(qp, due);
        }
    }
}
