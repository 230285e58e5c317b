//! Counter-based random numbers: each depends on the seed and its position only, so threads may draw in any order.

/// A random-access sequence of random numbers (SplitMix64).
#[derive(Clone, Copy)]
pub(super) struct Random {
    key: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The sequence for a seed.
    pub fn new(seed: u64) -> Self {
        // seeds are often small and close together; mixing makes their sequences unrelated
        Self { key: mix(seed ^ GOLDEN) }
    }

    /// The number at position `place`.
    #[inline]
    pub fn at(self, place: u64) -> u64 {
        mix(self.key.wrapping_add(place.wrapping_mul(GOLDEN)))
    }

    /// The number at position `place`, scaled to `0..bound`.
    #[inline]
    pub fn below(self, place: u64, bound: u64) -> u64 {
        ((u128::from(self.at(place)) * u128::from(bound)) >> 64) as u64
    }

    /// The number at position `place`, scaled to `0.0..1.0`.
    #[inline]
    pub fn unit(self, place: u64) -> f64 {
        (self.at(place) >> 11) as f64 * (-53f64).exp2()
    }
}

/// The finalizer of SplitMix64: a bijection in which every input bit affects every output bit.
#[inline]
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A random permutation of the integers with `bits` bits.
#[derive(Clone, Copy)]
pub(super) struct Shuffle {
    /// What each step adds, and by which odd number it multiplies.
    steps: [(u64, u64); 4],
    bits: u32,
}

impl Shuffle {
    pub fn new(random: Random, bits: u32) -> Self {
        let step = |k: u64| (random.at(2 * k), random.at(2 * k + 1) | 1);
        Self { steps: [step(0), step(1), step(2), step(3)], bits }
    }

    /// The image of `number`.
    #[inline]
    pub fn of(self, number: u32) -> u32 {
        let mask = (1u64 << self.bits) - 1;
        // each step is a bijection: adding, multiplying by an odd number, and xor of the lower half with the upper half
        self.steps.iter().fold(u64::from(number), |x, (added, times)| {
            let x = x.wrapping_add(*added).wrapping_mul(*times) & mask;
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
