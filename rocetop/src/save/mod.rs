//! `--write`: the frames of a selection as pcapng, with what was found about them as comments.
//!
//! What was found is known at the end, so the captures are read a second time. Owns: which frames are written, and what
//! is said about each. May use: sources, the pcapng writer, the ledger. Memory grows with what findings and episodes
//! name.

mod notes;

use std::collections::HashMap;
use std::io::{self, Write};

use rocetop_analysis::{Members, Packet};
use rocetop_parsers::Bytes;

use crate::filter::Filter;
use crate::pcap::pcapng::{self, Writer};
use crate::run::look;
use crate::source::{Batch, Frame, Timeline};

pub use notes::Notes;

/// What to write.
#[derive(Clone, Copy, Debug)]
pub struct What<'a> {
    /// Frames that do not pass are left out.
    pub filter: Option<&'a Filter>,
    /// Whose packets to write; `None` for all frames, of whatever kind.
    pub members: Option<&'a Members>,
    /// What to say about them.
    pub notes: &'a Notes,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// Frames.
    pub frames: u64,
    /// Of them, those with comments.
    pub commented: u64,
}

/// Reads a time line to its end and writes what was chosen, in the order of time. `progress` is called as
/// [`crate::run::run`] does.
///
/// # Errors
/// Those of the writer.
pub fn save<W: Write>(
    mut timeline: Timeline,
    what: &What<'_>,
    out: W,
    mut progress: impl FnMut(Bytes, Option<Bytes>),
) -> io::Result<Saved> {
    let mut filter = what.filter.map(Filter::compiled);
    let mut writer = Writer::create(out)?;
    // By file and interface of the captures.
    let mut interfaces: HashMap<(u16, u32), u32> = HashMap::new();
    let names: Vec<String> = timeline.summaries().into_iter().map(|c| c.path).collect();
    let mut saved = Saved::default();
    let mut batch = Batch::default();
    loop {
        timeline.take(&mut batch);
        if batch.is_empty() {
            break;
        }
        for frame in batch.frames() {
            if filter.as_mut().is_some_and(|f| !f.passes(&frame)) || what.members.is_some_and(|m| !chosen(m, &frame)) {
                continue;
            }
            let file = frame.number.file();
            let iface = match interfaces.get(&(file, frame.iface)) {
                Some(&iface) => iface,
                None => {
                    let Some(interface) = timeline.interfaces(file).get(frame.iface as usize) else { continue };
                    let name = names.get(usize::from(file)).map(String::as_str);
                    let iface = writer.interface(interface, name)?;
                    interfaces.insert((file, frame.iface), iface);
                    iface
                }
            };
            let comments = what.notes.of(frame.number);
            let packet = pcapng::write::Packet { iface, ts: frame.ts, wire_len: frame.wire_len, bytes: frame.bytes };
            writer.packet(&packet, comments.iter().copied())?;
            saved.frames += 1;
            saved.commented += u64::from(!comments.is_empty());
        }
        let (done, total) = timeline.progress();
        progress(done, total);
    }
    writer.finish()?;
    Ok(saved)
}

/// Whether a frame is a packet of the chosen connections.
fn chosen(members: &Members, frame: &Frame<'_>) -> bool {
    let mut packet = Packet::default();
    look(frame, &mut packet) && members.have(&packet.facts, packet.at)
}
