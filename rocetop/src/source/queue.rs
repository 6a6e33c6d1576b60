//! Chunks on their way to one consumer or several.
//!
//! What may block or has to be decompressed is read by a thread: a consumer waits on the queue and looks at the stop
//! flag meanwhile. A plain file is read by its consumers: whoever is ahead of the chunks fetches the next one, several
//! at once if need be. Every consumer gets every chunk; the queue holds those that the slowest one has yet to take,
//! [`QUEUE`] at most.
//!
//! Consumers of several queues cannot block one another for ever as long as all of them take from the queues in the
//! same order: what the one furthest behind wants next is on its queue, or will be, since the others have taken
//! whatever keeps that queue full.

use std::collections::VecDeque;
use std::fs::File;
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
const PATIENCE: Duration = Duration::from_millis(20);

/// What the thread is to read.
pub(crate) struct Job {
    /// Runs in the thread, since opening a FIFO waits for its writer.
    pub(crate) open: Box<dyn FnOnce() -> io::Result<Box<dyn Read>> + Send>,
    /// Bytes of the source that were read before; without any, it may turn out to be compressed.
    pub(crate) before: u64,
    /// Bytes, after decompression, that the consumers have had.
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

/// A chunk's place in the queue.
#[derive(Clone, Debug)]
enum Slot {
    /// A consumer is reading it.
    Coming,
    Here(Arc<Chunk>),
}

/// A plain file that its consumers read.
#[derive(Debug)]
struct Plain {
    file: Arc<File>,
    /// Where the next chunk begins.
    offset: u64,
}

/// A chunk that a consumer has taken it upon itself to read.
struct Claim {
    number: u64,
    file: Arc<File>,
    /// Where it begins.
    offset: u64,
    /// Room for it.
    chunk: Arc<Chunk>,
}

#[derive(Debug)]
struct State {
    job: Option<Job>,
    plain: Option<Plain>,
    chunks: VecDeque<Slot>,
    /// Chunks that were handed out, to be used again when all consumers are done with them.
    spare: VecDeque<Arc<Chunk>>,
    /// How many were taken by all before the first of `chunks`.
    before: u64,
    /// How many each consumer has taken; `None` once it is gone.
    taken: Vec<Option<u64>>,
    compression: Option<Compression>,
    ended: Option<Ended>,
}

impl State {
    fn end(&mut self, why: Ended) -> &mut Ended {
        self.ended.get_or_insert(why)
    }

    /// Lets go of what nobody wants any more; whether there was any.
    fn trim(&mut self) -> bool {
        let before = self.before;
        while !self.chunks.is_empty() && self.taken.iter().flatten().all(|&taken| taken > self.before) {
            if let Some(Slot::Here(chunk)) = self.chunks.pop_front()
                && self.plain.is_some()
            {
                self.spare.push_back(chunk);
            }
            self.before += 1;
        }
        self.before != before
    }

    /// The next chunk of a plain file, for whoever calls to read it.
    fn claim(&mut self) -> Option<Claim> {
        if self.chunks.len() >= QUEUE || self.ended.is_some() {
            return None;
        }
        let plain = self.plain.as_mut()?;
        let (file, offset) = (Arc::clone(&plain.file), plain.offset);
        plain.offset = (offset / CHUNK as u64 + 1) * CHUNK as u64;
        let number = self.before + self.chunks.len() as u64;
        self.chunks.push_back(Slot::Coming);
        let chunk = self.spare.pop_front_if(|c| Arc::get_mut(c).is_some()).unwrap_or_default();
        Some(Claim { number, file, offset, chunk })
    }

    /// Puts a chunk that was read into its place. A short one is the last, even where the file grows meanwhile.
    fn put(&mut self, number: u64, read: io::Result<usize>, whole: usize, chunk: Arc<Chunk>) {
        let place = number.checked_sub(self.before).and_then(|at| usize::try_from(at).ok()).unwrap_or(usize::MAX);
        if let (Ok(1..), Some(slot)) = (&read, self.chunks.get_mut(place)) {
            *slot = Slot::Here(chunk);
        }
        let (last, ended) = match read {
            Ok(n) if n >= whole => return,
            Ok(n) => (usize::from(n != 0), Ended::Whole),
            Err(error) => (0, Ended::broken(error)),
        };
        // Others may have claimed what lies behind the end, and will find their places gone.
        self.chunks.truncate(place.saturating_add(last));
        self.end(ended);
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// A chunk has come, or the end.
    came: Condvar,
    /// A chunk was taken by all, or a consumer has gone.
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

    /// The next chunk to read, if there is one, room for it, and no wish to stop.
    fn claim(&self, state: &mut State) -> Option<Claim> {
        if self.stop.is_stopped() { None } else { state.claim() }
    }

    /// Reads a claimed chunk while nobody is locked out.
    fn fetch<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        Claim { number, file, offset, mut chunk }: Claim,
    ) -> MutexGuard<'a, State> {
        drop(state);
        let read = Arc::make_mut(&mut chunk).read_at(&file, offset);
        if let Ok(n) = read {
            self.read.fetch_add(n as u64, Ordering::Relaxed);
        }
        let mut state = self.state();
        state.put(number, read, Chunk::whole(offset), chunk);
        self.came.notify_all();
        state
    }
}

/// A consumer's end of the queue.
#[derive(Debug)]
pub(crate) struct Queue {
    shared: Arc<Shared>,
    consumer: usize,
}

