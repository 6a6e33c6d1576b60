//! Numbers that look random and are the same in every run.

/// xorshift64* (Vigna 2016, "An experimental exploration of Marsaglia's xorshift generators, scrambled").
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        rng.next();
        rng
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From `low` to below `high`.
    pub(crate) fn within(&mut self, low: u64, high: u64) -> u64 {
        low + (self.next() >> 16) % (high - low)
    }

    /// True so many times in a million.
    pub(crate) fn chance(&mut self, ppm: u64) -> bool {
        self.within(0, 1_000_000) < ppm
    }

    pub(crate) fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.within(0, values.len() as u64) as usize]
    }
}
