//! Playing a scenario: the model does the work, and what its taps see becomes captures.
//!
//! Owns: the frames and the files. May use: the model, the pcapng writer.

pub mod frame;

use std::io::{self, Write};

use rocetop_model::observe::{Seen, link_name};
use rocetop_model::scenario::Sink;
use rocetop_model::topology::{PortId, Topology};
use rocetop_parsers::Nanos;

use crate::pcap::pcapng::write::{Packet, Writer};
use crate::pcap::{Interface, LinkType};

/// Where the frames of taps go.
pub struct Captures<'a> {
    fabric: &'a Topology,
    snaplen: u32,
    files: Vec<(PortId, Writer<Box<dyn Write + 'a>>)>,
    frame: Vec<u8>,
    /// The first fault of a writer: from then on nothing is written.
    fault: Option<(PortId, io::Error)>,
    frames: u64,
}

impl<'a> Captures<'a> {
    /// No file yet. Frames are cut to `snaplen` bytes; 0 = whole.
    #[must_use]
    pub fn new(fabric: &'a Topology, snaplen: u32) -> Self {
        Self { fabric, snaplen, files: Vec::new(), frame: Vec::new(), fault: None, frames: 0 }
    }

    /// Writes what the tap at `port` sees to `out`, as pcapng with time stamps in nanoseconds since the run's start.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn add(&mut self, port: PortId, out: impl Write + 'a) -> io::Result<()> {
        let mut writer = Writer::create(Box::new(out) as Box<dyn Write + 'a>)?;
        let name = Some(link_name(self.fabric, port).into());
        let interface = Interface { link_type: LinkType::ETHERNET, snaplen: self.snaplen, name };
        writer.interface(&interface, Some("simulated: every frame of both directions at this end of the cable"))?;
        self.files.push((port, writer));
        Ok(())
    }

    /// Whether a writer has failed: the run need not go on.
    #[must_use]
    pub const fn failed(&self) -> bool {
        self.fault.is_some()
    }

    /// Ends the files; how many frames were written.
    ///
    /// # Errors
    /// The first fault of any writer, and whose it was.
    pub fn finish(self) -> Result<u64, (PortId, io::Error)> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        for (port, writer) in self.files {
            writer.finish().map_err(|error| (port, error))?;
        }
        Ok(self.frames)
    }
}

impl Sink for Captures<'_> {
    fn seen(&mut self, seen: &Seen) {
        if self.fault.is_some() {
            return;
        }
        for (port, writer) in self.files.iter_mut().filter(|(port, _)| *port == seen.tap) {
            frame::write(seen, self.fabric, &mut self.frame);
            if self.snaplen != 0 {
                self.frame.truncate(self.snaplen as usize);
            }
            let packet = Packet { iface: 0, ts: Nanos(seen.at.0 / 1_000), wire_len: seen.wire_len, bytes: &self.frame };
            match writer.packet(&packet, []) {
                Ok(()) => self.frames += 1,
                Err(error) => {
                    self.fault = Some((*port, error));
                    return;
                }
            }
        }
    }
}
