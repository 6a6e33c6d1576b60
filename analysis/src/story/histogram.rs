//! A small histogram of times that is as fine as 64 buckets allow for what they hold.
//!
//! Buckets divide an octave evenly, into a power of two of them: the coarser grid is the finer one with pairs of
//! buckets put together, so when times come that the buckets do not reach, pairs are merged and nothing is lost but
//! fineness (base-2 exponential histograms of OpenTelemetry's metrics data model, which shrink by a scale in this way;
//! linear within an octave as in hdrhistogram).

use rocetop_parsers::Nanos;

use super::report::Spread;

const BUCKETS: usize = 64;
/// The finest grid has two to this power of buckets in an octave; times below it have one each.
const FINEST: u32 = 6;

/// Times counted by size. 152 bytes, whatever comes: where a bucket is full, all are halved, which changes no
/// percentile.
///
/// A percentile is off by less than a bucket: a sixteenth of it at most where all times lie within a factor of ten, an
/// eighth within a hundred.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    /// From the bucket of the least time on.
    buckets: [u16; BUCKETS],
    count: u64,
    min: Nanos,
    max: Nanos,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], count: 0, min: Nanos(u64::MAX), max: Nanos(0) }
    }
}

/// Where a time lies on the finest grid: its octave, and the bits behind its highest one.
fn place(time: u64) -> u64 {
    let octave = (u64::BITS - time.leading_zeros()).saturating_sub(FINEST + 1);
    (u64::from(octave) << FINEST) + (time >> octave)
}

/// The first time at a place of the finest grid, `u64::MAX` behind the last one.
fn time(place: u64) -> u64 {
    let octave = (place >> FINEST).saturating_sub(1);
    let bits = place - (octave << FINEST);
    if octave + u64::from(FINEST) < u64::from(u64::BITS) { bits << octave } else { u64::MAX }
}

/// Steps from the finest grid to the finest one on which all that lies between two times has a bucket.
fn steps(min: Nanos, max: Nanos) -> u32 {
    let (first, last) = (place(min.0), place(max.0));
    // As many buckets as that fit, or one too many where the two do not begin a bucket.
    let steps = (u64::BITS - (last - first).leading_zeros()).saturating_sub(BUCKETS.ilog2());
    steps + u32::from((last >> steps) - (first >> steps) >= BUCKETS as u64)
}

impl Histogram {
    pub(crate) fn record(&mut self, time: Nanos) {
        self.stretch(self.min.min(time), self.max.max(time));
        self.count += 1;
        let steps = steps(self.min, self.max);
        let bucket = (place(time.0) >> steps) - (place(self.min.0) >> steps);
        if let Some(count) = self.buckets.get_mut(bucket as usize) {
            *count += 1;
            if *count == u16::MAX {
                self.buckets.iter_mut().for_each(|n| *n = n.div_ceil(2));
            }
        }
    }

