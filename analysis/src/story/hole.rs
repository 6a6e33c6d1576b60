//! A hole: PSNs that were skipped here, and what came of each of them.
//!
//! A sender that goes back sends everything again from the packet that was lost. So a skipped PSN that comes in runs of
//! repeats alone was lost, and one that comes outside of them, and more often than the sender went back, was only late.
//! Where packets come in another order than they were sent in, a late one that comes after its NAK looks like a repeat:
//! there, only one that came less often than the packet behind it was lost.

use rocetop_parsers::{Nanos, Psn};

use super::log::Mark;
use super::report::Cause;
use crate::event::FrameNo;

/// Requests after a hole was mended until it is judged: late copies of what was lost may still come. A switch that
/// holds back a packet for longer than its successors take to fill a 1 MiB buffer in 4 KiB packets is not known
/// (chosen: as many packets).
pub(super) const SETTLED: u32 = 256;

/// A sender that goes back sends packets one after the other. Where it learns from an acknowledgement that the hole was
/// filled, and begins behind it, that took a round trip; no more than this part of the time that the hole waited is
/// taken for "at once" (chosen).
const AT_ONCE: u64 = 4;

/// What comes at the same time as its NAK was on its way before, but where the clock of the capture may be no finer
/// than a way there and back: stamps that are multiples of 10 us tell nothing (chosen).
const COARSE: u64 = 10_000;

/// PSNs of one hole that are told apart. What a burst loses beyond this is counted as one with the last (chosen: 4 MiB
/// in 4 KiB packets).
const WIDEST: usize = 1024;

/// What came of a skipped PSN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing yet.
    #[default]
    Out,
    /// No request carries it: it lies inside of a READ's range.
    Covered,
    /// It came, in runs of repeats alone.
    Repeated,
    /// It came, as a repeat or late.
    Unsure,
    /// It came where nothing had asked for it.
    Late,
    /// It is older than what shows the hole: it was on its way, whatever else came.
    Older,
    /// It came when it had been acknowledged, at the beginning of a capture: it had passed before that began.
    Before,
}

/// One skipped PSN.
#[derive(Clone, Copy, Debug, Default)]
struct Skipped {
    fate: Fate,
    /// How often it came.
    times: u8,
    /// How often it came in one row with the packet behind the hole, which came again.
    rows: u8,
    /// It was stamped before the packet that overtook it.
    in_order: bool,
}

/// What proves that a skipped PSN was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    /// It came less often than the packet behind it, wherever the sender began.
    Count,
    /// It came as a repeat does. A late one may come just then, on a path that does not keep the order.
    Order,
}

/// Skipped PSNs.
#[derive(Clone, Debug)]
pub(crate) struct Hole {
    pub(crate) start: Psn,
    pub(crate) len: u32,
    /// The packet that skipped them.
    pub(crate) opened: Mark,
    /// They had been seen before: only a responder that drops what comes out of order misses them.
    pub(crate) seen_before: bool,
    /// They may have passed before the capture began, as parts of what a sender goes back to.
    pub(crate) early: bool,
    /// The same, and no answer can tell: the very first packet seen may be one that was sent again.
    pub(crate) unheard: bool,
    /// The NAK for it.
    pub(crate) nak: Option<Mark>,
    /// The first arrival.
    pub(crate) filled: Option<Mark>,
    /// Time of the latest arrival.
    pub(crate) latest: Nanos,
    /// Runs of repeats that came to it after it opened.
    restarts: u8,
    /// First packet of the last of them.
    restart: FrameNo,
    /// Why the sender went back: of the last of them that began before anything came.
    cause: Cause,
    /// One of its PSNs came alone, as it seems because it was asked for.
    pub(crate) alone: bool,
    /// How often the packet behind it, which skipped it, came again.
    again: u8,
    /// How often the sender may have sent that again, but not all of the hole: it was asked for from behind there on,
    /// or an acknowledgement of a part came first.
    asked_behind: u8,
    acked_inside: u8,
    /// The responder acknowledged all of it.
    pub(crate) acked: bool,
    /// What came of each.
    packets: Vec<Skipped>,
    /// Repeats of requests because of it.
    pub(crate) repeats: u32,
    /// Requests seen since it was whole.
    pub(crate) since: u32,
}

