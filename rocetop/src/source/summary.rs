//! What became of each capture: the report's `captures`.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use rocetop_analysis::counted::NEEDS_PACKETS;
use rocetop_parsers::{Bytes, Nanos};
use serde::{Serialize, Serializer};

use crate::pcap::{Fault, Interface, LinkType};

/// One capture of a run, as the report shows it. What cannot be known is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaptureSummary {
    /// As it was named; `-` for standard input.
    pub path: String,
    /// `pcap` or `pcapng`, with the extension of the compression around it: `pcap.gz`.
    pub format: Option<String>,
    /// tcpdump's name of the link type; several, in order of appearance, are separated by commas.
    pub link_type: Option<String>,
    /// Frames read.
    pub frames: u64,
    /// Their bytes on the wire.
    #[serde(serialize_with = "bytes")]
    pub bytes: Bytes,
    /// The earliest time stamp.
    #[serde(serialize_with = "nanos")]
    pub first_ns: Option<Nanos>,
    /// The latest time stamp.
    #[serde(serialize_with = "nanos")]
    pub last_ns: Option<Nanos>,
    /// Frames with an earlier stamp than the frame ahead of them, in the order of the file. A host that takes
    /// packets from several receive queues writes them so; it need not be the order of the wire.
    pub stamped_back: u64,
    /// Whether it was read to an end that is its own.
    pub complete: bool,
    /// Why not.
    pub problem: Option<String>,
    /// Frames that the capture itself says it had no room for; `None` where it does not tell.
    pub drops: Option<u64>,
    /// What is odd about it, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Its clock was set in between, or some stamps are false: no length of time or rate is worth anything.
    #[serde(skip)]
    pub clock_jumps: bool,
    /// Its link types, where nobody here can read any of them.
    #[serde(skip)]
    pub unread_link: Option<String>,
    /// It would have gone on, but somebody asked for the end: of a live pipe the usual one.
    #[serde(skip)]
    pub stopped: bool,
    /// How it was watched; `None` for a file or a pipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
}

/// An interface that was watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Watched {
    /// Through what.
    pub source: &'static str,
    /// Frames that passed and that the system had no room for; `None` where it does not tell.
    pub drops: Option<u64>,
    /// What the figures are worth; `None` where nobody can say.
    pub fidelity: Option<Fidelity>,
    /// How, where there are several ways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<&'static str>,
    /// Figures of a flow that are not known, as only packets tell them and flows came counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_packets: Option<&'static [&'static str]>,
    /// Packets in the sums over all frames that no flow has: the kernel's table was full.
    #[serde(skip_serializing_if = "is_zero")]
    pub unlisted: u64,
    /// Frames that were to be looked at and that the kernel's ring had no room for. They are counted all the same.
    #[serde(skip_serializing_if = "is_zero")]
    pub unshown: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What figures are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// Every packet was seen.
    Exact,
    /// Not all were.
    Sampled,
}

impl Watched {
    /// The same with so many left out, at the end, of packets or of what was counted.
    pub(crate) fn with(self, drops: Option<u64>, counted: bool) -> Self {
        let needs_packets = if counted { Some(&NEEDS_PACKETS[..]) } else { None };
        let Self { source, mode, unlisted, unshown, .. } = self;
        Self { mode, unlisted, unshown, needs_packets, ..Self::new(source, drops) }
    }

    /// What was seen of everything, with so many left out.
    #[must_use]
    pub fn new(source: &'static str, drops: Option<u64>) -> Self {
        let fidelity = drops.map(|n| if n == 0 { Fidelity::Exact } else { Fidelity::Sampled });
        Self { source, drops, fidelity, mode: None, needs_packets: None, unlisted: 0, unshown: 0 }
    }
}

impl CaptureSummary {
    /// Whether all that there was to read was read. A live pipe has no other end than the one that somebody gives it.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.complete || self.stopped
    }

    /// Whether there is something to say about it beyond its figures.
    #[must_use]
    pub fn is_odd(&self) -> bool {
        !self.complete || !self.notes.is_empty() || self.drops.is_some_and(|n| n != 0)
    }

    /// Whether its frames have no times.
    #[must_use]
    pub const fn is_timeless(&self) -> bool {
        self.frames != 0 && self.first_ns.is_none()
    }
}

fn bytes<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(bytes.0)
}

fn nanos<S: Serializer>(nanos: &Option<Nanos>, serializer: S) -> Result<S::Ok, S::Error> {
    nanos.map(|n| n.0).serialize(serializer)
}

