//! Sample frames of every kind the walker knows, built by the parsers' own builders.

use rocetop_parsers::facts::Tunnel;
use rocetop_parsers::ib::bth::Bth;
use rocetop_parsers::ib::grh::Grh;
use rocetop_parsers::ib::lrh::{Lnh, Lrh};
use rocetop_parsers::ib::opcode::Opcode;
use rocetop_parsers::link::erf::{self, Erf};
use rocetop_parsers::link::ethernet::{EtherType, Ethernet, Mac};
use rocetop_parsers::link::mpls::Mpls;
use rocetop_parsers::link::pause::Pause;
use rocetop_parsers::link::sll::{Direction, Sll1, Sll2};
use rocetop_parsers::link::vlan::Vlan;
use rocetop_parsers::net::erspan::Erspan;
use rocetop_parsers::net::geneve::Geneve;
use rocetop_parsers::net::gre::Gre;
use rocetop_parsers::net::ipv4::Ipv4;
use rocetop_parsers::net::ipv6::{Extension, Ipv6};
use rocetop_parsers::net::protocol::{Protocol, port};
use rocetop_parsers::net::udp::Udp;
use rocetop_parsers::net::vxlan::Vxlan;
use rocetop_parsers::{Addr, Class, Link, Psn, Qpn};

