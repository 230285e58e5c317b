//! What an algorithm can be told, and the names it goes by on the command line.

use crate::prelude::*;

/// Gives each choice its name, in one place, and reads it back.
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

/// Which vertices come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Priority {
    /// H1: a hash.
    Random,
    /// H2: low degrees first, in classes.
    Degree,
    /// H3: low degrees first, conflicts resolved by the hash among those pending.
    #[default]
    Resolve,
    /// cuMIS: low degrees first, then the hash.
    Sorted,
    /// cuMIS as written: low degrees first, then the vertex number.
    SortedId,
}

choices! {
    "priority", Priority,
    Random: "random", Degree: "degree", Resolve: "resolve", Sorted: "sorted", SortedId: "sorted-id",
}

/// How a round is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Formulation {
    /// cuMIS: one max-first product, then each vertex decides. Serves every priority but `Resolve`.
    #[default]
    Decide,
    /// TC-MIS: max-times for the neighbours' maxima, then the candidates next to each vertex are counted.
    Count,
}

choices! {
    "formulation", Formulation,
    Decide: "decide", Count: "count",
}

/// How to find an independent set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MisOptions {
    /// Which vertices come first.
    pub priority: Priority,
    /// What the hash is seeded with.
    pub seed: u64,
    /// How a round is written; `Priority::Resolve` needs, and takes, `Count`.
    pub formulation: Formulation,
}

/// How to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// One independent set a colour (Algorithm 2).
    Is,
    /// One maximal independent set a colour (Algorithm 3).
    Mis,
    /// Jones-Plassmann: the least colour that no neighbour has, in the order's turn.
    #[default]
    Jp,
    /// Two independent sets a round, of local maxima and local minima (Algorithm 5).
    MinMax,
    /// Neighbours propose, colours are reused by a hash of those taken, conflicts are resolved (Algorithm 6).
    Hash,
    /// One independent set a colour, by a reduction over neighbours (Algorithm 7).
    NeighborReduce,
}

choices! {
    "method", Method,
    Is: "is", Mis: "mis", Jp: "jp", MinMax: "min-max", Hash: "hash", NeighborReduce: "neighbor-reduce",
}

/// In which order vertices are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// By a hash: the papers' random weights.
    Random,
    /// High degrees first.
    #[default]
    LargestDegreeFirst,
    /// The reverse of repeatedly removing a vertex of least degree.
    SmallestDegreeLast,
}

choices! {
    "order", Order,
    Random: "random", LargestDegreeFirst: "largest-degree-first", SmallestDegreeLast: "smallest-degree-last",
}

/// How to find a colouring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ColoringOptions {
    /// How to colour.
    pub method: Method,
    /// In which order; every method's weights are its ranks.
    pub order: Order,
    /// What the hash is seeded with.
    pub seed: u64,
}
