//! What is found only when all parts of a scenario meet, and the place of its text that it belongs to.

use std::collections::BTreeMap;
use std::fmt;

use super::{Fault, Scenario};
use crate::engine::Error;

/// Why a scenario that was read cannot be played: parts of it do not fit each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct Unfit {
    /// Where, and what; line 0 for a scenario that was put together in code.
    pub fault: Fault,
    /// What the engine says.
    pub why: Error,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.text)
    }
}

/// Where in its text the parts of a scenario stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// Lines of settings, by their keys from the top: `switch.buffer`.
    pub(super) settings: BTreeMap<String, usize>,
    /// Lines of the entries of the traffic.
    pub(super) traffic: Vec<usize>,
}

impl Places {
    /// The line of a key from the top; 0 where it stands nowhere.
    pub(super) fn line(&self, key: &str) -> usize {
        self.settings.get(key).copied().unwrap_or_default()
    }
}

/// The settings that an error of the engine is about, those that it is most about first.
fn settings(why: &Error) -> &'static [&'static str] {
    use crate::workload::Error as Load;
    match why {
        Error::Mtu { .. } => &["nic.mtu", "nic"],
        Error::Headroom { .. } | Error::Grant { .. } => &["switch.tiers", "switch.buffer", "switch", "fabric"],
        Error::Markings { .. } => &["switch.marking", "switch"],
        Error::Together(_) => &["nic.receives", "nic"],
        Error::Notices(_) => &["switch.cnp_by", "switch"],
        Error::NoWay { .. } => &["fabric"],
        Error::Workload(Load::NoBuffer | Load::TooManyPieces { .. }) => &["admission"],
        Error::Workload(_) | Error::Flows { .. } | Error::Packets { .. } => &[],
    }
}

impl Scenario {
    /// An error in its place. `ends` is one past the last flow of each entry of the traffic, in the flows that it
    /// numbers.
    pub(super) fn unfit(&self, why: Error, ends: &[u32]) -> Unfit {
        let places = &self.places;
        let setting = settings(&why).iter().find_map(|key| Some((*key, *places.settings.get(*key)?)));
        let (key, line) = match (setting, settings(&why).first()) {
            (Some((key, line)), _) => (key.to_owned(), line),
            (None, Some(key)) => ((*key).to_owned(), 0),
            (None, None) => {
                let entry = why.flow().map(|flow| ends.partition_point(|end| *end <= flow));
                let name = entry.and_then(|entry| self.traffic.get(entry)).map_or("", |traffic| traffic.name.as_str());
                let line = entry.and_then(|entry| places.traffic.get(entry)).copied().unwrap_or(0);
                (format!("traffic {:?}", super::reader::short(name)), line)
            }
        };
        Unfit { fault: Fault { line, text: format!("{key}: {why}") }, why }
    }
}
