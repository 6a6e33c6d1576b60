//! Several senders to one receiver at the same time.
//!
//! # What it detects
//! Four hosts or more whose flows of data to one address overlap in time.
//!
//! # Why it hurts
//! Their sum is more than the receiver's link: the last switch queues, marks, pauses or drops. Collectives do this at
//! each step.
//!
//! # How it decides
//! By the first and last packet of what each host sends there, and by the longest pause of each between the two. Where
//! none of them was silent for more than 1 ms, they sent at the same time. Longer pauses leave room for the others:
//! hosts that take turns, which is no incast, look the same, and so it says how long the pauses are and leaves it open.
//! When packets on the way there were marked CE, it says so.
//!
//! # What could fool it
//! Hosts whose turns are shorter than 1 ms, and a receiver whose link carries all of them. A tap at one sender sees
//! only its own. Hence it is information. Pauses of READ responses are not known.
//!
//! # What to do next
//! If the receiver is slow or its flows are marked: spread the senders over time or over receivers (other collective
//! algorithm, more channels), and look at the queue of the receiver's switch port.
//!
//! # References
//! DCQCN (SIGCOMM 2015), section 2 (incast); DCTCP (SIGCOMM 2010), section 2.3.

use super::kit::{count, time};
use super::{Finding, Judge, Rule, Severity};
use crate::Ledger;
use crate::report::survey::{Pair, Survey};

pub(super) const RULE: Rule = Rule {
    code: "RT026",
    name: "incast",
    title: "several senders to one receiver at the same time",
    severity: Severity::Info,
    needs: "packets at the receiver",
    source: include_str!("incast.rs"),
    judge: Judge::Survey(judge),
};

/// Two or three are a ring or a tree (chosen: so four are the fewest that are none).
const SENDERS: u64 = 4;
/// Pauses up to this are "at the same time" (chosen: the buffer of a switch, some ten MB, holds about that much of what
/// a link of 100 Gb/s takes, so what is sent within it meets there).
const TOGETHER_NS: u64 = 1_000_000;

fn judge(survey: &Survey, _: &Ledger<'_>, report: &mut dyn FnMut(Finding)) {
    let pairs = survey.pairs.iter().filter(|(_, pair)| pair.queue_pairs() != 0);
    let mut to: Vec<(&str, &Pair)> = pairs.map(|((_, dst), pair)| (&**dst, pair)).collect();
    to.sort_by_key(|&(dst, _)| dst);
    for pairs in to.chunk_by(|a, b| a.0 == b.0) {
        let Some(&(dst, _)) = pairs.first() else { continue };
        let pairs: Vec<&Pair> = pairs.iter().map(|&(_, pair)| pair).collect();
        let most = overlap(&pairs);
        if most < SENDERS {
            continue;
        }
        let sum = |of: fn(&Pair) -> u64| pairs.iter().map(|&pair| of(pair)).sum::<u64>();
        let ce = sum(|pair| pair.ce);
        let marked = if ce != 0 { format!("; {} of their packets were marked", count(ce)) } else { String::new() };
        let (pause, when) = when(&pairs);
        let title = format!("{most} hosts sent to {dst} {when}{marked}");
        let first = pairs.iter().map(|p| p.first_ns).min().unwrap_or_default();
        let last = pairs.iter().map(|p| p.last_ns).max().unwrap_or_default();
        let found = Finding::of(&RULE, Severity::Info, title)
            .during(first, last)
            .with("receiver", dst.to_owned())
            .with("senders", most)
            .with("bytes", sum(|pair| pair.bytes))
            .with_harm("ce", ce)
            .advice("Look at the queue of the receiver's port: marks, pauses and drops there.");
        report(match pause {
            Some(ns) => found.with("longest_pause_ns", ns),
            None => found,
        });
    }
}

/// The longest pause of any of them, where it is known, and what is known of when they sent.
fn when(pairs: &[&Pair]) -> (Option<u64>, String) {
    let pause = pairs.iter().map(|pair| pair.pause_ns).try_fold(0, |most, ns| Some(ns?.max(most)));
    let when = match pause {
        Some(..=TOGETHER_NS) => "at the same time".to_owned(),
        Some(ns) => format!("in turns or at once, with pauses of up to {}", time(ns)),
        None => "in the same time span".to_owned(),
    };
    (pause, when)
}

/// Most of them that are at it at once.
fn overlap(pairs: &[&Pair]) -> u64 {
    let mut edges: Vec<(u64, bool)> = pairs.iter().flat_map(|p| [(p.first_ns, false), (p.last_ns, true)]).collect();
    // One that begins when another ends overlaps it.
    edges.sort_unstable();
    let (mut now, mut most) = (0u64, 0);
    for (_, ends) in edges {
        now = if ends { now.saturating_sub(1) } else { now + 1 };
        most = most.max(now);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_overlaps() {
        let pair = |first_ns, last_ns| Pair { first_ns, last_ns, ..Pair::default() };
        let all = [pair(0, 10), pair(5, 20), pair(10, 11), pair(12, 13), pair(30, 31)];
        assert_eq!(overlap(&all.iter().collect::<Vec<_>>()), 3);
        assert_eq!(overlap(&[]), 0);
    }

    #[test]
    fn turns_are_not_called_the_same_time() {
        let of = |pauses: &[Option<u64>]| {
            let pairs: Vec<Pair> = pauses.iter().map(|&pause_ns| Pair { pause_ns, ..Pair::default() }).collect();
            when(&pairs.iter().collect::<Vec<_>>())
        };
        assert_eq!(of(&[Some(900_000), Some(5)]), (Some(900_000), "at the same time".to_owned()));
        let turns = "in turns or at once, with pauses of up to 15.9 ms".to_owned();
        assert_eq!(of(&[Some(900_000), Some(15_900_000)]), (Some(15_900_000), turns));
        assert_eq!(of(&[Some(5), None]), (None, "in the same time span".to_owned()));
    }
}
