//! DCQCN (SYSTEMS C1, C2): Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015.
//!
//! The reaction point. A CNP cuts the rate by half of alpha, which remembers how often there were any; a timer and a
//! byte counter then bring it back: five steps half of the way to where it was (fast recovery), then the target grows,
//! slowly while only one of the two has gone on (additive), faster when both have (hyper increase).
//!
//! Its fixed points are in `validate`: N flows at a bottleneck settle at the marking probability at which the fluid
//! model's cuts and rises are in balance, and at the queue that RED then needs.

use super::{Algorithm, Cnp, Feedback, Path};
use crate::units::{Bytes, Rate, Time};

/// What differs between the paper and what some NICs are said to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Variant {
    /// As published: every CNP updates alpha and cuts at once.
    #[default]
    Paper,
    /// As the simulator published with HPCC (SIGCOMM 2019) has it: alpha follows its timer alone, by whether a CNP came
    /// since the last; the first CNP only arms it; cuts are made at checks; no byte counter; one additive step, then
    /// the hyper step without growth.
    Vendor {
        /// Time between two checks.
        check: Time,
    },
}

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Weight of news in alpha.
    pub g: f64,
    /// Time without a CNP after which alpha falls.
    pub alpha_timer: Time,
    /// Time after which the rate rises.
    pub rate_timer: Time,
    /// Bytes after which the rate rises; `None`: the timer alone.
    pub byte_counter: Option<Bytes>,
    /// Steps of fast recovery.
    pub f: u32,
    /// Additive step of the target.
    pub ai: Rate,
    /// Hyper step of the target.
    pub hai: Rate,
    /// The rate never falls below this.
    pub min: Rate,
    /// The paper's rules, or a vendor's.
    pub variant: Variant,
}

crate::scenario::knobs!(Settings { g, alpha_timer > 0, rate_timer > 0, byte_counter, f, ai, hai, min, variant });

impl Default for Settings {
    /// The paper's values: g 1/256, both timers 55 us, 10 MB, F 5, 40 Mb/s.
    /// It has none for the hyper step and the lowest rate: ten additive steps, and 10 Mb/s.
    fn default() -> Self {
        Self {
            g: 1.0 / 256.0,
            alpha_timer: Time::us(55),
            rate_timer: Time::us(55),
            byte_counter: Some(Bytes(10_000_000)),
            f: 5,
            ai: Rate::mbps(40),
            hai: Rate::mbps(400),
            min: Rate::mbps(10),
            variant: Variant::Paper,
        }
    }
}

impl Settings {
    /// The vendor variant, checks every 4 us, as the simulator published with HPCC has it.
    #[must_use]
    pub fn vendor() -> Self {
        Self { byte_counter: None, f: 1, variant: Variant::Vendor { check: Time::us(4) }, ..Self::default() }
    }
}

/// The reaction point of a queue pair. Rates in bits per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dcqcn {
    line: f64,
    rate: f64,
    target: f64,
    alpha: f64,
    alpha_due: Time,
    rate_due: Time,
    /// The next check for a cut (vendor).
    check_due: Time,
    /// Bytes since the byte counter last counted.
    sent: u64,
    /// What timer and byte counter have counted since the last cut, and hyper steps.
    timer: u32,
    counter: u32,
    hyper: u32,
    /// Whether a CNP came: since the last alpha timer, since the last check (vendor).
    news: (bool, bool),
}

impl Dcqcn {
    /// The congestion estimate, 0 to 1.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    fn cut(&mut self, settings: &Settings, now: Time) {
        self.target = self.rate;
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(settings.min.0 as f64).min(self.line);
        self.timer = 0;
        self.counter = 0;
        self.hyper = 0;
        self.sent = 0;
        self.rate_due = now + settings.rate_timer;
    }

    fn rise(&mut self, settings: &Settings) {
        let (least, most) = match settings.byte_counter {
            Some(_) => (self.timer.min(self.counter), self.timer.max(self.counter)),
            None => (self.timer, self.timer),
        };
        if least > settings.f {
            self.hyper = match settings.variant {
                Variant::Paper => self.hyper + 1,
                Variant::Vendor { .. } => 1,
            };
            self.target += f64::from(self.hyper) * settings.hai.0 as f64;
        } else if most >= settings.f {
            self.target += settings.ai.0 as f64;
        }
        self.target = self.target.min(self.line);
        self.rate = ((self.rate + self.target) / 2.0).min(self.line);
    }

    fn learn(&mut self, settings: &Settings, congested: bool) {
        let news = if congested { settings.g } else { 0.0 };
        self.alpha = (1.0 - settings.g) * self.alpha + news;
    }
}

impl Algorithm for Dcqcn {
    type Settings = Settings;

    fn new(_: &Settings, path: &Path, _: Time) -> Self {
        let line = path.line.0 as f64;
        Self {
            line,
            rate: line,
            target: line,
            alpha: 1.0,
            // Until the first CNP there is nothing to recover from.
            alpha_due: Time::NEVER,
            rate_due: Time::NEVER,
            check_due: Time::NEVER,
            sent: 0,
            timer: 0,
            counter: 0,
            hyper: 0,
            news: (false, false),
        }
    }

    fn feedback(_: &Settings) -> Feedback {
        Feedback { cnp: true, ..Feedback::default() }
    }

    fn on_send(&mut self, settings: &Settings, _: Time, Bytes(bytes): Bytes) {
        let Some(Bytes(every)) = settings.byte_counter else { return };
        if self.rate_due == Time::NEVER {
            return;
        }
        self.sent += bytes;
        if self.sent >= every {
            self.sent = 0;
            self.counter += 1;
            self.rise(settings);
        }
    }

