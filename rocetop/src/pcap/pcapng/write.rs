//! Writing pcapng: one little endian section, time stamps in nanoseconds, comments on packets.
//!
//! Source: draft-ietf-opsawg-pcapng, 4.1 (section header), 4.2 (interface description), 4.3 (enhanced packet), 3.5
//! (options). Whatever is written can be read back by the decoder beside this file: what it would refuse is an error
//! here.

use std::io::{self, Write};

use rocetop_parsers::Nanos;

use super::super::{Interface, MAX_INTERFACES, record_limit};
use super::{EPB, IDB, SHB, option, shb};

/// Where packets go.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// Of each interface the most bytes that a packet may have.
    limits: Vec<u32>,
    block: Vec<u8>,
}

/// A packet to write.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Its interface, as [`Writer::interface`] numbers them.
    pub iface: u32,
    /// Time stamp since the epoch.
    pub ts: Nanos,
    /// Bytes that it had on the wire; fewer than were captured count as these.
    pub wire_len: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
}

mod code {
    //! Options that are written.
    pub(super) const COMMENT: u16 = 1;
    pub(super) const USERAPPL: u16 = 4;
    pub(super) const IF_NAME: u16 = 2;
    pub(super) const IF_DESCRIPTION: u16 = 3;
    pub(super) const IF_TSRESOL: u16 = 9;
}

/// Nanoseconds, as `if_tsresol` says it: a negative power of ten.
const NANOSECONDS: u8 = 9;
/// The section's length is not known while it is written (4.1).
const UNKNOWN_LENGTH: u64 = u64::MAX;
/// Bytes of comments that a packet may have, so that its block stays below [`super::MAX_BLOCK`].
const COMMENTS: usize = 1 << 19;

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn create(out: W) -> io::Result<Self> {
        let mut writer = Self { out, limits: Vec::new(), block: Vec::new() };
        writer.begin(SHB);
        writer.block.extend(shb::BYTE_ORDER.to_le_bytes());
        writer.block.extend([1, 0, 0, 0]);
        writer.block.extend(UNKNOWN_LENGTH.to_le_bytes());
        writer.option(code::USERAPPL, concat!("rocetop ", env!("CARGO_PKG_VERSION")).as_bytes());
        writer.end(true)?;
        Ok(writer)
    }

    /// Describes an interface, at any time before its first packet. Returns its number.
    ///
    /// # Errors
    /// Those of the writer, and one for more interfaces than a file may have.
    pub fn interface(&mut self, interface: &Interface, description: Option<&str>) -> io::Result<u32> {
        if self.limits.len() >= MAX_INTERFACES {
            return Err(refused("more interfaces than a pcapng file may have here"));
        }
        self.begin(IDB);
        self.block.extend(interface.link_type.0.to_le_bytes());
        self.block.extend([0, 0]);
        self.block.extend(interface.snaplen.to_le_bytes());
        if let Some(name) = &interface.name {
            self.option(code::IF_NAME, name.as_bytes());
        }
        if let Some(text) = description {
            self.option(code::IF_DESCRIPTION, text.as_bytes());
        }
        self.option(code::IF_TSRESOL, &[NANOSECONDS]);
        self.end(true)?;
        self.limits.push(record_limit(interface.snaplen));
        Ok((self.limits.len() - 1) as u32)
    }

    /// Writes a packet, with as many of the comments as there is room for: half a mebibyte, 64 KiB each.
    ///
    /// # Errors
    /// Those of the writer, and one for a packet that no reader would take: of an unknown interface, or larger than its
    /// snap length and the format allow.
    pub fn packet<'c>(&mut self, packet: &Packet<'_>, comments: impl IntoIterator<Item = &'c str>) -> io::Result<()> {
        let Some(&limit) = self.limits.get(packet.iface as usize) else {
            return Err(refused("a packet of an interface that was not described"));
        };
        let captured = match u32::try_from(packet.bytes.len()) {
            Ok(n) if n <= limit => n,
            _ => return Err(refused("a packet that is larger than its interface allows")),
        };
        self.begin(EPB);
        let ts = packet.ts.0;
        for word in [packet.iface, (ts >> 32) as u32, ts as u32, captured, packet.wire_len.max(captured)] {
            self.block.extend(word.to_le_bytes());
        }
        self.block.extend_from_slice(packet.bytes);
        self.pad();
        let bare = self.block.len();
        for comment in comments {
            if self.block.len() - bare + comment.len() > COMMENTS {
                break;
            }
            self.option(code::COMMENT, comment.as_bytes());
        }
        self.end(self.block.len() != bare)
    }

    /// Hands what was written so far to whoever is behind the writer.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the file: all of it is handed to the writer.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.block.extend(kind.to_le_bytes());
        // Its length, once that is known.
        self.block.extend([0; 4]);
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = value.get(..cut(value)).unwrap_or_default();
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend_from_slice(value);
        self.pad();
    }

    /// Writes the block out. `options` tells whether it has any, which then need an end.
    fn end(&mut self, options: bool) -> io::Result<()> {
        if options {
            self.option(option::END, &[]);
        }
        let total = (self.block.len() as u32 + super::TRAILER as u32).to_le_bytes();
        self.block.extend(total);
        if let Some(length) = self.block.get_mut(4..8) {
            length.copy_from_slice(&total);
        }
        self.out.write_all(&self.block)
    }
}

