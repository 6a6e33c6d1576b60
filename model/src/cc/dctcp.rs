//! Control by the share of marked packets (SYSTEMS C8): DCTCP (SIGCOMM 2010; RFC 8257) on a queue pair's window.
//!
//! Once per round trip `alpha <- (1 - g) alpha + g F`, `F` the share of packets marked in it. The first mark of a round
//! makes the window `1 - alpha/2` of what it was; a round without marks adds one packet, spread over its ACKs, while
//! the window is what holds the sender back.

use super::{Ack, Algorithm, Loss, Path, full};
use crate::units::{Bytes, Rate, Time};

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Weight of the newest round in alpha.
    pub g: f64,
    /// Packets that a round without marks adds.
    pub increase: f64,
    /// The first window; `None`: what the path holds.
    pub start: Option<Bytes>,
}

crate::scenario::knobs!(Settings { g, increase, start });

impl Default for Settings {
    /// g = 1/16 (RFC 8257, 4.2), one packet per round trip; a first window that fills the path, as a NIC begins at line
    /// rate.
    fn default() -> Self {
        Self { g: 1.0 / 16.0, increase: 1.0, start: None }
    }
}

/// A queue pair under DCTCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dctcp {
    line: Rate,
    mtu: u32,
    /// Payload bytes.
    window: f64,
    alpha: f64,
    /// Payload still to be acknowledged in this round.
    left: u64,
    /// Packets acknowledged in this round, and marked ones among them.
    packets: u32,
    marked: u32,
    /// Whether this round has cut the window.
    cut: bool,
}

impl Dctcp {
    fn set(&mut self, window: f64) {
        self.window = window.max(f64::from(self.mtu));
    }
}

impl Algorithm for Dctcp {
    type Settings = Settings;

    fn new(settings: &Settings, path: &Path, _: Time) -> Self {
        let mtu = path.mtu.0 as u32;
        let start = settings.start.unwrap_or_else(|| path.bdp()).0.max(path.mtu.0);
        // Alpha begins at one: the first mark halves (Linux: `dctcp_alpha_on_init`).
        let (window, left) = (start as f64, start);
        Self { line: path.line, mtu, window, alpha: 1.0, left, packets: 0, marked: 0, cut: false }
    }

    fn on_ack(&mut self, settings: &Settings, ack: &Ack<'_>) {
        self.packets = self.packets.saturating_add(ack.packets);
        self.marked = self.marked.saturating_add(ack.marked);
        if ack.marked > 0 && !self.cut {
            self.cut = true;
            self.set(self.window * (1.0 - self.alpha / 2.0));
        } else if !self.cut && full(ack, self.window, self.mtu) {
            self.set(self.window + settings.increase * f64::from(self.mtu) * ack.bytes.0 as f64 / self.window);
        }
        self.left = self.left.saturating_sub(ack.bytes.0);
        if self.left > 0 {
            return;
        }
        if self.packets > 0 {
            let share = f64::from(self.marked) / f64::from(self.packets);
            self.alpha = (1.0 - settings.g) * self.alpha + settings.g * share;
        }
        // The next round ends with the first packet that was sent after this one has (RFC 8257, 3.3).
        self.left = ack.in_flight.0.saturating_add(1);
        (self.packets, self.marked, self.cut) = (0, 0, false);
    }

    /// As TCP does (RFC 8257, 3.5): half the window when the receiver misses something, one packet after a time-out.
    fn on_loss(&mut self, _: &Settings, _: Time, loss: Loss) {
        match loss {
            Loss::Timeout => self.set(0.0),
            Loss::Nak if self.cut => {}
            Loss::Nak => self.set(self.window / 2.0),
        }
        self.cut = true;
    }

    fn rate(&self) -> Rate {
        self.line
    }

    fn window(&self) -> Option<Bytes> {
        Some(Bytes(self.window as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, path};
    use super::*;

    /// 1 us x 80 Gb/s hold 10 packets of 1000 bytes.
    fn ten() -> Dctcp {
        let dctcp = Dctcp::new(&Settings::default(), &path(Rate::gbps(80), Time::us(1), 1_000), Time::ZERO);
        assert_eq!(dctcp.window(), Some(Bytes(10_000)));
        dctcp
    }

    /// A round of `packets` ACKs, the first `marks` of them with marks.
    fn round(dctcp: &mut Dctcp, packets: usize, marks: usize) {
        for n in 0..packets {
            let ack = Ack { marked: u32::from(n < marks), in_flight: Bytes(9_000), ..ack(1_000, Time::us(1)) };
            dctcp.on_ack(&Settings::default(), &ack);
        }
    }

    #[test]
    fn one_mark_cuts_once_a_round() {
        let mut dctcp = ten();
        // Alpha is 1: half. The round's share, 3 of 10, makes it 15/16 + 0.3/16.
        round(&mut dctcp, 10, 3);
        assert_eq!(dctcp.window, 5_000.0);
        assert!((dctcp.alpha - 0.956_25).abs() < 1e-12, "{}", dctcp.alpha);
        // In the second round 9 packets are on the way, and one more ends it; its first mark takes 0.478125 of 5000.
        round(&mut dctcp, 10, 1);
        assert_eq!(dctcp.window, 2_609.375);
        // One of its ten packets was marked: 0.95625 x 15/16 + 1/160.
        assert!((dctcp.alpha - (0.896_484_375 + 1.0 / 160.0)).abs() < 1e-12, "{}", dctcp.alpha);
    }

    #[test]
    fn a_calm_round_adds_about_a_packet_and_only_when_the_window_is_full() {
        let mut dctcp = ten();
        round(&mut dctcp, 10, 0);
        // Ten steps of 1000 x 1000 / W, from W = 10000 on.
        assert!((dctcp.window - 10958.648).abs() < 0.001, "{}", dctcp.window);
        let before = dctcp.window;
        let idle = Ack { in_flight: Bytes(2_000), ..ack(1_000, Time::us(1)) };
        dctcp.on_ack(&Settings::default(), &idle);
        assert_eq!(dctcp.window, before);
    }

    #[test]
    fn a_loss_halves_and_a_timeout_leaves_one_packet() {
        let mut dctcp = ten();
        dctcp.on_loss(&Settings::default(), Time::ZERO, Loss::Nak);
        dctcp.on_loss(&Settings::default(), Time::ZERO, Loss::Nak);
        assert_eq!(dctcp.window, 5_000.0);
        dctcp.on_loss(&Settings::default(), Time::ZERO, Loss::Timeout);
        assert_eq!(dctcp.window, 1_000.0);
    }
}
