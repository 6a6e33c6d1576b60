//! How well the traffic can spread over links of equal cost: what switches hash, and what modelled uplinks would carry.
//!
//! A training job has few flows and long ones, so averages say little of it. What counts is the entropy of the fields
//! that are hashed, by bytes, and the load of the busiest link (RDMA over Ethernet for Distributed AI Training at Meta
//! Scale, SIGCOMM 2024, on routing).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::survey::{Survey, Track};

/// What the data of connected queue pairs looks like to a switch that chooses among links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PathsReport {
    /// Pairs of hosts, each way apart.
    pub pairs: u64,
    /// Pairs of hosts, whichever of them sends.
    pub host_pairs: u64,
    /// Flows of connected queue pairs with sixteen data packets or more.
    pub queue_pairs: u64,
    /// Different addresses and UDP source ports among them: what a switch tells apart.
    pub five_tuples: u64,
    /// Entropy of the five-tuples by bytes, in thousandths of a bit.
    pub five_tuple_millibits: u64,
    /// The same where the destination queue pair is hashed too.
    pub with_qp_millibits: u64,
    /// Groups of links of equal cost, if all of it crossed one of them.
    pub uplinks: Vec<UplinksReport>,
    /// The pairs of hosts with the most bytes.
    pub heaviest: Vec<PairReport>,
    /// Flows beyond those that are kept for this: they are in none of the figures.
    pub more_queue_pairs: u64,
}

/// Links of equal cost, and the bytes of the busiest in thousandths of an equal share: by so many hash functions as
/// good as chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UplinksReport {
    /// Links of the group.
    pub links: u64,
    /// Five-tuples hashed: the mean over the hash functions.
    pub busiest_permille: u64,
    /// The worst of them.
    pub worst_permille: u64,
    /// The destination queue pair hashed too: the mean.
    pub with_qp_busiest_permille: u64,
    /// The worst.
    pub with_qp_worst_permille: u64,
}

/// Data from one host to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "as in the whole")]
pub struct PairReport {
    pub src: String,
    pub dst: String,
    pub bytes: u64,
    pub queue_pairs: u64,
    pub five_tuples: u64,
    pub five_tuple_millibits: u64,
    pub with_qp_millibits: u64,
}

/// Pairs that are listed (chosen: enough to look at).
const LISTED: usize = 16;
/// Sizes of groups: chosen.
const LINKS: [u64; 4] = [2, 4, 8, 16];
/// Hash functions that are tried. The mean is off by an eighth of the deviation of one: a quarter of a share for two
/// flows on sixteen links, less for more flows.
const FUNCTIONS: u64 = 64;

impl PathsReport {
    /// What a survey's flows add up to; `None` where no connected queue pair carries data.
    #[must_use]
    pub fn of(survey: &Survey) -> Option<Self> {
        let tracks = &survey.tracks;
        if tracks.is_empty() {
            return None;
        }
        let mut pairs: BTreeMap<(&str, &str), Vec<&Track>> = BTreeMap::new();
        tracks.iter().for_each(|track| pairs.entry((&track.src, &track.dst)).or_default().push(track));
        let host_pairs =
            pairs.keys().filter(|&&(src, dst)| src <= dst || !pairs.contains_key(&(dst, src))).count() as u64;
        let mut heaviest: Vec<PairReport> = pairs.into_iter().map(|(hosts, own)| PairReport::of(hosts, &own)).collect();
        let count = heaviest.len() as u64;
        heaviest.sort_by_key(|pair| Reverse(pair.bytes));
        heaviest.truncate(LISTED);
        let (tuples, with_qp) = (sums(tracks, |t| t.tuple), sums(tracks, |t| t.with_qp));
        let groups = LINKS.into_iter().zip(busiest(&tuples)).zip(busiest(&with_qp));
        let uplinks = groups.map(|((links, five), qp)| UplinksReport {
            links,
            busiest_permille: five.0,
            worst_permille: five.1,
            with_qp_busiest_permille: qp.0,
            with_qp_worst_permille: qp.1,
        });
        Some(Self {
            pairs: count,
            host_pairs,
            queue_pairs: tracks.len() as u64,
            five_tuples: tuples.len() as u64,
            five_tuple_millibits: entropy(tuples.values().copied()),
            with_qp_millibits: entropy(with_qp.values().copied()),
            uplinks: uplinks.collect(),
            heaviest,
            more_queue_pairs: survey.more_tracks,
        })
    }
}

