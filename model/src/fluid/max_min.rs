//! Max-min fair rates: nobody can have more without somebody who has no more having less.
//!
//! Water-filling: all flows rise together until a link is full; its flows stay where they are, the others rise on. Links wait
//! in a heap by the level at which they would be full. Freezing a flow only ever puts that level up, so an entry that is too
//! low is put back where it belongs when its turn comes, and no entry is looked for: each flow is frozen once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Links with capacities, and flows over them. Links and flows are named by their order.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    capacity: Vec<f64>,
    /// Flow `f` uses `uses[first[f]..first[f + 1]]`.
    first: Vec<u32>,
    uses: Vec<Use>,
}

/// A link of a flow, and what share of the flow crosses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// The link.
    pub link: u32,
    /// 1 for a flow that goes one way; less where it is spread over several.
    pub share: f32,
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
        self.uses.extend(uses.into_iter().filter(|used| (used.link as usize) < links && used.share > 0.0));
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

/// A link while the water rises.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Capacity that frozen flows have left.
    left: f64,
    /// Sum of the shares of the flows that still rise, and how many they are.
    rising: f64,
    count: u32,
    /// Where its flows begin in the list of all.
    first: u32,
}

impl Link {
    fn level(&self) -> u64 {
        // Levels are never negative, and bits of such numbers are ordered as they are.
        (self.left / self.rising).max(0.0).to_bits()
    }
}

/// Solves problems; keeps its memory between them.
#[derive(Clone, Debug, Default)]
pub struct Solver {
    links: Vec<Link>,
    flows: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

/// No rate yet.
const RISING: f64 = -1.0;

impl Solver {
    /// The rate of every flow; infinite for one that uses no link.
    pub fn solve(&mut self, problem: &Problem, rates: &mut Vec<f64>) {
        self.begin(problem);
        rates.clear();
        rates.extend((0..problem.flows()).map(|flow| if problem.of(flow).is_empty() { f64::INFINITY } else { RISING }));
        while let Some(Reverse((level, at))) = self.heap.pop() {
            let Some(link) = self.links.get(at as usize) else { continue };
            if link.count == 0 {
                continue;
            }
            let now = link.level();
            if now > level {
                self.heap.push(Reverse((now, at)));
                continue;
            }
            let end = self.links.get(at as usize + 1).map_or(self.flows.len(), |next| next.first as usize);
            let rate = f64::from_bits(level);
            for place in link.first as usize..end {
                let Some(&flow) = self.flows.get(place) else { break };
                let Some(slot) = rates.get_mut(flow as usize).filter(|slot| **slot == RISING) else { continue };
                *slot = rate;
                for used in problem.of(flow as usize) {
                    if let Some(link) = self.links.get_mut(used.link as usize) {
                        let share = f64::from(used.share);
                        link.left -= rate * share;
                        link.rising -= share;
                        link.count -= 1;
                    }
                }
            }
        }
    }

    /// Sorts the flows by link, and puts every used link into the heap.
    fn begin(&mut self, problem: &Problem) {
        self.links.clear();
        self.links.extend(problem.capacity.iter().map(|left| Link { left: *left, ..Link::default() }));
        for used in &problem.uses {
            if let Some(link) = self.links.get_mut(used.link as usize) {
                link.rising += f64::from(used.share);
                link.count += 1;
            }
        }
        let mut sum = 0;
        for link in &mut self.links {
            // Filled from the end: it comes down to where the link's flows begin.
            sum += link.count;
            link.first = sum;
        }
        self.flows.clear();
        self.flows.resize(problem.uses.len(), 0);
        for flow in 0..problem.flows() {
            for used in problem.of(flow) {
                if let Some(link) = self.links.get_mut(used.link as usize) {
                    link.first -= 1;
                    if let Some(slot) = self.flows.get_mut(link.first as usize) {
                        *slot = flow as u32;
                    }
                }
            }
        }
        let used = (0..).zip(&self.links).filter(|(_, link)| link.count > 0);
        let entries: Vec<_> = used.map(|(at, link)| Reverse((link.level(), at))).collect();
        self.heap = BinaryHeap::from(entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn solve(capacity: &[f64], flows: &[&[(u32, f32)]]) -> Vec<f64> {
        let mut problem = Problem::new(capacity.to_vec());
        for flow in flows {
            problem.flow(flow.iter().map(|(link, share)| Use { link: *link, share: *share }));
        }
        let mut rates = Vec::new();
        Solver::default().solve(&problem, &mut rates);
        rates
    }

    #[test]
    fn closed_forms() {
        // One link shared by four.
        assert_eq!(solve(&[100.0], &[&[(0, 1.0)][..]; 4]), [25.0; 4]);
        // Bertsekas, Gallager ("Data networks", 6.5.2): a long flow against one on each link.
        assert_eq!(solve(&[1.0, 1.0], &[&[(0, 1.0), (1, 1.0)], &[(0, 1.0)], &[(1, 1.0)]]), [0.5, 0.5, 0.5]);
        // The narrow link holds the long flow down, and the other one takes what is left of the wide link.
        assert_eq!(solve(&[10.0, 2.0], &[&[(0, 1.0), (1, 1.0)], &[(0, 1.0)], &[(1, 1.0)]]), [1.0, 9.0, 1.0]);
        // Three levels: 1/3 each on the first, then 1/2 of what is left, then the rest.
        let rates = solve(
            &[3.0, 5.0, 9.0],
            &[&[(0, 1.0)], &[(0, 1.0)], &[(0, 1.0), (1, 1.0)], &[(1, 1.0), (2, 1.0)], &[(2, 1.0)]],
        );
        assert_eq!(rates, [1.0, 1.0, 1.0, 4.0, 5.0]);
        // A sprayed flow puts half of itself on each of two links.
        assert_eq!(solve(&[10.0, 10.0], &[&[(0, 0.5), (1, 0.5)]]), [20.0]);
        assert_eq!(solve(&[10.0], &[&[]]), [f64::INFINITY]);
        assert_eq!(solve(&[0.0], &[&[(0, 1.0)]]), [0.0]);
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
                let share = if spread { 1.0 / links.len() as f32 } else { 1.0 };
                problem.flow(links.into_iter().map(|link| Use { link, share }));
            }
            let mut rates = Vec::new();
            Solver::default().solve(&problem, &mut rates);
            let mut load = vec![0.0; capacity.len()];
            let mut top = vec![0.0_f64; capacity.len()];
            for (flow, rate) in rates.iter().enumerate() {
                for used in problem.of(flow) {
                    load[used.link as usize] += rate * f64::from(used.share);
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
