//! What a run is shown as. One file a form: [`json`] for programs, [`text`] for people.

pub mod flow_level;
pub mod json;
mod known;
pub mod played;
#[cfg(target_os = "linux")]
pub mod seconds;
pub mod select;
pub mod simulation;
pub mod taps;
pub mod text;
pub(crate) mod words;
