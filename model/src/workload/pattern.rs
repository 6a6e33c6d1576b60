//! Traffic that is not a collective: incast, permutation, random arrivals, background.

use super::{Flow, FlowId, Workload};
use crate::rng::Rng;
use crate::topology::HostId;
use crate::units::{Bytes, Priority, Rate, Time};

/// Every sender sends `bytes` to `to`, all at once.
pub fn incast(load: &mut Workload, senders: impl IntoIterator<Item = HostId>, to: HostId, bytes: Bytes) {
    for src in senders.into_iter().filter(|src| *src != to) {
        load.add(Flow::new(src, to, bytes));
    }
}

/// Every host sends `bytes` to one other and receives from one: a single cycle through all hosts in random order, so
/// that nobody is its own partner.
pub fn permutation(load: &mut Workload, hosts: &[HostId], bytes: Bytes, seed: u64) {
    let mut order = hosts.to_vec();
    Rng::named(seed, "permutation").shuffle(&mut order);
    for (&src, &dst) in order.iter().zip(order.iter().cycle().skip(1)).filter(|(src, dst)| src != dst) {
        load.add(Flow::new(src, dst, bytes));
    }
}

/// How large flows are: points of a cumulative distribution, straight lines between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Sizes, and the share of flows of at most that size in millionths; both rise.
    points: Vec<(Bytes, u32)>,
}

/// All of a distribution, in its unit.
const WHOLE: u32 = 1_000_000;

impl Sizes {
    /// All of one size.
    #[must_use]
    pub fn fixed(bytes: Bytes) -> Self {
        Self { points: vec![(bytes, 0), (bytes, WHOLE)] }
    }

    /// A distribution by its points: sizes and cumulative shares in millionths, from 0 to 1,000,000.
    ///
    /// # Errors
    /// Says which point does not fit.
    pub fn points(points: Vec<(Bytes, u32)>) -> Result<Self, BadSizes> {
        match (points.first(), points.last()) {
            (Some((_, 0)), Some((_, WHOLE))) => {}
            _ => return Err(BadSizes::Ends),
        }
        let falls = points.iter().zip(points.iter().skip(1)).position(|(a, b)| a.0 > b.0 || a.1 > b.1);
        match falls {
            Some(at) => Err(BadSizes::Falls { point: at + 1 }),
            None => Ok(Self { points }),
        }
    }

    /// Web search (Alizadeh et al.: "Data center TCP", SIGCOMM 2010, as the HPCC simulator has it in
    /// `WebSearch_distribution.txt`).
    #[must_use]
    pub fn web_search() -> Self {
        let points = [
            (1, 0),
            (10_000, 150_000),
            (20_000, 200_000),
            (30_000, 300_000),
            (50_000, 400_000),
            (80_000, 530_000),
            (200_000, 600_000),
            (1_000_000, 700_000),
            (2_000_000, 800_000),
            (5_000_000, 900_000),
            (10_000_000, 970_000),
            (30_000_000, WHOLE),
        ];
        Self { points: points.map(|(bytes, share)| (Bytes(bytes), share)).to_vec() }
    }

    /// Draws a size; at least one byte.
    #[must_use]
    pub fn draw(&self, rng: &mut Rng) -> Bytes {
        let share = rng.below(u64::from(WHOLE)) as u32;
        let pairs = self.points.iter().zip(self.points.iter().skip(1));
        for (low, high) in pairs {
            if share < high.1 {
                let (width, into) = (u64::from(high.1 - low.1), u64::from(share.saturating_sub(low.1)));
                let more = u128::from(high.0.0 - low.0.0) * u128::from(into);
                return Bytes((low.0.0 + (more / u128::from(width.max(1))) as u64).max(1));
            }
        }
        Bytes(1)
    }

    /// The mean size.
    #[must_use]
    pub fn mean(&self) -> Bytes {
        let pairs = self.points.iter().zip(self.points.iter().skip(1));
        let sum: u128 = pairs.map(|(a, b)| (u128::from(a.0.0) + u128::from(b.0.0)) * u128::from(b.1 - a.1)).sum();
        Bytes((sum / (2 * u128::from(WHOLE))) as u64)
    }
}

/// Points that are no distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSizes {
    /// It does not begin at none or end at all.
    #[error("a distribution of sizes begins with a share of 0 and ends with 1000000 (millionths)")]
    Ends,
    /// A point is lower than the one before.
    #[error("point {point} of a distribution of sizes is below the one before it; sizes and shares only rise")]
    Falls {
        /// Which, from 0.
        point: usize,
    },
}

/// Random arrivals.
#[derive(Clone, Debug)]
pub struct Poisson {
    /// How large flows are.
    pub sizes: Sizes,
    /// Line rate of a host.
    pub line: Rate,
    /// What share of it all hosts send on average, in per cent.
    pub percent: u32,
    /// How long flows keep arriving.
    pub until: Time,
    /// The most flows there may be: bad figures shall not fill the memory.
    pub most: usize,
}

