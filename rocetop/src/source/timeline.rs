//! Several captures as one time line.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use rocetop_parsers::{Bytes, Nanos};

use super::error::OpenError;
use super::frame::Frame;
use super::input::{Input, is_stdin};
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
    /// One of several that yield the same frames: a stop request must end all at the same one, so it is left to the
    /// threads that read.
    in_step: bool,
    merge: Merge,
}

/// Captures up to which all are kept at work. Of more, files are opened, looked at and parked until their time comes:
/// hundreds of parts of a ring buffer need not be read and decompressed at the same time.
const AT_WORK: usize = 8;

/// Who is next, when there are several.
#[derive(Clone, Debug, Default)]
struct Merge {
    /// The reader whose frame was handed out last and who has to read its next one.
    current: Option<usize>,
    /// The next frames of all others, earliest on top.
    waiting: BinaryHeap<Reverse<(Nanos, usize)>>,
    started: bool,
    /// A stop request has ended the reading of one.
    stopped: bool,
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
        let readers = readers.map(|r| r.map(parked)).collect::<Result<_, _>>()?;
        Ok(Self { readers, stop, in_step: false, merge: Merge::default() })
    }

    /// The next frame; `None` at the end or once the stop flag is set. The frame borrows until the next call.
    ///
    /// Waits for streams.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "frames borrow from the time line: it lends, an iterator gives")]
    pub fn next(&mut self) -> Option<Frame<'_>> {
        if self.is_stopped() {
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
            let only = if self.is_stopped() { None } else { self.readers.first_mut() };
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

    /// Whether a stop request is to be heard here and now.
    #[inline]
    fn is_stopped(&self) -> bool {
        self.merge.stopped || !self.in_step && self.stop.is_stopped()
    }

    /// Reads the first frame of all.
    #[cold]
    fn start(&mut self) {
        self.merge.started = true;
        let many = self.readers.len() > AT_WORK;
        for (i, reader) in self.readers.iter_mut().enumerate() {
            if reader.advance() {
                self.merge.waiting.push(Reverse((reader.ts(), i)));
            }
            self.merge.stopped |= reader.is_stopped();
            if many {
                reader.park();
            }
        }
    }

    /// The reader with the earliest frame, which has been read.
    fn earliest(&mut self) -> Option<usize> {
        if !self.merge.started {
            self.start();
        }
        let Merge { current, waiting, stopped, .. } = &mut self.merge;
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
            *stopped |= reader.is_stopped();
        }
        *current = if *stopped { None } else { waiting.pop().map(|Reverse((_, i))| i) };
        *current
    }

    /// `n` time lines (at least one) that yield the same frames, for as many threads that run at the same time. Each
    /// capture is read and decompressed once, by a thread of its own. A stop request ends all at the same frame.
    ///
    /// They wait for one another where one is too far ahead, but never for ever, since all take from the captures in
    /// the same order; one that is dropped is not waited for. Each counts for itself: any one's summaries are those of
    /// all once they are at their ends.
    #[must_use]
    pub fn split(mut self, n: usize) -> Vec<Self> {
        if n <= 1 {
            return vec![self];
        }
        // Afterwards none is parked again: a file is at work from when its time has come until it ends.
        if self.readers.len() > 1 && !self.merge.started {
            self.start();
        }
        let mut parts: Vec<_> = (0..n)
            .map(|_| Self {
                readers: Vec::with_capacity(self.readers.len()),
                stop: self.stop.clone(),
                in_step: true,
                merge: self.merge.clone(),
            })
            .collect();
        for reader in self.readers {
            for (part, reader) in parts.iter_mut().zip(reader.split(n)) {
                part.readers.push(reader);
            }
        }
        parts
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
