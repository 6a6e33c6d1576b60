//! Classic pcap: a 24-byte file header, then records, each with a 16-byte header.
//!
//! Source: draft-ietf-opsawg-pcap. The variant with magic a1b2cd34 (a patched libpcap of the Linux 2.2 days, still
//! written by some appliances) has 24-byte record headers: interface index, protocol and packet type come behind the
//! usual four fields.
//!
//! Where `cat` has put captures one behind the other, a file header stands in the place of a record: what follows is
//! read as that one says.

use std::array;

use rocetop_parsers::{Bytes, Link, Nanos};

use super::{Fault, Format, Interface, LinkType, MAX_INTERFACES, Order, Record, Step, What, record_limit};

/// Seconds and microseconds.
pub const MAGIC_MICROS: u32 = 0xa1b2_c3d4;
/// Seconds and nanoseconds.
pub const MAGIC_NANOS: u32 = 0xa1b2_3c4d;
/// Seconds and microseconds, longer record headers.
pub const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;
/// All magics.
pub const MAGICS: [u32; 3] = [MAGIC_MICROS, MAGIC_NANOS, MAGIC_MODIFIED];

/// Bytes of the file header.
pub const FILE_HEADER: usize = 24;
/// Bytes of a record header.
pub const RECORD_HEADER: usize = 16;
/// Bytes of a record header under [`MAGIC_MODIFIED`].
pub const RECORD_HEADER_MODIFIED: usize = 24;

mod field {
    //! Offsets in the file header (4) and in a record header (4.1).
    pub(super) const MAJOR: usize = 4;
    pub(super) const MINOR: usize = 6;
    pub(super) const SNAPLEN: usize = 16;
    pub(super) const LINK_TYPE: usize = 20;
    pub(super) const CAPTURED: usize = 8;
}

const HEADER: &str = "pcap file header";
const RECORD: &str = "pcap record";

/// The decoder of classic pcap.
#[derive(Clone, Debug)]
pub struct Classic {
    /// Bytes of a record header; 0 until the file header has been read.
    record_header: usize,
    order: Order,
    /// Nanoseconds of one unit of the fraction.
    fraction: u32,
    limit: u32,
    link: Option<Link>,
    /// Index of the latest interface.
    iface: u32,
    /// One a file header.
    interfaces: Vec<Interface>,
}

impl Default for Classic {
    fn default() -> Self {
        Self::new()
    }
}

