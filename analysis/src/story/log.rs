//! The episodes of a flow, as many as there is room for.

use rocetop_parsers::{Nanos, Psn};

use super::report::{Cause, Kind};
use crate::event::FrameNo;

/// Frames that an episode names at most (chosen: loss, NAK, repeat and what ended it).
const FRAMES: usize = 4;
/// Episodes that every flow may keep (chosen: bounds the memory).
const OWN: usize = 8;

/// A frame of the evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) frame: FrameNo,
    pub(crate) at: Nanos,
}

/// What a tap sees of a flow, over all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// Requests come in the order in which they were sent; and responses do.
    pub(crate) in_order: bool,
    pub(crate) responses_in_order: bool,
    /// The first sending and a repeat may come one right behind the other.
    pub(crate) fall_together: bool,
    /// All that is sent comes by here, and is captured.
    pub(crate) whole: bool,
    /// The network is known to lose packets: then what no NAK named was lost as well.
    pub(crate) loses: bool,
    /// The sender sends only what is missing: what comes late may be a repeat.
    pub(crate) alone: bool,
}

/// One episode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Episode {
    pub(crate) kind: Kind,
    pub(crate) cause: Option<Cause>,
    pub(crate) first: Nanos,
    pub(crate) last: Nanos,
    frames: [FrameNo; FRAMES],
    pub(crate) from: Psn,
    pub(crate) to: Psn,
    pub(crate) packets: u32,
    pub(crate) repeats: u32,
    /// How long the request had waited for its answer when it was sent again; 0 where no timer ran.
    pub(crate) waited: Nanos,
    /// What is called lost is only lost or late, if the path does not keep the order.
    if_in_order: bool,
    /// No NAK named it: the capture may have missed it instead.
    hidden: bool,
}

impl Episode {
    pub(crate) fn new(kind: Kind, cause: Option<Cause>, from: Psn, to: Psn) -> Self {
        let (first, last) = (Nanos(u64::MAX), Nanos(0));
        let frames = [FrameNo::default(); FRAMES];
        let (packets, repeats, waited) = (0, 0, Nanos(0));
        Self { kind, cause, first, last, frames, from, to, packets, repeats, waited, if_in_order: false, hidden: false }
    }

    /// With one more frame that shows it.
    pub(crate) fn at(mut self, mark: Option<Mark>) -> Self {
        let Some(mark) = mark else { return self };
        self.first = self.first.min(mark.at);
        self.last = self.last.max(mark.at);
        if !self.frames.contains(&mark.frame)
            && let Some(free) = self.frames.iter_mut().find(|f| **f == FrameNo::default())
        {
            *free = mark.frame;
        }
        self
    }

    /// With so many packets concerned, and so many repeats because of it.
    pub(crate) fn counting(mut self, packets: u32, repeats: u32) -> Self {
        (self.packets, self.repeats) = (packets, repeats);
        self
    }

    /// With how long the request had waited before.
    pub(crate) fn after(mut self, waited: Nanos) -> Self {
        self.waited = waited;
        self
    }

    /// The same, as another kind.
    pub(crate) fn of(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// The same, if the path keeps the order.
    pub(crate) fn if_in_order(mut self) -> Self {
        self.if_in_order = true;
        self
    }

    /// The same, of a hole behind another one that no NAK named.
    pub(crate) fn behind_another(mut self, hidden: bool) -> Self {
        self.hidden = hidden;
        self
    }

    /// What it is, as far as the tap's view proves it.
    pub(crate) fn seen_in(self, view: View) -> Self {
        let proved = view.whole && (view.in_order || !self.if_in_order) && (view.loses || !self.hidden);
        match self.kind {
            Kind::Reordered if view.alone => self.of(Kind::LostOrLate),
            Kind::LostBeforeTap if !proved => self.of(Kind::LostOrLate),
            Kind::ResponseLost if self.if_in_order && !view.responses_in_order => self.of(Kind::ResponseLostOrLate),
            Kind::DuplicatedByNetwork if view.fall_together => self.of(Kind::Unexplained),
            _ => self,
        }
    }

    /// The frames that show it, as they were told.
    pub(crate) fn shown(&self) -> impl Iterator<Item = FrameNo> {
        self.frames.into_iter().filter(|f| *f != FrameNo::default())
    }
}

/// Where an episode is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

/// The episodes of one flow in the order in which they ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    kept: Vec<Episode>,
    more: u32,
    /// When the first of those began that were not kept, if any was not.
    until: Nanos,
}

