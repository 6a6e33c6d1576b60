//! Several captures as one time line.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use rocetop_parsers::{Bytes, Nanos};

use super::error::OpenError;
use super::file::{Input, is_stdin};
use super::frame::Frame;
use super::reader::Reader;
use super::stop::Stop;
use super::summary::CaptureSummary;
use crate::pcap::Interface;
use rocetop_analysis::FrameNo;

/// The frames of one or more captures in the order of time.
///
/// The frame with the earliest stamp comes next, among the next ones of every file; equal stamps keep the order in
/// which the files were named. Within a file the order is the file's, even where its clock steps back. So the parts of
/// a ring buffer may be named in any order.
///
/// A capture that is cut or corrupt yields what comes before the damage, ends there and says so in its
/// [`CaptureSummary`]; the others go on.
#[derive(Debug)]
pub struct Timeline {
    readers: Vec<Reader>,
    stop: Stop,
    merge: Merge,
}

/// Captures up to which all are kept at work. The compressed ones among more are opened, looked at and parked until
/// their time comes: hundreds of parts of a ring buffer need not be decompressed at the same time.
const AT_WORK: usize = 8;

/// Who is next, when there are several.
#[derive(Debug, Default)]
struct Merge {
    /// The reader whose frame was handed out last and who has to read its next one.
    current: Option<usize>,
    /// The next frames of all others, earliest on top.
    waiting: BinaryHeap<Reverse<(Nanos, usize)>>,
    started: bool,
}

impl Timeline {
    /// Opens all captures: regular files, FIFOs, `-` for standard input, each as it is or inside .gz, .zst, .xz.
    ///
    /// Waits for the first bytes of every stream, to know what it is.
    ///
    /// # Errors
    /// [`OpenError`] when one of them cannot be read or is no capture. A capture that is cut short anywhere, even
    /// inside its header, is none.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Self, OpenError> {
        Self::open_with(paths, Stop::new())
    }

    /// [`Timeline::open`] under a stop flag that exists already, so that the wait for first bytes can end as well.
    ///
    /// # Errors
    /// As [`Timeline::open`].
    pub fn open_with<P: AsRef<Path>>(paths: &[P], stop: Stop) -> Result<Self, OpenError> {
        if paths.is_empty() {
            return Err(OpenError::NoFiles);
        }
        if paths.len() > FrameNo::MAX_FILES {
            return Err(OpenError::TooManyFiles(paths.len()));
        }
        if paths.iter().filter(|p| is_stdin(p.as_ref())).count() > 1 {
            return Err(OpenError::StdinTwice);
        }
        // All are opened before any is waited for: one writer may feed several pipes.
        let inputs = paths.iter().map(|p| Input::open(p.as_ref(), &stop)).collect::<Result<Vec<_>, _>>()?;
        let readers = (0..).zip(paths).zip(inputs).map(|((file, path), i)| Reader::identify(path.as_ref(), file, i));
        let parked = |mut reader: Reader| {
            if paths.len() > AT_WORK {
                reader.park();
            }
            reader
        };
        Ok(Self { readers: readers.map(|r| r.map(parked)).collect::<Result<_, _>>()?, stop, merge: Merge::default() })
    }

    /// The next frame; `None` at the end or once the stop flag is set. The frame borrows until the next call.
    ///
    /// Waits for streams.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "frames borrow from the time line: it lends, an iterator gives")]
    pub fn next(&mut self) -> Option<Frame<'_>> {
        if self.stop.is_stopped() {
            return None;
        }
        if self.readers.len() == 1 {
            return self.readers.first_mut()?.next();
        }
        let next = self.earliest()?;
        self.readers.get(next)?.frame()
    }

    /// Hands up to `most` frames to `each` and tells how many; 0 is the end, as is a stop request.
    ///
    /// The fastest way through a single file. In between the caller may look at [`Timeline::progress`]. Over a live
    /// pipe it waits for all `most`, so that [`Timeline::next`] answers sooner there.
    pub fn batch(&mut self, most: usize, mut each: impl FnMut(Frame<'_>)) -> usize {
        if self.readers.len() == 1 {
            let only = if self.stop.is_stopped() { None } else { self.readers.first_mut() };
            return only.map_or(0, |only| only.batch(most, each));
        }
        let mut done = 0;
        while done < most
            && let Some(frame) = self.next()
        {
            each(frame);
            done += 1;
        }
        done
    }

    /// Hands all frames that are left to `each`.
    pub fn for_each(&mut self, mut each: impl FnMut(Frame<'_>)) {
        // Often enough for a stop request to be noticed at once.
        while self.batch(4096, &mut each) > 0 {}
    }

    /// The reader with the earliest frame, which has been read.
    fn earliest(&mut self) -> Option<usize> {
        let Merge { current, waiting, started } = &mut self.merge;
        if !*started {
            *started = true;
            let many = self.readers.len() > AT_WORK;
            for (i, reader) in self.readers.iter_mut().enumerate() {
                if reader.advance() {
                    waiting.push(Reverse((reader.ts(), i)));
                }
                if many {
                    reader.park();
                }
            }
        }
        if let Some(i) = *current {
            let reader = self.readers.get_mut(i)?;
            if reader.advance() {
                let next = Reverse((reader.ts(), i));
                // The parts of a ring buffer come one after the other: mostly the same file goes on.
                match waiting.peek_mut() {
                    Some(mut top) if *top > next => {
                        let Reverse((_, other)) = std::mem::replace(&mut *top, next);
                        *current = Some(other);
                    }
                    _ => {}
                }
                return *current;
            }
        }
        *current = waiting.pop().map(|Reverse((_, i))| i);
        *current
    }

    /// An independent reader of the same captures from their start, for another thread. It shares maps and stop flag.
    ///
    /// `None` when a capture is a stream or compressed, which can be read only once.
    #[must_use]
    pub fn fork(&self) -> Option<Self> {
        let readers = self.readers.iter().map(Reader::fork).collect::<Option<_>>()?;
        Some(Self { readers, stop: self.stop.clone(), merge: Merge::default() })
    }

    /// Bytes read so far and bytes to read in all, both as the files lie on disk. The latter is `None` where a pipe
    /// takes part.
    #[must_use]
    pub fn progress(&self) -> (Bytes, Option<Bytes>) {
        self.readers.iter().map(Reader::progress).fold((Bytes(0), Some(Bytes(0))), |(done, total), (d, t)| {
            (done + d, total.zip(t).map(|(total, t)| total + t))
        })
    }

    /// What became of each capture so far, in the order in which they were named.
    #[must_use]
    pub fn summaries(&self) -> Vec<CaptureSummary> {
        self.readers.iter().map(Reader::summary).collect()
    }

    /// The interfaces that a file has described so far; [`Frame::iface`] is an index into them.
    #[must_use]
    pub fn interfaces(&self, file: u16) -> &[Interface] {
        self.readers.get(usize::from(file)).map(Reader::interfaces).unwrap_or_default()
    }

    /// A handle to end the time line from elsewhere. [`Timeline::next`] then returns `None`, also out of a wait.
    #[must_use]
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.readers.iter().map(Reader::capacity).max().unwrap_or_default()
    }
}