impl Classic {
    /// A decoder at the start of a file.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            record_header: 0,
            order: Order::Little,
            fraction: 0,
            limit: 0,
            link: None,
            iface: 0,
            interfaces: Vec::new(),
        }
    }

    /// Takes one step over `ahead`; see [`super::Decoder::step`].
    ///
    /// # Errors
    /// [`Fault`] where the bytes are no header or record.
    #[inline]
    pub fn step(&mut self, ahead: &[u8]) -> Result<Step, Fault> {
        if self.record_header == 0 {
            return self.file_header(ahead);
        }
        if let Some(record) = self.record(ahead) {
            return Ok(Step::Record(record));
        }
        let Some(header) = ahead.first_chunk::<RECORD_HEADER>() else { return self.short(ahead) };
        let [seconds, fraction, captured, wire] = words(header, self.order);
        if captured > self.limit || (captured | wire | seconds | fraction) == 0 {
            return Err(self.implausible(ahead, captured));
        }
        if (captured | wire) == 0 && is_magic(seconds) {
            return self.file_header(ahead);
        }
        Ok(Step::Need(self.record_header + captured as usize))
    }

    /// The record that begins here, if one does and it is all there: mostly what there is. It comes alone, as a
    /// [`Step`] that may be something else is put together in memory, and whoever takes it apart waits for that.
    #[inline(always)]
    pub fn record(&self, ahead: &[u8]) -> Option<Record> {
        let header = ahead.first_chunk::<RECORD_HEADER>()?;
        let [seconds, fraction, captured, wire] = words(header, self.order);
        let used = self.record_header + captured as usize;
        // Of no bytes at all is a record whose time alone may tell that it is one.
        let doubtful = (captured | wire) == 0 && ((seconds | fraction) == 0 || is_magic(seconds));
        if self.record_header == 0 || captured > self.limit || doubtful || ahead.len() < used {
            return None;
        }
        Some(Record {
            // 2^32 seconds and 2^32 microseconds stay far below 2^64 nanoseconds.
            ts: Some(Nanos(u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * u64::from(self.fraction))),
            iface: self.iface,
            link: self.link,
            wire_len: wire.max(captured),
            data: self.record_header..used,
            used,
        })
    }

    /// Whether a file may end at the current position: anywhere between records.
    #[must_use]
    pub const fn may_end(&self) -> bool {
        self.record_header != 0
    }

    /// The interfaces met so far: one a file header.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    #[cold]
    fn file_header(&mut self, ahead: &[u8]) -> Result<Step, Fault> {
        let Some(header) = ahead.get(..FILE_HEADER) else { return Ok(Step::Need(FILE_HEADER)) };
        // Whoever made this decoder has looked at the magic; anything else ends at the version.
        self.order = if MAGICS.contains(&Order::Big.u32(header, 0)) { Order::Big } else { Order::Little };
        let magic = self.order.u32(header, 0);
        let (major, minor) = (self.order.u16(header, field::MAJOR), self.order.u16(header, field::MINOR));
        // 2.4 has been written since 1998; up to 2.3 the two lengths of a record could be swapped.
        if !MAGICS.contains(&magic) || major != 2 || minor < 4 {
            let offset = Bytes(field::MAJOR as u64);
            return Err(Fault { offset, ..Fault::new(HEADER, What::Version { major, minor }) });
        }
        // The upper half of the field holds the FCS length and reserved bits (4, "LinkType and additional
        // information").
        let link_type = LinkType(self.order.u32(header, field::LINK_TYPE) as u16);
        let snaplen = self.order.u32(header, field::SNAPLEN);
        self.fraction = if magic == MAGIC_NANOS { 1 } else { 1000 };
        self.limit = record_limit(snaplen);
        self.link = link_type.link();
        if self.interfaces.len() >= MAX_INTERFACES {
            return Err(Fault::new(HEADER, What::TooManyInterfaces { limit: MAX_INTERFACES }));
        }
        self.iface = self.interfaces.len() as u32;
        self.interfaces.push(Interface { link_type, snaplen, name: None });
        self.record_header = if magic == MAGIC_MODIFIED { RECORD_HEADER_MODIFIED } else { RECORD_HEADER };
        Ok(Step::Skip(FILE_HEADER))
    }

    /// Less than a record header is there. What follows a capture by mistake still shows in a length that is there.
    #[cold]
    fn short(&self, ahead: &[u8]) -> Result<Step, Fault> {
        let captured = self.order.u32(ahead, field::CAPTURED);
        if captured > self.limit {
            return Err(self.implausible(ahead, captured));
        }
        Ok(Step::Need(self.record_header))
    }

    #[cold]
    fn implausible(&self, ahead: &[u8], captured: u32) -> Fault {
        let what = match (captured, Format::detect(ahead.get(..4).unwrap_or_default())) {
            (0, _) => What::Zeros,
            (_, Some(format)) => What::AnotherCapture { format },
            _ => What::CapturedBytes { claimed: captured, limit: self.limit },
        };
        Fault::new(RECORD, what)
    }
}

/// Whether the first word of a record of no bytes begins a file header, in either order: what that has in the place of
/// the lengths, the time zone and the accuracy of stamps, every writer leaves 0 (4).
#[cold]
fn is_magic(word: u32) -> bool {
    MAGICS.contains(&word) || MAGICS.contains(&word.swap_bytes())
}

