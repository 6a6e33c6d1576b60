//! A frozen, static rate for every queue pair (SYSTEMS C14), and a window if one is set.
//!
//! One flow's own rate is its [`crate::workload::Flow::limit`].

use super::{Algorithm, Path};
use crate::units::{Bytes, Rate, Time};

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The rate on the wire; the line's where that is lower. Zero counts as one bit per second.
    pub rate: Rate,
    /// Payload that may be on the way.
    pub window: Option<Bytes>,
}

crate::scenario::knobs!(Settings { rate, window });

impl Default for Settings {
    /// Line rate, no window.
    fn default() -> Self {
        Self { rate: Rate::MAX, window: None }
    }
}

/// A queue pair that always sends at the same rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    rate: Rate,
    window: Option<Bytes>,
}

impl Algorithm for Fixed {
    type Settings = Settings;

    fn new(settings: &Settings, path: &Path, _: Time) -> Self {
        let window = settings.window.map(|Bytes(window)| Bytes(window.max(1)));
        Self { rate: settings.rate.min(path.line).max(Rate(1)), window }
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> Option<Bytes> {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_above_the_line() {
        let path = Path { line: Rate::gbps(100), base_rtt: Time::us(8), mtu: Bytes(1000), hops: 2, tier: 1 };
        let rate = |rate| Fixed::new(&Settings { rate, window: None }, &path, Time::ZERO).rate();
        assert_eq!(
            [rate(Rate::gbps(25)), rate(Rate::gbps(400)), rate(Rate(0))],
            [Rate::gbps(25), Rate::gbps(100), Rate(1)]
        );
    }
}
