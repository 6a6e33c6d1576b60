//! One direction between two hosts, as two taps saw it.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

use rocetop_parsers::{Addr, Psn, Qpn};

use super::clock::Differences;
use super::sight::{KINDS, Kind, Named, Sight};
use crate::event::FrameNo;

/// Frames named as examples, and outages listed: the longest (chosen: enough to look at).
pub(super) const LISTED: usize = 8;

/// A row of losses in one flow, without anything between that went through: stamps of the tap that saw them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    pub(super) qp: Qpn,
    pub(super) packets: u64,
    pub(super) last_through: Option<(i64, FrameNo)>,
    pub(super) first_lost: (i64, FrameNo),
    pub(super) last_lost: (i64, FrameNo),
    pub(super) first_through: Option<(i64, FrameNo)>,
}

impl Outage {
    /// A lone loss is told by its frame.
    fn is_row(&self) -> bool {
        self.packets > 1
    }
}

/// Where a flow stands: behind something that went through, or within a row of losses.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    through: Option<(i64, FrameNo)>,
    open: Option<Box<Outage>>,
}

impl Run {
    /// Whether nothing went through since a loss.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn lost(&mut self, sight: &Sight, qp: Qpn) {
        let here = (sight.at, sight.frame);
        let last_through = self.through;
        let run = self.open.get_or_insert_with(|| {
            Box::new(Outage { qp, packets: 0, last_through, first_lost: here, last_lost: here, first_through: None })
        });
        run.packets += 1;
        run.last_lost = here;
    }

    /// Something went through, which ends a row of losses.
    pub(super) fn through(&mut self, sight: &Sight) -> Option<Outage> {
        let here = (sight.at, sight.frame);
        self.through = Some(here);
        Some(Outage { first_through: Some(here), ..*self.open.take()? }).filter(Outage::is_row)
    }

    /// Nothing came any more.
    pub(super) fn end(&mut self) -> Option<Outage> {
        self.open.take().map(|open| *open).filter(Outage::is_row)
    }
}

/// Packets kept that may lie outside of what the other tap captured, until that is known (chosen: beyond it they are
/// only counted).
const HELD: usize = 1 << 12;

/// How many copies of a packet this tap saw, and the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copies {
    pub(super) here: usize,
    pub(super) there: usize,
    /// The first one that the other tap saw had been acknowledged before.
    pub(super) spurious: bool,
    /// The turn in which this tap saw the next copy.
    pub(super) next: u64,
}

/// A packet that only this tap saw.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) sight: Sight,
    pub(super) copies: Copies,
    /// When the other tap should have seen it, at the earliest and at the latest, by its own clock; `None` where
    /// nothing tells.
    pub(super) expected: Option<[i64; 2]>,
}

/// What one tap saw of a flow before, between or after what both saw, and what is not judged yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Edge {
    pub(super) held: Vec<Held>,
    /// Those beyond the held ones.
    pub(super) more: u64,
}

impl Edge {
    pub(super) fn add(&mut self, held: Held) {
        if !self.is_full() {
            self.held.push(held);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.held.len() >= HELD
    }

    pub(super) fn count(&self) -> u64 {
        self.held.len() as u64 + self.more
    }
}

/// What only one of two taps saw.
#[derive(Clone, Debug)]
pub(super) struct Only {
    /// By kind, of packets that the other tap saw no copy of.
    pub(super) absent: [u64; KINDS],
    /// By kind, of packets that the other tap saw fewer copies of.
    pub(super) spare: [u64; KINDS],
    /// Seen by no frame of the other tap, and yet delivered.
    pub(super) missed: u64,
    /// Lost ones of those whose delivery would show: requests and responses of reliable transports.
    pub(super) proven: u64,
    /// Those of them that a NAK named before they were sent again.
    pub(super) named: u64,
    /// Neither seen nor known to be lost: what would show whether they arrived is forgotten.
    pub(super) forgotten: u64,
    /// With a bad ICRC, so that no packet of the other tap could be recognised in it.
    pub(super) damaged: u64,
    /// Second sights of this tap itself, which a mirror made.
    pub(super) mirrored: u64,
    /// Before the other capture began or after it ended.
    pub(super) outside: u64,
    /// Flows that the other tap saw nothing of, and their packets.
    pub(super) unseen: [u64; 2],
    pub(super) first: Vec<FrameNo>,
    pub(super) outages: Vec<Outage>,
    pub(super) more_outages: u64,
}

/// The same, allocated where there is something to tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Alone(Option<Box<Only>>);

static NOTHING: Only = Only::nothing();

impl Deref for Alone {
    type Target = Only;

