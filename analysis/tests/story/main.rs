//! The story engine against a small exact model of one connection: the model knows what was lost, late and repeated,
//! and the story must not say more than that, nor miss what a tap could see.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod begin;
mod capture;
mod causes;
mod clean;
mod faults;
mod flood;
mod kit;
mod loss;
mod model;
mod order;
mod responses;
mod scenario;
mod tap;
mod times;
