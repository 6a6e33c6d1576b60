//! Which PSNs of a space have been seen: a frontier, and the holes below it.
//!
//! Everything from the low end to the frontier has been seen but for a short list of ranges. That is exact, and costs
//! nothing for a flow in order. A hole is either *skipped* (a gap jumped over it) or *covered* (the inside of a READ's
//! range, whose PSNs no request carries).

use rocetop_parsers::Psn;

/// Holes kept per flow. A real sender repeats from its outstanding window, so the oldest holes are the ones that will
/// not be filled any more; beyond this many they are counted and forgotten (chosen: as many as a window of 4 MiB has
/// packets of 4 KiB).
const MOST: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hole {
    start: Psn,
    len: u32,
    skipped: bool,
}

impl Hole {
    fn end(self) -> Psn {
        self.start + self.len
    }

    fn holds(self, psn: Psn) -> bool {
        psn - self.start >= 0 && psn - self.end() < 0
    }
}

/// PSNs behind the frontier that are still told apart; older ones cannot be repeated by a real sender (the most in
/// flight on a published path is 366,000 packets: 400G x 30 ms).
const WINDOW: u32 = 1 << 22;

/// What a second look at a PSN below the frontier finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// It had been seen.
    Again,
    /// A gap had skipped it.
    Skipped,
    /// It lies inside a READ's range, or before anything seen here.
    First,
}

/// The PSNs from a low end to a frontier that have been seen: all but the holes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    low: Psn,
    holes: Option<Box<Inner>>,
}

#[derive(Clone, Debug, Default)]
struct Inner {
    holes: Vec<Hole>,
    /// Skipped PSNs whose holes were forgotten.
    forgotten: u64,
}

impl Seen {
    /// A space that begins at `low`.
    pub(crate) fn starting(low: Psn) -> Self {
        Self { low, holes: None }
    }

    /// Whether `psn` is not before everything that is remembered.
    pub(crate) fn reaches(&self, psn: Psn) -> bool {
        psn - self.low >= 0
    }

    /// How far `psn` lies before everything that is remembered.
    pub(crate) fn below(&self, psn: Psn) -> u32 {
        (self.low - psn).max(0).unsigned_abs()
    }

    /// Whether a gap skipped `psn`, and it has not come since.
    pub(crate) fn lacks(&self, psn: Psn) -> bool {
        self.holes.as_ref().and_then(|inner| inner.at(psn)).is_some_and(|(_, hole)| hole.skipped)
    }

    /// A range just below the frontier that was not seen: `skipped` by a gap, or covered by a READ.
    pub(crate) fn open(&mut self, start: Psn, len: u32, skipped: bool) {
        if len == 0 {
            return;
        }
        let inner = self.holes.get_or_insert_default();
        match inner.holes.last_mut() {
            Some(last) if last.end() == start && last.skipped == skipped => last.len += len,
            _ => inner.holes.push(Hole { start, len, skipped }),
        }
        inner.bound();
    }

    /// Looks at a PSN below the frontier, which is seen from now on.
    pub(crate) fn look(&mut self, psn: Psn) -> Sight {
        let below = self.below(psn);
        if below != 0 {
            self.low = psn;
            let inner = self.holes.get_or_insert_default();
            if below > 1 && inner.holes.len() < MOST {
                inner.holes.insert(0, Hole { start: psn + 1, len: below - 1, skipped: false });
            }
            return Sight::First;
        }
        match self.fill(psn) {
            None if self.holes.as_mut().is_some_and(|inner| inner.recall(psn)) => Sight::Skipped,
            None => Sight::Again,
            Some(true) => Sight::Skipped,
            Some(false) => Sight::First,
        }
    }

    /// Takes `psn` out of its hole: `Some(skipped)`, or `None` when it is in none.
    fn fill(&mut self, psn: Psn) -> Option<bool> {
        let inner = self.holes.as_mut()?;
        let (at, hole) = inner.at(psn)?;
        let before = Hole { len: (psn - hole.start).unsigned_abs(), ..hole };
        let after = Hole { start: psn + 1, len: hole.len - before.len - 1, ..hole };
        inner.holes.splice(at..=at, [before, after].into_iter().filter(|h| h.len != 0));
        inner.bound();
        Some(hole.skipped)
    }

    /// The range is the inside of a READ: what a gap skipped of it was never to be seen.
    pub(crate) fn cover(&mut self, start: Psn, len: u32) {
        let Some(inner) = &mut self.holes else { return };
        let end = start + len;
        let mut split = Vec::with_capacity(inner.holes.len() + 2);
        for hole in inner.holes.drain(..) {
            let from = if start - hole.start > 0 { start } else { hole.start };
            let to = if end - hole.end() < 0 { end } else { hole.end() };
            if to - from <= 0 || !hole.skipped {
                split.push(hole);
                continue;
            }
            let part = |start: Psn, end: Psn, skipped| Hole { start, len: (end - start).unsigned_abs(), skipped };
            split.extend(
                [part(hole.start, from, true), part(from, to, false), part(to, hole.end(), true)]
                    .into_iter()
                    .filter(|h| h.len != 0),
            );
        }
        inner.holes = split;
    }

