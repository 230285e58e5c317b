//! Products of two sparse matrices on a device.

mod masked;
mod rows;

pub use masked::dots_at_places;
pub use rows::count;
