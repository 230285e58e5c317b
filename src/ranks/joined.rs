//! Ascending lists of numbers, one of each rank, that are joined.

use crate::error::Result;
use crate::ranks::grid::Grid;
use rayon::prelude::*;
use zerocopy::IntoBytes;

/// Numbers of a list that the others are told, so that ranges are about equal.
const SAMPLES: usize = 64;

/// The lists of all ranks, of which each rank has joined a range of numbers.
pub(crate) struct Joined {
    /// The numbers of this rank's range that each rank has.
    found: Vec<Vec<u8>>,
    /// The same, each once, ascending.
    range: Vec<u64>,
}

impl Joined {
    /// Joins the ranks' lists, each ascending without equal numbers. Ranges are cut where samples of the lists say. All ranks call this.
    ///
    /// # Errors
    /// [`Error::Ranks`](crate::Error::Ranks): another rank has failed.
    pub fn of(grid: &Grid, list: &[u64]) -> Result<Self> {
        let size = grid.size();
        let sample = |k: usize| list.get(list.len() * k / SAMPLES).copied().unwrap_or(u64::MAX);
        let mut told = grid.told(&(0..SAMPLES).map(sample).collect::<Vec<_>>())?.concat();
        told.sort_unstable();
        let cut = |rank: usize| match rank {
            0 => 0,
            rank if rank == size => list.len(),
            rank => list.partition_point(|&number| number < told[SAMPLES * rank]),
        };
        let parts = (0..size).map(|rank| list[cut(rank)..cut(rank + 1)].as_bytes().to_vec());
        let found = grid.exchange(parts.collect())?;
        let mut range: Vec<u64> = found.iter().flat_map(|parcel| numbers(parcel)).collect();
        range.par_sort_unstable();
        range.dedup();
        Ok(Self { found, range })
    }

    /// All numbers, each once, ascending. All ranks call this.
    ///
    /// # Errors
    /// Those of [`of`](Self::of).
    pub fn to_all(&self, grid: &Grid) -> Result<Vec<u64>> {
        let found = grid.exchange(vec![self.range.as_bytes().to_vec(); grid.size()])?;
        Ok(found.iter().flat_map(|parcel| numbers(parcel)).collect())
    }

    /// The place of each number of this rank's list among all numbers, and how many these are. All ranks call this.
    ///
    /// # Errors
    /// Those of [`of`](Self::of).
    pub fn places(&self, grid: &Grid) -> Result<(Vec<u64>, u64)> {
        let counts: Vec<u64> = grid.told(&[self.range.len() as u64])?.iter().map(|told| told[0]).collect();
        let before: u64 = counts[..grid.rank()].iter().sum();
        let place = |number: u64| before + self.range.partition_point(|&other| other < number) as u64;
        let answer = |parcel: &Vec<u8>| numbers(parcel).map(place).flat_map(u64::to_le_bytes).collect();
        let found = grid.exchange(self.found.par_iter().map(answer).collect())?;
        Ok((found.iter().flat_map(|parcel| numbers(parcel)).collect(), counts.iter().sum()))
    }
}

/// The numbers of 64 bits in a parcel.
pub(crate) fn numbers(parcel: &[u8]) -> impl Iterator<Item = u64> + '_ {
    parcel.chunks_exact(8).filter_map(|word| word.first_chunk()).map(|word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::Threads;

    #[test]
    fn numbers_have_the_places_of_one_list() {
        for ranks in [1, 2, 5] {
            // one rank has none, and some numbers are on several ranks
            let list = |rank: usize| -> Vec<u64> {
                (0..(rank as u64 * 70))
                    .map(|k| (k * k + rank as u64) % 901)
                    .collect::<std::collections::BTreeSet<_>>()
                    .into_iter()
                    .collect()
            };
            let mut all: Vec<u64> = (0..ranks).flat_map(list).collect();
            all.sort_unstable();
            all.dedup();
            let told = Threads::run(ranks, |world| {
                let grid = Grid::of(world, ranks, 1)?;
                let mine = list(grid.rank());
                let (places, count) = Joined::of(&grid, &mine)?.places(&grid)?;
                Ok::<_, crate::Error>((mine, places, count, Joined::of(&grid, &list(grid.rank()))?.to_all(&grid)?))
            });
            for told in told {
                let (mine, places, count, joined) = told.unwrap();
                assert_eq!((joined, count), (all.clone(), all.len() as u64));
                let expected: Vec<u64> = mine.iter().map(|n| all.binary_search(n).unwrap() as u64).collect();
                assert_eq!(places, expected);
            }
        }
    }
}
