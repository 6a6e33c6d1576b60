//! Control by telemetry (SYSTEMS C7): HPCC (SIGCOMM 2019, algorithm 1).
//!
//! Every switch on the way writes into every packet how long its queue is and how much it has sent; the ACK brings it
//! back ([`crate::cc::Telemetry`]). From two ACKs the sender knows what each link carries and holds, and sets its
//! window so that the busiest one carries `eta` of its rate.

use super::{Ack, Algorithm, Feedback, Path, Telemetry, rate};
use crate::units::{Bytes, Rate, Time};

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The share of a link that it aims at.
    pub eta: f64,
    /// Rounds of adding before it sets the window by measure again.
    pub stages: u32,
    /// Flows that may share a link: each adds its part of what `eta` leaves free.
    pub flows: f64,
    /// The round trip `T` of the fabric; `None`: the path's own.
    pub rtt: Option<Time>,
    /// The smallest window.
    pub least: Bytes,
}

crate::scenario::knobs!(Settings { eta > 0, stages, flows > 0, rtt, least > 0 });

impl Default for Settings {
    /// eta .95, five stages, 100 flows (SIGCOMM 2019: `W_AI` is 80 bytes at 100 Gb/s and 13 us). Declared: 80
    /// bytes at least, one step.
    fn default() -> Self {
        Self { eta: 0.95, stages: 5, flows: 100.0, rtt: None, least: Bytes(80) }
    }
}

/// A queue pair under HPCC.
#[derive(Clone, Debug, PartialEq)]
pub struct Hpcc {
    line: Rate,
    mtu: u32,
    stage: u32,
    /// `T` in picoseconds.
    rtt: f64,
    /// Bytes: now, at the last round's end, and what a step adds.
    window: f64,
    reference: f64,
    step: f64,
    most: f64,
    /// Smoothed load of the busiest link, one for all it can carry.
    load: f64,
    /// Payload still to be acknowledged in this round.
    left: u64,
    /// What the hops wrote into the last ACK.
    before: Vec<Telemetry>,
}

impl Hpcc {
    /// The busiest link's load since the last ACK, and the time in which it was measured; `None` when nothing was.
    fn busiest(&self, hops: &[Telemetry]) -> Option<(f64, f64)> {
        let mut busiest = None;
        for (new, old) in hops.iter().zip(&self.before) {
            // A reordered ACK, or another way, measures nothing.
            if new.at <= old.at || new.sent < old.sent || new.line != old.line || new.line.0 == 0 {
                continue;
            }
            let time = (new.at - old.at).0 as f64;
            let line = new.line.0 as f64 / (8.0 * Time::SECOND.0 as f64);
            let queue = new.queue.min(old.queue).0 as f64;
            let sent = (new.sent.0 - old.sent.0) as f64;
            let load = queue / (line * self.rtt) + sent / time / line;
            if busiest.is_none_or(|(most, _)| load > most) {
                busiest = Some((load, time));
            }
        }
        busiest
    }
}

impl Algorithm for Hpcc {
    type Settings = Settings;

    fn new(settings: &Settings, path: &Path, _: Time) -> Self {
        let rtt = settings.rtt.unwrap_or(path.base_rtt).max(Time(1));
        let fills = path.line.bytes_in(rtt).0.max(settings.least.0).max(1);
        let window = fills as f64;
        Self {
            line: path.line,
            mtu: path.mtu.0 as u32,
            stage: 0,
            rtt: rtt.0 as f64,
            window,
            reference: window,
            step: window * (1.0 - settings.eta) / settings.flows,
            most: window,
            load: 1.0,
            left: fills,
            before: Vec::new(),
        }
    }

    fn feedback(_: &Settings) -> Feedback {
        Feedback { telemetry: true, ..Feedback::default() }
    }

    fn on_ack(&mut self, settings: &Settings, ack: &Ack<'_>) {
        if let Some((load, time)) = self.busiest(ack.hops) {
            let weight = time.min(self.rtt) / self.rtt;
            self.load = (1.0 - weight) * self.load + weight * load;
            let measure = self.load >= settings.eta || self.stage >= settings.stages;
            let window = if measure {
                self.reference / (self.load / settings.eta) + self.step
            } else {
                self.reference + self.step
            };
            self.window = window.min(self.most).max(settings.least.0 as f64);
            self.left = self.left.saturating_sub(ack.bytes.0);
            if self.left == 0 {
                // The next round ends with the first packet that was sent after this: only there the new window shows.
                self.left = ack.in_flight.0.saturating_add(1);
                self.stage = if measure { 0 } else { self.stage + 1 };
                self.reference = self.window;
            }
        }
        self.before.clear();
        self.before.extend_from_slice(ack.hops);
    }

