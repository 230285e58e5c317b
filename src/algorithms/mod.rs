//! Graph algorithms, composed from the verbs of the [`prelude`](crate::prelude) alone.
//!
//! They name no device, no storage format and no direction (push or pull); the plan chooses these. `docs/algorithms` holds, for each
//! algorithm, the paper, the formula, what differs from the paper and why it is right.

pub mod betweenness;
pub mod bfs;
pub mod bfs_many;
pub mod clique;
pub mod coloring;
pub mod communities;
pub mod components;
pub mod derivatives;
pub mod distance2;
pub mod kcore;
pub mod labels;
pub mod matching;
pub mod mis;
pub mod mis_many;
pub mod msf;
pub mod options;
pub mod pagerank;
#[doc(hidden)]
pub mod pairs;
pub mod priority;
pub mod roots;
pub mod scc;
pub mod sssp;
pub mod triangles;
pub mod vertex_cover;
pub mod weights;

pub use betweenness::betweenness;
pub use bfs::{bfs, bfs_parents};
pub use bfs_many::{Searches, bfs_many};
pub use clique::{Clique, maximal_clique};
pub use coloring::{Coloring, Extension, color, color_in_order, extend_coloring};
pub use communities::{Communities, communities};
pub use components::components;
pub use derivatives::{
    color_classes, color_columns, color_rows, decompress, decompress_rows, decompress_symmetric, keys_at_distance_2,
    star_coloring,
};
pub use distance2::{Aggregates, aggregates, color_at_distance_2, mis_at_distance_2};
pub use kcore::core_numbers;
pub use labels::{Labels, propagate_labels};
pub use matching::{Matching, dominant_matching, maximal_matching};
pub use mis::{Mis, mis, mis_in_order};
pub use mis_many::mis_many;
pub use msf::{SpanningForest, spanning_forest};
pub use options::{ColoringOptions, Formulation, Method, MisOptions, Order, Priority};
pub use pagerank::{PageRank, PageRankOptions, Rank, pagerank};
pub use priority::priorities;
pub use roots::{Roots, on_cycle, parents_of, roots};
pub use scc::{StrongComponents, strong_components};
pub use sssp::{Distance, sssp, sssp_parents};
pub use triangles::{Truss, clustering, count_triangles, ktruss, triangles};
pub use vertex_cover::{VertexCover, vertex_cover};
pub use weights::weights;
