//! `[switch]`: buffers, marking, scheduling, lanes and the watchdog.

use super::Sense;
use crate::switch::{Buffer, Link, Marking, Watchdog, watchdog};
use crate::units::{Priorities, Priority};

impl Sense<'_, '_> {
    pub(super) fn switch(&self) {
        let switch = &self.scenario.settings.switch;
        let lossless = switch.lossless;
        let tiers = self.scenario.fabric.nodes().map(|node| self.scenario.fabric.tier(node)).max().unwrap_or(0);
        for (list, is) in [("switch.tiers", switch.tiers.len()), ("switch.marking", switch.marking.len())] {
            if is > tiers.into() {
                self.refuse(&[list], format!("{is} entries are for as many tiers, and the fabric has {tiers}"));
            }
        }
        self.buffer("switch.buffer", &switch.buffer);
        for (nth, buffer) in switch.tiers.iter().enumerate() {
            self.buffer(&format!("switch.tiers.{nth}"), buffer);
        }
        if !switch.tiers.is_empty() && self.keys.has("switch.buffer") {
            self.refuse(&["switch.buffer"], "tiers say the buffer of every tier; leave out one of them");
        }
        for (nth, marking) in switch.marking.iter().enumerate() {
            self.marking(&format!("switch.marking.{nth}"), marking);
        }
        let both = self.keys.has("switch.marking") && self.keys.has("switch.marked");
        if both && switch.marking.is_empty() && !switch.marked.is_empty() {
            self.refuse(&["switch.marked"], "nothing is marked where marking is []; leave out one of them");
        }
        if both && !switch.marking.is_empty() && switch.marked.is_empty() {
            self.refuse(&["switch.marking"], "no priority is marked; name some in marked, or leave marking out");
        }
        self.not_zero(&[("switch.quanta", switch.quanta == Some(0))]);
        self.weights(switch.scheduler.strict, &switch.scheduler.weights.0);
        if let Some(lanes) = switch.lanes {
            let paths = ["switch.lanes.down", "switch.lanes.up"];
            if lanes.up == lanes.down {
                self.refuse(&paths, "both lanes have one priority; the down lane needs another");
            } else {
                for (path, lane) in [("switch.lanes.up", lanes.up), ("switch.lanes.down", lanes.down)] {
                    if !lossless.has(lane) {
                        let number = lane.number();
                        self.refuse(
                            &[path],
                            format!("priority {number} is not lossless; name it in [switch] lossless"),
                        );
                    }
                }
            }
        }
        if let Some(watchdog) = &switch.watchdog {
            if lossless.is_empty() {
                self.refuse(&["switch.watchdog"], "it watches lossless priorities, and [switch] lossless has none");
            }
            self.watchdog(watchdog);
        }
    }

    fn buffer(&self, at: &str, buffer: &Buffer) {
        let path = |key: &str| format!("{at}.{key}");
        if buffer.link == Link::Credits && self.scenario.settings.switch.lossless.is_empty() {
            self.refuse(&[&path("link")], "credits are for lossless priorities, and [switch] lossless has none");
        }
        self.finite(&[(&path("response"), buffer.response)]);
        let ports = self.scenario.fabric.nodes().map(|node| self.scenario.fabric.ports_of(node).count).max();
        let all = u128::from(buffer.per_port.0) * u128::from(ports.unwrap_or(0));
        if all > u128::from(u64::MAX) {
            self.refuse(&[&path("per_port")], "a switch would have more bytes than can be counted");
        }
        // XOFF of an account when nothing else is in the pool: it is never higher.
        let most = all * u128::from(buffer.alpha_256) / 256;
        let hysteresis = path("hysteresis");
        if self.keys.has(&hysteresis) && u128::from(buffer.hysteresis.0) > most {
            let below = buffer.hysteresis.0;
            self.refuse(&[&hysteresis], format!("XON would lie {below} bytes below XOFF, which is never above {most}"));
        }
    }

    fn marking(&self, at: &str, marking: &Marking) {
        let path = |key: &str| format!("{at}.{key}");
        self.at_most(&[&path("kmin"), &path("kmax")], marking.kmin.0, marking.kmax.0, ", which is kmax");
        self.ppm(&path("pmax_ppm"), marking.pmax_ppm);
    }

    fn weights(&self, strict: Priorities, weights: &[u16]) {
        let zero = (0..).map(Priority::new).zip(weights).find(|(priority, w)| **w == 0 && !strict.has(*priority));
        if let Some((priority, _)) = zero {
            let number = priority.number();
            let why = format!("that of priority {number} is zero, and it is not strict; its share must be more");
            self.refuse(&["switch.scheduler.weights"], why);
        }
    }

    fn watchdog(&self, watchdog: &Watchdog) {
        let Watchdog { rule, poll, detect, .. } = *watchdog;
        let path = |key: &'static str| ["switch.watchdog.", key].concat();
        self.finite(&[(&path("detect"), detect)]);
        // What happens between two looks is not seen.
        if rule != watchdog::Rule::Bound {
            self.finite(&[(&path("poll"), poll)]);
            self.at_most(&[&path("poll"), &path("detect")], poll, detect, ", which is detect");
        }
    }
}
