//! Which rank owns an index: blocks of indices are dealt out to ranks.

/// The indices in a block.
pub const BLOCK: usize = 64;

/// How blocks are dealt out to ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Deal {
    /// In turn. Neighbouring blocks of a mesh go to different ranks, but the order of a self-similar graph, such as R-MAT, shows through.
    #[default]
    Cyclic,
    /// In turn, after a fixed shuffle of the blocks: hubs are spread evenly, whatever the order of vertices.
    Hashed,
}

/// The owners of the indices of a vector: a rank for each index, and its place among the indices of that rank. All is arithmetic.
///
/// Blocks of 64 indices are dealt out in turn; of `Hashed` owners, after a bijection of the numbers of full blocks. A last block that isn't
/// full stays the last one. So a rank's places have no gaps, and a rank may own nothing.
///
/// ```
/// use vxm::ranks::{Deal, Owners};
///
/// let owners = Owners::new(200, 2, Deal::Cyclic);
/// assert_eq!((owners.owner(63), owners.owner(64), owners.owner(130)), ((0, 63), (1, 0), (0, 66)));
/// assert_eq!((owners.count(0), owners.count(1)), (128, 72));
/// assert_eq!(owners.vertex(1, 71), 199);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owners {
    len: usize,
    ranks: usize,
    /// The bits of a number of a full block; 0 if blocks aren't shuffled.
    bits: u32,
}

/// The multipliers of the shuffle, which are odd, and their inverses modulo 2^32.
const FACTORS: [u32; 2] = [0x9e37_79b1, 0x85eb_ca6b];
const INVERSES: [u32; 2] = [inverse(FACTORS[0]), inverse(FACTORS[1])];

/// The inverse of an odd number modulo 2^32, by Newton's method: each step doubles the number of right bits.
const fn inverse(odd: u32) -> u32 {
    let (mut found, mut step) = (odd, 0);
    while step < 5 {
        found = found.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(found)));
        step += 1;
    }
    found
}

impl Owners {
    /// The owners of `len` indices among `ranks` ranks.
    pub fn new(len: usize, ranks: usize, deal: Deal) -> Self {
        let full = len / BLOCK;
        let bits = if deal == Deal::Hashed && full > 1 { usize::BITS - (full - 1).leading_zeros() } else { 0 };
        Self { len, ranks, bits }
    }

    /// The number of indices.
    #[expect(clippy::len_without_is_empty, reason = "owners aren't a collection")]
    pub fn len(self) -> usize {
        self.len
    }

    /// A bijection of the numbers of `bits` bits, or its inverse.
    fn shuffle(self, number: u32, back: bool) -> u32 {
        let (mask, half) = (u32::MAX >> (32 - self.bits), self.bits.div_ceil(2));
        let fold = |x: u32| x ^ (x >> half);
        let [first, second] = if back { [INVERSES[1], INVERSES[0]] } else { FACTORS };
        if back {
            let x = fold(number).wrapping_mul(first) & mask;
            fold(x).wrapping_mul(second) & mask
        } else {
            let x = fold(number.wrapping_mul(first) & mask);
            fold(x.wrapping_mul(second) & mask)
        }
    }

    /// The position of a block in the order in which blocks are dealt out, or the block at a position. Numbers that are no full block's
    /// are passed over, so that what is left is a bijection too.
    fn dealt(self, mut number: u32, back: bool) -> u32 {
        let full = (self.len / BLOCK) as u32;
        if self.bits == 0 || number >= full {
            return number;
        }
        loop {
            number = self.shuffle(number, back);
            if number < full {
                return number;
            }
        }
    }

    /// The owner of `index`, and the index's place there.
    #[inline]
    pub fn owner(self, index: u32) -> (usize, u32) {
        let position = self.dealt(index / BLOCK as u32, false) as usize;
        let (turn, rank) = (position / self.ranks, position % self.ranks);
        (rank, (turn * BLOCK) as u32 + index % BLOCK as u32)
    }

    /// The index at a place of a rank: the inverse of [`owner`](Self::owner).
    #[inline]
    pub fn vertex(self, rank: usize, place: u32) -> u32 {
        let position = place as usize / BLOCK * self.ranks + rank;
        self.dealt(position as u32, true) * BLOCK as u32 + place % BLOCK as u32
    }

    /// What a kernel needs to compute [`vertex`](Self::vertex) for a rank: the number of ranks, the rank, the number of full blocks, and the
    /// bits of a number of one.
    pub(crate) fn words(self, rank: usize) -> [u64; 4] {
        [self.ranks as u64, rank as u64, (self.len / BLOCK) as u64, u64::from(self.bits)]
    }

    /// The number of indices that a rank owns.
    pub fn count(self, rank: usize) -> usize {
        let (full, rest) = (self.len / BLOCK, self.len % BLOCK);
        let blocks = full / self.ranks + usize::from(rank < full % self.ranks);
        blocks * BLOCK + if full % self.ranks == rank { rest } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each index has one owner and one place, places have no gaps, and both ways agree.
        #[test]
        fn every_index_is_owned_once(len in 0usize..3000, ranks in 1usize..12, hashed: bool) {
            let owners = Owners::new(len, ranks, if hashed { Deal::Hashed } else { Deal::Cyclic });
            let mut owned: Vec<Vec<bool>> = (0..ranks).map(|rank| vec![false; owners.count(rank)]).collect();
            for index in 0..len as u32 {
                let (rank, place) = owners.owner(index);
                prop_assert!(!std::mem::replace(&mut owned[rank][place as usize], true));
                prop_assert_eq!(owners.vertex(rank, place), index);
            }
            prop_assert!(owned.iter().flatten().all(|&owned| owned));
        }
    }

    #[test]
    fn a_shuffle_spreads_blocks() {
        let owners = Owners::new(64 * 1024, 4, Deal::Hashed);
        // of the first quarter of blocks, each rank owns about a quarter
        let mut first = [0; 4];
        (0..256u32).for_each(|block| first[owners.owner(block * 64).0] += 1);
        assert!(first.iter().all(|&count| (40..90).contains(&count)), "{first:?}");
    }
}
