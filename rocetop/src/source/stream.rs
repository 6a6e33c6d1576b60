//! Bytes that cannot be mapped: pipes and compressed files, read by a thread of their own.
//!
//! The thread blocks where the reader must not: it opens, reads and decompresses, and passes chunks on through a short
//! queue. The reader waits on the queue and looks at the stop flag meanwhile. A stream holds at most [`QUEUE`] chunks
//! and a buffer of [`MAX_BUFFER`] bytes. One that can be opened again may be parked, and then holds nearly nothing.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use rocetop_parsers::Bytes;

use super::compression::{Compression, is_cut};
use super::stop::Stop;
use crate::pcap::MAX_NEED;

/// Bytes that the thread reads at a time.
const CHUNK: usize = 128 * 1024;
/// Chunks on their way.
const QUEUE: usize = 2;
/// The buffer never grows beyond one wish of a decoder and one chunk.
pub(crate) const MAX_BUFFER: usize = MAX_NEED + CHUNK;
/// How long a waiting reader lets a stop request wait.
const PATIENCE: Duration = Duration::from_millis(20);

/// What opens a stream; runs in its thread, since opening a FIFO waits for its writer.
type Opener = Box<dyn FnOnce() -> io::Result<Box<dyn Read>> + Send>;

/// Where a stream's bytes come from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Stdin,
    /// A FIFO, a device: can be read once.
    Pipe(PathBuf),
    /// A regular file: can be opened again.
    File(PathBuf),
}

impl Origin {
    fn opener(&self) -> Opener {
        match self.clone() {
            Self::Stdin => Box::new(|| Ok(Box::new(io::stdin()))),
            Self::Pipe(path) | Self::File(path) => Box::new(|| Ok(Box::new(File::open(path)?))),
        }
    }
}

/// Why there are no more bytes than there are.
#[derive(Debug)]
pub(crate) enum Ended {
    /// That was all.
    Whole,
    /// The bytes could not be opened.
    Unopened(io::Error),
    /// Reading or decompressing failed.
    Broken(io::Error),
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

enum Message {
    Opened(Option<Compression>),
    Chunk(Vec<u8>),
    Ended(Ended),
}

/// The reader's end of a stream.
#[derive(Debug)]
pub(crate) struct Stream {
    origin: Origin,
    thread: Option<Thread>,
    stop: Stop,
    compression: Option<Compression>,
    buffer: Vec<u8>,
    start: usize,
    /// Bytes that were consumed, after decompression.
    position: u64,
    /// Bytes that the thread will bring once more, since it was started anew.
    known: u64,
    ended: Option<Ended>,
    /// Bytes that were taken from the source when it was closed.
    done: Bytes,
    size: Option<Bytes>,
}

/// A thread at work.
#[derive(Debug)]
struct Thread {
    messages: Receiver<Message>,
    spare: SyncSender<Vec<u8>>,
    /// Bytes that it took from the source, before decompression.
    taken: Arc<AtomicU64>,
}

impl Thread {
    fn start(open: Opener) -> io::Result<Self> {
        let (sender, messages) = sync_channel(QUEUE);
        let (spare, spares) = sync_channel(QUEUE);
        let taken = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&taken);
        // Never joined: it may be blocked in a read for ever, and ends by itself once the queue is gone.
        thread::Builder::new().name("rocetop-read".into()).spawn(move || {
            let ended = match open() {
                Ok(inner) => pump(Counted { inner, count }, &sender, &spares),
                Err(error) => Ended::Unopened(error),
            };
            let _ = sender.send(Message::Ended(ended));
        })?;
        Ok(Self { messages, spare, taken })
    }

    fn taken(&self) -> Bytes {
        Bytes(self.taken.load(Ordering::Relaxed))
    }
}

impl Stream {
    /// A stream of that many bytes, where it is known. What can be read only once starts at once, so that nobody who
    /// writes to several pipes waits for us; the rest when it is asked for.
    pub(crate) fn new(origin: Origin, size: Option<Bytes>, stop: Stop) -> io::Result<Self> {
        let thread = match &origin {
            Origin::File(_) => None,
            origin => Some(Thread::start(origin.opener())?),
        };
        Ok(Self {
            origin,
            thread,
            stop,
            compression: None,
            buffer: Vec::new(),
            start: 0,
            position: 0,
            known: 0,
            ended: None,
            done: Bytes(0),
            size,
        })
    }

    /// Lets go of thread, decompressor and everything ahead, if all that can be had again. The last record stays.
    pub(crate) fn park(&mut self) {
        if self.ended.is_none() && matches!(self.origin, Origin::File(_)) {
            self.thread = None;
            self.buffer.truncate(self.start);
            self.buffer.shrink_to_fit();
        }
    }

