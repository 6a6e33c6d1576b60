//! Detectors: one file each, with a stable code and a page for the user.
//!
//! A detector judges what the reports of flows and captures say, so that whoever doubts it can check the same figures.
//! Its module's documentation is the page that `rocetop explain CODE` prints.

mod kit;

mod bad_icrc;
mod ce_marks;
mod ce_without_cnp;
mod class_change;
mod clear_to_send;
mod cm_rejected;
mod cm_unanswered;
mod cnp_without_ce;
mod dscp_differs;
mod duplicates;
mod early_timeouts;
mod fatal_nak;
mod foreign_cnp;
mod foreign_traffic;
mod go_back_n;
mod incast;
mod long_rnr_timer;
mod loss;
mod loss_pattern;
mod lost_acks;
mod lost_responses;
mod missed_by_capture;
mod mtu_differs;
mod mtu_hang;
mod nccl_immediate;
mod no_roce;
mod no_slowdown;
mod not_ect;
mod one_direction;
mod pfc_pauses;
mod pipelining_gap;
mod port_entropy;
mod receiver_not_ready;
mod reordering;
mod rnr_retry_exceeded;
mod rocev1;
mod slow_naks;
mod straggler;
mod timeouts;
mod ttl_change;
mod unanswered;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::Ledger;
use crate::flow::marks::SpanReport;
use crate::report::paths::PathsReport;
use crate::report::survey::Survey;
use crate::report::{ConnectionReport, FlowReport, FrameRef};
use crate::story::StoryReport;
use crate::taps::{Beside, Told};

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

/// The figures that a finding rests on, in the order in which they are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence(pub Vec<(&'static str, Value)>);

impl Evidence {
    /// With one more figure.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.push((name, value.into()));
        self
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
    fn of(rule: &Rule, severity: Severity, title: String) -> Self {
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

    /// About this flow, over its whole life until more is said.
    fn about(mut self, flow: &FlowReport) -> Self {
        (self.flow, self.connection) = (Some(flow.id), Some(flow.connection));
        self.during(flow.first_ns, flow.last_ns)
    }

    fn during(mut self, first_ns: u64, last_ns: u64) -> Self {
        (self.first_ns, self.last_ns) = (first_ns, last_ns);
        self
    }

    fn shown_by(mut self, mut frames: Vec<FrameRef>) -> Self {
        // The first and the last may be the same.
        frames.dedup();
        self.frames = frames;
        self
    }

    /// Shown by these marks, when they were seen.
    fn marked(self, span: &SpanReport) -> Self {
        self.during(span.first_ns, span.last_ns).shown_by(span.frames())
    }

    fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.evidence = self.evidence.with(name, value);
        self
    }

    fn advice(mut self, advice: &str) -> Self {
        advice.clone_into(&mut self.advice);
        self
    }
}

/// One connection, as a detector sees it.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The connection.
    pub connection: &'a ConnectionReport,
    /// Its flows, one or two.
    pub flows: &'a [FlowReport],
    /// Time of the last frame of the capture, of whatever kind.
    pub end_ns: u64,
    /// What several taps tell about each flow, where there are several.
    pub(crate) told: &'a [Option<Told>],
}

impl<'a> Case<'a> {
    /// Each flow with the other direction, where that is known.
    pub fn directions(self) -> impl Iterator<Item = (&'a FlowReport, Option<&'a FlowReport>)> {
        directions(self.flows)
    }

    /// Each flow that carries requests, with the other direction where that is known, and the story of the requests.
    pub fn stories(self) -> impl Iterator<Item = (&'a FlowReport, Option<&'a FlowReport>, &'a StoryReport)> {
        self.directions().filter_map(|(flow, back)| Some((flow, back, flow.story.as_ref()?)))
    }

    /// What several taps tell about a flow and what answers it.
    pub(crate) fn told(self, flow: &FlowReport) -> Option<&'a Told> {
        self.flows.iter().zip(self.told).find(|(f, _)| f.id == flow.id).and_then(|(_, told)| told.as_ref())
    }
}

fn directions(flows: &[FlowReport]) -> impl Iterator<Item = (&FlowReport, Option<&FlowReport>)> {
    // The only other one, if any.
    flows.iter().enumerate().map(move |(n, flow)| (flow, flows.get(1 - n.min(1)).filter(|o| o.id != flow.id)))
}

/// What the taps tell about each flow of a connection; nothing where they do not cover all that this one calls lost or in
/// doubt.
fn told(flows: &[FlowReport], beside: &Beside<'_>) -> Vec<Option<Told>> {
        let told = |flow: &FlowReport, back| {
        let told = beside.told(flow, back)?;
        let story = flow.story.as_ref()?;
        let kept = || story.more_episodes == 0 && story.episodes.iter().all(|e| told.covers(e.first_ns, e.last_ns));
        (told.is_whole() || kept()).then_some(told)
    };
    directions(flows).map(|(flow, back)| told(flow, back)).collect()
}

