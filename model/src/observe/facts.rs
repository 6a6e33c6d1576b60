//! From a packet of the model to the facts of its frame on a wire.
//!
//! Every message is an RDMA WRITE of a reliable connection over IPv4; where messages need receives (`nic::ready`), a
//! SEND. Hosts have addresses 10.0.0.1, 10.0.0.2 and so on in the order of their numbers, switches 172.16.0.1 and on
//! for CNPs of their own. Switches route: a frame's TTL tells how many it has passed. Priority p is DSCP 8 p, and
//! priority 3 is DSCP 26, as most deployments have it; everything but CNPs is ECN-capable. Queue pair numbers, PSNs and
//! UDP ports are those that the model routes by.

use rocetop_parsers::facts::{Class, Facts, Flags};
use rocetop_parsers::ib::aeth::{Aeth, NakCode, Syndrome, rnr_timer_us};
use rocetop_parsers::ib::bth::Bth;
use rocetop_parsers::ib::opcode::{Opcode, Operation, Transport};
use rocetop_parsers::ib::reth::Reth;
use rocetop_parsers::link::ethernet::Ethernet;
use rocetop_parsers::link::pause::Pause;
use rocetop_parsers::net::ipv4::Ipv4;
use rocetop_parsers::net::udp::Udp;
use rocetop_parsers::{Addr, Psn};

use super::tape::{Frame, Record, Seen};
use crate::engine::State;
use crate::topology::{HostId, NodeId, PortId, SwitchId, Topology};
use crate::units::{Priorities, Priority, Time};
use crate::wire;

/// The TTL that hosts send with (Linux: `ip_default_ttl`).
const TTL: u8 = 64;
/// The default partition, full member (IBTA 10.9.1.2).
const PKEY: u16 = 0xffff;
/// No credit limit (IBTA).
const UNLIMITED: u8 = 0x1f;
/// The longest pause that a PFC frame can ask for.
const STOP: u16 = u16::MAX;
/// ECN-capable, ECT(0) (RFC 3168, section 5), and congestion experienced.
const ECT0: u8 = 2;
const CE: u8 = 3;
/// The smallest frame, without its FCS (IEEE 802.3, 4.4.2).
const SMALLEST: u32 = 60;

const L3: usize = Ethernet::LEN;
const BTH: usize = L3 + Ipv4::LEN + Udp::LEN;
const ICRC: usize = 4;

/// The address of a node, as frames have it.
#[must_use]
pub fn address_of(fabric: &Topology, node: NodeId) -> Addr {
    fabric.switch(node).map_or_else(|| address(HostId(node.0)), switch_address)
}

/// The address of a switch.
fn switch_address(switch: SwitchId) -> Addr {
    let [_, b, c, d] = (switch.0 + 1).to_be_bytes();
    Addr::v4([172, 16 | b, c, d])
}

/// The address of a host.
fn address(host: HostId) -> Addr {
    let [_, b, c, d] = (host.0 + 1).to_be_bytes();
    Addr::v4([10, b, c, d])
}

fn dscp(priority: Priority) -> u8 {
    if priority == Priority::new(3) { 26 } else { priority.number() * 8 }
}

/// Switches from `node` on, itself included, to a host.
fn switches(fabric: &Topology, mut node: NodeId, to: HostId) -> u32 {
    let mut count = 0;
    while fabric.switch(node).is_some() && count < 255 {
        count += 1;
        let hops = fabric.next_hops(node, to);
        if hops.count == 0 {
            break;
        }
        node = fabric.ports()[fabric.ports()[hops.first].peer].node;
    }
    count
}

impl State {
    /// A record as the tap's owner sees it.
    pub(super) fn seen(&self, record: &Record) -> Seen {
        let Record { at, tap, from, .. } = *record;
        if record.what == Frame::Pause {
            let (said, stop) = (Priorities(record.seq as u8), Priorities((record.seq >> 8) as u8));
            let quanta = |priority| if stop.has(priority) { STOP } else { 0 };
            let pause = said.iter().fold(Pause::pfc(), |pause, p| pause.with_class(p.number(), quanta(p)));
            let end = (L3 + Pause::LEN) as u32;
            let facts = Facts { class: Class::Pause, l3: L3 as u16, end, ..Facts::default() };
            return Seen { at, tap, from, facts, pause: Some(pause), wire_len: SMALLEST };
        }
        let facts = self.facts(record);
        Seen { at, tap, from, facts, pause: None, wire_len: facts.end }
    }