impl PairReport {
    fn of((src, dst): (&str, &str), own: &[&Track]) -> Self {
        let (tuples, with_qp) = (sums(own.iter().copied(), |t| t.tuple), sums(own.iter().copied(), |t| t.with_qp));
        Self {
            src: src.to_owned(),
            dst: dst.to_owned(),
            bytes: own.iter().map(|t| t.bytes).sum(),
            queue_pairs: own.len() as u64,
            five_tuples: tuples.len() as u64,
            five_tuple_millibits: entropy(tuples.values().copied()),
            with_qp_millibits: entropy(with_qp.values().copied()),
        }
    }
}

/// Bytes by what is hashed.
fn sums<'t>(tracks: impl IntoIterator<Item = &'t Track>, hashed: impl Fn(&Track) -> u64) -> BTreeMap<u64, u64> {
    let mut sums = BTreeMap::new();
    tracks.into_iter().for_each(|track| *sums.entry(hashed(track)).or_default() += track.bytes);
    sums
}

/// The busiest link of each group in thousandths of an equal share: mean and worst over all hash functions.
fn busiest(sums: &BTreeMap<u64, u64>) -> [(u64, u64); LINKS.len()] {
    let all: u64 = sums.values().sum();
    let share = |most: u64, links: u64| u128::from(most) * 1000 * u128::from(links) / u128::from(all.max(1));
    let mut figures = [(0, 0); LINKS.len()];
    for function in (1..=FUNCTIONS).map(mixed) {
        let mut loads = LINKS.map(|links| vec![0_u64; links as usize]);
        for (hashed, bytes) in sums {
            let hash = mixed(hashed ^ function);
            for (loads, links) in loads.iter_mut().zip(LINKS) {
                if let Some(load) = loads.get_mut((hash % links) as usize) {
                    *load += bytes;
                }
            }
        }
        for ((figure, loads), links) in figures.iter_mut().zip(loads).zip(LINKS) {
            let most = share(loads.into_iter().max().unwrap_or_default(), links) as u64;
            *figure = (figure.0 + most, figure.1.max(most));
        }
    }
    figures.map(|(sum, worst)| (sum / FUNCTIONS, worst))
}

/// A word whose bits all depend on all bits of another: the finaliser of SplitMix64 (Steele, Lea, Flood, Fast
/// Splittable Pseudorandom Number Generators, OOPSLA 2014). The same everywhere and for ever, as a report should be.
pub(crate) const fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// Entropy of parts of a whole, in thousandths of a bit.
pub(crate) fn entropy(parts: impl Iterator<Item = u64> + Clone) -> u64 {
    let all: u64 = parts.clone().sum();
    let part = |bytes: u64| {
        let share = bytes as f64 / all as f64;
        if bytes == 0 { 0.0 } else { -share * share.log2() }
    };
    (parts.map(part).sum::<f64>().abs() * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(count: u64) -> BTreeMap<u64, u64> {
        (0..count).map(|n| (mixed(n + 1), 1_000)).collect()
    }

    #[test]
    fn entropy_by_bytes() {
        let entropy_of = |parts: &[u64]| entropy(parts.iter().copied());
        assert_eq!(entropy_of(&[100]), 0);
        assert_eq!(entropy_of(&[100, 60 + 40, 0]), 1000);
        // -(3/4 log2 3/4 + 1/4 log2 1/4) = 0.811.
        assert_eq!(entropy_of(&[300, 100]), 811);
        assert_eq!(entropy_of(&[]), 0);
    }

    #[test]
    fn one_flow_fills_one_link() {
        assert_eq!(busiest(&even(1)), LINKS.map(|links| (1000 * links, 1000 * links)));
    }

    #[test]
    fn two_flows_meet_every_other_time() {
        // On two links: 2 times the share where they meet, else 1; 64 draws of that have a deviation of 1/16.
        let [(mean, worst), ..] = busiest(&even(2));
        assert!((1_375..=1_625).contains(&mean), "{mean}");
        assert_eq!(worst, 2_000);
    }

    #[test]
    fn balls_in_bins() {
        // The fullest of 8 bins with 8 balls has 2.597 on average, and a share is one ball: the multinomial
        // distribution summed over all 6,435 ways to fill the bins.
        let [_, _, (mean, _), _] = busiest(&even(8));
        assert!((2_350..=2_800).contains(&mean), "{mean}");
        let [_, _, (mean, _), _] = busiest(&even(8_000));
        assert!((1_000..=1_080).contains(&mean), "{mean}");
    }
}
