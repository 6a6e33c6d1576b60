//! The packet walker over arbitrary bytes.
#![no_main]

#[path = "../feed/dissect.rs"]
mod feed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| feed::feed(data));
