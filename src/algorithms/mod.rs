//! Graph algorithms, composed from the verbs of the [`prelude`](crate::prelude) alone: no device, no format, no direction.

pub mod bfs;
pub mod coloring;
pub mod components;
pub mod mis;
pub mod options;
pub mod priority;
pub mod sssp;

pub use bfs::bfs;
pub use coloring::{Coloring, color, color_in_order};
pub use components::components;
pub use mis::{Mis, mis, mis_in_order};
pub use options::{ColoringOptions, Formulation, Method, MisOptions, Order, Priority};
pub use priority::priorities;
pub use sssp::{Distance, sssp};
