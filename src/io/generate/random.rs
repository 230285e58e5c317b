//! Random numbers by counter: the number at a place depends on the seed and the place alone, so threads may draw in any order.

/// A sequence of random numbers, any of which can be asked for at once (SplitMix64).
#[derive(Clone, Copy)]
pub(super) struct Random {
    key: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        // seeds are small and neighbouring; their sequences should not be
        Self { key: mix(seed ^ GOLDEN) }
    }

    /// The `place`-th number.
    #[inline]
    pub fn at(self, place: u64) -> u64 {
        mix(self.key.wrapping_add(place.wrapping_mul(GOLDEN)))
    }

    /// The `place`-th number, in 0..`bound`.
    #[inline]
    pub fn below(self, place: u64, bound: u64) -> u64 {
        ((u128::from(self.at(place)) * u128::from(bound)) >> 64) as u64
    }

    /// The `place`-th number, in 0.0..1.0.
    #[inline]
    pub fn unit(self, place: u64) -> f64 {
        (self.at(place) >> 11) as f64 * (-53f64).exp2()
    }
}

/// A bijection that leaves no bit as it was.
#[inline]
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A random bijection of the numbers of `bits` bits.
#[derive(Clone, Copy)]
pub(super) struct Shuffle {
    random: Random,
    bits: u32,
}

impl Shuffle {
    pub fn new(random: Random, bits: u32) -> Self {
        Self { random, bits }
    }

    /// What `number` becomes.
    #[inline]
    pub fn of(self, number: u32) -> u32 {
        let mask = (1u64 << self.bits) - 1;
        // adding, multiplying by an odd number and folding the upper half down are each bijections
        (0..4).fold(u64::from(number), |x, round| {
            let x = x.wrapping_add(self.random.at(2 * round));
            let x = x.wrapping_mul(self.random.at(2 * round + 1) | 1) & mask;
            x ^ (x >> self.bits.div_ceil(2))
        }) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_are_bijections() {
        for bits in 0..12 {
            let shuffle = Shuffle::new(Random::new(7), bits);
            let mut images: Vec<u32> = (0..1 << bits).map(|x| shuffle.of(x)).collect();
            images.sort_unstable();
            assert_eq!(images, (0..1 << bits).collect::<Vec<_>>());
        }
    }

    #[test]
    fn numbers_are_spread() {
        let random = Random::new(1);
        let mean = (0..10_000).map(|i| random.unit(i)).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        assert!((0..1000).all(|i| random.below(i, 3) < 3));
        assert_ne!(random.at(0), Random::new(2).at(0));
    }
}
