//! Control by delay against a target: Swift (SIGCOMM 2020).
//!
//! The target is a base, a share for every hop, and more for small windows: many flows at one port have small windows,
//! and a longer queue among them is no harm. Below the target a window grows by `ai` packets a round trip; above it, it
//! shrinks at most once a round trip, by how far the delay is above, `max_mdf` at most. A window below one packet is a
//! pause between packets.

use super::{Ack, Algorithm, Loss, Path, full, rate};
use crate::units::{Bytes, Rate, Time};
use crate::wire;

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The target on a way of no hops and with a large window.
    pub base: Time,
    /// What every cable on the way adds.
    pub per_hop: Time,
    /// What a window of `small` packets or less adds.
    pub range: Time,
    /// The window, in packets, at which all of `range` is added.
    pub small: f64,
    /// The window, in packets, from which on nothing is added.
    pub large: f64,
    /// Packets added in a round trip.
    pub ai: f64,
    /// How hard it brakes.
    pub b: f64,
    /// The largest part of the window that it gives up at once.
    pub max_mdf: f64,
    /// The smallest window in packets.
    pub least: f64,
    /// Time-outs in a row that leave the smallest window.
    pub patience: u8,
    /// The first window in packets; `None`: what the path holds.
    pub start: Option<f64>,
}

crate::scenario::knobs!(Settings {
    base > 0, per_hop, range, small > 0, large > 0, ai, b, max_mdf, least > 0, patience, start
});

impl Default for Settings {
    /// One packet a round trip, b .8, max_mdf .5, a base of 25 us and scaling between .1 and 100 packets, as the public
    /// implementations of the paper have them. Declared here: 1 us a hop, 25 us of scaling, a hundredth of a packet at
    /// least, five time-outs.
    fn default() -> Self {
        Self {
            base: Time::us(25),
            per_hop: Time::us(1),
            range: Time::us(25),
            small: 0.1,
            large: 100.0,
            ai: 1.0,
            b: 0.8,
            max_mdf: 0.5,
            least: 0.01,
            patience: 5,
            start: None,
        }
    }
}

impl Settings {
    /// The target delay of a window of `window` packets over `hops` cables, in picoseconds.
    fn target(&self, window: f64, hops: u8) -> f64 {
        let range = self.range.0 as f64;
        let (small, large) = (1.0 / self.small.sqrt(), 1.0 / self.large.sqrt());
        let slope = range / (small - large);
        let more = (slope * (1.0 / window.sqrt() - large)).min(range).max(0.0);
        (self.base + self.per_hop.times(u64::from(hops))).0 as f64 + more
    }
}

/// A queue pair under Swift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swift {
    line: Rate,
    mtu: u32,
    hops: u8,
    timeouts: u8,
    /// Packets.
    window: f64,
    rtt: Time,
    /// When the window may shrink again.
    shrink: Time,
}

impl Swift {
    fn shrink(&mut self, settings: &Settings, now: Time, factor: f64) {
        if now < self.shrink {
            return;
        }
        self.shrink = now + self.rtt;
        self.window = (self.window * factor).max(settings.least);
    }
}

impl Algorithm for Swift {
    type Settings = Settings;

    fn new(settings: &Settings, path: &Path, now: Time) -> Self {
        let fills = path.bdp().0 as f64 / path.mtu.0.max(1) as f64;
        Self {
            line: path.line,
            mtu: path.mtu.0 as u32,
            hops: path.hops,
            timeouts: 0,
            window: settings.start.unwrap_or(fills).max(settings.least),
            rtt: path.base_rtt,
            shrink: now,
        }
    }

    fn on_ack(&mut self, settings: &Settings, ack: &Ack<'_>) {
        self.timeouts = 0;
        self.rtt = ack.rtt;
        let (delay, target) = (ack.rtt.0 as f64, settings.target(self.window, self.hops));
        if delay < target {
            let packets = ack.bytes.0 as f64 / f64::from(self.mtu.max(1));
            if self.window < 1.0 {
                self.window += settings.ai * packets;
            } else if full(ack, self.window * f64::from(self.mtu), self.mtu) {
                self.window += settings.ai * packets / self.window;
            }
        } else {
            let factor = (1.0 - settings.b * (delay - target) / delay).max(1.0 - settings.max_mdf);
            self.shrink(settings, ack.now, factor);
        }
    }

