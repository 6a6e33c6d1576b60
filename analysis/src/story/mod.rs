//! What happened to the requests of one flow, and why: where the tap stood, what was lost, late, repeated and answered.
//!
//! A story belongs to the flow that carries the requests; what answers them arrives on its peer. It begins with a
//! flow's second packet or its first answer, and takes what each packet says once: a request's PSN and whether that had
//! been seen, an answer's syndrome. Two frontiers: the highest PSN seen, which the flow keeps, and `epsn`,
//! what a responder standing here would accept next, which is kept here.

mod answers;
mod build;
mod crowd;
mod histogram;
mod hole;
mod latency;
mod log;
mod owed;
mod progress;
mod rare;
mod requests;
mod restart;
mod run;
mod sizes;
mod times;

pub mod report;

use std::collections::VecDeque;

use rocetop_parsers::ib::aeth::Aeth;
use rocetop_parsers::{Nanos, Psn};

pub use report::StoryReport;

use crate::event::FrameNo;
use crate::flow::copies::Identity;
use crate::flow::mirror::Identified;

pub(crate) use self::build::{Around, hops};
use self::crowd::Crowd;
use self::histogram::Histogram;
use self::hole::{Hole, Outcome, SETTLED};
use self::latency::Latency;
pub(crate) use self::latency::Stamp;
pub(crate) use self::log::Mark;
use self::log::{Episode, Log, Place};
use self::owed::Owed;
pub(crate) use self::owed::{Response, Standing};
use self::progress::Progress;
use self::rare::Rare;
use self::report::Kind;
use self::run::{Asked, Causes, Run, Timers};
pub(crate) use self::sizes::Part;
use self::sizes::Sizes;
pub(crate) use self::times::Times;

/// Holes that are told apart at once; of more, the oldest is judged as it stands, if anything was heard of it
/// (chosen: a queue that overflows drops in rows, and each row is one).
const HOLES: usize = 64;
/// The shortest timer: 4.096 us x 2^1, as 0 means none (IBTA 9.7.6.1.3).
const SHORTEST_TIMER: Nanos = Nanos(8_192);
/// A repeat that comes sooner than this after the packet before is no timer's, where the round trip is not known: no
/// NIC's timer is shorter than a few of 4.096 us (chosen: five of these).
const NO_TIMER: Nanos = Nanos(20_000);

/// A silence shorter than this is no timer's where a NAK is on its way: timers run from a millisecond (4.096 us x 2^8),
/// and a NAK takes less but for the longest ways (chosen: half of that).
const PATIENCE: Nanos = Nanos(500_000);

/// Where the answer to a READ or atomic passed, and it is asked for again after a shorter silence than this, a timer is
/// one guess of several: 4.096 us x 2^9 (IBTA 9.7.6.1.3; chosen: below Soft-RoCE's timers, which count ticks of the
/// kernel, mostly of 4 ms).
const SURELY_TIMER: Nanos = Nanos(2_097_152);

/// After a shorter silence than this, what comes below the frontier is no timer's: 4.096 us x 2^5. Timers may be
/// shorter, but are not where a NAK has time to come (chosen).
const LEAST_TIMER: Nanos = Nanos(131_072);

/// No way there and back is longer: the longest RoCE path that is published, 3,000 km, takes 30 ms at the speed of
/// light in fibre (chosen: a third more). What comes later than this after
/// the NAK that names it is a timer's, where no NAK was ever seen to be heeded.
const LONGEST_WAY: Nanos = Nanos(40_000_000);

/// A NAK is heeded within so many times what others took, and answered within so many ways, unless it was lost (chosen:
/// hosts and queues that are busy take several times as long, timers a multiple of that).
const HEEDED: u64 = 8;
const WAYS: u64 = 3;

/// Answers in a row to requests that were seen here, from which on it is known that nothing ahead of them had passed
/// before the capture began (chosen: a sender that sends only what is missing gets as many where neighbours were lost).
const KNOWN: u8 = 4;

/// Requests remembered by what they were (chosen: those of another life that sends as many messages as the one before
/// come to its last ones before anything else tells).
const LATEST: usize = 4;

/// What the stories of an engine share.
pub(crate) struct Telling<'a> {
    /// Whether stories are told at all.
    pub(crate) on: bool,
    /// Times of all messages.
    pub(crate) messages: &'a mut Times,
    /// Episodes that may still be kept in this shard beyond each flow's own few.
    pub(crate) room: &'a mut u32,
    /// The connection is in focus: its times are kept to a hundredth.
    pub(crate) closely: bool,
}

