//! A small histogram of times: 64 buckets, two an octave, from 64 ns to four and a half minutes.

use rocetop_parsers::Nanos;

use super::report::Spread;

const BUCKETS: usize = 64;
/// Times below two to this power share the first bucket.
const LEAST_BITS: u32 = 6;

/// Times counted by size. 152 bytes, whatever comes: where a bucket is full, all are halved, which changes no percentile.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
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

/// The bucket of a time: its highest bit, and whether the next one is set.
fn bucket(time: Nanos) -> usize {
    let bits = u64::BITS - time.0.leading_zeros();
    if bits <= LEAST_BITS {
        return 0;
    }
    let half = time.0 >> (bits - 2) & 1;
    (((bits - LEAST_BITS - 1) * 2 + half as u32) as usize + 1).min(BUCKETS - 1)
}

/// Where a bucket begins.
fn floor(bucket: usize) -> u64 {
    let Some(n) = bucket.checked_sub(1) else { return 0 };
    let octave = 1 << (n / 2 + LEAST_BITS as usize);
    octave + if n % 2 == 1 { octave / 2 } else { 0 }
}

impl Histogram {
    pub(crate) fn record(&mut self, time: Nanos) {
        self.count += 1;
        if let Some(count) = self.buckets.get_mut(bucket(time)) {
            *count += 1;
            if *count == u16::MAX {
                self.buckets.iter_mut().for_each(|n| *n = n.div_ceil(2));
            }
        }
        self.min = self.min.min(time);
        self.max = self.max.max(time);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn min(&self) -> Option<Nanos> {
        (self.min <= self.max).then_some(self.min)
    }

    pub(crate) fn max(&self) -> Option<Nanos> {
        (self.min <= self.max).then_some(self.max)
    }

    /// The time that `percent` of all do not exceed, as far as the buckets tell.
    fn percentile(&self, percent: u64) -> u64 {
        let all: u64 = self.buckets.iter().map(|&n| u64::from(n)).sum();
        let rank = (all * percent).div_ceil(100).max(1);
        let mut below = 0;
        for (n, &count) in self.buckets.iter().enumerate() {
            let count = u64::from(count);
            if below + count >= rank {
                // Evenly spread inside the bucket, and never beyond what was seen.
                let (from, to) = (floor(n), floor(n + 1));
                let inside = u128::from(to - from) * u128::from(rank - below) / u128::from(count.max(1));
                return (from + inside as u64).clamp(self.min.0.min(self.max.0), self.max.0);
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

    #[test]
    fn buckets_are_half_octaves() {
        assert_eq!([0, 63, 64, 95, 96, 127, 128].map(|t| bucket(Nanos(t))), [0, 0, 1, 1, 2, 2, 3]);
        for n in 0..BUCKETS - 1 {
            assert_eq!(bucket(Nanos(floor(n))), n);
            assert_eq!(bucket(Nanos(floor(n + 1) - 1)), n);
        }
        assert_eq!(bucket(Nanos(u64::MAX)), BUCKETS - 1);
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
        assert!((96..128).contains(&times.percentile(49)) && times.percentile(52) > 8_000, "{spread:?}");
        assert_eq!(size_of::<Histogram>(), 152);
    }

    #[test]
    fn percentiles_stay_within_what_was_seen() {
        let mut times = Histogram::default();
        assert_eq!(times.spread(), Spread::default());
        times.record(Nanos(10_400_000));
        assert_eq!(times.spread(), Spread { count: 1, p50: 10_400_000, p99: 10_400_000, max: 10_400_000 });
        for n in 1..=99 {
            times.record(Nanos(n * 1000));
        }
        let spread = times.spread();
        assert_eq!((spread.count, spread.max), (100, 10_400_000));
        assert!((40_000..60_000).contains(&spread.p50), "{spread:?}");
        assert!((80_000..=10_400_000).contains(&spread.p99), "{spread:?}");
    }
}
