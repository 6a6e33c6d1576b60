//! One frame as a source hands it out.

use rocetop_analysis::FrameNo;
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
    /// Files of a time line that come one after the other are one strand, as the parts of a ring buffer are: the next
    /// one goes on at the place where the one before ended. Files whose times overlap are strands of their own.
    pub strand: u16,
    /// What the frame starts with; `None` for a link type that the parsers do not know. Such a frame still counts.
    pub link: Option<Link>,
    /// Bytes that the frame had on the wire; never less than `bytes.len()`.
    pub wire_len: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
}