    fn facts(&self, record: &Record) -> Facts {
        let (sender, receiver) = (&self.senders[record.qp], &self.receivers[record.qp]);
        let key = sender.key;
        let there = matches!(record.what, Frame::Data | Frame::Last);
        let (src, dst, dst_qp) = if there { (key.src, key.dst, key.qp) } else { (key.dst, key.src, receiver.back) };
        // The node that made it: a host, but for CNPs of switches.
        let node = if record.what == Frame::Cnp { NodeId(record.msn) } else { src.into() };
        let ecn = match record.what {
            Frame::Cnp => 0,
            _ if record.marked => CE,
            _ => ECT0,
        };
        let mut facts = Facts {
            src: address_of(&self.fabric, node),
            dst: address(dst),
            dst_qp,
            sport: key.sport,
            pkey: PKEY,
            l3: L3 as u16,
            bth: BTH as u16,
            tos: dscp(record.priority) << 2 | ecn,
            ttl: self.ttl(record.from, node, dst),
            class: Class::RoceV2,
            flags: Flags::RESERVED_CLEAR.with(Flags::EXTENDED),
            ..Facts::default()
        };
        let nak = Syndrome::Nak(NakCode::PSN_SEQUENCE_ERROR);
        let extended = match record.what {
            Frame::Data | Frame::Last => self.request(record, &mut facts),
            Frame::Ack => {
                answer(&mut facts, record.seq.wrapping_sub(1), Aeth::new(Syndrome::Ack(UNLIMITED), record.msn))
            }
            Frame::NotReady => answer(&mut facts, record.seq, Aeth::new(self.not_ready(), record.msn)),
            Frame::Nak => answer(&mut facts, record.seq, Aeth::new(nak, record.msn)),
            // 16 reserved bytes follow its BTH, and PSN 0 is in it (IBTA annex A17).
            Frame::Cnp | Frame::Pause => {
                facts.opcode = Opcode::CNP;
                facts.flags = facts.flags.with(Flags::BECN);
                facts.payload = wire::CNP - wire::HEADERS;
                0
            }
        };
        let padded = facts.payload.next_multiple_of(4);
        facts.end = (BTH + Bth::LEN + extended + ICRC) as u32 + padded;
        facts
    }

    /// The RNR NAK whose timer comes nearest to the one that is set (IBTA 9.7.5.2.8, table 46).
    fn not_ready(&self) -> Syndrome {
        let timer = self.settings.nic.receives.map_or(0, |receives| receives.timer.0 / Time::us(1).0);
        let off = |code: &u8| u64::from(rnr_timer_us(*code)).abs_diff(timer);
        Syndrome::RnrNak((0..32).min_by_key(off).unwrap_or_default())
    }

    /// A piece of a message; returns the length of its extended headers.
    fn request(&self, record: &Record, facts: &mut Facts) -> usize {
        let flow = &self.flows[record.flow];
        let (first, last) = (record.seq == flow.first, record.what == Frame::Last);
        // Only what takes a receive can find none (RNR NAK): a WRITE without immediate data does not.
        let sends = self.settings.nic.receives.is_some();
        let operation = match (sends, first, last) {
            (false, true, true) => Operation::WRITE_ONLY,
            (false, true, false) => Operation::WRITE_FIRST,
            (false, false, false) => Operation::WRITE_MIDDLE,
            (false, false, true) => Operation::WRITE_LAST,
            (true, true, true) => Operation::SEND_ONLY,
            (true, true, false) => Operation::SEND_FIRST,
            (true, false, false) => Operation::SEND_MIDDLE,
            (true, false, true) => Operation::SEND_LAST,
        };
        facts.opcode = Opcode::of(Transport::Rc, operation);
        facts.psn = Psn::new(record.seq);
        facts.payload = record.payload;
        // Where every packet is acknowledged, every packet asks for it; else the last of a message does.
        facts.flags = facts.flags.when(last || record.asks || self.settings.nic.ack_every <= 1, Flags::ACK_REQ);
        if !first || sends {
            return 0;
        }
        // A RETH cannot tell of more than four gigabytes (IBTA 9.3.3.3: 32 bits).
        facts.dma_len = u32::try_from(flow.bytes).unwrap_or(u32::MAX);
        Reth::LEN
    }

    /// What is left of a frame's TTL when it is sent by `from`: all ways between two hosts pass as many switches.
    fn ttl(&self, from: PortId, src: NodeId, dst: HostId) -> u8 {
        let ports = self.fabric.ports();
        let next = |port: PortId| ports[ports[port].peer].node;
        let all = switches(&self.fabric, next(self.fabric.next_hops(src, dst).first), dst);
        let left = switches(&self.fabric, next(from), dst);
        TTL.saturating_sub(all.saturating_sub(left).min(255) as u8)
    }
}

fn answer(facts: &mut Facts, psn: u32, aeth: Aeth) -> usize {
    facts.opcode = Opcode::of(Transport::Rc, Operation::ACK);
    facts.psn = Psn::new(psn);
    facts.aeth = aeth;
    Aeth::LEN
}
