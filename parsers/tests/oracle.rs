//! Random outer headers, built and read by etherparse: the walker must see the same.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a builder of test frames fails like a test")]

use etherparse::{
    EtherType, Ethernet2Header, IpAuthHeader, IpDscp, IpEcn, IpFragOffset, IpNumber, Ipv4Header, Ipv4Options,
    Ipv6FragmentHeader, Ipv6Header, Ipv6RawExtHeader, NetSlice, SingleVlanHeader, SlicedPacket, TransportSlice,
    UdpHeader,
};
use proptest::collection::vec;
use proptest::prelude::*;
use rocetop_parsers::facts::Flags;
use rocetop_parsers::{Addr, Class, Facts, Link, dissect};

/// An IP header to be built, without its payload.
#[derive(Clone, Debug)]
enum Network {
    V4 { src: [u8; 4], dst: [u8; 4], options: usize, offset: u16, more: bool },
    V6 { src: [u8; 16], dst: [u8; 16], label: u32, extensions: Vec<Extension> },
}

#[derive(Clone, Debug)]
enum Extension {
    /// Routing (43) or destination options (60), and their units of 8 bytes beyond the first.
    Raw(bool, usize),
    /// Words of its integrity check value.
    Auth(usize),
    Fragment(u16, bool),
}

/// A frame to be built.
#[derive(Clone, Debug)]
struct Plan {
    tags: Vec<(u8, u16, bool)>,
    network: Network,
    tos: u8,
    ttl: u8,
    ports: (u16, u16),
    payload: Vec<u8>,
    trailer: usize,
}