impl Poisson {
    /// Flows between random pairs of hosts, at random times: over the whole fabric the gaps between starts are
    /// exponentially distributed. Returns the flows.
    pub fn add(&self, load: &mut Workload, hosts: &[HostId], seed: u64) -> Vec<FlowId> {
        let mut flows = Vec::new();
        let n = hosts.len() as u64;
        let bits = u128::from(self.line.0) * u128::from(n) * u128::from(self.percent) / 100;
        if n < 2 || bits == 0 {
            return flows;
        }
        let mean_gap = self.sizes.mean().0 as f64 * 8.0 * Time::SECOND.0 as f64 / bits as f64;
        let mut rng = Rng::named(seed, "poisson");
        let mut at = 0.0;
        while flows.len() < self.most {
            at += mean_gap * exponential(&mut rng);
            if at >= self.until.0 as f64 {
                break;
            }
            let src = rng.below(n);
            let dst = (src + 1 + rng.below(n - 1)) % n;
            let (Some(&src), Some(&dst)) = (hosts.get(src as usize), hosts.get(dst as usize)) else { break };
            let bytes = self.sizes.draw(&mut rng);
            flows.push(load.add(Flow::new(src, dst, bytes).after(Time(at as u64))));
        }
        flows
    }
}

/// An exponentially distributed number of mean 1, by additions and comparisons alone (von Neumann 1951): logarithms
/// differ from machine to machine.
fn exponential(rng: &mut Rng) -> f64 {
    let mut whole = 0.0;
    loop {
        let first = rng.unit();
        let mut last = first;
        let mut odd = true;
        loop {
            let next = rng.unit();
            if next >= last {
                break;
            }
            last = next;
            odd = !odd;
        }
        // The run of falling numbers had an odd length with probability e^-first.
        if odd {
            return whole + first;
        }
        whole += 1.0;
    }
}

/// A steady stream from one host to another that lasts for `time`: one flow, held to `rate`, in a class of its own.
pub fn background(
    load: &mut Workload,
    (src, dst): (HostId, HostId),
    rate: Rate,
    time: Time,
    class: Priority,
) -> FlowId {
    let bytes = Bytes(rate.bytes_in(time).0.max(1));
    load.add(Flow { priority: class, limit: rate, ..Flow::new(src, dst, bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(n: u32) -> Vec<HostId> {
        (0..n).map(HostId).collect()
    }

    #[test]
    fn everybody_to_one_and_everybody_to_another() {
        let mut load = Workload::new();
        incast(&mut load, hosts(8), HostId(3), Bytes(100));
        assert_eq!((load.flows().len(), load.bytes()), (7, Bytes(700)));
        let mut load = Workload::new();
        permutation(&mut load, &hosts(100), Bytes(10), 4);
        assert_eq!(load.check(100), Ok(()));
        for side in [|flow: &Flow| flow.src, |flow: &Flow| flow.dst] {
            let mut ends: Vec<HostId> = load.flows().rows().iter().map(side).collect();
            ends.sort_unstable();
            assert_eq!(ends, hosts(100));
        }
        let mut load = Workload::new();
        permutation(&mut load, &hosts(1), Bytes(10), 4);
        assert!(load.flows().is_empty());
    }

    #[test]
    fn sizes_follow_their_distribution() {
        let web = Sizes::web_search();
        // By hand: half the sum of (a + b) x share over the eleven segments.
        assert_eq!(web.mean(), Bytes(1_711_250));
        let mut rng = Rng::new(2);
        let draws: Vec<u64> = (0..100_000).map(|_| web.draw(&mut rng).0).collect();
        let mean = draws.iter().sum::<u64>() as f64 / 1e5;
        assert!((mean / 1_711_250.0 - 1.0).abs() < 0.03, "{mean}");
        let small = draws.iter().filter(|bytes| **bytes <= 80_000).count();
        assert!((52_500..53_500).contains(&small), "{small}");
        assert_eq!(Sizes::fixed(Bytes(77)).draw(&mut rng), Bytes(77));
        assert_eq!(Sizes::points(vec![(Bytes(1), 0), (Bytes(9), 5)]), Err(BadSizes::Ends));
        let falls = vec![(Bytes(9), 0), (Bytes(1), WHOLE)];
        assert_eq!(Sizes::points(falls), Err(BadSizes::Falls { point: 1 }));
    }

    #[test]
    fn arrivals_are_as_dense_as_asked_and_bounded() {
        let poisson = Poisson {
            sizes: Sizes::fixed(Bytes(125_000)),
            line: Rate::gbps(100),
            percent: 50,
            until: Time::ms(10),
            most: 1_000_000,
        };
        // 64 hosts at 50 Gb/s for 10 ms: 32 Gbit, of a megabit each.
        let mut load = Workload::new();
        let flows = poisson.add(&mut load, &hosts(64), 3);
        assert!((31_300..32_700).contains(&flows.len()), "{}", flows.len());
        assert_eq!(load.check(64), Ok(()));
        let first = |seed| {
            let mut load = Workload::new();
            poisson.add(&mut load, &hosts(64), seed);
            load.flows().rows().first().copied()
        };
        assert_eq!(first(3), first(3));
        assert_ne!(first(3), first(4));
        let few = Poisson { most: 10, ..poisson };
        assert_eq!(few.add(&mut Workload::new(), &hosts(64), 3).len(), 10);
        assert!(few.add(&mut Workload::new(), &hosts(1), 3).is_empty());
    }

    #[test]
    fn an_exponential_has_mean_and_deviation_one() {
        let mut rng = Rng::new(5);
        let draws: Vec<f64> = (0..200_000).map(|_| exponential(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / 2e5;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 2e5;
        assert!((mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn a_background_lasts_as_long_as_it_should() {
        let mut load = Workload::new();
        let id = background(&mut load, (HostId(0), HostId(1)), Rate::gbps(10), Time::ms(1), Priority::new(0));
        assert_eq!(load.flows()[id].bytes, Bytes(1_250_000));
    }
}
