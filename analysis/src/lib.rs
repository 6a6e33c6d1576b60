//! From packets to per-queue-pair stories.
//!
//! Owns: the flow table, PSN accounting of request and response spaces, pairing of directions, mirror copies, sums, the
//! stories of requests, the detectors, what several taps say of one another.
//! May use: `rocetop-parsers`. Pure: no I/O, no clock, no threads; time is in the events. Memory grows with queue
//! pairs, never with packets.
#![forbid(unsafe_code)]

mod bins;
mod cm;
mod copies;
mod flow;
mod focus;
mod headers;
mod hunt;
mod ledger;
mod members;
mod mix;
mod notice;
mod pairing;
mod responses;
mod seen;
mod shard;
mod tell;

pub mod counted;
pub mod detect;
pub mod engine;
pub mod event;
pub mod exchanges;
pub mod habits;
pub mod marks;
pub mod pauses;
pub mod pulse;
pub mod report;
pub mod story;
pub mod survey;
pub mod taps;
pub mod totals;
pub mod words;

pub use bins::Bins;
pub use detect::{Finding, Severity};
pub use engine::{Config, Engine, SHARDS};
pub use event::{FrameNo, Packet};
pub use focus::Focus;
pub use ledger::Ledger;
pub use members::Members;
pub use pairing::Grade;
pub use pulse::Pulse;
pub use shard::Evicted;
pub use totals::Totals;
