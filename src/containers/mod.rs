//! What users hold: [`Matrix`], [`Vector`], [`Set`]. They know their storage; nobody else does.

pub mod matrix;
pub mod vector;

pub use matrix::Matrix;
pub use vector::{Set, Vector, VectorFormat};