/// How a request stands against what had been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// At the frontier, after this many PSNs that were skipped.
    New(u32),
    /// Below it, for the first time.
    First,
    /// Inside of an earlier READ's range, for the first time: what is left of that READ, asked for again, as it seems.
    Rest,
    /// Its PSN had been seen.
    Again,
}

/// A request, as a story needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) mark: Mark,
    pub(crate) psn: Psn,
    /// Its last PSN, and what it starts and ends.
    pub(crate) stamp: Stamp,
    pub(crate) sight: Sight,
    pub(crate) read: bool,
    pub(crate) atomic: bool,
    /// The same packet as the one before it, at once.
    pub(crate) twin: bool,
    /// Answers can be seen here: the other direction is known.
    pub(crate) answered: bool,
    /// Answers are given, seen or not.
    pub(crate) reliable: bool,
}

impl Request {
    /// PSNs that it takes.
    fn span(&self) -> u32 {
        (self.stamp.psn + 1 - self.psn).max(0).unsigned_abs()
    }
}

/// An answer, as a story needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// All up to this PSN is acknowledged.
    Ack(Psn),
    /// This PSN was due and another one came.
    Nak(Psn),
    /// The receiver was not ready for this PSN; it is to be sent again after this many microseconds.
    Rnr(Psn, u32),
    /// The request with this PSN failed for good.
    Fatal(Psn),
    /// A READ or atomic response.
    Response(Response),
}

impl Answer {
    /// The PSN that the responder wants next, and whether it asks for it to be sent again.
    fn wants(self) -> (Psn, bool) {
        match self {
            Self::Ack(psn) | Self::Response(Response { psn, .. }) => (psn + 1, false),
            Self::Nak(psn) | Self::Rnr(psn, _) | Self::Fatal(psn) => (psn, true),
        }
    }
}

/// Packets that were lost, and those that were if the path keeps the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lost {
    lost: u32,
    if_in_order: u32,
}

/// Sums.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    holes: Outcome,
    /// Of the lost ones, those of holes that no NAK named.
    hidden: Lost,
    /// Lost or late behind the tap: one for each NAK about a PSN that had passed here.
    behind: u64,
    /// Late behind the tap: acknowledged before it could be sent again.
    late_behind: u64,
    duplicated: u64,
    acks_lost: u64,
    rnr_waits: u64,
    naks_unseen: u64,
    naks_seen: u64,
    naks_repeated: u64,
    restarts_elsewhere: u64,
    /// Restarts that a NAK had asked for, those of them that sent only what was missing, and those that went on.
    restarts: u64,
    selective: u64,
    went_on: u64,
}

/// The story of one flow's requests.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    /// What a responder standing here would accept next.
    epsn: Psn,
    /// The first PSN.
    start: Psn,
    /// What came instead of it: until it comes, everything else is dropped there.
    ahead: Option<Box<Ahead>>,
    /// What may have been dropped there while it waited ends here.
    doubt: Option<Psn>,
    /// What would follow the last request.
    last_end: Psn,
    /// What would follow the highest.
    top: Psn,
    last_request: Mark,
    last_answer: Mark,
    /// The longest time before a request in which neither a request nor an answer came by, and that request.
    quiet: (Nanos, FrameNo),
    /// When an answer said something new: another answer to what came twice keeps no timer from running.
    heard: Nanos,
    /// Highest PSN acknowledged.
    acked: Option<Psn>,
    /// Answers in a row to what was seen here, up to [`KNOWN`].
    known: u8,
    holes: Rare<VecDeque<Hole>>,
    /// Answers that ask for a repeat and were not heeded yet.
    asked: Rare<VecDeque<Asked>>,
    /// What went wrong; nothing, for most.
    trouble: Rare<Trouble>,
    latency: Latency,
    nak_times: Rare<NakTimes>,
    progress: Progress,
    sizes: Sizes,
    /// The latest requests, each at the place of its PSN.
    latest: [Identity; LATEST],
    log: Rare<Log>,
}

