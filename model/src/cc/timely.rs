//! Control by the round trip's gradient: TIMELY (SIGCOMM 2015, algorithm 1).
//!
//! It judges once a segment. The difference of two round trips is smoothed and divided by the shortest one there can
//! be. Below `low` the rate rises whatever the gradient, above `high` it falls whatever the gradient; between them the
//! gradient decides. Nothing in it knows what share is fair: flows that start apart stay apart (Zhu et al., "ECN or
//! Delay", CoNEXT 2016).

use super::{Ack, Algorithm, Path, rate};
use crate::units::{Bytes, Rate, Time};

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Payload between two judgements.
    pub segment: Bytes,
    /// Weight of the newest difference.
    pub a: f64,
    /// How hard it brakes.
    pub b: f64,
    /// Round trips below this always let the rate rise.
    pub low: Time,
    /// Round trips above this always let it fall.
    pub high: Time,
    /// What is added at a time.
    pub step: Rate,
    /// The line rate that `step` is for; other lines have it in proportion. `None`: the same on every line.
    pub per: Option<Rate>,
    /// Calm judgements in a row after which five steps are taken at once.
    pub calm: u8,
    /// The shortest round trip, which the gradient is measured by; `None`: the path's own.
    pub shortest: Option<Time>,
    /// The first rate; `None`: line rate.
    pub start: Option<Rate>,
    /// The lowest rate.
    pub least: Rate,
}

crate::scenario::knobs!(Settings { segment > 0, a, b, low > 0, high > 0, step, per, calm, shortest, start, least > 0 });

impl Default for Settings {
    /// a = .875, b = .8, 50 us, 500 us, 10 Mb/s at 10 Gb/s, five in a row, segments of 16 KB (SIGCOMM 2015), a
    /// shortest round trip of 20 us (as "ECN or Delay" takes it from there: a much shorter one makes every gradient
    /// a cliff). The lowest rate is not published: a thousandth of 100 Gb/s.
    fn default() -> Self {
        Self {
            segment: Bytes(16_384),
            a: 0.875,
            b: 0.8,
            low: Time::us(50),
            high: Time::us(500),
            step: Rate::mbps(10),
            per: Some(Rate::gbps(10)),
            calm: 5,
            shortest: Some(Time::us(20)),
            start: None,
            least: Rate::mbps(100),
        }
    }
}

/// A queue pair under TIMELY.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timely {
    line: Rate,
    /// Bits per second.
    rate: f64,
    step: f64,
    /// Picoseconds.
    shortest: f64,
    previous: Option<Time>,
    difference: f64,
    /// Payload since the last judgement.
    acked: u64,
    calm: u8,
}

impl Algorithm for Timely {
    type Settings = Settings;

    fn new(settings: &Settings, path: &Path, _: Time) -> Self {
        let scale = settings.per.map_or(1.0, |per| path.line.0 as f64 / per.0.max(1) as f64);
        Self {
            line: path.line,
            rate: settings.start.unwrap_or(path.line).min(path.line).0 as f64,
            step: settings.step.0 as f64 * scale,
            shortest: settings.shortest.unwrap_or(path.base_rtt).0.max(1) as f64,
            previous: None,
            difference: 0.0,
            acked: 0,
            calm: 0,
        }
    }

    fn on_ack(&mut self, settings: &Settings, ack: &Ack<'_>) {
        self.acked = self.acked.saturating_add(ack.bytes.0);
        if self.acked < settings.segment.0 || ack.bytes == Bytes(0) {
            return;
        }
        self.acked = 0;
        let Some(previous) = self.previous.replace(ack.rtt) else { return };
        let rtt = ack.rtt.0 as f64;
        self.difference = (1.0 - settings.a) * self.difference + settings.a * (rtt - previous.0 as f64);
        let gradient = self.difference / self.shortest;
        if gradient <= 0.0 && ack.rtt >= settings.low && ack.rtt <= settings.high {
            self.calm = self.calm.saturating_add(1);
        } else {
            self.calm = 0;
        }
        let rate = if ack.rtt < settings.low {
            self.rate + self.step
        } else if ack.rtt > settings.high {
            self.rate * (1.0 - settings.b * (1.0 - settings.high.0 as f64 / rtt))
        } else if gradient <= 0.0 {
            self.rate + if self.calm >= settings.calm { 5.0 } else { 1.0 } * self.step
        } else {
            self.rate * (1.0 - settings.b * gradient)
        };
        // A steep rise would take more than there is: the lowest rate is the least that is left.
        let least = settings.least.min(self.line).0 as f64;
        self.rate = rate.max(least).min(self.line.0 as f64);
    }

    fn rate(&self) -> Rate {
        rate(self.rate, self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, path};
    use super::*;

    const SETTINGS: Settings = Settings {
        segment: Bytes(1_000),
        a: 0.875,
        b: 0.8,
        low: Time::us(50),
        high: Time::us(500),
        step: Rate::mbps(10),
        per: None,
        calm: 5,
        shortest: Some(Time::us(20)),
        start: Some(Rate::gbps(4)),
        least: Rate::mbps(100),
    };

    /// Rates in Mb/s after round trips in microseconds.
    fn rates(rtts: &[u64]) -> Vec<f64> {
        let mut timely = Timely::new(&SETTINGS, &path(Rate::gbps(10), Time::us(20), 1_000), Time::ZERO);
        rtts.iter()
            .map(|rtt| {
                timely.on_ack(&SETTINGS, &ack(1_000, Time::us(*rtt)));
                timely.rate().0 as f64 / 1e6
            })
            .collect()
    }

    #[test]
    fn the_first_round_trip_has_no_gradient_and_short_ones_always_add() {
        assert_eq!(rates(&[30, 40, 49]), [4_000.0, 4_010.0, 4_020.0]);
    }

    #[test]
    fn a_rise_brakes_by_its_gradient() {
        // .875 x 4 us / 20 us = .175, so 1 - .8 x .175 = .86; then .125 x 3.5 us / 20 us = .021875, so x .9825.
        assert_eq!(rates(&[100, 104, 104]), [4_000.0, 3_440.0, 3_379.8]);
    }

    #[test]
    fn very_long_ones_brake_by_their_length() {
        // 1 - .8 x (1 - 500/1000) = .6, though the round trip is falling.
        assert_eq!(rates(&[1_100, 1_000]), [4_000.0, 2_400.0]);
    }

    #[test]
    fn five_calm_ones_in_a_row_add_five_steps() {
        assert_eq!(rates(&[100; 7]), [4_000.0, 4_010.0, 4_020.0, 4_030.0, 4_040.0, 4_090.0, 4_140.0]);
    }

    #[test]
    fn steps_grow_with_the_line_and_a_cliff_leaves_the_lowest_rate() {
        let settings = Settings::default();
        let timely = Timely::new(&settings, &path(Rate::gbps(100), Time::us(8), 1_000), Time::ZERO);
        assert_eq!(timely.step, 1e8);
        assert_eq!(rates(&[100, 400]), [4_000.0, 100.0]);
    }
}
