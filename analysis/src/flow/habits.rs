//! What a sender's requests look like over time: the patterns of collective libraries, the pace of large messages, and
//! whether it slows down when it is told to. A flow without any of that keeps none of this.

use std::collections::VecDeque;

use rocetop_parsers::facts::Flags;
use rocetop_parsers::ib::opcode::{Operation, Traits};
use rocetop_parsers::{Bytes, Facts, Nanos};
use serde::Serialize;

use crate::event::{FrameNo, Packet};
use crate::report::FrameRef;

/// Size of a clear-to-send slot: NCCL's `struct ncclIbSendFifo` is one of 64 bytes for each receive (net_ib.cc).
const SLOT: u32 = 64;
/// Slots that wait for their message at most; beyond that the oldest is forgotten. NCCL has at most 32 receives out for
/// a connection (net.h, NCCL_NET_MAX_REQUESTS).
const SLOTS: usize = 64;
/// Messages of this size and more count as steps of a pipeline: NCCL cuts its 4 MiB buffer into eight slices, and the
/// report of 13 GB/s on a 49 GB/s link had steps of 128 KiB.
const STEP: u32 = 64 * 1024;
/// A gap of a pipeline, from the end of a step to the start of the next: the report had 10-12 us. Shorter ones are a
/// NIC's own pace, longer ones are compute or waiting.
const GAP: std::ops::RangeInclusive<u64> = 5_000..=50_000;

/// CNPs that belong together: the next one comes within this time. The receiver sends one at most every 50 us while
/// marked packets arrive (DCQCN, SIGCOMM 2015, section 3.2), so twice that has lost one at most.
const TOGETHER: Nanos = Nanos(100_000);
/// Intervals between CNPs at the start and at the end of a train whose rates are compared (chosen: enough to even out a
/// pause, few beside the hundred of a train).
const COMPARED: usize = 10;
/// A train long enough to judge by. With each CNP at g = 1/256 alpha grows from 0 at worst as n/256 and the rate
/// falls by alpha/2 (DCQCN section 3.1): after 100 of them to exp(-100 * 100 / 2 / 512), below a thousandth; no timer
/// raises it meanwhile, since each CNP starts the timers anew.
const LONG: u64 = 100;

/// CNPs in a row, and what their target sent meanwhile.
#[derive(Clone, Debug, Default)]
struct Train {
    count: u64,
    first: FrameNo,
    last: FrameNo,
    last_at: Nanos,
    /// Time and bytes sent so far at the first of them.
    begin: (Nanos, Bytes),
    /// The same after the intervals that count as its start.
    early: (Nanos, Bytes),
    /// The same at the latest of them, as a ring.
    latest: [(Nanos, Bytes); COMPARED],
}

/// Rates at the start and the end of long trains, summed.
#[derive(Clone, Copy, Debug, Default)]
struct Judged {
    trains: u64,
    cnps: u64,
    early: (Nanos, Bytes),
    late: (Nanos, Bytes),
    first: FrameNo,
    last: FrameNo,
}

/// What became of each clear-to-send slot: the first message follows the first slot, and so on.
#[derive(Clone, Debug, Default)]
struct Admission {
    /// When the peer's slots came that no message has followed yet.
    waiting: VecDeque<Nanos>,
    answered: u64,
    delay: Nanos,
    longest: Nanos,
}

/// The habits of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Habits {
    /// 0-byte WRITEs with immediate just after the end of a WRITE of several packets, and all others.
    notices: u64,
    empty: u64,
    first_empty: FrameNo,
    last_empty: FrameNo,
    slots: u64,
    first_slot: FrameNo,
    last_slot: FrameNo,
    admission: Admission,
    steps: u64,
    step_bytes: Bytes,
    gaps: Nanos,
    first_step: FrameNo,
    last_step: FrameNo,
    train: Train,
    judged: Judged,
}

/// Whether a message of this kind starts here that is worth a closer look, `gap` after the packet before it.
#[inline(always)]
pub(crate) fn notable(facts: &Facts, traits: Traits, gap: Nanos) -> bool {
    is_slot(facts) || is_empty(facts) || is_step(facts, traits) && GAP.contains(&gap.0)
}

/// A WRITE that may be a clear-to-send slot.
#[inline(always)]
pub(crate) fn is_slot(facts: &Facts) -> bool {
    facts.payload == SLOT && facts.opcode.operation() == Operation::WRITE_ONLY
}

fn is_empty(facts: &Facts) -> bool {
    facts.payload == 0 && facts.opcode.operation() == Operation::WRITE_ONLY_IMM && facts.flags.has(Flags::EXTENDED)
}

fn is_step(facts: &Facts, traits: Traits) -> bool {
    facts.dma_len >= STEP && !traits.has(Traits::ENDS) && facts.flags.has(Flags::EXTENDED)
}

fn span(first: &mut FrameNo, last: &mut FrameNo, packet: &Packet) {
    if *first == FrameNo::default() {
        *first = packet.frame;
    }
    *last = packet.frame;
}

impl Habits {
    /// A new message starts, `gap` after the packet before it, which ended a WRITE of several packets or not.
    pub(crate) fn message(&mut self, packet: &Packet, traits: Traits, gap: Nanos, after_write: bool) {
        let facts = &packet.facts;
        if is_empty(facts) {
            if after_write {
                self.notices += 1;
            } else {
                self.empty += 1;
            }
            span(&mut self.first_empty, &mut self.last_empty, packet);
        } else if is_slot(facts) {
            self.slots += 1;
            span(&mut self.first_slot, &mut self.last_slot, packet);
        }
        // What only says that the message before is complete needs no leave of its own.
        let part = is_slot(facts) || is_empty(facts) && after_write;
        if !part && let Some(came) = self.admission.waiting.pop_front() {
            let delay = packet.at.since(came);
            self.admission.answered += 1;
            self.admission.delay = Nanos(self.admission.delay.0 + delay.0);
            self.admission.longest = self.admission.longest.max(delay);
        }
        if is_step(facts, traits) && GAP.contains(&gap.0) {
            self.steps += 1;
            self.step_bytes += Bytes(u64::from(facts.dma_len));
            self.gaps = Nanos(self.gaps.0 + gap.0);
            span(&mut self.first_step, &mut self.last_step, packet);
        }
    }

