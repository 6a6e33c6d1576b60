//! `[cc]`: what the settings of each congestion control ask of one another.

use super::Sense;
use crate::cc;
use crate::units::{Bytes, Rate, Time};

impl Sense<'_, '_> {
    pub(super) fn cc(&self) {
        match &self.scenario.settings.cc {
            cc::Settings::None(_) => {}
            cc::Settings::Fixed(set) => {
                self.fits_line(&[("cc.rate", set.rate)]);
                self.not_zero(&[("cc.window", set.window == Some(Bytes(0)))]);
            }
            cc::Settings::Dcqcn(set) => {
                self.shares(&[("cc.g", set.g)]);
                self.fits_line(&[("cc.min", set.min)]);
                self.not_zero(&[("cc.byte_counter", set.byte_counter == Some(Bytes(0)))]);
                if set.rate_timer == Time::NEVER && set.byte_counter.is_none() {
                    self.refuse(&["cc.rate_timer"], "with no byte_counter either, a rate would never rise");
                }
            }
            cc::Settings::Dctcp(set) => {
                self.shares(&[("cc.g", set.g)]);
                self.least_window(set.start, self.scenario.settings.nic.mtu, "a packet");
            }
            cc::Settings::Timely(set) => {
                self.shares(&[("cc.a", set.a), ("cc.b", set.b)]);
                self.at_most(&["cc.low", "cc.high"], set.low, set.high, ", which is high");
                self.fits_line(&[("cc.start", set.start.unwrap_or(Rate::MAX)), ("cc.least", set.least)]);
                self.finite(&[("cc.low", set.low), ("cc.shortest", set.shortest.unwrap_or_default())]);
                self.not_zero(&[("cc.shortest", set.shortest == Some(Time::ZERO))]);
                if let Some(start) = set.start {
                    self.at_most(&["cc.least", "cc.start"], set.least, start, ", which is start");
                }
            }
            cc::Settings::Swift(set) => {
                self.shares(&[("cc.max_mdf", set.max_mdf)]);
                self.finite(&[("cc.base", set.base), ("cc.per_hop", set.per_hop), ("cc.range", set.range)]);
                if set.small >= set.large {
                    let (small, large) = (set.small, set.large);
                    self.refuse(
                        &["cc.small", "cc.large"],
                        format!("small is {small}, and must be below large, {large}"),
                    );
                }
                if let Some(start) = set.start {
                    self.at_most(&["cc.least", "cc.start"], set.least, start, ", which is start");
                }
            }
            cc::Settings::Hpcc(set) => {
                self.shares(&[("cc.eta", set.eta)]);
                self.finite(&[("cc.rtt", set.rtt.unwrap_or_default())]);
                self.not_zero(&[("cc.rtt", set.rtt == Some(Time::ZERO))]);
            }
            cc::Settings::Hierarchical(set) => {
                for alpha in set.alpha {
                    self.shares(&[("cc.alpha", alpha)]);
                }
                for above in set.above_ppm {
                    self.ppm("cc.above_ppm", above);
                    let paths = ["cc.global_ppm", "cc.above_ppm"];
                    self.at_most(&paths, set.global_ppm, above, ": a domain would brake where all may rise");
                }
                self.shares(&[("cc.gain", set.gain)]);
                self.fits_line(&[("cc.least", set.least)]);
                self.finite(&[
                    ("cc.window", set.window),
                    ("cc.global_window", set.global_window),
                    ("cc.quiet", set.quiet),
                ]);
            }
        }
    }

    /// A first window that holds something.
    fn least_window(&self, start: Option<Bytes>, least: Bytes, what: &str) {
        if let Some(start) = start.filter(|start| *start < least) {
            self.refuse(&["cc.start"], format!("{} bytes are less than {what} of {}", start.0, least.0));
        }
    }
}
