//! ECN marking by the length of the queue (RED as DCQCN uses it: Zhu et al., SIGCOMM 2015).

use crate::table::id;
use crate::units::{Bytes, Rate};

/// Where a packet is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum At {
    /// When it joins the queue: by what stands before it, and itself.
    Enqueue,
    /// When it leaves: by itself and what it leaves behind, the freshest news there is.
    #[default]
    Dequeue,
}

/// Marking of one kind of port: never up to `kmin`, at random up to `pmax` at `kmax`, always above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marking {
    /// Queue length up to which nothing is marked.
    pub kmin: Bytes,
    /// Queue length above which everything is.
    pub kmax: Bytes,
    /// Probability at `kmax`, in parts of a million.
    pub pmax_ppm: u32,
    /// The rate of a port that these lengths are for; other ports have them in proportion. `None`: the same everywhere.
    pub per: Option<Rate>,
}

impl Default for Marking {
    /// The paper's: 5 KB, 200 KB, 1 % (SIGCOMM 2015), at every rate.
    fn default() -> Self {
        Self { kmin: Bytes(5_000), kmax: Bytes(200_000), pmax_ppm: 10_000, per: None }
    }
}

impl Marking {
    /// As production fabrics are said to mark: 100 KB, 400 KB, 20 %, for each 25 Gb/s (HPCC, SIGCOMM 2019).
    #[must_use]
    pub const fn production() -> Self {
        Self { kmin: Bytes(100_000), kmax: Bytes(400_000), pmax_ppm: 200_000, per: Some(Rate::gbps(25)) }
    }
}

id! {
    /// One of the few different markings of a fabric's ports.
    RampId
}

/// Marking of a port of a given rate, ready for use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ramp {
    kmin: u64,
    kmax: u64,
    /// Marking probability for every byte above `kmin`, in parts of 2^56.
    slope: u64,
}

impl Ramp {
    /// Never marks.
    pub(crate) const NEVER: Self = Self { kmin: u64::MAX, kmax: u64::MAX, slope: 0 };

    pub(crate) fn new(marking: &Marking, rate: Rate) -> Self {
        let scaled = |Bytes(bytes)| {
            let (up, down) = marking.per.map_or((1, 1), |Rate(per)| (rate.0, per.max(1)));
            u64::try_from(u128::from(bytes) * u128::from(up) / u128::from(down)).unwrap_or(u64::MAX)
        };
        let (kmin, kmax) = (scaled(marking.kmin), scaled(marking.kmax));
        let pmax = (u128::from(marking.pmax_ppm.min(1_000_000)) << 56) / 1_000_000;
        let width = u128::from(kmax.saturating_sub(kmin).max(1));
        Self { kmin, kmax, slope: (pmax / width) as u64 }
    }

    /// Whether a queue of `bytes` may mark at all.
    #[inline(always)]
    pub(crate) const fn above(&self, bytes: u64) -> bool {
        bytes > self.kmin
    }

    /// Whether a queue of `bytes` marks when 56 random bits say `draw`.
    #[inline(always)]
    pub(crate) const fn marks(&self, bytes: u64, draw: u64) -> bool {
        bytes > self.kmax || (bytes > self.kmin && draw < self.slope.saturating_mul(bytes - self.kmin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn share(ramp: &Ramp, bytes: u64) -> f64 {
        let mut rng = Rng::new(2);
        let hits = (0..200_000).filter(|_| ramp.marks(bytes, rng.next() >> 8)).count();
        hits as f64 / 200_000.0
    }

    #[test]
    fn the_ramp_of_the_paper() {
        let ramp = Ramp::new(&Marking::default(), Rate::gbps(40));
        assert_eq!([share(&ramp, 0), share(&ramp, 5_000), share(&ramp, 200_001)], [0.0, 0.0, 1.0]);
        assert!((share(&ramp, 102_500) - 0.005).abs() < 0.0006);
        assert!((share(&ramp, 200_000) - 0.01).abs() < 0.0008);
        assert!(!Ramp::NEVER.above(u64::MAX));
    }

    #[test]
    fn thresholds_grow_with_the_rate() {
        let ramp = Ramp::new(&Marking::production(), Rate::gbps(100));
        assert_eq!((ramp.kmin, ramp.kmax), (400_000, 1_600_000));
        // A step: everything above kmin.
        let step = Ramp::new(&Marking { kmin: Bytes(65), kmax: Bytes(65), pmax_ppm: 1_000_000, per: None }, Rate(1));
        assert!(!step.marks(65, 0) && step.marks(66, u64::MAX >> 8));
    }
}
