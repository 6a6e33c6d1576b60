//! Flow files of other simulators, read and written, so that anyone can cross-check: one file a format.
//!
//! Text in, a workload out, and back. What a format cannot say is an error, never left out in silence. Input is
//! foreign: counts in a file are compared with what is there and reserve no memory.

pub mod hpcc;
pub mod htsim;

use std::collections::BTreeMap;
use std::num::{IntErrorKind, ParseIntError};

use crate::topology::HostId;
use crate::units::{Rate, Time};
use crate::workload::{Flow, FlowId, Workload};

/// A format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name of its file.
    pub name: &'static str,
    /// Reads a text for a fabric of so many hosts.
    pub read: fn(&str, u32) -> Result<Workload, ReadError>,
    /// Whether its files say the traffic class of each flow.
    pub classes: bool,
}

/// Every format, by the name of its file.
pub const FORMATS: &[Format] = &[
    Format { name: "hpcc", read: hpcc::read, classes: true },
    Format { name: "htsim", read: |text, hosts| htsim::read(text, hosts).map(|matrix| matrix.load), classes: false },
];

impl Format {
    /// The format of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }
}

/// What is wrong with a flow file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ReadError {
    /// The line, from 1; one past the last where something is missing at the end.
    pub line: usize,
    /// What does not fit, and what would.
    pub why: String,
}

impl ReadError {
    fn new(line: usize, why: impl Into<String>) -> Self {
        Self { line, why: why.into() }
    }
}

/// A workload that a format has no words for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("flow {flow}: {why}")]
pub struct WriteError {
    /// The flow.
    pub flow: u32,
    /// What cannot be said.
    pub why: &'static str,
}

/// Lanes for flows that each have a queue pair of their own.
#[derive(Debug, Default)]
struct Lanes(BTreeMap<(HostId, HostId), u16>);

impl Lanes {
    /// The next lane between two hosts.
    fn next(&mut self, line: usize, src: HostId, dst: HostId) -> Result<u16, ReadError> {
        let next = self.0.entry((src, dst)).or_default();
        let lane = *next;
        *next = next.checked_add(1).ok_or_else(|| {
            ReadError::new(line, format!("more than {} flows from host {} to host {}", u16::MAX, src.0, dst.0))
        })?;
        Ok(lane)
    }
}

/// Whether a flow has nothing that no format can say.
fn plain(id: FlowId, flow: &Flow) -> Result<(), WriteError> {
    let why = match (flow.is_work(), flow.limit) {
        (false, Rate::MAX) => return Ok(()),
        (true, _) => "it is a host's own work, which a flow file cannot say",
        _ => "it has a rate limit, which a flow file cannot say",
    };
    Err(WriteError { flow: id.0, why })
}

/// A kind of whole number, and the largest of it.
trait Whole: std::str::FromStr<Err = ParseIntError> {
    const MOST: u64;
}

macro_rules! whole {
    ($($type:ty),*) => { $(impl Whole for $type { const MOST: u64 = Self::MAX as u64; })* };
}
whole!(u8, u16, u32, u64, usize, i64);

/// A field as a number.
fn number<T: Whole>(line: usize, what: &str, text: Option<&str>) -> Result<T, ReadError> {
    let Some(text) = text else {
        return Err(ReadError::new(line, format!("{what} is missing")));
    };
    let short: String = text.chars().take(40).collect();
    text.parse().map_err(|error: ParseIntError| {
        let wanted = match error.kind() {
            IntErrorKind::PosOverflow => format!("it is too large, the most is {}", T::MOST),
            _ => "it must be a whole number".to_owned(),
        };
        ReadError::new(line, format!("{what} is {short:?}; {wanted}"))
    })
}

/// A decimal number of some unit as picoseconds, exactly; what is finer is cut off.
fn decimal(text: &str, unit: Time) -> Option<Time> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut ps = whole.checked_mul(unit.0)?;
    let mut weight = unit.0;
    for digit in fraction.bytes() {
        weight /= 10;
        ps = ps.checked_add(u64::from(digit - b'0') * weight)?;
    }
    Some(Time(ps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let seconds = |text| decimal(text, Time::SECOND);
        assert_eq!(seconds("2.000000001"), Some(Time(2_000_000_001_000)));
        assert_eq!(seconds("0.1"), Some(Time::ms(100)));
        assert_eq!(seconds("3"), Some(Time(3_000_000_000_000)));
        assert_eq!(seconds(".5"), Some(Time::ms(500)));
        assert_eq!(seconds("1.0000000000009"), Some(Time::SECOND));
        for bad in ["", ".", "-1", "1e3", "nan", "1.2.3", "99999999999"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_list_and_the_folder_agree() {
        let mut found: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/format"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "mod")
            .collect();
        found.sort();
        assert_eq!(found, FORMATS.iter().map(|format| format.name).collect::<Vec<_>>());
    }
}
