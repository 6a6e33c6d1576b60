//! The engine on small captures made by hand.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod classes;
mod congestion;
mod focus;
mod kit;
mod lives;
mod managers;
mod mirrors;
mod pairing;
mod patterns;
mod places;
mod recovery;
mod sizes;
mod spaces;
mod timers;
mod wild;
