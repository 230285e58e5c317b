//! The containers that users hold: [`Matrix`], [`Vector`], [`Set`], [`Dense`]. Each hides how and where it is stored.

pub mod dense;
mod foreign;
pub mod matrix;
pub mod vector;

pub use dense::Dense;
pub use foreign::DeviceArray;
#[doc(hidden)]
pub use matrix::Read;
pub use matrix::{Matrix, SpreadGraph, SpreadWeighted, Symmetrize};
pub use vector::{Set, Vector, VectorFormat};
