//! What can be seen of a run: frames at taps, counters of NICs and switches, series of queues and rates, trees of
//! pauses.
//!
//! Owns: what outsiders of a fabric could see, in the words of the tools that look at real ones. Everything is off
//! until somebody asks: a tap, a watch, the log of pauses. What was seen is handed over while the run goes on, so that
//! memory follows what happens between two looks and not the length of the run.

mod counters;
mod facts;
mod losses;
mod places;
mod series;
mod tape;
mod tree;

pub use counters::{NicCounters, PortCounters};
pub use facts::address_of;
pub use losses::Losses;
pub use places::{NoPlace, link_name, link_names, port_of};
pub use series::{Levels, Point, PortWatch, Watch};
pub use tape::Seen;
pub(crate) use tape::Tape;
pub use tree::{Tree, Trees, Turn};