    fn on_loss(&mut self, settings: &Settings, now: Time, loss: Loss) {
        if loss == Loss::Timeout {
            self.timeouts = self.timeouts.saturating_add(1);
            if self.timeouts >= settings.patience {
                self.window = settings.least;
                return;
            }
        }
        self.shrink(settings, now, 1.0 - settings.max_mdf);
    }

    fn rate(&self) -> Rate {
        if self.window >= 1.0 || self.rtt == Time::ZERO {
            return self.line;
        }
        let bits = f64::from(self.mtu + wire::HEADERS + wire::GAP) * 8.0;
        rate(self.window * bits / self.rtt.seconds(), self.line)
    }

    fn window(&self) -> Option<Bytes> {
        Some(Bytes((self.window.max(1.0) * f64::from(self.mtu)) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, path};
    use super::*;

    /// A window of `window` packets of 1000 bytes on two hops: a target of 27 us and more.
    fn swift(window: f64) -> (Settings, Swift) {
        let settings = Settings { start: Some(window), ..Settings::default() };
        let path = Path { hops: 2, ..path(Rate::gbps(100), Time::us(8), 1_000) };
        (settings, Swift::new(&settings, &path, Time::us(5)))
    }

    fn near(is: f64, want: f64) {
        assert!((is - want).abs() < 1e-9 * want.abs(), "{is}, not {want}");
    }

    #[test]
    fn small_windows_have_a_longer_target() {
        let settings = Settings::default();
        near(settings.target(100.0, 2), 27e6);
        near(settings.target(10_000.0, 0), 25e6);
        near(settings.target(0.1, 2), 52e6);
        near(settings.target(0.001, 2), 52e6);
        // 25 us x (1 - .1) / (sqrt(10) - .1) at one packet.
        near(settings.target(1.0, 0), 25e6 + 25e6 * 0.9 / (10_f64.sqrt() - 0.1));
    }

    #[test]
    fn below_the_target_it_adds_and_above_it_brakes_once_a_round_trip() {
        let (settings, mut swift) = swift(100.0);
        let at = |now, rtt| Ack { now, in_flight: Bytes(99_000), ..ack(1_000, rtt) };
        swift.on_ack(&settings, &at(Time::us(100), Time::us(20)));
        near(swift.window, 100.01);
        // The target is 27 us from 100 packets on; 36 us are 9 above: 1 - .8 x 9/36 = .8.
        swift.on_ack(&settings, &at(Time::us(200), Time::us(36)));
        near(swift.window, 80.008);
        swift.on_ack(&settings, &at(Time::us(235), Time::us(90)));
        near(swift.window, 80.008);
        // Far above: half at most.
        swift.on_ack(&settings, &at(Time::us(236), Time::ms(5)));
        near(swift.window, 40.004);
    }

    #[test]
    fn a_window_below_one_is_a_pace() {
        let (settings, mut swift) = swift(0.25);
        swift.on_ack(&settings, &Ack { bytes: Bytes(0), ..ack(0, Time::us(20)) });
        // A quarter of 1082 bytes in 20 us.
        assert_eq!((swift.rate(), swift.window()), (Rate(108_200_000), Some(Bytes(1_000))));
        swift.on_ack(&settings, &ack(1_000, Time::us(20)));
        near(swift.window, 1.25);
        assert_eq!((swift.rate(), swift.window()), (Rate::gbps(100), Some(Bytes(1_250))));
    }

    #[test]
    fn losses_halve_and_five_timeouts_leave_the_least() {
        let (settings, mut swift) = swift(64.0);
        for n in 1..5 {
            swift.on_loss(&settings, Time::ms(n), Loss::Timeout);
        }
        near(swift.window, 4.0);
        swift.on_loss(&settings, Time::ms(5), Loss::Timeout);
        near(swift.window, 0.01);
    }
}