fn network() -> impl Strategy<Value = Network> {
    // One in some is a fragment.
    let offset = prop_oneof![8 => Just(0u16), 1 => 0u16..8192];
    let more = prop::bool::weighted(0.1);
    let fragment = (offset.clone(), more).prop_map(|(offset, more)| Extension::Fragment(offset, more));
    let extension = prop_oneof![
        (any::<bool>(), 0usize..20).prop_map(|(routing, units)| Extension::Raw(routing, units)),
        (1usize..20).prop_map(Extension::Auth),
        fragment,
    ];
    prop_oneof![
        (any::<[u8; 4]>(), any::<[u8; 4]>(), prop_oneof![2 => Just(0usize), 1 => 0usize..=10], offset, more)
            .prop_map(|(src, dst, options, offset, more)| Network::V4 { src, dst, options, offset, more }),
        (any::<[u8; 16]>(), any::<[u8; 16]>(), 0u32..1 << 20, vec(extension, 0..=4))
            .prop_map(|(src, dst, label, extensions)| Network::V6 { src, dst, label, extensions }),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let tag = (0u8..8, 0u16..4096, any::<bool>());
    let port = prop_oneof![6 => Just(4791u16), 1 => any::<u16>()];
    (vec(tag, 0..=2), network(), any::<u8>(), any::<u8>(), (any::<u16>(), port), vec(any::<u8>(), 0..200), 0usize..40)
        .prop_map(|(tags, network, tos, ttl, ports, payload, trailer)| Plan {
            tags,
            network,
            tos,
            ttl,
            ports,
            payload,
            trailer,
        })
}

/// The IP header with its extensions, before `payload`.
fn ip(plan: &Plan, payload: &[u8]) -> Vec<u8> {
    match &plan.network {
        Network::V4 { src, dst, options, offset, more } => {
            let mut header = Ipv4Header::new(0, plan.ttl, IpNumber::UDP, *src, *dst).unwrap();
            header.dscp = IpDscp::try_new(plan.tos >> 2).unwrap();
            header.ecn = IpEcn::try_new(plan.tos & 3).unwrap();
            header.options = Ipv4Options::try_from(&vec![1; options * 4][..]).unwrap();
            header.fragment_offset = IpFragOffset::try_new(*offset).unwrap();
            header.more_fragments = *more;
            header.set_payload_len(payload.len()).unwrap();
            header.header_checksum = header.calc_header_checksum();
            [&header.to_bytes()[..], payload].concat()
        }
        Network::V6 { src, dst, label, extensions } => {
            let (mut next, mut bytes) = (IpNumber::UDP, payload.to_vec());
            for extension in extensions {
                let (number, header) = match extension {
                    Extension::Raw(routing, units) => {
                        let header = Ipv6RawExtHeader::new_raw(next, &vec![0; 6 + 8 * units]).unwrap();
                        let number =
                            if *routing { IpNumber::IPV6_ROUTE_HEADER } else { IpNumber::IPV6_DESTINATION_OPTIONS };
                        (number, header.to_bytes().to_vec())
                    }
                    Extension::Auth(words) => {
                        let header = IpAuthHeader::new(next, 1, 2, &vec![0; words * 4]).unwrap();
                        (IpNumber::AUTHENTICATION_HEADER, header.to_bytes().to_vec())
                    }
                    Extension::Fragment(offset, more) => {
                        let offset = IpFragOffset::try_new(*offset).unwrap();
                        let header = Ipv6FragmentHeader::new(next, offset, *more, 7);
                        (IpNumber::IPV6_FRAGMENTATION_HEADER, header.to_bytes().to_vec())
                    }
                };
                bytes = [header, bytes].concat();
                next = number;
            }
            let header = Ipv6Header {
                traffic_class: plan.tos,
                flow_label: (*label).try_into().unwrap(),
                payload_length: bytes.len().try_into().unwrap(),
                next_header: next,
                hop_limit: plan.ttl,
                source: *src,
                destination: *dst,
            };
            [&header.to_bytes()[..], &bytes].concat()
        }
    }
}

fn frame(plan: &Plan) -> Vec<u8> {
    let udp = UdpHeader::without_ipv4_checksum(plan.ports.0, plan.ports.1, plan.payload.len()).unwrap();
    let mut bytes = ip(plan, &[&udp.to_bytes()[..], &plan.payload].concat());
    let mut ether_type = if matches!(plan.network, Network::V4 { .. }) { EtherType::IPV4 } else { EtherType::IPV6 };
    for (depth, (pcp, vid, drop)) in plan.tags.iter().rev().enumerate() {
        let tag = SingleVlanHeader {
            pcp: (*pcp).try_into().unwrap(),
            drop_eligible_indicator: *drop,
            vlan_id: (*vid).try_into().unwrap(),
            ether_type,
        };
        bytes = [&tag.to_bytes()[..], &bytes].concat();
        ether_type = if depth == 0 { EtherType::VLAN_TAGGED_FRAME } else { EtherType::PROVIDER_BRIDGING };
    }
    let header = Ethernet2Header { source: [2; 6], destination: [4; 6], ether_type };
    [&header.to_bytes()[..], &bytes, &vec![0xee; plan.trailer]].concat()
}

/// Checks the facts of a whole frame against what the plan says.
fn against_plan(plan: &Plan, bytes: &[u8], facts: &Facts) -> Result<(), TestCaseError> {
    let (src, dst, v6, fragment) = match &plan.network {
        Network::V4 { src, dst, offset, more, .. } => (Addr::v4(*src), Addr::v4(*dst), false, *more || *offset != 0),
        Network::V6 { src, dst, extensions, .. } => {
            let part = |e: &Extension| matches!(e, Extension::Fragment(offset, more) if *more || *offset != 0);
            (Addr(*src), Addr(*dst), true, extensions.iter().any(part))
        }
    };
    prop_assert_eq!((facts.src, facts.dst), (src, dst));
    prop_assert_eq!((facts.tos, facts.ttl), (plan.tos, plan.ttl));
    prop_assert_eq!(facts.flags.has(Flags::IPV6), v6);
    prop_assert_eq!(facts.flags.has(Flags::VLAN), !plan.tags.is_empty());
    let tci = plan.tags.last().map_or(0, |(pcp, vid, drop)| u16::from(*pcp) << 13 | u16::from(*drop) << 12 | vid);
    prop_assert_eq!(facts.vlan, tci);
    prop_assert_eq!(usize::from(facts.l3), 14 + 4 * plan.tags.len());
    let end = bytes.len() - plan.trailer;
    prop_assert_eq!(facts.end as usize, end);
    let roce = !fragment && plan.ports.1 == 4791 && plan.payload.len() >= 16;
    prop_assert_eq!(facts.class, if roce { Class::RoceV2 } else { Class::Other });
    prop_assert_eq!(facts.sport, if fragment { 0 } else { plan.ports.0 });
    if roce {
        prop_assert_eq!(usize::from(facts.bth), end - plan.payload.len());
        prop_assert_eq!(facts.opcode.0, plan.payload[0]);
    }
    prop_assert!(!facts.flags.has(Flags::CUT));
    Ok(())
}

/// Checks the facts against what etherparse reads in the same bytes.
fn against_reader(bytes: &[u8], facts: &Facts) -> Result<(), TestCaseError> {
    let read = SlicedPacket::from_ethernet(bytes).unwrap();
    let at = |part: &[u8]| part.as_ptr().addr() - bytes.as_ptr().addr();
    match read.net.as_ref().unwrap() {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            prop_assert_eq!(facts.src.as_v4(), Some(header.source()));
            prop_assert_eq!(facts.dst.as_v4(), Some(header.destination()));
            prop_assert_eq!((facts.dscp(), facts.ecn()), (header.dcp().value(), header.ecn().value()));
            prop_assert_eq!(facts.ttl, header.ttl());
            prop_assert_eq!(usize::from(facts.l3), at(header.slice()));
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            prop_assert_eq!((facts.src.0, facts.dst.0), (header.source(), header.destination()));
            prop_assert_eq!((facts.tos, facts.ttl), (header.traffic_class(), header.hop_limit()));
            prop_assert_eq!(usize::from(facts.l3), at(header.slice()));
        }
        NetSlice::Arp(_) => prop_assert!(false, "no plan has ARP"),
    }
    let ids: Vec<u16> = read.vlan_ids().iter().map(|id| id.value()).collect();
    prop_assert_eq!(facts.vlan & 0xfff, ids.last().copied().unwrap_or_default());
    if let Some(TransportSlice::Udp(udp)) = read.transport {
        prop_assert_eq!(facts.sport, udp.source_port());
        if facts.class == Class::RoceV2 {
            prop_assert_eq!(udp.destination_port(), 4791);
            prop_assert_eq!(usize::from(facts.bth), at(udp.payload()));
            prop_assert_eq!(facts.end as usize, at(udp.payload()) + udp.payload().len());
        }
    } else {
        prop_assert_eq!(facts.class, Class::Other);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn outer_headers(plan in plan()) {
        let bytes = frame(&plan);
        // A port that tunnels use is another test's business at depth 2.
        let facts = dissect::<0, _>(&bytes[..], Link::Ethernet).unwrap();
        against_plan(&plan, &bytes, &facts)?;
        against_reader(&bytes, &facts)?;
    }

    #[test]
    fn raw_ip(plan in plan()) {
        let udp = UdpHeader::without_ipv4_checksum(plan.ports.0, plan.ports.1, plan.payload.len()).unwrap();
        let packet = ip(&plan, &[&udp.to_bytes()[..], &plan.payload].concat());
        let untagged = Plan { tags: Vec::new(), trailer: 0, ..plan };
        let raw = dissect::<0, _>(&packet[..], Link::RawIp).unwrap();
        let framed = dissect::<0, _>(&frame(&untagged)[..], Link::Ethernet).unwrap();
        let moved = Facts { end: raw.end + 14, l3: 14, bth: if raw.is_rdma() { raw.bth + 14 } else { 0 }, ..raw };
        prop_assert_eq!(moved, framed);
    }

    /// Cut anywhere, the frame is an error where the cut is, or the same facts.
    #[test]
    fn cut_anywhere(plan in plan(), had in any::<prop::sample::Index>()) {
        let bytes = frame(&plan);
        let whole = dissect::<0, _>(&bytes[..], Link::Ethernet).unwrap();
        let had = had.index(bytes.len());
        match dissect::<0, _>(&bytes[..had], Link::Ethernet) {
            Ok(facts) => {
                prop_assert_eq!((facts.class, facts.src, facts.dst), (whole.class, whole.src, whole.dst));
                prop_assert_eq!((facts.end, facts.bth, facts.sport), (whole.end, whole.bth, whole.sport));
                prop_assert_eq!(facts.flags.has(Flags::CUT), had < whole.end as usize);
            }
            Err(cut) => {
                prop_assert!(cut.offset + cut.needed > had as u32, "{} in {} bytes", cut, had);
                prop_assert_eq!(cut.had as usize, had.saturating_sub(cut.offset as usize));
            }
        }
    }
}
