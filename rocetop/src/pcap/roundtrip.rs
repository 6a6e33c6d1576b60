//! Tests: what was written in any variant is what is read.

use proptest::collection::vec;
use proptest::prelude::*;
use rocetop_parsers::{Link, Nanos};

use super::forge::{End, Endian, Ng, Pcap, walk};
use super::pcapng::{self, Writer};
use super::{Decoder, Format, Interface, LinkType, Step, classic};

#[derive(Clone, Debug)]
struct Packet {
    seconds: u32,
    nanos: u32,
    more_on_wire: u32,
    data: Vec<u8>,
}

fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let packet = (1..=u32::MAX, 0..1_000_000_000u32, prop_oneof![Just(0), 0..9000u32], vec(any::<u8>(), 0..200));
    vec(packet.prop_map(|(seconds, nanos, more_on_wire, data)| Packet { seconds, nanos, more_on_wire, data }), 0..20)
}

fn endian() -> impl Strategy<Value = Endian> {
    prop_oneof![Just(Endian::Little), Just(Endian::Big)]
}

impl Packet {
    fn wire(&self) -> u32 {
        self.data.len() as u32 + self.more_on_wire
    }

    /// Its time, cut to whole multiples of `unit` nanoseconds.
    fn ts(&self, unit: u64) -> Nanos {
        Nanos((u64::from(self.seconds) * 1_000_000_000 + u64::from(self.nanos)) / unit * unit)
    }
}

/// Reads `file` whole and compares it with what was written.
fn check<'a>(
    file: &[u8],
    written: impl IntoIterator<Item = (&'a Packet, Option<Nanos>, u32)>,
) -> Result<(), TestCaseError> {
    let (records, end) = walk(file);
    prop_assert_eq!(end, End::Whole);
    let mut records = records.into_iter();
    for (packet, ts, iface) in written {
        let (record, data) = records.next().ok_or(TestCaseError::fail("too few records"))?;
        prop_assert_eq!((record.ts, record.iface, record.wire_len), (ts, iface, packet.wire()));
        prop_assert_eq!(&data, &packet.data);
    }
    prop_assert!(records.next().is_none());
    Ok(())
}

