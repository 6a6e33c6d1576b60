//! The InfiniBand transport: LRH and GRH, BTH, extended headers, management datagrams.

pub mod aeth;
pub mod bth;
pub mod opcode;

pub mod grh;
pub mod lrh;
pub mod transport;
