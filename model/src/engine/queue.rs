//! The event queue: what happens next.
//!
//! A wheel of time slots for what is near, a heap for what is far (timers, long cables). Only the slot that is being
//! played is sorted. Events at the same picosecond come in an order drawn from the seed, never in that of their ids: two
//! equal senders whose packets always arrive together lose as many as one another.

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

/// Slots of the wheel; a power of two.
const SLOTS: u64 = 4096;

/// Time, then a random tie, then the event: one number, compared as one.
type Entry = u128;

/// Events, by time.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// A slot is 2^shift picoseconds.
    shift: u32,
    /// The slot that is being played, by its number since time zero.
    slot: u64,
    /// Its events, the next one last.
    now: Vec<Entry>,
    wheel: Table<Slot, Vec<Entry>>,
    /// A bit for every slot of the wheel that holds something.
    filled: Table<Slot, u64>,
    far: BinaryHeap<Reverse<Entry>>,
    ties: Rng,
}

impl Queue {
    /// An empty queue; most events will lie less than `near` ahead.
    pub(crate) fn new(near: Time, seed: u64) -> Self {
        // Half a wheel holds them, and no slot is shorter than 128 ps: two bytes at 100 Gb/s.
        let shift = near.0.saturating_mul(2).div_ceil(SLOTS).max(1).next_power_of_two().trailing_zeros().clamp(7, 40);
        Self {
            shift,
            slot: 0,
            now: Vec::new(),
            wheel: Table::filled(Vec::new(), SLOTS as usize),
            filled: Table::filled(0, SLOTS as usize / 64),
            far: BinaryHeap::new(),
            ties: Rng::named(seed, "ties"),
        }
    }

    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, at: Time, event: Event) {
        let tie = self.ties.next() >> 32 << 32;
        let entry = Entry::from(at.0) << 64 | Entry::from(tie | u64::from(event.bits()));
        let slot = at.0 >> self.shift;
        let ahead = slot.wrapping_sub(self.slot);
        if ahead == 0 {
            let at = self.now.partition_point(|other| *other > entry);
            self.now.insert(at, entry);
        } else if ahead < SLOTS {
            let slot = Slot((slot % SLOTS) as u32);
            self.wheel[slot].push(entry);
            self.filled[Slot(slot.0 / 64)] |= 1 << (slot.0 % 64);
        } else {
            self.far.push(Reverse(entry));
        }
    }

    /// Takes the next event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Time, Event)> {
        loop {
            if let Some(entry) = self.now.pop() {
                return Some((Time((entry >> 64) as u64), Event::of_bits(entry as u32)));
            }
            self.turn()?;
        }
    }

    /// Goes on to the next slot that holds something.
    fn turn(&mut self) -> Option<()> {
        let near = self.next_filled();
        let far = self.far.peek().map(|Reverse(entry)| ((entry >> 64) as u64) >> self.shift);
        self.slot = match (near, far) {
            (Some(near), Some(far)) => near.min(far),
            (Some(slot), None) | (None, Some(slot)) => slot,
            (None, None) => return None,
        };
        let slot = Slot((self.slot % SLOTS) as u32);
        std::mem::swap(&mut self.now, &mut self.wheel[slot]);
        self.filled[Slot(slot.0 / 64)] &= !(1 << (slot.0 % 64));
        while let Some(&Reverse(entry)) = self.far.peek()
            && ((entry >> 64) as u64) >> self.shift == self.slot
        {
            self.now.push(entry);
            self.far.pop();
        }
        self.now.sort_unstable_by(|a, b| b.cmp(a));
        Some(())
    }

    /// The first slot after the present one that holds something.
    fn next_filled(&self) -> Option<u64> {
        let from = self.slot + 1;
        let first = (from % SLOTS) as u32;
        // The present slot is empty by now, so one round over all words, the first of them twice, misses nothing.
        let words = SLOTS as u32 / 64;
        let mut mask = u64::MAX << (first % 64);
        for step in 0..=words {
            let word = (first / 64 + step) % words;
            let bits = self.filled[Slot(word)] & mask;
            if bits != 0 {
                let slot = u64::from(word * 64 + bits.trailing_zeros());
                return Some(from + (slot + SLOTS - u64::from(first)) % SLOTS);
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

    fn drain(queue: &mut Queue) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| queue.pop()).map(|(at, event)| (at.0, event.id())).collect()
    }

    #[test]
    fn time_orders_near_and_far() {
        let mut queue = Queue::new(Time::us(1), 1);
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
        let mut queue = Queue::new(Time::us(1), 1);
        let mut rng = Rng::new(4);
        queue.push(Time(0), Event::new(Kind::Start, 0));
        let (mut last, mut popped) = (0, 0);
        while let Some((at, _)) = queue.pop() {
            assert!(at.0 >= last, "{} after {last}", at.0);
            last = at.0;
            popped += 1;
            for _ in 0..if popped < 5_000 { 1 + rng.below(2) } else { 0 } {
                let ahead = rng.below([600, 1_500_000, 3_000_000, 80_000_000][rng.below(4) as usize]);
                queue.push(Time(last + ahead), Event::new(Kind::Start, 1));
            }
        }
        assert!(popped > 7_000);
    }

    #[test]
    fn equal_times_are_drawn_and_repeat() {
        let order = |seed| {
            let mut queue = Queue::new(Time::us(1), seed);
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
