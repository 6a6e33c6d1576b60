//! Packets for tests: the facts that a tap would have seen, built by hand.

#![allow(unreachable_pub, reason = "a module of a test is reached from the test alone")]

use rocetop_analysis::report::{ConnectionReport, FlowReport, Ledger, TotalsReport};
use rocetop_analysis::{Config, Engine, FrameNo, Packet};
use rocetop_parsers::facts::{Class, Flags};
use rocetop_parsers::ib::aeth::{Aeth, NakCode, Syndrome};
use rocetop_parsers::ib::opcode::{Opcode, Traits};
use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Addr, Bytes, Facts, Nanos, Psn, Qpn};

pub const WRITE_FIRST: u8 = 0x06;
pub const WRITE_LAST: u8 = 0x08;
pub const WRITE_ONLY: u8 = 0x0a;
pub const READ_REQ: u8 = 0x0c;
pub const READ_FIRST: u8 = 0x0d;
pub const READ_MIDDLE: u8 = 0x0e;
pub const READ_LAST: u8 = 0x0f;
pub const READ_ONLY: u8 = 0x10;
pub const ACK: u8 = 0x11;
pub const SEND_ONLY: u8 = 0x04;
pub const CNP: u8 = 0x81;

/// A host by its last octet.
pub const fn host(n: u8) -> Addr {
    Addr::v4([10, 0, 0, n])
}

/// A capture in the making: packets go straight into an engine, 10 us apart.
pub struct Tap {
    engine: Engine,
    frame: u64,
    pub now: u64,
}

impl Default for Tap {
    fn default() -> Self {
        Self::with(Config::default())
    }
}

/// One direction of a test connection.
#[derive(Clone, Copy)]
pub struct Way {
    pub src: u8,
    pub dst: u8,
    pub qp: u32,
    pub sport: u16,
    pub ttl: u8,
    pub iface: u32,
}

pub const fn way(src: u8, dst: u8, qp: u32, sport: u16) -> Way {
    Way { src, dst, qp, sport, ttl: 64, iface: 0 }
}

impl Tap {
    pub fn with(config: Config) -> Self {
        Self { engine: Engine::new(config), frame: 0, now: 1_000_000_000 }
    }

    pub fn facts(way: Way, opcode: u8, psn: u32) -> Facts {
        let traits = Opcode(opcode).traits();
        let payload = if traits.has(Traits::REQUEST | Traits::RETH) && opcode == READ_REQ { 0 } else { 1024 };
        Facts {
            src: host(way.src),
            dst: host(way.dst),
            dst_qp: Qpn(way.qp),
            psn: Psn::new(psn),
            opcode: Opcode(opcode),
            payload,
            sport: way.sport,
            ttl: way.ttl,
            flags: Flags::EXTENDED,
            class: Class::RoceV2,
            ..Facts::default()
        }
    }

    pub fn send(&mut self, way: Way, opcode: u8, psn: u32) -> &mut Self {
        self.facts_at(way, Self::facts(way, opcode, psn))
    }

    pub fn read(&mut self, way: Way, psn: u32, length: u32) -> &mut Self {
        self.facts_at(way, Facts { dma_len: length, ..Self::facts(way, READ_REQ, psn) })
    }

    pub fn ack(&mut self, way: Way, psn: u32, msn: u32) -> &mut Self {
        self.answer(way, psn, Aeth::new(Syndrome::Ack(31), msn))
    }

    pub fn nak(&mut self, way: Way, psn: u32, msn: u32) -> &mut Self {
        self.answer(way, psn, Aeth::new(Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR), msn))
    }

    fn answer(&mut self, way: Way, psn: u32, aeth: Aeth) -> &mut Self {
        self.facts_at(way, Facts { aeth, payload: 0, ..Self::facts(way, ACK, psn) })
    }

    pub fn facts_at(&mut self, way: Way, facts: Facts) -> &mut Self {
        self.packet(way, facts, Icrc::Ok)
    }

    pub fn packet(&mut self, way: Way, facts: Facts, icrc: Icrc) -> &mut Self {
        self.frame += 1;
        self.now += 10_000;
        let packet = Packet {
            frame: FrameNo::new(0, self.frame),
            at: Nanos(self.now),
            wire: Bytes(100),
            iface: way.iface,
            facts,
            icrc,
        };
        self.engine.packet(&packet);
        self
    }

    pub fn wait(&mut self, ns: u64) -> &mut Self {
        self.now += ns;
        self
    }

    pub fn finish(self) -> Seen {
        let engine = Engine::merge(vec![self.engine]);
        let ledger = Ledger::new(&engine);
        Seen { totals: ledger.totals(), flows: ledger.flows().collect(), connections: ledger.connections().collect() }
    }
}

/// What the engine made of it.
#[derive(Debug)]
pub struct Seen {
    pub totals: TotalsReport,
    pub flows: Vec<FlowReport>,
    pub connections: Vec<ConnectionReport>,
}
