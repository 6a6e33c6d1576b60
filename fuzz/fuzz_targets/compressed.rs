//! Arbitrary compressed files.
#![no_main]

#[path = "../feed/compressed.rs"]
mod feed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| feed::feed(data));