    fn deref(&self) -> &Only {
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for Alone {
    fn deref_mut(&mut self) -> &mut Only {
        self.0.get_or_insert_with(|| Box::new(Only::nothing()))
    }
}

impl Only {
    const fn nothing() -> Self {
        Self {
            absent: [0; KINDS],
            spare: [0; KINDS],
            missed: 0,
            proven: 0,
            named: 0,
            forgotten: 0,
            damaged: 0,
            mirrored: 0,
            outside: 0,
            unseen: [0; 2],
            first: Vec::new(),
            outages: Vec::new(),
            more_outages: 0,
        }
    }

    pub(super) fn sum(&self) -> u64 {
        self.absent.iter().chain(&self.spare).sum()
    }

    /// `named`: a NAK says so.
    pub(super) fn lost(&mut self, sight: &Sight, others: usize, named: bool) {
        self.proven += u64::from(sight.shows());
        self.named += u64::from(named);
        let kinds = if others == 0 { &mut self.absent } else { &mut self.spare };
        if let Some(count) = kinds.get_mut(sight.kind as usize) {
            *count += 1;
        }
        let at = self.first.partition_point(|&frame| frame < sight.frame);
        if at < LISTED {
            self.first.insert(at, sight.frame);
            self.first.truncate(LISTED);
        }
    }

    pub(super) fn outage(&mut self, outage: Outage) {
        let longest = |o: &Outage| std::cmp::Reverse((o.packets, o.last_lost.0 - o.first_lost.0));
        let at = self.outages.partition_point(|o| longest(o) <= longest(&outage));
        self.outages.insert(at, outage);
        self.more_outages += u64::from(self.outages.len() > LISTED);
        self.outages.truncate(LISTED);
    }

    /// Packets of one kind that the other tap saw no copy of.
    pub(super) fn absent_of(&self, kind: Kind) -> u64 {
        self.absent.get(kind as usize).copied().unwrap_or_default()
    }

    /// Of both counts, those of one kind.
    pub(super) fn of(&self, kind: Kind) -> u64 {
        let at = |counts: &[u64; KINDS]| counts.get(kind as usize).copied().unwrap_or_default();
        at(&self.absent) + at(&self.spare)
    }
}

/// One direction.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) src: Addr,
    pub(super) dst: Addr,
    /// Packets that both saw.
    pub(super) through: u64,
    /// Those of them whose delivery shows anyhow.
    pub(super) shown: u64,
    /// Those of the same kinds of which there were several copies.
    pub(super) again: u64,
    /// Of them at each tap, those that a NAK named before they were sent again: they were late, and not lost.
    pub(super) late: [u64; 2],
    /// What NAKs of this direction named: how, the PSN, the turn of the NAK and the flow that it is of.
    pub(super) named: BTreeSet<(Named, u32, u64, usize)>,
    /// Second stamp less first, of packets that leave no doubt which copy is which.
    pub(super) differences: Differences,
    /// Of packets that both saw: those whose TTL was higher at this tap.
    pub(super) fresher: [u64; 2],
    /// Those marked CE at the other tap only.
    pub(super) marked: [u64; 2],
    /// Those damaged at the other tap only.
    pub(super) damaged: [u64; 2],
    /// Those that the other tap saw behind one that this tap saw later, of packets that leave no doubt which copy is
    /// which.
    pub(super) reordered: [u64; 2],
    pub(super) alone: [Alone; 2],
    /// Whether requests and responses come twice at each tap, from two places; `None` where none is settled.
    pub(super) mirrored: [Option<bool>; 2],
    /// Flows of this direction, by index.
    pub(super) windows: Vec<usize>,
}

/// NAKs kept of one direction (chosen: bounds the memory; what more of them say stays in doubt).
const NAMED: usize = 1 << 16;
/// CE in the IP header's ECN field (RFC 3168).
const CE: u8 = 3;

impl Way {
    pub(super) fn new(src: Addr, dst: Addr) -> Self {
        Self {
            src,
            dst,
            through: 0,
            shown: 0,
            again: 0,
            late: [0; 2],
            named: BTreeSet::new(),
            differences: Differences::default(),
            fresher: [0; 2],
            marked: [0; 2],
            damaged: [0; 2],
            reordered: [0; 2],
            alone: Default::default(),
            mirrored: [None; 2],
            windows: Vec::new(),
        }
    }

    /// A NAK of flow `index` named a PSN.
    pub(super) fn names(&mut self, (how, psn): (Named, Psn), turn: u64, index: usize) {
        if self.named.len() < NAMED {
            self.named.insert((how, psn.get(), turn, index));
        }
    }

    /// Counts what overtook what: a packet is late that comes behind one that was sent after it (RFC 4737, 3.3).
    /// `front`: of one flow's packets that both saw, the latest turn at each tap; `both`: the turns of more of them.
    pub(super) fn count_reordered(&mut self, front: &mut [u64; 2], mut both: Vec<(u64, u64)>) {
        let late = |front: &mut u64, turn: u64| {
            let late = turn < *front;
            *front = turn.max(*front);
            u64::from(late)
        };
        both.sort_unstable_by_key(|b| b.1);
        self.reordered[0] += both.iter().map(|b| late(&mut front[0], b.0)).sum::<u64>();
        both.sort_unstable_by_key(|b| b.0);
        self.reordered[1] += both.iter().map(|b| late(&mut front[1], b.1)).sum::<u64>();
    }

    /// A packet that both saw, alone or with copies that were sent `again`: of these, one that is missing hardly shows.
    pub(super) fn through(&mut self, first: &Sight, second: &Sight, again: bool) {
        self.through += 1;
        self.shown += u64::from(first.shows() && !again);
        self.again += u64::from(first.shows() && again);
        let each = |counts: &mut [u64; 2], at_first: bool, at_second: bool| {
            counts[0] += u64::from(at_first && !at_second);
            counts[1] += u64::from(at_second && !at_first);
        };
        each(&mut self.fresher, first.ttl > second.ttl, second.ttl > first.ttl);
        each(&mut self.marked, second.ecn == CE, first.ecn == CE);
        each(&mut self.damaged, second.damaged, first.damaged);
    }
}