/// What a story needs only where something went wrong.
#[derive(Clone, Debug, Default)]
struct Trouble {
    /// A NAK about what had passed the tap, until it is acknowledged.
    behind: Option<Asked>,
    /// What it is about came by again since.
    behind_again: bool,
    /// The PSN of a NAK that was heeded, as it seems, only from a later packet on; and that packet.
    beyond: Option<(Psn, FrameNo)>,
    run: Run,
    /// A NAK about what came late after all, until it is heeded; and the episode that tells it.
    late: Option<(Psn, Place)>,
    /// What the run before sent again: its first PSN, the one behind its last, and when it ended.
    before: (Psn, Psn, Nanos),
    /// The longest time from a repeat to another answer that was one too many: no answer comes sooner after the repeat
    /// that it belongs to, so the way there and back is no shorter.
    least_trip: Nanos,
    /// It filled a hole, and what follows tells whether it was a repeat.
    lone: Option<Request>,
    /// Responses that were due and did not come.
    owed: Owed,
    timers: Timers,
    rnr_timer_us: Option<u32>,
    causes: Causes,
    /// What a timer seems to have done before any answer was seen.
    unheard: Timers,
    /// Holes that are too many.
    crowd: Crowd,
    sums: Sums,
}

/// A packet that came too early.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    mark: Mark,
    /// It came in a run of repeats.
    again: bool,
}

/// How fast NAKs come and are heeded.
#[derive(Clone, Debug, Default)]
struct NakTimes {
    generation: Histogram,
    reaction: Histogram,
}

impl Story {
    /// The story of a flow whose first request was this.
    pub(crate) fn starting(first: Stamp, identity: Identity, frame: Mark, closely: bool) -> Self {
        let mut latency = Latency::measuring(closely);
        latency.sent(first);
        Self {
            epsn: first.psn + 1,
            start: first.psn,
            ahead: None,
            last_end: first.psn + 1,
            top: first.psn + 1,
            last_request: frame,
            last_answer: Mark::default(),
            quiet: (Nanos(0), FrameNo::default()),
            heard: Nanos(0),
            acked: None,
            known: 0,
            holes: Rare::default(),
            asked: Rare::default(),
            doubt: None,
            trouble: Rare::default(),
            latency,
            nak_times: Rare::default(),
            progress: Progress::default(),
            sizes: Sizes::default(),
            // Of all places but its own, its PSN is another one.
            latest: [identity; LATEST],
            log: Rare::default(),
        }
    }

    /// A request that had not been seen says something of its message's size.
    #[inline(always)]
    pub(crate) fn measure(&mut self, psn: Psn, part: Part) {
        self.sizes.add(psn, part);
    }

    /// What a request was that had not been seen.
    #[inline(always)]
    pub(crate) fn remember(&mut self, identity: Identity) {
        if let Some(place) = self.latest.get_mut(identity.psn().get() as usize % LATEST) {
            *place = identity;
        }
    }

    /// The request that had this PSN, if it is remembered.
    pub(crate) fn remembered(&self, psn: Psn) -> Option<Identity> {
        self.latest.get(psn.get() as usize % LATEST).copied().filter(|known| known.psn() == psn)
    }

    /// The READ at `psn`, the latest request, ends with `last`, as it shows only now.
    pub(crate) fn stretch(&mut self, psn: Psn, last: Psn) {
        self.latency.stretch(psn, last);
    }

    /// Whether it is known that nothing ahead of what is missing here had passed before the capture began.
    #[inline(always)]
    pub(crate) fn knows_its_start(&self) -> bool {
        self.known >= KNOWN
    }

    /// An answer has come, and `messages` were seen here. A responder counts the messages of a queue pair from 0 (IBTA
    /// 9.7.7): where it has come no further than those that it has answered, and one for each hole among them (what a
    /// busy capture misses are single packets), this is where they begin.
    #[cold]
    pub(crate) fn counts_from(&mut self, messages: u64) {
        if self.acked.is_none_or(|acked| acked - self.start < 0) {
            return;
        }
        let Some((msn, out)) = self.msn().zip(self.latency.messages_out()) else { return };
        let missing = self.holes.iter().filter(|h| h.acked).count() as u64;
        if u64::from(msn.get()) <= messages.saturating_sub(out) + missing {
            self.known = KNOWN;
            self.holes.iter_mut().for_each(|h| h.early = false);
        }
    }

    /// The highest MSN that the responder has told; `None` before it told any.
    pub(crate) fn msn(&self) -> Option<Psn> {
        self.progress.msn()
    }

    /// Whether an answer showed that `psn` had arrived.
    pub(crate) fn has_acknowledged(&self, psn: Psn) -> bool {
        self.acked.is_some_and(|acked| acked - psn >= 0)
    }

    /// What the AETH of an answer says of the responder.
    #[inline(always)]
    pub(crate) fn progressed(&mut self, aeth: Aeth) {
        self.progress.answered(aeth);
    }

