//! What a tap does not show though it was there: captures that miss packets, and packets that take another way.

use super::pair::Pair;
use super::report::{Course, DirectionBy, OUTWEIGHS};
use super::sight::Kind;
use super::way::{Alone, Way};

/// What both taps of a pair leave out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    leaks: [Leak; 2],
    pasts: [Past; 2],
}

impl Gaps {
    pub(super) fn of(pair: &Pair, courses: &[Course<'_>]) -> Self {
        let past = |tap| courses.iter().map(|course| Past::of(course, tap)).fold(Past::default(), Past::and);
        Self { leaks: [0, 1].map(|tap| Leak::of(pair, courses, tap)), pasts: [0, 1].map(past) }
    }

    /// Whether the second tap is taken to have missed what it saw no copy of and that the first alone saw.
    pub(super) fn explain(&self, course: &Course<'_>, up: &Alone) -> bool {
        self.second(course).explains(course.way, up)
    }

    /// What the tap is known to have missed that a direction passes last.
    fn second(&self, course: &Course<'_>) -> &Leak {
        let [first, second] = &self.leaks;
        if course.first == 1 { first } else { second }
    }

    /// Of `named` requests that a NAK named and that the second tap did not show, those that were lost for certain.
    /// Where packets overtake one another a NAK may name what comes later, and the capture may have missed some of it.
    pub(super) fn certain(&self, course: &Course<'_>, named: u64) -> u64 {
        named - self.second(course).may_lack(named, course.way.late.iter().copied().max().unwrap_or_default())
    }

    /// Of packets of a direction that did not come to the second tap, those that it may have missed.
    pub(super) fn doubtful(&self, course: &Course<'_>, gone: Gone) -> u64 {
        self.second(course).doubtful(course.way, gone)
    }

    /// Of the tap that a direction passes first, and of the other: whether many packets go past it.
    pub(super) fn pass(&self, course: &Course<'_>) -> [bool; 2] {
        [course.first, 1 - course.first.min(1)].map(|tap| {
            let own = Past::of(course, tap);
            let all = self.pasts.get(tap).copied().unwrap_or_default();
            if own.past + own.shown >= TELL { own.is_many() } else { all.is_many() }
        })
    }
}

/// A direction tells by itself with so many packets; of fewer, all between the two taps tell (chosen: twice
/// the share that is many).
const TELL: u64 = 64;
/// One in so many is many: a capture that keeps up misses far fewer, and of two ways each takes its share.
const MANY: u64 = 32;

/// Packets that arrived and did not pass a tap, and those that did.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    past: u64,
    shown: u64,
}

impl Past {
    /// Of one direction at tap `tap`.
    fn of(course: &Course<'_>, tap: usize) -> Self {
        let way = course.way;
        let Some(other) = way.alone.get(1 - tap.min(1)) else { return Self::default() };
        if tap != course.first {
            return Self { past: other.missed, shown: way.shown };
        }
        // What the other alone saw has come there.
        let past = other.absent.iter().sum::<u64>() + other.missed;
        Self { past: if course.by == DirectionBy::Unknown { 0 } else { past }, shown: way.through }
    }

    fn and(self, other: Self) -> Self {
        Self { past: self.past + other.past, shown: self.shown + other.shown }
    }

    fn is_many(self) -> bool {
        self.past > 1 && self.past.saturating_mul(MANY) >= self.past + self.shown
    }
}

/// Packets that the second tap of a direction did not see and that are not known to have arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gone {
    /// Requests and responses of reliable transports. Without any repeat it would show that they arrived, so they share
    /// their fate with those that were sent again.
    pub(super) repeated: u64,
    /// Of which nothing ever tells: datagrams, ACKs.
    pub(super) silent: u64,
}

/// A capture is not taken to have missed one of some packets where fewer than one in so many such comparisons would be
/// wrong (chosen: rarer than the losses that are looked for).
const UNLIKELY: u128 = 64;

/// What a capture is known to have missed: packets that arrived all the same.
#[derive(Clone, Copy, Debug)]
struct Leak {
    missed: u64,
    /// Those that it shows, of the same kinds.
    shown: u64,
    /// Those that it did not see and that did not arrive.
    lost: u64,
}

impl Leak {
    /// Of tap `tap` of the two.
    fn of(pair: &Pair, courses: &[Course<'_>], tap: usize) -> Self {
        let mut leak = Self { missed: 0, shown: 0, lost: 0 };
        for way in &pair.ways {
            if let Some(other) = way.alone.get(1 - tap.min(1)) {
                leak.missed += other.missed;
                // What passed this tap first and was seen behind it has passed it.
                if passes_first(courses, way, tap) {
                    leak.missed += KINDS_SENT.iter().map(|&kind| other.absent_of(kind)).sum::<u64>();
                    leak.shown += way.through - way.shown;
                } else {
                    leak.lost += other.proven;
                }
            }
            leak.shown += way.shown;
        }
        leak
    }

    /// Whether it explains what else only the other tap saw of a direction, of which nothing tells whether it arrived
    /// (datagrams, ACKs, unreliable connections): nothing was lost where it would show, and these are missing hardly
    /// more often than those that the capture is known to have missed.
    fn explains(&self, way: &Way, alone: &Alone) -> bool {
        let absent: u64 = alone.absent.iter().sum();
        let all = way.through - way.shown + absent;
        let [absent, all, missed, shown] = [absent, all, self.missed, self.shown].map(u128::from);
        self.lost == 0 && missed != 0 && absent * (missed + shown) <= u128::from(OUTWEIGHS) * missed * all
    }

    /// Of packets of a direction that are gone, those that this capture may have missed if it did so as often as it did
    /// where it shows, of each sort as many as its packets make likely.
    fn doubtful(&self, way: &Way, gone: Gone) -> u64 {
        let silent = way.through.saturating_sub(way.shown + way.again);
        self.may_lack(gone.repeated, way.again + gone.repeated) + self.may_lack(gone.silent, silent + gone.silent)
    }

    /// Of so many packets that are `gone`, those that it may have missed, where it had so many in `all` to miss.
    fn may_lack(&self, gone: u64, all: u64) -> u64 {
        let [all, missed, shown] = [all, self.missed, self.shown].map(u128::from);
        if missed * all * UNLIKELY < missed + shown {
            return 0;
        }
        let most = (u128::from(OUTWEIGHS) * missed * all).div_ceil((missed + shown).max(1));
        gone.min(u64::try_from(most).unwrap_or(u64::MAX))
    }
}

/// What only a host sends: CNPs and what is unknown may be made on the way.
const KINDS_SENT: [Kind; 4] = [Kind::Request, Kind::Response, Kind::Ack, Kind::Nak];

/// Whether a direction is known to pass a tap before the other one, whatever either of them saw of it.
fn passes_first(courses: &[Course<'_>], way: &Way, tap: usize) -> bool {
    let known = |course: &&Course<'_>| matches!(course.by, DirectionBy::Ttl | DirectionBy::RoundTrip);
    let this = |course: &&Course<'_>| (course.way.src, course.way.dst) == (way.src, way.dst);
    courses.iter().filter(known).find(this).is_some_and(|course| course.first == tap)
}
