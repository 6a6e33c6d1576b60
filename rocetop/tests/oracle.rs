//! A second reader of the outer headers, over real captures: etherparse and the walker must see the same.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails like a test")]

#[path = "kit/captures.rs"]
mod captures;

use std::path::Path;

use etherparse::{LaxLinkExtSlice, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use rocetop::source::Timeline;
use rocetop_parsers::facts::Flags;
use rocetop_parsers::{Class, Facts, Link, dissect};

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Compared {
    captures: u64,
    frames: u64,
    ipv4: u64,
    ipv6: u64,
    tags: u64,
    udp: u64,
    rocev2: u64,
    others: u64,
}

impl Compared {
    /// Compares the outer headers of one Ethernet frame.
    fn frame(&mut self, bytes: &[u8], facts: &Facts) {
        self.frames += 1;
        let read = LaxSlicedPacket::from_ethernet(bytes).unwrap();
        let mut tags = read.link_exts.iter().filter_map(|ext| match ext {
            LaxLinkExtSlice::Vlan(tag) => Some((tag.priority_code_point().value(), tag.vlan_identifier().value())),
            _ => None,
        });
        let ours = (facts.vlan >> 13) as u8;
        assert_eq!(tags.next_back(), facts.flags.has(Flags::VLAN).then_some((ours, facts.vlan & 0xfff)));
        self.tags += u64::from(facts.flags.has(Flags::VLAN));
        let at = |part: &[u8]| part.as_ptr().addr() - bytes.as_ptr().addr();
        let (l3, ends) = match &read.net {
            Some(LaxNetSlice::Ipv4(ip)) => {
                let header = ip.header();
                assert_eq!((facts.src.as_v4(), facts.dst.as_v4()), (Some(header.source()), Some(header.destination())));
                assert_eq!(facts.tos, header.dcp().value() << 2 | header.ecn().value());
                assert_eq!(facts.ttl, header.ttl());
                assert!(!facts.flags.has(Flags::IPV6));
                self.ipv4 += 1;
                (at(header.slice()), at(header.slice()) + usize::from(header.total_len()))
            }
            Some(LaxNetSlice::Ipv6(ip)) => {
                let header = ip.header();
                assert_eq!((facts.src.0, facts.dst.0), (header.source(), header.destination()));
                assert_eq!((facts.tos, facts.ttl), (header.traffic_class(), header.hop_limit()));
                assert!(facts.flags.has(Flags::IPV6));
                self.ipv6 += 1;
                (at(header.slice()), at(header.slice()) + 40 + usize::from(header.payload_length()))
            }
            _ => {
                assert!(!facts.is_rdma() || facts.class == Class::RoceV1, "no IP for etherparse: {facts:?}");
                self.others += 1;
                return;
            }
        };
        assert_eq!((usize::from(facts.l3), facts.end as usize), (l3, ends));
        match &read.transport {
            Some(TransportSlice::Udp(udp)) => {
                assert_eq!(facts.sport, udp.source_port());
                self.udp += 1;
                if facts.class == Class::RoceV2 {
                    assert_eq!(udp.destination_port(), 4791);
                    assert_eq!(usize::from(facts.bth), at(udp.payload()));
                    self.rocev2 += 1;
                } else {
                    assert!(udp.destination_port() != 4791 || udp.length() < 8 + 16, "RoCE that was missed");
                }
            }
            _ => {
                assert_eq!(facts.class, Class::Other);
                self.others += 1;
            }
        }
    }

    /// Compares all Ethernet frames of a folder's captures.
    fn folder(folder: &Path) -> Self {
        let mut compared = Self::default();
        for capture in captures::captures(folder) {
            let mut timeline = Timeline::open(&[&capture]).unwrap();
            timeline.for_each(|frame| {
                if frame.link == Some(Link::Ethernet) {
                    compared.frame(frame.bytes, &dissect::<0, _>(frame.bytes, Link::Ethernet).unwrap());
                }
            });
            assert!(timeline.summaries()[0].complete, "{}", capture.display());
            compared.captures += 1;
        }
        compared
    }
}

#[test]
fn outer_headers_of_the_captures() {
    let compared = Compared::folder(&captures::home());
    eprintln!("{compared:?}");
    assert!(compared.frames > 6000 && compared.rocev2 > 6000, "{compared:?}");
    assert!(compared.ipv6 > 100 && compared.tags > 500, "{compared:?}");
}

/// The same over other folders, named in the environment as PATH is.
#[test]
fn outer_headers_of_other_captures() {
    let Some(folders) = std::env::var_os("ROCETOP_CAPTURES") else {
        eprintln!("left out: ROCETOP_CAPTURES names no folders");
        return;
    };
    for folder in std::env::split_paths(&folders) {
        eprintln!("{}: {:?}", folder.display(), Compared::folder(&folder));
    }
}
