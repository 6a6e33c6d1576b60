//! What can happen: a kind and the row it happens to, in 32 bits.

use crate::table::Id;

/// The kinds of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A packet reaches the end of the cable that it is on.
    Arrive,
    /// A port that has more to send is done with a frame.
    Free,
    /// A queue pair may send again by its pace.
    Pace,
    /// A queue pair's retransmission timer.
    Retry,
    /// A flow starts.
    Start,
    /// Something happens to a cable.
    Fault,
    /// A port's clock of pauses and of the watchdog.
    Tick,
}

/// Bits of a row number: ids stay below 2^28 (`topology::Plan`, `engine::Simulation::new`).
const BITS: u32 = 29;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event(u32);

impl Event {
    /// `kind` happens to row `id`.
    #[inline(always)]
    pub(crate) const fn new(kind: Kind, id: u32) -> Self {
        debug_assert!(id >> BITS == 0);
        Self((kind as u32) << BITS | id)
    }

    #[inline(always)]
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub(crate) const fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// What happens.
    #[inline(always)]
    pub(crate) const fn kind(self) -> Kind {
        match self.0 >> BITS {
            0 => Kind::Arrive,
            1 => Kind::Free,
            2 => Kind::Pace,
            3 => Kind::Retry,
            4 => Kind::Start,
            5 => Kind::Fault,
            _ => Kind::Tick,
        }
    }

    /// The row's number.
    #[inline(always)]
    pub(crate) const fn id(self) -> u32 {
        self.0 & ((1 << BITS) - 1)
    }

    /// The row.
    #[inline(always)]
    pub(crate) fn row<I: Id>(self) -> I {
        I::of(self.id() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_and_row_come_back() {
        for kind in [Kind::Arrive, Kind::Free, Kind::Pace, Kind::Retry, Kind::Start, Kind::Fault, Kind::Tick] {
            let event = Event::of_bits(Event::new(kind, (1 << 28) - 1).bits());
            assert_eq!((event.kind(), event.id()), (kind, (1 << 28) - 1));
        }
    }
}