/// Addresses of the innermost packet; tunnels run between the outer ones.
pub(crate) const SRC: [u8; 4] = [10, 9, 1, 1];
pub(crate) const DST: [u8; 4] = [10, 9, 1, 2];
pub(crate) const OUTER_SRC: [u8; 4] = [192, 0, 2, 1];
pub(crate) const OUTER_DST: [u8; 4] = [192, 0, 2, 2];
pub(crate) const SRC6: Addr = Addr([0xfd, 9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
pub(crate) const DST6: Addr = Addr([0xfd, 9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);

/// The BTH of every sample.
pub(crate) const BTH: Bth = Bth::new(Opcode(0x04), Qpn(19), Psn::new(0xba_5245)).with_ack_req(true);
/// Bytes of [`roce`].
pub(crate) const ROCE_LEN: usize = 12 + 8 + 4;

/// An RC SEND Only with 8 bytes of payload and a made-up ICRC.
pub(crate) fn roce() -> Vec<u8> {
    [&BTH.bytes()[..], &[0x5a; 8], &[1, 2, 3, 4]].concat()
}

pub(crate) fn ethernet(ethertype: EtherType, payload: &[u8]) -> Vec<u8> {
    let header = Ethernet::new(Mac([2, 0, 0, 0, 0, 2]), Mac([2, 0, 0, 0, 0, 1]), ethertype);
    [&header.bytes()[..], payload].concat()
}

pub(crate) fn vlan(pcp: u8, vid: u16, ethertype: EtherType, payload: &[u8]) -> Vec<u8> {
    [&Vlan::new(pcp, vid, ethertype).bytes()[..], payload].concat()
}

pub(crate) fn ipv4(src: [u8; 4], dst: [u8; 4], protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    let header = Ipv4::new(src, dst, protocol, payload.len() as u16).with_tos(0x1a).with_ttl(63).with_checksum();
    [&header.bytes()[..], payload].concat()
}

/// IPv4 with 8 bytes of options.
pub(crate) fn ipv4_options(protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    let header = Ipv4::new(SRC, DST, protocol, payload.len() as u16 + 8).with_tos(0x1a).with_ttl(63);
    [&header.with_header_words(7).bytes()[..], &[1; 8], payload].concat()
}

pub(crate) fn ipv6(next: Protocol, payload: &[u8]) -> Vec<u8> {
    let header = Ipv6::new(SRC6.0, DST6.0, next, payload.len() as u16).with_traffic_class(0x1a).with_hop_limit(63);
    [&header.bytes()[..], payload].concat()
}

/// An extension header of 8 bytes.
pub(crate) fn extension(kind: Protocol, next: Protocol, payload: &[u8]) -> Vec<u8> {
    [&Extension::new(kind, next, 0).bytes()[..], &[0; 4], payload].concat()
}

pub(crate) fn udp(dst_port: u16, payload: &[u8]) -> Vec<u8> {
    [&Udp::new(0xc001, dst_port, payload.len() as u16).bytes()[..], payload].concat()
}

/// The plain case: Ethernet, IPv4, UDP, RoCE.
pub(crate) fn plain() -> Vec<u8> {
    ethernet(EtherType::IPV4, &ipv4(SRC, DST, Protocol::UDP, &udp(port::ROCE_V2, &roce())))
}

/// `payload` in an outer IPv4 packet.
pub(crate) fn outer(protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    ethernet(EtherType::IPV4, &ipv4(OUTER_SRC, OUTER_DST, protocol, payload))
}

pub(crate) fn gre(protocol: EtherType, payload: &[u8]) -> Vec<u8> {
    outer(Protocol::GRE, &[&Gre::new(protocol).bytes()[..], payload].concat())
}

pub(crate) fn gre_full(protocol: EtherType, payload: &[u8]) -> Vec<u8> {
    let header = Gre::new(protocol).with_fields(true, true, true).bytes();
    outer(Protocol::GRE, &[&header[..], &[0; 12], payload].concat())
}

pub(crate) fn erspan2(payload: &[u8]) -> Vec<u8> {
    let header = Gre::new(EtherType::ERSPAN2).with_fields(false, false, true).bytes();
    outer(Protocol::GRE, &[&header[..], &[0; 4], &Erspan::type2(5).bytes()[..8], payload].concat())
}

pub(crate) fn erspan3(platform: bool, frame_type: u8, payload: &[u8]) -> Vec<u8> {
    let header = Gre::new(EtherType::ERSPAN3).with_fields(false, false, true).bytes();
    let erspan = Erspan::type3(5, platform).with_frame_type(frame_type).bytes();
    let extra: &[u8] = if platform { &[0; 8] } else { &[] };
    outer(Protocol::GRE, &[&header[..], &[0; 4], &erspan, extra, payload].concat())
}

pub(crate) fn vxlan(dst_port: u16, payload: &[u8]) -> Vec<u8> {
    outer(Protocol::UDP, &udp(dst_port, &[&Vxlan::new(5000).bytes()[..], payload].concat()))
}

pub(crate) fn geneve(protocol: EtherType, payload: &[u8]) -> Vec<u8> {
    let header = Geneve::new(protocol, 5000).with_option_words(2).bytes();
    outer(Protocol::UDP, &udp(port::GENEVE, &[&header[..], &[0; 8], payload].concat()))
}

/// A stack of two labels.
pub(crate) fn mpls(payload: &[u8]) -> Vec<u8> {
    let stack = [Mpls::new(17, 63).with_bottom(false).bytes(), Mpls::new(18, 63).bytes()].concat();
    ethernet(EtherType::MPLS, &[&stack, payload].concat())
}

pub(crate) fn grh(payload: &[u8]) -> Vec<u8> {
    let header = Grh::new(SRC6, DST6, payload.len() as u16).with_traffic_class(0x1a).with_hop_limit(63);
    [&header.bytes()[..], payload].concat()
}

/// A native packet with its VCRC.
pub(crate) fn lrh(lnh: Lnh, payload: &[u8]) -> Vec<u8> {
    let header = Lrh::new(23, 3, lnh, (Lrh::LEN + payload.len()) as u16 / 4);
    [&header.bytes()[..], payload, &[0xee; 2]].concat()
}

/// A record with one extension header.
pub(crate) fn erf(kind: erf::Kind, payload: &[u8]) -> Vec<u8> {
    let pad: &[u8] = if kind.is_ethernet() { &[0; Erf::ETHERNET_PAD] } else { &[] };
    let record = Erf::LEN + Erf::EXTENSION_LEN + pad.len() + payload.len();
    let header = Erf::new(kind, record as u16, payload.len() as u16).with_extended(true);
    [&header.bytes()[..], &[0; 8], pad, payload].concat()
}

/// A frame and what the walker is to make of it with a depth of 2.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) link: Link,
    pub(crate) bytes: Vec<u8>,
    pub(crate) class: Class,
    pub(crate) tunnel: Tunnel,
    /// Bytes after the ICRC.
    pub(crate) trailer: usize,
}

/// One frame of every kind.
pub(crate) fn samples() -> Vec<Sample> {
    let sample = |name, link, bytes, class, tunnel| Sample { name, link, bytes, class, tunnel, trailer: 0 };
    let v2 = |name, bytes| sample(name, Link::Ethernet, bytes, Class::RoceV2, Tunnel::None);
    let via = |name, tunnel, bytes| sample(name, Link::Ethernet, bytes, Class::RoceV2, tunnel);
    let native =
        |name, link, bytes| Sample { trailer: 2, ..sample(name, link, bytes, Class::Infiniband, Tunnel::None) };
    let datagram = udp(port::ROCE_V2, &roce());
    let v4 = ipv4(SRC, DST, Protocol::UDP, &datagram);
    let v6 = ipv6(Protocol::UDP, &datagram);
    let chain = extension(
        Protocol::HOP_BY_HOP,
        Protocol::ROUTING,
        &extension(
            Protocol::ROUTING,
            Protocol::FRAGMENT,
            &extension(Protocol::FRAGMENT, Protocol::AH, &extension(Protocol::AH, Protocol::UDP, &datagram)),
        ),
    );
    let tagged = ethernet(EtherType::VLAN, &vlan(3, 100, EtherType::IPV4, &v4));
    let mut padded = plain();
    padded.extend([0; 20]);
    let pfc = Pause::pfc().with_class(3, 0xffff).bytes();
    let global = Pause::global(7).bytes();
    vec![
        v2("IPv4", plain()),
        Sample { trailer: 20, ..v2("IPv4 with a trailer", padded) },
        v2("IPv4 options", ethernet(EtherType::IPV4, &ipv4_options(Protocol::UDP, &datagram))),
        v2("IPv6", ethernet(EtherType::IPV6, &v6)),
        v2("IPv6 extensions", ethernet(EtherType::IPV6, &ipv6(Protocol::HOP_BY_HOP, &chain))),
        v2("VLAN", tagged.clone()),
        v2("QinQ", ethernet(EtherType::QINQ, &vlan(1, 7, EtherType::VLAN, &vlan(3, 100, EtherType::IPV6, &v6)))),
        v2(
            "old QinQ",
            ethernet(EtherType::QINQ_OLD, &vlan(1, 7, EtherType::VLAN, &vlan(3, 100, EtherType::IPV4, &v4))),
        ),
        sample("raw IPv4", Link::RawIp, v4.clone(), Class::RoceV2, Tunnel::None),
        sample("raw IPv6", Link::RawIp, v6.clone(), Class::RoceV2, Tunnel::None),
        sample(
            "SLL",
            Link::LinuxCooked1,
            [&Sll1::new(Direction::TO_US, EtherType::IPV4).bytes()[..], &v4].concat(),
            Class::RoceV2,
            Tunnel::None,
        ),
        sample(
            "SLL2",
            Link::LinuxCooked2,
            [&Sll2::new(Direction::TO_US, EtherType::IPV6, 3).bytes()[..], &v6].concat(),
            Class::RoceV2,
            Tunnel::None,
        ),
        sample("NULL", Link::BsdNull, [&[2, 0, 0, 0][..], &v4].concat(), Class::RoceV2, Tunnel::None),
        sample("NULL, macOS", Link::BsdNull, [&[30, 0, 0, 0][..], &v6].concat(), Class::RoceV2, Tunnel::None),
        sample("LOOP", Link::BsdLoop, [&[0, 0, 0, 24][..], &v6].concat(), Class::RoceV2, Tunnel::None),
        sample("ERF Ethernet", Link::Erf, erf(erf::Kind::ETHERNET, &plain()), Class::RoceV2, Tunnel::None),
        sample("ERF IPv4", Link::Erf, erf(erf::Kind::IPV4, &v4), Class::RoceV2, Tunnel::None),
        native("ERF InfiniBand", Link::Erf, erf(erf::Kind::INFINIBAND, &lrh(Lnh::Local, &roce()))),
        native("LRH", Link::Infiniband, lrh(Lnh::Local, &roce())),
        native("LRH and GRH", Link::Infiniband, lrh(Lnh::Global, &grh(&roce()))),
        sample("RoCEv1", Link::Ethernet, ethernet(EtherType::ROCE_V1, &grh(&roce())), Class::RoceV1, Tunnel::None),
        sample("PFC", Link::Ethernet, ethernet(EtherType::MAC_CONTROL, &pfc), Class::Pause, Tunnel::None),
        Sample {
            trailer: 16,
            ..sample("pause", Link::Ethernet, ethernet(EtherType::MAC_CONTROL, &global), Class::Pause, Tunnel::None)
        },
        via("GRE IPv4", Tunnel::Gre, gre(EtherType::IPV4, &v4)),
        via("GRE IPv6, all fields", Tunnel::Gre, gre_full(EtherType::IPV6, &v6)),
        via("GRE Ethernet", Tunnel::Gre, gre(EtherType::BRIDGED, &tagged)),
        via("ERSPAN I", Tunnel::Erspan1, gre(EtherType::ERSPAN2, &plain())),
        via("ERSPAN II", Tunnel::Erspan2, erspan2(&tagged)),
        via("ERSPAN III", Tunnel::Erspan3, erspan3(false, 0, &plain())),
        via("ERSPAN III, platform part", Tunnel::Erspan3, erspan3(true, 0, &plain())),
        via("ERSPAN III, IP", Tunnel::Erspan3, erspan3(false, 2, &v6)),
        via("VXLAN", Tunnel::Vxlan, vxlan(port::VXLAN, &tagged)),
        via("VXLAN, Linux port", Tunnel::Vxlan, vxlan(port::VXLAN_LINUX, &plain())),
        via("GENEVE Ethernet", Tunnel::Geneve, geneve(EtherType::BRIDGED, &plain())),
        via("GENEVE IPv4", Tunnel::Geneve, geneve(EtherType::IPV4, &v4)),
        via("MPLS IPv4", Tunnel::Mpls, mpls(&v4)),
        via("MPLS IPv6", Tunnel::Mpls, mpls(&v6)),
        via("MPLS Ethernet", Tunnel::Mpls, mpls(&[&[0; 4], &tagged[..]].concat())),
        via("VXLAN in ERSPAN II", Tunnel::Vxlan, erspan2(&vxlan(port::VXLAN, &plain()))),
        via("MPLS in ERSPAN II", Tunnel::Mpls, erspan2(&mpls(&v4))),
        via("GRE in MPLS", Tunnel::Gre, mpls(&gre(EtherType::IPV4, &v4)[14..])),
    ]
}
