//! A run of repeats: where a sender goes back, and why.

use rocetop_parsers::{Nanos, Psn};

use super::hole::Fate;
use super::latency::Wait;
use super::log::{Mark, Place};
use super::report::{Cause, Kind};
use crate::event::FrameNo;

/// So many repeats in one row are a sender's, whose first ones were lost, and no late packets (chosen).
const MANY: u32 = 8;
/// So many repeats in one row, though they stop short of all that had been sent, are of a sender that goes through all
/// of it: it was stopped by another answer (chosen: a burst of so many that is lost in one row is rarer than that).
const LONG: u32 = 64;

/// A sender has gone back and sends again what it had sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) cause: Cause,
    pub(crate) start: Psn,
    /// The PSN behind its first packet, and the one that comes next if it goes on.
    pub(crate) second: Psn,
    pub(crate) next: Psn,
    /// What would have followed all that had been sent when it began: whoever sends all of it again comes this far.
    pub(crate) upto: Psn,
    /// PSNs of its packets that came by, and whether some between them did not.
    pub(crate) came: u32,
    pub(crate) skips: bool,
    /// First repeat of the first try, and of the latest.
    pub(crate) begun: Mark,
    pub(crate) latest: Mark,
    /// Its last repeat.
    pub(crate) last: Nanos,
    /// Times that it went back to `start` without any answer in between: retries, not counting the first sending.
    pub(crate) tries: u32,
    pub(crate) repeats: u32,
    /// The answer that covered its start, and how often it came.
    pub(crate) answer: Psn,
    pub(crate) answers: u32,
    /// All of it had been sent before, and asked for that answer.
    pub(crate) due: bool,
    /// The packet that opened the hole that it mends.
    pub(crate) hole: Option<FrameNo>,
    /// Something asked for it: a NAK, an RNR NAK or a timer; late packets that come between repeats look alike.
    pub(crate) asked_for: bool,
    /// It began after a silence that is long enough for the shortest timer.
    pub(crate) timed: bool,
    /// A timer's: after how much silence.
    pub(crate) stalled: Nanos,
    /// A NAK says that one of its packets had not arrived.
    pub(crate) named: bool,
    /// It begins with the very packet that a NAK asked for: nothing of it was lost before.
    pub(crate) exact: bool,
    /// It began after a silence that a timer may have ended, though a NAK is on its way.
    pub(crate) patient: bool,
    /// What came right before its first packet, and was that packet's predecessor, filled a hole.
    pub(crate) follows: bool,
    /// It begins with an atomic.
    pub(crate) atomic: bool,
    /// The packets still come in a row.
    pub(crate) sending: bool,
    /// It is not known yet what it was.
    pub(crate) open: bool,
    /// Its episode, once that is told: what it still sends again is counted there.
    pub(crate) told: Option<Place>,
    /// How long the oldest request without an answer had waited when it began.
    pub(crate) waited: Wait,
    /// The time since the try before.
    pub(crate) since: Option<Nanos>,
    /// A timer's, if answers are seen here: none was yet.
    pub(crate) unheard: bool,
    /// One repeat, too soon for any timer: where the flow goes on as if nothing had been, the network made it.
    pub(crate) copy: Option<Psn>,
    /// It began amid other packets, and an answer is overdue: where it goes on, a timer ran out meanwhile.
    pub(crate) amid: bool,
}

/// How a run of repeats ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// What had never been sent follows; `heard`: what it sent again is acknowledged.
    Further { heard: bool },
    /// The same, once an answer that is none to what was sent again has acknowledged that: it may have been late, and
    /// whoever goes back stops there.
    Stopped,
    /// The sender goes back once more; `further`: to what it has not come to yet.
    Back { further: bool },
    /// With the capture.
    Capture,
}

/// What a run of repeats shows of how its sender recovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    /// Everything came again, from the packet that was lost to the end of what had been sent.
    All,
    /// Only what was missing came again, and not what had been sent behind it.
    Missing,
    /// Either, as where the packet that was lost is the last one.
    Nothing,
}

/// An answer that asks for a repeat, until that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) psn: Psn,
    pub(crate) mark: Mark,
    pub(crate) rnr: bool,
}

impl Run {
    /// With its first packet, behind which `second` comes.
    pub(crate) fn beginning(start: Psn, second: Psn, mark: Mark) -> Self {
        Self { start, second, next: second, begun: mark, latest: mark, ..Self::default() }
    }

    /// What a skipped PSN is that comes in it.
    pub(crate) fn fate(&self) -> Fate {
        match self.asked_for {
            true => Fate::Repeated,
            false if self.patient || self.repeats >= MANY => Fate::Unsure,
            false => Fate::Late,
        }
    }

    /// So many more PSNs have come in it. What a READ claims to take may be absurd.
    pub(crate) fn takes(&mut self, span: u32) {
        self.came = self.came.saturating_add(span);
    }

    /// Whether it went on behind its first packet.
    pub(crate) fn is_long(&self) -> bool {
        self.next - self.second > 0
    }

