//! What a path names, as bytes that come by and by.
//!
//! A plain file is read by whoever asks for its bytes; what may block or costs time (pipes, compressed files) by a
//! thread. What can be opened again may be parked, and then holds nearly nothing.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocetop_parsers::Bytes;

use super::buffer::{Buffer, Spot};
use super::compression::Compression;
use super::error::OpenError;
use super::queue::{Ended, Job, Queue};
use super::shared::SharedFile;
use super::stop::Stop;

/// Whether a path means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == OsStr::new("-")
}

/// Whether what a path names can be read only once: standard input, a pipe, a device.
#[must_use]
pub fn reads_once(path: &Path) -> bool {
    is_stdin(path) || fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// Where bytes come from.
#[derive(Clone, Debug)]
enum Origin {
    Stdin,
    /// A FIFO, a device: can be read once.
    Pipe(PathBuf),
    /// A regular file of that many bytes: can be opened again.
    File(PathBuf, Bytes),
}

impl Origin {
    fn of(path: &Path) -> Result<Self, OpenError> {
        let fault = |source| OpenError::io(path.to_owned(), source);
        if is_stdin(path) {
            return if io::stdin().is_terminal() { Err(OpenError::Terminal) } else { Ok(Self::Stdin) };
        }
        let metadata = fs::metadata(path).map_err(fault)?;
        if metadata.is_dir() {
            return Err(OpenError::Directory { path: path.to_owned() });
        }
        // A file of no length may have bytes as those of /proc do, and a read of them may block.
        if !metadata.is_file() || metadata.len() == 0 {
            return Ok(Self::Pipe(path.to_owned()));
        }
        // Who may not read it learns so before any pipe is waited for.
        File::open(path).map_err(fault)?;
        Ok(Self::File(path.to_owned(), Bytes(metadata.len())))
    }

    /// Reads from the start, but for `skip` bytes after decompression.
    fn job(&self, skip: u64) -> Job {
        let origin = self.clone();
        let open = move || -> io::Result<Box<dyn Read>> {
            Ok(match origin {
                Self::Stdin => Box::new(io::stdin()),
                Self::Pipe(path) | Self::File(path, _) => Box::new(File::open(path)?),
            })
        };
        Job { open: Box::new(open), skip }
    }

    /// A regular file at that offset, as it lies on disk; `None` for anything else.
    fn plain_at(&self, offset: u64) -> Option<io::Result<File>> {
        let Self::File(path, _) = self else { return None };
        Some(File::open(path).and_then(|mut file| file.seek(SeekFrom::Start(offset)).map(|_| file)))
    }

    fn size(&self) -> Option<Bytes> {
        match self {
            Self::File(_, size) => Some(*size),
            _ => None,
        }
    }
}

/// Who fetches the next chunk.
#[derive(Debug)]
enum Feed {
    /// Nobody yet, or nobody any more.
    None,
    /// Whoever asks for it, from a plain file.
    Inline(File),
    /// Those who take the frames, from a plain file.
    Shared(SharedFile),
    /// A thread.
    Thread(Queue),
}

/// Whether a wish for bytes came true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    Yes,
    /// There will never be as many.
    Ended,
    /// The stop flag was set meanwhile.
    Stopped,
}

/// The bytes of one capture, from its current position on.
#[derive(Debug)]
pub(crate) struct Input {
    origin: Origin,
    stop: Stop,
    feed: Feed,
    compression: Option<Compression>,
    buffer: Buffer,
    /// Bytes that were consumed, after decompression.
    position: u64,
    /// Bytes taken from the file, as far as no thread counts them.
    read: Bytes,
    ended: Option<Ended>,
}

impl Input {
    /// Opens a path, without waiting for any byte. What can be read only once starts at once, so that nobody who
    /// writes to several pipes waits for us; the rest when it is asked for.
    pub(crate) fn open(path: &Path, stop: &Stop) -> Result<Self, OpenError> {
        let origin = Origin::of(path)?;
        let feed = match &origin {
            Origin::File(..) => Feed::None,
            origin => {
                let queue = Queue::new(origin.job(0), stop.clone());
                queue.start();
                Feed::Thread(queue)
            }
        };
        Ok(Self {
            origin,
            stop: stop.clone(),
            feed,
            compression: None,
            buffer: Buffer::default(),
            position: 0,
            read: Bytes(0),
            ended: None,
        })
    }

    /// Lets go of all but the last record, of `used` bytes, if it can be had again.
    pub(crate) fn park(&mut self, used: usize) {
        if self.ended.is_none() && matches!(self.origin, Origin::File(..)) {
            self.buffer.keep(used);
            (self.feed, self.read) = (Feed::None, Bytes(0));
        }
    }

    /// Leaves a plain file to be read by those who take its frames. `None` for anything else.
    pub(crate) fn share(&mut self) -> Option<SharedFile> {
        match std::mem::replace(&mut self.feed, Feed::None) {
            Feed::Inline(file) => {
                let file = SharedFile::new(file, self.read.0, self.stop.clone());
                self.feed = Feed::Shared(file.clone());
                Some(file)
            }
            other => {
                self.feed = other;
                None
            }
        }
    }

