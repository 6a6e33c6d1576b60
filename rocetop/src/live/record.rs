//! `live --write`: what was seen, as pcapng.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::source::Opened;
use crate::pcap::pcapng::write::{Packet, Writer};
use crate::source::Frame;

/// A file that frames go to.
#[derive(Debug)]
pub struct Record {
    writer: Writer<BufWriter<File>>,
    frames: u64,
}

impl Record {
    /// Begins a file, in the place of one that is there.
    ///
    /// # Errors
    /// The system's.
    pub fn create(path: &Path, opened: &[Opened]) -> io::Result<Self> {
        let mut writer = Writer::create(BufWriter::with_capacity(1 << 18, File::create(path)?))?;
        for one in opened {
            writer.interface(&one.interface, Some(&format!("watched through {}", one.kind.name())))?;
        }
        Ok(Self { writer, frames: 0 })
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// The system's.
    pub fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let Frame { iface, ts, wire_len, bytes, .. } = *frame;
        self.writer.packet(&Packet { iface, ts, wire_len, bytes }, [])?;
        self.frames += 1;
        Ok(())
    }

    /// Hands over what was kept back, so that whoever reads along sees it, and a crash takes no more than a second.
    ///
    /// # Errors
    /// The system's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Ends the file. Returns how many frames it has.
    ///
    /// # Errors
    /// The system's.
    pub fn finish(self) -> io::Result<u64> {
        self.writer.finish()?.flush()?;
        Ok(self.frames)
    }
}