    /// Whether no run of repeats is under way.
    #[inline(always)]
    fn is_calm(&self) -> bool {
        self.trouble.is_none() || !self.trouble.run.sending
    }

    /// Time since anything was heard of this flow: what a timer of the requester would have run at least.
    fn quiet(&self, now: Nanos) -> Nanos {
        now.since(Nanos(self.last_request.at.0.max(self.heard.0)))
    }

    /// Whether a repeat now comes sooner than an answer could have asked for it, or any timer.
    fn too_soon(&self, now: Nanos) -> bool {
        let least = self.latency.rtt_range().map_or(NO_TIMER, |(min, _)| SHORTEST_TIMER.max(Nanos(min.0 / 2)));
        self.quiet(now) < least
    }

    /// Whether so much time has passed that only a timer can have done it, though a NAK is on its way. The way there
    /// and back that is seen at the responder's end is not the one that a NAK and what it asks for take.
    fn overdue(&self, now: Nanos) -> bool {
        // The shortest: a NAK that was lost on its way is heeded by the timer, as it seems.
        let heeded = self.nak_times.reaction.min().unwrap_or_default();
        self.quiet(now) > self.patience(heeded)
    }

    /// How long it takes at most until a NAK is heeded, where others were within that time.
    fn patience(&self, heeded: Nanos) -> Nanos {
        let way = self.latency.rtt_range().map_or(Nanos(0), |(_, max)| max);
        Nanos(PATIENCE.0.max(heeded.0.saturating_mul(HEEDED)).max(way.0.saturating_mul(WAYS)))
    }

    /// Judges the holes that were mended long enough ago, and the oldest of too many.
    fn settle(&mut self, request: &Request, room: &mut u32) {
        let answered = request.answered;
        while let Some(oldest) = self.holes.front()
            && (oldest.since > SETTLED || self.holes.len() > HOLES)
        {
            let Some(hole) = self.holes.pop_front() else { return };
            if request.reliable && hole.is_silent() {
                self.trouble.crowd.add(&hole);
                continue;
            }
            self.trouble.sums.judge(&hole, answered);
            for episode in episodes_of(&hole, answered) {
                self.log.add(episode, room);
            }
        }
    }
}

impl Sums {
    /// Adds what a hole was.
    fn judge(&mut self, hole: &Hole, answered: bool) {
        let outcome = hole.outcome(answered);
        let Outcome { lost, lost_if_in_order, .. } = outcome;
        self.holes = add(self.holes, outcome);
        if hole.is_hidden() {
            self.hidden.lost = self.hidden.lost.saturating_add(lost);
            self.hidden.if_in_order = self.hidden.if_in_order.saturating_add(lost_if_in_order);
        }
    }
}

fn add(a: Outcome, b: Outcome) -> Outcome {
    Outcome {
        // Damaged PSNs can jump by half of all there are, again and again.
        lost: a.lost.saturating_add(b.lost),
        lost_if_in_order: a.lost_if_in_order.saturating_add(b.lost_if_in_order),
        lost_or_late: a.lost_or_late.saturating_add(b.lost_or_late),
        late: a.late.saturating_add(b.late),
        in_order: a.in_order.saturating_add(b.in_order),
        missed: a.missed.saturating_add(b.missed),
        early: a.early.saturating_add(b.early),
    }
}

/// What a hole was, as episodes: of each kind that it holds, one.
fn episodes_of(hole: &Hole, answered: bool) -> impl Iterator<Item = Episode> {
    let outcome = hole.outcome(answered);
    let base = Episode::new(Kind::LostBeforeTap, hole.cause(), hole.start, hole.start + (hole.len - 1));
    let base = base.at(Some(hole.opened)).at(hole.nak).at(hole.filled).behind_another(hole.is_hidden());
    let kinds = [
        (base, outcome.lost),
        (base.if_in_order(), outcome.lost_if_in_order),
        (base.of(Kind::LostOrLate), outcome.lost_or_late),
        (base.of(Kind::Reordered), outcome.late),
        (base.of(Kind::MissedByCapture), outcome.missed),
    ];
    // The repeats belong to the hole as a whole: they are told once, with the kind that comes first.
    let mut repeats = hole.repeats;
    let kinds = kinds.into_iter().filter(|&(_, n)| n != 0);
    kinds.map(move |(episode, packets)| episode.counting(packets, std::mem::take(&mut repeats)))
}
