//! The walker on sample frames: every encapsulation, every rule of length and depth.

use rocetop_parsers::cut::{Cut, Layer};
use rocetop_parsers::facts::{Flags, Tunnel};
use rocetop_parsers::ib::lrh::Lnh;
use rocetop_parsers::link::ethernet::EtherType;
use rocetop_parsers::link::pause::Pause;
use rocetop_parsers::net::ipv6::{Extension, Ipv6};
use rocetop_parsers::net::protocol::{Protocol, port};
use rocetop_parsers::net::udp::Udp;
use rocetop_parsers::{Addr, Class, Facts, Link, dissect};

use crate::frames::*;

fn walk(bytes: &[u8]) -> Result<Facts, Cut> {
    dissect::<2, _>(bytes, Link::Ethernet)
}

/// `payload` after Ethernet and IPv4 with another total length.
fn with_total(total: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = ethernet(EtherType::IPV4, &ipv4(SRC, DST, Protocol::UDP, payload));
    bytes[16..18].copy_from_slice(&total.to_be_bytes());
    bytes
}

#[test]
fn every_sample() {
    for Sample { name, link, bytes, class, tunnel, trailer } in samples() {
        let facts = dissect::<2, _>(&bytes[..], link).unwrap_or_else(|cut| panic!("{name}: {cut}"));
        assert_eq!((facts.class, facts.tunnel), (class, tunnel), "{name}");
        let end = bytes.len() - trailer;
        assert_eq!(facts.end as usize, end, "{name}");
        assert!(!facts.flags.has(Flags::CUT), "{name}");
        if class == Class::Pause {
            assert_eq!(facts.l3, 14, "{name}");
            assert!(Pause::load(&bytes[..], facts.l3.into()).unwrap().is_some(), "{name}");
            continue;
        }
        assert_eq!(usize::from(facts.bth), end - ROCE_LEN, "{name}");
        assert_eq!((facts.opcode, facts.dst_qp), (BTH.opcode(), BTH.dst_qp()), "{name}");
        assert_eq!((facts.psn, facts.pkey), (BTH.psn(), BTH.pkey()), "{name}");
        assert!(facts.flags.has(Flags::ACK_REQ), "{name}");
        if facts.src.as_lid().is_some() {
            assert_eq!((facts.src, facts.dst, facts.ttl), (Addr::lid(23), Addr::lid(3), 0), "{name}");
            assert_eq!(usize::from(facts.l3) + 8, usize::from(facts.bth), "{name}");
            continue;
        }
        let v4 = facts.src.as_v4().is_some();
        let expected = if v4 { (Addr::v4(SRC), Addr::v4(DST)) } else { (SRC6, DST6) };
        assert_eq!((facts.src, facts.dst), expected, "{name}");
        assert_eq!((facts.tos, facts.ttl), (0x1a, 63), "{name}");
        assert_eq!(facts.flags.has(Flags::IPV6), !v4 && class == Class::RoceV2, "{name}");
        assert_eq!(facts.sport, if class == Class::RoceV2 { 0xc001 } else { 0 }, "{name}");
        let version = bytes[usize::from(facts.l3)] >> 4;
        assert_eq!(version, if v4 { 4 } else { 6 }, "{name}");
    }
}

#[test]
fn keeps_the_innermost_tag() {
    let tags = ["VLAN", "QinQ", "old QinQ", "GRE Ethernet", "ERSPAN II", "VXLAN", "MPLS Ethernet"];
    for Sample { name, link, bytes, .. } in samples() {
        let facts = dissect::<2, _>(&bytes[..], link).unwrap();
        let expected = if tags.contains(&name) { (3 << 13 | 100, true) } else { (0, false) };
        assert_eq!((facts.vlan, facts.flags.has(Flags::VLAN)), expected, "{name}");
    }
    let datagram = udp(port::ROCE_V2, &roce());
    let v4 = ipv4(SRC, DST, Protocol::UDP, &datagram);
    let before_mpls = ethernet(EtherType::VLAN, &vlan(5, 9, EtherType::MPLS, &mpls(&v4)[14..]));
    assert_eq!(walk(&before_mpls).unwrap().vlan, 5 << 13 | 9, "a tag before a label stack still holds");
    let mut outside = vlan(5, 9, EtherType::IPV4, &gre(EtherType::IPV4, &v4)[14..]);
    outside = ethernet(EtherType::VLAN, &outside);
    assert_eq!(walk(&outside).unwrap().vlan, 0, "a tag outside a tunnel does not");
    let three = vlan(1, 1, EtherType::VLAN, &vlan(1, 2, EtherType::VLAN, &vlan(1, 3, EtherType::IPV4, &v4)));
    assert_eq!(walk(&ethernet(EtherType::QINQ, &three)).unwrap().class, Class::Other);
}

