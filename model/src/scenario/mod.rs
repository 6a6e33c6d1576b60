//! Scenarios: a fabric, its settings, traffic and the length of a run, from TOML text or put together in code.
//!
//! ```toml
//! name = "two into one"
//!
//! [fabric]
//! shape = "star"
//! hosts = 3
//! rate = "100 Gb/s"
//!
//! [cc]
//! name = "dcqcn"
//!
//! [[traffic]]
//! kind = "incast"
//! to = 2
//! bytes = "1 MB"
//! ```
//!
//! Owns: the words of such a text. Names of shapes, congestion controls, policies and collectives are those of the
//! model's own lists, and the settings of each are the fields of its `Settings`, made keys by `knobs`. A text is
//! foreign: what it can cost before it runs is bounded (`fabric.rs`, `traffic.rs`), and how long it runs by `[run]`.

mod fabric;
mod faults;
mod fluid;
mod keys;
mod reader;
mod run;
mod sense;
mod settings;
mod traffic;
mod unfit;
mod value;

pub use fluid::Fluid;
pub use keys::KEYS;
pub use reader::Fault;
pub(crate) use reader::{Keys, Knobs, knobs};
pub use run::{Ended, Run, Sink};
pub use traffic::{Kind, Traffic};
pub use unfit::Unfit;

use std::fmt;

use toml::de::DeTable;

use crate::engine::{self, Simulation};
use crate::observe::{Watch, port_of};
use crate::routing;
use crate::topology::{PortId, Topology};
use crate::units::Time;
use crate::workload::{Admission, Workload};

/// Bytes of a text: no scenario that a person wrote is larger (chosen).
const MOST: usize = 1 << 20;
/// Ports that are watched where nothing else is said: more of them are too many to look at (chosen).
const WATCHED_UNASKED: usize = 4_096;
/// Flows that switches may remember in all (adaptive routing) (chosen: bounds the memory).
const REMEMBERED: u64 = 1 << 24;

/// Where the texts of files come from that a scenario names: by the name as it stands there, the text or why there is
/// none.
pub type Files<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

/// Everything that is wrong with a scenario's text, by line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", told(.0))]
pub struct Faults(pub Vec<Fault>);

fn told(faults: &[Fault]) -> impl fmt::Display {
    let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
    lines.join("\n")
}

/// What can be played.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// The fabric.
    pub fabric: Topology,
    /// Switches, NICs, congestion control, routing and the seed.
    pub settings: engine::Settings,
    /// Who sends what.
    pub traffic: Vec<Traffic>,
    /// Clear-to-send before all of it; `None`: senders need no leave.
    pub admission: Option<Admission>,
    /// When it ends, if the traffic has not arrived before.
    pub until: Time,
    /// After how many frames on cables it ends.
    pub hops: u64,
    /// How long a bin of the series is at first ([`Watch`]).
    pub bin: Time,
    /// Ports whose queues and rates are watched.
    pub watched: Vec<PortId>,
    /// Ports that are tapped.
    pub taps: Vec<PortId>,
    places: unfit::Places,
}

impl Scenario {
    /// A scenario without traffic, everything else as the model has it: at most two billion hops, bins of a
    /// microsecond, all ports of a small fabric watched, no tap.
    #[must_use]
    pub fn new(name: impl Into<String>, fabric: Topology) -> Self {
        let small = fabric.ports().len() <= WATCHED_UNASKED;
        let watched = if small { fabric.ports().ids().collect() } else { Vec::new() };
        Self {
            name: name.into(),
            about: String::new(),
            fabric,
            settings: engine::Settings::default(),
            traffic: Vec::new(),
            admission: None,
            until: Time::NEVER,
            hops: 2_000_000_000,
            bin: Time::us(1),
            watched,
            taps: Vec::new(),
            places: unfit::Places::default(),
        }
    }

