//! Which packets of one flow were seen a second time at another place: under a mirror, and not after a change of path.

use std::collections::VecDeque;

use rocetop_parsers::{Nanos, Psn};

use crate::flow::headers::{Few, Place};

/// Time within which a mirror of the same capture delivers the copy of a frame from another port: queues between the
/// two ports take milliseconds at most, a path that failed is noticed by a timeout of tens of them (chosen: between the
/// two).
pub(crate) const MIRRORED_WITHIN: Nanos = Nanos(20_000_000);
/// Packets of one flow remembered while it is seen at several places (chosen: what passes between a frame and its copy,
/// from a few ports).
pub(crate) const RECENT: usize = 64;
/// Copies below this many prove little: a lone message that is resent looks the same (chosen).
const LEAST: u64 = 16;

/// What makes two packets of one flow the same packet.
pub(crate) trait Identified: Copy + PartialEq {
    fn psn(self) -> Psn;
}

/// A packet sent, and the places where it was seen: one bit each.
#[derive(Clone, Copy, Debug)]
struct Sent<I> {
    identity: I,
    at: Nanos,
    places: u8,
}

/// What a packet is to the flow's places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glance {
    /// A packet of its own.
    First,
    /// A second sight at another place.
    Moved,
    /// A repeat at another place, right after suspicion began, of what was seen before: a copy where home went on.
    Early,
    /// A repeat at another place whose first sight is not remembered: a copy only where both places went on.
    Late,
}

/// One packet as this module needs it.
#[derive(Clone, Copy)]
pub(crate) struct Look<I> {
    pub(crate) identity: I,
    pub(crate) at: Nanos,
    pub(crate) place: Place,
    /// Its transport numbers what it is part of.
    pub(crate) numbered: bool,
    /// It is numbered, and was seen before.
    pub(crate) again: bool,
}

/// The places of one flow, packets known by `I`.
#[derive(Clone, Debug)]
pub(crate) struct Mirror<I> {
    /// The first is home: where the flow was seen before suspicion began.
    places: Few<Place, 7>,
    /// When it began.
    began: Option<Nanos>,
    recent: VecDeque<Sent<I>>,
    /// Packets at home since suspicion began, and those at other places.
    at_home: u64,
    elsewhere: u64,
    /// Some numbered packet was first seen elsewhere.
    first_elsewhere: bool,
    moved: u64,
    late: u64,
}

impl<I: Identified> Mirror<I> {
    const HOME: u8 = 1;

    /// Suspicion begins: so far packets were seen at `home`, the latest of them `before`.
    pub(crate) fn since(before: impl IntoIterator<Item = (I, Nanos)>, home: Place) -> Self {
        let sent = |(identity, at)| Sent { identity, at, places: Self::HOME };
        let recent = before.into_iter().map(sent).collect();
        Self {
            places: Few::of(home),
            began: None,
            recent,
            at_home: 0,
            elsewhere: 0,
            first_elsewhere: false,
            moved: 0,
            late: 0,
        }
    }

    /// The bit of a place. Those beyond the ones kept share the last one.
    fn bit(&self, place: Place) -> u8 {
        1 << self.places.values().iter().position(|&p| p == place).unwrap_or(7)
    }

    /// Whether it is where the flow was seen before suspicion began.
    pub(crate) fn is_home(&self, place: Place) -> bool {
        self.bit(place) == Self::HOME
    }

