//! The event queue: what happens next.
//!
//! A wheel of time slots for what is near, a heap for what is far (timers, long cables). Only the slot that is being
//! played is sorted. Events at the same picosecond come in an order drawn from the seed, never in that of their ids:
//! two equal senders whose packets always arrive together lose as many as one another.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::event::Event;
use crate::rng::Rng;
use crate::table::{Table, id};
use crate::units::Time;

id! {
    /// A slot of the wheel, or a word of its bitmap.
    Slot
}

id! {
    /// A bunch of events of one slot.
    BunchId
}

/// No bunch: the end of a list.
const NONE: BunchId = BunchId(u32::MAX);

/// Events that a new one may move to find its place in the present slot. Usually there are a dozen; when thousands
/// start at once, each would move all others.
const MOVED: usize = 128;

/// Time, then a random tie, then the event: one number, compared as one.
type Entry = u128;

/// Some events of a slot, side by side in two cache lines, and the next bunch.
#[derive(Clone, Copy, Debug)]
#[repr(align(128))]
struct Bunch {
    entries: [Entry; 7],
    len: u32,
    next: BunchId,
}

const _: () = assert!(size_of::<Bunch>() == 128);

/// Events, by time.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// A slot is 2^shift picoseconds.
    shift: u32,
    /// How many slots; a power of two.
    slots: u64,
    /// The slot that is being played, by its number since time zero.
    slot: u64,
    /// Its events, the next one last.
    now: Vec<Entry>,
    /// Events of the present slot and before that came while it was played and would have had to move too many others.
    late: BinaryHeap<Reverse<Entry>>,
    /// The first bunch of every slot; their events are in no order.
    wheel: Table<Slot, BunchId>,
    bunches: Table<BunchId, Bunch>,
    /// The first bunch that is free.
    free: BunchId,
    /// A bit for every slot of the wheel that holds something.
    filled: Table<Slot, u64>,
    far: BinaryHeap<Reverse<Entry>>,
    ties: Rng,
}

const fn time(entry: Entry) -> u64 {
    (entry >> 64) as u64
}

