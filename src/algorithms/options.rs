//! The options of the algorithms, and their names on the command line.

use crate::prelude::*;

/// Declares structs of options, each with a setter. A struct may gain options: it is made from its default.
macro_rules! options {
    ($(#[$meta:meta])* $type:ident { $($(#[$doc:meta])* $name:ident: $of:ty,)* }) => {
        $(#[$meta])*
        #[non_exhaustive]
        pub struct $type {
            $($(#[$doc])* pub $name: $of,)*
        }

        impl $type {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(self, $name: $of) -> Self {
                    Self { $name, ..self }
                }
            )*
        }
    };
}
pub(super) use options;

/// Implements `ALL`, `name` and `FromStr` for an enum, from one list of variants and names.
macro_rules! choices {
    ($what:literal, $type:ty, $($variant:ident: $name:literal),* $(,)?) => {
        impl $type {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }
        }

        impl core::str::FromStr for $type {
            type Err = Error;
            fn from_str(name: &str) -> Result<Self> {
                match name {
                    $($name => Ok(Self::$variant),)*
                    _ => Err(Error::unknown($what, name, &[$($name),*])),
                }
            }
        }
    };
}

/// The order in which vertices may join an independent set; see [`priority`](super::priority).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Priority {
    /// TC-MIS' H1: by a hash of (seed, vertex).
    Random,
    /// TC-MIS' H2: low degrees first, in ECL-MIS' classes; the hash within a class.
    Degree,
    /// TC-MIS' H3: low degrees first; conflicts between pending neighbours are resolved by the hash, anew in each round.
    Resolve,
    /// cuMIS' order with random ties: low degrees first, the hash within a degree.
    #[default]
    Sorted,
    /// cuMIS' order as written: low degrees first, within a degree the higher vertex number first.
    SortedId,
}

choices! {
    "priority", Priority,
    Random: "random", Degree: "degree", Resolve: "resolve", Sorted: "sorted", SortedId: "sorted-id",
}

/// How a round of an independent set is written as products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Formulation {
    /// cuMIS' Algorithm 2: one max.first product, then each vertex decides. For every priority but `Resolve`.
    #[default]
    Decide,
    /// TC-MIS' Algorithm 2: a max.times product finds the candidates, a plus.pair product counts each vertex' candidate neighbours.
    Count,
}

choices! {
    "formulation", Formulation,
    Decide: "decide", Count: "count",
}

options! {
    /// The options of [`mis`](fn@super::mis).
    ///
    /// ```
    /// use vxm::algorithms::{MisOptions, Priority};
    ///
    /// let options = MisOptions::default().priority(Priority::Degree).seed(7);
    /// assert_eq!((options.priority, options.seed), (Priority::Degree, 7));
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    MisOptions {
        /// The order of the vertices.
        priority: Priority,
        /// The seed of the hash.
        seed: u64,
        /// How a round is written. `Priority::Resolve` always runs as `Count`, whatever this says.
        formulation: Formulation,
    }
}

/// A colouring method. Algorithm numbers are those of "Graph Coloring on the GPU" (Osama et al.).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Method {
    /// One independent set a colour, the vertices above all uncoloured neighbours (Algorithm 2).
    Is,
    /// The same colours, round by round (Algorithm 2 as written).
    MaxTimes,
    /// One maximal independent set a colour (Algorithm 3).
    Mis,
    /// Jones-Plassmann: the sequential greedy colouring of the order, where each vertex takes the least colour that is free.
    #[default]
    Jp,
    /// Two independent sets a round, the local maxima and the local minima (Algorithm 5).
    MinMax,
    /// Vertices propose their highest and lowest neighbours, a hash table of taken colours allows reuse, conflicts are reset (Algorithm 6).
    Hash,
    /// One independent set a colour, by a reduction over the neighbours of a frontier (Algorithm 7).
    NeighborReduce,
    /// All vertices try their least colours at once; of neighbours that try the same, the first in the order gets it (Gebremedhin, Manne).
    Speculative,
}

choices! {
    "method", Method,
    Is: "is", MaxTimes: "max-times", Mis: "mis", Jp: "jp", MinMax: "min-max", Hash: "hash",
    NeighborReduce: "neighbor-reduce", Speculative: "speculative",
}

/// The order of the vertices in a colouring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Order {
    /// By a hash of (seed, vertex): the papers' random weights.
    Random,
    /// High degrees first, the hash within a degree.
    #[default]
    LargestDegreeFirst,
    /// The reverse of the order in which vertices of least degree are removed, round by round; the hash within a round.
    SmallestDegreeLast,
    /// By number, vertex 0 first. Keeps what the numbering has of the graph's shape. Methods with a colour for each round may take as many
    /// colours as a path of rising numbers has vertices.
    Natural,
}

choices! {
    "order", Order,
    Random: "random", LargestDegreeFirst: "largest-degree-first", SmallestDegreeLast: "smallest-degree-last",
    Natural: "natural",
}

options! {
    /// The options of [`color`](super::color).
    ///
    /// ```
    /// use vxm::algorithms::{ColoringOptions, Method};
    ///
    /// let options = ColoringOptions::default().method(Method::Is).seed(7);
    /// assert_eq!((options.method, options.seed), (Method::Is, 7));
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    ColoringOptions {
        /// The method.
        method: Method,
        /// The order of the vertices, which gives every method its weights.
        order: Order,
        /// The seed of the hash.
        seed: u64,
    }
}
