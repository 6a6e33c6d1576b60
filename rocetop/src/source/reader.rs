//! One capture: its bytes, its decoder, and what became of it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocetop_parsers::{Bytes, Nanos};

use super::buffer::Spot;
use super::compression::Compression;
use super::error::{Found, OpenError};
use super::frame::Frame;
use super::input::{Filled, Input};
use super::odd::Odd;
use super::queue::Ended;
use super::shared::SharedFile;
use super::summary::{CaptureSummary, Problem, Tally, link_types};
use crate::pcap::{Decoder, Fault, Format, Interface, Record, Step};
use rocetop_analysis::FrameNo;

/// A capture that is being read.
#[derive(Debug)]
pub(crate) struct Reader {
    path: PathBuf,
    file: u16,
    /// See [`Frame::strand`].
    strand: u16,
    input: Input,
    decoder: Decoder,
    format: Option<Format>,
    /// The record that was read last; its bytes lie just behind the position.
    head: Option<Record>,
    tally: Tally,
    odd: Odd,
    ended: bool,
    /// The stop flag was set while it waited.
    stopped: bool,
    problem: Option<Problem>,
}

/// A place in the bytes at hand, and what is counted there.
struct Place<'a> {
    ahead: &'a [u8],
    spot: Spot<'a>,
    file: u16,
    strand: u16,
    tally: &'a mut Tally,
}

impl Place<'_> {
    /// Hands on frames until `left` is 0, there is no record, or an odd one. Tells how many bytes they took.
    ///
    /// The innermost loop of every analysis: all that it counts stays in registers and is written back at the end.
    #[inline(always)]
    fn run(
        self,
        left: &mut usize,
        mut record: impl FnMut(&[u8]) -> Option<Record>,
        each: &mut impl FnMut(Frame<'_>, Spot<'_>),
    ) -> usize {
        let mut ahead = self.ahead;
        let mut tally = *self.tally;
        while *left > 0
            && let Some(Record { ts: stamp, iface, link, wire_len, data, used }) = record(ahead)
        {
            if Odd::is(stamp, wire_len, tally.latest()) {
                break;
            }
            let at = self.spot.at + (self.ahead.len() - ahead.len()) + data.start;
            let Some((record, behind)) = ahead.split_at_checked(used) else { break };
            tally.add(stamp, wire_len);
            ahead = behind;
            *left -= 1;
            let bytes = record.get(data).unwrap_or_default();
            let (number, strand) = (FrameNo::new(self.file, tally.frames), self.strand);
            let frame = Frame { ts: tally.stamp(), number, iface, strand, link, wire_len, bytes };
            each(frame, Spot { at, ..self.spot });
        }
        *self.tally = tally;
        self.ahead.len() - ahead.len()
    }
}

/// The record that a step is; any other step goes to `other`.
#[inline(always)]
fn record_of(step: Result<Step, Fault>, other: &mut Option<Result<Step, Fault>>) -> Option<Record> {
    match step {
        Ok(Step::Record(record)) => Some(record),
        step => {
            *other = Some(step);
            None
        }
    }
}

