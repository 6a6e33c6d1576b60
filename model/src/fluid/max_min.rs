//! Max-min fair rates: nobody can have more without somebody who has no more having less.
//!
//! Water-filling: all flows rise together until a link is full; its flows stay where they are, the others rise on.
//! Links wait in a heap by the level at which they would be full. Freezing a flow only ever puts that level up, so an
//! entry that is too low is put back where it belongs when its turn comes, and no entry is looked for: each flow is
//! frozen once. Levels in the heap have 24 bits of mantissa, so that an entry is one word: who is first may be wrong by
//! a part in 16 million, and then somebody has that much less than fair. No link ever carries more than it can.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Links with capacities, and flows over them. Links and flows are named by their order.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    capacity: Vec<f64>,
    /// Flow `f` uses `uses[first[f]..first[f + 1]]`.
    first: Vec<u32>,
    uses: Vec<Use>,
}

/// A link of a flow, and what share of the flow crosses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The link.
    pub link: u32,
    /// All of a flow that goes one way, less where it is spread over several.
    pub share: Share,
}

/// A share of a flow, in parts of 2^-24: whole numbers, so that sums come back to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Share(u32);

impl Share {
    /// All of it.
    pub const ALL: Self = Self(1 << 24);

    /// An nth of this, at least the smallest share there is.
    #[must_use]
    pub fn split(self, n: usize) -> Self {
        Self((f64::from(self.0) / n.max(1) as f64 + 0.5) as u32).max(Self(1))
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// As a number up to 1.
    #[must_use]
    pub fn get(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ALL.0)
    }
}

impl Problem {
    /// Links of these capacities, and no flow yet. Units are the caller's; rates come in the same.
    #[must_use]
    pub fn new(capacity: Vec<f64>) -> Self {
        Self { capacity, first: vec![0], uses: Vec::new() }
    }

    /// Adds a link.
    pub fn link(&mut self, capacity: f64) -> u32 {
        self.capacity.push(capacity);
        self.capacity.len() as u32 - 1
    }

    /// Adds a flow; uses of links that are not there are left out.
    pub fn flow(&mut self, uses: impl IntoIterator<Item = Use>) {
        let links = self.capacity.len();
        self.uses.extend(uses.into_iter().filter(|used| (used.link as usize) < links));
        self.first.push(self.uses.len() as u32);
    }

    /// Takes out all flows, and the links beyond the first `links`.
    pub fn clear(&mut self, links: usize) {
        self.capacity.truncate(links);
        self.first.truncate(1);
        self.uses.clear();
    }

    /// How many flows.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.first.len() - 1
    }

    fn of(&self, flow: usize) -> &[Use] {
        let (Some(&from), Some(&to)) = (self.first.get(flow), self.first.get(flow + 1)) else { return &[] };
        self.uses.get(from as usize..to as usize).unwrap_or_default()
    }
}

/// The most links that the heap can name.
const LINKS: u64 = 1 << 28;

/// A link while the water rises.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Capacity that frozen flows have left.
    left: f64,
    /// Sum of the shares of the flows that still rise, in their own unit.
    rising: u64,
}

impl Link {
    fn level(&self) -> f64 {
        (self.left / (self.rising as f64 / f64::from(Share::ALL.0))).max(0.0)
    }

    /// Its entry in the heap, which has the largest first: levels are never negative, and bits of such numbers are
    /// ordered as they are.
    fn entry(&self, at: u64) -> u64 {
        !(self.level().to_bits() & !(LINKS - 1) | at)
    }
}

/// Solves problems; keeps its memory between them.
#[derive(Clone, Debug, Default)]
pub struct Solver {
    links: Vec<Link>,
    /// Flows by link, and where each link's begin.
    flows: Vec<u32>,
    begins: Vec<u32>,
    heap: BinaryHeap<u64>,
}

/// No rate yet.
const RISING: f64 = -1.0;

impl Solver {
    /// The rate of every flow; infinite for one that uses no link.
    pub fn solve(&mut self, problem: &Problem, rates: &mut Vec<f64>) {
        self.begin(problem);
        rates.clear();
        rates.extend((0..problem.flows()).map(|flow| if problem.of(flow).is_empty() { f64::INFINITY } else { RISING }));
        while let Some(mut first) = self.heap.peek_mut() {
            let at = !*first & (LINKS - 1);
            let Some(link) = self.links.get(at as usize).filter(|link| link.rising > 0) else {
                PeekMut::pop(first);
                continue;
            };
            let now = link.entry(at);
            if now < *first {
                *first = now;
                continue;
            }
            PeekMut::pop(first);
            let rate = link.level();
            let begin = self.begins.get(at as usize).map_or(0, |begin| *begin as usize);
            let end = self.begins.get(at as usize + 1).map_or(self.flows.len(), |next| *next as usize);
            for &flow in self.flows.get(begin..end).unwrap_or_default() {
                let Some(slot) = rates.get_mut(flow as usize).filter(|slot| **slot == RISING) else { continue };
                *slot = rate;
                for used in problem.of(flow as usize) {
                    if let Some(link) = self.links.get_mut(used.link as usize) {
                        link.left -= rate * used.share.get();
                        link.rising -= u64::from(used.share.0);
                    }
                }
            }
        }
    }