/// What a rule looks at.
pub enum Judge {
    /// One connection at a time.
    Connection(fn(&Case<'_>, &mut dyn FnMut(Finding))),
    /// The capture as a whole.
    Capture(fn(&Ledger<'_>, &mut dyn FnMut(Finding))),
    /// What all connections add up to.
    Survey(fn(&Survey, &Ledger<'_>, &mut dyn FnMut(Finding))),
    /// Nothing: another rule of the same file answers the same question, and says either this or that.
    Sibling,
}

/// A detector.
pub struct Rule {
    /// Stable code, `RT` and three digits.
    pub code: &'static str,
    /// Name: the file's.
    pub name: &'static str,
    /// One line for the list.
    pub title: &'static str,
    /// The worst that it says.
    pub severity: Severity,
    /// What it needs to see.
    pub needs: &'static str,
    /// The source file, whose documentation is the page.
    source: &'static str,
    judge: Judge,
}

impl Rule {
    /// The page for the user: the documentation of the detector's module.
    pub fn page(&self) -> impl Iterator<Item = &'static str> {
        let doc = |line: &'static str| line.strip_prefix("//!").map(|text| text.strip_prefix(' ').unwrap_or(text));
        self.source.lines().map_while(doc)
    }
}

/// All detectors, by code.
pub static RULES: &[Rule] = &[
    loss::RULE,
    reordering::RULE,
    timeouts::RULE,
    unanswered::RULE,
    receiver_not_ready::RULE,
    long_rnr_timer::RULE,
    rnr_retry_exceeded::RULE,
    fatal_nak::RULE,
    lost_acks::RULE,
    lost_responses::RULE,
    early_timeouts::RULE,
    duplicates::RULE,
    missed_by_capture::RULE,
    go_back_n::RULE,
    slow_naks::RULE,
    loss_pattern::PHYSICAL,
    loss_pattern::CONGESTION,
    ce_marks::RULE,
    cnp_without_ce::RULE,
    ce_without_cnp::RULE,
    no_slowdown::RULE,
    foreign_cnp::RULE,
    pfc_pauses::RULE,
    incast::RULE,
    not_ect::RULE,
    straggler::RULE,
    dscp_differs::RULE,
    class_change::RULE,
    ttl_change::RULE,
    mtu_differs::RULE,
    mtu_hang::RULE,
    foreign_traffic::RULE,
    rocev1::RULE,
    no_roce::RULE,
    one_direction::RULE,
    bad_icrc::RULE,
    port_entropy::RULE,
    cm_rejected::RULE,
    cm_unanswered::RULE,
    nccl_immediate::RULE,
    clear_to_send::RULE,
    pipelining_gap::RULE,
];

/// The rule with this code, in any case.
#[must_use]
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().find(|r| r.code.eq_ignore_ascii_case(code))
}

/// Findings kept per rule: a fabric that fails makes the same one for every queue pair.
pub const MOST: usize = 256;

/// What the detectors found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The worst first, then by time.
    pub list: Vec<Finding>,
    /// By code: those beyond the ones kept.
    pub more: Vec<(&'static str, u64)>,
    /// How well the traffic of the whole capture can spread over links.
    pub paths: Option<PathsReport>,
}

/// Lets every rule look at everything, but at those connections alone whose flows are chosen.
pub(crate) fn findings(
    ledger: &Ledger<'_>,
    chosen: &dyn Fn(&[FlowReport]) -> bool,
    beside: Option<&Beside<'_>>,
) -> Findings {
    // By code, so that a capture full of one trouble does not hide another.
    let mut kept: BTreeMap<&'static str, (Vec<Finding>, u64)> = BTreeMap::new();
    let mut keep = |mut finding: Finding| {
        // Clocks may run backward.
        let (first, last) = (finding.first_ns, finding.last_ns);
        (finding.first_ns, finding.last_ns) = (first.min(last), first.max(last));
        let (list, more) = kept.entry(finding.code).or_default();
        list.push(finding);
        // Now and then, so that a million of them take no more memory than a few.
        if list.len() >= 2 * MOST {
            *more += sift(list);
        }
    };
    for rule in RULES {
        if let Judge::Capture(judge) = rule.judge {
            judge(ledger, &mut keep);
        }
    }
    let mut survey = Survey::default();
    let mut left_out = BTreeSet::new();
    for connection in ledger.connections() {
        let flows: Vec<FlowReport> = connection.flows.iter().filter_map(|&id| ledger.flow(id)).collect();
        let told = beside.map(|beside| told(&flows, beside)).unwrap_or_default();
        let case = Case { connection: &connection, flows: &flows, end_ns: ledger.end_ns(), told: &told };
        survey.add(&case);
        if !chosen(&flows) {
            left_out.insert(connection.id);
            continue;
        }
        for rule in RULES {
            if let Judge::Connection(judge) = rule.judge {
                judge(&case, &mut keep);
            }
        }
    }
    for rule in RULES {
        if let Judge::Survey(judge) = rule.judge {
            judge(&survey, ledger, &mut |finding| {
                if finding.connection.is_none_or(|id| !left_out.contains(&id)) {
                    keep(finding);
                }
            });
        }
    }
    let mut all = Findings { paths: PathsReport::of(&survey), ..Findings::default() };
    for (code, (mut list, mut more)) in kept {
        more += sift(&mut list);
        all.list.append(&mut list);
        if more != 0 {
            all.more.push((code, more));
        }
    }
    all.list.sort_by_key(|f| (Reverse(f.severity), f.first_ns, f.code));
    all
}

/// Keeps the worst and earliest; returns how many went.
fn sift(list: &mut Vec<Finding>) -> u64 {
    let over = list.len().saturating_sub(MOST);
    if over != 0 {
        list.sort_by_key(|f| (Reverse(f.severity), f.first_ns));
        list.truncate(MOST);
    }
    over as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_the_folder() {
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/detect")).unwrap();
        let files: BTreeSet<String> = folder
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .filter(|name| !["mod", "kit"].contains(&name.as_str()))
            .collect();
        let listed: BTreeSet<String> = RULES.iter().map(|r| r.name.to_owned()).collect();
        assert_eq!(files, listed);
        assert!(RULES.iter().map(|r| r.code).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn every_rule_has_a_page() {
        for rule in RULES {
            let page: Vec<_> = rule.page().collect();
            for part in [
                "What it detects",
                "Why it hurts",
                "How it decides",
                "What could fool it",
                "What to do next",
                "References",
            ] {
                assert!(page.iter().any(|line| line.contains(part)), "{}: {part}", rule.code);
            }
        }
    }
}