impl Queue {
    /// A queue with one consumer. Its thread is started when the first chunk is asked for.
    pub(crate) fn new(job: Job, stop: Stop) -> Self {
        let before = job.before;
        Self::with(Some(job), None, before, stop)
    }

    /// A queue whose consumers read a plain file themselves, from that offset on.
    pub(crate) fn of_file(file: File, offset: u64, stop: Stop) -> Self {
        Self::with(None, Some(Plain { file: Arc::new(file), offset }), offset, stop)
    }

    fn with(job: Option<Job>, plain: Option<Plain>, before: u64, stop: Stop) -> Self {
        let read = AtomicU64::new(before);
        let state = State {
            job,
            plain,
            chunks: VecDeque::new(),
            spare: VecDeque::new(),
            before: 0,
            taken: vec![Some(0)],
            compression: None,
            ended: None,
        };
        let (came, went) = (Condvar::new(), Condvar::new());
        let shared = Shared { state: Mutex::new(state), came, went, read, stop };
        Self { shared: Arc::new(shared), consumer: 0 }
    }

    /// More consumers of all that this one has not taken yet: `n` with itself.
    pub(crate) fn split(self, n: usize) -> Vec<Self> {
        let mut state = self.shared.state();
        let own = state.taken.get(self.consumer).copied().flatten();
        let first = state.taken.len();
        state.taken.resize(first + n.saturating_sub(1), own);
        let others: Vec<_> =
            (first..state.taken.len()).map(|consumer| Self { shared: Arc::clone(&self.shared), consumer }).collect();
        drop(state);
        std::iter::once(self).chain(others).collect()
    }

    /// Starts the thread, if nobody has.
    pub(crate) fn start(&self) {
        self.start_with(&mut self.shared.state());
    }

    fn start_with(&self, state: &mut State) {
        let Some(job) = state.job.take() else { return };
        let end = End(Arc::clone(&self.shared));
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
    /// [`Ended`] when there is none. A stop request ends the queue at the same chunk for every consumer.
    pub(crate) fn next(&self) -> Result<Arc<Chunk>, Ended> {
        let shared = &*self.shared;
        let mut state = shared.state();
        self.start_with(&mut state);
        loop {
            let taken = state.taken.get(self.consumer).copied().flatten().unwrap_or(u64::MAX);
            let at = usize::try_from(taken - state.before).unwrap_or(usize::MAX);
            let slot = state.chunks.get(at).cloned();
            if let Some(Slot::Here(chunk)) = slot {
                if let Some(slot) = state.taken.get_mut(self.consumer) {
                    *slot = Some(taken + 1);
                }
                // Not for every single one: a thread that was woken has something to do for a while.
                if state.trim() && state.chunks.len() <= QUEUE / 2 {
                    shared.went.notify_one();
                }
                // Whoever takes the last one sees to the next, so that nobody finds the queue empty.
                let last = state.before + state.chunks.len() as u64 <= taken + 1;
                if last && let Some(claim) = shared.claim(&mut state) {
                    drop(shared.fetch(state, claim));
                }
                return Ok(chunk);
            }
            // One that is still coming lies before the end, whoever found that first.
            if let (None, Some(ended)) = (&slot, &state.ended) {
                return Err(ended.clone());
            }
            // One that is still coming is waited for: all consumers end behind the same chunk.
            if slot.is_none() && shared.stop.is_stopped() {
                state.end(Ended::Stopped);
                shared.came.notify_all();
                shared.went.notify_one();
                continue;
            }
            if let Some(claim) = shared.claim(&mut state) {
                state = shared.fetch(state, claim);
                continue;
            }
            state = shared.came.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What is undone on the way; known once a chunk was taken.
    pub(crate) fn compression(&self) -> Option<Compression> {
        self.shared.state().compression
    }

    /// Bytes that the thread took from the source, before decompression.
    pub(crate) fn read(&self) -> Bytes {
        Bytes(self.shared.read.load(Ordering::Relaxed))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        if let Some(taken) = state.taken.get_mut(self.consumer) {
            *taken = None;
        }
        state.trim();
        self.shared.went.notify_one();
    }
}

/// The thread's end of the queue.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        // Whoever returns has said why before; this is for a panic.
        self.0.state().end(Ended::broken(io::Error::other("the reading thread ended without a word")));
        self.0.came.notify_all();
    }
}

impl End {
    /// Reads until the end, an error, or nobody listens any more.
    fn pump(&self, job: Job) -> Ended {
        let Job { open, before, skip } = job;
        let mut source = match open() {
            Ok(inner) => Counted { inner, shared: Arc::clone(&self.0) },
            Err(error) => return Ended::Unopened(Arc::new(error)),
        };
        // As a chunk, so that all that follow are whole pages to the kernel.
        let mut head = Chunk::default();
        if before == 0
            && let Err(error) = head.read(&mut source, Compression::MAGIC_LEN)
        {
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
        // Those that all consumers are done with come first, as they were published first.
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
            if self.0.stop.is_stopped() || state.ended.is_some() {
                return Some(Ended::Stopped);
            }
            if state.taken.iter().flatten().next().is_none() {
                return Some(Ended::Whole);
            }
            if state.chunks.len() < QUEUE {
                state.chunks.push_back(Slot::Here(chunk));
                self.0.came.notify_all();
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
        f.debug_struct("Job").field("before", &self.before).field("skip", &self.skip).finish_non_exhaustive()
    }
}
