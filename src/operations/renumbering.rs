//! Other numbers for the vertices of a graph: an order in which a run reads memory that lies together.

use crate::containers::{Matrix, Vector};
use crate::error::{Error, Result};
use crate::formats::order;
use crate::operations::verbs::Verbs;
use core::str::FromStr;
use vxm_semiring::{Element, FIRST};

/// An order in which the vertices of a graph get new numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reorder {
    /// Reverse Cuthill-McKee: neighbours get near numbers. For meshes and road networks that are numbered in no order.
    ReverseCuthillMcKee,
    /// By descending degree: hubs get low numbers. For graphs of skewed degrees, where most entries join hubs.
    Degree,
}

impl Reorder {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::ReverseCuthillMcKee, Self::Degree];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReverseCuthillMcKee => "rcm",
            Self::Degree => "degree",
        }
    }
}

impl FromStr for Reorder {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        match Self::ALL.iter().find(|order| order.name() == name) {
            Some(order) => Ok(*order),
            None => Err(Error::unknown("order", name, &["none", "rcm", "degree"])),
        }
    }
}

/// New numbers for the vertices of a graph: a permutation.
///
/// What an algorithm finds of the renumbered matrix is what it finds of the matrix itself, at other places, if it takes vertices as equals.
/// Algorithms of this crate that break ties by hashes make them of the old numbers, [`Matrix::names`]. So their answers are the same, too.
///
/// | answers | same after [`undo`](Self::undo) |
/// |---|---|
/// | sets, colourings, levels of a search, distances, core numbers, triangles, clustering | yes |
/// | labels of components | up to the choice of names |
/// | sums of floats, such as ranks | up to rounding |
/// | others that name vertices: parents, mates, forests | no |
///
/// ```
/// use vxm::algorithms::{MisOptions, mis};
/// use vxm::prelude::*;
///
/// // a path in a bad order: 0 - 3 - 1 - 4 - 2
/// let path = Matrix::undirected(5, &[(0, 3), (3, 1), (1, 4), (4, 2)])?;
/// let order = Renumbering::of(&path, Reorder::ReverseCuthillMcKee)?;
/// let near = order.matrix(&path)?;
/// assert!(near.iter().all(|(i, j, ())| i.abs_diff(j) == 1));
/// // the same set, in the numbers of the path
/// let options = MisOptions::default().seed(3);
/// assert_eq!(order.undo(&mis(&near, &options)?.set)?, mis(&path, &options)?.set);
/// # Ok::<(), vxm::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Renumbering {
    /// The old number of each new one.
    old: Vector<u32>,
    /// The new number of each old one.
    new: Vector<u32>,
}

impl Renumbering {
    /// Numbers the vertices of a graph in an order. O(n log n + nnz log(degree)) time on one thread of the host. A degree is the
    /// length of a row. For a matrix that isn't known to be symmetric, reverse Cuthill-McKee order takes edges in both directions.
    ///
    /// # Errors
    /// [`Error::Invalid`]: the matrix isn't square, or it is spread over ranks. A device is lost.
    pub fn of<A: Element>(a: &Matrix<A>, by: Reorder) -> Result<Self> {
        a.check_whole("renumbering")?;
        a.to_digraph()?;
        let old = match by {
            Reorder::ReverseCuthillMcKee if a.is_symmetric() => order::reverse_cuthill_mckee(a.csr()),
            Reorder::ReverseCuthillMcKee => {
                let one_way = a.pattern();
                order::reverse_cuthill_mckee(one_way.ewise_add(&one_way.transpose(), FIRST)?.csr())
            }
            Reorder::Degree => order::by_degree(a.csr()),
        };
        Self::from_old(old)
    }

    /// The renumbering in which the new vertex `k` is the old vertex `old[k]`.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let order = Renumbering::from_old(vec![2, 0, 1])?;
    /// let x = Vector::from_dense(vec![10u32, 20, 30]);
    /// assert_eq!(order.vector(&x)?, Vector::from_dense(vec![30, 10, 20]));
    /// assert_eq!(order.undo(&order.vector(&x)?)?, x);
    /// let refused = Renumbering::from_old(vec![0, 2, 2]).unwrap_err().to_string();
    /// assert_eq!(refused, "renumbering: place 2 has number 2: expected each number below 3 once");
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`]: a number is missing or stands twice. [`Error::TooManyVertices`].
    pub fn from_old(old: Vec<u32>) -> Result<Self> {
        crate::formats::check_vertices("renumbering", old.len())?;
        let mut new = vec![u32::MAX; old.len()];
        for (place, &number) in old.iter().enumerate() {
            match new.get_mut(number as usize) {
                Some(new) if *new == u32::MAX => *new = place as u32,
                _ => {
                    let expected = format!("expected each number below {} once", old.len());
                    return Err(Error::invalid(format!("renumbering: place {place} has number {number}: {expected}")));
                }
            }
        }
        Ok(Self { old: Vector::from_dense(old), new: Vector::from_dense(new) })
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        self.old.len()
    }

    /// Whether there are no vertices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The old number of each new one.
    pub fn old_numbers(&self) -> &Vector<u32> {
        &self.old
    }

    /// The new number of each old one.
    pub fn new_numbers(&self) -> &Vector<u32> {
        &self.new
    }

    /// The matrix of the renumbered graph, `b[k, l] = a[old[k], old[l]]`: P A Pᵀ. It is on the device of `a`, and has its format. It knows
    /// the old numbers: see [`Matrix::names`].
    ///
    /// # Errors
    /// The matrix doesn't have as many rows and columns as there are numbers, or it is spread over ranks. The device has too little memory,
    /// or is lost.
    #[track_caller]
    pub fn matrix<A: Element>(&self, a: &Matrix<A>) -> Result<Matrix<A>> {
        a.check_whole("renumbering")?;
        if a.nrows() != self.len() || a.ncols() != self.len() {
            let shape = format!("matrix of {} x {}", a.nrows(), a.ncols());
            return Err(Error::shape("renumbering", shape, format!("numbers of {}", self.len())));
        }
        let old = self.old.to_dense(0);
        let names = match a.names() {
            Some(names) => names.extract(&self.old).eval()?,
            None => self.old.clone(),
        };
        Ok(a.known_as(a.extract(&old, &old)?, names))
    }

    /// A vector over the old numbers, at the places of the new ones: `y[k] = x[old[k]]`.
    ///
    /// # Errors
    /// The vector isn't as long as there are numbers. The device has too little memory, or is lost.
    #[track_caller]
    pub fn vector<T: Element>(&self, x: &Vector<T>) -> Result<Vector<T>> {
        self.check(x)?;
        x.extract(&self.old).eval()
    }

    /// A vector over the new numbers, at the places of the old ones: `x[old[k]] = y[k]`. The inverse of [`vector`](Self::vector).
    ///
    /// # Errors
    /// The vector isn't as long as there are numbers. The device has too little memory, or is lost.
    #[track_caller]
    pub fn undo<T: Element>(&self, y: &Vector<T>) -> Result<Vector<T>> {
        self.check(y)?;
        y.extract(&self.new).eval()
    }

    #[track_caller]
    fn check<T: Element>(&self, x: &Vector<T>) -> Result<()> {
        if x.len() == self.len() {
            return Ok(());
        }
        Err(Error::shape("renumbering", format!("vector of {}", x.len()), format!("numbers of {}", self.len())))
    }
}
