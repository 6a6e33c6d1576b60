//! What goes into the engine: packets that a source saw, already looked at once.

use std::fmt;

use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Bytes, Facts, Nanos};

/// The number of a frame: its file, by position on the command line, and its place there, from 1 as Wireshark counts.
///
/// Ordered by file first. Shown as the place alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct FrameNo(u64);

impl FrameNo {
    const PLACE_BITS: u32 = 48;

    /// Files that can be told apart.
    pub const MAX_FILES: usize = 1 << 16;

    /// Frame `place` (from 1, below 2^48) of file `file` (from 0).
    #[must_use]
    pub const fn new(file: u16, place: u64) -> Self {
        Self((file as u64) << Self::PLACE_BITS | place & ((1 << Self::PLACE_BITS) - 1))
    }

    /// Index of the file, from 0.
    #[must_use]
    pub const fn file(self) -> u16 {
        (self.0 >> Self::PLACE_BITS) as u16
    }

    /// Place in the file, from 1.
    #[must_use]
    pub const fn place(self) -> u64 {
        self.0 & ((1 << Self::PLACE_BITS) - 1)
    }
}

impl fmt::Display for FrameNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place().fmt(f)
    }
}

/// A frame that the walker could read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// Where it stands in the capture.
    pub frame: FrameNo,
    /// The capture's own time stamp.
    pub at: Nanos,
    /// Length on the wire.
    pub wire: Bytes,
    /// Interface that it was seen on, counted in its file.
    pub iface: u32,
    /// Files that follow each other are one strand, as parts of a ring buffer are; interfaces with the same number are
    /// the same there.
    pub strand: u16,
    /// Everything the walker found.
    pub facts: Facts,
    /// Whether its invariant CRC holds.
    pub icrc: Icrc,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_file_and_place() {
        for (file, place) in [(0, 1), (1, 12), (u16::MAX, (1 << 48) - 1)] {
            let number = FrameNo::new(file, place);
            assert_eq!((number.file(), number.place()), (file, place));
        }
        assert!(FrameNo::new(0, 99) < FrameNo::new(1, 1));
        assert_eq!(FrameNo::new(3, 12).to_string(), "12");
    }
}