    /// What it shows of how the sender recovers, when it ends.
    pub(crate) fn shows(&self, end: End) -> Shows {
        if !self.sending || self.cause != Cause::Nak || !self.asked_for {
            return Shows::Nothing;
        }
        let span = (self.next - self.start).max(0).unsigned_abs();
        // Some of what a sender goes through may be lost before the tap, but not most of it (chosen).
        let dense = self.came.saturating_mul(2) > span;
        // What had never come by here was lost before the tap, and what had come by did arrive.
        let before = self.came > self.repeats;
        if self.next - self.upto >= 0 {
            // Two packets that had passed here: one may be a late copy, or what was lost behind the tap.
            // Whoever asked had received one of them. Where none is left out, that one was sent again as well; who
            // leaves some out may know that they had arrived.
            let arrived = before || self.came >= span && !self.skips;
            return if dense && arrived && self.is_long() && self.repeats >= 2 { Shows::All } else { Shows::Nothing };
        }
        let lone = self.exact && !self.is_long();
        match end {
            End::Further { .. } if lone || !dense => Shows::Missing,
            // All of it had been missing here, or nothing answered it meanwhile: who sends all again does not stop.
            End::Further { heard } if self.exact && !self.skips && (self.repeats == 0 || !heard) => Shows::Missing,
            End::Back { further: true } if lone => Shows::Missing,
            // Another answer may have stopped a sender that goes through all of it, and bursts that are lost are
            // rarely as long; behind the tap nothing shows that one of them had arrived.
            End::Back { .. } | End::Capture if dense && before && self.repeats >= LONG => Shows::All,
            _ => Shows::Nothing,
        }
    }

    /// What a timer's run was about, where no answer tells more.
    pub(crate) fn in_doubt(&self) -> Kind {
        if self.named { Kind::RequestLost } else { Kind::RequestOrAckLost }
    }

    /// Whether an answer to the first sending was lost, once no more of them can come. Two answers that cover all of
    /// the run are more than a request that had been lost would draw, so all of it had arrived. A responder that
    /// answers the repeats one by one, and yet gave fewer answers than there were repeats and a first sending, has lost
    /// one.
    pub(crate) fn lost_its_answer(&self) -> bool {
        self.due && self.answers >= 2 && self.answers <= self.repeats && self.answers * 2 > self.repeats
    }
}

/// What timers did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timers {
    /// Times that one ran out.
    pub(crate) timeouts: u64,
    /// The silence before, and that of RNR waits.
    pub(crate) stall: Nanos,
    /// Repeats that followed, where it is not known yet whether it was a timer.
    pub(crate) repeats: u64,
    /// Shortest time between two tries of the same request.
    pub(crate) spacing: Option<Nanos>,
    /// Times between tries of the same request grew.
    pub(crate) grow: bool,
    /// Shortest time that a request waited for its first repeat though the timer was running when it was sent.
    pub(crate) behind: Option<Nanos>,
}

/// Times between tries that are longer by this part, in percent, than the ones before grow (chosen: half of what a
/// timer that doubles adds, and more than one of a fixed length varies).
const GROWN: u64 = 50;

impl Timers {
    /// It ran out, and `run` began; `before` is the try before, which nothing has answered.
    pub(crate) fn ran_out(&mut self, run: &mut Run, before: Option<Run>) {
        run.since = before.map(|before| run.latest.at.since(before.latest.at));
        let last = before.and_then(|before| before.since);
        let grown = |(now, last): (Nanos, Nanos)| now.0 >= last.0.saturating_add(last.0 / 100 * GROWN);
        let grow = run.since.zip(last).is_some_and(grown);
        let behind = Some(run.waited).filter(|waited| waited.behind && before.is_none()).map(|waited| waited.time);
        self.add(Self { timeouts: 1, stall: run.stalled, repeats: 0, spacing: run.since, grow, behind });
    }

    pub(crate) fn add(&mut self, more: Self) {
        let sum = |a: Nanos, b: Nanos| Nanos(a.0.saturating_add(b.0));
        self.timeouts += more.timeouts;
        self.stall = sum(self.stall, more.stall);
        self.repeats += more.repeats;
        self.spacing = self.spacing.into_iter().chain(more.spacing).min();
        self.grow |= more.grow;
        self.behind = self.behind.into_iter().chain(more.behind).min();
    }
}

/// Repeats by cause.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Causes([u64; 5]);

impl Causes {
    pub(crate) fn count(&mut self, cause: Cause) {
        if let Some(n) = self.0.get_mut(cause as usize) {
            *n += 1;
        }
    }

    /// So many that were counted under one cause had another.
    pub(crate) fn correct(&mut self, from: Cause, to: Cause, many: u64) {
        let Some(n) = self.0.get_mut(from as usize) else { return };
        let many = many.min(*n);
        *n -= many;
        if let Some(n) = self.0.get_mut(to as usize) {
            *n += many;
        }
    }

    pub(crate) fn of(&self, cause: Cause) -> u64 {
        self.0.get(cause as usize).copied().unwrap_or(0)
    }
}

/// The transport timeout that fits what was seen: 4.096 us x 2^t (IBTA 9.7.6.1.3), the largest that is no longer.
/// The specification lets a requester take up to four times as long.
pub(crate) fn timeout_of(seen: Nanos) -> Option<Nanos> {
    const UNIT: u64 = 4_096;
    let steps = (seen.0 / UNIT).checked_ilog2()?;
    Some(Nanos(UNIT << steps.min(31)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_powers_of_two() {
        assert_eq!(timeout_of(Nanos(72_000_000)), Some(Nanos(67_108_864)));
        assert_eq!(timeout_of(Nanos(67_108_864)), Some(Nanos(67_108_864)));
        assert_eq!(timeout_of(Nanos(4_095)), None);
        assert_eq!(timeout_of(Nanos(u64::MAX)), Some(Nanos(4_096 << 31)));
    }

    #[test]
    fn a_correction_keeps_the_sum() {
        let mut causes = Causes::default();
        causes.count(Cause::Unknown);
        causes.correct(Cause::Unknown, Cause::Timeout, 5);
        assert_eq!((causes.of(Cause::Unknown), causes.of(Cause::Timeout)), (0, 1));
    }
}
