//! Graph algorithms, composed from the verbs of the [`prelude`](crate::prelude) alone.
//!
//! They name no device, no storage format and no direction (push or pull); the plan chooses these. `docs/algorithms` holds, for each
//! algorithm, the paper, the formula, what differs from the paper and why it is right.

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
