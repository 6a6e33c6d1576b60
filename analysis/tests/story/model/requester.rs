//! The requester: a window, go-back-N or selective repeat, a transport timer, RNR waits (IBTA 9.7.5, 9.7.6).

use std::collections::VecDeque;

use super::run::Scenario;
use super::{Kind, Packet, Why};

#[derive(Debug)]
pub(crate) struct Requester {
    plan: Vec<Packet>,
    /// Place in the plan of what is sent next, and of what was never sent.
    pos: usize,
    fresh: usize,
    /// Lowest PSN without an answer.
    una: u64,
    /// What it is sent again for, if it is below `fresh`.
    why: Why,
    /// Places of packets that are sent out of turn.
    urgent: VecDeque<usize>,
    pub(crate) deadline: Option<u64>,
    pub(crate) tries: u32,
    pub(crate) timeouts: u64,
    /// The receiver is not ready until then.
    pub(crate) resting: Option<u64>,
    /// A lost response was asked for again here.
    reissued: Option<u64>,
    pub(crate) dead: bool,
}

impl Requester {
    pub(crate) fn new(plan: Vec<Packet>) -> Self {
        Self {
            plan,
            pos: 0,
            fresh: 0,
            una: 0,
            why: Why::Timeout,
            urgent: VecDeque::new(),
            deadline: None,
            tries: 0,
            timeouts: 0,
            resting: None,
            reissued: None,
            dead: false,
        }
    }

    pub(crate) fn done(&self) -> bool {
        self.dead || self.plan.last().is_none_or(|p| self.una >= p.end())
    }

    /// The next packet to send now, if any.
    pub(crate) fn send(&mut self, now: u64, s: &Scenario) -> Option<Packet> {
        if self.dead || self.resting.is_some() {
            return None;
        }
        let place = match self.urgent.pop_front() {
            Some(place) => place,
            None => {
                let next = self.plan.get(self.pos)?;
                if next.end() > self.una + s.window.max(next.span) {
                    return None;
                }
                self.pos += 1;
                self.pos - 1
            }
        };
        let mut packet = self.plan[place];
        if packet.end() <= self.una {
            return self.send(now, s);
        }
        if place < self.fresh {
            packet.again = Some(self.why);
            if packet.kind == Kind::Read && packet.psn < self.una {
                packet.span = packet.end() - self.una;
                packet.psn = self.una;
            }
        }
        self.fresh = self.fresh.max(self.pos);
        self.deadline.get_or_insert(now + s.rto);
        Some(packet)
    }

    fn place_of(&self, psn: u64) -> usize {
        self.plan.partition_point(|p| p.end() <= psn)
    }

    /// PSN after the last that was sent.
    fn sent(&self) -> u64 {
        self.fresh.checked_sub(1).map_or(0, |last| self.plan[last].end())
    }

    fn restart(&mut self, why: Why, now: u64, s: &Scenario) {
        let place = self.place_of(self.una);
        if s.selective && why != Why::Reissue {
            self.urgent = VecDeque::from([place]);
        } else {
            self.pos = place;
        }
        self.why = why;
        self.deadline = Some(now + s.rto);
    }

    /// The timer ran out.
    pub(crate) fn expire(&mut self, now: u64, s: &Scenario) {
        self.deadline = None;
        if self.tries == s.retries {
            self.dead = true;
            return;
        }
        self.tries += 1;
        self.timeouts += 1;
        self.restart(Why::Timeout, now, s);
    }

    pub(crate) fn wake(&mut self, now: u64, s: &Scenario) {
        if self.resting.take().is_some() {
            self.restart(Why::Rnr, now, s);
        }
    }

    pub(crate) fn answer(&mut self, packet: &Packet, now: u64, s: &Scenario) {
        let psn = packet.psn;
        match packet.kind {
            Kind::Ack => {
                self.acked(psn + 1, now, s);
            }
            Kind::Response(_) => {
                if self.acked(psn, now, s) && psn == self.una {
                    self.advance(psn + 1, now, s);
                }
            }
            Kind::Nak => {
                let fresh = self.acked(psn, now, s) && psn == self.una && psn < self.sent();
                let waits = self.resting.is_none() && (s.selective || self.place_of(psn) < self.pos);
                if fresh && waits {
                    self.restart(Why::Nak, now, s);
                }
            }
            Kind::Rnr(_) => {
                if self.acked(psn, now, s) && psn == self.una && self.resting.is_none() {
                    self.resting = Some(now + s.rnr_wait());
                    self.deadline = None;
                }
            }
            Kind::Data(_) | Kind::Read | Kind::Atomic => {}
        }
    }

    /// Everything before `end` has arrived. False where a response is missing before it.
    fn acked(&mut self, end: u64, now: u64, s: &Scenario) -> bool {
        let place = self.place_of(self.una);
        let waits = |p: &&Packet| matches!(p.kind, Kind::Read | Kind::Atomic);
        let due = self.plan[place..].iter().take_while(|p| p.psn < end).find(waits).map(|p| p.psn.max(self.una));
        let missing = due.filter(|&psn| psn < end);
        self.advance(missing.unwrap_or(end).min(end), now, s);
        if missing.is_some() && self.resting.is_none() && self.reissued != Some(self.una) {
            self.reissued = Some(self.una);
            self.restart(Why::Reissue, now, s);
        }
        missing.is_none()
    }

    fn advance(&mut self, una: u64, now: u64, s: &Scenario) {
        if una <= self.una {
            return;
        }
        self.una = una;
        self.tries = 0;
        self.pos = self.pos.max(self.place_of(una)).min(self.plan.len());
        self.deadline = (self.una < self.sent() && self.resting.is_none()).then_some(now + s.rto);
    }
}
