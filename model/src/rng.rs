//! The one source of chance: a small generator, one stream for each purpose.
//!
//! xoshiro256++ (Blackman, Vigna: "Scrambled linear pseudorandom number generators", 2021), its state filled by
//! SplitMix64 as its authors advise. A stream is derived from the run's seed and the purpose's name, so that a new
//! purpose draws nothing from an old one and leaves its results alone.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

const fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mix(*state)
}

/// Spreads the bits of `z` over all 64 (the finalizer of SplitMix64).
#[must_use]
pub const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The stream of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        let mut fill = seed;
        let state = [splitmix(&mut fill), splitmix(&mut fill), splitmix(&mut fill), splitmix(&mut fill)];
        Self { state }
    }

    /// The stream of `seed` for one purpose.
    #[must_use]
    pub fn named(seed: u64, purpose: &str) -> Self {
        // FNV-1a: any hash that never changes will do.
        let name = purpose
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self::new(mix(seed) ^ name)
    }

    /// 64 random bits.
    #[inline]
    pub const fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let out = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        out
    }

    /// A number below `n`, each as likely as the next; 0 when `n` is 0.
    ///
    /// Multiplication instead of division (Lemire 2019); what 64 bits leave uneven is below `n` / 2^64.
    #[inline]
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.next() as u128 * n as u128) >> 64) as u64
    }

    /// A number in 0..1, on a grid of 2^-53.
    #[inline]
    pub const fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Puts `items` in random order (Fisher, Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The authors' reference code, started from the state 1, 2, 3, 4.
    #[test]
    fn the_published_sequence() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| rng.next()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn streams_differ_and_repeat() {
        let draw = |seed, name| Rng::named(seed, name).next();
        assert_eq!(draw(1, "ties"), draw(1, "ties"));
        assert_ne!(draw(1, "ties"), draw(1, "marks"));
        assert_ne!(draw(1, "ties"), draw(2, "ties"));
    }

    #[test]
    fn numbers_stay_in_range_and_reach_all_of_it() {
        let mut rng = Rng::new(7);
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[rng.below(10) as usize] += 1;
            assert!((0.0..1.0).contains(&rng.unit()));
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        let mut order: Vec<u32> = (0..50).collect();
        rng.shuffle(&mut order);
        assert_ne!(order, (0..50).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
    }
}
