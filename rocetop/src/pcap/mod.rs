//! Capture file formats: classic pcap and pcapng, decoded without I/O, copies or allocation per record; and pcapng,
//! written to any `io::Write` ([`pcapng::Writer`]).
//!
//! Owns: what a capture file looks like. May use: the parsers' units and link types. A [`Decoder`] is a small state
//! machine. Its driver shows it the bytes that lie ahead of the current position, as many as happen to be there, and
//! gets a [`Step`] back: a record, bytes to pass over, a wish for more bytes, or a [`Fault`]. The driver alone
//! decides where bytes come from, so a file, a pipe and a decompressor are read by the same code.
//!
//! Every length in a file is taken for hostile. A length above its bound ([`MAX_RECORD`], [`MAX_BLOCK`],
//! [`MAX_SKIP`]) is corruption; a wish for more bytes never exceeds [`MAX_NEED`], which is what bounds the memory of
//! a driver that has to buffer.

pub mod classic;
pub mod fault;
#[cfg(test)]
pub(crate) mod forge;
#[cfg(test)]
mod hostile;
pub mod link_type;
pub mod pcapng;
#[cfg(test)]
mod roundtrip;

use std::ops::Range;

use rocetop_parsers::{Link, Nanos};

pub use classic::Classic;
pub use fault::{Fault, What};
pub use link_type::LinkType;
pub use pcapng::Pcapng;

/// Captured bytes that one record may hold whatever the snap length says: libpcap's and Wireshark's own limit for
/// network links, which no capturing tool exceeds.
pub const MIN_RECORD_LIMIT: u32 = 256 * 1024;

/// Captured bytes that one record may hold where the snap length asks for more than [`MIN_RECORD_LIMIT`]. Twice the
/// largest packet that Linux passes to a tap (512 KiB, BIG TCP).
pub const MAX_RECORD: u32 = 1024 * 1024;

/// Bytes of a pcapng block whose contents are read: a record at its limit, and as much again for options.
pub const MAX_BLOCK: u32 = 2 * MAX_RECORD;

/// Bytes of a pcapng block that is passed over. Name lists and TLS secrets stay far below.
pub const MAX_SKIP: u32 = 16 * 1024 * 1024;

/// Interfaces that one file may describe over all its sections, which bounds what a hostile file makes us remember.
pub const MAX_INTERFACES: usize = 65_536;

/// The most that a decoder asks to see at once, in bytes.
pub const MAX_NEED: usize = MAX_BLOCK as usize;

/// A link layer address space: one network interface of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// What frames of this interface start with.
    pub link_type: LinkType,
    /// Bytes kept of each frame; 0 = no limit.
    pub snaplen: u32,
    /// The name that the capturing host gave it, where the file tells.
    pub name: Option<Box<str>>,
}

/// One captured frame, told by where its bytes lie in what the decoder was shown. Nothing is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time stamp since the epoch, `None` where the format carries none (pcapng simple packet block).
    pub ts: Option<Nanos>,
    /// Index of the interface in the file: counts on over all sections of a pcapng.
    pub iface: u32,
    /// What the frame starts with; `None` for a link type that the parsers do not know.
    pub link: Option<Link>,
    /// Bytes that the frame had on the wire, never less than the bytes captured.
    pub wire_len: u32,
    /// Where the captured bytes lie, counted from the first byte shown.
    pub data: Range<usize>,
    /// Bytes that the whole record takes, counted from the first byte shown.
    pub used: usize,
}

/// What a decoder makes of the bytes ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A frame. The next step starts [`Record::used`] bytes further.
    Record(Record),
    /// Nothing to see for this many bytes, which may be more than were shown.
    Skip(usize),
    /// At least this many bytes must be shown, at most [`MAX_NEED`]. The decoder has not moved.
    Need(usize),
}

/// The formats that are told apart by their first four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Classic pcap.
    Pcap,
    /// pcapng.
    Pcapng,
}

impl Format {
    /// Bytes that [`Format::detect`] looks at.
    pub const MAGIC_LEN: usize = 4;

