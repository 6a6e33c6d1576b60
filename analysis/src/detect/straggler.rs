//! One of several equal flows is far behind the others.
//!
//! # What it detects
//! Four queue pairs or more that one host sends to, or receives from, each with about the same amount of data and begun
//! at the same time, of which a quarter at most took twice as long as the others.
//!
//! # Why it hurts
//! A collective's step ends with its slowest flow: all others wait for it.
//!
//! # How it decides
//! By the time from the first to the last packet of each flow with sixteen requests or more. Flows count as equal
//! within a tenth of the middle one's data, and as begun together within a tenth of its time. The others have to agree:
//! none of them may take more than half as long again as the middle one. If all that are late come from one host, or go
//! to one, it says which.
//!
//! # What could fool it
//! Flows that are equal by chance and belong to different jobs. A sender whose application was late looks like one
//! whose network was slow: losses, marks and round trips of the flow tell more. One tap sees only what passes it.
//!
//! # What to do next
//! Look at the story of the late flow (`--flow`). Without losses, marks or long round trips it is the host: its NIC's
//! firmware and speed, the optics, PCIe and NUMA placement. With them it is the path: compare its source port's path
//! with the others'.
//!
//! # References
//! RDMA over Ethernet for Distributed AI Training at Meta Scale (SIGCOMM 2024); The Tail at Scale (Communications of
//! the ACM 56/2, 2013).

use std::collections::BTreeSet;

use super::kit::time;
use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::survey::{Survey, Work};

pub(super) const RULE: Rule = Rule {
    code: "RT028",
    name: "straggler",
    title: "one of several equal flows is far behind",
    severity: Severity::Warning,
    needs: "packets of all these flows",
    source: include_str!("straggler.rs"),
    judge: Judge::Survey(judge),
};

/// Fewer say little about which one is odd.
const LEAST: usize = 4;
/// A transfer that is over sooner is decided by chance: two packets in another order.
const SHORT_NS: u64 = 1_000_000;

fn judge(survey: &Survey, _: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    compare(survey, report);
}

/// One end of a flow.
type End = fn(&Work) -> &str;

fn compare(survey: &Survey, report: &mut dyn FnMut(Finding)) {
    let mut told = BTreeSet::new();
    let [src, dst]: [End; 2] = [|w| &w.src, |w| &w.dst];
    for (here, there, does, way) in [(src, dst, "sends", "to"), (dst, src, "receives", "from")] {
        let mut works: Vec<&Work> = survey.works.iter().collect();
        works.sort_by(|a, b| here(a).cmp(here(b)));
        for all in works.chunk_by(|a, b| here(a) == here(b)) {
            let Some(late) = late(all) else { continue };
            let Some(&worst) = late.slow.iter().max_by_key(|w| w.time()) else { continue };
            // The same flow is late among its sender's and among its receiver's.
            if !told.insert(worst.flow) {
                continue;
            }
            let (slow, all) = (late.slow.len(), late.slow.len() + late.fast.len());
            let one = late.slow.iter().all(|w| there(w) == there(worst));
            let whose = if one { format!(", {way} {}", there(worst)) } else { String::new() };
            let [took, usual] = [worst.time(), late.middle].map(time);
            let title = format!(
                "{slow} of {all} equal flows that {} {does} took {took} instead of {usual}{whose}",
                here(worst)
            );
            let finding = Finding::of(&RULE, Severity::Warning, title).during(worst.first_ns, worst.last_ns);
            let finding = finding
                .with("late_flows", slow as u64)
                .with("equal_flows", all as u64)
                .with("time_ns", worst.time())
                .with("usual_time_ns", late.middle)
                .with("bytes", worst.bytes)
                .with("peer", there(worst).to_owned())
                .advice(
                    "Look at the story of the late flow. Without losses, marks or long round trips suspect its host: \
                     NIC, optics, PCIe, the application; with them its path. Equal flows of different jobs may differ \
                     by chance.",
                );
            report(Finding { flow: Some(worst.flow), connection: Some(worst.connection), ..finding });
        }
    }
}

/// Equal flows, those that were late, and the time of the middle one.
struct Late<'w> {
    slow: Vec<&'w Work>,
    fast: Vec<&'w Work>,
    middle: u64,
}

fn late<'w>(all: &[&'w Work]) -> Option<Late<'w>> {
    if all.len() < LEAST {
        return None;
    }
    let bytes = middle(all.iter().map(|w| w.bytes));
    let near = |a: u64, b: u64, within: u64| a.abs_diff(b) <= within / 10;
    let equal: Vec<&Work> = all.iter().copied().filter(|w| near(w.bytes, bytes, bytes)).collect();
    let usual = middle(equal.iter().map(|w| w.time()));
    let begin = middle(equal.iter().map(|w| w.first_ns));
    let together = |w: &&&Work| near(w.first_ns, begin, usual);
    let equal: Vec<&Work> = equal.iter().filter(together).copied().collect();
    if equal.len() < LEAST || usual < SHORT_NS {
        return None;
    }
    let (slow, fast): (Vec<&Work>, Vec<&Work>) = equal.into_iter().partition(|w| w.time() >= 2 * usual);
    let agree = fast.iter().all(|w| w.time() <= usual + usual / 2);
    (!slow.is_empty() && slow.len() * 3 <= fast.len() && agree).then_some(Late { slow, fast, middle: usual })
}

fn middle(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn works(ms: &[u64]) -> Vec<Work> {
        let work = |(flow, ms): (u32, &u64)| Work {
            flow,
            connection: flow,
            src: format!("10.0.0.{flow}").into(),
            dst: "10.0.0.9".into(),
            bytes: 1_000_000,
            first_ns: 5,
            last_ns: 5 + ms * 1_000_000,
        };
        (0..).zip(ms).map(work).collect()
    }

    fn slow(ms: &[u64]) -> Option<Vec<u32>> {
        late(&works(ms).iter().collect::<Vec<_>>()).map(|late| late.slow.iter().map(|w| w.flow).collect())
    }

    #[test]
    fn one_far_behind_the_others_is_told() {
        assert_eq!(slow(&[10, 11, 9, 25]), Some(vec![3]));
        assert_eq!(slow(&[22, 10, 11, 9, 10, 12, 30, 10]), Some(vec![0, 6]));
    }

    #[test]
    fn what_may_be_chance_is_not() {
        // Too few; not far enough; the others do not agree; too many; too short.
        for ms in [&[10, 10, 25][..], &[10, 11, 9, 19], &[10, 10, 10, 18, 30], &[10, 10, 10, 25, 25], &[0, 0, 0, 9]] {
            assert_eq!(slow(ms), None, "{ms:?}");
        }
    }

    #[test]
    fn only_equal_flows_that_began_together_are_compared() {
        let mut all = works(&[10, 10, 10, 10, 25]);
        all[4].bytes = 2_000_000;
        assert!(late(&all.iter().collect::<Vec<_>>()).is_none());
        let mut all = works(&[10, 10, 10, 10, 25]);
        all[4].first_ns += 2_000_000;
        assert!(late(&all.iter().collect::<Vec<_>>()).is_none());
    }

    #[test]
    fn the_late_host_is_named() {
        let mut survey = Survey::default();
        survey.works.extend(works(&[10, 11, 9, 25]));
        let mut found = Vec::new();
        compare(&survey, &mut |f| found.push(f));
        let title = "1 of 4 equal flows that 10.0.0.9 receives took 25 ms instead of 10 ms, from 10.0.0.3";
        assert_eq!((found.len(), found[0].title.as_str(), found[0].flow), (1, title, Some(3)));
    }
}
