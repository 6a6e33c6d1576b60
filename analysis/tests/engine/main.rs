//! The engine on small captures made by hand.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod focus;
mod kit;
mod mirrors;
mod pairing;
mod spaces;
