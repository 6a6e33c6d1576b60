//! Frames that were taken off a time line together, to be looked at elsewhere.

use std::ops::Range;
use std::sync::Arc;

use rocetop_analysis::FrameNo;
use rocetop_parsers::{Link, Nanos};

use super::buffer::{CHUNK, Chunk, Spot};
use super::frame::Frame;

/// Frames that a batch has at most: more than a chunk holds, unless they are short beyond use.
const MOST: usize = 4096;
/// Chunks of other files that are looked through for one that is held already.
const LOOK_BACK: usize = 16;

/// Some frames in a row. Their bytes are shared with the time line, but for those that it had to put together.
#[derive(Debug, Default)]
pub struct Batch {
    frames: Vec<Place>,
    chunks: Vec<Arc<Chunk>>,
    copied: Vec<u8>,
    bytes: usize,
    /// Chunks of a shared file that it reaches to, at least.
    pub(crate) reach: u64,
    /// Room that is free.
    pub(crate) room: Option<Arc<Chunk>>,
}

/// A frame but for its bytes.
#[derive(Clone, Debug)]
struct Place {
    ts: Nanos,
    number: FrameNo,
    iface: u32,
    strand: u16,
    link: Option<Link>,
    wire_len: u32,
    /// Index of the chunk; [`COPIED`] for a frame that lies across two.
    chunk: u32,
    bytes: Range<u32>,
}

const COPIED: u32 = u32::MAX;

impl Batch {
    /// Frames that it may have.
    pub(crate) const fn most(&self) -> usize {
        MOST
    }

    /// Whether it has as much as one should have.
    pub(crate) fn is_full(&self) -> bool {
        self.frames.len() >= MOST || self.bytes >= CHUNK
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Lets go of all frames.
    pub fn clear(&mut self) {
        self.frames.clear();
        // Of a shared file nobody else has it.
        let free =
            self.chunks.drain(..).rev().find_map(|mut chunk| Arc::get_mut(&mut chunk).is_some().then_some(chunk));
        self.room = free.or(self.room.take());
        self.copied.clear();
        self.bytes = 0;
    }

    /// Adds a frame whose bytes lie at that spot.
    #[inline(always)]
    pub(crate) fn push(&mut self, frame: &Frame<'_>, spot: Spot<'_>) {
        let (chunk, start) = match spot.chunk {
            Some(chunk) => (self.hold(chunk), spot.at),
            None => {
                let start = self.copied.len();
                self.copied.extend_from_slice(frame.bytes);
                (COPIED, start)
            }
        };
        let Frame { ts, number, iface, strand, link, wire_len, bytes } = *frame;
        let bytes = start as u32..(start + bytes.len()) as u32;
        self.bytes += bytes.len();
        self.frames.push(Place { ts, number, iface, strand, link, wire_len, chunk, bytes });
    }

    /// Index of a chunk that is kept from now on.
    #[inline]
    fn hold(&mut self, chunk: &Arc<Chunk>) -> u32 {
        if self.chunks.last().is_some_and(|last| Arc::ptr_eq(last, chunk)) {
            return (self.chunks.len() - 1) as u32;
        }
        let held = self.chunks.iter().rev().take(LOOK_BACK).position(|held| Arc::ptr_eq(held, chunk));
        if held.is_none() {
            self.chunks.push(Arc::clone(chunk));
        }
        (self.chunks.len() - 1 - held.unwrap_or(0)) as u32
    }

    /// The frames, in the order of the time line.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.frames.iter().map(|place| {
            let Place { ts, number, iface, strand, link, wire_len, chunk, ref bytes } = *place;
            let from = if chunk == COPIED {
                Some(&self.copied[..])
            } else {
                self.chunks.get(chunk as usize).map(|c| c.bytes())
            };
            let bytes = from.and_then(|from| from.get(bytes.start as usize..bytes.end as usize)).unwrap_or_default();
            Frame { ts, number, iface, strand, link, wire_len, bytes }
        })
    }
}
