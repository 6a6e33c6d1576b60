//! Watching traffic where it runs.
//!
//! Owns: which interfaces are watched and through what ([`choose`], [`host`]), reading them ([`source`]), giving away
//! what permissions are not needed ([`privileges`]), the loop that takes their frames through the same path as those of
//! files ([`session`]), what is kept of them ([`record`]), and the kernel programs ([`bpf`]) with what they count
//! (`places`, `table`). May use: Linux, through libpcap, aya and bpf(2); the pcapng writer, [`crate::run`]. The layout
//! of everything that comes out of the kernel is [`rocetop_parsers::abi`]'s.
//!
//! A plain thread an interface, each with a bounded channel to the one that analyses: a handful of descriptors that
//! block need no runtime. Where the analysis is too slow the channel fills, the thread waits, and the kernel, whose
//! buffer then fills, counts what it has no room for. So there is one count of drops, and it is the kernel's.

mod batch;
pub mod bpf;
pub mod choose;
pub mod host;
mod lanes;
mod places;
pub mod privileges;
pub mod record;
pub mod session;
pub mod source;
mod table;
