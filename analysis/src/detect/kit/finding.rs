//! What detectors say.

use std::cmp::Reverse;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::detect::Rule;
use crate::flow::marks::SpanReport;
use crate::report::{FlowReport, FrameRef};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Something costs performance.
    Warning,
    /// Something failed.
    Critical,
}

impl Severity {
    /// As it is written everywhere.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// A figure that crossed a threshold, or a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A count, a time in nanoseconds, a size in bytes: the name says it.
    Number(u64),
    /// Anything else.
    Text(String),
}

impl From<u64> for Value {
    fn from(n: u64) -> Self {
        Self::Number(n)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// The figures that a finding rests on, in the order in which they are told, and the largest of those that count harm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence(pub Vec<(&'static str, Value)>, Option<u64>);

impl Evidence {
    /// With one more figure.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// With one more figure, which counts packets that were lost, late, marked or sent again.
    #[must_use]
    pub fn with_harm(mut self, name: &'static str, packets: u64) -> Self {
        self.1 = self.1.max(Some(packets));
        self.with(name, packets)
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Something that a person should know.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Stable code of the rule.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// One line: what is the matter, with the figures that matter most.
    pub title: String,
    /// Id of the flow, where it is one flow's.
    pub flow: Option<u32>,
    /// Id of the connection, where it is one connection's.
    pub connection: Option<u32>,
    /// Time span, in nanoseconds since 1970.
    pub first_ns: u64,
    /// Its end.
    pub last_ns: u64,
    /// Some of the frames that show it.
    pub frames: Vec<FrameRef>,
    /// The figures that it rests on.
    pub evidence: Evidence,
    /// What to do next.
    pub advice: String,
}

impl Finding {
    /// A finding of this rule, about the whole capture until more is said.
    pub(in crate::detect) fn of(rule: &Rule, severity: Severity, title: String) -> Self {
        Self {
            code: rule.code,
            severity,
            title,
            flow: None,
            connection: None,
            first_ns: 0,
            last_ns: 0,
            frames: Vec::new(),
            evidence: Evidence::default(),
            advice: String::new(),
        }
    }

    /// How much it hurts: the packets that were lost, late, marked or sent again, by the figures that it rests on. What
    /// failed for good comes before all that can be counted; of what no figure measures, nothing is said.
    #[must_use]
    pub fn harm(&self) -> u64 {
        self.evidence.1.unwrap_or(if self.severity == Severity::Critical { u64::MAX } else { 0 })
    }

    /// Where it stands in a list: the worst first, of those the one that hurts most, then by time.
    #[must_use]
    pub fn rank(&self) -> impl Ord + use<> {
        (Reverse(self.severity), Reverse(self.harm()), self.first_ns, self.code)
    }

    /// About this flow, over its whole life until more is said.
    pub(in crate::detect) fn about(mut self, flow: &FlowReport) -> Self {
        (self.flow, self.connection) = (Some(flow.id), Some(flow.connection));
        self.during(flow.first_ns, flow.last_ns)
    }

    pub(in crate::detect) fn during(mut self, first_ns: u64, last_ns: u64) -> Self {
        (self.first_ns, self.last_ns) = (first_ns, last_ns);
        self
    }

    pub(in crate::detect) fn shown_by(mut self, mut frames: Vec<FrameRef>) -> Self {
        // The first and the last may be the same.
        frames.dedup();
        self.frames = frames;
        self
    }

    /// Shown by these marks, when they were seen.
    pub(in crate::detect) fn marked(self, span: &SpanReport) -> Self {
        self.during(span.first_ns, span.last_ns).shown_by(span.frames())
    }

    pub(in crate::detect) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.evidence = self.evidence.with(name, value);
        self
    }

    pub(in crate::detect) fn with_harm(mut self, name: &'static str, packets: u64) -> Self {
        self.evidence = self.evidence.with_harm(name, packets);
        self
    }

    pub(in crate::detect) fn advice(mut self, advice: &str) -> Self {
        advice.clone_into(&mut self.advice);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::rule;

    #[test]
    fn the_worst_comes_first_and_of_those_what_hurts_most() {
        let finding = |severity, title: &str| Finding::of(rule("RT001").unwrap(), severity, title.to_owned());
        let mut list = [
            finding(Severity::Warning, "one").with_harm("sent_again", 1u64).during(1, 1),
            finding(Severity::Info, "known").with_harm("sent_again", 1_000u64),
            finding(Severity::Critical, "much").with("requests", 9_000u64).with_harm("sent_again", 97u64),
            finding(Severity::Warning, "lost")
                .with_harm("lost_or_late", 3u64)
                .with_harm("sent_again", 2u64)
                .during(9, 9),
            finding(Severity::Warning, "later").with_harm("sent_again", 1u64).during(2, 2),
            finding(Severity::Warning, "unmeasured"),
            finding(Severity::Critical, "failed").with("error", "remote access".to_owned()),
        ];
        list.sort_by_cached_key(Finding::rank);
        let titles: Vec<&str> = list.iter().map(|f| f.title.as_str()).collect();
        assert_eq!(titles, ["failed", "much", "lost", "one", "later", "unmeasured", "known"]);
    }
}
