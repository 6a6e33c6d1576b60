//! What the pattern of lost packets suggests: a physical fault, or congestion.
//!
//! # What it detects
//! RT016: losses on the way to one host that are spread like damage: single packets, far apart, without any sign of
//! congestion. RT017: losses on the way to one host that come like an overflow: in bursts, with congestion marks, or of
//! several senders at once. Where neither fits well, nothing is said.
//!
//! # Why it hurts
//! The two need opposite cures. A bad cable or transceiver loses packets at any load and is replaced; a queue that
//! overflows wants pause frames, marks at a lower threshold, or less incast.
//!
//! # How it decides
//! Over all flows to one host with at least five lost packets. Three signs of congestion: at least a third of the lost
//! packets follow another lost one directly (bursts); CE marks, or more CNPs than NAKs (a NAK makes some NICs send a
//! CNP); at least two senders, with a third of the losses within 1 ms of another sender's. Two of them are RT017, if
//! the losses come at more than one moment: a link that goes away once takes a burst of all who send, too. None
//! of them, with less than a tenth in bursts and less than a tenth beside another sender's, is RT016.
//!
//! # What could fool it
//! Traffic that does not take part in ECN is never marked, so no marks say nothing then; a policer that drops single
//! packets looks like damage. Marks that are set behind the tap are not seen.
//!
//! # What to do next
//! RT016: compare FEC and CRC error counters of each port on the path, clean or change optics and cables. RT017: look
//! at the queue that overflows: its drops, the pause frames it sent, its ECN threshold, and who sends at the same time.
//!
//! # References
//! IEEE 802.3 asks for a bit error ratio below 1e-12, one 4 KiB packet in 30 million. DCQCN (SIGCOMM 2015) for marks
//! and CNPs.

use std::collections::BTreeMap;