    fn rate(&self) -> Rate {
        rate(self.window * 8.0 * Time::SECOND.0 as f64 / self.rtt, self.line)
    }

    /// A packet may go while less than the window is on its way: the last one may reach beyond (as the authors'
    /// simulator has it). Otherwise a window of less than two packets would count as one.
    fn window(&self) -> Option<Bytes> {
        let packets = (self.window as u64).div_ceil(u64::from(self.mtu.max(1)));
        Some(Bytes(packets.max(1) * u64::from(self.mtu.max(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, path};
    use super::*;

    const SETTINGS: Settings = Settings { eta: 0.95, stages: 2, flows: 100.0, rtt: None, least: Bytes(80) };

    /// 80 Gb/s and 10 us: 100 KB on the way, and a step of 50 bytes.
    fn begin() -> Hpcc {
        let hpcc = Hpcc::new(&SETTINGS, &path(Rate::gbps(80), Time::us(10), 1_000), Time::ZERO);
        assert_eq!((hpcc.window(), hpcc.rate()), (Some(Bytes(100_000)), Rate::gbps(80)));
        assert!((hpcc.step - 50.0).abs() < 1e-9);
        hpcc
    }

    /// An ACK at `us` that ends a round; its only hop has sent `sent` bytes and holds `queue`.
    fn tell(hpcc: &mut Hpcc, us: u64, sent: u64, queue: u64) -> f64 {
        let hop = Telemetry { at: Time::us(us), queue: Bytes(queue), sent: Bytes(sent), line: Rate::gbps(80) };
        let ack = Ack { hops: &[hop], ..ack(100_000, Time::us(10)) };
        hpcc.on_ack(&SETTINGS, &ack);
        hpcc.window
    }

    fn near(is: f64, want: f64) {
        assert!((is - want).abs() < 1e-6 * want, "{is}, not {want}");
    }

    #[test]
    fn the_window_goes_to_what_the_busiest_link_can_take() {
        let mut hpcc = begin();
        // The first ACK has nothing to be compared with.
        near(tell(&mut hpcc, 10, 0, 0), 100_000.0);
        // A full link for 10 us, and 50 KB in its queue at both ends of them: 1 + .5 of it.
        near(tell(&mut hpcc, 20, 100_000, 50_000), 95_050.0);
        near(tell(&mut hpcc, 30, 200_000, 50_000), 95_050.0 * 0.95 / 1.5 + 50.0);
    }

    #[test]
    fn the_lower_of_two_queues_counts_and_short_times_weigh_less() {
        let mut hpcc = begin();
        tell(&mut hpcc, 10, 0, 20_000);
        // 10 KB of queue in 100 KB; 5 us at half the rate: .1 + .5, weighed by half: .5 x 1 + .5 x .6 = .8.
        near(tell(&mut hpcc, 15, 25_000, 10_000), 100_000.0);
        near(hpcc.load, 0.8);
    }

    #[test]
    fn below_eta_it_adds_for_some_rounds_and_then_multiplies() {
        let mut hpcc = begin();
        hpcc.window = 40_000.0;
        hpcc.reference = 40_000.0;
        tell(&mut hpcc, 10, 0, 0);
        // 10 us at .475 of the rate.
        near(tell(&mut hpcc, 20, 47_500, 0), 40_050.0);
        near(tell(&mut hpcc, 30, 95_000, 0), 40_100.0);
        // Two stages have passed: by measure, to twice.
        near(tell(&mut hpcc, 40, 142_500, 0), 80_250.0);
        assert_eq!(hpcc.stage, 0);
    }

    #[test]
    fn what_cannot_be_compared_changes_nothing() {
        let mut hpcc = begin();
        tell(&mut hpcc, 10, 50_000, 0);
        near(tell(&mut hpcc, 10, 50_000, 0), 100_000.0);
        near(tell(&mut hpcc, 20, 40_000, 0), 100_000.0);
    }
}