    /// A packet of a flow under suspicion: what it is, and whether it is a copy as it looks by now.
    pub(crate) fn add(&mut self, look: Look<I>) -> (Glance, bool) {
        let Look { identity, at, place, numbered, again } = look;
        self.places.add(place);
        let began = *self.began.get_or_insert(at);
        let bit = self.bit(place);
        if bit == Self::HOME {
            self.at_home += 1;
        } else {
            self.elsewhere += 1;
        }
        // The first sight of a numbered packet is nobody's copy; answers and datagrams have no such proof.
        if again || !numbered {
            // The latest sending of this packet that was not seen at this place yet. Clocks of other files may be far
            // off.
            let one_clock = self.places.values().first().is_some_and(|home| home.same_clock(place));
            let near = |s: &Sent<I>| !one_clock || at.since(s.at) <= MIRRORED_WITHIN;
            let open = |s: &&mut Sent<I>| s.identity == identity && s.places & bit == 0 && near(s);
            if let Some(sent) = self.recent.iter_mut().rev().find(open) {
                sent.places |= bit;
                self.moved += 1;
                return (Glance::Moved, self.looks_moved());
            }
            let here = |s: &Sent<I>| s.identity == identity && s.places & bit != 0;
            // What goes on with the next PSN after the latest has moved with the flow.
            let goes_on = self.recent.back().is_some_and(|latest| identity.psn() - latest.identity.psn() == 1);
            if again && bit != Self::HOME && !goes_on && !self.recent.iter().any(here) {
                // By another clock nothing is too late.
                let (glance, count) =
                    if one_clock { (Glance::Late, &mut self.late) } else { (Glance::Moved, &mut self.moved) };
                *count += 1;
                let copy = self.looks_late(at, one_clock);
                // What passed between a frame and its copy when the first copy came is not remembered either.
                let early = one_clock && !self.first_elsewhere && at.since(began) <= MIRRORED_WITHIN;
                return (if early { Glance::Early } else { glance }, copy);
            }
        }
        self.first_elsewhere |= numbered && !again && bit != Self::HOME;
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Sent { identity, at, places: bit });
        (Glance::First, false)
    }

    /// Whether second sights are copies, as it looks by now: most of what was sent had one, or nearly all that came
    /// elsewhere are. A bond shows each packet at one of its links, and a repeat that takes the other one is none.
    fn looks_moved(&self) -> bool {
        let second = self.moved + self.late;
        let sent = (self.at_home + self.elsewhere).saturating_sub(second);
        second * 2 > sent || second * 10 >= self.elsewhere * 9
    }

    /// Whether repeats whose first sight is not remembered are copies, as it looks by now: home went on, or nothing new
    /// came elsewhere so soon after it. A flow that only moved goes on elsewhere, with what was not seen at home.
    fn looks_late(&self, at: Nanos, one_clock: bool) -> bool {
        let late = self.late + self.moved;
        let home_goes_on = self.at_home * 4 >= self.elsewhere && late * 10 >= self.elsewhere * 9;
        let soon = self.recent.back().is_some_and(|s| !one_clock || at.since(s.at) <= MIRRORED_WITHIN);
        home_goes_on || !self.first_elsewhere && soon
    }

    /// Whether some numbered packet was first seen elsewhere.
    pub(crate) fn saw_first_elsewhere(&self) -> bool {
        self.first_elsewhere
    }

    /// Whether both places saw the flow go on, as they do under a mirror and not after a failure.
    pub(crate) fn went_on(&self) -> bool {
        self.at_home >= LEAST && self.at_home * 4 >= self.elsewhere
    }

    /// Whether repeats right after suspicion began are copies: second sights are, and home went on, as it does not when
    /// a flow moves and begins with repeats.
    pub(crate) fn takes_early(&self) -> bool {
        self.at_home != 0 && self.has_moved()
    }

    /// Whether all that is numbered had been seen before it came elsewhere, and most of the rest, too: it may be a
    /// mirror's, if the capture has one.
    pub(crate) fn is_second_elsewhere(&self) -> bool {
        !self.first_elsewhere && self.elsewhere != 0 && (self.moved + self.late) * 2 >= self.elsewhere
    }

    /// Whether second sights are half of what either place saw at least. A flow that only changed its path saw nothing
    /// more at its first one.
    pub(crate) fn has_moved(&self) -> bool {
        let late = if self.went_on() { self.late } else { 0 };
        let (moved, elsewhere) = (self.moved + late, self.elsewhere);
        let both = moved * 2 >= self.at_home.min(elsewhere) && self.at_home >= LEAST;
        // Where home saw nothing more, nine in ten have to be second sights: a new path begins with repeats, too.
        let after = if self.at_home == 0 { moved * 10 >= elsewhere * 9 } else { moved * 2 >= elsewhere };
        moved != 0 && (both || after)
    }
}