    fn on_cnp(&mut self, settings: &Settings, cnp: &Cnp) {
        match settings.variant {
            Variant::Paper => {
                self.cut(settings, cnp.now);
                self.learn(settings, true);
                self.alpha_due = cnp.now + settings.alpha_timer;
            }
            Variant::Vendor { check } => {
                self.news = (true, true);
                if self.rate_due == Time::NEVER {
                    self.news.0 = false;
                    self.alpha_due = cnp.now + settings.alpha_timer;
                    self.rate_due = cnp.now + settings.rate_timer;
                    self.check_due = cnp.now + check.max(Time(1));
                }
            }
        }
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.alpha_due.min(self.rate_due).min(self.check_due)
    }

    fn on_timer(&mut self, settings: &Settings, now: Time) {
        if self.alpha_due <= now {
            let congested = std::mem::take(&mut self.news.0);
            self.learn(settings, congested);
            self.alpha_due = now + settings.alpha_timer.max(Time(1));
        }
        if self.rate_due <= now {
            self.timer += 1;
            self.rate_due = now + settings.rate_timer.max(Time(1));
            self.rise(settings);
        }
        if let Variant::Vendor { check } = settings.variant
            && self.check_due <= now
        {
            if std::mem::take(&mut self.news.1) {
                self.cut(settings, now);
            }
            self.check_due = now + check.max(Time(1));
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        Rate((self.rate as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path = Path { line: Rate::gbps(40), base_rtt: Time::us(4), mtu: Bytes(1000), hops: 2, tier: 1 };

    fn begin(settings: &Settings) -> Dcqcn {
        Dcqcn::new(settings, &PATH, Time::ZERO)
    }

    fn until(dcqcn: &mut Dcqcn, settings: &Settings, now: Time) {
        while dcqcn.deadline() <= now {
            let due = dcqcn.deadline();
            dcqcn.on_timer(settings, due);
        }
    }

    fn gbps(dcqcn: &Dcqcn) -> f64 {
        dcqcn.rate().0 as f64 / 1e9
    }

    #[test]
    fn a_cnp_halves_and_five_steps_bring_back() {
        let settings = Settings::default();
        let mut dcqcn = begin(&settings);
        dcqcn.on_cnp(&settings, &Cnp { now: Time::us(10), tier: 1, share_ppm: 1_000_000 });
        // Alpha is 1 at first: half is left, and the target is where it was.
        assert_eq!(gbps(&dcqcn), 20.0);
        let mut story = Vec::new();
        for step in 1..=6 {
            until(&mut dcqcn, &settings, Time::us(10 + 55 * step));
            story.push((gbps(&dcqcn) * 1000.0).round());
        }
        // 30, 35, 37.5, 38.75; from the fifth count on the target grows, but not beyond the line.
        assert_eq!(story, [30_000.0, 35_000.0, 37_500.0, 38_750.0, 39_375.0, 39_688.0]);
        // One update by the CNP, six by the timer.
        let alpha = (255.0_f64 / 256.0 + 1.0 / 256.0) * (255.0_f64 / 256.0).powi(6);
        assert!((dcqcn.alpha() - alpha).abs() < 1e-12);
    }

    #[test]
    fn additive_then_hyper() {
        let settings = Settings { byte_counter: Some(Bytes(1_000_000)), ..Settings::default() };
        let mut dcqcn = begin(&settings);
        // Down to a rate that leaves room: two cuts in a row.
        for now in [10, 60, 110, 160] {
            dcqcn.on_cnp(&settings, &Cnp { now: Time::us(now), tier: 1, share_ppm: 1_000_000 });
        }
        let target = dcqcn.target;
        until(&mut dcqcn, &settings, Time::us(160 + 55 * 5));
        assert_eq!(dcqcn.target, target + 40e6, "the fifth count of the timer is additive");
        for _ in 0..6 {
            dcqcn.on_send(&settings, Time::us(440), Bytes(1_000_000));
        }
        // The timer stands at 5, which is not above F: still additive.
        assert_eq!(dcqcn.target, target + 7.0 * 40e6);
        until(&mut dcqcn, &settings, Time::us(160 + 55 * 7));
        assert_eq!(dcqcn.target, target + 7.0 * 40e6 + 400e6 + 800e6);
    }

    #[test]
    fn the_vendor_cuts_at_checks_and_learns_by_the_clock() {
        let settings = Settings::vendor();
        let mut dcqcn = begin(&settings);
        dcqcn.on_cnp(&settings, &Cnp { now: Time::us(10), tier: 1, share_ppm: 1_000_000 });
        assert_eq!(gbps(&dcqcn), 40.0);
        until(&mut dcqcn, &settings, Time::us(14));
        assert_eq!(gbps(&dcqcn), 20.0);
        // The first CNP only arms alpha; the next one counts once, however many there are.
        until(&mut dcqcn, &settings, Time::us(65));
        assert!((dcqcn.alpha() - 255.0 / 256.0).abs() < 1e-12);
        for now in [70, 71, 72] {
            dcqcn.on_cnp(&settings, &Cnp { now: Time::us(now), tier: 1, share_ppm: 1_000_000 });
        }
        until(&mut dcqcn, &settings, Time::us(120));
        assert!((dcqcn.alpha() - (255.0 / 256.0 * 255.0 / 256.0 + 1.0 / 256.0)).abs() < 1e-12);
    }
}
