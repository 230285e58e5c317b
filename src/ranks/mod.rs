//! Ranks: processes, or threads, that hold a share each of a graph and of its vectors.
//!
//! A [`Grid`] is a group of ranks in rows and columns. [`Owners`] tell which rank owns an index. Matrices and vectors are spread over a grid by
//! [`Matrix::to_grid`](crate::containers::Matrix::to_grid) and [`Grid::read`]; expressions over them run on all ranks at once. See the
//! [guide](crate::guide::ranks).

mod devices;
mod fetch;
mod grid;
mod joined;
mod ledger;
mod model;
mod owners;
mod parcel;
mod replicas;
mod rows;
mod share;
mod simulation;
mod windows;

pub use devices::Link;
pub(crate) use devices::{Carrier, OnGpus, host};
pub(crate) use fetch::{collect, deliver, fetch, to_first};
pub use grid::{Axis, Grid, Shape};
pub(crate) use joined::{Joined, numbers};
pub use model::{LinkModel, Model, Time};
pub use owners::{BLOCK, Deal, Owners};
pub(crate) use parcel::unexpected;
pub(crate) use replicas::{Partials, Replicas, nothing};
pub(crate) use rows::{OwnRows, Reads, entries_to_all, entries_to_first, whole_rows, within};
#[doc(hidden)]
pub use share::Share;
pub(crate) use share::{Line, RowNumbers, assemble, assemble_lists, words};
pub use simulation::{Amount, Simulation, Step, Sums, simulate};
pub use vxm_communicator::{Alone, Communicator, Launcher, Mpi, Threads, Traffic};
pub(crate) use windows::{AllWindows, Windows};