/// What a hole was, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) lost: u32,
    /// Lost where the path keeps the order, else lost or late.
    pub(crate) lost_if_in_order: u32,
    pub(crate) lost_or_late: u32,
    pub(crate) late: u32,
    /// Of the late ones, those in order by their stamps: only the file has them behind the packet that overtook them.
    pub(crate) in_order: u32,
    pub(crate) missed: u32,
    /// Missed by the capture, or from before it began.
    pub(crate) early: u32,
}

impl Hole {
    pub(crate) fn new(start: Psn, len: u32, opened: Mark, seen_before: bool) -> Self {
        Self {
            start,
            len,
            opened,
            seen_before,
            early: false,
            unheard: false,
            nak: None,
            filled: None,
            latest: Nanos::default(),
            restarts: 0,
            restart: FrameNo::default(),
            cause: Cause::Unknown,
            alone: false,
            again: 0,
            asked_behind: 0,
            acked_inside: 0,
            acked: false,
            packets: vec![Skipped::default(); (len as usize).min(WIDEST)],
            repeats: 0,
            since: 0,
        }
    }

    /// One PSN that had passed, or may have, when a NAK named it.
    pub(crate) fn named(psn: Psn, opened: Mark, nak: Mark) -> Self {
        Self { nak: Some(nak), ..Self::new(psn, 1, opened, true) }
    }

    /// A run of repeats that began with this packet comes to it.
    pub(crate) fn reached(&mut self, begun: Mark, cause: Cause) {
        if self.restart != begun.frame {
            self.restart = begun.frame;
            self.restarts = self.restarts.saturating_add(1);
            // Of several files that are given in any order, the numbers of frames tell no time.
            if self.filled.is_none_or(|filled| (begun.at, begun.frame) <= (filled.at, filled.frame)) {
                self.cause = cause;
            }
        }
    }

    /// The packet behind it came again.
    pub(crate) fn passed_again(&mut self, at: Nanos) {
        if let Some(filled) = self.filled.filter(|_| self.again != 0 || self.asked_behind == 0) {
            let waited = filled.at.since(self.nak.unwrap_or(self.opened).at);
            if at.since(self.latest).0 <= waited.0 / AT_ONCE {
                let came = self.packets.iter_mut().filter(|p| p.rows.checked_add(1) == Some(p.times));
                came.for_each(|p| p.rows = p.times);
            }
        }
        self.again = self.again.saturating_add(1);
    }

    /// The responder asks for `psn`, or has accepted all before it: the sender may begin there.
    pub(crate) fn wanted(&mut self, psn: Psn, asked: bool) {
        if psn - self.start > 0 && psn - self.end() <= 0 {
            let sum = if asked { &mut self.asked_behind } else { &mut self.acked_inside };
            *sum = sum.saturating_add(1);
        }
    }

    /// A timer ran out. Where the hole was filled in part it is not known where the sender begins; else no later than
    /// there.
    pub(crate) fn timed_out(&mut self) {
        if self.filled.is_some() {
            self.passed_over();
        }
    }

    /// The sender goes back because responses are missing, which may begin behind it.
    pub(crate) fn passed_over(&mut self) {
        self.asked_behind = self.asked_behind.saturating_add(1);
    }

    /// Why it was sent again, if it was.
    pub(crate) fn cause(&self) -> Option<Cause> {
        match self.nak {
            _ if self.restarts != 0 => Some(self.cause),
            Some(_) if self.repeats != 0 => Some(Cause::Nak),
            None if self.repeats != 0 => Some(Cause::Unknown),
            _ => None,
        }
    }

    pub(crate) fn end(&self) -> Psn {
        self.start + self.len
    }

