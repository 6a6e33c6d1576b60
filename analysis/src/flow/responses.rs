//! The response space: READ and atomic responses that a flow carries to its peer's requests.
//!
//! Response PSNs are the requester's, so they jump over its WRITEs and SENDs. A jump is a gap only inside one response
//! (First..Last), or over PSNs of a READ or atomic whose request was seen ([`Awaited`]).

use rocetop_parsers::ib::opcode::Traits;
use rocetop_parsers::{Facts, Psn};

use crate::flow::seen::{Seen, Sight};
use crate::story::Standing;

/// Accounting of one response space.
#[derive(Clone, Debug)]
pub(crate) struct Responses {
    next: Psn,
    inside: bool,
    seen: Seen,
    pub(crate) seen_again: u64,
    pub(crate) gaps: u64,
    pub(crate) gap_psns: u64,
}

impl Responses {
    /// A space whose first response has this PSN; it begins where the request that it answers does, if that was seen.
    pub(crate) fn starting(psn: Psn, awaited: Option<&Awaited>) -> Self {
        let psn = awaited.and_then(|a| a.start_of(psn)).unwrap_or(psn);
        Self { next: psn, inside: false, seen: Seen::starting(psn), seen_again: 0, gaps: 0, gap_psns: 0 }
    }

    /// The PSN after the highest.
    pub(crate) fn next(&self) -> Psn {
        self.next
    }

    /// Adds a response. `awaited` holds the ranges that the peer asked for, where its requests are known.
    pub(crate) fn add(&mut self, facts: &Facts, traits: Traits, awaited: Option<&Awaited>) -> Standing {
        let psn = facts.psn;
        let ahead = psn - self.next;
        let mut standing = Standing::default();
        if ahead >= 0 {
            let asked = awaited.map_or(0, |a| a.overlap(self.next, psn));
            let continues = self.inside && !traits.has(Traits::STARTS);
            standing.skipped = ahead.unsigned_abs();
            standing.missing = if asked == 0 && continues { standing.skipped } else { asked };
            if standing.missing != 0 {
                self.gaps += 1;
                self.gap_psns += u64::from(standing.missing);
            }
            self.seen.open(self.next, standing.skipped, standing.missing != 0);
            self.next = psn + 1;
        } else if self.seen.look(psn) == Sight::Again {
            self.seen_again += 1;
            standing.again = true;
        } else {
            standing.filled = true;
        }
        self.inside = !traits.has(Traits::ENDS);
        self.seen.trim(self.next);
        standing
    }
}

/// What a flow has to do with READs and atomics: nothing, for most.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads(Option<Box<(Option<Responses>, Awaited)>>);

impl Reads {
    /// The responses that the flow carries, if any.
    pub(crate) fn responses(&self) -> Option<&Responses> {
        self.0.as_deref()?.0.as_ref()
    }

    /// What the flow asked for and has no answer to, if anything.
    pub(crate) fn awaited(&self) -> Option<&Awaited> {
        self.0.as_deref().map(|(_, awaited)| awaited)
    }

    pub(crate) fn awaited_mut(&mut self) -> &mut Awaited {
        &mut self.0.get_or_insert_default().1
    }

    /// Adds a response; see [`Responses::add`].
    pub(crate) fn respond(&mut self, facts: &Facts, traits: Traits, awaited: Option<&Awaited>) -> (Standing, Psn) {
        let (responses, _) = &mut **self.0.get_or_insert_default();
        let space = responses.get_or_insert_with(|| Responses::starting(facts.psn, awaited));
        (space.add(facts, traits, awaited), space.next)
    }
}

/// PSN ranges of READs and atomics that await their answers, merged where they touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Awaited(Vec<(Psn, Psn)>);

impl Awaited {
    /// Ranges kept; outstanding READs and atomics are at most 255 (IBTA 11.2.4.2), and most touch each other.
    const MOST: usize = 64;

    /// `start..end` was asked for.
    pub(crate) fn ask(&mut self, start: Psn, end: Psn) {
        let ranges = &mut self.0;
        match ranges.last_mut() {
            Some((_, last)) if start - *last <= 0 => {
                if end - *last > 0 {
                    *last = end;
                }
            }
            _ => ranges.push((start, end)),
        }
        if ranges.len() > Self::MOST {
            ranges.remove(0);
        }
    }

    /// Whether `psn` was asked for.
    pub(crate) fn holds(&self, psn: Psn) -> bool {
        self.start_of(psn).is_some()
    }

    /// Where the range that holds `psn` begins.
    fn start_of(&self, psn: Psn) -> Option<Psn> {
        self.0.iter().find(|&&(start, end)| psn - start >= 0 && psn - end < 0).map(|&(start, _)| start)
    }

    /// How many PSNs of `from..to` were asked for.
    fn overlap(&self, from: Psn, to: Psn) -> u32 {
        let inside = |&(start, end): &(Psn, Psn)| {
            let start = if start - from > 0 { start } else { from };
            let end = if end - to < 0 { end } else { to };
            (end - start).max(0).unsigned_abs()
        };
        self.0.iter().map(inside).sum()
    }

    /// Everything before `next` has been answered.
    pub(crate) fn answered(&mut self, next: Psn) {
        self.0.retain(|&(_, end)| end - next > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocetop_parsers::ib::opcode::Opcode;

    fn add(space: &mut Responses, opcode: u8, psn: u32, awaited: Option<&Awaited>) {
        let facts = Facts { opcode: Opcode(opcode), psn: Psn::new(psn), ..Facts::default() };
        space.add(&facts, facts.opcode.traits(), awaited);
    }

    #[test]
    fn jumps_over_writes_are_no_gap() {
        let mut space = Responses::starting(Psn::new(10), None);
        add(&mut space, 0x0d, 10, None);
        add(&mut space, 0x0f, 11, None);
        add(&mut space, 0x10, 500, None);
        assert_eq!((space.gaps, space.seen_again), (0, 0));
    }

    #[test]
    fn a_hole_inside_a_response_is() {
        let mut space = Responses::starting(Psn::new(10), None);
        add(&mut space, 0x0d, 10, None);
        add(&mut space, 0x0f, 13, None);
        assert_eq!((space.gaps, space.gap_psns), (1, 2));
        add(&mut space, 0x0d, 11, None);
        add(&mut space, 0x0e, 12, None);
        add(&mut space, 0x0f, 13, None);
        assert_eq!((space.gaps, space.seen_again), (1, 1));
    }

    #[test]
    fn a_lost_tail_shows_by_what_was_asked() {
        let mut awaited = Awaited::default();
        awaited.ask(Psn::new(10), Psn::new(14));
        awaited.ask(Psn::new(20), Psn::new(22));
        let mut space = Responses::starting(Psn::new(10), None);
        add(&mut space, 0x0d, 10, Some(&awaited));
        add(&mut space, 0x0d, 20, Some(&awaited));
        assert_eq!((space.gaps, space.gap_psns), (1, 3));
    }
}
