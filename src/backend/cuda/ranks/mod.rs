//! Ranks on GPUs: what they tell each other, and which rows they fold.

mod channel;
mod joining;
mod rows;
mod share;

pub use channel::{ChangedSlots, Channel, nothing, take_own};
pub use rows::StaleRows;
use rows::join;
pub(crate) use share::{OnBoth, ShareOnGpu};
