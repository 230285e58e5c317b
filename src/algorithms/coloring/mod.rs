//! Graph colouring: the methods of "Graph Coloring on the GPU" (Osama et al.) and Jones-Plassmann, composed from products.

mod hash;
mod independent_set;
mod jones_plassmann;
mod maximal;
mod min_max;
mod neighbor_reduce;

use super::priority::{Priority, largest_degree_first, ranks, smallest_degree_last};
use crate::prelude::*;

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

impl Method {
    /// All methods.
    pub const ALL: [Self; 6] = [Self::Is, Self::Mis, Self::Jp, Self::MinMax, Self::Hash, Self::NeighborReduce];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Is => "is",
            Self::Mis => "mis",
            Self::Jp => "jp",
            Self::MinMax => "min-max",
            Self::Hash => "hash",
            Self::NeighborReduce => "neighbor-reduce",
        }
    }
}

impl core::str::FromStr for Method {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let names = Self::ALL.map(Self::name);
        Self::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| Error::unknown("method", name, &names))
    }
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

impl Order {
    /// All orders.
    pub const ALL: [Self; 3] = [Self::Random, Self::LargestDegreeFirst, Self::SmallestDegreeLast];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::LargestDegreeFirst => "largest-degree-first",
            Self::SmallestDegreeLast => "smallest-degree-last",
        }
    }

    /// A distinct rank for each vertex, the first to be served highest.
    ///
    /// # Errors
    /// None today; a device may fail.
    pub fn ranks(self, a: &Matrix, seed: u64) -> Result<Vector<u32>> {
        match self {
            Self::Random => ranks(a, Priority::Random, seed),
            Self::LargestDegreeFirst => largest_degree_first(a, seed),
            Self::SmallestDegreeLast => smallest_degree_last(a, seed),
        }
    }
}

impl core::str::FromStr for Order {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let names = Self::ALL.map(Self::name);
        Self::ALL.into_iter().find(|o| o.name() == name).ok_or_else(|| Error::unknown("order", name, &names))
    }
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ColoringOptions {
    /// How to colour.
    pub method: Method,
    /// In which order; every method's weights are its ranks.
    pub order: Order,
    /// What the hash is seeded with.
    pub seed: u64,
}

/// A proper colouring.
#[derive(Debug, Clone, PartialEq)]
pub struct Coloring {
    /// Each vertex' colour, from 1.
    pub colors: Vector<u32>,
    /// How many colours there are: 1 to `count`, each used.
    pub count: u32,
    /// Rounds it took; not part of the answer.
    pub rounds: u32,
}

/// No colour yet.
pub(crate) const NONE: u32 = 0;

/// Colours an undirected graph so that neighbours differ.
///
/// ```
/// use vxm::algorithms::{ColoringOptions, color};
/// use vxm::prelude::*;
///
/// let triangle = Matrix::undirected(3, &[(0, 1), (1, 2), (2, 0)])?;
/// assert_eq!(color(&triangle, &ColoringOptions::default())?.count, 3);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric.
pub fn color(a: &Matrix, options: &ColoringOptions) -> Result<Coloring> {
    let a = &*a.to_graph()?;
    let rank = &options.order.ranks(a, options.seed)?;
    let (colors, rounds) = match options.method {
        Method::Is => independent_set::color(a, rank),
        Method::Mis => maximal::color(a, rank),
        Method::Jp => jones_plassmann::color(a, rank),
        Method::MinMax => min_max::color(a, rank),
        Method::Hash => hash::color(a, rank),
        Method::NeighborReduce => neighbor_reduce::color(a, rank),
    }?;
    let (colors, count) = compact(&colors)?;
    Ok(Coloring { colors, count, rounds })
}

/// Renumbers colours so that they are 1 to `count`, in the same order, and counts them.
fn compact(colors: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    let most = colors.reduce(MAX)?;
    // used = the colours there are
    let used = Set::from_indices(most as usize + 1, colors.iter().map(|(_, color)| color))?;
    let count = used.nvals() as u32;
    if count == most {
        return Ok((colors.clone(), count));
    }
    let places: Vec<u32> = used.indices().collect();
    // number[used] = 1 to count
    let mut number = Vector::full(most as usize + 1, NONE);
    Vector::from_dense((1..=count).collect()).scatter(&places, number.len()).assign_to(&mut number)?;
    // colors = number[colors]
    let old = colors.to_dense(NONE);
    Ok((number.extract(&old).eval()?, count))
}