/// Why a capture was not read to an end that is its own.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Problem {
    /// There is not a single byte.
    #[error("the capture is empty: it ends at byte offset 0, before its header")]
    Empty,
    /// It ends in the middle of something, as when the capturing program was killed.
    #[error("the capture is cut: it ends at byte offset {}{inside}, inside the {} that starts at byte offset {}",
            .end.0, if *.in_header { "header" } else { "record" }, .start.0)]
    Cut {
        /// Where the bytes end.
        end: Bytes,
        /// Where what is cut starts.
        start: Bytes,
        /// Whether it is the file's own header that is cut.
        in_header: bool,
        /// Which bytes are counted, where they are not the file's.
        inside: &'static str,
    },
    /// Its bytes stop making sense.
    #[error("the capture is corrupt: {fault}{inside}; nothing behind it was read")]
    Corrupt {
        /// What and where.
        fault: Fault,
        /// Which bytes are counted, where they are not the file's.
        inside: &'static str,
    },
    /// The compressed data around it ends too early.
    #[error("the {compression} data is cut: the capture inside ends at byte offset {}", .end.0)]
    CompressedCut {
        /// `gzip`, `zstd` or `xz`.
        compression: &'static str,
        /// Where the capture ends.
        end: Bytes,
    },
    /// The compressed data around it is broken or asks for too much memory.
    #[error(
        "the {compression} data cannot be undone behind byte offset {} of the capture inside: {error}; if \
         {compression} itself can unpack it, do that first", .end.0
    )]
    Compressed {
        /// `gzip`, `zstd` or `xz`.
        compression: &'static str,
        /// Where the capture ends.
        end: Bytes,
        /// The decompressor's words.
        error: Arc<io::Error>,
    },
    /// The system cannot read on.
    #[error("reading failed at byte offset {}: {error}", .end.0)]
    Read {
        /// Where the capture ends.
        end: Bytes,
        /// The system's words.
        error: Arc<io::Error>,
    },
    /// It was not read any further.
    #[error("reading was stopped at byte offset {}", .at.0)]
    Stopped {
        /// How far it was read.
        at: Bytes,
    },
}

/// What a reader counts along the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    pub(crate) frames: u64,
    pub(crate) bytes: Bytes,
    /// See [`CaptureSummary::stamped_back`].
    pub(crate) stamped_back: u64,
    first: Nanos,
    last: Nanos,
    stamp: Nanos,
}

impl Default for Tally {
    fn default() -> Self {
        let (first, last, stamp) = (Nanos(u64::MAX), Nanos(0), Nanos(0));
        Self { frames: 0, bytes: Bytes(0), stamped_back: 0, first, last, stamp }
    }
}

impl Tally {
    /// Counts one frame.
    #[inline]
    pub(crate) fn add(&mut self, ts: Option<Nanos>, wire_len: u32) {
        self.frames += 1;
        self.bytes += Bytes(u64::from(wire_len));
        if let Some(ts) = ts {
            self.stamped_back += u64::from(ts < self.stamp);
            self.stamp = ts;
            self.saw(ts);
        }
    }

    /// Counts frames that were counted elsewhere.
    pub(crate) fn count(&mut self, frames: u64, bytes: Bytes) {
        self.frames += frames;
        self.bytes += bytes;
    }

    /// Takes in the time of a frame.
    pub(crate) fn saw(&mut self, at: Nanos) {
        self.first = self.first.min(at);
        self.last = self.last.max(at);
    }

    /// The stamp of the frame that was counted last, or of the one before where it has none; 0 before any.
    #[inline]
    pub(crate) const fn stamp(&self) -> Nanos {
        self.stamp
    }

    /// The latest stamp, 0 before any.
    pub(crate) const fn latest(&self) -> Nanos {
        self.last
    }

    /// The earliest and the latest stamp, if there was one.
    pub(crate) fn span(&self) -> Option<(Nanos, Nanos)> {
        (self.first <= self.last).then_some((self.first, self.last))
    }
}

/// The distinct link types of some interfaces, as text.
pub(crate) fn link_types(interfaces: &[Interface]) -> Option<String> {
    let mut seen = BTreeSet::<LinkType>::new();
    let distinct = interfaces.iter().map(|i| i.link_type).filter(|&l| seen.insert(l));
    distinct.map(|l| l.to_string()).reduce(|all, l| all + "," + &l)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serializes_as_the_contract_says() {
        let summary = CaptureSummary {
            path: "a.pcap".into(),
            format: Some("pcap".into()),
            link_type: Some("EN10MB".into()),
            frames: 2,
            bytes: Bytes(120),
            first_ns: Some(Nanos(1)),
            last_ns: None,
            stamped_back: 0,
            complete: true,
            problem: None,
            drops: None,
            notes: Vec::new(),
            clock_jumps: false,
            unread_link: None,
            stopped: false,
            watched: None,
        };
        let text = "{\"path\":\"a.pcap\",\"format\":\"pcap\",\"link_type\":\"EN10MB\",\"frames\":2,\"bytes\":120,\
                    \"first_ns\":1,\"last_ns\":null,\"stamped_back\":0,\
                    \"complete\":true,\"problem\":null,\"drops\":null}";
        assert_eq!(serde_json::to_string(&summary).unwrap(), text);
    }

    #[test]
    fn link_types_are_told_once_each() {
        let interface = |n| Interface { link_type: LinkType(n), snaplen: 0, name: None };
        assert_eq!(link_types(&[interface(113), interface(1), interface(113)]).as_deref(), Some("LINUX_SLL,EN10MB"));
        assert_eq!(link_types(&[]), None);
    }
}