    /// The same, with more traffic.
    #[must_use]
    pub fn with(mut self, traffic: Traffic) -> Self {
        self.traffic.push(traffic);
        self
    }

    /// Reads a text that names no files.
    ///
    /// # Errors
    /// All faults, each with its line; an unknown name with the nearest that is known, where one is near.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        Self::parse_with(text, &mut |_| Err("no file can be read from here".to_owned()))
    }

    /// Reads a text; `files` gives the text of a file that it names, or why it cannot be read.
    ///
    /// # Errors
    /// As [`Scenario::parse`]; a fault in a file stands under its name, with the file's own line.
    pub fn parse_with(text: &str, files: Files<'_>) -> Result<Self, Faults> {
        let one = |text: String| Faults(vec![Fault { line: 1, text }]);
        if text.len() > MOST {
            return Err(one(format!("the text has {} bytes; a scenario may have {MOST}", text.len())));
        }
        let doc = reader::Doc::new(text);
        let table = match DeTable::parse(text) {
            Ok(table) => table.into_inner(),
            Err(error) => {
                doc.fault(error.span().map_or(0, |span| span.start), format!("not TOML: {}", error.message()));
                return Err(Faults(doc.faults()));
            }
        };
        let scenario = Self::read(Keys::new(&doc, &table, 0, "the scenario"), files);
        let faults = doc.faults();
        match scenario {
            Some(scenario) if faults.is_empty() => Ok(scenario),
            _ if faults.is_empty() => Err(one("it cannot be read".to_owned())),
            _ => Err(Faults(faults)),
        }
    }

    /// Reads everything before it gives up, so that all faults are found at once; only traffic and links need a fabric.
    fn read(keys: Keys<'_>, files: Files<'_>) -> Option<Self> {
        if keys.node("fabric").is_none() {
            keys.fault("a scenario needs a [fabric]");
        }
        let fabric = keys.table("fabric", "[fabric]").and_then(fabric::fabric);
        let mut settings = engine::Settings::default();
        let mut admission = Admission::default();
        let tables: [(_, _, &mut dyn Knobs); 4] = [
            ("switch", "[switch]", &mut settings.switch),
            ("nic", "[nic]", &mut settings.nic),
            ("detection", "[detection]", &mut settings.detection),
            ("admission", "[admission]", &mut admission),
        ];
        let mut places = unfit::Places::default();
        for (key, name, into) in tables {
            if let Some(table) = keys.table(key, name) {
                into.knobs(&table);
                table.places(key, &mut places.settings);
                table.done();
            }
        }
        for key in ["fabric", "fault"] {
            places.settings.extend(keys.line(key).map(|line| (key.to_owned(), line)));
        }
        if let Some(cc) = keys.table("cc", "[cc]").and_then(settings::congestion_control) {
            settings.cc = cc;
        }
        if let Some(routing) = keys.table("routing", "[routing]").and_then(settings::routing) {
            settings.routing = routing;
        }
        let traffic = keys.tables("traffic", "[[traffic]]");
        if keys.node("traffic").is_none_or(|node| node.get_ref().as_array().is_some_and(|all| all.is_empty())) {
            keys.fault_at("traffic", "a scenario needs traffic: at least one [[traffic]]");
        }
        let faults = keys.tables("fault", "[[fault]]");
        let run = keys.table("run", "[run]");
        let observe = keys.table("observe", "[observe]");
        let (name, about) = (keys.get("name"), keys.get("about"));
        let scenario = fabric.map(|fabric| {
            let mut scenario = Self::new(name.unwrap_or_else(|| "scenario".to_owned()), fabric);
            scenario.about = about.unwrap_or_default();
            scenario.settings = settings;
            scenario.remembers(&keys);
            places.traffic = traffic.iter().map(Keys::at_line).collect();
            scenario.places = places;
            scenario.traffic = traffic::traffic(traffic, &scenario.fabric, files);
            scenario.admission = keys.node("admission").is_some().then_some(admission);
            if let Some(run) = run {
                run.set("seed", &mut scenario.settings.seed);
                run.set_some("until", &mut scenario.until);
                run.set_some("hops", &mut scenario.hops);
                run.places("run", &mut scenario.places.settings);
                run.done();
            }
            scenario.settings.faults = faults::faults(faults, &scenario.fabric, scenario.until);
            if let Some(observe) = observe {
                observe.set_some("bin", &mut scenario.bin);
                scenario.watched = scenario.links(&observe, "watch").unwrap_or(std::mem::take(&mut scenario.watched));
                scenario.taps = scenario.links(&observe, "taps").unwrap_or_default();
                observe.places("observe", &mut scenario.places.settings);
                observe.done();
            }
            scenario
        });
        if let Some(scenario) = scenario.as_ref().filter(|_| keys.doc.is_right()) {
            sense::check(scenario, &keys);
        }
        keys.done();
        scenario
    }

    /// Adaptive switches have a table of flows each.
    fn remembers(&self, keys: &Keys<'_>) {
        if let routing::Settings::Adaptive(adaptive) = &self.settings.routing {
            let all = u64::from(adaptive.flows).saturating_mul(u64::from(self.fabric.switches()));
            if all > REMEMBERED {
                keys.fault_at("routing", format!("flows: all switches together remember {all}; they may {REMEMBERED}"));
            }
        }
    }

    /// Links by their names; `"all"`, and `"none"`.
    fn links(&self, keys: &Keys<'_>, key: &'static str) -> Option<Vec<PortId>> {
        let names: Vec<String> = keys.get(key)?;
        match names.as_slice() {
            [all] if all == "all" => return Some(self.fabric.ports().ids().collect()),
            [none] if none == "none" => return Some(Vec::new()),
            _ => {}
        }
        let mut ports = Vec::new();
        for name in &names {
            match port_of(&self.fabric, name) {
                Ok(port) => ports.push(port),
                Err(error) => keys.fault_at(key, format!("{key}: {error}")),
            }
        }
        ports.sort_unstable();
        ports.dedup();
        Some(ports)
    }

    /// The flows, and of each entry of the traffic one past its last flow.
    fn parts(&self) -> (Workload, Vec<u32>) {
        let mut load = Workload::new();
        let mut ends = Vec::new();
        for (nth, traffic) in (0..).zip(&self.traffic) {
            // Two entries alike do not draw the same.
            traffic.add(&mut load, self.settings.seed.wrapping_add(nth));
            ends.push(load.flows().len() as u32);
        }
        (load, ends)
    }

    /// What is sent, clear-to-send among it.
    fn load(&self) -> Result<run::Load, Unfit> {
        let (mut load, mut ends) = self.parts();
        if let Some(admission) = &self.admission {
            let admitted = admission.admit(&load).map_err(|why| self.unfit(why.into(), &ends))?;
            ends = ends.into_iter().map(|end| admitted.end(end)).collect();
            load = admitted.load;
            // Clear-to-send stands behind all that is sent.
            ends.push(load.flows().len() as u32);
        }
        Ok(run::Load::new(self, load, ends))
    }

    /// A run that stands at time zero.
    ///
    /// # Errors
    /// Traffic or settings that do not fit the fabric, with their place in the text.
    pub fn begin(&self) -> Result<Run, Unfit> {
        let load = self.load()?;
        let simulation = Simulation::new(self.fabric.clone(), load.flows(), self.settings.clone());
        let mut simulation = simulation.map_err(|why| self.unfit(why, load.ends()))?;
        for port in &self.taps {
            simulation.tap(*port);
        }
        simulation.watch_pauses();
        let watch = Watch::new(&mut simulation, self.watched.iter().copied(), self.bin);
        Ok(Run::new(self, simulation, watch, load))
    }
}

#[cfg(test)]
mod tests;
