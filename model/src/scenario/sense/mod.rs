//! What no key can tell alone: settings that contradict each other or the fabric, and values that mean nothing.
//!
//! A key's own kind refuses what is no value of it (`value.rs`), the engine what cannot be played (`unfit.rs`). Here is
//! what could be played, but not as it was written: something in it would be left out, or never happen. One file a
//! subject.

mod cc;
mod nic;
mod switch;
mod traffic;

use std::fmt::Display;

use super::Scenario;
use super::reader::Keys;
use crate::units::{Rate, Time};

/// Links that may be watched: each has up to 1,024 bins of two numbers, so that these are half a gigabyte (chosen).
const MOST_WATCHED: usize = 1 << 15;
/// Parts of a million.
const PPM: u32 = 1_000_000;

/// Notes everything that makes no sense in a scenario whose values are right one by one.
pub(super) fn check(scenario: &Scenario, keys: &Keys<'_>) {
    let fabric = &scenario.fabric;
    let of_hosts = fabric.ports().rows().iter().filter(|port| fabric.switch(port.node).is_none());
    let line = of_hosts.map(|port| port.cable.rate).max();
    let sense = Sense { keys, scenario, line: line.unwrap_or(Rate::MAX) };
    sense.switch();
    sense.nic();
    sense.cc();
    if let Some(admission) = &scenario.admission {
        sense.admission(admission);
    }
    for (nth, traffic) in scenario.traffic.iter().enumerate() {
        sense.traffic(&format!("traffic.{nth}"), traffic);
    }
    sense.finite(&[("observe.bin", scenario.bin)]);
    let watched = scenario.watched.len();
    if watched > MOST_WATCHED {
        sense.refuse(
            &["observe.watch"],
            format!("{watched} links; no more than {MOST_WATCHED} can be watched, so name some"),
        );
    }
    sense.printable("name", &scenario.name, &[]);
    sense.printable("about", &scenario.about, &['\n', '\r', '\t']);
}

struct Sense<'a, 't> {
    keys: &'a Keys<'t>,
    scenario: &'a Scenario,
    /// What the fastest cable of a host carries.
    line: Rate,
}

/// The last part of a path.
fn key(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

impl Sense<'_, '_> {
    /// Notes a fault at the first of some paths that is there.
    fn refuse(&self, paths: &[&str], why: impl Display) {
        let name = paths.iter().find(|path| self.keys.has(path)).or(paths.first()).map_or("", |path| key(path));
        self.keys.fault_in(paths, format!("{name}: {why}"));
    }

    /// Times that must come.
    fn finite(&self, rows: &[(&str, Time)]) {
        for (path, _) in rows.iter().filter(|(_, time)| *time == Time::NEVER) {
            self.keys.fault_in(&[path], format!("{} is never; it must be a time", key(path)));
        }
    }

    /// Texts for a terminal, which control characters would be orders for.
    fn printable(&self, path: &str, text: &str, but: &[char]) {
        if let Some(control) = text.chars().find(|c| c.is_control() && !but.contains(c)) {
            self.refuse(&[path], format!("it has the control character {control:?}; leave it out"));
        }
    }

    /// What must not be zero.
    fn not_zero(&self, rows: &[(&str, bool)]) {
        for (path, _) in rows.iter().filter(|(_, zero)| *zero) {
            self.keys.fault_in(&[path], format!("{} is zero; it must be more", key(path)));
        }
    }

    /// What may be no more than something else.
    fn at_most<T: PartialOrd + Display>(&self, paths: &[&str], value: T, most: T, of: &str) {
        if value > most {
            let name = paths.first().map_or("", |path| key(path));
            self.keys.fault_in(paths, format!("{name} is {value}; it must be at most {most}{of}"));
        }
    }

    /// Rates that a host's cable must carry; the largest number there is means no limit.
    fn fits_line(&self, rows: &[(&str, Rate)]) {
        for (path, rate) in rows.iter().filter(|(_, rate)| *rate != Rate::MAX) {
            self.at_most(&[path], *rate, self.line, ", the rate of a host's cable");
        }
    }

    /// Shares of one.
    fn shares(&self, rows: &[(&str, f64)]) {
        for (path, share) in rows {
            self.at_most(&[path], *share, 1.0, ": it is a share");
        }
    }

    fn ppm(&self, path: &str, ppm: u32) {
        self.at_most(&[path], ppm, PPM, ": it is in parts of a million");
    }
}

#[cfg(test)]
mod tests;