#[test]
fn depth_limits_encapsulations() {
    for Sample { name, link, bytes, class, tunnel, .. } in samples() {
        let facts = dissect::<0, _>(&bytes[..], link).unwrap();
        let expected = if tunnel == Tunnel::None { class } else { Class::Other };
        assert_eq!((facts.class, facts.tunnel), (expected, Tunnel::None), "{name}");
        let facts = dissect::<1, _>(&bytes[..], link).unwrap();
        let expected = if name == "VXLAN in ERSPAN II" { Class::Other } else { class };
        assert_eq!(facts.class, expected, "{name}");
    }
}

#[test]
fn outer_facts_when_there_is_no_roce_inside() {
    let datagram = ethernet(EtherType::IPV4, &ipv4(SRC, DST, Protocol::UDP, &udp(53, &[0; 40])));
    let pfc = ethernet(EtherType::MAC_CONTROL, &Pause::pfc().bytes());
    for inner in [datagram.clone(), ethernet(EtherType::ARP, &[0; 46]), vxlan(port::VXLAN, &datagram), pfc] {
        for bytes in [erspan2(&inner), vxlan(port::VXLAN, &inner), geneve(EtherType::BRIDGED, &inner)] {
            let facts = walk(&bytes).unwrap();
            assert_eq!((facts.class, facts.tunnel), (Class::Other, Tunnel::None));
            assert_eq!((facts.src, facts.dst), (Addr::v4(OUTER_SRC), Addr::v4(OUTER_DST)));
            assert_eq!((facts.l3, facts.end as usize), (14, bytes.len()));
        }
    }
    let facts = walk(&mpls(&datagram[14..])).unwrap();
    assert_eq!((facts.class, facts.src), (Class::Other, Addr::v4(SRC)), "a label stack has no addresses of its own");
}

#[test]
fn tunnels_that_are_none() {
    let other = |bytes: Vec<u8>| {
        let facts = walk(&bytes).unwrap();
        assert_eq!((facts.class, facts.src), (Class::Other, Addr::v4(OUTER_SRC)));
    };
    let at = 14 + 20; // of the header after the outer IPv4
    for (bit, byte) in [(0x40u8, 0), (1, 1)] {
        let mut gre = gre(EtherType::BRIDGED, &plain());
        gre[at + byte] |= bit; // a source route; version 1
        other(gre);
    }
    let mut erspan = erspan2(&plain());
    erspan[at + 8] ^= 0x30; // a version that type II has not
    other(erspan);
    other(erspan3(false, 5, &plain()));
    let mut vxlan = vxlan(port::VXLAN, &plain());
    vxlan[at + 8] = 0; // no I flag
    other(vxlan);
    for (bit, byte) in [(0x40u8, 0), (0x80, 1)] {
        let mut geneve = geneve(EtherType::BRIDGED, &plain());
        geneve[at + 8 + byte] |= bit; // version 1; a control packet
        other(geneve);
    }
    // Datagrams and packets with no room for the tunnel's header.
    other(outer(Protocol::UDP, &udp(port::VXLAN, &[8; 7])));
    other(outer(Protocol::UDP, &udp(port::GENEVE, &[0; 7])));
    other(outer(Protocol::GRE, &[0; 3]));
}

