//! Ranks on GPUs: what they tell each other, and which rows they fold.

mod channel;
mod joining;
mod peers;
mod rows;
mod share;
mod shown;

pub use channel::{ChangedSlots, Channel, nothing, take_own};
pub use peers::PeerSlots;
pub use rows::StaleRows;
use rows::join;
pub(crate) use share::{Lines, OnBoth, ShareOnGpu};
pub(crate) use shown::{at_own_indices, scatter_among_peers, shown};