    /// The format of a file that starts with `head`; `None` when it is neither. A head shorter than
    /// [`Format::MAGIC_LEN`] is taken for the first format that it could become.
    #[must_use]
    pub fn detect(head: &[u8]) -> Option<Self> {
        let head = head.get(..Self::MAGIC_LEN).unwrap_or(head);
        let is = |magic: &[u8; 4]| magic.starts_with(head);
        if classic::MAGICS.iter().any(|m| is(&m.to_be_bytes()) || is(&m.to_le_bytes())) {
            Some(Self::Pcap)
        } else if is(&pcapng::SHB.to_le_bytes()) {
            Some(Self::Pcapng)
        } else {
            None
        }
    }

    /// The name in reports and file extensions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pcap => "pcap",
            Self::Pcapng => "pcapng",
        }
    }
}

/// A decoder for either format.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per file")]
pub enum Decoder {
    /// Classic pcap.
    Classic(Classic),
    /// pcapng.
    Pcapng(Pcapng),
}

impl Decoder {
    /// A decoder at the start of a file of that format.
    #[must_use]
    pub fn new(format: Format) -> Self {
        match format {
            Format::Pcap => Self::Classic(Classic::new()),
            Format::Pcapng => Self::Pcapng(Pcapng::new()),
        }
    }

    /// Takes one step over `ahead`, the bytes that start at the current position.
    ///
    /// # Errors
    /// [`Fault`] where the bytes cannot be what the format allows. The decoder is then of no more use.
    #[inline(always)]
    pub fn step(&mut self, ahead: &[u8]) -> Result<Step, Fault> {
        match self {
            Self::Classic(d) => d.step(ahead),
            Self::Pcapng(d) => d.step(ahead),
        }
    }

    /// Whether a file may end at the current position.
    #[must_use]
    pub fn may_end(&self) -> bool {
        match self {
            Self::Classic(d) => d.may_end(),
            Self::Pcapng(d) => d.may_end(),
        }
    }

    /// Frames that the capture says it had no room for, as far as it tells.
    #[must_use]
    pub fn drops(&self) -> Option<u64> {
        match self {
            Self::Classic(_) => None,
            Self::Pcapng(d) => d.drops(),
        }
    }

    /// The interfaces met so far; [`Record::iface`] is an index into them.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        match self {
            Self::Classic(d) => d.interfaces(),
            Self::Pcapng(d) => d.interfaces(),
        }
    }
}

/// The bound on captured bytes that a snap length sets.
pub(crate) fn record_limit(snaplen: u32) -> u32 {
    snaplen.clamp(MIN_RECORD_LIMIT, MAX_RECORD)
}

/// Byte order of a file or section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    /// The 32-bit number at `at`; 0 beyond the end, so that the caller checks lengths first.
    #[inline(always)]
    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let raw = bytes.get(at..).and_then(|b| b.first_chunk()).copied().unwrap_or_default();
        match self {
            Self::Little => u32::from_le_bytes(raw),
            Self::Big => u32::from_be_bytes(raw),
        }
    }

    /// The 16-bit number at `at`; 0 beyond the end.
    #[inline(always)]
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let raw = bytes.get(at..).and_then(|b| b.first_chunk()).copied().unwrap_or_default();
        match self {
            Self::Little => u16::from_le_bytes(raw),
            Self::Big => u16::from_be_bytes(raw),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        for head in
            [[0xa1, 0xb2, 0xc3, 0xd4], [0xd4, 0xc3, 0xb2, 0xa1], [0x4d, 0x3c, 0xb2, 0xa1], [0x34, 0xcd, 0xb2, 0xa1]]
        {
            for n in 0..=4 {
                assert_eq!(Format::detect(&head[..n]), Some(Format::Pcap), "{:x?}", &head[..n]);
            }
        }
        assert_eq!(Format::detect(&[0x0a, 0x0d, 0x0d, 0x0a, 0x1c]), Some(Format::Pcapng));
        assert_eq!(Format::detect(b"\n\r"), Some(Format::Pcapng));
        assert_eq!(Format::detect(b"GET "), None);
        assert_eq!(Format::detect(b"G"), None);
    }

    #[test]
    fn a_snap_length_moves_the_limit_only_so_far() {
        assert_eq!(record_limit(0), MIN_RECORD_LIMIT);
        assert_eq!(record_limit(96), MIN_RECORD_LIMIT);
        assert_eq!(record_limit(500_000), 500_000);
        assert_eq!(record_limit(u32::MAX), MAX_RECORD);
    }
}
