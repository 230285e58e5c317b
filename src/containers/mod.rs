//! What users hold: [`Matrix`], [`Vector`], [`Set`], [`Dense`]. They know their storage; nobody else does.

pub mod dense;
pub mod matrix;
pub mod vector;

pub use dense::Dense;
pub use matrix::Matrix;
pub use vector::{Set, Vector, VectorFormat};
