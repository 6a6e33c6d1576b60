//! The response space of a flow, as far as it can be told without remembering what was asked for.
//!
//! READ and atomic responses carry the PSNs of the requests that they answer, so they jump over the peer's WRITEs and
//! SENDs (IBTA 9.7.2). Only inside one response, First to Last, is a jump a gap: a lost tail or a lost whole answer
//! shows where the requests are known, and that is for packets.

use super::{Move, numbered};
use crate::facts::Facts;
use crate::ib::opcode::Traits;
use crate::units::Psn;

/// Accounting of the responses that a flow carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Responses {
    /// PSNs that were skipped inside responses.
    pub gap_psns: u64,
    /// Responses below the highest next PSN.
    pub behind: u64,
    /// Jumps inside responses.
    pub gaps: u32,
    /// Highest next PSN, once a response was seen.
    pub next_psn: Psn,
    /// [`NONE`], [`BETWEEN`] or [`INSIDE`].
    place: u32,
}

/// No response yet.
const NONE: u32 = 0;
/// The latest packet ended its response.
const BETWEEN: u32 = 1;
/// The latest packet did not.
const INSIDE: u32 = 2;

impl Responses {
    /// No response yet.
    pub const NEW: Self = Self { gap_psns: 0, behind: 0, gaps: 0, next_psn: Psn::new(0), place: NONE };

    /// Adds a packet; one that is no response changes nothing.
    #[inline(always)]
    pub fn fold(&mut self, facts: &Facts, traits: Traits) -> Move {
        if !traits.has(Traits::RESPONSE) || !numbered(facts.opcode.transport()) {
            return Move::None;
        }
        let before = self.place;
        self.place = if traits.has(Traits::ENDS) { BETWEEN } else { INSIDE };
        let ahead = facts.psn - self.next_psn;
        if before != NONE && ahead < 0 {
            self.behind += 1;
            return Move::Behind;
        }
        self.next_psn = facts.psn + 1;
        if before == NONE {
            return Move::Start;
        }
        if ahead == 0 || before != INSIDE || traits.has(Traits::STARTS) {
            return Move::InOrder;
        }
        self.gaps += 1;
        self.gap_psns += u64::from(ahead.unsigned_abs());
        Move::Ahead(ahead.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ib::opcode::Opcode;

    fn feed(space: &mut Responses, opcode: u8, psn: u32) -> Move {
        let facts = Facts { opcode: Opcode(opcode), psn: Psn::new(psn), ..Facts::default() };
        space.fold(&facts, facts.opcode.traits())
    }

    #[test]
    fn jumps_over_writes_are_no_gap() {
        let mut space = Responses::default();
        assert_eq!(feed(&mut space, 0x0d, 10), Move::Start);
        assert_eq!(feed(&mut space, 0x0f, 11), Move::InOrder);
        assert_eq!(feed(&mut space, 0x10, 500), Move::InOrder);
        assert_eq!(feed(&mut space, 0x12, 502), Move::InOrder);
        assert_eq!((space.gaps, space.behind, space.next_psn), (0, 0, Psn::new(503)));
    }

    #[test]
    fn a_hole_inside_a_response_is() {
        let mut space = Responses::default();
        feed(&mut space, 0x0d, 0xff_fffe);
        assert_eq!(feed(&mut space, 0x0e, 1), Move::Ahead(2));
        assert_eq!(feed(&mut space, 0x0d, 0xff_ffff), Move::Behind);
        assert_eq!(feed(&mut space, 0x0e, 0), Move::Behind);
        assert_eq!(feed(&mut space, 0x0f, 2), Move::InOrder);
        assert_eq!((space.gaps, space.gap_psns, space.behind), (1, 2, 2));
    }

    #[test]
    fn requests_and_acks_are_not_looked_at() {
        let mut space = Responses::default();
        for opcode in [0x04, 0x0c, 0x11, 0x64, 0x81, 0x4d] {
            assert_eq!(feed(&mut space, opcode, 7), Move::None);
        }
        assert_eq!(space, Responses::default());
    }
}
