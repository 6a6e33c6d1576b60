//! The kernel's half of rocetop: an XDP program for what an interface receives, a TC program for what it sends.
//!
//! Owns: reading frames behind the verifier ([`frame`]), the maps ([`maps`]), the flows in
//! them ([`table`]), and what is done with a packet
//! ([`count`]). May use: the parsers, for everything that is known about RoCE. Neither program ever changes or drops a
//! frame.
#![cfg_attr(target_arch = "bpf", no_std, no_main, feature(asm_experimental_arch))]

#[cfg(target_arch = "bpf")]
mod count;
#[cfg(target_arch = "bpf")]
mod frame;
#[cfg(target_arch = "bpf")]
mod lock;
#[cfg(target_arch = "bpf")]
mod maps;
#[cfg(target_arch = "bpf")]
mod programs;
#[cfg(target_arch = "bpf")]
mod table;

/// Cargo builds every member for the host as well; there is nothing of this one there.
#[cfg(not(target_arch = "bpf"))]
fn main() {}
