//! Several captures as one time line.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use rocetop_parsers::{Bytes, Nanos};

use super::batch::Batch;
use super::error::OpenError;
use super::frame::Frame;
use super::input::{Input, is_stdin};
use super::odd::BACK;
use super::reader::Reader;
use super::shared::SharedFile;
use super::stop::Stop;
use super::summary::CaptureSummary;
use crate::pcap::Interface;
use rocetop_analysis::FrameNo;

/// The frames of one or more captures in the order of time.
///
/// The frame with the earliest stamp comes next, among the next ones of every file; of equal stamps those of the file
/// that is being read, then those of the file that was named first. Within a file the order is the file's, even where
/// its clock steps back. So the parts of a ring buffer may be named in any order.
///
/// A capture that is cut or corrupt yields what comes before the damage, ends there and says so in its
/// [`CaptureSummary`]; the others go on.
#[derive(Debug)]
pub struct Timeline {
    readers: Vec<Reader>,
    stop: Stop,
    merge: Merge,
}

/// Captures up to which all are kept at work. Of more, files are opened, looked at and parked until their time comes:
/// hundreds of parts of a ring buffer need not be read and decompressed at the same time.
const AT_WORK: usize = 8;

/// Who is next, when there are several.
#[derive(Debug, Default)]
struct Merge {
    /// The reader whose frame was handed out last and who has to read its next one.
    current: Option<usize>,
    /// The next frames of all others, earliest on top: of files that have begun, and of those that have not.
    begun: BinaryHeap<Reverse<(Nanos, usize)>>,
    fresh: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// How far stamps have gone back in a file so far, where nobody has set the clock.
    unsteady: Nanos,
    /// The file that each strand has come to; `None` where that is over.
    strands: Vec<Option<usize>>,
    started: bool,
    /// A stop request has ended the reading of one.
    stopped: bool,
}

impl Merge {
    /// Takes off the file whose frame comes next, if it comes before the one of that time.
    ///
    /// A file that begins where the one before it does not even keep its own order may be the next part of the same
    /// ring buffer: while that one goes on, it waits as long as stamps go back there.
    fn next(&mut self, before: Option<Nanos>) -> Option<usize> {
        let late = if before.is_some() { self.unsteady } else { Nanos(0) };
        let begun = self.begun.peek().map(|top| top.0);
        let fresh = self.fresh.peek().map(|&Reverse((first, i))| (Nanos(first.0.saturating_add(late.0)), i));
        let first = begun.into_iter().chain(fresh).min()?;
        if before.is_some_and(|ts| ts <= first.0) {
            return None;
        }
        let from = if begun == Some(first) { &mut self.begun } else { &mut self.fresh };
        from.pop().map(|Reverse((_, i))| i)
    }
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
        Ok(Self { readers, stop, merge: Merge::default() })
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
        self.earliest()?.frame()
    }

    /// Hands up to `most` frames to `each` and tells how many; 0 is the end, as is a stop request.
    ///
    /// The fastest way through a single file, and then it hands on what is at hand, waiting for the first frame alone.
    /// In between the caller may look at [`Timeline::progress`].
    pub fn batch(&mut self, most: usize, mut each: impl FnMut(Frame<'_>)) -> usize {
        if self.readers.len() == 1 {
            let only = if self.is_stopped() { None } else { self.readers.first_mut() };
            return only.map_or(0, |only| only.batch(most, 0, |frame, _| each(frame)));
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

    /// Leaves a file that is alone and plain to be read by those who take batches. `None` for anything else, which
    /// [`Timeline::take`] reads.
    pub fn share(&mut self) -> Option<SharedFile> {
        if let [only] = self.readers.as_mut_slice() { only.share() } else { None }
    }

    /// Puts the next frames in the place of those in `batch`. None at all are the end, as is a stop request.
    ///
    /// The frames may be looked at while the time line goes on, by several threads where there are several batches.
    pub fn take(&mut self, batch: &mut Batch) {
        batch.clear();
        if self.readers.len() == 1 {
            if !self.is_stopped()
                && let Some(only) = self.readers.first_mut()
            {
                only.batch(batch.most(), batch.reach, |frame, spot| batch.push(&frame, spot));
            }
            return;
        }
        while !batch.is_full()
            && !self.is_stopped()
            && let Some(reader) = self.earliest()
            && let Some(frame) = reader.frame()
        {
            batch.push(&frame, reader.spot());
        }
    }

    /// Hands all frames that are left to `each`.
    pub fn for_each(&mut self, mut each: impl FnMut(Frame<'_>)) {
        // Often enough for a stop request to be noticed at once.
        while self.batch(4096, &mut each) > 0 {}
    }

    /// Whether a stop request is to be heard here and now.
    #[inline]
    fn is_stopped(&self) -> bool {
        self.merge.stopped || self.stop.is_stopped()
    }

    /// Reads the first frame of all.
    #[cold]
    fn start(&mut self) {
        self.merge.started = true;
        let many = self.readers.len() > AT_WORK;
        for (i, reader) in self.readers.iter_mut().enumerate() {
            if reader.advance() {
                self.merge.fresh.push(Reverse((reader.ts(), i)));
            }
            self.merge.stopped |= reader.is_stopped();
            if many {
                reader.park();
            }
        }
    }

    /// The reader with the earliest frame, which has been read.
    fn earliest(&mut self) -> Option<&Reader> {
        if !self.merge.started {
            self.start();
        }
        if let Some(i) = self.merge.current {
            let reader = self.readers.get_mut(i)?;
            if reader.advance() {
                let back = reader.latest().since(reader.ts());
                self.merge.unsteady = self.merge.unsteady.max(back.min(BACK));
                // The parts of a ring buffer come one after the other: mostly the same file goes on.
                let Some(other) = self.merge.next(Some(reader.ts())) else { return self.readers.get(i) };
                self.merge.begun.push(Reverse((reader.ts(), i)));
                return self.go_on(other);
            }
            self.merge.stopped |= reader.is_stopped();
            self.merge.strands.iter_mut().filter(|on| **on == Some(i)).for_each(|on| *on = None);
        }
        self.merge.current = None;
        let next = if self.merge.stopped { None } else { self.merge.next(None) };
        self.go_on(next?)
    }

    /// Goes on with a file whose next frame has been read.
    fn go_on(&mut self, i: usize) -> Option<&Reader> {
        self.merge.current = Some(i);
        let reader = self.readers.get_mut(i)?;
        join(&mut self.merge.strands, i, reader);
        Some(reader)
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

/// File `i` goes on with the first strand whose file is over, if it has not begun yet.
fn join(strands: &mut Vec<Option<usize>>, i: usize, reader: &mut Reader) {
    if strands.contains(&Some(i)) {
        return;
    }
    let free = strands.iter().position(Option::is_none).unwrap_or(strands.len());
    match strands.get_mut(free) {
        Some(strand) => *strand = Some(i),
        None => strands.push(Some(i)),
    }
    reader.set_strand(free as u16);
}
