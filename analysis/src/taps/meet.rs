//! Where several captures of the same traffic begin: how far their clocks are apart, roughly.
//!
//! Captures start at different times and their clocks may be anything, so that neither tells which packets to read side
//! by side. The first packets of each are looked for in all others.

use std::collections::HashMap;

use super::sight::{Identity, Sight};
use crate::event::Packet;
use crate::flow::Key;

/// First packets of each capture that are looked for (chosen: bounds the memory).
const HEADS: usize = 1 << 14;
/// Packets in common that are enough: a few of them may be repeats (chosen).
const ENOUGH: usize = 64;

/// A packet at one tap: the stamp of its first sight there, and whether it came again.
#[derive(Clone, Copy, Debug)]
struct Met {
    tap: usize,
    at: i64,
    again: bool,
}

/// Two taps, the lower index first.
type Taps = (usize, usize);

/// Looks for the first packets of each tap at the others.
#[derive(Debug)]
pub struct Meeting {
    heads: HashMap<(Key, Identity), Vec<Met>>,
    counts: Vec<usize>,
    /// Packets that both saw just once: of a repeat, a capture that begins late sees only the second one.
    once: HashMap<Taps, usize>,
}

impl Meeting {
    /// Of so many taps.
    #[must_use]
    pub fn new(taps: usize) -> Self {
        Self { heads: HashMap::new(), counts: vec![0; taps], once: HashMap::new() }
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
        let before = known.iter().find(|met| met.tap == tap).copied();
        for other in known.iter().filter(|met| met.tap != tap && !met.again) {
            let once = self.once.entry((tap.min(other.tap), tap.max(other.tap))).or_default();
            match before {
                None => *once += 1,
                Some(before) if !before.again => *once -= 1,
                Some(_) => {}
            }
        }
        match known.iter_mut().find(|met| met.tap == tap) {
            Some(met) => met.again = true,
            None => known.push(Met { tap, at: sight.at, again: false }),
        }
    }

    /// Whether enough is known of all taps.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let enough = self.once.iter().filter(|(_, once)| **once >= ENOUGH).map(|(taps, _)| (*taps, 0));
        self.ahead(enough.collect()).iter().all(Option::is_some)
    }

    /// How far the clock of each tap is ahead of the first one's, in nanoseconds, or of that of any tap that it has
    /// traffic in common with. Zero where nothing tells.
    #[must_use]
    pub fn clocks(&self) -> Vec<i64> {
        // By two taps: second stamp less first, of packets seen once, and of all.
        let mut apart: HashMap<Taps, [Vec<i64>; 2]> = HashMap::new();
        for met in self.heads.values() {
            for (n, a) in met.iter().enumerate() {
                for b in met.iter().skip(n + 1) {
                    let (a, b) = if a.tap < b.tap { (a, b) } else { (b, a) };
                    let [once, all] = apart.entry((a.tap, b.tap)).or_default();
                    all.push(b.at - a.at);
                    if !a.again && !b.again {
                        once.push(b.at - a.at);
                    }
                }
            }
        }
        let edges = apart.into_iter().filter_map(|(taps, [once, all])| {
            let mut best = if once.is_empty() { all } else { once };
            let (count, middle) = (best.len(), best.len() / 2);
            (count != 0).then(|| (count, taps, *best.select_nth_unstable(middle).1))
        });
        // The best known first; the rest for a result that is always the same.
        let mut edges: Vec<_> = edges.collect();
        edges.sort_unstable_by_key(|&(count, taps, _)| (std::cmp::Reverse(count), taps));
        let edges = edges.into_iter().map(|(_, taps, apart)| (taps, apart)).collect();
        self.ahead(edges).into_iter().map(Option::unwrap_or_default).collect()
    }

    /// From tap to tap.
    fn ahead(&self, edges: Vec<(Taps, i64)>) -> Vec<Option<i64>> {
        let mut ahead: Vec<Option<i64>> = vec![None; self.counts.len()];
        if let Some(first) = ahead.first_mut() {
            *first = Some(0);
        }
        for _ in 0..self.counts.len() {
            for &((a, b), apart) in &edges {
                let at = |tap: usize| ahead.get(tap).copied().flatten();
                let (slot, value) = match (at(a), at(b)) {
                    (Some(known), None) => (b, known.saturating_add(apart)),
                    (None, Some(known)) => (a, known.saturating_sub(apart)),
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