impl Queue {
    /// An empty queue; most events will lie less than `near` ahead, about a dozen of them for each of `ports`.
    pub(crate) fn new(near: Time, ports: usize, seed: u64) -> Self {
        // `near` is half of the wheel or less, and about a dozen events are in a slot: few enough to sort, many enough
        // that a bunch is not empty. Measured flat between half and double.
        let slots = (ports as u64 * 2).next_power_of_two().clamp(1 << 10, 1 << 16);
        let shift = near.0.saturating_mul(2).div_ceil(slots).max(1).next_power_of_two().trailing_zeros().clamp(4, 40);
        Self {
            shift,
            slots,
            slot: 0,
            now: Vec::new(),
            late: BinaryHeap::new(),
            wheel: Table::filled(NONE, slots as usize),
            bunches: Table::new(),
            free: NONE,
            filled: Table::filled(0, slots as usize / 64),
            far: BinaryHeap::new(),
            ties: Rng::named(seed, "ties"),
        }
    }

    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, at: Time, event: Event) {
        let what = self.ties.next() >> 32 << 32 | u64::from(event.bits());
        let entry = Entry::from(at.0) << 64 | Entry::from(what);
        let slot = at.0 >> self.shift;
        if slot.wrapping_sub(self.slot).wrapping_sub(1) < self.slots - 1 {
            self.put(entry);
        } else if slot <= self.slot {
            let at = self.now.partition_point(|other| *other > entry);
            if self.now.len() - at <= MOVED {
                self.now.insert(at, entry);
            } else {
                self.late.push(Reverse(entry));
            }
        } else {
            self.far.push(Reverse(entry));
        }
    }

    #[inline]
    fn put(&mut self, entry: Entry) {
        let slot = Slot(((time(entry) >> self.shift) & (self.slots - 1)) as u32);
        let head = self.wheel[slot];
        if head != NONE {
            let bunch = &mut self.bunches[head];
            if let Some(place) = bunch.entries.get_mut(bunch.len as usize) {
                *place = entry;
                bunch.len += 1;
                return;
            }
        }
        let free = self.free;
        let id = if free == NONE {
            self.bunches.push(Bunch { entries: [entry; 7], len: 1, next: head })
        } else {
            let bunch = &mut self.bunches[free];
            self.free = bunch.next;
            bunch.next = head;
            bunch.len = 1;
            if let Some(place) = bunch.entries.first_mut() {
                *place = entry;
            }
            free
        };
        self.wheel[slot] = id;
        self.filled[Slot(slot.0 / 64)] |= 1 << (slot.0 % 64);
    }

    /// Takes the next event of the present slot, unless it is later than `until`; what would happen at [`Time::NEVER`]
    /// stays.
    #[inline]
    pub(crate) fn pop(&mut self, until: Time) -> Option<(Time, Event)> {
        if !self.late.is_empty() {
            return self.pop_late(until);
        }
        let entry = *self.now.last()?;
        let at = Time(time(entry));
        if at > until || at == Time::NEVER {
            return None;
        }
        self.now.pop();
        Some((at, Event::of_bits(entry as u32)))
    }

    /// [`Queue::pop`] where some events wait beside the sorted ones.
    #[inline(never)]
    fn pop_late(&mut self, until: Time) -> Option<(Time, Event)> {
        let Reverse(late) = *self.late.peek()?;
        let (entry, sorted) = match self.now.last() {
            Some(&now) if now < late => (now, true),
            _ => (late, false),
        };
        let at = Time(time(entry));
        if at > until || at == Time::NEVER {
            return None;
        }
        if sorted {
            self.now.pop();
        } else {
            self.late.pop();
        }
        Some((at, Event::of_bits(entry as u32)))
    }

    /// Whether the present slot has no event left.
    pub(crate) fn is_played(&self) -> bool {
        self.now.is_empty() && self.late.is_empty()
    }

    /// The events of the present slot that are sorted: all, when it begins.
    #[inline]
    pub(crate) fn present(&self) -> impl Iterator<Item = Event> {
        self.now.iter().map(|entry| Event::of_bits(*entry as u32))
    }

    /// All events, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = Event> {
        let some = |id: BunchId| (id != NONE).then_some(id);
        let heads = self.wheel.rows().iter().copied();
        let bunches =
            heads.flat_map(move |head| std::iter::successors(some(head), move |id| some(self.bunches[*id].next)));
        let near = bunches.flat_map(|id| self.bunches[id].entries.iter().take(self.bunches[id].len as usize));
        let far = self.far.iter().chain(&self.late).map(|Reverse(entry)| entry);
        near.chain(far).chain(&self.now).map(|entry| Event::of_bits(*entry as u32))
    }

    /// Goes on to the next slot that holds something, when the present one is empty; whether there is one.
    pub(crate) fn turn(&mut self) -> bool {
        let near = self.next_filled();
        let far = self.far.peek().map(|Reverse(entry)| time(*entry) >> self.shift);
        self.slot = match (near, far) {
            (Some(near), Some(far)) => near.min(far),
            (Some(slot), None) | (None, Some(slot)) => slot,
            (None, None) => return false,
        };
        let slot = Slot((self.slot & (self.slots - 1)) as u32);
        let mut id = std::mem::replace(&mut self.wheel[slot], NONE);
        self.filled[Slot(slot.0 / 64)] &= !(1 << (slot.0 % 64));
        while id != NONE {
            let bunch = &mut self.bunches[id];
            self.now.extend_from_slice(bunch.entries.get(..bunch.len as usize).unwrap_or_default());
            let next = bunch.next;
            bunch.next = self.free;
            self.free = id;
            id = next;
        }
        while let Some(&Reverse(entry)) = self.far.peek()
            && time(entry) >> self.shift == self.slot
        {
            self.now.push(entry);
            self.far.pop();
        }
        if self.now.len() > 1 {
            self.now.sort_unstable_by(|a, b| b.cmp(a));
        }
        true
    }

    /// The first slot after the present one that holds something.
    fn next_filled(&self) -> Option<u64> {
        let from = self.slot + 1;
        let first = (from & (self.slots - 1)) as u32;
        // The present slot is empty by now, so one round over all words, the first of them twice, misses nothing.
        let words = (self.slots / 64) as u32;
        let mut mask = u64::MAX << (first % 64);
        for step in 0..=words {
            let word = (first / 64 + step) & (words - 1);
            let bits = self.filled[Slot(word)] & mask;
            if bits != 0 {
                let slot = u64::from(word * 64 + bits.trailing_zeros());
                return Some(from + (slot.wrapping_sub(u64::from(first)) & (self.slots - 1)));
            }
            mask = u64::MAX;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::Kind;

    fn next(queue: &mut Queue) -> Option<(Time, Event)> {
        queue.pop(Time::NEVER).or_else(|| queue.turn().then(|| queue.pop(Time::NEVER)).flatten())
    }

    fn drain(queue: &mut Queue) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| next(queue)).map(|(at, event)| (at.0, event.id())).collect()
    }

    #[test]
    fn time_orders_near_and_far() {
        let mut queue = Queue::new(Time::us(1), 100, 1);
        let mut rng = Rng::new(9);
        let mut want = Vec::new();
        for id in 0..20_000 {
            // Some in the same slot, some around the wheel, some beyond it.
            let at = rng.below([1_000, 2_000_000, 900_000_000][id as usize % 3]);
            queue.push(Time(at), Event::new(Kind::Start, id));
            want.push(at);
        }
        want.sort_unstable();
        let found: Vec<u64> = drain(&mut queue).into_iter().map(|(at, _)| at).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn what_is_pushed_while_it_runs_finds_its_place() {
        let mut queue = Queue::new(Time::us(1), 100, 1);
        let mut rng = Rng::new(4);
        queue.push(Time(0), Event::new(Kind::Start, 0));
        let (mut last, mut popped) = (0, 0);
        while let Some((at, _)) = next(&mut queue) {
            assert!(at.0 >= last, "{} after {last}", at.0);
            last = at.0;
            popped += 1;
            for _ in 0..if popped < 5_000 { 1 + rng.below(2) } else { 0 } {
                let range = [600, 1_500_000, 3_000_000, 80_000_000][rng.below(4) as usize];
                let ahead = rng.below(range);
                queue.push(Time(last + ahead), Event::new(Kind::Start, 1));
            }
        }
        assert!(popped > 7_000);
    }

    /// Two hundred thousand at once, pushed into the slot that is played, would move each other 10^10 times: minutes.
    #[test]
    fn very_many_of_one_slot_find_their_places() {
        let mut queue = Queue::new(Time::us(1), 100, 1);
        let mut rng = Rng::new(7);
        let mut want: Vec<u64> = (0..200_000).map(|_| rng.below(1 << 4)).collect();
        for (id, at) in (0..).zip(&want) {
            queue.push(Time(*at), Event::new(Kind::Start, id));
        }
        assert_eq!(queue.all().count(), 200_000);
        assert!(queue.now.len() < 10_000, "{} are moved by every new one", queue.now.len());
        want.sort_unstable();
        let found: Vec<(u64, u32)> = drain(&mut queue);
        assert_eq!(found.iter().map(|(at, _)| *at).collect::<Vec<_>>(), want);
        let mut ids: Vec<u32> = found.into_iter().map(|(_, id)| id).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..200_000).collect::<Vec<_>>());
    }

    #[test]
    fn equal_times_are_drawn_and_repeat() {
        let order = |seed| {
            let mut queue = Queue::new(Time::us(1), 100, seed);
            for id in 0..64 {
                queue.push(Time(5), Event::new(Kind::Start, id));
            }
            drain(&mut queue).into_iter().map(|(_, id)| id).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        assert_ne!(order(1), (0..64).collect::<Vec<_>>());
    }
}
