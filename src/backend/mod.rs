//! Where operators run: the [`view`] contract, the [`plan`] that chooses, the [`mod@reference`] that defines, and the backends [`cpu`]
//! and [`cuda`].

pub mod cpu;
pub mod cuda;
mod device;
pub mod erased;
pub mod plan;
pub mod reference;
pub mod view;

pub use device::Device;
pub(crate) use device::{Entered, current};
