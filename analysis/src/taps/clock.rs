//! Differences between two clocks, and the delays that are left when the clocks' offset is taken off.

/// Differences kept for percentiles; of more, every second one is kept, and again (chosen: a hundredth of them is still
/// eighty).
const KEPT: usize = 1 << 13;

/// Time stamp at one tap less time stamp at the other, for packets that both saw. Counts and extremes are exact,
/// percentiles exact up to [`KEPT`] packets and those of an even sample beyond.
#[derive(Clone, Debug)]
pub(super) struct Differences {
    kept: Vec<i64>,
    every: u64,
    pub(super) count: u64,
    pub(super) min: i64,
    pub(super) max: i64,
}

impl Default for Differences {
    fn default() -> Self {
        Self { kept: Vec::new(), every: 1, count: 0, min: i64::MAX, max: i64::MIN }
    }
}

impl Differences {
    pub(super) fn add(&mut self, difference: i64) {
        if self.count.is_multiple_of(self.every) {
            if self.kept.len() >= KEPT {
                let mut odd = true;
                self.kept.retain(|_| {
                    odd = !odd;
                    !odd
                });
                self.every *= 2;
            }
            if self.count.is_multiple_of(self.every) {
                self.kept.push(difference);
            }
        }
        self.count += 1;
        self.min = self.min.min(difference);
        self.max = self.max.max(difference);
    }

    /// The least and the most; `None` of none.
    pub(super) fn range(&self) -> Option<(i64, i64)> {
        (self.count != 0).then_some((self.min, self.max))
    }

    /// The difference that so many percent of the packets stay at or below: the nearest rank.
    pub(super) fn quantile(&self, percent: usize) -> Option<i64> {
        self.ranked(self.rank(percent).checked_sub(1)?)
    }

    /// The difference that so many percent of the packets stay at or above.
    pub(super) fn quantile_reversed(&self, percent: usize) -> Option<i64> {
        self.ranked(self.kept.len().checked_sub(self.rank(percent))?)
    }

    fn rank(&self, percent: usize) -> usize {
        (self.kept.len() * percent).div_ceil(100)
    }

    fn ranked(&self, index: usize) -> Option<i64> {
        let mut kept = self.kept.clone();
        (index < kept.len()).then(|| *kept.select_nth_unstable(index).1)
    }

    pub(super) fn median(&self) -> Option<i64> {
        self.quantile(50)
    }
}

/// Two clocks: how far the second is ahead of the first, and how far off that may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset {
    pub(super) ahead: i64,
    pub(super) uncertainty: u64,
}

impl Offset {
    /// From the least difference (second less first) of packets that passed the first tap first, and the least
    /// difference (first less second) of those that passed the second first.
    ///
    /// As NTP does (RFC 5905, 8): the sum is what both ways take at least, so the offset is half the difference, give
    /// or take half the sum. A sum below zero is no pair of delays: a clock was set or drifted meanwhile.
    pub(super) fn between(there: i64, back: i64) -> Option<Self> {
        let sum = there.checked_add(back)?;
        let uncertainty = u64::try_from(sum).ok()?.div_ceil(2);
        Some(Self { ahead: there.checked_sub(back)? / 2, uncertainty })
    }
}

/// How much delays vary at most, where nothing tells (chosen: longer than any queue of a data centre and
/// any path of 3,000 km, and short against a capture).
pub(super) const BLURRED: i64 = 200_000_000;

/// What all directions together tell of two clocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clocks {
    /// Packets of the direction with the most that tell.
    count: u64,
    /// The least and the most that the second stamp is ahead of the first.
    range: Option<(i64, i64)>,
    /// The most that a direction's delays vary.
    jitter: i64,
}

impl Clocks {
    /// What a direction has told by now.
    pub(super) fn add(&mut self, differences: &Differences) {
        let Some((min, max)) = differences.range() else { return };
        let (low, high) = self.range.unwrap_or((min, max));
        self.range = Some((low.min(min), high.max(max)));
        self.jitter = self.jitter.max(max.saturating_sub(min));
        self.count = self.count.max(differences.count);
    }

    /// How far both are apart at the least and at the most for what tap `side` saw of a flow that does not tell: a
    /// packet is not sooner at the other tap than if it went the other way, and later by what nothing tells.
    pub(super) fn apart(&self, side: usize) -> Option<[i64; 2]> {
        let (low, high) = self.range?;
        Some(if side == 0 { [low, high.saturating_add(BLURRED)] } else { [low.saturating_sub(BLURRED), high] })
    }

    /// How far both are apart, give or take the way there and back.
    pub(super) fn roughly(&self) -> Option<i64> {
        self.range.map(|(low, _)| low)
    }

    /// How much delays vary, if so many packets tell.
    pub(super) fn jitter(&self, least: u64) -> Option<i64> {
        (self.count >= least).then_some(self.jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offset_is_half_the_difference() {
        // The second clock is 1,000 ahead; 30 there, 50 back.
        assert_eq!(Offset::between(1030, -950), Some(Offset { ahead: 990, uncertainty: 40 }));
        assert_eq!(Offset::between(-970, 1050), Some(Offset { ahead: -1010, uncertainty: 40 }));
        assert_eq!(Offset::between(10, -20), None);
        assert_eq!(Offset::between(i64::MAX, 1), None);
    }

    #[test]
    fn percentiles_by_rank() {
        let mut all = Differences::default();
        assert_eq!(all.median(), None);
        for n in (1..=100).rev() {
            all.add(n);
        }
        assert_eq!((all.quantile(50), all.quantile(99)), (Some(50), Some(99)));
        assert_eq!((all.quantile_reversed(50), all.quantile_reversed(99)), (Some(51), Some(2)));
        assert_eq!((all.count, all.min, all.max), (100, 1, 100));
    }

    #[test]
    fn of_many_an_even_sample_is_kept() {
        let mut all = Differences::default();
        for n in 0..100_000 {
            all.add(n);
        }
        assert_eq!((all.kept.len(), all.every), (6250, 16));
        assert_eq!(all.kept[1], 16);
        assert_eq!(all.quantile(50), Some(49_984));
    }
}