    /// Makes the buckets reach from one time to the other, which lie around all that they hold.
    fn stretch(&mut self, min: Nanos, max: Nanos) {
        if (min, max) == (self.min, self.max) {
            return;
        }
        if self.count > 0 {
            let (old, new) = (steps(self.min, self.max), steps(min, max));
            let (old_first, new_first) = (place(self.min.0) >> old, place(min.0) >> new);
            let mut buckets = [0u32; BUCKETS];
            for (at, &count) in (old_first..).zip(&self.buckets) {
                if let Some(to) = buckets.get_mut(((at >> (new - old)) - new_first) as usize) {
                    *to += u32::from(count);
                }
            }
            while buckets.iter().any(|&n| n >= u32::from(u16::MAX)) {
                buckets.iter_mut().for_each(|n| *n = n.div_ceil(2));
            }
            self.buckets = buckets.map(|n| n as u16);
        }
        (self.min, self.max) = (min, max);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn min(&self) -> Option<Nanos> {
        (self.count > 0).then_some(self.min)
    }

    pub(crate) fn max(&self) -> Option<Nanos> {
        (self.count > 0).then_some(self.max)
    }

    /// The time that `percent` of all do not exceed, as far as the buckets tell.
    fn percentile(&self, percent: u64) -> u64 {
        let steps = steps(self.min, self.max);
        let first = place(self.min.0) >> steps;
        let all: u64 = self.buckets.iter().map(|&n| u64::from(n)).sum();
        let rank = (all * percent).div_ceil(100).max(1);
        let mut below = 0;
        for (at, &count) in (first..).zip(&self.buckets) {
            let count = u64::from(count);
            if below + count >= rank {
                // Evenly spread inside the bucket, and never beyond what was seen.
                let (from, to) = (time(at << steps), time((at + 1) << steps));
                let inside = u128::from(to - from) * u128::from(rank - below) / u128::from(count.max(1));
                return (from + inside as u64).clamp(self.min.0, self.max.0);
            }
            below += count;
        }
        self.max.0
    }

    pub(crate) fn spread(&self) -> Spread {
        match self.count() {
            0 => Spread::default(),
            count => Spread { count, p50: self.percentile(50), p99: self.percentile(99), max: self.max.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(times: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        times.into_iter().for_each(|time| histogram.record(Nanos(time)));
        histogram
    }

    #[test]
    fn places_divide_an_octave_into_64() {
        assert_eq!(
            [0, 1, 63, 64, 127, 128, 129, 130, 255, 256, 260].map(place),
            [0, 1, 63, 64, 127, 128, 128, 129, 191, 192, 193]
        );
        assert_eq!(place(u64::MAX), 3775);
        for at in 0..=3775 {
            assert_eq!((place(time(at)), place(time(at + 1) - 1)), (at, at));
        }
    }

    #[test]
    fn a_full_bucket_changes_no_percentile() {
        let mut times = Histogram::default();
        for _ in 0..100_000 {
            times.record(Nanos(100));
            times.record(Nanos(10_000));
        }
        let spread = times.spread();
        assert_eq!((spread.count, spread.max), (200_000, 10_000));
        assert!((96..112).contains(&times.percentile(49)) && times.percentile(52) > 9_000, "{spread:?}");
        assert_eq!(size_of::<Histogram>(), 152);
    }

    #[test]
    fn nor_do_full_buckets_that_are_put_together() {
        let many = |time| std::iter::repeat_n(time, 40_000);
        let times = of(many(1_000).chain(many(1_008)).chain([10_000_000, 1_000, 1_000]));
        let spread = times.spread();
        assert_eq!((spread.count, spread.max), (80_003, 10_000_000));
        assert!((1_000..1_100).contains(&spread.p50) && (1_000..1_100).contains(&spread.p99), "{spread:?}");
    }

    #[test]
    fn percentiles_stay_within_what_was_seen() {
        assert_eq!(Histogram::default().spread(), Spread::default());
        let one = of([10_400_000]).spread();
        assert_eq!(one, Spread { count: 1, p50: 10_400_000, p99: 10_400_000, max: 10_400_000 });
        let ends = of([0, u64::MAX]);
        assert_eq!((ends.min(), ends.max(), ends.percentile(100)), (Some(Nanos(0)), Some(Nanos(u64::MAX)), u64::MAX));
    }

    #[test]
    fn times_that_are_alike_are_told_to_a_hundredth() {
        let spread = of((0..1_000).map(|n| 4_200_000 + n * 1_000)).spread();
        assert!(spread.p50.abs_diff(4_700_000) < 47_000 && spread.p99.abs_diff(5_190_000) < 52_000, "{spread:?}");
    }

    proptest! {
        /// In whatever order they come: a bucket is at most as wide as 64 of them across the octaves seen allow.
        #[test]
        fn a_percentile_is_off_by_less_than_a_bucket(
            mut times in prop::collection::vec((6..40u32, any::<u64>()).prop_map(|(bits, n)| n >> (64 - bits)), 1..300),
        ) {
            let told = of(times.iter().copied());
            times.sort_unstable();
            let steps = steps(told.min, told.max);
            for percent in [1, 50, 99] {
                let rank = (times.len() as u64 * percent).div_ceil(100).max(1);
                let (true_time, said) = (times[rank as usize - 1], told.percentile(percent));
                let bucket = place(true_time) >> steps;
                prop_assert!((time(bucket << steps)..=time((bucket + 1) << steps)).contains(&said));
            }
        }
    }
}
