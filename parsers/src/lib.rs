//! RoCEv2 wire formats: the one parser of rocetop.
//!
//! Owns: every header from Ethernet to the ICRC, PSN arithmetic, the packet walker [`dissect()`] and the
//! counter [`fold`] that kernel and userland share. May use: `core` alone. The same code is compiled
//! into the XDP/TC programs and into the binary, so nothing here allocates, panics, formats on a hot path or
//! loops over options.
//!
//! Every wire file has the same skeleton in the same order: field offsets, the view, the checked gate `load`,
//! getters that cannot fail, the builder, `Display`, and tests on literal bytes.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod abi;
pub mod addr;
pub mod cut;
pub mod units;
pub mod window;

pub mod ib;
pub mod link;
pub mod net;

pub mod detail;
pub mod dissect;
pub mod facts;
pub mod fold;
pub mod icrc;
pub mod sport;

pub use addr::Addr;
pub use cut::{Cut, Layer};
pub use detail::{Detail, detail};
pub use dissect::{Link, dissect, dissect_into};
pub use facts::{Class, Facts};
pub use units::{Bytes, Nanos, Psn, Qpn};
pub use window::Window;
