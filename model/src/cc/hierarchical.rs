//! Control by congestion domain (SYSTEMS C5).
//!
//! A path's tiers are domains, and a queue pair has a rate for each; it sends at the lowest of them. Receivers measure
//! by domain the share `P` of packets that its switches marked in a window, and tell the sender when that is above the
//! domain's threshold `T_d` ([`super::Domains`]). The domain's rate then becomes `R (1 - alpha P)`, with a high alpha
//! near the hosts, where a queue belongs to few flows, and a low one far from them, where many flows meet and each
//! should give a little. A domain that has been silent for a time rises, each time by a part of what the path holds:
//! long fast paths rise faster.
//!
//! The published description gives no figures, and does not say what the global threshold `T_g` does, but that it is
//! far below `T_d`. Here it is what calm means: when more than `T_g` of all packets came marked, wherever that was, no
//! rate rises. Between the two thresholds rates stand still, and nobody sends CNPs.
//!
//! Both shares can only be told from enough packets. One of the five that a queue pair of 3 Gb/s gets through in 50 us
//! is a fifth when marked, above any sensible `T_d`: noise would then send CNPs that the description does not mean. And
//! of twenty packets half the time none is marked where three in a hundred are: rates would go on rising far above
//! `T_g`. So a receiver takes its share over a sample, or until the answer is certain: in a storm, where all are
//! marked, after a tenth of that. A sender takes its own over a longer window, and knows before its end when there are
//! too many.
//!
//! What stands still does not stay for ever. The sum of the rates is a little above what the port can send, the queue
//! adds up the difference, and only a CNP takes it back. Each cut is `alpha P R`, so their number follows the slope:
//! `validate` has it.

use super::{Ack, Algorithm, Cnp, DOMAINS, Domains, Feedback, Loss, Path, above, domain, rate};
use crate::units::{Rate, Time};

/// What can be set. Values by domain are for the leaf, the spine, and all above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How hard each domain brakes.
    pub alpha: [f64; DOMAINS],
    /// `T_d`: the marked share, in parts of a million, from which a domain brakes.
    pub above_ppm: [u32; DOMAINS],
    /// `T_g`: the marked share of all packets, in parts of a million, above which nothing rises.
    pub global_ppm: u32,
    /// Over how long receivers measure, at least.
    pub window: Time,
    /// Over how many packets shares are measured, at least, unless fewer make the answer certain.
    pub sample: u32,
    /// Over how long senders measure whether it is calm.
    pub global_window: Time,
    /// How long a domain must be silent before it rises, and between two rises.
    pub quiet: Time,
    /// The part of the path's bandwidth-delay product by which each silent time lets what is sent in it grow.
    pub gain: f64,
    /// The lowest rate.
    pub least: Rate,
}

crate::scenario::knobs!(Settings {
    alpha, above_ppm, global_ppm, window > 0, sample > 0, global_window > 0, quiet > 0, gain, least > 0
});

impl Default for Settings {
    /// All declared, none published: alpha 1/2, 1/4, 1/8 from the leaf on; a tenth of packets against a hundredth,
    /// told from fifty packets; windows of 50 us and 55 us of silence, as DCQCN's timers are (SIGCOMM 2015), ten
    /// windows for calm; a 1024th of what the path holds, the slowest slope that fills the ports of `validate`'s storm
    /// within 60 ms; a thousandth of 100 Gb/s.
    fn default() -> Self {
        Self {
            alpha: [0.5, 0.25, 0.125],
            above_ppm: [100_000; DOMAINS],
            global_ppm: 10_000,
            window: Time::us(50),
            sample: 50,
            global_window: Time::us(500),
            quiet: Time::us(55),
            gain: 1.0 / 1024.0,
            least: Rate::mbps(100),
        }
    }
}

/// A domain of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Domain {
    /// Bits per second.
    rate: f64,
    /// When it may rise.
    rise: Time,
}

/// A queue pair under hierarchical control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hierarchical {
    line: Rate,
    step: f64,
    domains: [Domain; DOMAINS],
    /// Packets acknowledged in this window, and marked ones among them.
    packets: u32,
    marked: u32,
    /// When the window ends.
    end: Time,
    /// What the last one said.
    calm: bool,
}

impl Hierarchical {
    fn lowest(&self) -> f64 {
        self.domains.iter().fold(self.line.0 as f64, |low, domain| low.min(domain.rate))
    }
}

impl Algorithm for Hierarchical {
    type Settings = Settings;

    fn new(settings: &Settings, path: &Path, _: Time) -> Self {
        let line = path.line.0 as f64;
        // A slope in proportion to the bandwidth-delay product: gain x BDP more in every silent time.
        let step = settings.gain * path.bdp().0 as f64 * 8.0 / settings.quiet.seconds();
        let domains = [Domain { rate: line, rise: Time::NEVER }; DOMAINS];
        Self { line: path.line, step: step.min(line), domains, packets: 0, marked: 0, end: Time::ZERO, calm: true }
    }

    fn feedback(settings: &Settings) -> Feedback {
        let domains = Domains { window: settings.window, sample: settings.sample, above_ppm: settings.above_ppm };
        Feedback { domains: Some(domains), ..Feedback::default() }
    }

    fn on_ack(&mut self, settings: &Settings, ack: &Ack<'_>) {
        self.packets = self.packets.saturating_add(ack.packets);
        self.marked = self.marked.saturating_add(ack.marked);
        let certain = above(self.marked, self.packets.max(settings.sample), settings.global_ppm);
        if certain || ack.now >= self.end {
            self.calm = !above(self.marked, self.packets, settings.global_ppm);
            self.end = ack.now + settings.global_window;
            (self.packets, self.marked) = (0, 0);
        }
    }

