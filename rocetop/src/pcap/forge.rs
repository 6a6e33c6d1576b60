//! Tests only: writes captures of every variant, and walks a decoder over them.

use rocetop_parsers::{Bytes, Nanos};

use super::{Decoder, Fault, Format, MAX_NEED, Record, Step, classic, pcapng};

/// A writer's byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endian {
    Little,
    Big,
}

impl Endian {
    fn u16(self, n: u16) -> [u8; 2] {
        if self == Self::Big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    fn u32(self, n: u32) -> [u8; 4] {
        if self == Self::Big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    pub(crate) fn u64(self, n: u64) -> [u8; 8] {
        if self == Self::Big { n.to_be_bytes() } else { n.to_le_bytes() }
    }
}

/// Writes a classic pcap.
pub(crate) struct Pcap {
    pub(crate) bytes: Vec<u8>,
    endian: Endian,
    magic: u32,
}

impl Pcap {
    pub(crate) fn new(endian: Endian, magic: u32, snaplen: u32, link_field: u32) -> Self {
        let words = [0, 0, snaplen, link_field].map(|n| endian.u32(n));
        let bytes = [&endian.u32(magic)[..], &endian.u16(2), &endian.u16(4), words.as_flattened()].concat();
        Self { bytes, endian, magic }
    }

    /// Nanoseconds, little endian, Ethernet.
    pub(crate) fn plain() -> Self {
        Self::new(Endian::Little, classic::MAGIC_NANOS, 262_144, 1)
    }

    /// A record; `fraction` in the magic's own unit.
    pub(crate) fn record(&mut self, seconds: u32, fraction: u32, wire: u32, data: &[u8]) -> &mut Self {
        let words = [seconds, fraction, data.len() as u32, wire].map(|n| self.endian.u32(n));
        self.bytes.extend(words.as_flattened());
        if self.magic == classic::MAGIC_MODIFIED {
            self.bytes.extend([7, 0, 0, 0, 8, 0, 4, 0]);
        }
        self.bytes.extend(data);
        self
    }

    /// A record at that time, as long on the wire as captured.
    pub(crate) fn at(&mut self, ts: Nanos, data: &[u8]) -> &mut Self {
        let (seconds, fraction) = (ts.0 / 1_000_000_000, ts.0 % 1_000_000_000);
        self.record(seconds as u32, fraction as u32, data.len() as u32, data)
    }
}

/// Writes a pcapng.
pub(crate) struct Ng {
    pub(crate) bytes: Vec<u8>,
    endian: Endian,
}

/// Options as codes and values.
pub(crate) type Options<'a> = &'a [(u16, &'a [u8])];

impl Ng {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new(), endian: Endian::Little }
    }

    /// One section with one Ethernet interface in nanoseconds.
    pub(crate) fn plain() -> Self {
        let mut ng = Self::new();
        ng.section(Endian::Little, &[]).interface(1, 0, &[(9, &[9])]);
        ng
    }

    pub(crate) fn block(&mut self, kind: u32, body: &[&[u8]], options: Options<'_>) -> &mut Self {
        let endian = self.endian;
        let mut inner = body.concat();
        inner.resize(inner.len().next_multiple_of(4), 0);
        for (code, value) in options {
            inner.extend([endian.u16(*code), endian.u16(value.len() as u16)].as_flattened());
            inner.extend(*value);
            inner.resize(inner.len().next_multiple_of(4), 0);
        }
        if !options.is_empty() {
            inner.extend([0; 4]);
        }
        let total = endian.u32(inner.len() as u32 + pcapng::EMPTY_BLOCK);
        self.bytes.extend([&endian.u32(kind)[..], &total, &inner, &total].concat());
        self
    }

    pub(crate) fn section(&mut self, endian: Endian, options: Options<'_>) -> &mut Self {
        self.endian = endian;
        let magic = endian.u32(pcapng::shb::BYTE_ORDER);
        self.block(pcapng::SHB, &[&magic, &endian.u16(1), &endian.u16(0), &[0xff; 8]], options)
    }

    pub(crate) fn interface(&mut self, link_type: u16, snaplen: u32, options: Options<'_>) -> &mut Self {
        let e = self.endian;
        self.block(pcapng::IDB, &[&e.u16(link_type), &[0; 2], &e.u32(snaplen)], options)
    }

    pub(crate) fn enhanced(
        &mut self,
        iface: u32,
        ticks: u64,
        wire: u32,
        data: &[u8],
        options: Options<'_>,
    ) -> &mut Self {
        let e = self.endian;
        let words = [iface, (ticks >> 32) as u32, ticks as u32, data.len() as u32, wire].map(|n| e.u32(n));
        self.block(pcapng::EPB, &[words.as_flattened(), data], options)
    }

    pub(crate) fn obsolete(&mut self, iface: u16, ticks: u64, wire: u32, data: &[u8]) -> &mut Self {
        let e = self.endian;
        let words = [(ticks >> 32) as u32, ticks as u32, data.len() as u32, wire].map(|n| e.u32(n));
        self.block(pcapng::PB, &[&e.u16(iface), &e.u16(0xffff), words.as_flattened(), data], &[])
    }

    pub(crate) fn simple(&mut self, wire: u32, data: &[u8]) -> &mut Self {
        let wire = self.endian.u32(wire);
        self.block(pcapng::SPB, &[&wire, data], &[])
    }
}

/// How a walk ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    Cut,
    Fault(Fault),
}

/// Walks a decoder over a file, showing it no byte more than it asks for. Checks what every step promises.
pub(crate) fn walk(file: &[u8]) -> (Vec<(Record, Vec<u8>)>, End) {
    let Some(format) = Format::detect(file) else { return (Vec::new(), End::Cut) };
    let mut decoder = Decoder::new(format);
    let (mut at, mut shown) = (0, 0);
    let mut records = Vec::new();
    loop {
        let ahead = &file[at..];
        let ahead = &ahead[..ahead.len().min(shown)];
        match decoder.step(ahead) {
            Ok(Step::Record(record)) => {
                let data = ahead[record.data.clone()].to_vec();
                assert!(record.data.end <= record.used && record.used <= ahead.len(), "{record:?}");
                assert!(record.wire_len as usize >= data.len(), "{record:?}");
                assert!((record.iface as usize) < decoder.interfaces().len(), "{record:?}");
                at += record.used;
                shown = 0;
                records.push((record, data));
            }
            Ok(Step::Skip(n)) => {
                assert!(n > 0);
                if n > file.len() - at {
                    return (records, End::Cut);
                }
                at += n;
                shown = 0;
            }
            Ok(Step::Need(n)) => {
                assert!(n > shown && n <= MAX_NEED, "shown {shown}, wants {n}");
                if n > file.len() - at {
                    // Whoever buffers shows what there is before giving up.
                    let end = match decoder.step(&file[at..]) {
                        Err(fault) => End::Fault(fault.further(Bytes(at as u64))),
                        _ if at == file.len() && decoder.may_end() => End::Whole,
                        _ => End::Cut,
                    };
                    return (records, end);
                }
                shown = n;
            }
            Err(fault) => return (records, End::Fault(fault.further(Bytes(at as u64)))),
        }
    }
}
