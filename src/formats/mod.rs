//! Storage formats of matrices and vectors: arrays, their invariants, and conversions between formats.

mod arrays;
pub(crate) mod bitmap;
mod blocks;
pub(crate) mod buffer;
mod build;
pub(crate) mod bytes;
mod coo;
mod csr;
pub(crate) mod order;

mod shared;
mod sparse;
#[cfg(feature = "sprs")]
mod sprs;
mod store;
mod symmetry;
mod tiles;

pub use arrays::Index;
pub use bitmap::Bitmap;
pub(crate) use blocks::{row_blocks, split_rows};
pub use build::{Cleaned, Directions, undirected};
pub(crate) use coo::repeated;
pub use coo::{Combine, Coo, Duplicates, First, Joining, Last, Refuse};
pub use csr::Csr;
pub(crate) use csr::{Block, places_of};
#[doc(hidden)]
pub use shared::{Shared, SharedView};
pub use sparse::Sparse;
#[doc(hidden)]
pub use store::{Store, StoreView};
pub use tiles::{SIDE, Tiles};

use crate::error::{Error, Result};

/// The largest number of rows or columns. Indices are `u32`, and the largest `u32` is reserved to mean "none".
pub const MAX_VERTICES: usize = u32::MAX as usize;

/// Checks that `count` rows or columns can be numbered; if not, [`Error::TooManyVertices`] at `place`.
pub(crate) fn check_vertices(place: &str, count: usize) -> Result<()> {
    if count <= MAX_VERTICES {
        return Ok(());
    }
    Err(Error::TooManyVertices { place: place.to_owned(), count: count as u128, limit: MAX_VERTICES as u64 })
}
