//! Watching traffic where it runs: the kernel programs and what they count.
//!
//! Owns: loading the embedded object ([`bpf`]) and reading its maps (`table`). May use: Linux, through aya and bpf(2).
//! The layout of everything that comes out of the kernel is [`rocetop_parsers::abi`]'s.

pub mod bpf;
mod table;