    /// The frontier has come to `next`: forgets what lies far behind it.
    #[inline(always)]
    pub(crate) fn trim(&mut self, next: Psn) {
        if next - self.low > WINDOW.cast_signed() {
            self.forget_below(next - WINDOW / 2);
        }
    }

    #[cold]
    fn forget_below(&mut self, low: Psn) {
        self.low = low;
        let Some(inner) = &mut self.holes else { return };
        while let Some(&first) = inner.holes.first() {
            if first.end() - low > 0 {
                break;
            }
            inner.holes.remove(0);
            inner.forget(first);
        }
    }

    /// Skipped PSNs that were never filled.
    pub(crate) fn never_seen(&self) -> u64 {
        self.holes.as_ref().map_or(0, |inner| {
            inner.forgotten + inner.holes.iter().filter(|h| h.skipped).map(|h| u64::from(h.len)).sum::<u64>()
        })
    }
}

impl Inner {
    /// The hole that holds `psn`, and its place: they lie in a row.
    fn at(&self, psn: Psn) -> Option<(usize, Hole)> {
        let at = self.holes.partition_point(|h| h.end() - psn <= 0);
        self.holes.get(at).filter(|h| h.holds(psn)).map(|&hole| (at, hole))
    }

    /// Forgets the oldest holes beyond the most.
    fn bound(&mut self) {
        while self.holes.len() > MOST {
            let oldest = self.holes.remove(0);
            self.forget(oldest);
        }
    }

    /// Whether `psn` may lie in a hole that was forgotten, which then counts as filled: better a repeat too few than
    /// one that was none.
    fn recall(&mut self, psn: Psn) -> bool {
        let older = self.holes.first().is_none_or(|oldest| psn - oldest.start < 0);
        let may = older && self.forgotten > 0;
        self.forgotten -= u64::from(may);
        may
    }

    fn forget(&mut self, hole: Hole) {
        if hole.skipped {
            self.forgotten += u64::from(hole.len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn psn(n: u32) -> Psn {
        Psn::new(n)
    }

    #[test]
    fn fills_split_a_hole() {
        let mut seen = Seen::starting(psn(0xff_fff0));
        seen.open(psn(0xff_fffe), 5, true);
        assert_eq!(seen.look(psn(0)), Sight::Skipped);
        assert_eq!(seen.look(psn(0)), Sight::Again);
        assert_eq!(seen.look(psn(0xff_ffff)), Sight::Skipped);
        assert_eq!(seen.never_seen(), 3);
        assert_eq!(seen.look(psn(3)), Sight::Again);
    }

    #[test]
    fn below_everything_is_first_sight_once() {
        let mut seen = Seen::starting(psn(10));
        assert_eq!(seen.look(psn(5)), Sight::First);
        assert_eq!(seen.look(psn(5)), Sight::Again);
        assert_eq!(seen.look(psn(7)), Sight::First);
        assert_eq!(seen.look(psn(10)), Sight::Again);
        assert_eq!(seen.never_seen(), 0);
    }

    #[test]
    fn a_read_covers_what_a_gap_skipped() {
        let mut seen = Seen::starting(psn(0));
        seen.open(psn(10), 20, true);
        assert_eq!(seen.look(psn(12)), Sight::Skipped);
        seen.cover(psn(13), 15);
        assert_eq!(seen.never_seen(), 4);
        assert_eq!(seen.look(psn(20)), Sight::First);
    }

    #[test]
    fn a_storm_of_losses_is_told_apart() {
        let mut seen = Seen::starting(psn(0));
        (0..1000).for_each(|n| seen.open(psn(n * 2), 1, true));
        let filled = (0..2000).filter(|&n| seen.look(psn(n)) == Sight::Skipped).count();
        let again = (0..2000).filter(|&n| seen.look(psn(n)) == Sight::Again).count();
        assert_eq!((filled, again), (1000, 2000));
    }

    #[test]
    fn memory_is_bounded_and_the_sum_stays() {
        let mut seen = Seen::starting(psn(0));
        for n in 0..2000 {
            seen.open(psn(n * 4), 2, true);
        }
        assert_eq!(seen.never_seen(), 4000);
        assert_eq!(seen.holes.as_ref().unwrap().holes.len(), MOST);
        seen.trim(psn(WINDOW + 8000));
        assert_eq!(seen.never_seen(), 4000);
        seen.forget_below(psn(8000));
        assert_eq!(seen.never_seen(), 4000);
        assert_eq!(seen.holes.as_ref().unwrap().holes.len(), 0);
    }
}
