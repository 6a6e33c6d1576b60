//! The kernel programs against userland: the same frames, the same figures.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a helper of tests fails like a test")]

#[path = "../kit/captures.rs"]
mod captures;
mod counting;
mod frames;
mod parity;

use rocetop::live::bpf::{Programs, Settings};

/// The programs, where this machine lets us load them; otherwise says why not.
fn load(settings: &Settings) -> Option<Programs> {
    match Programs::load(settings) {
        Ok(programs) => Some(programs),
        // What a user without the right to, or a kernel without BPF, answers: EPERM, ENOSYS. All else is a fault.
        Err(error) if causes(&error).any(|errno| errno == libc::EPERM || errno == libc::ENOSYS) => {
            eprintln!("left out: the kernel does not let us load programs here: {}", chain(&error));
            None
        }
        Err(error) => panic!("{}", chain(&error)),
    }
}

type Cause = dyn std::error::Error + 'static;

fn sources(error: &Cause) -> impl Iterator<Item = &Cause> {
    std::iter::successors(Some(error), |error| error.source())
}

fn causes(error: &Cause) -> impl Iterator<Item = i32> {
    sources(error).filter_map(|error| error.downcast_ref::<std::io::Error>()?.raw_os_error())
}

fn chain(error: &Cause) -> String {
    sources(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
