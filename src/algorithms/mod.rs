//! Graph algorithms, composed from the verbs of the [`prelude`](crate::prelude) alone: no device, no format, no direction.

pub mod coloring;
pub mod mis;
pub mod priority;

pub use coloring::{Coloring, ColoringOptions, Method, Order, color};
pub use mis::{Formulation, Mis, MisOptions, mis};
pub use priority::Priority;
