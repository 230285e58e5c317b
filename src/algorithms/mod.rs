//! Graph algorithms, composed from the verbs of the [`prelude`](crate::prelude) alone: no device, no format, no direction.

pub mod coloring;
pub mod mis;
pub mod options;
pub mod priority;

pub use coloring::{Coloring, color, color_in_order};
pub use mis::{Mis, mis, mis_in_order};
pub use options::{ColoringOptions, Formulation, Method, MisOptions, Order, Priority};
pub use priority::priorities;
