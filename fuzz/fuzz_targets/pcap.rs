//! The classic pcap decoder over arbitrary files.
#![no_main]

#[path = "../feed/pcap.rs"]
mod feed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| feed::feed(data));