use super::kit::{FRAMES, count, counted};
use super::{Evidence, Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::{FlowReport, FrameRef};
use crate::story::report::Kind;

pub(super) const PHYSICAL: Rule = Rule {
    code: "RT016",
    name: "loss_pattern",
    title: "the losses are spread like damage, not like congestion",
    severity: Severity::Info,
    needs: "packets of both directions, behind the place of the loss",
    source: include_str!("loss_pattern.rs"),
    judge: Judge::Capture(judge),
};

pub(super) const CONGESTION: Rule = Rule {
    code: "RT017",
    title: "the losses come in bursts, with signs of congestion",
    // The other one's judge says either this or that.
    judge: Judge::Sibling,
    ..PHYSICAL
};

/// Fewer lost packets have no pattern (chosen).
const LEAST: u64 = 5;
/// One in so many is many: chance alone makes neighbours of one in a hundred where one packet in a hundred is lost.
const MANY: u64 = 3;
/// Less than one in so many is few (chosen).
const FEW: u64 = 10;
/// Losses of two senders this close share a cause: a switch's queue fills and drains in less (chosen: 12.5 MB at 100
/// Gb/s).
const TOGETHER_NS: u64 = 1_000_000;
/// Episodes that are looked at, of all flows to one host (chosen: bounds the work).
const EPISODES: usize = 4_096;

/// What is known about the way to one host.
#[derive(Clone, Debug, Default)]
struct Way {
    senders: BTreeMap<String, u64>,
    /// CE marks of the requests, CNPs and sequence errors that came back for them.
    ce: u64,
    cnps: u64,
    naks: u64,
    losses: Vec<Loss>,
}

#[derive(Clone, Debug)]
struct Loss {
    at: u64,
    packets: u64,
    sender: String,
    frame: Option<FrameRef>,
}

fn judge(ledger: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let ecn = ledger.totals().ecn;
    let capable = ecn.ect0 + ecn.ect1 + ecn.ce != 0;
    for (host, way) in &ways(ledger.flows()) {
        if let Some(finding) = way.finding(host, capable) {
            report(finding);
        }
    }
}

/// By the host that flows lead to.
fn ways(flows: impl Iterator<Item = FlowReport>) -> BTreeMap<String, Way> {
    let mut ways: BTreeMap<String, Way> = BTreeMap::new();
    // A host that nothing is lost to costs nothing, however many there are.
    let troubled = |f: &FlowReport| {
        let lost = f.story.as_ref().is_some_and(|s| !s.episodes.is_empty());
        lost || f.ce + f.cnps + u64::from(f.naks.psn_sequence_error) != 0
    };
    for flow in flows.filter(troubled) {
        let way = ways.entry(flow.dst.clone()).or_default();
        way.ce += flow.ce;
        if flow.requests.packets != 0 {
            *way.senders.entry(flow.src.clone()).or_default() += flow.requests.packets;
        }
        for episode in flow.story.iter().flat_map(|s| &s.episodes) {
            if way.losses.len() < EPISODES && matches!(episode.kind, Kind::LostBeforeTap) {
                way.losses.push(Loss {
                    at: episode.first_ns,
                    packets: episode.packets.max(1),
                    sender: flow.src.clone(),
                    frame: episode.frames.first().cloned(),
                });
            }
        }
        // What goes back speaks about the way here.
        if flow.cnps != 0 || flow.naks.psn_sequence_error != 0 {
            let back = ways.entry(flow.src).or_default();
            back.cnps += flow.cnps;
            back.naks += u64::from(flow.naks.psn_sequence_error);
        }
    }
    for way in ways.values_mut() {
        way.losses.sort_by_key(|l| l.at);
    }
    ways
}

impl Way {
    fn finding(&self, host: &str, capable: bool) -> Option<Finding> {
        let lost: u64 = self.losses.iter().map(|l| l.packets).sum();
        if lost < LEAST {
            return None;
        }
        let in_bursts = lost - self.losses.len() as u64;
        let together = self.together();
        let many = |n: u64| n * MANY >= lost;
        let marked = self.ce != 0 || self.cnps > self.naks;
        let signs = [many(in_bursts), marked, self.senders.len() > 1 && many(together)];
        let few = |n: u64| n * FEW < lost;
        let (rule, title, advice) = match signs.into_iter().filter(|&sign| sign).count() {
            2.. if self.comes_again() => (
                &CONGESTION,
                format!("{} lost towards {host} look like congestion", counted(lost, "packet")),
                "Look at the queue towards this host: drops, pause frames, ECN threshold, and who sends at the same \
                time.",
            ),
            0 if few(in_bursts) && few(together) && self.cnps == 0 => (
                &PHYSICAL,
                format!("{} lost towards {host} are spread like damage", counted(lost, "packet")),
                if capable {
                    "Compare FEC and CRC error counters of the ports on the path before you change anything about \
                    congestion."
                } else {
                    "Compare FEC and CRC error counters of the ports on the path. This traffic takes no part in ECN, \
                     so the absence of marks says nothing."
                },
            ),
            _ => return None,
        };
        let first = self.losses.first().map_or(0, |l| l.at);
        Some(Finding {
            code: rule.code,
            severity: rule.severity,
            title,
            flow: None,
            connection: None,
            first_ns: first,
            last_ns: self.losses.last().map_or(first, |l| l.at),
            frames: self.losses.iter().filter_map(|l| l.frame.clone()).take(FRAMES).collect(),
            evidence: Evidence::default()
                .with("lost", lost)
                .with("in_bursts", in_bursts)
                .with("beside_another_senders", together)
                .with("senders", self.senders.len() as u64)
                .with("requests", self.senders.values().sum::<u64>())
                .with_harm("ce", self.ce)
                .with("cnps", self.cnps)
                .with("signs", format!("{} of 3", count(signs.into_iter().filter(|&s| s).count() as u64))),
            advice: advice.to_owned(),
        })
    }

    /// Whether losses come at moments further apart than what shares a cause.
    fn comes_again(&self) -> bool {
        let far = |(a, b): (&Loss, &Loss)| b.at.saturating_sub(a.at) > TOGETHER_NS;
        self.losses.iter().zip(self.losses.iter().skip(1)).any(far)
    }

    /// Packets that were lost next to one of another sender.
    fn together(&self) -> u64 {
        let near = |a: &Loss, b: &Loss| a.sender != b.sender && b.at.saturating_sub(a.at) <= TOGETHER_NS;
        let before = std::iter::once(None).chain(self.losses.iter().map(Some));
        let after = self.losses.iter().skip(1).map(Some).chain(std::iter::once(None));
        let neighbours = self.losses.iter().zip(before.zip(after));
        let beside = neighbours.filter(|(loss, (before, after))| {
            before.is_some_and(|b| near(b, loss)) || after.is_some_and(|a| near(loss, a))
        });
        beside.map(|(loss, _)| loss.packets).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::kit::cases::{self, episode};
    use super::*;
    use crate::story::StoryReport;
    use crate::story::report::{Cause, EpisodeReport};

    const MS: u64 = 1_000_000;

    /// Flows of a sender that lost so many packets at each of these times.
    fn lossy(src: &str, times: &[u64], packets: u64) -> FlowReport {
        let episodes = times
            .iter()
            .map(|&at| EpisodeReport { packets, ..episode(Kind::LostBeforeTap, Some(Cause::Nak), at, &[at / MS]) })
            .collect();
        let [mut flow, _] = cases::flows(StoryReport { episodes, ..StoryReport::default() }, 0);
        flow.src = src.into();
        flow
    }

    fn told(flows: Vec<FlowReport>) -> Vec<(&'static str, String)> {
        let ways = ways(flows.into_iter());
        ways.iter().filter_map(|(host, way)| way.finding(host, true)).map(|f| (f.code, f.title)).collect()
    }

    const FAR_APART: [u64; 5] = [10 * MS, 200 * MS, 350 * MS, 700 * MS, 900 * MS];

    #[test]
    fn single_packets_far_apart_look_like_damage() {
        let found = told(vec![lossy("10.9.1.1", &FAR_APART, 1)]);
        assert_eq!(found, [("RT016", "5 packets lost towards 10.9.2.1 are spread like damage".to_owned())]);
        assert!(told(vec![lossy("10.9.1.1", &FAR_APART[..4], 1)]).is_empty());
    }

    #[test]
    fn marks_alone_are_no_verdict() {
        let marked = FlowReport { ce: 7, ..lossy("10.9.1.1", &FAR_APART, 1) };
        assert!(told(vec![marked]).is_empty());
    }

    #[test]
    fn bursts_with_marks_look_like_congestion() {
        let marked = FlowReport { ce: 7, ..lossy("10.9.1.1", &[10 * MS, 500 * MS], 6) };
        let found = told(vec![marked]);
        assert_eq!(found, [("RT017", "12 packets lost towards 10.9.2.1 look like congestion".to_owned())]);
        // Bursts alone may be a link that went away for a moment.
        assert!(told(vec![lossy("10.9.1.1", &[10 * MS, 500 * MS], 6)]).is_empty());
    }

    #[test]
    fn bursts_of_several_senders_at_once_are_incast() {
        let flows = ["10.9.1.1", "10.9.3.1"].map(|src| lossy(src, &[10 * MS, 500 * MS], 6));
        let found = told(flows.to_vec());
        assert_eq!(found, [("RT017", "24 packets lost towards 10.9.2.1 look like congestion".to_owned())]);
        // A link that goes away for a moment takes from all of them at once.
        let flows = ["10.9.1.1", "10.9.3.1"].map(|src| lossy(src, &[10 * MS], 6));
        assert!(told(flows.to_vec()).is_empty());
    }

    #[test]
    fn cnps_count_where_naks_did_not_cause_them() {
        let bursts = lossy("10.9.1.1", &[10 * MS, 500 * MS], 6);
        let back = |cnps| {
            let [_, back] = cases::flows(StoryReport::default(), 2);
            FlowReport { cnps, ..back }
        };
        assert!(told(vec![bursts.clone(), back(2)]).is_empty());
        assert_eq!(told(vec![bursts, back(3)]).len(), 1);
    }
}
