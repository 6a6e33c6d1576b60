//! No congestion control (SYSTEMS C3): line rate from the first packet to the last, and PFC or loss do the rest.

use super::{Algorithm, Path};
use crate::units::{Rate, Time};

/// There is nothing to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Settings;

crate::scenario::knobs!(Settings {});

/// A queue pair that always sends at line rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct None {
    line: Rate,
}

impl Algorithm for None {
    type Settings = Settings;

    fn new(_: &Settings, path: &Path, _: Time) -> Self {
        Self { line: path.line }
    }

    fn rate(&self) -> Rate {
        self.line
    }
}
