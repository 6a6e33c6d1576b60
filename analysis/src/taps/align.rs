//! Which of several copies of a packet went through, when another tap saw fewer of them.

use std::collections::VecDeque;

use super::sight::Sight;

/// Copies looked at on either side of where the next one is expected.
const LOOK: usize = 64;

/// The copies of one packet at both taps, by index.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) up: Vec<usize>,
    pub(super) down: Vec<usize>,
}

/// How far a copy is from being the one, less is better: how many rules it breaks, and how unlike its neighbours' its
/// delay is.
type Odds = (u8, u64);

/// For the groups of which tap `up` saw more copies than tap `down` those that went through, as many as `down` saw.
///
/// `fixed` are the packets of `down` that leave no choice, with their indices at `up`. A network mostly keeps the
/// order: the copy between those that the neighbours were is taken, but none that was sent too late to have arrived,
/// and of several the one whose delay is most like the neighbours'. `known` is the difference of stamps before all
/// this.
pub(super) fn assign(
    up: &VecDeque<Sight>,
    down: &VecDeque<Sight>,
    groups: &[Group],
    fixed: &[Option<usize>],
    known: Option<i64>,
) -> Vec<(usize, usize)> {
    let difference = |u: usize, d: usize| Some(down.get(d)?.at - up.get(u)?.at);
    let mut group_of = vec![None; down.len()];
    let choice = |g: &&Group| g.up.len() > g.down.len() && !g.down.is_empty();
    let open: Vec<&Group> = groups.iter().filter(choice).collect();
    if open.is_empty() {
        return Vec::new();
    }
    for (n, group) in open.iter().enumerate() {
        for &d in &group.down {
            if let Some(slot) = group_of.get_mut(d) {
                *slot = Some(n);
            }
        }
    }
    // What comes next that leaves no choice, and the least time that the way takes.
    let mut next = vec![None; down.len()];
    let mut least = None;
    let mut coming = None;
    for (d, (slot, fixed)) in next.iter_mut().zip(fixed).enumerate().rev() {
        *slot = coming;
        if let Some(u) = *fixed {
            coming = difference(u, d).map(|difference| (u, difference));
            least = coming.map(|(_, d)| least.map_or(d, |least: i64| least.min(d))).or(least);
        }
    }
    let mut taken = vec![false; up.len()];
    let mut chosen = vec![Vec::new(); open.len()];
    let mut before: Option<usize> = None;
    let mut latest = known;
    for (d, ((fixed, group), next)) in fixed.iter().zip(&group_of).zip(&next).enumerate() {
        if let Some(u) = *fixed {
            (before, latest) = (Some(u), difference(u, d));
            continue;
        }
        let Some((n, group)) = group.and_then(|n| Some((n, open.get(n)?))) else { continue };
        let odds = |u: usize| -> Option<Odds> {
            let difference = difference(u, d)?;
            let late = least.is_some_and(|least| difference < least);
            let back = before.is_some_and(|before| u < before);
            let ahead = next.is_some_and(|(next, _)| u > next);
            let like = |known: i64| known.abs_diff(difference);
            let unlike = [latest, next.map(|n| n.1)].into_iter().flatten().map(like).min().unwrap_or_default();
            Some((u8::from(late) * 4 + u8::from(back) * 2 + u8::from(ahead), unlike))
        };
        let from = group.up.partition_point(|&u| before.is_some_and(|before| u < before));
        let look = from.saturating_sub(LOOK)..(from + LOOK).min(group.up.len());
        let candidates = group.up.get(look).unwrap_or_default();
        let free = candidates.iter().copied().filter(|&u| taken.get(u) == Some(&false));
        let Some(u) = free.min_by_key(|&u| odds(u)) else { continue };
        if let (Some(taken), Some(chosen)) = (taken.get_mut(u), chosen.get_mut(n)) {
            *taken = true;
            chosen.push(u);
        }
        (before, latest) = (Some(u), difference(u, d));
    }
    let mut pairs = Vec::new();
    for (group, mut ups) in open.into_iter().zip(chosen) {
        // Where all that were looked at had been taken, any other will do.
        let spare = group.up.iter().rev().filter(|&&u| taken.get(u) == Some(&false));
        ups.extend(spare.take(group.down.len() - ups.len()));
        pairs.extend(in_step(up, ups, down, group.down.clone()));
    }
    pairs
}

/// Pairs of as many copies of one packet: equal ones cannot be seen to overtake each other. By the stamps, since a
/// capture on several processors may write its packets in another order than they passed.
pub(super) fn in_step(
    up: &VecDeque<Sight>,
    mut ups: Vec<usize>,
    down: &VecDeque<Sight>,
    mut downs: Vec<usize>,
) -> impl Iterator<Item = (usize, usize)> {
    ups.sort_unstable_by_key(|&u| (up.get(u).map(|s| s.at), u));
    downs.sort_unstable_by_key(|&d| (down.get(d).map(|s| s.at), d));
    ups.into_iter().zip(downs)
}