proptest! {
    #[test]
    fn classic_variants(endian in endian(), magic in 0..3usize, fcs in any::<u16>(), packets in packets()) {
        let magic = classic::MAGICS[magic];
        let unit = if magic == classic::MAGIC_NANOS { 1 } else { 1000 };
        let mut pcap = Pcap::new(endian, magic, 0, u32::from(fcs) << 16 | 101);
        for p in &packets {
            pcap.record(p.seconds, p.nanos / unit as u32, p.wire(), &p.data);
        }
        check(&pcap.bytes, packets.iter().map(|p| (p, Some(p.ts(unit)), 0)))?;
        prop_assert!(walk(&pcap.bytes).0.iter().all(|(r, _)| r.link == Some(Link::RawIp)));
    }

    /// Sections of either byte order, each with its own interfaces; blocks of other kinds in between.
    #[test]
    fn sections(sections in vec((endian(), packets(), packets(), vec(any::<u8>(), 0..100)), 1..4)) {
        let mut ng = Ng::new();
        let mut written = Vec::new();
        for (i, (endian, a, b, noise)) in (0..).zip(&sections) {
            ng.section(*endian, &[(1, noise), (3, b"Linux")]);
            ng.interface(1, 0, &[(2, b"eth0"), (9, &[9]), (11, b"\0tcp")]);
            ng.block(0x0bad, &[noise], &[(1, b"a comment")]);
            ng.interface(1, 0, &[]);
            for p in a {
                ng.enhanced(0, p.ts(1).0, p.wire(), &p.data, &[(1, noise), (2, &[0; 4])]);
                written.push((p, Some(p.ts(1)), 2 * i));
            }
            ng.block(5, &[&[0; 12]], &[]);
            for p in b {
                ng.obsolete(1, p.ts(1000).0 / 1000, p.wire(), &p.data);
                written.push((p, Some(p.ts(1000)), 2 * i + 1));
            }
        }
        check(&ng.bytes, written)?;
    }

    /// What the writer writes, with interfaces described on the way and comments of any length.
    #[test]
    fn written(
        packets in packets(), links in vec((any::<u16>(), 0..2000u32, "[a-z]{0,9}"), 1..4), comment in ".{0,40}",
    ) {
        let mut writer = Writer::create(Vec::new()).unwrap();
        let mut described = 0;
        let mut written = Vec::new();
        for (n, p) in packets.iter().enumerate() {
            let iface = (n % links.len()) as u32;
            if iface == described {
                let (link, snaplen, name) = links[n].clone();
                let interface = Interface { link_type: LinkType(link), snaplen, name: Some(name.into()) };
                prop_assert_eq!(writer.interface(&interface, Some(&comment)).unwrap(), described);
                described += 1;
            }
            let packet = pcapng::write::Packet { iface, ts: p.ts(1), wire_len: p.wire(), bytes: &p.data };
            writer.packet(&packet, std::iter::repeat_n(comment.as_str(), n % 3)).unwrap();
            written.push((p, Some(p.ts(1)), iface));
        }
        check(&writer.finish().unwrap(), written)?;
    }

    #[test]
    fn decimal_clocks(
        endian in endian(), digits in 0..=12u8, offset in -1_000_000i64..1_000_000, packets in packets(),
    ) {
        let early = |p: Packet| Packet { seconds: p.seconds % 2_000_000 + 1_000_001, ..p };
        let packets: Vec<_> = packets.into_iter().map(early).collect();
        let unit = 10u64.pow(9u32.saturating_sub(u32::from(digits)));
        let per_nano = 10u64.pow(u32::from(digits).saturating_sub(9));
        let mut ng = Ng::new();
        ng.section(endian, &[]).interface(1, 0, &[(9, &[digits]), (14, &endian.u64(offset.cast_unsigned()))]);
        for p in &packets {
            let since = p.ts(unit).0.strict_sub_signed(offset * 1_000_000_000);
            ng.enhanced(0, since / unit * per_nano, p.wire(), &p.data, &[]);
        }
        check(&ng.bytes, packets.iter().map(|p| (p, Some(p.ts(unit)), 0)))?;
    }

    #[test]
    fn binary_clocks(bits in 0..=32u8, packets in packets()) {
        let mut ng = Ng::new();
        ng.section(Endian::Big, &[]).interface(1, 0, &[(9, &[0x80 | bits])]);
        let ticks = |p: &Packet| (u128::from(p.ts(1).0) << bits) / 1_000_000_000;
        for p in &packets {
            ng.enhanced(0, ticks(p) as u64, p.wire(), &p.data, &[]);
        }
        let read = |p| Nanos(((ticks(p) * 1_000_000_000) >> bits) as u64);
        check(&ng.bytes, packets.iter().map(|p| (p, Some(read(p)), 0)))?;
    }

    #[test]
    fn simple_packets(endian in endian(), snaplen in 1..300u32, packets in packets()) {
        let packets: Vec<_> = packets.into_iter().map(|mut p| {
            p.data.truncate(snaplen as usize);
            // Less than the snap length only where the packet itself is shorter.
            p.more_on_wire *= u32::from(p.data.len() == snaplen as usize);
            p
        }).collect();
        let mut ng = Ng::new();
        ng.section(endian, &[]).interface(1, snaplen, &[]).interface(113, 0, &[]);
        for p in &packets {
            ng.simple(p.wire(), &p.data);
        }
        check(&ng.bytes, packets.iter().map(|p| (p, None, 0)))?;
    }
}

#[test]
fn interfaces_count_on_over_sections() {
    let mut ng = Ng::new();
    ng.section(Endian::Little, &[]).interface(1, 96, &[(2, b"mlx5_0")]).interface(276, 0, &[]);
    ng.section(Endian::Big, &[]).interface(147, 0, &[(2, b"any")]);
    ng.enhanced(0, 1, 60, b"abc", &[]);
    let mut decoder = Decoder::new(Format::detect(&ng.bytes).unwrap());
    let mut at = 0;
    let record = loop {
        match decoder.step(&ng.bytes[at..]).unwrap() {
            Step::Skip(n) => at += n,
            Step::Record(record) => break record,
            Step::Need(n) => panic!("wants {n}"),
        }
    };
    assert_eq!((record.iface, record.link), (2, None));
    let names: Vec<_> = decoder.interfaces().iter().map(|i| (i.link_type.0, i.name.as_deref())).collect();
    assert_eq!(names, [(1, Some("mlx5_0")), (276, None), (147, Some("any"))]);
    assert_eq!(decoder.interfaces()[2].link_type, LinkType(147));
}
