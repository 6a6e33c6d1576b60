//! Up and down lanes: a lossless priority on the way up, another one from where a frame turns down.
//!
//! Buffers that wait for one another in a circle need a frame that goes up again after it went down (SYSTEMS P4; Hu et
//! al., Tagger, CoNEXT 2017, calls such a turn a bounce). Nodes stand in one order, by tier and then by number: up is
//! towards a greater one. A frame that goes down changes into the down lane and never leaves it, so a queue of the up
//! lane waits for greater nodes alone, until the turn. In a Clos the down lane waits for lower nodes alone, and no
//! circle is left. In a ring a frame does go up again behind the turn, but no frame goes all the way round: the circle
//! is open there too.

use crate::units::Priority;

/// The two lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// The priority in which hosts send.
    pub up: Priority,
    /// The priority from the turn on; lossless and marked where `up` is.
    pub down: Priority,
}

impl Default for Lanes {
    /// Lossless priority 3, as switches call it by default, and the next one (declared).
    fn default() -> Self {
        Self { up: Priority::new(3), down: Priority::new(4) }
    }
}
