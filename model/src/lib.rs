//! Congestion control and a simulated RoCE fabric.
//!
//! Owns: topologies, traffic, switches, NICs, congestion controls and the engine that plays them in time.
//! May use: `rocetop-parsers`. Pure: no I/O, no clock, no threads. All that is drawn comes from one seed, and state
//! that decides the order of things is made of integers or of exactly rounded operations (`+ - * /`, square roots): the
//! same seed gives the same bytes on every machine.
#![forbid(unsafe_code)]

pub mod cc;
pub mod collective;
pub mod engine;
pub mod fluid;
pub mod format;
pub mod nic;
pub mod rng;
pub mod routing;
pub mod scenario;
pub mod switch;
pub mod table;
pub mod topology;
pub mod units;
pub mod validate;
pub mod wire;
pub mod workload;