    fn on_cnp(&mut self, settings: &Settings, cnp: &Cnp) {
        let row = domain(cnp.tier);
        let now = self.lowest();
        let (Some(domain), Some(alpha)) = (self.domains.get_mut(row), settings.alpha.get(row)) else { return };
        // What the domain saw is what was sent, whichever domain held it back.
        let share = f64::from(cnp.share_ppm.min(1_000_000)) / 1e6;
        let least = settings.least.min(self.line).0 as f64;
        domain.rate = (now * (1.0 - alpha * share)).max(least);
        domain.rise = cnp.now + settings.quiet.max(Time(1));
    }

    /// A loss says nothing of domains; the retransmission and the marks around it do.
    fn on_loss(&mut self, _: &Settings, _: Time, _: Loss) {}

    fn deadline(&self) -> Time {
        self.domains.iter().fold(Time::NEVER, |first, domain| first.min(domain.rise))
    }

    fn on_timer(&mut self, settings: &Settings, now: Time) {
        let line = self.line.0 as f64;
        for domain in self.domains.iter_mut().filter(|domain| domain.rise <= now) {
            if self.calm {
                domain.rate += self.step;
            }
            domain.rise = now + settings.quiet.max(Time(1));
            if domain.rate >= line {
                *domain = Domain { rate: line, rise: Time::NEVER };
            }
        }
    }

    fn rate(&self) -> Rate {
        rate(self.lowest(), self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, path};
    use super::*;

    /// 100 Gb/s and 8 us hold 100 KB: a 1024th of it in 55 us is 14.204545 Mb/s.
    fn begin() -> (Settings, Hierarchical) {
        let settings = Settings::default();
        let path = path(Rate::gbps(100), Time::us(8), 1_000);
        (settings, Hierarchical::new(&settings, &path, Time::ZERO))
    }

    fn cnp(us: u64, tier: u8, share_ppm: u32) -> Cnp {
        Cnp { now: Time::us(us), tier, share_ppm }
    }

    #[test]
    fn near_domains_brake_harder_than_far_ones() {
        let rate = |tier| {
            let (settings, mut control) = begin();
            control.on_cnp(&settings, &cnp(10, tier, 400_000));
            control.rate()
        };
        // 1 - .5 x .4, 1 - .25 x .4, 1 - .125 x .4.
        assert_eq!([1, 2, 3, 7].map(rate), [80, 90, 95, 95].map(Rate::gbps));
    }

    #[test]
    fn the_lowest_domain_rules_and_each_rises_after_its_own_silence() {
        let (settings, mut control) = begin();
        assert_eq!(control.deadline(), Time::NEVER);
        control.on_cnp(&settings, &cnp(10, 1, 400_000));
        control.on_cnp(&settings, &cnp(20, 2, 400_000));
        // The spine brakes from the 80 that were sent.
        assert_eq!((control.rate(), control.deadline()), (Rate::gbps(72), Time::us(65)));
        control.on_timer(&settings, Time::us(65));
        assert_eq!((control.rate(), control.deadline()), (Rate::gbps(72), Time::us(75)));
        control.on_timer(&settings, Time::us(75));
        assert_eq!((control.rate(), control.deadline()), (Rate(72_014_204_545), Time::us(120)));
    }

    /// Plays the ACKs of `packets`, the first `marked` of them marked, all at one time.
    fn acks(settings: &Settings, control: &mut Hierarchical, now: Time, marked: u32, packets: u32) {
        for n in 0..packets {
            control.on_ack(settings, &Ack { now, marked: u32::from(n < marked), ..ack(1_000, Time::us(9)) });
        }
    }

    #[test]
    fn between_the_thresholds_nothing_moves() {
        let (settings, mut control) = begin();
        control.on_cnp(&settings, &cnp(10, 1, 1_000_000));
        acks(&settings, &mut control, Time::us(11), 0, 1);
        // One of a hundred is what the global threshold allows; two are above it, and below a domain's tenth.
        acks(&settings, &mut control, Time::us(12), 0, 99);
        acks(&settings, &mut control, Time::us(13), 1, 1);
        assert!(control.calm);
        acks(&settings, &mut control, Time::us(14), 1, 1);
        assert!(!control.calm, "two of 101, and the window of 500 us is not over");
        for due in [65, 120, 175] {
            control.on_timer(&settings, Time::us(due));
            assert_eq!((control.rate(), control.deadline()), (Rate::gbps(50), Time::us(due + 55)));
        }
        // Until a window has no more than one of a hundred.
        acks(&settings, &mut control, Time::us(513), 0, 99);
        control.on_timer(&settings, Time::us(230));
        assert_eq!(control.rate(), Rate::gbps(50));
        acks(&settings, &mut control, Time::us(514), 0, 1);
        control.on_timer(&settings, Time::us(515));
        assert_eq!(control.rate(), Rate(50_014_204_545));
        // One of the first fifty is above it whatever the others are.
        acks(&settings, &mut control, Time::us(516), 1, 1);
        assert!(!control.calm);
    }

    #[test]
    fn at_line_rate_no_timer_is_left() {
        let (settings, mut control) = begin();
        control.on_cnp(&settings, &cnp(10, 3, 900));
        control.on_timer(&settings, Time::us(65));
        assert_eq!((control.rate(), control.deadline()), (Rate::gbps(100), Time::NEVER));
    }
}
