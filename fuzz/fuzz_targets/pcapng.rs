//! The pcapng decoder over arbitrary files.
#![no_main]

#[path = "../feed/pcapng.rs"]
mod feed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| feed::feed(data));