    pub(crate) fn holds(&self, psn: Psn) -> bool {
        psn - self.start >= 0 && psn - self.end() < 0
    }

    /// The inside of a READ: no request carries these PSNs.
    pub(crate) fn cover(&mut self, from: Psn, to: Psn) {
        let first = (from - self.start).max(0).unsigned_abs() as usize;
        let end = (to - self.start + 1).max(0).unsigned_abs() as usize;
        for packet in self.packets.iter_mut().take(end).skip(first).filter(|p| p.fate == Fate::Out) {
            packet.fate = Fate::Covered;
        }
    }

    /// Whether no request is known to carry this PSN: it lies inside of a READ's range.
    pub(crate) fn is_covered(&self, psn: Psn) -> bool {
        self.packets.get(self.place(psn)).is_some_and(|p| p.fate == Fate::Covered)
    }

    /// One of its PSNs came. A repeat is never older than what asks for it, where the clock tells.
    pub(crate) fn arrive(&mut self, psn: Psn, mark: Mark, fate: Fate) {
        self.filled.get_or_insert(mark);
        self.latest = mark.at;
        // In a run of repeats it is one that somebody else asked for.
        let shown = if fate == Fate::Repeated { self.opened } else { self.nak.unwrap_or(self.opened) };
        // What had passed before may be a repeat that the NAK asked for, and the requester is near.
        let at_once = mark.at == shown.at && !mark.at.0.is_multiple_of(COARSE) && !self.seen_before;
        let older = mark.at < shown.at || at_once;
        let fate = if older { Fate::Older } else { fate };
        let in_order = mark.at < self.opened.at;
        let arrived = self.early && self.acked && self.nak.is_none();
        let Some(Skipped { fate: known, times, in_order: ahead, .. }) = self.packet(psn) else { return };
        *ahead |= in_order;
        *times = times.saturating_add(1);
        if arrived && matches!(known, Fate::Out | Fate::Covered) {
            *known = Fate::Before;
        }
        if *known == Fate::Before {
            return;
        }
        // What seemed to be the repeat may have been the late one, if a second comes that nobody is known to have asked
        // for.
        if matches!((*known, fate), (Fate::Out | Fate::Covered, _) | (_, Fate::Older) | (Fate::Repeated, Fate::Unsure))
            || *known != Fate::Older && fate == Fate::Late
        {
            *known = fate;
        }
    }

    /// It is known now what came before.
    pub(crate) fn settle(&mut self, psn: Psn, fate: Fate) {
        let surely = |fate| matches!(fate, Fate::Older | Fate::Before);
        let open = |p: &&mut Skipped| p.fate == Fate::Unsure || fate == Fate::Late && !surely(p.fate);
        if let Some(packet) = self.packet(psn).filter(open) {
            packet.fate = fate;
        }
    }

    /// What seemed to be late, up to `last`, may have been sent again.
    pub(crate) fn doubt(&mut self, last: Psn) {
        let count = (last - self.start + 1).max(0).unsigned_abs() as usize;
        for packet in self.packets.iter_mut().take(count).filter(|p| p.fate == Fate::Late) {
            packet.fate = Fate::Unsure;
        }
    }

    /// What seemed to be a run of repeats from `from` on was none.
    pub(crate) fn was_late(&mut self, from: Psn, to: Psn) {
        self.restarts = self.restarts.saturating_sub(1);
        let first = (from - self.start).max(0).unsigned_abs() as usize;
        let end = (to - self.start).max(0).unsigned_abs() as usize;
        for packet in self.packets.iter_mut().take(end).skip(first).filter(|p| p.fate == Fate::Repeated) {
            packet.fate = Fate::Late;
        }
    }

    /// Where a PSN stands: those beyond the widest are counted as one with the last.
    fn place(&self, psn: Psn) -> usize {
        let at = (psn - self.start).max(0).unsigned_abs() as usize;
        at.min(WIDEST - 1)
    }