impl Reader {
    /// Waits for the first bytes of an opened path and tells what they are.
    pub(crate) fn identify(path: &Path, file: u16, mut input: Input) -> Result<Self, OpenError> {
        let filled = input.fill(Format::MAGIC_LEN);
        let head = input.ahead();
        let Some(format) = Format::detect(head) else {
            let found = Found::new(input.compression(), head);
            return Err(OpenError::NotACapture { path: path.to_owned(), found });
        };
        let known = (!head.is_empty()).then_some(format);
        if filled == Filled::Ended
            && let Some(Ended::Unopened(error)) = input.ended()
        {
            return Err(OpenError::io(path.to_owned(), io::Error::new(error.kind(), Arc::clone(error))));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            strand: 0,
            input,
            decoder: Decoder::new(format),
            format: known,
            head: None,
            tally: Tally::default(),
            odd: Odd::default(),
            ended: false,
            stopped: false,
            problem: None,
        })
    }

    /// The strand that its frames are part of.
    pub(crate) fn set_strand(&mut self, strand: u16) {
        self.strand = strand;
    }

    /// See [`Input::share`].
    pub(crate) fn share(&mut self) -> Option<SharedFile> {
        self.input.share()
    }

    /// Hands on up to `most` frames that are at hand, after a wait for the first one; of a shared file, those of its
    /// first `reach` chunks. None is the end, or the stop flag was set meanwhile.
    pub(crate) fn batch(&mut self, most: usize, reach: u64, mut each: impl FnMut(Frame<'_>, Spot<'_>)) -> usize {
        let mut left = most;
        while left > 0 {
            let (ahead, spot) = (self.input.ahead(), self.input.spot());
            let (file, strand) = (self.file, self.strand);
            let place = Place { ahead, spot, file, strand, tally: &mut self.tally };
            let mut other = None;
            let used = match &mut self.decoder {
                Decoder::Classic(classic) => {
                    let record =
                        |ahead: &[u8]| classic.record(ahead).or_else(|| record_of(classic.step(ahead), &mut other));
                    place.run(&mut left, record, &mut each)
                }
                Decoder::Pcapng(pcapng) => {
                    place.run(&mut left, |ahead| record_of(pcapng.step(ahead), &mut other), &mut each)
                }
            };
            self.input.consume(used);
            let Some(step) = other else {
                if left == 0 {
                    break;
                }
                let Some(record) = self.read() else { break };
                each(self.as_frame(&record), self.spot_of(&record));
                left -= 1;
                continue;
            };
            // What there is comes before what has to be waited for.
            let wait = matches!(step, Ok(Step::Need(n)) if left < most && !self.input.reaches(n, reach));
            if wait || !self.uncommon(step) {
                break;
            }
        }
        most - left
    }

    /// Reads the next record; `None` when there is none, or when the stop flag was set meanwhile.
    #[inline]
    fn read(&mut self) -> Option<Record> {
        loop {
            match self.decoder.step(self.input.ahead()) {
                Ok(Step::Record(record)) => return Some(self.count(record)),
                other => {
                    if !self.uncommon(other) {
                        return None;
                    }
                }
            }
        }
    }

    /// Counts a record and goes on behind it.
    #[inline]
    fn count(&mut self, mut record: Record) -> Record {
        if Odd::is(record.ts, record.wire_len, self.tally.latest()) {
            self.odd.note(&mut record, self.tally.span().map(|_| self.tally.stamp()));
        }
        self.input.consume(record.used);
        self.tally.add(record.ts, record.wire_len);
        record
    }

    #[inline]
    fn as_frame(&self, record: &Record) -> Frame<'_> {
        Frame {
            ts: self.tally.stamp(),
            number: FrameNo::new(self.file, self.tally.frames),
            iface: record.iface,
            strand: self.strand,
            link: record.link,
            wire_len: record.wire_len,
            bytes: self.input.behind(record.used, record.data.start, record.data.end),
        }
    }

    /// The next frame, for a reader on its own.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Frame<'_>> {
        let record = self.read()?;
        Some(self.as_frame(&record))
    }

    /// Reads the next record ahead, to be compared with others; `false` when there is none.
    pub(crate) fn advance(&mut self) -> bool {
        self.head = self.read();
        self.head.is_some()
    }

    /// The latest stamp of all, 0 before any.
    pub(crate) const fn latest(&self) -> Nanos {
        self.tally.latest()
    }

    /// The record that [`Reader::advance`] has read, as a frame.
    #[inline]
    pub(crate) fn frame(&self) -> Option<Frame<'_>> {
        self.head.as_ref().map(|record| self.as_frame(record))
    }

    /// Where the bytes of [`Reader::frame`] lie.
    #[inline]
    pub(crate) fn spot(&self) -> Spot<'_> {
        self.head.as_ref().map_or_else(|| self.input.spot(), |record| self.spot_of(record))
    }

    /// Where the bytes of the record lie that was counted last.
    fn spot_of(&self, record: &Record) -> Spot<'_> {
        let spot = self.input.spot();
        Spot { at: spot.at + record.data.start - record.used, ..spot }
    }

    /// Time stamp of the record that was read last.
    pub(crate) const fn ts(&self) -> Nanos {
        self.tally.stamp()
    }

    /// Whether the stop flag was set while it waited for bytes.
    pub(crate) const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Any step but a record; whether to go on.
    #[cold]
    fn uncommon(&mut self, step: Result<Step, Fault>) -> bool {
        if self.ended {
            return false;
        }
        let start = self.input.position();
        let filled = match step {
            Ok(Step::Need(n)) => self.input.fill(n),
            Ok(Step::Skip(n)) => self.input.skip(n),
            Ok(Step::Record(_)) => Filled::Yes,
            Err(fault) => {
                self.ended = true;
                self.problem = Some(Problem::Corrupt { fault: fault.further(start), inside: self.inside() });
                self.close();
                return false;
            }
        };
        match filled {
            Filled::Yes => {}
            Filled::Stopped => self.stopped = true,
            Filled::Ended => {
                self.ended = true;
                self.problem = self.problem_at_end(start);
                self.close();
            }
        }
        filled == Filled::Yes
    }

    /// The bytes have ended, in what begins at `start`.
    fn problem_at_end(&self, start: Bytes) -> Option<Problem> {
        let end = self.input.position() + Bytes(self.input.ahead().len() as u64);
        match (self.input.ended(), self.input.compression().map(Compression::name)) {
            (Some(ended), Some(compression)) if ended.is_cut() => {
                return Some(Problem::CompressedCut { compression, end });
            }
            (Some(Ended::Broken(error)), Some(compression)) => {
                return Some(Problem::Compressed { compression, end, error: Arc::clone(error) });
            }
            (Some(Ended::Broken(error) | Ended::Unopened(error)), _) => {
                return Some(Problem::Read { end, error: Arc::clone(error) });
            }
            _ => {}
        }
        if end == Bytes(0) {
            Some(Problem::Empty)
        } else if end == start && self.decoder.may_end() {
            None
        } else {
            let in_header = start == Bytes(0);
            Some(Problem::Cut { end, start, in_header, inside: self.inside() })
        }
    }

    /// Nothing more will be read.
    fn close(&mut self) {
        self.head = None;
        self.input.close();
    }

    /// Lets go of what can be had again, until the next record is asked for. The last one stays.
    pub(crate) fn park(&mut self) {
        self.input.park(self.head.as_ref().map_or(0, |record| record.used));
    }

    /// Which bytes are counted.
    fn inside(&self) -> &'static str {
        if self.input.compression().is_some() { " of the decompressed data" } else { "" }
    }

    /// The interfaces met so far.
    pub(crate) fn interfaces(&self) -> &[Interface] {
        self.decoder.interfaces()
    }

    /// Bytes read of the file as it lies on disk, and its size where known.
    pub(crate) fn progress(&self) -> (Bytes, Option<Bytes>) {
        self.input.progress()
    }

    /// What became of it so far.
    pub(crate) fn summary(&self) -> CaptureSummary {
        let format = self.format.map(Format::name);
        let extension = self.input.compression().map(|c| c.extension());
        let stopped = Problem::Stopped { at: self.input.position() };
        let problem = if self.ended { self.problem.as_ref() } else { Some(&stopped) };
        let span = self.tally.span();
        CaptureSummary {
            path: self.path.display().to_string(),
            format: format.into_iter().chain(extension).map(str::to_owned).reduce(|f, e| f + "." + &e),
            link_type: link_types(self.interfaces()),
            frames: self.tally.frames,
            bytes: self.tally.bytes,
            first_ns: span.map(|(first, _)| first),
            last_ns: span.map(|(_, last)| last),
            stamped_back: self.tally.stamped_back,
            complete: problem.is_none(),
            drops: self.decoder.drops(),
            notes: self.notes(),
            clock_jumps: self.odd.clock_jumps(),
            unread_link: self.unread_link(),
            stopped: matches!(problem, Some(Problem::Stopped { .. })) && self.input.is_live(),
            problem: problem.map(ToString::to_string),
            watched: None,
        }
    }

    /// The link types, where nobody here can read any of them.
    fn unread_link(&self) -> Option<String> {
        let unread = self.interfaces().iter().all(|i| i.link_type.link().is_none());
        link_types(self.interfaces()).filter(|_| unread)
    }

    /// What a reader of the report should know of the capture.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.odd.notes(self.tally.frames);
        let parts = if self.format == Some(Format::Pcap) { self.interfaces().len() } else { 1 };
        if parts > 1 {
            notes.insert(
                0,
                format!("{parts} captures lie one behind the other in this file, and all of them were read."),
            );
        }
        notes
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.input.capacity()
    }
}
