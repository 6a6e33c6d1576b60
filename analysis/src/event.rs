//! What goes into the engine: packets that a source saw, already looked at once.

use std::fmt;

use rocetop_parsers::icrc::Icrc;
use rocetop_parsers::{Bytes, Facts, Nanos};

/// A frame's place in the captures: the file, and its number there from 1 as Wireshark counts.
///
/// Orders by file, then number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FrameNo(u64);

impl FrameNo {
    const BITS: u32 = 48;

    /// Frame `number` (from 1) of file `file` (from 0).
    #[must_use]
    pub const fn new(file: u16, number: u64) -> Self {
        Self((file as u64) << Self::BITS | number & ((1 << Self::BITS) - 1))
    }

    /// Index of the file in the order given.
    #[must_use]
    pub const fn file(self) -> u16 {
        (self.0 >> Self::BITS) as u16
    }

    /// Number in the file, from 1.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0 & ((1 << Self::BITS) - 1)
    }
}

impl fmt::Display for FrameNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// A frame that the walker could read.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Where it stands in the capture.
    pub frame: FrameNo,
    /// The capture's own time stamp.
    pub at: Nanos,
    /// Length on the wire.
    pub wire: Bytes,
    /// Interface of the capture that it was seen on.
    pub iface: u32,
    /// Everything the walker found.
    pub facts: Facts,
    /// Whether its invariant CRC holds.
    pub icrc: Icrc,
}
