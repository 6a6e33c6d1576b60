//! Chunks on their way from a thread that reads to who asks for them.
//!
//! The thread reads what may block or has to be decompressed. Its consumer waits on the queue and looks at the stop
//! flag meanwhile.

use std::collections::VecDeque;
use std::io::{self, BufReader, Cursor, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rocetop_parsers::Bytes;

use super::buffer::{CHUNK, Chunk};
use super::compression::{Compression, is_cut};
use super::stop::Stop;

/// Chunks on their way.
const QUEUE: usize = 32;
/// How long a waiting consumer lets a stop request wait.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

/// What the thread is to read.
pub(crate) struct Job {
    /// Runs in the thread, since opening a FIFO waits for its writer.
    pub(crate) open: Box<dyn FnOnce() -> io::Result<Box<dyn Read>> + Send>,
    /// Bytes, after decompression, that the consumer has had.
    pub(crate) skip: u64,
}

/// Why there are no more bytes than there are.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    /// That was all.
    Whole,
    /// The bytes could not be opened.
    Unopened(Arc<io::Error>),
    /// Reading or decompressing failed.
    Broken(Arc<io::Error>),
    /// The stop flag was set.
    Stopped,
}

impl Ended {
    pub(crate) fn broken(error: io::Error) -> Self {
        Self::Broken(Arc::new(error))
    }

    /// Whether the source itself was too short.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self, Self::Broken(error) if is_cut(error))
    }
}

#[derive(Debug)]
struct State {
    job: Option<Job>,
    chunks: VecDeque<Arc<Chunk>>,
    compression: Option<Compression>,
    ended: Option<Ended>,
}

impl State {
    fn end(&mut self, why: Ended) {
        self.ended.get_or_insert(why);
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// A chunk has come, or the end.
    came: Condvar,
    /// Chunks were taken, or the consumer has gone.
    went: Condvar,
    /// Bytes that the thread took from the source, before decompression.
    read: AtomicU64,
    stop: Stop,
}

impl Shared {
    /// The state; it is whole even where someone panicked, as nobody leaves it half changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The consumer's end of the queue.
#[derive(Debug)]
pub(crate) struct Queue(Arc<Shared>);

impl Queue {
    /// A queue whose thread is started when the first chunk is asked for.
    pub(crate) fn new(job: Job, stop: Stop) -> Self {
        let state = State { job: Some(job), chunks: VecDeque::new(), compression: None, ended: None };
        let (came, went) = (Condvar::new(), Condvar::new());
        Self(Arc::new(Shared { state: Mutex::new(state), came, went, read: AtomicU64::new(0), stop }))
    }

    /// Starts the thread, if nobody has.
    pub(crate) fn start(&self) {
        self.start_with(&mut self.0.state());
    }

    fn start_with(&self, state: &mut State) {
        let Some(job) = state.job.take() else { return };
        let end = End(Arc::clone(&self.0));
        // Never joined: it may be blocked in a read for ever, and ends by itself once nobody listens.
        let started = thread::Builder::new().name("rocetop-read".into()).spawn(move || {
            let ended = end.pump(job);
            end.0.state().end(ended);
        });
        if let Err(error) = started {
            state.end(Ended::Unopened(Arc::new(error)));
        }
    }

    /// Waits for the next chunk.
    ///
    /// # Errors
    /// [`Ended`] when there is none.
    pub(crate) fn next(&self) -> Result<Arc<Chunk>, Ended> {
        let mut state = self.0.state();
        self.start_with(&mut state);
        loop {
            if let Some(chunk) = state.chunks.pop_front() {
                // Not for every single one: a thread that was woken has something to do for a while.
                if state.chunks.len() == QUEUE / 2 {
                    self.0.went.notify_one();
                }
                return Ok(chunk);
            }
            if let Some(ended) = &state.ended {
                return Err(ended.clone());
            }
            if self.0.stop.is_stopped() {
                state.end(Ended::Stopped);
                continue;
            }
            state = self.0.came.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What is undone on the way; known once a chunk was taken.
    pub(crate) fn compression(&self) -> Option<Compression> {
        self.0.state().compression
    }

    /// Bytes that the thread took from the source, before decompression.
    pub(crate) fn read(&self) -> Bytes {
        Bytes(self.0.read.load(Ordering::Relaxed))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Nobody listens any more.
        self.0.state().end(Ended::Whole);
        self.0.went.notify_one();
    }
}

/// The thread's end of the queue.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        // Whoever returns has said why before; this is for a panic.
        self.0.state().end(Ended::broken(io::Error::other("the reading thread ended without a word")));
        self.0.came.notify_one();
    }
}

impl End {
    /// Reads until the end, an error, or nobody listens any more.
    fn pump(&self, job: Job) -> Ended {
        let Job { open, skip } = job;
        let mut source = match open() {
            Ok(inner) => Counted { inner, shared: Arc::clone(&self.0) },
            Err(error) => return Ended::Unopened(Arc::new(error)),
        };
        // As a chunk, so that all that follow are whole pages to the kernel.
        let mut head = Chunk::default();
        if let Err(error) = head.read(&mut source, Compression::MAGIC_LEN) {
            return Ended::broken(error);
        }
        let compression = Compression::detect(head.bytes());
        self.0.state().compression = compression;
        let source = Cursor::new(head).chain(source);
        let mut reader: Box<dyn Read> = match compression {
            Some(compression) => compression.reader(BufReader::with_capacity(CHUNK, source)),
            None => Box::new(source),
        };
        match io::copy(&mut reader.by_ref().take(skip), &mut io::sink()) {
            Ok(skipped) if skipped == skip => {}
            // Someone has shortened the file meanwhile.
            Ok(_) => return Ended::broken(io::ErrorKind::UnexpectedEof.into()),
            Err(error) => return Ended::broken(error),
        }
        // Those that are done with come first, as they were published first.
        let mut chunks = VecDeque::<Arc<Chunk>>::new();
        loop {
            let mut chunk = chunks.pop_front_if(|c| Arc::get_mut(c).is_some()).unwrap_or_default();
            match Arc::make_mut(&mut chunk).read(&mut reader, 1) {
                Ok(0) => return Ended::Whole,
                Ok(_) => {}
                Err(error) => return Ended::broken(error),
            }
            if let Some(ended) = self.publish(Arc::clone(&chunk)) {
                return ended;
            }
            chunks.push_back(chunk);
        }
    }

    /// Waits for room and puts a chunk there; or tells why to end.
    fn publish(&self, chunk: Arc<Chunk>) -> Option<Ended> {
        let mut state = self.0.state();
        loop {
            if let Some(ended) = &state.ended {
                return Some(ended.clone());
            }
            if self.0.stop.is_stopped() {
                return Some(Ended::Stopped);
            }
            if state.chunks.len() < QUEUE {
                state.chunks.push_back(chunk);
                self.0.came.notify_one();
                return None;
            }
            state = self.0.went.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A reader that tells other threads how far it is.
struct Counted {
    inner: Box<dyn Read>,
    shared: Arc<Shared>,
}

impl Read for Counted {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.shared.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("skip", &self.skip).finish_non_exhaustive()
    }
}
