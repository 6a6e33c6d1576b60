//! Times of many messages, to a hundredth: for the sums over all flows, and for a connection in focus.

use hdrhistogram::Histogram as Precise;
use rocetop_parsers::Nanos;

use super::report::Spread;

/// A queue pair that was silent for longer is another matter (chosen).
const HOUR: u64 = 3_600_000_000_000;

/// Times, in a histogram that is exact to a hundredth up to an hour. Their number and the longest are exact.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    histogram: Precise<u32>,
    max: Nanos,
}

impl Default for Times {
    fn default() -> Self {
        let histogram = Precise::new_with_bounds(1, HOUR, 2).expect("fails only for bounds that are none");
        Self { histogram, max: Nanos(0) }
    }
}

impl Times {
    #[inline(always)]
    pub(crate) fn record(&mut self, time: Nanos) {
        self.histogram.saturating_record(time.0);
        self.max = self.max.max(time);
    }

    /// Adds those of another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        // Fails where one of them cannot grow; both have the same bounds.
        let _ = self.histogram.add(&other.histogram);
        self.max = self.max.max(other.max);
    }

    pub(crate) fn spread(&self) -> Spread {
        let max = self.max.0;
        // A bucket ends behind what it counts.
        let percentile = |q| self.histogram.value_at_quantile(q).min(max);
        Spread { count: self.histogram.len(), p50: percentile(0.5), p99: percentile(0.99), max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact_to_a_hundredth() {
        let mut times = Times::default();
        assert_eq!(times.spread(), Spread::default());
        let mut other = Times::default();
        for n in 1..=500 {
            times.record(Nanos(n * 1_000));
            other.record(Nanos((500 + n) * 1_000));
        }
        times.merge(&other);
        let spread = times.spread();
        assert_eq!((spread.count, spread.max), (1_000, 1_000_000));
        assert!((500_000..505_000).contains(&spread.p50), "{spread:?}");
        assert!((990_000..=1_000_000).contains(&spread.p99), "{spread:?}");
        // One time is all of its percentiles.
        let mut one = Times::default();
        one.record(Nanos(10_400_321));
        assert_eq!(one.spread(), Spread { count: 1, p50: 10_400_321, p99: 10_400_321, max: 10_400_321 });
    }

    #[test]
    fn what_is_longer_than_an_hour_is_an_hour_but_for_the_longest() {
        let mut times = Times::default();
        times.record(Nanos(2 * HOUR));
        times.record(Nanos(2 * HOUR));
        let spread = times.spread();
        assert_eq!(spread.max, 2 * HOUR);
        assert!((HOUR..HOUR / 50 * 51).contains(&spread.p50), "{spread:?}");
    }
}
