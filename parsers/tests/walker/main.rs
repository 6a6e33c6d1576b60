//! The walker over sample frames of every kind: as they are, and broken.
#![allow(clippy::indexing_slicing, reason = "a builder of test frames fails like a test")]

mod broken;
mod frames;
mod walk;
