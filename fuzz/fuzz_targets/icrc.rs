//! The invariant CRC of arbitrary frames.
#![no_main]

#[path = "../feed/icrc.rs"]
mod feed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| feed::feed(data));
