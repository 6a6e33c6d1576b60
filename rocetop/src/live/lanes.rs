//! Interfaces side by side: a thread reads each, and their frames come out in the order of time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rocetop_parsers::Nanos;

use super::batch::{Batch, Counts, Item};
use super::choose::Device;
use super::host::Host;
use super::session::now;
use super::source::{GATHER_MS, Opened, Source, wait};
use crate::source::Stop;

/// Batches between a reader and the analysis: with what they hold, 16 MiB an interface at most (chosen).
const BATCHES: usize = 64;
/// How long a reader waits for frames before it tells that none came (chosen: a person sees no delay in it).
const POLL: Duration = Duration::from_millis(25);
/// Frames may lie in the kernel for as long before they can be read, and some more.
const LAG: Nanos = Nanos(3 * GATHER_MS as u64 * 1_000_000);
/// How long frames are held for an interface whose clock says that earlier ones may come (chosen).
const HOLD: Duration = Duration::from_millis(250);
/// How long a reader goes on, once the end was asked for, to read what had arrived by then (chosen).
const LEAVE: Duration = Duration::from_secs(5);
/// How often is read what the kernel counted: before each second that is told is over.
const COUNT: Duration = Duration::from_millis(900);
/// How often a quiet interface is looked for (chosen).
const LOOK: Duration = Duration::from_millis(500);
/// The kernel is asked for what it dropped as often (chosen).
const DROPS: Duration = Duration::from_millis(100);
/// The kernel does not tell.
const UNTOLD: u64 = u64::MAX;

/// One interface.
struct Lane {
    from: Receiver<Batch>,
    reader: Option<JoinHandle<Option<String>>>,
    drops: Arc<AtomicU64>,
    batch: Option<Batch>,
    next: usize,
    /// What the kernel counted, not yet taken in.
    counts: Vec<Counts>,
    /// Nothing earlier comes.
    up_to: Nanos,
    ended: bool,
}

/// Interfaces that are read.
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// Since when frames are held.
    held: Option<Instant>,
}

/// What there is to do.
pub(super) enum Turn {
    /// Frames were handed out.
    Frames,
    /// Nothing for the moment.
    Quiet,
    /// No interface is left.
    End,
}

impl Lanes {
    /// Starts to read.
    pub(super) fn start(opened: Vec<Opened>, stop: &Stop) -> Self {
        let start = |one: Opened| {
            let (to, from) = sync_channel(BATCHES);
            let drops = Arc::new(AtomicU64::new(UNTOLD));
            let (told, stop) = (Arc::clone(&drops), stop.clone());
            let reader = thread::spawn(move || read(one.source, &one.device, &to, &told, &stop));
            Lane {
                from,
                reader: Some(reader),
                drops,
                batch: None,
                next: 0,
                counts: Vec::new(),
                up_to: Nanos(0),
                ended: false,
            }
        };
        Self { lanes: opened.into_iter().map(start).collect(), held: None }
    }

    /// Frames of a lane that the kernel had no room for, as last told.
    pub(super) fn drops(&self, lane: usize) -> Option<u64> {
        let told = self.lanes.get(lane).map_or(UNTOLD, |lane| lane.drops.load(Ordering::Relaxed));
        (told != UNTOLD).then_some(told)
    }

    /// Hands out what the kernel counted, with the lane that it comes from.
    pub(super) fn counts(&mut self, mut each: impl FnMut(usize, Counts)) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            lane.counts.drain(..).for_each(|counts| each(index, counts));
        }
    }

    /// Why a lane has come to its end by itself. Told once.
    pub(super) fn problem(&mut self, lane: usize) -> Option<String> {
        let lane = self.lanes.get_mut(lane).filter(|lane| lane.ended)?;
        lane.reader.take()?.join().unwrap_or_else(|_| Some("its reader failed".to_owned()))
    }

    /// Hands out frames that are next, with the lane that they come from; waits for some, but not beyond `until`.
    pub(super) fn turn(&mut self, until: Instant, mut each: impl FnMut(usize, Item<'_>)) -> Turn {
        self.lanes.iter_mut().for_each(Lane::refill);
        let heads = self.lanes.iter().enumerate().filter_map(|(index, lane)| Some((lane.head()?.ts, index)));
        let Some((_, first)) = heads.min() else {
            self.held = None;
            if self.lanes.iter().all(|lane| lane.ended) {
                return Turn::End;
            }
            self.wait(until);
            return Turn::Quiet;
        };
        let others = self.lanes.iter().enumerate().filter(|(index, lane)| *index != first && !lane.is_over());
        let bound = others.map(|(_, lane)| lane.head().map_or(lane.up_to, |head| head.ts)).min();
        let late = self.held.is_some_and(|since| since.elapsed() > HOLD);
        let Some(lane) = self.lanes.get_mut(first) else { return Turn::End };
        let mut handed = false;
        while let Some(item) = lane.head()
            && (bound.is_none_or(|bound| item.ts <= bound) || late && !handed)
        {
            each(first, item);
            lane.next += 1;
            handed = true;
        }
        if handed {
            if !late {
                self.held = None;
            }
            return Turn::Frames;
        }
        self.held.get_or_insert_with(Instant::now);
        self.wait(until);
        Turn::Quiet
    }

    /// Waits for the lane that has nothing and is furthest behind.
    fn wait(&mut self, until: Instant) {
        let empty = self.lanes.iter_mut().filter(|lane| !lane.ended && lane.head().is_none());
        if let Some(lane) = empty.min_by_key(|lane| lane.up_to) {
            lane.receive(until.saturating_duration_since(Instant::now()).min(POLL));
        }
    }
}

