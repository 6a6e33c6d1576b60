//! What no key can tell alone: settings that contradict each other or the fabric, and values that mean nothing.
//!
//! A key's own kind refuses what is no value of it (`value.rs`), the engine what cannot be played (`unfit.rs`). Here is
//! what could be played, but not as it was written: something in it would be left out, or never happen.

use std::fmt::Display;

use super::reader::Keys;
use super::traffic::{Kind, Traffic};
use super::{Admission, Scenario};
use crate::cc;
use crate::collective;
use crate::nic;
use crate::switch::{Buffer, Link, Marking, Watchdog, watchdog};
use crate::units::{Bytes, Priorities, Priority, Rate, Time};

/// The most that one packet carries (IBTA 9.4.1: the largest path MTU).
const PACKET: Bytes = Bytes(4_096);
/// The most that a count of three bits can say (IBTA 9.7.5.2.8: retry counts).
const RETRIES: u8 = 7;
/// Links that may be watched: each has a kilobin of two numbers, so that these are half a gigabyte (chosen).
const WATCHED: usize = 1 << 15;
/// Parts of a million.
const PPM: u32 = 1_000_000;

/// Notes everything that makes no sense in a scenario whose values are right one by one.
pub(super) fn check(scenario: &Scenario, keys: &Keys<'_>) {
    let hosts = scenario.fabric.hosts() as usize;
    let line = scenario.fabric.ports().rows().iter().take(hosts).map(|port| port.cable.rate).max();
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
    sense.faults();
    sense.finite(&[("observe.bin", scenario.bin)]);
    let watched = scenario.watched.len();
    if watched > WATCHED {
        sense.no(&["observe.watch"], format!("{watched} links; no more than {WATCHED} can be watched, so name some"));
    }
    sense.plain("name", &scenario.name, &[]);
    sense.plain("about", &scenario.about, &['\n', '\r', '\t']);
}

struct Sense<'a, 't> {
    keys: &'a Keys<'t>,
    scenario: &'a Scenario,
    /// What a host's cable carries.
    line: Rate,
}