#[test]
fn what_is_no_roce() {
    let icmp_error = [&[3, 3, 0, 0, 0, 0, 0, 0][..], &plain()[14..]].concat();
    for (protocol, payload) in [(Protocol::TCP, &[0; 40][..]), (Protocol(1), &icmp_error), (Protocol::GRE, &[0; 8])] {
        let facts = walk(&ethernet(EtherType::IPV4, &ipv4(SRC, DST, protocol, payload))).unwrap();
        assert_eq!((facts.class, facts.src, facts.dst), (Class::Other, Addr::v4(SRC), Addr::v4(DST)));
        assert_eq!((facts.tos, facts.ttl, facts.bth), (0x1a, 63, 0));
        assert_eq!(facts.protocol, if protocol == Protocol::GRE { 0 } else { protocol.0 });
    }
    let dns = ethernet(EtherType::IPV4, &ipv4(SRC, DST, Protocol::UDP, &udp(53, &[0; 40])));
    assert_eq!(walk(&dns).unwrap().protocol, 17);
    assert_eq!(walk(&plain()).unwrap().protocol, 0);
    for ethertype in [EtherType::ARP, EtherType(0x88cc), EtherType(46)] {
        assert_eq!(walk(&ethernet(ethertype, &[0; 46])), Ok(Facts::default()));
    }
    assert_eq!(walk(&ethernet(EtherType::MAC_CONTROL, &[0, 2, 0, 0])), Ok(Facts::default()), "MPCP GATE");
    // From port 4791 is not to port 4791.
    let mut reply = udp(53, &roce());
    reply[..2].copy_from_slice(&4791u16.to_be_bytes());
    assert_eq!(walk(&ethernet(EtherType::IPV4, &ipv4(SRC, DST, Protocol::UDP, &reply))).unwrap().class, Class::Other);
    for lnh in [Lnh::RawEtherType, Lnh::RawIpv6] {
        assert_eq!(dissect::<2, _>(&lrh(lnh, &roce())[..], Link::Infiniband).unwrap().class, Class::Other);
    }
    let mut raw = ethernet(EtherType::ROCE_V1, &grh(&roce()));
    raw[14 + 6] = 17;
    assert_eq!(walk(&raw).unwrap().class, Class::Other, "a GRH before something else");
}

#[test]
fn fragments_are_other() {
    for (flags, class) in
        [(0x2000u16, Class::Other), (1, Class::Other), (0x2001, Class::Other), (0x4000, Class::RoceV2)]
    {
        let mut bytes = plain();
        bytes[20..22].copy_from_slice(&flags.to_be_bytes());
        let facts = walk(&bytes).unwrap();
        assert_eq!((facts.class, facts.src), (class, Addr::v4(SRC)), "{flags:#x}");
    }
    for (offset, more, class) in [(0, true, Class::Other), (8, false, Class::Other), (0, false, Class::RoceV2)] {
        let fragment = Extension::new(Protocol::FRAGMENT, Protocol::UDP, 0).with_fragment(offset, more).bytes();
        let payload = [&fragment[..], &[0; 4], &udp(port::ROCE_V2, &roce())].concat();
        let facts = walk(&ethernet(EtherType::IPV6, &ipv6(Protocol::FRAGMENT, &payload))).unwrap();
        assert_eq!((facts.class, facts.src), (class, SRC6), "offset {offset} more {more}");
    }
}

