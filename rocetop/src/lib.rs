//! The rocetop library: sources, command line, reports.
//!
//! Owns everything that touches the outside. [`pcap`] turns bytes into records without doing any I/O; [`source`] does
//! the I/O and hands out frames in the order of time. May use: the parsers and the analysis, and never the other way
//! round.

pub mod pcap;
pub mod source;
