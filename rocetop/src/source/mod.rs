//! Where frames come from: capture files and live pipes, handed out in the order of time.
//!
//! Owns: opening, reading, decompressing and merging; the clock is always the capture's own. May use: [`crate::pcap`],
//! the operating system. Nothing behind a source knows whether a frame came from a file, a pipe or a decompressor.
//!
//! [`Timeline`] is the way in. Memory is bounded for every input: a file at work costs a chunk and one record, a
//! reading thread a few chunks more, a decompressor its window; a [`Batch`] keeps the chunks of its frames.
//!
//! ```no_run
//! # fn main() -> Result<(), rocetop::source::OpenError> {
//! let mut timeline = rocetop::source::Timeline::open(&["a.pcap", "b.pcapng.zst"])?;
//! timeline.for_each(|frame| println!("{} {}", frame.number, frame.wire_len));
//! assert!(timeline.summaries().iter().all(|capture| capture.complete));
//! # Ok(())
//! # }
//! ```

pub mod batch;
mod buffer;
mod compression;
pub mod error;
pub mod frame;
mod gzip;
mod input;
mod odd;
mod queue;
mod reader;
pub mod shared;
pub mod stop;
pub mod summary;
#[cfg(test)]
mod tests;
pub mod timeline;
mod xz;
mod zstd;

pub use batch::Batch;
pub use error::OpenError;
pub use frame::Frame;
pub use input::reads_once;
pub use shared::SharedFile;
pub use stop::Stop;
pub use summary::{CaptureSummary, Fidelity, Problem, Watched};
pub use timeline::Timeline;