#[test]
fn a_datagram_needs_room_for_bth_and_icrc() {
    for len in 0..=20 {
        let payload = &roce()[..len];
        let expected = if len < 16 { Class::Other } else { Class::RoceV2 };
        let datagram = udp(port::ROCE_V2, payload);
        // Short by its own length; by the UDP length alone, with padding; by the IP length alone.
        let mut padded = ethernet(EtherType::IPV4, &ipv4(SRC, DST, Protocol::UDP, &datagram));
        padded.extend([0; 40]);
        let facts = walk(&padded).unwrap();
        assert_eq!((facts.class, facts.end as usize), (expected, 42 + len));
        let by_udp = ethernet(EtherType::IPV4, &ipv4(SRC, DST, Protocol::UDP, &[&datagram[..], &[0; 40]].concat()));
        let facts = walk(&by_udp).unwrap();
        assert_eq!((facts.class, facts.end as usize), (expected, 42 + len));
        let by_ip = with_total(28 + len as u16, &udp(port::ROCE_V2, &[roce(), roce()].concat()));
        let facts = walk(&by_ip).unwrap();
        assert_eq!((facts.class, facts.end as usize), (expected, 42 + len));
        // RoCEv1 and native packets by theirs.
        assert_eq!(
            walk(&ethernet(EtherType::ROCE_V1, &grh(payload))).unwrap().class,
            match expected {
                Class::RoceV2 => Class::RoceV1,
                other => other,
            }
        );
    }
    for len in [0, 4, 8, 12] {
        let bytes = lrh(Lnh::Local, &roce()[..len]);
        assert_eq!(dissect::<2, _>(&bytes[..], Link::Infiniband).unwrap().class, Class::Other);
    }
}

#[test]
fn lengths_that_are_left_open() {
    // Total length 0: the capture's end is the packet's.
    let facts = walk(&with_total(0, &udp(port::ROCE_V2, &roce()))).unwrap();
    assert_eq!((facts.class, facts.end as usize), (Class::RoceV2, 42 + ROCE_LEN));
    let mut bytes = with_total(0, &udp(port::ROCE_V2, &roce()));
    bytes[38..40].copy_from_slice(&[0, 0]);
    assert_eq!(walk(&bytes).unwrap().end as usize, 42 + ROCE_LEN, "and the datagram's");
    bytes[16..18].copy_from_slice(&52u16.to_be_bytes());
    assert_eq!(walk(&bytes), Err(Cut::new(Layer::Udp, 34, 8, 0)), "but not in a packet that has a length");
    let v6 = Ipv6::new(SRC6.0, DST6.0, Protocol::UDP, 0).bytes();
    let bytes = ethernet(EtherType::IPV6, &[&v6[..], &udp(port::ROCE_V2, &roce())].concat());
    let facts = walk(&bytes).unwrap();
    assert_eq!((facts.class, facts.end as usize), (Class::RoceV2, bytes.len()));
    let none = Ipv6::new(SRC6.0, DST6.0, Protocol::NONE, 0).bytes();
    let facts = walk(&ethernet(EtherType::IPV6, &[&none[..], &[0; 6]].concat())).unwrap();
    assert_eq!((facts.class, facts.end), (Class::Other, 54));
}

#[test]
fn impossible_lengths() {
    for words in 0..5u8 {
        let mut bytes = plain();
        bytes[14] = 0x40 | words;
        assert_eq!(walk(&bytes), Err(Cut::new(Layer::Ipv4, 14, 20, usize::from(words) * 4)));
    }
    for total in 1..20 {
        assert_eq!(walk(&with_total(total, &roce())), Err(Cut::new(Layer::Ipv4, 14, 20, total.into())));
    }
    for total in 20..28 {
        let cut = Cut::new(Layer::Udp, 34, 8, usize::from(total) - 20);
        assert_eq!(walk(&with_total(total, &udp(port::ROCE_V2, &roce()))), Err(cut));
    }
    for length in 1..8u16 {
        let header = Udp::new(1, port::ROCE_V2, 0).with_length(length).bytes();
        let bytes = ethernet(EtherType::IPV4, &ipv4(SRC, DST, Protocol::UDP, &[&header[..], &roce()].concat()));
        assert_eq!(walk(&bytes), Err(Cut::new(Layer::Udp, 34, 8, length.into())));
    }
    // An extension header that is longer than its packet, with bytes after it.
    let long = Extension::new(Protocol::DESTINATION, Protocol::UDP, 255).bytes();
    let mut bytes = ethernet(EtherType::IPV6, &ipv6(Protocol::DESTINATION, &[&long[..], &roce()].concat()));
    bytes.resize(4000, 0);
    assert_eq!(walk(&bytes), Err(Cut::new(Layer::Ipv6Extension, 54, 2048, 4 + ROCE_LEN)));
    // A GRH in a packet that is shorter.
    let mut bytes = lrh(Lnh::Global, &grh(&roce()));
    bytes[5] = 4;
    let cut = Cut::new(Layer::Grh, 8, 40, 8);
    assert_eq!(dissect::<2, _>(&bytes[..], Link::Infiniband), Err(cut));
    bytes[5] = 1;
    assert_eq!(dissect::<2, _>(&bytes[..], Link::Infiniband), Err(Cut::new(Layer::Lrh, 0, 8, 4)));
}

