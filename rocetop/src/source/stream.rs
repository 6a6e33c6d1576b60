//! Bytes that cannot be mapped: pipes and compressed files, read by a thread of their own.
//!
//! The thread blocks where the reader must not: it opens, reads and decompresses, and passes chunks on through a short
//! queue. The reader waits on the queue and looks at the stop flag meanwhile. A stream holds at most [`QUEUE`] chunks
//! and a buffer of [`MAX_BUFFER`] bytes.

use std::io::{self, BufReader, Cursor, Read};
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
pub(crate) type Opener = Box<dyn FnOnce() -> io::Result<Box<dyn Read>> + Send>;

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
    messages: Receiver<Message>,
    spare: SyncSender<Vec<u8>>,
    stop: Stop,
    compression: Option<Compression>,
    buffer: Vec<u8>,
    start: usize,
    /// Bytes that were consumed, after decompression.
    position: u64,
    ended: Option<Ended>,
    /// Bytes that the thread took from the source, before decompression.
    taken: Arc<AtomicU64>,
    size: Option<Bytes>,
}

impl Stream {
    /// Starts reading what `open` opens, of that many bytes where it is known.
    pub(crate) fn start(open: Opener, size: Option<Bytes>, stop: Stop) -> io::Result<Self> {
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
        Ok(Self {
            messages,
            spare,
            stop,
            compression: None,
            buffer: Vec::new(),
            start: 0,
            position: 0,
            ended: None,
            taken,
            size,
        })
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
            match self.messages.recv_timeout(PATIENCE) {
                Ok(Message::Opened(compression)) => self.compression = compression,
                Ok(Message::Chunk(chunk)) => self.append(chunk),
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
        let _ = self.spare.try_send(chunk);
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
        (Bytes(self.taken.load(Ordering::Relaxed)), self.size)
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
