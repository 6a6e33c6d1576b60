//! The responder: an expected PSN, one NAK a hole, duplicates answered again (IBTA 9.7.4, 9.7.5).

use std::collections::{BTreeMap, BTreeSet};

use super::run::Scenario;
use super::{Kind, Packet};

#[derive(Debug, Default)]
pub(crate) struct Responder {
    /// The PSN that is due.
    due: u64,
    /// It was asked for.
    asked: bool,
    /// Messages completed.
    msn: u32,
    /// Came out of order and kept.
    kept: BTreeMap<u64, Packet>,
    refused: BTreeMap<u64, u32>,
    /// Every PSN that ever came: what was not needed any more is a duplicate.
    came: BTreeSet<u64>,
    pub(crate) duplicates: u64,
}

impl Responder {
    /// The answers to a request.
    pub(crate) fn request(&mut self, packet: &Packet, s: &Scenario) -> Vec<Packet> {
        let mut answers = Vec::new();
        self.duplicates += u64::from(!self.came.insert(packet.psn));
        if packet.psn > self.due {
            if s.selective || s.any_order {
                self.kept.insert(packet.psn, *packet);
            }
            if !self.asked && !s.any_order {
                self.asked = true;
                answers.push(self.answer(Kind::Nak, self.due));
            }
        } else if packet.psn == self.due {
            let refusals = s.not_ready.iter().find(|n| n.0 == packet.psn).map_or(0, |n| n.1);
            let refused = self.refused.entry(packet.psn).or_default();
            if *refused < refusals {
                *refused += 1;
                self.asked = s.silent_rest;
                return vec![self.answer(Kind::Rnr(s.rnr_code), packet.psn)];
            }
            self.accept(packet, &mut answers);
            while let Some(next) = self.kept.remove(&self.due) {
                self.accept(&next, &mut answers);
            }
            self.kept = self.kept.split_off(&self.due);
            self.asked = !self.kept.is_empty() && !s.any_order;
            if self.asked {
                answers.push(self.answer(Kind::Nak, self.due));
            }
        } else if matches!(packet.kind, Kind::Data(_)) {
            if packet.ack_req || s.acks_every_duplicate {
                answers.push(self.answer(Kind::Ack, self.due - 1));
            }
        } else {
            self.respond(packet, &mut answers);
        }
        answers
    }

    fn answer(&self, kind: Kind, psn: u64) -> Packet {
        Packet { kind, psn, span: 1, ack_req: false, again: None, msn: self.msn }
    }

    fn accept(&mut self, packet: &Packet, answers: &mut Vec<Packet>) {
        self.due = packet.end();
        self.asked = false;
        self.msn += u32::from(packet.ends());
        match packet.kind {
            Kind::Data(_) if packet.ack_req => answers.push(self.answer(Kind::Ack, packet.psn)),
            Kind::Data(_) => {}
            _ => self.respond(packet, answers),
        }
    }

    /// Answers a READ or an atomic.
    fn respond(&self, packet: &Packet, answers: &mut Vec<Packet>) {
        if packet.kind == Kind::Atomic {
            answers.push(self.answer(Kind::Response(0x12), packet.psn));
            return;
        }
        for psn in packet.psn..packet.end() {
            let opcode = match (psn == packet.psn, psn + 1 == packet.end()) {
                (true, true) => 0x10,
                (true, false) => 0x0d,
                (false, true) => 0x0f,
                (false, false) => 0x0e,
            };
            answers.push(self.answer(Kind::Response(opcode), psn));
        }
    }
}
