//! Graph colouring: the methods of "Graph Coloring on the GPU" (Osama et al.) and Jones-Plassmann, composed from products.

mod hash;
mod independent_set;
mod jones_plassmann;
mod maximal;
mod min_max;
mod neighbor_reduce;

use super::options::{ColoringOptions, Method, Order, Priority};
use super::priority::{largest_degree_first, priorities, smallest_degree_last};
use crate::prelude::*;

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
    // key = who comes first, highest; distinct
    let key = match options.order {
        Order::Random => priorities(a, Priority::Random, options.seed),
        Order::LargestDegreeFirst => largest_degree_first(a, options.seed),
        Order::SmallestDegreeLast => smallest_degree_last(a, options.seed),
    }?;
    let (colors, rounds) = match options.method {
        Method::Jp => return color_in_order(a, &key),
        Method::Is => independent_set::color(a, &key),
        Method::Mis => maximal::color(a, &key.rank()?),
        Method::MinMax => min_max::color(a, &key),
        Method::Hash => hash::color(a, &key.rank()?),
        Method::NeighborReduce => neighbor_reduce::color(a, &key.rank()?),
    }?;
    let (colors, count) = match options.method {
        // no colour is without a vertex: who has one has neighbours with all below (is), or a maximal set has some (mis), or in each round but
        // the last both a highest and a lowest vertex are found (min-max)
        Method::Is | Method::Mis | Method::MinMax => (colors.clone(), colors.reduce(MAX)?),
        _ => compact(&colors)?,
    };
    Ok(Coloring { colors, count, rounds })
}

/// The sequential greedy colouring of an order, by Jones and Plassmann's method: each vertex has the least colour that none of those
/// before it has. A vertex' key says when it comes, the highest first; keys are distinct, as those of [`Vector::rank`] are.
///
/// ```
/// use vxm::algorithms::color_in_order;
/// use vxm::prelude::*;
///
/// let path = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
/// let found = color_in_order(&path, &Vector::from_dense(vec![4, 1, 2, 3]))?;
/// assert_eq!(found.colors, Vector::from_dense(vec![1, 3, 2, 1]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric, or not of as many vertices as there are keys; neighbours have equal keys, and
/// others' colours don't tell which of them goes first.
#[track_caller]
pub fn color_in_order(a: &Matrix, key: &Vector<u32>) -> Result<Coloring> {
    let a = &*a.to_graph()?;
    if (key.len(), key.nvals()) != (a.nrows(), a.nrows()) {
        let keys = format!("{} keys at {} places", key.nvals(), key.len());
        return Err(Error::shape("color_in_order", format!("graph of {} vertices", a.nrows()), keys));
    }
    let (colors, count, rounds) = jones_plassmann::color(a, key).map_err(|error| match error {
        Error::NoProgress { left, .. } => {
            Error::invalid(format!("color_in_order: {left}: neighbours have equal keys: expected distinct ones"))
        }
        other => other,
    })?;
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