    /// The peer gave leave to send.
    pub(crate) fn cleared(&mut self, at: Nanos) {
        if self.admission.waiting.len() == SLOTS {
            self.admission.waiting.pop_front();
        }
        self.admission.waiting.push_back(at);
    }

    /// A notification for this sender, which has sent so many bytes by now.
    pub(crate) fn notified(&mut self, packet: &Packet, sent: Bytes) {
        let now = (packet.at, sent);
        if self.train.count == 0 || packet.at.since(self.train.last_at) > TOGETHER {
            self.judge();
            self.train = Train { first: packet.frame, begin: now, ..Train::default() };
        }
        let train = &mut self.train;
        train.count += 1;
        (train.last, train.last_at) = (packet.frame, packet.at);
        if train.count == COMPARED as u64 + 1 {
            train.early = now;
        }
        train.latest.rotate_left(1);
        if let Some(latest) = train.latest.last_mut() {
            *latest = now;
        }
    }

    fn judge(&mut self) {
        self.judged = self.judged_so_far();
    }

    fn judged_so_far(&self) -> Judged {
        let (train, mut judged) = (&self.train, self.judged);
        if train.count < LONG {
            return judged;
        }
        let add = |sum: &mut (Nanos, Bytes), from: (Nanos, Bytes), to: (Nanos, Bytes)| {
            *sum = (Nanos(sum.0.0 + to.0.since(from.0).0), Bytes(sum.1.0 + to.1.0.saturating_sub(from.1.0)));
        };
        add(&mut judged.early, train.begin, train.early);
        if let (Some(&from), Some(&to)) = (train.latest.first(), train.latest.last()) {
            add(&mut judged.late, from, to);
        }
        judged.first = if judged.trains == 0 { train.first } else { judged.first };
        judged.last = train.last;
        judged.trains += 1;
        judged.cnps += train.count;
        judged
    }

    /// In the shape of the report.
    pub(crate) fn report(&self, frame: &dyn Fn(FrameNo) -> FrameRef) -> HabitsReport {
        let frames = |first: FrameNo, last: FrameNo| {
            let seen = first != FrameNo::default();
            let mut frames: Vec<FrameRef> = [first, last].into_iter().filter(|_| seen).map(frame).collect();
            frames.dedup();
            frames
        };
        let judged = self.judged_so_far();
        let rate = |(time, bytes): (Nanos, Bytes)| (time.0 != 0).then(|| bytes.0.saturating_mul(8_000) / time.0);
        let (early, late) = (rate(judged.early), rate(judged.late));
        let reaction = early.zip(late).filter(|_| judged.trains != 0).map(|(early, late)| ReactionReport {
            trains: judged.trains,
            cnps: judged.cnps,
            early_mbps: early,
            late_mbps: late,
            frames: frames(judged.first, judged.last),
        });
        HabitsReport {
            notices: self.notices,
            empty_writes: self.empty,
            empty_frames: frames(self.first_empty, self.last_empty),
            slots: self.slots,
            slot_frames: frames(self.first_slot, self.last_slot),
            cleared: self.admission.answered,
            cleared_mean_ns: self.admission.delay.0.checked_div(self.admission.answered),
            cleared_max_ns: (self.admission.answered != 0).then_some(self.admission.longest.0),
            steps: self.steps,
            step_bytes: self.step_bytes.0,
            step_gap_ns: self.gaps.0,
            step_frames: frames(self.first_step, self.last_step),
            reaction,
        }
    }
}

/// What a sender's requests look like over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HabitsReport {
    /// 0-byte WRITEs with immediate, each just after the end of a WRITE of several packets.
    pub notices: u64,
    /// Other 0-byte WRITEs with immediate.
    pub empty_writes: u64,
    /// First and last of both.
    pub empty_frames: Vec<FrameRef>,
    /// WRITE Only requests of 64 bytes: the size of a clear-to-send slot.
    pub slots: u64,
    /// First and last of them.
    pub slot_frames: Vec<FrameRef>,
    /// Messages of this flow that followed such a slot of the peer's, one each.
    pub cleared: u64,
    /// Mean time from the slot to the message.
    pub cleared_mean_ns: Option<u64>,
    /// The longest.
    pub cleared_max_ns: Option<u64>,
    /// Messages of 64 KiB and more that began 5 to 50 us after the packet before them.
    pub steps: u64,
    /// Their bytes.
    pub step_bytes: u64,
    /// Sum of these gaps.
    pub step_gap_ns: u64,
    /// First and last of them.
    pub step_frames: Vec<FrameRef>,
    /// How the sender reacted to notifications; `None` where there were not enough of them in a row to judge.
    pub reaction: Option<ReactionReport>,
}

/// The rate of a sender in long trains of CNPs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReactionReport {
    /// Trains of a hundred CNPs and more, each within 100 us of the one before.
    pub trains: u64,
    /// CNPs in them.
    pub cnps: u64,
    /// Rate over the first ten intervals between CNPs, in Mb/s.
    pub early_mbps: u64,
    /// Rate over the last ones.
    pub late_mbps: u64,
    /// First and last CNP.
    pub frames: Vec<FrameRef>,
}