    /// Sorts the flows by link, and puts every used link into the heap.
    fn begin(&mut self, problem: &Problem) {
        self.links.clear();
        self.links.extend(problem.capacity.iter().map(|left| Link { left: *left, rising: 0 }));
        self.begins.clear();
        self.begins.resize(problem.capacity.len(), 0);
        for used in &problem.uses {
            let at = used.link as usize;
            if let (Some(link), Some(begin)) = (self.links.get_mut(at), self.begins.get_mut(at)) {
                link.rising += u64::from(used.share.0);
                *begin += 1;
            }
        }
        let mut sum = 0;
        for begin in &mut self.begins {
            // Filled from the end: it comes down to where the link's flows begin.
            sum += *begin;
            *begin = sum;
        }
        self.flows.clear();
        self.flows.resize(problem.uses.len(), 0);
        for flow in 0..problem.flows() {
            for used in problem.of(flow) {
                if let Some(begin) = self.begins.get_mut(used.link as usize) {
                    *begin -= 1;
                    if let Some(slot) = self.flows.get_mut(*begin as usize) {
                        *slot = flow as u32;
                    }
                }
            }
        }
        let used = (0..LINKS).zip(&self.links).filter(|(_, link)| link.rising > 0);
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        entries.clear();
        entries.extend(used.map(|(at, link)| link.entry(at)));
        self.heap = BinaryHeap::from(entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn solve(capacity: &[f64], flows: &[&[(u32, usize)]]) -> Vec<f64> {
        let mut problem = Problem::new(capacity.to_vec());
        for flow in flows {
            problem.flow(flow.iter().map(|(link, n)| Use { link: *link, share: Share::ALL.split(*n) }));
        }
        let mut rates = Vec::new();
        Solver::default().solve(&problem, &mut rates);
        rates
    }

    #[test]
    fn closed_forms() {
        // One link shared by four.
        assert_eq!(solve(&[100.0], &[&[(0, 1)][..]; 4]), [25.0; 4]);
        // Bertsekas, Gallager ("Data networks", 6.5.2): a long flow against one on each link.
        assert_eq!(solve(&[1.0, 1.0], &[&[(0, 1), (1, 1)], &[(0, 1)], &[(1, 1)]]), [0.5, 0.5, 0.5]);
        // The narrow link holds the long flow down, and the other one takes what is left of the wide link.
        assert_eq!(solve(&[10.0, 2.0], &[&[(0, 1), (1, 1)], &[(0, 1)], &[(1, 1)]]), [1.0, 9.0, 1.0]);
        // Three levels: 1/3 each on the first, then 1/2 of what is left, then the rest.
        let rates = solve(&[3.0, 5.0, 9.0], &[&[(0, 1)], &[(0, 1)], &[(0, 1), (1, 1)], &[(1, 1), (2, 1)], &[(2, 1)]]);
        assert_eq!(rates, [1.0, 1.0, 1.0, 4.0, 5.0]);
        // A sprayed flow puts half of itself on each of two links.
        assert_eq!(solve(&[10.0, 10.0], &[&[(0, 2), (1, 2)]]), [20.0]);
        assert_eq!(solve(&[10.0], &[&[]]), [f64::INFINITY]);
        assert_eq!(solve(&[0.0], &[&[(0, 1)]]), [0.0]);
    }

    proptest! {
        /// No link carries more than it can, and every flow has a link that is full and on which no flow has more: what
        /// defines max-min fairness.
        #[test]
        fn every_flow_has_its_bottleneck(
            capacity in proptest::collection::vec(1_u32..1_000, 1..20),
            flows in proptest::collection::vec(proptest::collection::btree_set(0_u32..20, 1..5), 1..60),
            spread in any::<bool>(),
        ) {
            let capacity: Vec<f64> = capacity.into_iter().map(f64::from).collect();
            let links = capacity.len() as u32;
            let mut problem = Problem::new(capacity.clone());
            for flow in &flows {
                let links: std::collections::BTreeSet<u32> = flow.iter().map(|link| link % links).collect();
                let share = if spread { Share::ALL.split(links.len()) } else { Share::ALL };
                problem.flow(links.into_iter().map(|link| Use { link, share }));
            }
            let mut rates = Vec::new();
            Solver::default().solve(&problem, &mut rates);
            let mut load = vec![0.0; capacity.len()];
            let mut top = vec![0.0_f64; capacity.len()];
            for (flow, rate) in rates.iter().enumerate() {
                for used in problem.of(flow) {
                    load[used.link as usize] += rate * used.share.get();
                    top[used.link as usize] = top[used.link as usize].max(*rate);
                }
            }
            for (load, capacity) in load.iter().zip(&capacity) {
                prop_assert!(*load <= capacity * (1.0 + 1e-9), "{load} of {capacity}");
            }
            for (flow, rate) in rates.iter().enumerate() {
                let bottleneck = problem.of(flow).iter().any(|used| {
                    let link = used.link as usize;
                    load[link] >= capacity[link] * (1.0 - 1e-6) && top[link] <= rate * (1.0 + 1e-6)
                });
                prop_assert!(bottleneck, "flow {flow} with {rate} has no bottleneck");
            }
        }
    }
}
