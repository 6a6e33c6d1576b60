//! Packets for tests: the facts that a tap would have seen, built by hand.

use rocetop_analysis::Ledger;
use rocetop_analysis::engine::exchanges::ExchangeReport;
use rocetop_analysis::report::{ConnectionReport, FlowReport, TotalsReport};
use rocetop_analysis::story::StoryReport;
use rocetop_analysis::{Config, Engine, Finding, FrameNo, Packet, Severity};
use rocetop_parsers::facts::{Class, Flags};
use rocetop_parsers::ib::aeth::{Aeth, NakCode, Syndrome};
use rocetop_parsers::ib::opcode::{Opcode, Traits};
use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Addr, Bytes, Detail, Facts, Nanos, Psn, Qpn, sport};

pub(crate) const WRITE_FIRST: u8 = 0x06;
pub(crate) const WRITE_MIDDLE: u8 = 0x07;
pub(crate) const WRITE_LAST: u8 = 0x08;
pub(crate) const WRITE_ONLY: u8 = 0x0a;
pub(crate) const READ_REQ: u8 = 0x0c;
pub(crate) const READ_FIRST: u8 = 0x0d;
pub(crate) const READ_MIDDLE: u8 = 0x0e;
pub(crate) const READ_LAST: u8 = 0x0f;
pub(crate) const READ_ONLY: u8 = 0x10;
pub(crate) const ACK: u8 = 0x11;
pub(crate) const SEND_LAST: u8 = 0x02;
pub(crate) const SEND_ONLY: u8 = 0x04;
pub(crate) const CNP: u8 = 0x81;

/// A host by its last octet.
pub(crate) const fn host(n: u8) -> Addr {
    Addr::v4([10, 0, 0, n])
}

/// A capture in the making: packets go straight into an engine, 10 us apart.
pub(crate) struct Tap {
    engine: Engine,
    frame: u64,
    pub(crate) now: u64,
    /// Length of the packets to come, on the wire.
    pub(crate) wire: u64,
}

impl Default for Tap {
    fn default() -> Self {
        Self::with(Config::default())
    }
}

/// One direction of a test connection.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    pub(crate) src: u8,
    pub(crate) dst: u8,
    pub(crate) qp: u32,
    pub(crate) sport: u16,
    pub(crate) ttl: u8,
    pub(crate) iface: u32,
    /// Strand of files.
    pub(crate) strand: u16,
}

pub(crate) const fn way(src: u8, dst: u8, qp: u32, sport: u16) -> Way {
    Way { src, dst, qp, sport, ttl: 64, iface: 0, strand: 0 }
}

/// Requester 1 with QP 17, responder 2 with QP 19.
pub(crate) fn connection() -> (Way, Way) {
    let port = sport::of_qps(Qpn(17), Qpn(19));
    (way(1, 2, 19, port), way(2, 1, 17, port))
}

/// The two directions of it, as a tap at the requester's end sees them.
pub(crate) fn at_requester() -> (Way, Way) {
    let (out, back) = connection();
    (out, Way { ttl: 62, ..back })
}

/// Messages of one packet.
pub(crate) fn sends(tap: &mut Tap, out: Way, psns: impl IntoIterator<Item = u32>) {
    for psn in psns {
        tap.send(out, SEND_ONLY, psn);
    }
}

/// The story of the only requests, all of one life.
pub(crate) fn only_story(seen: &Seen) -> StoryReport {
    assert!(seen.flows.iter().all(|f| f.epoch == 0), "{:?}", seen.flows);
    let mut stories = seen.flows.iter().filter(|f| f.requests.packets != 0).filter_map(|f| f.story.clone());
    let story = stories.next().unwrap();
    assert!(stories.next().is_none());
    story
}

impl Tap {
    pub(crate) fn with(config: Config) -> Self {
        Self { engine: Engine::new(config), frame: 0, now: 1_000_000_000, wire: 100 }
    }

