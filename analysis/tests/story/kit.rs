//! Packets for the model's taps, straight into an engine.

use rocetop_analysis::report::FlowReport;
use rocetop_analysis::{Config, Engine, FrameNo, Ledger, Packet};
use rocetop_parsers::facts::{Class, Flags};
use rocetop_parsers::ib::opcode::Opcode;
use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Addr, Bytes, Facts, Nanos, Psn, Qpn, sport};

pub(crate) const READ_REQ: u8 = 0x0c;
pub(crate) const ACK: u8 = 0x11;

/// A capture in the making.
pub(crate) struct Tap {
    engine: Engine,
    frame: u64,
}

impl Default for Tap {
    fn default() -> Self {
        Self { engine: Engine::new(Config::default()), frame: 0 }
    }
}

/// One direction of the connection.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    src: u8,
    dst: u8,
    qp: u32,
    pub(crate) ttl: u8,
}

/// Requester 1 with QP 17, responder 2 with QP 19.
pub(crate) fn connection() -> (Way, Way) {
    (Way { src: 1, dst: 2, qp: 19, ttl: 64 }, Way { src: 2, dst: 1, qp: 17, ttl: 64 })
}

impl Tap {
    pub(crate) fn facts(way: Way, opcode: u8, psn: u32) -> Facts {
        Facts {
            src: Addr::v4([10, 0, 0, way.src]),
            dst: Addr::v4([10, 0, 0, way.dst]),
            dst_qp: Qpn(way.qp),
            psn: Psn::new(psn),
            opcode: Opcode(opcode),
            payload: if opcode == READ_REQ { 0 } else { 1024 },
            sport: sport::of_qps(Qpn(17), Qpn(19)),
            ttl: way.ttl,
            flags: Flags::EXTENDED,
            class: Class::RoceV2,
            ..Facts::default()
        }
    }

    pub(crate) fn add(&mut self, at: u64, facts: Facts) {
        self.frame += 1;
        let frame = FrameNo::new(0, self.frame);
        self.engine.packet(&Packet {
            frame,
            at: Nanos(at),
            wire: Bytes(100),
            iface: 0,
            strand: 0,
            facts,
            icrc: Icrc::Ok,
        });
    }

    pub(crate) fn finish(self) -> Seen {
        let engine = Engine::merge(vec![self.engine]);
        Seen { flows: Ledger::new(&engine, Vec::new()).flows().collect() }
    }
}

/// What the engine made of it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) flows: Vec<FlowReport>,
}