impl Lane {
    fn head(&self) -> Option<Item<'_>> {
        self.batch.as_ref()?.get(self.next)
    }

    fn is_over(&self) -> bool {
        self.ended && self.head().is_none()
    }

    fn refill(&mut self) {
        while !self.ended && self.head().is_none() {
            match self.from.try_recv() {
                Ok(batch) => self.accept(batch),
                Err(TryRecvError::Disconnected) => self.ended = true,
                Err(TryRecvError::Empty) => return,
            }
        }
    }

    fn receive(&mut self, most: Duration) {
        match self.from.recv_timeout(most) {
            Ok(batch) => self.accept(batch),
            Err(RecvTimeoutError::Disconnected) => self.ended = true,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }

    fn accept(&mut self, mut batch: Batch) {
        self.counts.extend(batch.counts.take());
        self.up_to = self.up_to.max(batch.up_to);
        self.next = 0;
        self.batch = (!batch.is_empty()).then_some(batch);
    }
}

/// Reads an interface to its end. Returns why it ended, if nobody asked for it.
fn read(
    mut source: Box<dyn Source>,
    device: &Device,
    to: &SyncSender<Batch>,
    told: &AtomicU64,
    stop: &Stop,
) -> Option<String> {
    let mut batch = Batch::new();
    let mut looked = Instant::now();
    let mut asked = Instant::now();
    let mut leaving: Option<(Instant, Nanos)> = None;
    let mut counted = Instant::now();
    let mut quiet = 0;
    let mut problem = loop {
        if stop.is_stopped() && leaving.is_none() {
            source.leave();
            (leaving, quiet) = (Some((Instant::now(), now())), 0);
        }
        if counted.elapsed() >= COUNT {
            counted = Instant::now();
            match source.counts() {
                Ok(counts) => batch.counts = counts,
                Err(error) => break Some(error.to_string()),
            }
            if batch.counts.is_some() && to.send(std::mem::replace(&mut batch, Batch::new())).is_err() {
                break None;
            }
        }
        let got = source.read(&mut batch);
        let empty = matches!(got, Ok(0));
        // The kernel's sums are read now and then: a full batch comes a thousand times a second.
        if (empty || batch.is_full())
            && asked.elapsed() >= DROPS
            && let Some(drops) = source.drops()
        {
            asked = Instant::now();
            told.store(drops, Ordering::Relaxed);
        }
        let problem = match got {
            Ok(_) => None,
            Err(error) => Some(if is_gone(device) { removed() } else { error.to_string() }),
        };
        if empty {
            batch.up_to = batch.up_to.max(Nanos(now().0.saturating_sub(LAG.0)));
        }
        let late = leaving.is_some_and(|(since, at)| {
            since.elapsed() > LEAVE || quiet >= 2 || batch.last().is_some_and(|last| last > at)
        });
        if (empty || batch.is_full() || problem.is_some() || late)
            && to.send(std::mem::replace(&mut batch, Batch::new())).is_err()
        {
            break None;
        }
        if problem.is_some() || late {
            break problem;
        }
        if empty {
            quiet += 1;
            if looked.elapsed() > LOOK {
                looked = Instant::now();
                if is_gone(device) {
                    break Some(removed());
                }
            }
            wait(source.descriptor(), POLL);
        }
    };
    if let Some(drops) = source.drops() {
        told.store(drops, Ordering::Relaxed);
    }
    // All that was counted to the very end; what was counted before was sent.
    match source.counts() {
        Ok(counts) => {
            let mut last = Batch::new();
            last.counts = counts;
            // Nobody may be there to receive it any more.
            let _ = to.send(last);
        }
        Err(error) => problem = problem.or(Some(error.to_string())),
    }
    problem
}

/// Whether an interface is not there any more. It may have another name by now.
fn is_gone(device: &Device) -> bool {
    device.index.is_some_and(|index| Host::here().interfaces.iter().all(|now| now.index != index))
}

fn removed() -> String {
    "it was removed while it was watched".to_owned()
}