/// The last part of a path.
fn key(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

impl Sense<'_, '_> {
    /// Notes a fault at the first of some paths that is there.
    fn no(&self, paths: &[&str], why: impl Display) {
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
    fn plain(&self, path: &str, text: &str, but: &[char]) {
        if let Some(control) = text.chars().find(|c| c.is_control() && !but.contains(c)) {
            self.no(&[path], format!("it has the control character {control:?}; leave it out"));
        }
    }

    /// What must not be zero.
    fn some(&self, rows: &[(&str, bool)]) {
        for (path, _) in rows.iter().filter(|(_, zero)| *zero) {
            self.keys.fault_in(&[path], format!("{} is zero; it must be more", key(path)));
        }
    }

    /// What may be no more than something else.
    fn most<T: PartialOrd + Display>(&self, paths: &[&str], value: T, most: T, of: &str) {
        if value > most {
            let name = paths.first().map_or("", |path| key(path));
            self.keys.fault_in(paths, format!("{name} is {value}; it must be at most {most}{of}"));
        }
    }

    /// Rates that a host's cable must carry; the largest number there is means no limit.
    fn carried(&self, rows: &[(&str, Rate)]) {
        for (path, rate) in rows.iter().filter(|(_, rate)| *rate != Rate::MAX) {
            self.most(&[path], *rate, self.line, ", the rate of a host's cable");
        }
    }

    /// Shares of one.
    fn shares(&self, rows: &[(&str, f64)]) {
        for (path, share) in rows {
            self.most(&[path], *share, 1.0, ": it is a share");
        }
    }

    fn ppm(&self, path: &str, ppm: u32) {
        self.most(&[path], ppm, PPM, ": it is in parts of a million");
    }

    fn switch(&self) {
        let switch = &self.scenario.settings.switch;
        let lossless = switch.lossless;
        let tiers = self.scenario.fabric.nodes().map(|node| self.scenario.fabric.tier(node)).max().unwrap_or(0);
        for (list, is) in [("switch.tiers", switch.tiers.len()), ("switch.marking", switch.marking.len())] {
            if is > tiers.into() {
                self.no(&[list], format!("{is} entries are for as many tiers, and the fabric has {tiers}"));
            }
        }
        self.buffer("switch.buffer", &switch.buffer);
        for (nth, buffer) in switch.tiers.iter().enumerate() {
            self.buffer(&format!("switch.tiers.{nth}"), buffer);
        }
        if !switch.tiers.is_empty() && self.keys.has("switch.buffer") {
            self.no(&["switch.buffer"], "tiers say the buffer of every tier; leave out one of them");
        }
        for (nth, marking) in switch.marking.iter().enumerate() {
            self.marking(&format!("switch.marking.{nth}"), marking);
        }
        let both = self.keys.has("switch.marking") && self.keys.has("switch.marked");
        if both && switch.marking.is_empty() && !switch.marked.is_empty() {
            self.no(&["switch.marked"], "nothing is marked where marking is []; leave out one of them");
        }
        if both && !switch.marking.is_empty() && switch.marked.is_empty() {
            self.no(&["switch.marking"], "no priority is marked; name some in marked, or leave marking out");
        }
        self.some(&[("switch.quanta", switch.quanta == Some(0))]);
        self.weights(switch.scheduler.strict, &switch.scheduler.weights.0);
        if let Some(lanes) = switch.lanes {
            let paths = ["switch.lanes.down", "switch.lanes.up"];
            if lanes.up == lanes.down {
                self.no(&paths, "both lanes have one priority; the down lane needs another");
            } else {
                for (path, lane) in [("switch.lanes.up", lanes.up), ("switch.lanes.down", lanes.down)] {
                    if !lossless.has(lane) {
                        let number = lane.number();
                        self.no(&[path], format!("priority {number} is not lossless; name it in [switch] lossless"));
                    }
                }
            }
        }
        if let Some(watchdog) = &switch.watchdog {
            if lossless.is_empty() {
                self.no(&["switch.watchdog"], "it watches lossless priorities, and [switch] lossless has none");
            }
            self.watchdog(watchdog);
        }
    }

    fn buffer(&self, at: &str, buffer: &Buffer) {
        let path = |key: &str| format!("{at}.{key}");
        if buffer.link == Link::Credits && self.scenario.settings.switch.lossless.is_empty() {
            self.no(&[&path("link")], "credits are for lossless priorities, and [switch] lossless has none");
        }
        self.finite(&[(&path("response"), buffer.response)]);
        let ports = self.scenario.fabric.nodes().map(|node| self.scenario.fabric.ports_of(node).count).max();
        let all = u128::from(buffer.per_port.0) * u128::from(ports.unwrap_or(0));
        if all > u128::from(u64::MAX) {
            self.no(&[&path("per_port")], "a switch would have more bytes than can be counted");
        }
        // XOFF of an account when nothing else is in the pool: it is never higher.
        let most = all * u128::from(buffer.alpha_256) / 256;
        let hysteresis = path("hysteresis");
        if self.keys.has(&hysteresis) && u128::from(buffer.hysteresis.0) > most {
            let below = buffer.hysteresis.0;
            self.no(&[&hysteresis], format!("XON would lie {below} bytes below XOFF, which is never above {most}"));
        }
    }

    fn marking(&self, at: &str, marking: &Marking) {
        let path = |key: &str| format!("{at}.{key}");
        self.most(&[&path("kmin"), &path("kmax")], marking.kmin.0, marking.kmax.0, ", which is kmax");
        self.ppm(&path("pmax_ppm"), marking.pmax_ppm);
    }

    fn weights(&self, strict: Priorities, weights: &[u16]) {
        let zero = (0..).map(Priority::new).zip(weights).find(|(priority, w)| **w == 0 && !strict.has(*priority));
        if let Some((priority, _)) = zero {
            let number = priority.number();
            let why = format!("that of priority {number} is zero, and it is not strict; its share must be more");
            self.no(&["switch.scheduler.weights"], why);
        }
    }

    fn watchdog(&self, watchdog: &Watchdog) {
        let Watchdog { rule, poll, detect, .. } = *watchdog;
        let path = |key: &'static str| ["switch.watchdog.", key].concat();
        self.finite(&[(&path("detect"), detect)]);
        // What happens between two looks is not seen.
        if rule != watchdog::Rule::Bound {
            self.finite(&[(&path("poll"), poll)]);
            self.most(&[&path("poll"), &path("detect")], poll, detect, ", which is detect");
        }
    }

    fn nic(&self) {
        let nic = &self.scenario.settings.nic;
        let most = ": it is a count of three bits";
        self.most(&["nic.retries"], nic.retries, RETRIES, most);
        self.finite(&[("nic.cnp_interval", nic.cnp_interval), ("nic.jitter", nic.jitter)]);
        if let Some(nic::Receives { timer, retries, .. }) = nic.receives {
            self.most(&["nic.receives.retries"], retries, RETRIES, most);
            self.finite(&[("nic.receives.timer", timer)]);
        }
    }

    fn admission(&self, admission: &Admission) {
        if admission.cts > PACKET {
            let (is, most) = (admission.cts.0, PACKET.0);
            let why = format!("cts is {is}; a clear-to-send is one packet of {most} bytes at most");
            self.keys.fault_in(&["admission.cts"], why);
        }
    }

    fn cc(&self) {
        match &self.scenario.settings.cc {
            cc::Settings::None(_) => {}
            cc::Settings::Fixed(set) => {
                self.carried(&[("cc.rate", set.rate)]);
                self.some(&[("cc.window", set.window == Some(Bytes(0)))]);
            }
            cc::Settings::Dcqcn(set) => {
                self.shares(&[("cc.g", set.g)]);
                self.carried(&[("cc.min", set.min)]);
                self.some(&[("cc.byte_counter", set.byte_counter == Some(Bytes(0)))]);
                if set.rate_timer == Time::NEVER && set.byte_counter.is_none() {
                    self.no(&["cc.rate_timer"], "with no byte_counter either, a rate would never rise");
                }
            }
            cc::Settings::Dctcp(set) => {
                self.shares(&[("cc.g", set.g)]);
                self.least_window(set.start, self.scenario.settings.nic.mtu, "a packet");
            }
            cc::Settings::Timely(set) => {
                self.shares(&[("cc.a", set.a), ("cc.b", set.b)]);
                self.most(&["cc.low", "cc.high"], set.low, set.high, ", which is high");
                self.carried(&[("cc.start", set.start.unwrap_or(Rate::MAX)), ("cc.least", set.least)]);
                self.finite(&[("cc.low", set.low), ("cc.shortest", set.shortest.unwrap_or_default())]);
                self.some(&[("cc.shortest", set.shortest == Some(Time::ZERO))]);
                if let Some(start) = set.start {
                    self.most(&["cc.least", "cc.start"], set.least, start, ", which is start");
                }
            }
            cc::Settings::Swift(set) => {
                self.shares(&[("cc.max_mdf", set.max_mdf)]);
                self.finite(&[("cc.base", set.base), ("cc.per_hop", set.per_hop), ("cc.range", set.range)]);
                if set.small >= set.large {
                    let (small, large) = (set.small, set.large);
                    self.no(&["cc.small", "cc.large"], format!("small is {small}, and must be below large, {large}"));
                }
                if let Some(start) = set.start {
                    self.most(&["cc.least", "cc.start"], set.least, start, ", which is start");
                }
            }
            cc::Settings::Hpcc(set) => {
                self.shares(&[("cc.eta", set.eta)]);
                self.finite(&[("cc.rtt", set.rtt.unwrap_or_default())]);
                self.some(&[("cc.rtt", set.rtt == Some(Time::ZERO))]);
            }
            cc::Settings::Hierarchical(set) => {
                for alpha in set.alpha {
                    self.shares(&[("cc.alpha", alpha)]);
                }
                for above in set.above_ppm {
                    self.ppm("cc.above_ppm", above);
                    let paths = ["cc.global_ppm", "cc.above_ppm"];
                    self.most(&paths, set.global_ppm, above, ": a domain would brake where all may rise");
                }
                self.shares(&[("cc.gain", set.gain)]);
                self.carried(&[("cc.least", set.least)]);
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
            self.no(&["cc.start"], format!("{} bytes are less than {what} of {}", start.0, least.0));
        }
    }

    fn traffic(&self, at: &str, traffic: &Traffic) {
        let path = |key: &str| format!("{at}.{key}");
        let Scenario { until, .. } = *self.scenario;
        if traffic.start >= until {
            self.no(&[&path("start"), at], format!("nothing is sent before the run ends at {until} ([run] until)"));
        }
        self.carried(&[(&path("limit"), traffic.limit)]);
        self.plain(&path("name"), &traffic.name, &[]);
        match &traffic.kind {
            Kind::Background { rate, time, .. } => {
                self.most(&[&path("rate")], *rate, self.line, ", the rate of a host's cable");
                self.most(&[&path("rate")], *rate, traffic.limit, ", which is limit");
                self.finite(&[(&path("time"), *time)]);
            }
            Kind::Poisson { arrivals, .. } => {
                self.most(&[&path("load_percent")], arrivals.percent, 100, ": no cable carries more");
            }
            Kind::Collective { shape, .. } => {
                self.most(&[&path("pieces")], shape.pieces, collective::MOST_PIECES, "");
                if shape.inside.is_some() && shape.per_server < 2 {
                    self.no(&[&path("inside")], "no ranks share a server; say how many do in per_server");
                }
            }
            Kind::Flow { .. } | Kind::Permutation(_) | Kind::File { .. } => {}
        }
    }

    fn faults(&self) {
        let Scenario { until, .. } = *self.scenario;
        for (nth, at) in self.keys.tables("fault", "[[fault]]").iter().map(|keys| keys.get::<Time>("at")).enumerate() {
            if at.unwrap_or_default() >= until {
                let entry = format!("fault.{nth}");
                let why = format!("it does not happen before the run ends at {until} ([run] until)");
                self.no(&[&format!("{entry}.at"), &entry], why);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Faults, Kind, Scenario};

    /// What is said of a small scenario with more to it; its lines are counted from its end.
    fn said(fabric: &str, more: &str) -> Vec<String> {
        let text = format!("[fabric]\n{fabric}\n[[traffic]]\nkind = \"incast\"\nto = 0\nbytes = 1000\n{more}\n");
        match Scenario::parse(&text) {
            Ok(_) => Vec::new(),
            Err(Faults(faults)) => faults.into_iter().map(|fault| format!("{}: {}", fault.line, fault.text)).collect(),
        }
    }

    const STAR: &str = "shape = \"star\"\nhosts = 4";

    #[test]
    fn what_contradicts_itself_is_refused_where_it_stands() {
        for (more, fault) in [
            ("[switch]\nmarking = { kmin = 5, kmax = 4 }", "9: kmin is 5; it must be at most 4, which is kmax"),
            ("[switch]\nmarking = { pmax_ppm = 2000000 }", "9: pmax_ppm is 2000000; it must be at most 1000000: it is"),
            ("[switch]\nmarking = [{}, {}]", "9: marking: 2 entries are for as many tiers, and the fabric has 1"),
            ("[switch]\nmarking = []\nmarked = [3]", "10: marked: nothing is marked where marking is []"),
            ("[switch]\nmarking = \"paper\"\nmarked = []", "9: marking: no priority is marked"),
            ("[switch]\nlossless = []\nlanes = {}", "10: up: priority 3 is not lossless"),
            ("[switch.lanes]\nup = 3\ndown = 4", "10: down: priority 4 is not lossless; name it in [switch] lossless"),
            ("[switch.lanes]\nup = 3\ndown = 3", "10: down: both lanes have one priority"),
            ("[switch]\nlossless = []\nwatchdog = {}", "10: watchdog: it watches lossless priorities"),
            ("[switch.watchdog]\npoll = \"1 s\"", "9: poll is 1s; it must be at most 200ms, which is detect"),
            ("[switch]\nlossless = []\nbuffer = { link = \"credits\" }", "10: link: credits are for lossless"),
            ("[switch]\nbuffer = {}\n[[switch.tiers]]\nper_port = \"1 MB\"", "9: buffer: tiers say the buffer of"),
            ("[switch.buffer]\nhysteresis = \"300 kB\"", "9: hysteresis: XON would lie 300000 bytes below XOFF"),
            ("[switch.buffer]\nalpha_256 = 0", "9: alpha_256 is zero; it must be more"),
            ("[switch.buffer]\nper_port = \"9000000 TB\"", "9: per_port: a switch would have more bytes than can be"),
            ("[switch]\nquanta = 0", "9: quanta is zero; it must be more"),
            ("[switch.scheduler]\nweights = [0, 0, 0, 0, 0, 0, 0, 0]", "9: weights: that of priority 0 is zero"),
            ("[nic]\nack_every = 0", "9: ack_every is zero; it must be more"),
            ("[nic]\nretries = 8", "9: retries is 8; it must be at most 7: it is a count of three bits"),
            ("[nic]\njitter = \"never\"", "9: jitter is never; it must be a time"),
            ("[nic]\nreceives = { posted = 0 }", "9: posted is zero; it must be more"),
            ("[cc]\nname = \"timely\"\nlow = \"1 ms\"", "10: low is 1ms; it must be at most 500us, which is high"),
            ("[cc]\nname = \"timely\"\nhigh = \"1 us\"", "10: low is 50us; it must be at most 1us, which is high"),
            ("[cc]\nname = \"timely\"\nstart = \"200 Gb/s\"", "10: start is 200Gb/s; it must be at most 100Gb/s, the"),
            ("[cc]\nname = \"fixed\"\nrate = \"1 Tb/s\"", "10: rate is 1000Gb/s; it must be at most 100Gb/s, the rate"),
            ("[cc]\nname = \"fixed\"\nwindow = 0", "10: window is zero; it must be more"),
            ("[cc]\nname = \"dcqcn\"\ng = 1.5", "10: g is 1.5; it must be at most 1: it is a share"),
            (
                "[cc]\nname = \"dcqcn\"\nrate_timer = \"never\"\nbyte_counter = \"none\"",
                "10: rate_timer: with no byte_c",
            ),
            ("[cc]\nname = \"dctcp\"\nstart = 1000", "10: start: 1000 bytes are less than a packet of 4096"),
            ("[cc]\nname = \"swift\"\nsmall = 100", "10: small: small is 100, and must be below large, 100"),
            ("[cc]\nname = \"hpcc\"\neta = 2", "10: eta is 2; it must be at most 1: it is a share"),
            ("[cc]\nname = \"hierarchical\"\nglobal_ppm = 200000", "10: global_ppm is 200000; it must be at most 1000"),
            (
                "[run]\nuntil = \"1 us\"\n[[fault]]\nkind = \"cut\"\nlink = \"h0\"\nat = \"1 us\"",
                "13: at: it does not ha",
            ),
            ("[observe]\nbin = \"never\"", "9: bin is never; it must be a time"),
        ] {
            let found = said(STAR, more);
            assert!(found.first().is_some_and(|first| first.starts_with(fault)), "{more}: {found:?}");
        }
    }

    #[test]
    fn traffic_that_cannot_be_as_it_is_written_is_refused() {
        for (more, fault) in [
            ("limit = \"400 Gb/s\"", "8: limit is 400Gb/s; it must be at most 100Gb/s, the rate of a host's cable"),
            ("start = \"1 s\"\n[run]\nuntil = \"1 s\"", "8: start: nothing is sent before the run ends at 1s"),
            (
                "[[traffic]]\nkind = \"background\"\nfrom = 0\nto = 1\ntime = \"1 ms\"\nrate = \"101 Gb/s\"",
                "13: rate is 101Gb/s; it must be at most 100Gb/s",
            ),
            (
                "[[traffic]]\nkind = \"poisson\"\nsizes = 9\ntime = \"1 us\"\nload_percent = 101",
                "12: load_percent is 101; it must be at most 100: no cable carries more",
            ),
            (
                "[[traffic]]\nkind = \"hierarchical\"\nbytes = 9\ninside = \"1 Tb/s\"",
                "11: inside: no ranks share a server; say how many do in per_server",
            ),
            ("[[traffic]]\nkind = \"tree\"\nbytes = 9\npieces = 2000", "11: pieces is 2000; it must be at most 1024"),
            ("[[traffic]]\nkind = \"ring\"\nbytes = 9\npieces = 2", "11: pieces: only broadcast, reduce, tree cut"),
            ("name = \"\\u001b[31m\"", "8: name: it has the control character '\\u{1b}'; leave it out"),
            ("from = [1, 2, 1]", "8: from names host 1 twice"),
            ("from = \"0-2, 2-3\"", "8: from names host 2 twice"),
            ("[observe]\ntaps = [\"h0\", \"h9\"]", "9: taps: \"h9\" is no link: there is no node"),
            ("from = \"3-1\"", "8: from: the range 3-1 runs backwards; write 1-3"),
        ] {
            let found = said(STAR, more);
            assert!(found.first().is_some_and(|first| first.starts_with(fault)), "{more}: {found:?}");
        }
    }

    #[test]
    fn no_more_is_watched_than_memory_takes() {
        let found = said("shape = \"star\"\nhosts = 20000", "[observe]\nwatch = \"all\"");
        assert_eq!(found, ["9: watch: 40000 links; no more than 32768 can be watched, so name some"]);
    }

    #[test]
    fn a_radix_is_even() {
        for radix in [0, 1, 5] {
            let found = said(&format!("shape = \"fat_tree\"\nradix = {radix}"), "");
            let fault = format!("3: radix is {radix}; it must be even, and 2 at least");
            assert!(found.first().is_some_and(|first| first.starts_with(&fault)), "{found:?}");
        }
        let found = said("shape = \"fat_tree\"\nradix = 4\npods = 4\nhost = {}", "");
        let of = ["pods: radix says how many there are; leave out", "host: with a radix all cables are alike"];
        assert!(of.iter().zip(4..).zip(&found).all(|((of, line), is)| is.starts_with(&format!("{line}: {of}"))));
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn ranks_are_in_the_order_in_which_they_are_named() {
        let text = format!("[fabric]\n{STAR}\n[[traffic]]\nkind = \"ring\"\namong = [2, 0, 3]\nbytes = 9\n");
        let Kind::Collective { ranks, .. } = &Scenario::parse(&text).unwrap().traffic[0].kind else { panic!("a ring") };
        assert_eq!(ranks.iter().map(|rank| rank.0).collect::<Vec<_>>(), [2, 0, 3]);
    }

    /// What looks odd and means something.
    #[test]
    fn what_makes_sense_is_left_alone() {
        for more in [
            "[switch]\nlossless = []\nbuffer = { headroom = \"none\" }",
            "[switch]\nlossless = [0, 1, 2, 3, 4, 5, 6, 7]\nbuffer = { per_port = \"2 MB\" }\nlanes = {}",
            "[switch.scheduler]\nstrict = [6, 7]\nweights = [1, 1, 1, 1, 1, 1, 0, 0]",
            "[switch]\nmarking = { kmin = 1000, kmax = 1000 }",
            "[nic]\ntimeout = \"never\"",
            "[cc]\nname = \"timely\"\nhigh = \"never\"",
            "[run]\nuntil = \"1 ms\"\n[[fault]]\nkind = \"cut\"\nlink = \"h0\"\nuntil = \"1 s\"",
        ] {
            assert_eq!(said(STAR, more), [""; 0], "{more}");
        }
        let marking = "[switch]\nmarking = [\"paper\", \"production\"]\n[[switch.tiers]]\n[[switch.tiers]]";
        assert_eq!(said("shape = \"clos2\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2", marking), [""; 0]);
    }
}