    /// Lets go of everything for good.
    pub(crate) fn close(&mut self) {
        self.ended = Some(Ended::Whole);
        self.done = self.size.unwrap_or(self.progress().0);
        (self.thread, self.buffer, self.start) = (None, Vec::new(), 0);
    }

    /// The bytes at hand.
    #[inline]
    pub(crate) fn ahead(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Bytes `from..to` of [`Stream::ahead`] as it was before the last [`Stream::consume`] of `used` bytes.
    #[inline]
    pub(crate) fn behind(&self, used: usize, from: usize, to: usize) -> &[u8] {
        let before = self.start - used;
        self.buffer.get(before + from..before + to).unwrap_or_default()
    }

    /// Goes on by `n` bytes that are at hand.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        self.start += n;
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

    /// Waits for `n` bytes at hand.
    #[cold]
    pub(crate) fn fill(&mut self, n: usize) -> Filled {
        while self.ahead().len() < n {
            if self.ended.is_some() {
                return Filled::Ended;
            }
            if self.stop.is_stopped() {
                return Filled::Stopped;
            }
            let thread = match &self.thread {
                Some(thread) => thread,
                None => match Thread::start(self.origin.opener()) {
                    Ok(thread) => {
                        self.known = self.position;
                        self.thread.insert(thread)
                    }
                    Err(error) => {
                        self.ended = Some(Ended::Unopened(error));
                        continue;
                    }
                },
            };
            match thread.messages.recv_timeout(PATIENCE) {
                Ok(Message::Opened(compression)) => self.compression = compression,
                Ok(Message::Chunk(chunk)) => self.append(chunk),
                // Someone has shortened the file since it was parked.
                Ok(Message::Ended(Ended::Whole)) if self.known > 0 => {
                    self.ended = Some(Ended::Broken(io::ErrorKind::UnexpectedEof.into()));
                }
                Ok(Message::Ended(ended)) => self.ended = Some(ended),
                Err(RecvTimeoutError::Timeout) => {}
                // The thread has panicked, or it would have told.
                Err(RecvTimeoutError::Disconnected) => {
                    self.ended = Some(Ended::Broken(io::Error::other("the reading thread ended without a word")));
                }
            }
        }
        Filled::Yes
    }

    fn append(&mut self, mut chunk: Vec<u8>) {
        let again = usize::try_from(self.known).map_or(chunk.len(), |known| known.min(chunk.len()));
        if again > 0 {
            self.known -= again as u64;
            chunk.drain(..again);
        }
        if self.start == self.buffer.len() {
            std::mem::swap(&mut self.buffer, &mut chunk);
        } else {
            self.buffer.drain(..self.start);
            // Doubling would pass the bound.
            let more = (self.buffer.len() + chunk.len()).saturating_sub(self.buffer.capacity());
            self.buffer.reserve_exact(if more == 0 { 0 } else { MAX_BUFFER - self.buffer.len() });
            self.buffer.extend_from_slice(&chunk);
        }
        self.start = 0;
        if let Some(thread) = &self.thread {
            let _ = thread.spare.try_send(chunk);
        }
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

    /// The same, to keep.
    pub(crate) const fn take_ended(&mut self) -> Option<Ended> {
        self.ended.take()
    }

    /// Bytes taken from the source and its size where known, both before decompression.
    pub(crate) fn progress(&self) -> (Bytes, Option<Bytes>) {
        (self.thread.as_ref().map_or(self.done, Thread::taken), self.size)
    }

    /// Bytes that the buffer holds or could hold.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }
}

/// Reads until the end, an error, or nobody listens any more.
fn pump(mut source: Counted, messages: &SyncSender<Message>, spares: &Receiver<Vec<u8>>) -> Ended {
    let mut head = Vec::with_capacity(Compression::MAGIC_LEN);
    if let Err(error) = source.by_ref().take(Compression::MAGIC_LEN as u64).read_to_end(&mut head) {
        return Ended::Broken(error);
    }
    let compression = Compression::detect(&head);
    let source = Cursor::new(head).chain(source);
    let mut reader: Box<dyn Read> = match compression {
        Some(compression) => compression.reader(BufReader::with_capacity(CHUNK, source)),
        None => Box::new(source),
    };
    if messages.send(Message::Opened(compression)).is_err() {
        return Ended::Whole;
    }
    loop {
        let mut chunk = spares.try_recv().unwrap_or_default();
        chunk.resize(CHUNK, 0);
        match reader.read(&mut chunk) {
            Ok(0) => return Ended::Whole,
            Ok(n) => {
                chunk.truncate(n);
                if messages.send(Message::Chunk(chunk)).is_err() {
                    return Ended::Whole;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Ended::Broken(error),
        }
    }
}

impl Ended {
    /// Whether the source itself was too short.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self, Self::Broken(error) if is_cut(error))
    }
}

/// A reader that tells another thread how far it is.
struct Counted {
    inner: Box<dyn Read>,
    count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
