//! Partitions of rows into blocks of about equal work. Each task owns its part of an array, so no locks are needed.

use core::ops::Range;

/// Partitions the rows of `offsets` into about `pieces` consecutive blocks of about equal cost, entries plus rows.
/// Returns fewer blocks if there are few rows or a few long ones.
pub(crate) fn row_blocks(offsets: &[u64], pieces: usize) -> Vec<Range<usize>> {
    let rows = offsets.len().saturating_sub(1);
    // a row costs its number of entries plus one, because empty rows take time too
    let cost = |row: usize| offsets[row] + row as u64;
    let total = if rows == 0 { 0 } else { cost(rows) };
    let share = total.div_ceil(pieces.max(1) as u64).max(1);
    let mut blocks = Vec::with_capacity(pieces);
    let mut start = 0;
    while start < rows {
        let goal = cost(start) + share;
        // find the first row that reaches the goal by bisection: costs are ascending
        let (mut low, mut high) = (start + 1, rows);
        while low < high {
            let middle = low + (high - low) / 2;
            if cost(middle) < goal {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        blocks.push(start..low);
        start = low;
    }
    blocks
}

/// Splits `entries` into the consecutive parts that belong to the blocks of [`row_blocks`].
pub(crate) fn split_rows<'a, X>(
    mut entries: &'a mut [X],
    offsets: &[u64],
    blocks: &[Range<usize>],
) -> Vec<&'a mut [X]> {
    let mut parts = Vec::with_capacity(blocks.len());
    for block in blocks {
        let length = (offsets[block.end] - offsets[block.start]) as usize;
        let (part, rest) = entries.split_at_mut(length);
        parts.push(part);
        entries = rest;
    }
    parts
}

/// Turns counts into offsets in place. The count of row `i` is expected at position `i + 1`.
pub(super) fn prefix_sum(offsets: &mut [u64]) {
    let mut sum = 0;
    for offset in offsets {
        sum += *offset;
        *offset = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_every_row_once() {
        let offsets = [0, 0, 0, 100, 101, 102, 102];
        for pieces in 1..9 {
            let blocks = row_blocks(&offsets, pieces);
            let rows: Vec<usize> = blocks.iter().cloned().flatten().collect();
            assert_eq!(rows, (0..6).collect::<Vec<_>>());
            let mut entries = vec![0u8; 102];
            let parts = split_rows(&mut entries, &offsets, &blocks);
            assert_eq!(parts.iter().map(|p| p.len()).sum::<usize>(), 102);
        }
        assert!(row_blocks(&[0], 4).is_empty());
        assert!(row_blocks(&[], 4).is_empty());
    }
}
