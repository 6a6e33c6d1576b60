//! From packets to per-queue-pair stories.
//!
//! Owns: the flow table, PSN accounting of request and response spaces, pairing of directions, mirror copies, sums, the
//! stories of requests, the detectors, what several taps say of one another.
//! May use: `rocetop-parsers`. Pure: no I/O, no clock, no threads; time is in the events. Memory grows with queue
//! pairs, never with packets.
#![forbid(unsafe_code)]

pub mod counted;
pub mod detect;
pub mod engine;
pub mod event;
pub mod flow;
pub mod report;
mod short;
pub mod story;
pub mod taps;
pub mod totals;

pub use detect::{Finding, Severity};
pub use engine::{Config, Engine, Evicted, Focus, Grade, SHARDS};
pub use event::{FrameNo, Packet};
pub use report::{Ledger, Members};
pub use totals::{Bins, Pulse, Totals};
