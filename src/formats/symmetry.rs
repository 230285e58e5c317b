//! Whether a matrix equals its transpose.

use crate::formats::csr::MAX_COLUMN_TASKS;
use crate::formats::{Csr, row_blocks};
use crate::parallel;
use core::ops::Range;
use vxm_semiring::Element;

impl<T: Element> Csr<T> {
    /// Whether the matrix equals its transpose, values included. Values are compared by their bits, so NaN equals
    /// itself. O(nnz) time, and O(nrows log degree) for each thread.
    ///
    /// ```
    /// use vxm::formats::Csr;
    /// // 1 . 2
    /// // . . .
    /// // 2 . .
    /// let (offsets, columns) = (vec![0, 2, 2, 3], vec![0, 2, 0]);
    /// assert!(Csr::try_new(3, 3, offsets.clone(), columns.clone(), vec![1, 2, 2])?.is_symmetric());
    /// assert!(!Csr::try_new(3, 3, offsets, columns, vec![1, 2, 3])?.is_symmetric());
    /// # Ok::<(), vxm::error::Error>(())
    /// ```
    pub fn is_symmetric(&self) -> bool {
        self.symmetry().is_some()
    }

    /// Whether the diagonal of a symmetric matrix holds an entry; `None` if the matrix doesn't equal its transpose.
    pub(crate) fn symmetry(&self) -> Option<bool> {
        if self.nrows() != self.ncols() {
            return None;
        }
        let blocks = row_blocks(self.offsets(), parallel::threads().min(MAX_COLUMN_TASKS));
        let mirrored = parallel::collect(blocks.len(), &|k| self.mirrored_into(&blocks[k]));
        mirrored.into_iter().try_fold(false, |one, other| Some(other? || one))
    }

    /// The row and column of the first entry without an equal mirror image; `None` if the matrix equals its transpose. The matrix is
    /// square. O(nnz) time if it is symmetric, otherwise O(nnz log degree).
    ///
    /// ```
    /// use vxm::formats::Csr;
    /// let a = Csr::try_new(3, 3, vec![0, 1, 3, 3], vec![1, 0, 2], vec![(); 3])?;
    /// assert_eq!(a.asymmetry(), Some((1, 2)));
    /// # Ok::<(), vxm::error::Error>(())
    /// ```
    pub fn asymmetry(&self) -> Option<(usize, usize)> {
        if self.is_symmetric() {
            return None;
        }
        let unmirrored = |row: usize| {
            let (columns, values) = self.row(row);
            let is_mirrored = |column: usize, value: &T| {
                column < self.nrows() && self.get(column, row).is_some_and(|other| other.bits() == value.bits())
            };
            let mut entries = columns.iter().map(|&column| column as usize).zip(values);
            entries.find(|&(column, value)| !is_mirrored(column, value)).map(|(column, _)| column)
        };
        let row = self.first_row(&|row| unmirrored(row).is_some())?;
        Some((row, unmirrored(row)?))
    }

    /// Compares the entries above the diagonal in the columns `block` with those below it in the rows `block`. `None` if they differ;
    /// otherwise whether one of these rows has an entry on the diagonal.
    ///
    /// Rows are walked in order. So the entries of a column come in the order in which its mirror image, a row, holds them: `next` is the
    /// position of the row's first entry that hasn't been compared.
    fn mirrored_into(&self, block: &Range<usize>) -> Option<bool> {
        let (offsets, columns, values) = (self.offsets(), self.columns(), self.values());
        let (mut next, mut diagonal) = (offsets[block.clone()].to_vec(), false);
        for row in 0..block.end {
            let end = offsets[row + 1] as usize;
            let mut place = offsets[row] as usize;
            if row >= block.start {
                // all entries before the diagonal have been compared, or the matrix isn't symmetric
                place = next[row - block.start] as usize;
                if place > end || (place < end && (columns[place] as usize) < row) {
                    return None;
                }
                let own = place < end && columns[place] as usize == row;
                place += usize::from(own);
                diagonal |= own;
            } else {
                place += columns[place..end].partition_point(|&column| (column as usize) < block.start);
            }
            for entry in place..end {
                let column = columns[entry] as usize;
                if column >= block.end {
                    break;
                }
                let next = &mut next[column - block.start];
                let mirror = *next as usize;
                // a mirror image past the end of its row is found when that row is walked
                if columns.get(mirror) != Some(&(row as u32)) || values[mirror].bits() != values[entry].bits() {
                    return None;
                }
                *next += 1;
            }
        }
        Some(diagonal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The matrix of the entries of a map.
    fn matrix(n: usize, entries: &BTreeMap<(u32, u32), u32>) -> Csr<u32> {
        let mut offsets = vec![0u64; n + 1];
        entries.keys().for_each(|&(row, _)| offsets[row as usize + 1] += 1);
        crate::formats::blocks::prefix_sum(&mut offsets);
        let columns = entries.keys().map(|&(_, column)| column).collect();
        Csr::try_new(n, n, offsets, columns, entries.values().copied().collect()).unwrap()
    }

    proptest! {
        #[test]
        fn agrees_with_a_map(
            n in 1u32..12,
            raw in prop::collection::vec((0u32..12, 0u32..12, 0u32..2), 0..80),
            mirrored in any::<bool>(),
            changed in prop::option::of((0usize..80, any::<bool>())),
            threads in 1usize..6,
        ) {
            let mut entries = BTreeMap::new();
            for &(i, j, value) in &raw {
                entries.insert((i % n, j % n), value);
                if mirrored {
                    entries.insert((j % n, i % n), value);
                }
            }
            // one entry is removed, or gets another value
            if let Some((at, removed)) = changed
                && let Some(&key) = entries.keys().nth(at)
            {
                if removed { entries.remove(&key); } else { entries.insert(key, 7); }
            }
            let first = entries.iter().find(|&(&(i, j), value)| entries.get(&(j, i)) != Some(value));
            let first = first.map(|(&(i, j), _)| (i as usize, j as usize));
            let csr = matrix(n as usize, &entries);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            prop_assert_eq!(pool.install(|| (csr.is_symmetric(), csr.asymmetry())), (first.is_none(), first));
        }
    }

    #[test]
    fn only_square_matrices_are_symmetric() {
        assert!(!Csr::<()>::empty(2, 3).unwrap().is_symmetric());
        assert!(Csr::<()>::empty(0, 0).unwrap().is_symmetric());
    }

    #[test]
    fn a_mirror_image_in_the_next_row_is_none() {
        // row 1 holds nothing, and row 2 begins with column 0, which is what row 0 looks for in row 1
        let a = Csr::try_new(3, 3, vec![0, 2, 2, 3], vec![1, 2, 0], vec![(); 3]).unwrap();
        assert_eq!(a.asymmetry(), Some((0, 1)));
    }
}