/// The four words of a record header: seconds, fraction, captured bytes, bytes on the wire.
#[inline(always)]
fn words(header: &[u8; RECORD_HEADER], order: Order) -> [u32; 4] {
    let (words, _) = header.as_chunks::<4>();
    let raw: [[u8; 4]; 4] = array::from_fn(|i| words.get(i).copied().unwrap_or_default());
    match order {
        Order::Little => raw.map(u32::from_le_bytes),
        Order::Big => raw.map(u32::from_be_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = &[
        0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0x24, // FCS bits set
        1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 60, 0, 0, 0, b'a', b'b', b'c',
    ];

    #[test]
    fn takes_a_file_apart() {
        let mut classic = Classic::new();
        assert!(!classic.may_end());
        assert_eq!(classic.step(FILE), Ok(Step::Skip(24)));
        assert_eq!(classic.interfaces()[0].link_type, LinkType::ETHERNET);
        let record = Record {
            ts: Some(Nanos(1_000_000_002)),
            iface: 0,
            link: Some(Link::Ethernet),
            wire_len: 60,
            data: 16..19,
            used: 19,
        };
        assert_eq!(classic.step(&FILE[24..]), Ok(Step::Record(record)));
        assert!(classic.may_end());
    }

    #[test]
    fn asks_for_what_is_missing() {
        for n in 0..24 {
            assert_eq!(Classic::new().step(&FILE[..n]), Ok(Step::Need(24)));
        }
        let mut classic = Classic::new();
        classic.step(FILE).unwrap();
        for n in 24..FILE.len() {
            let need = if n < 40 { 16 } else { 19 };
            assert_eq!(classic.step(&FILE[24..n]), Ok(Step::Need(need)));
        }
    }

    #[test]
    fn impossible_lengths() {
        let mut classic = Classic::new();
        classic.step(FILE).unwrap();
        let what = What::CapturedBytes { claimed: u32::MAX, limit: super::super::MIN_RECORD_LIMIT };
        assert_eq!(classic.step(&[0xff; 16]), Err(Fault::new(RECORD, what)));
        assert_eq!(classic.step(&[0xff; 12]), Err(Fault::new(RECORD, what)));
        assert_eq!(classic.step(&[0; 16]), Err(Fault::new(RECORD, What::Zeros)));
    }

    #[test]
    fn captures_one_behind_the_other() {
        let mut classic = Classic::new();
        classic.step(FILE).unwrap();
        // Of the other byte order, in microseconds, raw IP.
        let other = [
            0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 96, 0, 0, 0, 101, // its header
            0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0x45,
        ];
        assert_eq!(classic.step(&other[..20]), Ok(Step::Need(24)));
        assert_eq!(classic.step(&other), Ok(Step::Skip(24)));
        let types: Vec<_> = classic.interfaces().iter().map(|i| i.link_type).collect();
        assert_eq!(types, [LinkType::ETHERNET, LinkType(101)]);
        let record = Record {
            ts: Some(Nanos(1_000_002_000)),
            iface: 1,
            link: Some(Link::RawIp),
            wire_len: 1,
            data: 16..17,
            used: 17,
        };
        assert_eq!(classic.step(&other[24..]), Ok(Step::Record(record)));
        let pcapng = [10, 13, 13, 10, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0];
        let fault = Fault::new(RECORD, What::AnotherCapture { format: Format::Pcapng });
        assert_eq!(classic.step(&pcapng), Err(fault));
    }

    #[test]
    fn a_record_may_be_empty() {
        let mut classic = Classic::new();
        classic.step(FILE).unwrap();
        let Ok(Step::Record(record)) = classic.step(&[7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]) else {
            panic!()
        };
        assert_eq!((record.ts, record.wire_len, record.used), (Some(Nanos(7_000_000_000)), 0, 16));
    }

    #[test]
    fn a_strange_version_is_told() {
        let mut file = FILE.to_vec();
        file[4] = 9;
        let fault = Classic::new().step(&file).unwrap_err();
        assert_eq!((fault.offset, fault.what), (Bytes(4), What::Version { major: 9, minor: 4 }));
    }
}
