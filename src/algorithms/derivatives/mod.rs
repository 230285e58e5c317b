//! Colourings for computing sparse derivatives: columns or rows of a Jacobian, and star colourings of a Hessian. See
//! `docs/algorithms/derivatives.md`.

mod columns;
mod compressed;
mod greedy;
mod star;

pub(super) use columns::{check_keys, closed, of_columns};
pub use columns::{color_columns, color_rows, keys_at_distance_2};
pub use compressed::{color_classes, decompress, decompress_rows, decompress_symmetric};
pub use star::star_coloring;
