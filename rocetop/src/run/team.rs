//! Several threads over one time line.
//!
//! A worker takes a batch of frames off the time line when it is its turn, takes it through filter, walker and ICRC
//! while others do the same with theirs, and hands every part of the engine the packets that are its own. Each worker
//! has one part and feeds it with the lists of all batches in their order. So a part sees its packets as one thread
//! would, whoever looked at them, and nobody waits while there is something to do.
//!
//! What a batch needs stays in the caches of one core, from the reading of its bytes to the lists.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{mem, panic, thread};

use rocetop_analysis::{Engine, Packet};
use rocetop_parsers::{Bytes, Detail, detail};

use super::{Options, Outcome, look};
use crate::filter::{Compiled, Filter};
use crate::source::shared::Claim;
use crate::source::{Batch, SharedFile, Stop, Timeline};

/// Batches on their way per part, at most: until the slowest part has fed on them.
const AHEAD: usize = 4;
/// Batches between two looks at the progress.
const LOOK: u64 = 16;

/// How far it is: bytes done, and bytes in all if known.
type Progress = (Bytes, Option<Bytes>);

/// [`super::run`] on `parts` threads, with the one that calls.
pub(super) fn run(
    timeline: Timeline,
    options: &Options,
    parts: usize,
    mut progress: impl FnMut(Bytes, Option<Bytes>),
) -> Outcome {
    let team = Team::new(timeline, parts);
    let engines = thread::scope(|scope| {
        let work = |part| Worker::new(options, part, parts).work(&team, &mut |_, _| {});
        let others: Vec<_> = (1..parts).map(|part| scope.spawn(move || work(part))).collect();
        let first = Worker::new(options, 0, parts).work(&team, &mut progress);
        // A part that panicked has a fault that must not pass as a report.
        let others = others.into_iter().map(|o| o.join().unwrap_or_else(|fault| panic::resume_unwind(fault)));
        std::iter::once(first).chain(others).collect()
    });
    let captures = team.state().timeline.as_ref().map(Timeline::summaries).unwrap_or_default();
    Outcome { engine: Engine::merge(engines), captures }
}

/// What a batch holds for one part.
#[derive(Default)]
struct List {
    packets: Vec<Packet>,
    /// What some of them carry beside, by index.
    details: Vec<(usize, Detail)>,
}

/// The lists that a part has yet to feed on, in the order of batches.
#[derive(Default)]
struct Inbox {
    /// How many were taken out.
    before: u64,
    /// `None` for a batch that nobody is done with.
    lists: VecDeque<Option<List>>,
}

struct State {
    /// `None` while somebody takes a batch off it.
    timeline: Option<Timeline>,
    /// Batches that workers have taken upon themselves.
    claimed: u64,
    /// Batches that were taken off the time line.
    taken: u64,
    ended: bool,
    /// A worker has panicked.
    failed: bool,
    inboxes: Vec<Inbox>,
    /// Empty lists, with the room that they had.
    spare: Vec<List>,
    progress: Option<Progress>,
    /// Workers that wait.
    idle: usize,
}

/// What the workers share.
struct Team {
    state: Mutex<State>,
    changed: Condvar,
    stop: Stop,
    /// Whoever takes a batch has read the bytes for it before, outside of all locks. `None` where the time line reads.
    file: Option<SharedFile>,
}

/// What a worker is to do next.
enum Task {
    /// Feed its part with what a batch holds for it.
    Feed(List),
    /// Take the batch of that number off the time line when it is its turn.
    Take(u64, Option<Claim>),
    End,
}

