//! From what a simulated tap saw to the frame on its wire: Ethernet, IPv4, UDP, BTH and what follows, with an ICRC; or
//! a PFC frame. The payload is zeros.

use rocetop_model::observe::Seen;
use rocetop_model::topology::{PortId, Topology};
use rocetop_parsers::facts::{Facts, Flags};
use rocetop_parsers::ib::bth::Bth;
use rocetop_parsers::ib::opcode::Traits;
use rocetop_parsers::ib::reth::Reth;
use rocetop_parsers::icrc;
use rocetop_parsers::link::ethernet::{EtherType, Ethernet, Mac};
use rocetop_parsers::net::ipv4::Ipv4;
use rocetop_parsers::net::protocol::{Protocol, port};
use rocetop_parsers::net::udp::Udp;

use crate::crc::Fast;

/// The ICRC (IBTA 9.8).
const ICRC: usize = 4;
/// Memory that WRITEs go to: any address does.
const MEMORY: u64 = 0x7f00_0000_0000;
const RKEY: u32 = 0x1000;

/// The address of a port: locally administered (IEEE 802, 8.4), and its number.
fn mac(port: PortId) -> Mac {
    let [a, b, c, d] = port.0.to_be_bytes();
    Mac([2, 0, a, b, c, d])
}

/// Puts the whole frame into `out`, without its FCS.
pub fn write(seen: &Seen, fabric: &Topology, out: &mut Vec<u8>) {
    out.clear();
    let (from, to) = (mac(seen.from), mac(fabric.ports()[seen.from].peer));
    if let Some(pause) = seen.pause {
        out.extend(Ethernet::new(Mac::PAUSE, from, EtherType::MAC_CONTROL).bytes());
        out.extend(pause.bytes());
        out.resize(seen.wire_len as usize, 0);
        return;
    }
    out.extend(Ethernet::new(to, from, EtherType::IPV4).bytes());
    roce(&seen.facts, out);
}

fn roce(facts: &Facts, out: &mut Vec<u8>) {
    let end = facts.end as usize;
    let datagram = end.saturating_sub(Ethernet::LEN + Ipv4::LEN);
    let carried = datagram.saturating_sub(Udp::LEN);
    let (src, dst) = (facts.src.as_v4().unwrap_or_default(), facts.dst.as_v4().unwrap_or_default());
    let ip = Ipv4::new(src, dst, Protocol::UDP, datagram as u16).with_tos(facts.tos).with_ttl(facts.ttl);
    out.extend(ip.with_checksum().bytes());
    // No UDP checksum: over IPv4 none is needed, and the ICRC does its work (RFC 768; IBTA A17.4.3).
    out.extend(Udp::new(facts.sport, port::ROCE_V2, carried as u16).bytes());
    let pad = (4 - facts.payload % 4) % 4;
    let mut bth = Bth::new(facts.opcode, facts.dst_qp, facts.psn)
        .with_ack_req(facts.flags.has(Flags::ACK_REQ))
        .with_pad(pad as u8);
    if facts.flags.has(Flags::BECN) {
        bth = bth.with_becn();
    }
    out.extend(bth.bytes());
    let traits = facts.opcode.traits();
    if traits.has(Traits::RETH) {
        let address = MEMORY + (u64::from(facts.psn.get()) << 12);
        out.extend(Reth::new(address, RKEY, facts.dma_len).bytes());
    }
    if traits.has(Traits::AETH) {
        out.extend(facts.aeth.bytes());
    }
    out.resize(end, 0);
    let icrc = icrc::compute(out, facts, &Fast).unwrap_or_default();
    if let Some(place) = out.last_chunk_mut::<ICRC>() {
        *place = icrc.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocetop_model::observe::port_of;
    use rocetop_model::scenario::{Scenario, Sink};
    use rocetop_parsers::icrc::Icrc;
    use rocetop_parsers::{Class, Detail, Link, detail, dissect};

    /// Everything that a tap saw is what the parser reads from the frame, and the frame is whole.
    #[derive(Default)]
    struct Reader {
        fabric: Option<Topology>,
        frames: usize,
        kinds: std::collections::BTreeSet<u8>,
        pauses: usize,
    }

    impl Sink for Reader {
        fn seen(&mut self, seen: &Seen) {
            let mut frame = Vec::new();
            write(seen, self.fabric.as_ref().unwrap(), &mut frame);
            let read = dissect::<1, [u8]>(&frame, Link::Ethernet).unwrap();
            assert_eq!(read, seen.facts);
            assert_eq!(frame.len(), seen.wire_len as usize);
            self.frames += 1;
            if read.class == Class::Pause {
                assert_eq!(detail(&frame[..], &read), Some(Detail::Pause(seen.pause.unwrap())));
                self.pauses += 1;
            } else {
                assert_eq!(icrc::check(&frame, &read, &Fast), Icrc::Ok);
                self.kinds.insert(read.opcode.0);
            }
        }
    }

    #[test]
    fn the_parser_reads_back_what_the_tap_saw() {
        let scenario = include_str!("../../../scenarios/lossy_marked_paused.toml");
        let mut scenario = Scenario::parse(scenario).unwrap();
        scenario.taps.push(port_of(&scenario.fabric, "t1s0-t1s1").unwrap());
        let mut reader = Reader { fabric: Some(scenario.fabric.clone()), ..Reader::default() };
        scenario.begin().unwrap().finish(&mut reader);
        // First, middle, last and only of WRITEs, ACKs and NAKs, CNPs.
        assert_eq!(reader.kinds.into_iter().collect::<Vec<_>>(), [0x06, 0x07, 0x08, 0x0a, 0x11, 0x81]);
        assert!(reader.pauses > 0 && reader.frames > 1_000, "{} {}", reader.pauses, reader.frames);
    }
}