/// Bytes of an option's value that its 16-bit length can tell, not ending inside a letter of UTF-8.
fn cut(value: &[u8]) -> usize {
    let most = usize::from(u16::MAX);
    if value.len() <= most {
        return value.len();
    }
    let inside = |at: &usize| value.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (0..=most).rev().find(|at| !inside(at)).unwrap_or(0)
}

fn refused(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap::LinkType;
    use crate::pcap::forge::{End, walk};

    fn ethernet(snaplen: u32) -> Interface {
        Interface { link_type: LinkType::ETHERNET, snaplen, name: Some("mlx5_0".into()) }
    }

    fn packet(iface: u32, bytes: &[u8]) -> Packet<'_> {
        Packet { iface, ts: Nanos(0x0102_0304_0506_0708), wire_len: 60, bytes }
    }

    #[test]
    #[rustfmt::skip]
    fn writes_these_bytes() {
        let mut writer = Writer::create(Vec::new()).unwrap();
        let head = writer.out.len();
        assert_eq!(writer.out[..16], [0x0a, 0x0d, 0x0d, 0x0a, head as u8, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0]);
        assert_eq!(writer.interface(&ethernet(96), None).unwrap(), 0);
        assert_eq!(writer.out[head..], [
            1, 0, 0, 0, 44, 0, 0, 0, 1, 0, 0, 0, 96, 0, 0, 0,
            2, 0, 6, 0, b'm', b'l', b'x', b'5', b'_', b'0', 0, 0,
            9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 44, 0, 0, 0,
        ]);
        let head = writer.out.len();
        writer.packet(&packet(0, b"abc"), ["one", "four"]).unwrap();
        assert_eq!(writer.finish().unwrap()[head..], [
            6, 0, 0, 0, 56, 0, 0, 0, 0, 0, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5, 3, 0, 0, 0, 60, 0, 0, 0, b'a', b'b', b'c', 0,
            1, 0, 3, 0, b'o', b'n', b'e', 0, 1, 0, 4, 0, b'f', b'o', b'u', b'r', 0, 0, 0, 0, 56, 0, 0, 0,
        ]);
    }

    #[test]
    fn what_no_reader_takes_is_refused() {
        let mut writer = Writer::create(Vec::new()).unwrap();
        let none = |writer: &mut Writer<Vec<u8>>, packet| writer.packet(&packet, []).unwrap_err().kind();
        assert_eq!(none(&mut writer, packet(0, b"abc")), io::ErrorKind::InvalidInput);
        writer.interface(&ethernet(0), Some("a.pcap")).unwrap();
        let large = vec![0; crate::pcap::MIN_RECORD_LIMIT as usize + 1];
        assert_eq!(none(&mut writer, packet(0, &large)), io::ErrorKind::InvalidInput);
        writer.packet(&packet(0, &large[1..]), []).unwrap();
    }

    #[test]
    fn comments_have_bounds() {
        let mut writer = Writer::create(Vec::new()).unwrap();
        writer.interface(&Interface { snaplen: u32::MAX, ..ethernet(0) }, None).unwrap();
        // Two bytes each, so that the bound lies inside a letter.
        let long = "\u{e4}".repeat(40_000);
        let large = vec![7; crate::pcap::MAX_RECORD as usize];
        writer.packet(&packet(0, &large), std::iter::repeat_n(long.as_str(), 100)).unwrap();
        let file = writer.finish().unwrap();
        let comment = file.windows(4).filter(|w| *w == [1, 0, 0xfe, 0xff]).count();
        assert_eq!(comment, 7);
        let (records, end) = walk(&file);
        assert_eq!((records.len(), records[0].1.len(), end), (1, large.len(), End::Whole));
    }
}
