//! Holes too many to be told apart, until an answer tells what they were.
//!
//! A capture that misses one packet in ten has more open holes in a large window than a story keeps. Those that nothing
//! was heard of yet are only counted, by ranges. What is acknowledged without a NAK or a repeat was missed by the
//! capture; of what is asked for or sent again nothing more can be told.

use rocetop_parsers::Psn;

use super::hole::{Hole, Mark};
use super::log::Episode;
use super::report::Kind;
use super::{Story, Telling};

/// Ranges kept apart; of more, the oldest two become one.
const RANGES: usize = 4;
/// Holes of one range.
const HOLES: u32 = 64;

/// Holes in a row, of which nothing was heard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    start: Psn,
    end: Psn,
    holes: u32,
    packets: u32,
    first: Mark,
    last: Mark,
}

/// All of them, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd(Vec<Range>);

impl Crowd {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Packets of which nothing was heard.
    pub(super) fn packets(&self) -> u32 {
        self.0.iter().fold(0, |sum, r| sum.saturating_add(r.packets))
    }

    /// One episode of a range.
    pub(super) fn episodes(&self, kind: Kind) -> impl Iterator<Item = Episode> {
        self.0.iter().map(move |range| range.episode(kind))
    }

    /// A hole that is not told apart any more.
    pub(super) fn add(&mut self, hole: &Hole) {
        let new = Range {
            start: hole.start,
            end: hole.end(),
            holes: 1,
            packets: hole.outs(),
            first: hole.opened,
            last: hole.opened,
        };
        match self.0.last_mut() {
            Some(last) if last.holes < HOLES => last.extend(&new),
            _ => self.0.push(new),
        }
        if self.0.len() > RANGES {
            let second = self.0.remove(1);
            self.0.iter_mut().take(1).for_each(|first| first.extend(&second));
        }
    }

    /// Takes off the ranges that are acknowledged.
    fn before(&mut self, acked: Psn) -> Vec<Range> {
        self.0.extract_if(.., |r| r.end - acked <= 1).collect()
    }

    /// Takes off the ranges that begin before `psn`, or hold it.
    fn around(&mut self, psn: Psn) -> Vec<Range> {
        self.0.extract_if(.., |r| r.end - psn > 0).collect()
    }
}

impl Range {
    fn extend(&mut self, next: &Self) {
        (self.end, self.last) = (next.end, next.last);
        self.holes += next.holes;
        self.packets = self.packets.saturating_add(next.packets);
    }

    fn episode(&self, kind: Kind) -> Episode {
        let episode = Episode::new(kind, None, self.start, self.end - 1).at(Some(self.first)).at(Some(self.last));
        episode.counting(self.packets, 0)
    }
}

impl Story {
    /// Everything up to `psn` was acknowledged, and nobody had asked for it.
    pub(super) fn crowd_acknowledged(&mut self, psn: Psn, telling: &mut Telling<'_>) {
        if self.trouble.crowd.is_empty() {
            return;
        }
        for range in self.trouble.crowd.before(psn) {
            let missed = &mut self.trouble.sums.holes.missed;
            *missed = missed.saturating_add(range.packets);
            self.log.add(range.episode(Kind::MissedByCapture), telling.room);
        }
    }

    /// What follows `psn` is asked for, or sent again.
    pub(super) fn crowd_disturbed(&mut self, psn: Psn, telling: &mut Telling<'_>) {
        if self.trouble.crowd.is_empty() {
            return;
        }
        for range in self.trouble.crowd.around(psn) {
            let unsure = &mut self.trouble.sums.holes.lost_or_late;
            *unsure = unsure.saturating_add(range.packets);
            self.log.add(range.episode(Kind::LostOrLate), telling.room);
        }
    }
}
