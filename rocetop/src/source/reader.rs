//! One capture: its bytes, its decoder, and what became of it.

use std::path::{Path, PathBuf};

use rocetop_parsers::{Bytes, Nanos};

use super::error::{Found, OpenError};
use super::file::Input;
use super::frame::Frame;
use super::stream::{Ended, Filled};
use super::summary::{CaptureSummary, Problem, Tally, link_types};
use crate::pcap::{Decoder, Fault, Format, Interface, Record, Step};
use rocetop_analysis::FrameNo;

/// A capture that is being read.
#[derive(Debug)]
pub(crate) struct Reader {
    path: PathBuf,
    file: u16,
    input: Input,
    decoder: Decoder,
    format: Option<Format>,
    /// The record that was read last; its bytes lie just behind the position.
    head: Option<Record>,
    ts: Nanos,
    tally: Tally,
    ended: bool,
    problem: Option<Problem>,
}

/// A place in a mapped file, and what is counted there.
struct Place<'a> {
    bytes: &'a [u8],
    at: &'a mut usize,
    file: u16,
    ts: &'a mut Nanos,
    tally: &'a mut Tally,
}

impl Place<'_> {
    /// Hands on frames until `left` is 0 or a step is no record; that step is returned.
    ///
    /// The innermost loop of every analysis: all that it counts stays in registers and is written back at the end.
    #[inline(always)]
    fn run(
        self,
        left: &mut usize,
        mut step: impl FnMut(&[u8]) -> Result<Step, Fault>,
        each: &mut impl FnMut(Frame<'_>),
    ) -> Option<Result<Step, Fault>> {
        let mut ahead = self.bytes.get(*self.at..).unwrap_or_default();
        let (mut ts, mut tally) = (*self.ts, *self.tally);
        let other = loop {
            if *left == 0 {
                break None;
            }
            let Record { ts: stamp, iface, link, wire_len, data, used } = match step(ahead) {
                Ok(Step::Record(record)) => record,
                other => break Some(other),
            };
            let Some((record, behind)) = ahead.split_at_checked(used) else { break None };
            ts = stamp.unwrap_or(ts);
            tally.add(stamp, wire_len);
            ahead = behind;
            *left -= 1;
            let bytes = record.get(data).unwrap_or_default();
            each(Frame { ts, number: FrameNo::new(self.file, tally.frames), iface, link, wire_len, bytes });
        };
        *self.at = self.bytes.len() - ahead.len();
        (*self.ts, *self.tally) = (ts, tally);
        other
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
        let mut reader = Self::new(path.to_owned(), file, input, format);
        reader.format = known;
        if filled == Filled::Ended
            && let Input::Stream(stream) = &mut reader.input
            && matches!(stream.ended(), Some(Ended::Unopened(_)))
            && let Some(Ended::Unopened(error)) = stream.take_ended()
        {
            return Err(OpenError::io(reader.path, error));
        }
        Ok(reader)
    }

    fn new(path: PathBuf, file: u16, input: Input, format: Format) -> Self {
        Self {
            path,
            file,
            input,
            decoder: Decoder::new(format),
            format: Some(format),
            head: None,
            ts: Nanos(0),
            tally: Tally::default(),
            ended: false,
            problem: None,
        }
    }

    /// The same capture from its start, for another thread; `None` for a stream.
    pub(crate) fn fork(&self) -> Option<Self> {
        let fork = Self::new(self.path.clone(), self.file, self.input.fork()?, self.format?);
        Some(fork)
    }

    /// Hands up to `most` frames on; fewer mean the end, or that the stop flag was set meanwhile.
    pub(crate) fn batch(&mut self, most: usize, mut each: impl FnMut(Frame<'_>)) -> usize {
        let mut left = most;
        while left > 0 {
            let step = match (&mut self.input, &mut self.decoder) {
                (Input::Mapped { map, at }, Decoder::Classic(classic)) => {
                    let place = Place { bytes: map, at, file: self.file, ts: &mut self.ts, tally: &mut self.tally };
                    place.run(&mut left, |ahead| classic.step(ahead), &mut each)
                }
                (Input::Mapped { map, at }, Decoder::Pcapng(pcapng)) => {
                    let place = Place { bytes: map, at, file: self.file, ts: &mut self.ts, tally: &mut self.tally };
                    place.run(&mut left, |ahead| pcapng.step(ahead), &mut each)
                }
                (Input::Stream(_), _) => {
                    let Some(frame) = self.next() else { break };
                    each(frame);
                    left -= 1;
                    continue;
                }
            };
            if !step.is_some_and(|step| self.uncommon(step)) {
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
                Ok(Step::Record(record)) => {
                    self.input.consume(record.used);
                    self.ts = record.ts.unwrap_or(self.ts);
                    self.tally.add(record.ts, record.wire_len);
                    return Some(record);
                }
                other => {
                    if !self.uncommon(other) {
                        return None;
                    }
                }
            }
        }
    }

    #[inline]
    fn as_frame(&self, record: &Record) -> Frame<'_> {
        Frame {
            ts: self.ts,
            number: FrameNo::new(self.file, self.tally.frames),
            iface: record.iface,
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

    /// The record that [`Reader::advance`] has read, as a frame.
    #[inline]
    pub(crate) fn frame(&self) -> Option<Frame<'_>> {
        self.head.as_ref().map(|record| self.as_frame(record))
    }

    /// Time stamp of the record that was read last.
    pub(crate) const fn ts(&self) -> Nanos {
        self.ts
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
        if filled == Filled::Ended {
            self.ended = true;
            self.problem = self.problem_at_end(start);
            self.close();
        }
        filled == Filled::Yes
    }

    /// The bytes have ended, in what begins at `start`.
    fn problem_at_end(&mut self, start: Bytes) -> Option<Problem> {
        let end = self.input.position() + Bytes(self.input.ahead().len() as u64);
        if let Input::Stream(stream) = &mut self.input {
            let compression = stream.compression().map(|c| c.name());
            match (stream.take_ended(), compression) {
                (Some(ended), Some(compression)) if ended.is_cut() => {
                    return Some(Problem::CompressedCut { compression, end });
                }
                (Some(Ended::Broken(error)), Some(compression)) => {
                    return Some(Problem::Compressed { compression, end, error });
                }
                (Some(Ended::Broken(error) | Ended::Unopened(error)), _) => {
                    return Some(Problem::Read { end, error });
                }
                _ => {}
            }
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
        if let Input::Stream(stream) = &mut self.input {
            stream.close();
        }
    }

    /// Lets go of what can be had again, until the next record is asked for. The last one stays.
    pub(crate) fn park(&mut self) {
        self.input.park();
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
            complete: problem.is_none(),
            problem: problem.map(ToString::to_string),
        }
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        match &self.input {
            Input::Mapped { .. } => 0,
            Input::Stream(stream) => stream.capacity(),
        }
    }
}