impl Team {
    fn new(mut timeline: Timeline, parts: usize) -> Self {
        let (stop, file) = (timeline.stop_handle(), timeline.share());
        let state = State {
            timeline: Some(timeline),
            claimed: 0,
            taken: 0,
            ended: false,
            failed: false,
            inboxes: (0..parts).map(|_| Inbox::default()).collect(),
            spare: Vec::new(),
            progress: None,
            idle: 0,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), stop, file }
    }

    /// The state; it is whole even where someone panicked, as nobody leaves it half changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.idle += 1;
        let mut state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.idle -= 1;
        state
    }

    /// Wakes who waits.
    fn changed(&self, state: MutexGuard<'_, State>) {
        let idle = state.idle > 0;
        drop(state);
        if idle {
            self.changed.notify_all();
        }
    }

    /// Waits for something to do for a part. Takes back what it is done with, and tells how far all are.
    fn task(&self, part: usize, done: Option<List>) -> (Task, Option<Progress>) {
        let mut guard = self.state();
        guard.spare.extend(done);
        let task = loop {
            let state = &mut *guard;
            let most = AHEAD * state.inboxes.len();
            let room = state.inboxes.iter().all(|inbox| inbox.lists.len() < most);
            let Some(inbox) = state.inboxes.get_mut(part) else { break Task::End };
            if state.failed || state.ended && inbox.lists.is_empty() {
                break Task::End;
            }
            if let Some(list) = inbox.lists.front_mut().and_then(Option::take) {
                inbox.lists.pop_front();
                inbox.before += 1;
                break Task::Feed(list);
            }
            if room && !state.ended {
                state.inboxes.iter_mut().for_each(|inbox| inbox.lists.push_back(None));
                state.claimed += 1;
                break Task::Take(state.claimed - 1, self.file.as_ref().and_then(SharedFile::claim));
            }
            guard = self.wait(guard);
        };
        let progress = if part == 0 { guard.progress.take() } else { None };
        if matches!(task, Task::Feed(_)) {
            self.changed(guard);
        }
        (task, progress)
    }

    /// Waits for the turn of a batch and takes it off the time line. It is empty at the end.
    fn take(&self, number: u64, batch: &mut Batch) {
        let mut state = self.state();
        let mut timeline = loop {
            if state.failed || state.ended {
                return;
            }
            if state.taken == number
                && let Some(timeline) = state.timeline.take()
            {
                break timeline;
            }
            state = self.wait(state);
        };
        drop(state);
        timeline.take(batch);
        let mut state = self.state();
        if number.is_multiple_of(LOOK) {
            state.progress = Some(timeline.progress());
        }
        state.timeline = Some(timeline);
        state.taken += 1;
        state.ended = batch.is_empty();
        self.changed(state);
    }

    /// Hands out the lists of a batch and puts empty ones in their place.
    fn hand_out(&self, number: u64, lists: &mut [List]) {
        let mut guard = self.state();
        let state = &mut *guard;
        for (inbox, list) in state.inboxes.iter_mut().zip(lists) {
            if let Some(slot) = inbox.lists.get_mut((number - inbox.before) as usize) {
                *slot = Some(mem::replace(list, state.spare.pop().unwrap_or_default()));
            }
        }
        self.changed(guard);
    }
}

/// Ends the other threads when one panics.
struct Alarm<'a>(&'a Team);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            // Somebody may wait for a pipe.
            self.0.stop.stop();
            let mut state = self.0.state();
            state.failed = true;
            self.0.changed(state);
        }
    }
}

struct Worker {
    part: usize,
    engine: Engine,
    filter: Option<Compiled>,
    batch: Batch,
    /// What the batch holds for each part.
    lists: Vec<List>,
}

impl Worker {
    fn new(options: &Options, part: usize, parts: usize) -> Self {
        Self {
            part,
            engine: Engine::part(options.engine, part, parts),
            filter: options.filter.as_ref().map(Filter::compiled),
            batch: Batch::default(),
            lists: (0..parts).map(|_| List::default()).collect(),
        }
    }

    fn work(mut self, team: &Team, progress: &mut dyn FnMut(Bytes, Option<Bytes>)) -> Engine {
        let _alarm = Alarm(team);
        let mut fed = None;
        loop {
            let (task, far) = team.task(self.part, fed.take());
            if let Some((done, total)) = far {
                progress(done, total);
            }
            match task {
                Task::Feed(list) => fed = Some(self.feed(list)),
                Task::Take(number, claim) => {
                    if let Some((file, claim)) = team.file.as_ref().zip(claim) {
                        file.read(claim, &mut self.batch);
                    }
                    team.take(number, &mut self.batch);
                    self.sort();
                    team.hand_out(number, &mut self.lists);
                }
                Task::End => return self.engine,
            }
        }
    }

    /// Looks at the frames of the batch and sorts them by part.
    fn sort(&mut self) {
        let parts = self.lists.len();
        for frame in self.batch.frames() {
            if self.filter.as_mut().is_some_and(|f| !f.passes(&frame)) {
                continue;
            }
            let mut packet = Packet::default();
            if !look(&frame, &mut packet) {
                self.engine.undecodable(packet.wire);
                continue;
            }
            let detail = detail(frame.bytes, &packet.facts);
            let Some(part) = Engine::part_of(&packet.facts, parts) else {
                self.engine.packet(&packet);
                detail.iter().for_each(|detail| self.engine.detail(&packet, detail));
                continue;
            };
            let Some(list) = self.lists.get_mut(part) else { continue };
            list.details.extend(detail.map(|detail| (list.packets.len(), detail)));
            list.packets.push(packet);
        }
        self.batch.clear();
    }

    /// Feeds the engine with what a batch holds for this part. The list is empty then.
    fn feed(&mut self, mut list: List) -> List {
        let mut packets = list.packets.iter();
        for (index, detail) in list.details.drain(..) {
            let before = list.packets.len() - packets.len();
            packets.by_ref().take(index + 1 - before).for_each(|packet| self.engine.packet(packet));
            list.packets.get(index).into_iter().for_each(|packet| self.engine.detail(packet, &detail));
        }
        packets.for_each(|packet| self.engine.packet(packet));
        list.packets.clear();
        list
    }
}
