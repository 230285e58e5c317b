//! Where operators run.
//!
//! - [`view`]: the contract between expressions and the CPU backend.
//! - [`plan`]: chooses direction, format and strategy. Its thresholds are in [`tuning`].
//! - [`mod@reference`]: defines what every operation means.
//! - [`cpu`] and [`cuda`]: the backends.

pub mod cpu;
pub mod cuda;
mod device;
pub mod plan;
pub mod reference;
pub mod tuning;
pub mod view;

pub use device::Device;
pub(crate) use device::{Entered, current};
