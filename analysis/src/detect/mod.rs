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

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use self::kit::Ways;
pub use self::kit::{Evidence, Finding, Severity, Value};
use crate::Ledger;
use crate::report::paths::PathsReport;
use crate::report::survey::Survey;
use crate::report::{ConnectionReport, FlowReport};
use crate::story::StoryReport;
use crate::taps::{Beside, Told};

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

/// What the taps tell about each flow of a connection; nothing where they do not cover all that this one calls lost or
/// in doubt.
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

/// The rule with this code or name, in any case.
#[must_use]
pub fn rule(word: &str) -> Option<&'static Rule> {
    RULES.iter().find(|r| r.code.eq_ignore_ascii_case(word) || r.name.eq_ignore_ascii_case(word))
}

/// Whether a connection that has these flows is chosen.
pub type Chosen<'a> = dyn Fn(&[FlowReport]) -> bool + 'a;

/// Findings kept per rule: a fabric that fails makes the same one for every queue pair (chosen: more than anybody
/// reads).
pub const MOST: usize = 256;

/// What the detectors found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The worst first: by [`Finding::rank`].
    pub list: Vec<Finding>,
    /// By code: those beyond the ones kept.
    pub more: Vec<(&'static str, u64)>,
    /// How well the traffic of the whole capture can spread over links.
    pub paths: Option<PathsReport>,
    /// Codes of warnings and worse about no single connection, which are left out where some are chosen.
    pub of_all: BTreeSet<&'static str>,
}

/// Lets every rule look at everything, or at those connections alone whose flows are chosen: then what is about none of
/// them is left out.
pub(crate) fn findings(ledger: &Ledger<'_>, chosen: Option<&Chosen<'_>>, beside: Option<&Beside<'_>>) -> Findings {
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
    let mut survey = Survey::default();
    let mut left_out = BTreeSet::new();
    for connection in ledger.connections() {
        let flows: Vec<FlowReport> = connection.flows.iter().filter_map(|&id| ledger.flow(id)).collect();
        let told = beside.map(|beside| told(&flows, beside)).unwrap_or_default();
        let case = Case { connection: &connection, flows: &flows, end_ns: ledger.end_ns(), told: &told };
        survey.add(&case);
        if !chosen.is_none_or(|chosen| chosen(&flows)) {
            left_out.insert(connection.id);
            continue;
        }
        for rule in RULES {
            if let Judge::Connection(judge) = rule.judge {
                judge(&case, &mut keep);
            }
        }
    }
    let mut of_all = BTreeSet::new();
    let mut keep_chosen = |finding: Finding| match finding.connection {
        None if chosen.is_some() => {
            if finding.severity != Severity::Info {
                of_all.insert(finding.code);
            }
        }
        Some(id) if left_out.contains(&id) => {}
        _ => keep(finding),
    };
    for rule in RULES {
        match rule.judge {
            Judge::Capture(judge) => judge(ledger, &mut keep_chosen),
            Judge::Survey(judge) => judge(&survey, ledger, &mut keep_chosen),
            Judge::Connection(_) | Judge::Sibling => {}
        }
    }
    let mut all = Findings { paths: PathsReport::of(&survey), of_all, ..Findings::default() };
    for (code, (mut list, mut more)) in kept {
        more += sift(&mut list);
        all.list.append(&mut list);
        if more != 0 {
            all.more.push((code, more));
        }
    }
    all.list.sort_by_cached_key(Finding::rank);
    all
}

/// Keeps the worst; returns how many went.
fn sift(list: &mut Vec<Finding>) -> u64 {
    let over = list.len().saturating_sub(MOST);
    if over != 0 {
        list.sort_by_cached_key(Finding::rank);
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

    /// What tshark names of IPv4 has a name of its own of IPv6.
    #[test]
    fn filters_find_both_versions_of_ip() {
        let names =
            [("ip.dsfield.ecn", "ipv6.tclass.ecn"), ("ip.dsfield.dscp", "ipv6.tclass.dscp"), ("ip.ttl", "ipv6.hlim")];
        let mut found = BTreeSet::new();
        for rule in RULES {
            for (line, (v4, v6)) in rule.page().flat_map(|line| names.map(|pair| (line, pair))) {
                assert_eq!(line.matches(v4).count(), line.matches(v6).count(), "{}: {line}", rule.code);
                found.extend(line.contains(v4).then_some(rule.code));
            }
        }
        assert_eq!(found, BTreeSet::from(["RT020", "RT027", "RT030", "RT032", "RT035"]));
        let has = |code, filter: &str| rule(code).unwrap().page().any(|line| line.contains(filter));
        assert!(has("RT050", "`infiniband.mad.attributeid in {0x0012, 0x0018}`"));
        assert!(has("RT051", "`infiniband.mad.attributeid in {0x0010, 0x0017}`"));
        assert!(has("RT060", "`infiniband.bth.opcode == 11 && infiniband.reth.dmalen == 0`"));
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
                assert!(page.iter().any(|line| line.strip_prefix("# ") == Some(part)), "{}: {part}", rule.code);
            }
        }
    }
}
