//! What became of each capture: the report's `captures`.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use rocetop_analysis::counted::NEEDS_PACKETS;
use rocetop_parsers::{Bytes, Nanos};
use serde::{Serialize, Serializer};

use crate::pcap::{Fault, Interface, LinkType, MAX_RECORD, Record};

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
    /// The link types of all its frames, where nobody here can read them.
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
        "the {compression} data cannot be undone behind byte offset {} of the capture inside: {error}; if {compression} \
         itself can unpack it, do that first", .end.0
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
    first: Nanos,
    last: Nanos,
    /// The stamp before; all ones while there is none.
    before: Nanos,
    /// Frames without a stamp.
    unstamped: u64,
    /// Stamps that no clock gives behind the ones before.
    pub(crate) jumps: u64,
    /// The longest step back.
    back: Nanos,
    /// Frames whose length on the wire is beyond belief.
    overlong: u64,
    /// Frames of a link type that the parsers do not know.
    pub(crate) unread: u64,
}

impl Default for Tally {
    fn default() -> Self {
        let (first, last, before, back) = (Nanos(u64::MAX), Nanos(0), Nanos(u64::MAX), Nanos(0));
        Self { frames: 0, bytes: Bytes(0), first, last, before, unstamped: 0, jumps: 0, back, overlong: 0, unread: 0 }
    }
}

/// A clock that goes back farther than this was set, or a stamp is false. Several queues of a card that are written one
/// after the other are milliseconds apart. Chosen.
const BACK: Nanos = Nanos(1_000_000_000);
/// Nothing is silent for so long: a year.
const AHEAD: Nanos = Nanos(366 * 86_400 * 1_000_000_000);

impl Tally {
    /// Counts one frame. One that claims to be longer than any is counted with the bytes that are there.
    #[inline]
    pub(crate) fn add(&mut self, record: &mut Record) {
        if record.wire_len > MAX_RECORD {
            self.too_long(record);
        }
        self.frames += 1;
        self.bytes += Bytes(u64::from(record.wire_len));
        self.unread += u64::from(record.link.is_none());
        match record.ts {
            Some(ts) => {
                if ts.0.abs_diff(self.before.0) > BACK.0 {
                    self.leap(ts);
                }
                self.before = ts;
                self.saw(ts);
            }
            None => self.unstamped += 1,
        }
    }

    #[cold]
    fn too_long(&mut self, record: &mut Record) {
        let captured = record.data.len() as u32;
        self.overlong += u64::from(record.wire_len > captured);
        record.wire_len = captured;
    }

    /// A stamp that is far from the one before.
    #[cold]
    fn leap(&mut self, ts: Nanos) {
        let first = self.before == Nanos(u64::MAX);
        let back = self.before.since(ts);
        if !first && (back > BACK || ts.since(self.before) > AHEAD) {
            self.jumps += 1;
            self.back = self.back.max(back);
        }
    }

    /// What is odd about the frames, in sentences.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.jumps != 0 {
            let back = if self.back == Nanos(0) {
                "leaps ahead by more than a year".to_owned()
            } else {
                format!("goes back, by up to {} s", self.back.0.div_ceil(1_000_000_000))
            };
            let times = if self.jumps == 1 { "once".to_owned() } else { format!("{} times", self.jumps) };
            notes.push(format!("Its clock {back} ({times}): lengths of time across that are worth nothing."));
        }
        if self.unstamped != 0 && self.unstamped == self.frames {
            notes.push("Its frames have no times: rates, latencies and durations are not known.".to_owned());
        } else if self.unstamped != 0 {
            notes.push(format!(
                "{} of its frames have no time, and are given that of the frame before.",
                self.unstamped
            ));
        }
        if self.overlong != 0 {
            notes.push(format!(
                "{} of its frames claim to be longer than any link carries, and count with the bytes that are there.",
                self.overlong
            ));
        }
        notes
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
                    \"first_ns\":1,\"last_ns\":null,\"complete\":true,\"problem\":null,\"drops\":null}";
        assert_eq!(serde_json::to_string(&summary).unwrap(), text);
    }

    #[test]
    fn link_types_are_told_once_each() {
        let interface = |n| Interface { link_type: LinkType(n), snaplen: 0, name: None };
        assert_eq!(link_types(&[interface(113), interface(1), interface(113)]).as_deref(), Some("LINUX_SLL,EN10MB"));
        assert_eq!(link_types(&[]), None);
    }
}
