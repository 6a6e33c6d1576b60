//! The rocetop library: sources, command line, reports.
//!
//! Owns everything that touches the outside. [`pcap`] turns bytes into records without doing any I/O; [`source`] does
//! the I/O and hands out frames in the order of time; [`run`] takes them through walker, ICRC and engine, [`taps`]
//! those of several vantage points side by side; [`report`] shows what came of it, [`save`] writes the frames out
//! again; [`check`] holds it against what was expected; `live` (Linux) watches interfaces as packets pass; [`simulate`]
//! plays a scenario and saves what its links carried; [`cli`] is what people type. May use: the parsers, the analysis
//! and the model, and never the other way round.

pub mod check;
pub mod cli;
pub mod crc;
pub mod filter;
#[cfg(target_os = "linux")]
pub mod live;
pub mod pcap;
pub mod report;
pub mod run;
pub mod save;
pub mod simulate;
pub mod source;
pub mod taps;
