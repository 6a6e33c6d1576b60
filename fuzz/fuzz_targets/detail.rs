//! Connection management messages and pause frames of arbitrary frames.
#![no_main]

#[path = "../feed/detail.rs"]
mod feed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| feed::feed(data));