    /// Lets go of everything for good.
    pub(crate) fn close(&mut self) {
        let (read, size) = self.progress();
        self.read = size.unwrap_or(read);
        (self.feed, self.buffer) = (Feed::None, Buffer::default());
        self.ended = Some(Ended::Whole);
    }

    /// The bytes at hand.
    #[inline]
    pub(crate) fn ahead(&self) -> &[u8] {
        self.buffer.ahead()
    }

    /// Bytes `from..to` of [`Input::ahead`] as it was before the last [`Input::consume`] of `used` bytes.
    #[inline]
    pub(crate) fn behind(&self, used: usize, from: usize, to: usize) -> &[u8] {
        self.buffer.behind(used, from, to)
    }

    /// Where [`Input::ahead`] lies.
    #[inline]
    pub(crate) fn spot(&self) -> Spot<'_> {
        self.buffer.spot()
    }

    /// Goes on by `n` bytes that are at hand.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        self.buffer.consume(n);
        self.position += n as u64;
    }

    /// Goes on by `n` bytes, wherever they are.
    pub(crate) fn skip(&mut self, mut n: usize) -> Filled {
        loop {
            let here = n.min(self.ahead().len());
            self.consume(here);
            n -= here;
            if n == 0 {
                return Filled::Yes;
            }
            match self.fill(1) {
                Filled::Yes => {}
                other => return other,
            }
        }
    }

    /// Whether `n` bytes are at hand, or should be: fewer than `reach` chunks of a shared file were fetched.
    pub(crate) fn reaches(&mut self, n: usize, reach: u64) -> bool {
        if self.buffer.gather(n) {
            return true;
        }
        let Feed::Shared(file) = &self.feed else { return false };
        // Whoever has read it uses the room again.
        self.buffer.release();
        file.taken() < reach && self.ended.is_none()
    }

    /// Waits for `n` bytes at hand.
    #[cold]
    pub(crate) fn fill(&mut self, n: usize) -> Filled {
        while !self.buffer.gather(n) {
            if self.ended.is_some() {
                return Filled::Ended;
            }
            match self.fetch() {
                Ok(()) => {}
                Err(Ended::Stopped) => return Filled::Stopped,
                Err(ended) => self.ended = Some(ended),
            }
        }
        Filled::Yes
    }

    /// Gets the next chunk.
    fn fetch(&mut self) -> Result<(), Ended> {
        match &mut self.feed {
            Feed::None => self.start(),
            // Whatever happens to the file meanwhile, it has the bytes that a read yields, and ends where one yields
            // none.
            Feed::Inline(file) => match self.buffer.refill().read(file, 1) {
                Ok(0) => Err(Ended::Whole),
                Ok(n) => {
                    self.read += Bytes(n as u64);
                    Ok(())
                }
                Err(error) => Err(Ended::broken(error)),
            },
            Feed::Shared(file) => {
                self.buffer.replace(file.next()?);
                Ok(())
            }
            Feed::Thread(queue) => {
                let next = queue.next();
                self.compression = queue.compression();
                self.buffer.replace(next?);
                Ok(())
            }
        }
    }

    /// Opens a file where it was left. Its first bytes tell who is to read it.
    fn start(&mut self) -> Result<(), Ended> {
        let unopened = |error| Ended::Unopened(Arc::new(error));
        if self.compression.is_none()
            && let Some(file) = self.origin.plain_at(self.position)
        {
            let mut file = file.map_err(unopened)?;
            let chunk = self.buffer.refill();
            let n = chunk.read(&mut file, Compression::MAGIC_LEN).map_err(Ended::broken)?;
            if self.position > 0 || Compression::detect(chunk.bytes()).is_none() {
                self.read = Bytes(self.position + n as u64);
                self.feed = Feed::Inline(file);
                return Ok(());
            }
            self.buffer = Buffer::default();
        }
        self.feed = Feed::Thread(Queue::new(self.origin.job(self.position), self.stop.clone()));
        Ok(())
    }

    /// Whether nobody knows where it ends: anything but a regular file.
    pub(crate) const fn is_live(&self) -> bool {
        !matches!(self.origin, Origin::File(..))
    }

    /// Position in the decompressed bytes.
    pub(crate) const fn position(&self) -> Bytes {
        Bytes(self.position)
    }

    /// What is undone on the way; known once bytes are at hand.
    pub(crate) const fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// Why it ended, if it did.
    pub(crate) const fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// Bytes read of the file as it lies on disk, and its size where known. A file may have grown meanwhile.
    pub(crate) fn progress(&self) -> (Bytes, Option<Bytes>) {
        let read = match &self.feed {
            Feed::Thread(queue) => queue.read(),
            Feed::Shared(file) => file.bytes(),
            _ => self.read,
        };
        (read, self.origin.size().map(|size| size.max(read)))
    }

    /// Bytes that the buffer holds or could hold.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }
}
