//! One frame as a source hands it out, and its number.

use std::fmt;

use rocetop_parsers::{Link, Nanos};

/// A captured frame. It borrows from its source until the next one is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Time stamp since the epoch, as captured. A frame that the file gives none (pcapng simple packet block) has
    /// that of the frame before it in the file, or 0 as the first.
    pub ts: Nanos,
    /// Which file, and which frame of it.
    pub number: FrameNo,
    /// Index of the interface in its file, counted on over the sections of a pcapng. Unique together with
    /// [`FrameNo::file`].
    pub iface: u32,
    /// What the frame starts with; `None` for a link type that the parsers do not know. Such a frame still counts.
    pub link: Option<Link>,
    /// Bytes that the frame had on the wire; never less than `bytes.len()`.
    pub wire_len: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
}

/// The number of a frame: its file, by position on the command line, and its place there, from 1 as Wireshark counts.
///
/// Ordered by file first. Shown as the place alone; [`FrameNo::of`] puts a file name before it.
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

    /// Both in one number: file in the top 16 bits, place in the rest.
    #[must_use]
    pub const fn packed(self) -> u64 {
        self.0
    }

    /// The inverse of [`FrameNo::packed`].
    #[must_use]
    pub const fn from_packed(packed: u64) -> Self {
        Self(packed)
    }

    /// Shown as `FILE:12`, for runs over several files.
    pub fn of(self, file: impl fmt::Display) -> impl fmt::Display {
        fmt::from_fn(move |f| write!(f, "{file}:{}", self.place()))
    }
}

impl fmt::Display for FrameNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_file_and_place() {
        for (file, place) in [(0, 1), (1, 12), (u16::MAX, (1 << 48) - 1)] {
            let number = FrameNo::new(file, place);
            assert_eq!((number.file(), number.place()), (file, place));
            assert_eq!(FrameNo::from_packed(number.packed()), number);
        }
        assert!(FrameNo::new(0, 99) < FrameNo::new(1, 1));
        assert_eq!(FrameNo::new(3, 12).to_string(), "12");
        assert_eq!(FrameNo::new(3, 12).of("a.pcap").to_string(), "a.pcap:12");
    }
}