impl Log {
    /// Keeps an episode: a few in any case, more while there is `room` in the shard. Returns its place, if it is kept.
    pub(crate) fn add(&mut self, episode: Episode, room: &mut u32) -> Option<Place> {
        if self.kept.len() >= OWN {
            if *room == 0 {
                self.until = self.until().map_or(episode.first, |until| until.min(episode.first));
                self.more = self.more.saturating_add(1);
                return None;
            }
            *room -= 1;
        }
        self.kept.push(episode);
        u32::try_from(self.kept.len() - 1).ok().map(Place)
    }

    /// One more repeat because of an episode that is told already.
    pub(crate) fn repeated(&mut self, place: Option<Place>) {
        if let Some(episode) = place.and_then(|Place(n)| self.kept.get_mut(n as usize)) {
            episode.repeats = episode.repeats.saturating_add(1);
        }
    }

    /// The NAK of an episode that is told already was heeded after all, from this frame on.
    pub(crate) fn heeded(&mut self, Place(n): Place, first: Mark) {
        if let Some(episode) = self.kept.get_mut(n as usize) {
            episode.cause = Some(Cause::Nak);
            *episode = episode.at(Some(first));
        }
    }

    pub(crate) fn kept(&self) -> &[Episode] {
        &self.kept
    }

    pub(crate) fn more(&self) -> u32 {
        self.more
    }

    /// Before this, all episodes that began are kept; `None` where all are.
    pub(crate) fn until(&self) -> Option<Nanos> {
        (self.more != 0).then_some(self.until)
    }

    /// The episode that ended last, if it was kept.
    pub(crate) fn latest(&mut self) -> Option<&mut Episode> {
        if self.more == 0 { self.kept.last_mut() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_shared_and_the_rest_is_counted() {
        let mut log = Log::default();
        let mut room = 2;
        let mark = |n| Some(Mark { frame: FrameNo::new(0, n), at: Nanos(n) });
        let episode = |n| Episode::new(Kind::Rnr, None, Psn::new(1), Psn::new(1)).at(mark(n));
        for n in 0..OWN as u64 + 2 {
            log.add(episode(n), &mut room);
            assert_eq!(log.until(), None);
        }
        // They are told in the order in which they end.
        for began in [30, 20, 25] {
            log.add(episode(began), &mut room);
        }
        assert_eq!((log.kept().len(), log.more(), room), (OWN + 2, 3, 0));
        assert_eq!(log.until(), Some(Nanos(20)));
        assert!(log.latest().is_none());
    }

    #[test]
    fn what_is_told_still_grows() {
        let mark = |n| Mark { frame: FrameNo::new(0, n), at: Nanos(n) };
        let (mut log, mut room) = (Log::default(), 0);
        let late = Episode::new(Kind::Reordered, None, Psn::new(1), Psn::new(1)).at(Some(mark(4)));
        let place = log.add(late, &mut room);
        log.add(Episode::new(Kind::Rnr, None, Psn::new(2), Psn::new(2)), &mut room);
        log.heeded(place.unwrap(), mark(9));
        log.repeated(place);
        log.repeated(None);
        let told: Vec<_> = log.kept().iter().map(|e| (e.cause, e.last, e.repeats)).collect();
        assert_eq!(told, [(Some(Cause::Nak), Nanos(9), 1), (None, Nanos(0), 0)]);
    }

    #[test]
    fn frames_are_named_once() {
        let mark = |n| Some(Mark { frame: FrameNo::new(0, n), at: Nanos(n) });
        let episode = Episode::new(Kind::Rnr, None, Psn::new(1), Psn::new(1));
        let episode = episode.at(mark(9)).at(None).at(mark(4)).at(mark(9));
        assert_eq!(episode.shown().map(FrameNo::place).collect::<Vec<_>>(), [9, 4]);
        assert_eq!((episode.first, episode.last), (Nanos(4), Nanos(9)));
    }
}
