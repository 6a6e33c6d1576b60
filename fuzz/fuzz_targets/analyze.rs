//! Arbitrary captures, from file to report.
#![no_main]

#[path = "../feed/analyze.rs"]
mod feed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| feed::feed(data));