    pub(crate) fn facts(way: Way, opcode: u8, psn: u32) -> Facts {
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

    pub(crate) fn send(&mut self, way: Way, opcode: u8, psn: u32) -> &mut Self {
        self.facts_at(way, Self::facts(way, opcode, psn))
    }

    pub(crate) fn read(&mut self, way: Way, psn: u32, length: u32) -> &mut Self {
        self.facts_at(way, Facts { dma_len: length, ..Self::facts(way, READ_REQ, psn) })
    }

    pub(crate) fn ack(&mut self, way: Way, psn: u32, msn: u32) -> &mut Self {
        self.answer(way, psn, Aeth::new(Syndrome::Ack(31), msn))
    }

    pub(crate) fn nak(&mut self, way: Way, psn: u32, msn: u32) -> &mut Self {
        self.answer(way, psn, Aeth::new(Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR), msn))
    }

    pub(crate) fn rnr(&mut self, way: Way, psn: u32, timer: u8) -> &mut Self {
        self.answer(way, psn, Aeth::new(Syndrome::RnrNak(timer), 0))
    }

    fn answer(&mut self, way: Way, psn: u32, aeth: Aeth) -> &mut Self {
        self.facts_at(way, Facts { aeth, payload: 0, ..Self::facts(way, ACK, psn) })
    }

    pub(crate) fn facts_at(&mut self, way: Way, facts: Facts) -> &mut Self {
        self.packet(way, facts, Icrc::Ok)
    }

    /// A frame with more than facts.
    pub(crate) fn detail(&mut self, way: Way, facts: Facts, detail: &Detail) -> &mut Self {
        let packet = self.next(way, facts, Icrc::Ok);
        self.engine.packet(&packet);
        self.engine.detail(&packet, detail);
        self
    }

    pub(crate) fn packet(&mut self, way: Way, facts: Facts, icrc: Icrc) -> &mut Self {
        let packet = self.next(way, facts, icrc);
        self.engine.packet(&packet);
        self
    }

    fn next(&mut self, way: Way, facts: Facts, icrc: Icrc) -> Packet {
        self.frame += 1;
        self.now += 10_000;
        Packet {
            frame: FrameNo::new(0, self.frame),
            at: Nanos(self.now),
            wire: Bytes(self.wire),
            iface: way.iface,
            strand: way.strand,
            facts,
            icrc,
        }
    }

    pub(crate) fn wait(&mut self, ns: u64) -> &mut Self {
        self.now += ns;
        self
    }

    pub(crate) fn engine(self) -> Engine {
        Engine::merge(vec![self.engine])
    }

    pub(crate) fn finish(self) -> Seen {
        let engine = self.engine();
        let ledger = Ledger::new(&engine, Vec::new());
        Seen {
            totals: ledger.totals(),
            flows: ledger.flows().collect(),
            connections: ledger.connections().collect(),
            exchanges: ledger.exchanges().collect(),
            findings: ledger.findings().list,
        }
    }
}

/// What the engine made of it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) totals: TotalsReport,
    pub(crate) flows: Vec<FlowReport>,
    pub(crate) connections: Vec<ConnectionReport>,
    pub(crate) exchanges: Vec<ExchangeReport>,
    pub(crate) findings: Vec<Finding>,
}

impl Seen {
    /// Codes of the findings of this severity and above, in their order by code.
    pub(crate) fn codes(&self, least: Severity) -> Vec<&'static str> {
        let mut codes: Vec<_> = self.findings.iter().filter(|f| f.severity >= least).map(|f| f.code).collect();
        codes.sort_unstable();
        codes
    }

    /// The only finding with this code.
    pub(crate) fn found(&self, code: &str) -> &Finding {
        let found: Vec<_> = self.findings.iter().filter(|f| f.code == code).collect();
        assert_eq!(found.len(), 1, "{code}: {:?}", self.codes(Severity::Info));
        found[0]
    }
}