#[test]
fn more_extensions_than_are_looked_at() {
    let datagram = udp(port::ROCE_V2, &roce());
    for count in 0..8 {
        let mut next = Protocol::UDP;
        let mut payload = datagram.clone();
        for _ in 0..count {
            payload = extension(Protocol::DESTINATION, next, &payload);
            next = Protocol::DESTINATION;
        }
        let facts = walk(&ethernet(EtherType::IPV6, &ipv6(next, &payload))).unwrap();
        let expected = if count <= Ipv6::EXTENSIONS { Class::RoceV2 } else { Class::Other };
        assert_eq!((facts.class, facts.src), (expected, SRC6), "{count} extensions");
    }
}

#[test]
fn nothing_past_the_outer_packet_belongs_to_the_inner() {
    // The mirror cut the inner frame at 64 bytes and the outer network padded what came of it.
    let cut_by_mirror = erspan2(&plain()[..64]);
    let padded = [&cut_by_mirror[..], &[0; 30]].concat();
    let facts = walk(&padded).unwrap();
    assert_eq!((facts.class, facts.tunnel), (Class::RoceV2, Tunnel::Erspan2));
    assert!(facts.flags.has(Flags::CUT));
    assert_eq!(facts.end as usize, cut_by_mirror.len() + plain().len() - 64);
    // Cut inside the BTH.
    let padded = [&erspan2(&plain()[..50])[..], &[0; 30]].concat();
    let bth = 14 + 20 + 8 + 8 + 42;
    assert_eq!(walk(&padded), Err(Cut::new(Layer::Bth, bth, 12, 8)));
}

#[test]
fn one_label_stack_a_level() {
    let v4 = ipv4(SRC, DST, Protocol::UDP, &udp(port::ROCE_V2, &roce()));
    // One stack before the tunnel and one in it.
    let facts = walk(&mpls(&gre(EtherType::MPLS, &mpls(&v4)[14..])[14..])).unwrap();
    assert_eq!((facts.class, facts.tunnel, facts.src), (Class::RoceV2, Tunnel::Mpls, Addr::v4(SRC)));
    // A stack straight in a stack's Ethernet.
    let facts = walk(&mpls(&[&[0; 4], &mpls(&v4)[..]].concat())).unwrap();
    assert_eq!((facts.class, facts.src), (Class::Other, Addr::default()));
}

#[test]
fn the_shorter_of_two_lengths() {
    // The LRH ends the packet 4 bytes before its GRH does.
    let mut bytes = lrh(Lnh::Global, &grh(&roce()));
    bytes[5] -= 1;
    let facts = dissect::<2, _>(&bytes[..], Link::Infiniband).unwrap();
    assert_eq!((facts.class, facts.end as usize), (Class::Infiniband, 8 + 40 + ROCE_LEN - 4));
    // And the other way round.
    let mut bytes = lrh(Lnh::Global, &grh(&roce()));
    bytes[8 + 5] -= 4;
    let facts = dissect::<2, _>(&bytes[..], Link::Infiniband).unwrap();
    assert_eq!((facts.class, facts.end as usize), (Class::Infiniband, 8 + 40 + ROCE_LEN - 4));
}

#[test]
fn interface_of_a_cooked_capture() {
    for Sample { name, link, bytes, .. } in samples() {
        let facts = dissect::<2, _>(&bytes[..], link).unwrap();
        assert_eq!(facts.ifindex, if name == "SLL2" { 3 } else { 0 }, "{name}");
    }
}
