//! Frames on their way from a source to the analysis.

use rocetop_analysis::counted::Counted;
use rocetop_parsers::Nanos;
use rocetop_parsers::abi::Totals;

/// Bytes up to which frames are put together (chosen: fits into a second-level cache).
const ROOM: usize = 1 << 18;
/// Frames up to which they are (chosen: as many frames of 64 bytes fill it).
const MOST: usize = 4096;

/// What the kernel counted.
#[derive(Debug)]
pub(super) struct Counts {
    /// Frames since the last time.
    pub(super) frames: Totals,
    /// Sums of flows that have grown.
    pub(super) flows: Vec<Counted>,
}

/// Frames of one interface in the order in which they came.
#[derive(Debug)]
pub(super) struct Batch {
    frames: Vec<Place>,
    bytes: Vec<u8>,
    /// Whatever was stamped before this has been handed over.
    pub(super) up_to: Nanos,
    /// What the kernel had counted when it was handed over.
    pub(super) counts: Option<Counts>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    ts: Nanos,
    wire_len: u32,
    end: usize,
}

/// A frame of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item<'a> {
    pub(super) ts: Nanos,
    pub(super) wire_len: u32,
    pub(super) bytes: &'a [u8],
}

impl Batch {
    pub(super) fn new() -> Self {
        Self { frames: Vec::new(), bytes: Vec::with_capacity(ROOM), up_to: Nanos(0), counts: None }
    }

    /// Adds a frame whose bytes come in parts.
    pub(super) fn push(&mut self, ts: Nanos, wire_len: u32, parts: &[&[u8]]) {
        let start = self.bytes.len();
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        let end = self.bytes.len();
        self.frames.push(Place { ts, wire_len: wire_len.max((end - start) as u32), end });
        self.up_to = self.up_to.max(ts);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.frames.len() >= MOST || self.bytes.len() >= ROOM
    }

    /// Time of the latest frame.
    pub(super) fn last(&self) -> Option<Nanos> {
        self.frames.last().map(|frame| frame.ts)
    }

    pub(super) fn get(&self, index: usize) -> Option<Item<'_>> {
        let place = self.frames.get(index)?;
        let start = index.checked_sub(1).and_then(|before| self.frames.get(before)).map_or(0, |before| before.end);
        Some(Item { ts: place.ts, wire_len: place.wire_len, bytes: self.bytes.get(start..place.end)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in() {
        let mut batch = Batch::new();
        batch.push(Nanos(7), 60, &[b"ab", b"c"]);
        batch.push(Nanos(5), 0, &[b"defg"]);
        assert_eq!(batch.get(0), Some(Item { ts: Nanos(7), wire_len: 60, bytes: b"abc" }));
        assert_eq!(batch.get(1), Some(Item { ts: Nanos(5), wire_len: 4, bytes: b"defg" }));
        assert_eq!((batch.get(2), batch.last(), batch.up_to), (None, Some(Nanos(5)), Nanos(7)));
    }
}
