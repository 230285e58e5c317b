//! When a plan makes tiles: where counted tiles show that they cost less than rows.

use crate::backend::plan::Format;
use crate::backend::tuning::tuning;

/// The tiles of a matrix, as they are counted before any is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileSizes {
    /// The number of rows.
    pub rows: usize,
    /// The number of entries.
    pub entries: usize,
    /// The number of tiles.
    pub tiles: usize,
    /// The number of full tiles: those with at least [`least_entries`].
    pub full: usize,
    /// The number of entries in other tiles.
    pub rest: usize,
    /// On a GPU, whether rows have about the same length: otherwise CSR reads entries of full tiles as fast. True on a CPU. E067
    pub even: bool,
}

/// The least entries of a full tile, if counting with a tile costs as much as `tile_cost` entries.
pub fn least_entries(tile_cost: f64) -> usize {
    tile_cost.max(1.0).ceil() as usize + 1
}

/// The format for products that count, and the reason. A tile costs as much as `tile_cost` entries. Where full tiles and rows are both read, a
/// row costs `row_cost` entries besides its own. `fits` says whether there is memory for tiles.
pub fn tile_format(
    sizes: &TileSizes,
    tile_cost: f64,
    row_cost: f64,
    fits: impl FnOnce() -> bool,
) -> (Format, &'static str) {
    let most = sizes.entries as f64 * (1.0 - tuning().tile_gain);
    if !sizes.even {
        return (Format::Csr, "rows differ much in length");
    }
    let tiles = tile_cost * sizes.tiles as f64;
    let split = tile_cost * sizes.full as f64 + sizes.rest as f64 + row_cost * sizes.rows as f64;
    if tiles.min(split) > most {
        return (Format::Csr, "too few entries are in full tiles");
    }
    if !fits() {
        return (Format::Csr, "there is no memory for tiles");
    }
    match tiles <= split {
        true => (Format::Tiles, "tiles are full, and products that count are many"),
        false => (Format::Hybrid, "most entries are in full tiles, and products that count are many"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_made_where_they_save_enough() {
        let sizes = TileSizes { rows: 1000, entries: 16_000, tiles: 800, full: 700, rest: 500, even: true };
        let chosen = |sizes: &TileSizes, fits| tile_format(sizes, 8.0, 2.0, || fits).0;
        assert_eq!(chosen(&sizes, true), Format::Tiles);
        assert_eq!(chosen(&sizes, false), Format::Csr);
        assert_eq!(chosen(&TileSizes { even: false, ..sizes }, true), Format::Csr);
        // half of the entries are in full tiles, the other half one by one
        let half = TileSizes { tiles: 8400, full: 400, rest: 8000, ..sizes };
        assert_eq!(chosen(&half, true), Format::Csr);
        let more = TileSizes { entries: 100_000, tiles: 41_000, full: 1000, rest: 40_000, ..half };
        assert_eq!(chosen(&more, true), Format::Hybrid);
        assert_eq!(least_entries(8.0), 9);
    }
}
