//! `rocetop check`: expectations about captures, judged, and shown for people and for CI.
//!
//! Owns the language of expectation files and the judgement. May use: the report's figures as they are serialised, so
//! that whatever the report has can be named, and nothing that the report has not. [`file`](self) reads, [`evaluate`]
//! judges, [`table`] and [`junit`] show.

mod evaluate;
mod file;
mod findings;
mod language;
mod names;
mod shape;
mod shares;
mod tally;
#[cfg(test)]
mod tests;
mod value;
mod walk;

pub mod junit;
pub mod table;

pub use evaluate::evaluate;
pub use file::{Expectation, Fault, FileError, read};
pub(crate) use names::nearest;
pub use tally::Verdict;

/// All figures that can be named, each with a word on what a bound on it may look like.
pub fn figures() -> impl Iterator<Item = (String, &'static str)> {
    let mut all: Vec<_> = names::Names::new().all().iter().map(|f| (f.to_string(), f.says())).collect();
    all.sort_unstable();
    all.into_iter()
}
