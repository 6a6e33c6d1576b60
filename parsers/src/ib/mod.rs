//! The InfiniBand transport: LRH and GRH, BTH, extended headers, management datagrams.

pub(crate) mod be;

pub mod aeth;
pub mod atomic_ack_eth;
pub mod atomic_eth;
pub mod bth;
pub mod cm;
pub mod deth;
pub mod feth;
pub mod grh;
pub mod ieth;
pub mod imm_dt;
pub mod lrh;
pub mod mad;
pub mod opcode;
pub mod rdeth;
pub mod reth;
pub mod transport;
pub mod xrceth;
