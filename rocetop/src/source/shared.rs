//! A plain file that several threads read, each some of its chunks.
//!
//! A thread claims a chunk, reads it when it likes, and has it in its caches when it comes to look at the frames there.
//! The time line gets the chunks in the order of the file.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rocetop_parsers::Bytes;

use super::batch::Batch;
use super::buffer::{CHUNK, Chunk};
use super::queue::{Ended, PATIENCE};
use super::stop::Stop;

/// A chunk that somebody has taken it upon himself to read.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    number: u64,
    offset: u64,
}

#[derive(Debug)]
struct State {
    /// What is claimed next.
    next: Claim,
    /// Chunks that the time line has taken.
    taken: u64,
    /// Those that are claimed; `None` while somebody reads.
    chunks: VecDeque<Option<Arc<Chunk>>>,
    read: Bytes,
    ended: Option<Ended>,
}

impl State {
    fn claim(&mut self) -> Option<Claim> {
        if self.ended.is_some() {
            return None;
        }
        let Claim { number, offset } = self.next;
        self.next = Claim { number: number + 1, offset: (offset / CHUNK as u64 + 1) * CHUNK as u64 };
        self.chunks.push_back(None);
        Some(Claim { number, offset })
    }
}

#[derive(Debug)]
struct Inner {
    file: File,
    state: Mutex<State>,
    came: Condvar,
    stop: Stop,
}

/// A plain file that is read by those who take its frames. Clones are the same one.
#[derive(Clone, Debug)]
pub struct SharedFile(Arc<Inner>);

impl SharedFile {
    /// A file from that offset on.
    pub(crate) fn new(file: File, offset: u64, stop: Stop) -> Self {
        let next = Claim { number: 0, offset };
        let state = State { next, taken: 0, chunks: VecDeque::new(), read: Bytes(offset), ended: None };
        Self(Arc::new(Inner { file, state: Mutex::new(state), came: Condvar::new(), stop }))
    }

    /// The state; it is whole even where someone panicked, as nobody leaves it half changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next chunk to read, which must be read then; `None` at the end.
    #[must_use]
    pub fn claim(&self) -> Option<Claim> {
        self.state().claim()
    }

    /// Reads a claimed chunk for a batch, which [`super::Timeline::take`] then fills with the frames there.
    pub fn read(&self, claim: Claim, batch: &mut Batch) {
        batch.clear();
        batch.reach = claim.number + 1;
        self.fetch(claim, batch.room.take().unwrap_or_default());
    }

    fn fetch(&self, Claim { number, offset }: Claim, mut chunk: Arc<Chunk>) {
        let whole = CHUNK - (offset % CHUNK as u64) as usize;
        let read = Arc::make_mut(&mut chunk).read_at(&self.0.file, offset, whole);
        self.put(number, read, whole, chunk);
        self.0.came.notify_all();
    }

    /// Puts a chunk that was read into its place. A short one is the last, even where the file grows meanwhile.
    fn put(&self, number: u64, read: io::Result<usize>, whole: usize, chunk: Arc<Chunk>) {
        let mut state = self.state();
        let place = (number - state.taken) as usize;
        if let Ok(n) = read {
            state.read += Bytes(n as u64);
        }
        if let (Ok(1..), Some(slot)) = (&read, state.chunks.get_mut(place)) {
            *slot = Some(chunk);
        }
        let (last, ended) = match read {
            Ok(n) if n >= whole => return,
            Ok(n) => (usize::from(n != 0), Ended::Whole),
            Err(error) => (0, Ended::broken(error)),
        };
        // Others may have claimed what lies behind the end, and will find their places gone.
        state.chunks.truncate(place + last);
        state.ended.get_or_insert(ended);
    }

    /// Waits for the next chunk, for the time line.
    pub(crate) fn next(&self) -> Result<Arc<Chunk>, Ended> {
        let mut state = self.state();
        loop {
            match state.chunks.front_mut().map(Option::take) {
                Some(Some(chunk)) => {
                    state.chunks.pop_front();
                    state.taken += 1;
                    return Ok(chunk);
                }
                // Whoever reads it may have panicked.
                Some(None) if self.0.stop.is_stopped() => return Err(Ended::Stopped),
                Some(None) => {
                    state = self.0.came.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
                }
                // A record reaches farther than what others have claimed.
                None => {
                    let Some(claim) = state.claim() else { return Err(state.ended.clone().unwrap_or(Ended::Whole)) };
                    drop(state);
                    self.fetch(claim, Arc::default());
                    state = self.state();
                }
            }
        }
    }

    /// Chunks that the time line has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.state().taken
    }

    /// Bytes that were read, with those before.
    pub(crate) fn bytes(&self) -> Bytes {
        self.state().read
    }
}