    fn packet(&mut self, psn: Psn) -> Option<&mut Skipped> {
        let place = self.place(psn);
        self.packets.get_mut(place)
    }

    /// Whether `psn` is one of its own and has not come.
    pub(crate) fn lacks(&self, psn: Psn) -> bool {
        self.holds(psn) && self.packets.get(self.place(psn)).is_some_and(|p| p.fate == Fate::Out)
    }

    /// Whether nothing was heard of it: no PSN came, none was asked for, none was acknowledged.
    pub(crate) fn is_silent(&self) -> bool {
        let silent = self.nak.is_none() && self.filled.is_none() && !self.acked && !self.seen_before;
        silent && self.restarts == 0
    }

    /// Whether the responder never named any of it: it lay behind another hole, where all that comes is dropped. What
    /// the capture misses there looks like what the network lost.
    pub(crate) fn is_hidden(&self) -> bool {
        self.nak.is_none()
    }

    /// How many of its PSNs have not come.
    pub(crate) fn outs(&self) -> u32 {
        let lacks = |&(n, p): &(usize, &Skipped)| p.fate == Fate::Out && n + 1 != WIDEST;
        let told = self.packets.iter().enumerate().filter(lacks).count() as u32;
        // The last one stands for all that are not told apart.
        told + self.packets.get(WIDEST - 1).map_or(0, |_| self.len - WIDEST as u32 + 1)
    }

    /// Whether each of its PSNs has come.
    pub(crate) fn is_whole(&self) -> bool {
        self.packets.iter().all(|p| p.fate != Fate::Out)
    }

    /// Whether all of it was acknowledged though none was ever asked for.
    fn has_arrived(&self) -> bool {
        self.acked && self.nak.is_none() && !self.seen_before
    }

    /// What it was, by all that was seen. `answered` tells whether answers can be seen here at all.
    pub(crate) fn outcome(&self, answered: bool) -> Outcome {
        let mut outcome = Outcome::default();
        for (n, packet) in self.packets.iter().enumerate() {
            let late = outcome.late;
            // The last one stands for all that are not told apart.
            let weight = if n + 1 == WIDEST { self.len - n as u32 } else { 1 };
            let sum = match packet.fate {
                Fate::Covered => continue,
                Fate::Before => &mut outcome.early,
                Fate::Out | Fate::Unsure if self.unheard && self.nak.is_none() => &mut outcome.early,
                // What was from before the capture began is not sent again with the rest, where it had arrived.
                Fate::Out if self.has_arrived() && self.early => &mut outcome.early,
                Fate::Out if self.has_arrived() && self.restarts == 0 => &mut outcome.missed,
                Fate::Older => &mut outcome.late,
                // A sender that went back as often as it came may have sent all of them again.
                Fate::Late if answered && packet.times > self.restarts => &mut outcome.late,
                // Where no answer can be seen, a repeat looks like a late packet.
                Fate::Repeated if self.restarts != 0 && self.cause != Cause::Unknown && !self.seen_before => {
                    match self.proof(packet) {
                        Some(Proof::Count) => &mut outcome.lost,
                        Some(Proof::Order) => &mut outcome.lost_if_in_order,
                        None => &mut outcome.lost_or_late,
                    }
                }
                _ => &mut outcome.lost_or_late,
            };
            *sum = sum.saturating_add(weight);
            outcome.in_order += if packet.in_order && outcome.late != late { weight } else { 0 };
        }
        outcome
    }

    /// What proves that a packet was sent more often than it came. What is sent again from it on passes the packet
    /// behind the hole no more often than it comes itself.
    fn proof(&self, packet: &Skipped) -> Option<Proof> {
        let least = packet.times.saturating_add(self.asked_behind).saturating_add(self.acked_inside);
        let counted = self.again >= least;
        if counted && self.since > SETTLED {
            return Some(Proof::Count);
        }
        (counted || packet.rows == packet.times).then_some(Proof::Order)
    }
}

#[cfg(test)]
mod tests;
