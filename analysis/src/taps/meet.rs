//! Where several captures of the same traffic begin: how far their clocks are apart, roughly.
//!
//! Captures start at different times and their clocks may be anything, so that neither tells which packets to read side
//! by side. The first packets of each are looked for in all others.

use std::collections::HashMap;

use super::sight::{Identity, Sight};
use crate::event::Packet;
use crate::flow::Key;

/// First packets of each capture that are looked for.
const HEADS: usize = 1 << 14;
/// Packets in common that are enough: a few of them may be repeats.
const ENOUGH: usize = 64;

/// Looks for the first packets of each tap at the others.
#[derive(Debug)]
pub struct Meeting {
    heads: HashMap<(Key, Identity), Vec<(usize, i64)>>,
    counts: Vec<usize>,
    /// By two taps, the lower index first: second stamp less first.
    apart: HashMap<(usize, usize), Vec<i64>>,
}

impl Meeting {
    /// Of so many taps.
    #[must_use]
    pub fn new(taps: usize) -> Self {
        Self { heads: HashMap::new(), counts: vec![0; taps], apart: HashMap::new() }
    }

    /// A packet of tap `tap`, in the order of its capture.
    pub fn packet(&mut self, tap: usize, packet: &Packet) {
        let Some(count) = self.counts.get_mut(tap) else { return };
        let sight = Sight::of(packet, 0);
        if !packet.facts.is_rdma() || sight.damaged {
            return;
        }
        let key = (Key::of(&packet.facts), sight.identity);
        let head = *count < HEADS;
        *count += usize::from(head);
        let known = if head { Some(self.heads.entry(key).or_default()) } else { self.heads.get_mut(&key) };
        let Some(known) = known else { return };
        for &(other, at) in known.iter().filter(|k| k.0 != tap) {
            let (pair, apart) = if other < tap { ((other, tap), sight.at - at) } else { ((tap, other), at - sight.at) };
            let all = self.apart.entry(pair).or_default();
            if all.len() < ENOUGH {
                all.push(apart);
            }
        }
        // Repeats tell less.
        if head && !known.iter().any(|k| k.0 == tap) {
            known.push((tap, sight.at));
        }
    }

    /// Whether enough is known of all taps.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.ahead(ENOUGH).iter().all(Option::is_some)
    }

    /// How far the clock of each tap is ahead of the first one's, in nanoseconds, or of that of any tap that it has
    /// traffic in common with. Zero where nothing tells.
    #[must_use]
    pub fn clocks(&self) -> Vec<i64> {
        self.ahead(1).into_iter().map(Option::unwrap_or_default).collect()
    }

    /// By pairs with at least so many packets in common.
    fn ahead(&self, least: usize) -> Vec<Option<i64>> {
        let mut edges: Vec<_> = self.apart.iter().filter(|(_, all)| all.len() >= least).collect();
        // The best known first; the rest for a result that is always the same.
        edges.sort_unstable_by_key(|(pair, all)| (std::cmp::Reverse(all.len()), **pair));
        let mut ahead: Vec<Option<i64>> = vec![None; self.counts.len()];
        if let Some(first) = ahead.first_mut() {
            *first = Some(0);
        }
        for _ in 0..self.counts.len() {
            for ((a, b), all) in &edges {
                let mut all = (*all).clone();
                let middle = all.len() / 2;
                let apart = *all.select_nth_unstable(middle).1;
                let at = |tap: &usize| ahead.get(*tap).copied().flatten();
                let (slot, value) = match (at(a), at(b)) {
                    (Some(known), None) => (*b, known + apart),
                    (None, Some(known)) => (*a, known - apart),
                    _ => continue,
                };
                if let Some(slot) = ahead.get_mut(slot) {
                    *slot = Some(value);
                }
            }
        }
        ahead
    }
}
