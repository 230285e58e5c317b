//! Graphs as their adjacency matrices.

use super::Matrix;
use super::reading::is_symmetric;
use crate::backend::cuda::{Gpu, build, foreign};
use crate::backend::{Entered, Place};
use crate::containers::Vector;
use crate::error::{Error, Result};
use crate::formats::{Coo, Csr, First};
use crate::parallel;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use vxm_semiring::Element;

/// How [`Matrix::graph_from`] makes sure that the matrix of a graph is symmetric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Symmetrize {
    /// The matrix must be symmetric; otherwise it is an error.
    #[default]
    Check,
    /// An edge is there if the matrix holds it in either direction.
    Union,
    /// The caller guarantees a symmetric matrix without self-loops. Only debug builds check it. If it doesn't hold, answers are wrong.
    Trust,
}

impl FromStr for Symmetrize {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        match name {
            "check" => Ok(Self::Check),
            "union" => Ok(Self::Union),
            "trust" => Ok(Self::Trust),
            _ => Err(Error::unknown("symmetrization", name, &["check", "union", "trust"])),
        }
    }
}

impl<T: Element> Matrix<T> {
    /// Views the matrix as the adjacency matrix of a directed graph: entry `(i, j)` is the edge from `i` to `j`.
    ///
    /// While the returned graph lives, expressions of this thread run on the device of the matrix, even those that read
    /// none of its vectors.
    ///
    /// # Errors
    /// [`Error::Invalid`]: the matrix is not square.
    #[inline(never)]
    pub fn to_digraph(&self) -> Result<Digraph<'_, T>> {
        if self.nrows() != self.ncols() {
            let (rows, columns) = (self.nrows(), self.ncols());
            return Err(Error::invalid(format!(
                "expected a graph (a square matrix), found a {rows} x {columns} matrix"
            )));
        }
        Ok(Digraph { _entered: self.entered(), matrix: self })
    }

    /// Views the matrix as the edges between two kinds of vertices, its rows and its columns: entry `(i, j)` is the edge between row `i` and
    /// column `j`. The matrix may be rectangular.
    ///
    /// While the returned graph lives, expressions of this thread run on the device of the matrix, even those that read
    /// none of its vectors.
    pub fn to_bipartite(&self) -> Digraph<'_, T> {
        Digraph { _entered: self.entered(), matrix: self }
    }

    /// Views the matrix as the adjacency matrix of an undirected graph with weights: entry `(i, j)` is the weight of the
    /// edge between `i` and `j`, and equals entry `(j, i)`. Self-loops stay.
    ///
    /// While the returned graph lives, expressions of this thread run on the device of the matrix. The check takes O(nnz) time there, unless the
    /// matrix is known to be symmetric.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let one_way = Matrix::from_triples(2, 2, [(0, 1, 5u32), (1, 0, 7)])?;
    /// let told = one_way.to_weighted_graph().unwrap_err().to_string();
    /// assert_eq!(told, "expected an undirected graph (a symmetric matrix), found a 2 x 2 matrix that isn't");
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`]: the matrix is not square or does not equal its transpose.
    #[inline(never)]
    pub fn to_weighted_graph(&self) -> Result<Digraph<'_, T>> {
        if self.nrows() == self.ncols() && self.equals_transpose()? {
            return self.to_digraph();
        }
        let shape = format!("{} x {}", self.nrows(), self.ncols());
        Err(Error::invalid(format!(
            "expected an undirected graph (a symmetric matrix), found a {shape} matrix that isn't"
        )))
    }

    /// The graph with each edge in both directions, of the same value. An edge that is there in one direction alone counts for both. Over ranks all call
    /// this. O(n + nnz) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let one_way = Matrix::from_triples(3, 3, [(0, 1, 5u32), (1, 2, 7), (2, 1, 7)])?;
    /// let both = Matrix::from_triples(3, 3, [(0, 1, 5), (1, 0, 5), (1, 2, 7), (2, 1, 7)])?;
    /// assert_eq!(one_way.to_undirected()?, both);
    /// let uneven = Matrix::from_triples(2, 2, [(0, 1, 5u32), (1, 0, 7)])?;
    /// let told = uneven.to_undirected().unwrap_err().to_string();
    /// assert_eq!(told, "entries (0, 1) and (1, 0) differ: expected an undirected graph, with the same value in both directions");
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`]: the matrix is not square, or an edge has other values in its two directions; the first by its ends is named. The device
    /// has too little memory, or is lost. [`Error::Ranks`]: another rank has failed.
    pub fn to_undirected(&self) -> Result<Self> {
        self.try_to_undirected()?.map_err(|(i, j)| {
            let expected = "expected an undirected graph, with the same value in both directions";
            Error::invalid(format!("entries ({i}, {j}) and ({j}, {i}) differ: {expected}"))
        })
    }

    /// [`to_undirected`](Self::to_undirected), which returns the first edge that has other values in its two directions.
    ///
    /// # Errors
    /// As there, but for that edge.
    #[doc(hidden)]
    #[inline(never)]
    pub fn try_to_undirected(&self) -> Result<core::result::Result<Self, (u32, u32)>> {
        self.to_digraph()?;
        if self.symmetric {
            return Ok(Ok(self.clone()));
        }
        let both = self.ewise_add(&self.transpose(), vxm_semiring::FIRST)?;
        let even = match both.grid() {
            Some(grid) => is_symmetric(grid, &*both.share(grid, false, "to_undirected")?)?,
            None => both.equals_transpose()?,
        };
        Ok(if even { Ok(both.set_symmetric(true)) } else { Err(both.uneven()?) })
    }

    /// The first edge with other values in its two directions, of a matrix with each edge in both directions, one of which has.
    fn uneven(&self) -> Result<(u32, u32)> {
        let mut values = BTreeMap::new();
        self.for_each_here(|i, j, value| {
            values.insert((i, j), value);
        })?;
        let mut first: Option<(u32, u32)> = None;
        // a rank holds the same places of the transpose
        self.transpose().for_each_here(|i, j, value| {
            if values.get(&(i, j)).is_some_and(|other| other.bits() != value.bits()) {
                first = first.into_iter().chain([(i, j)]).min();
            }
        })?;
        let first = first.map(|(i, j)| [u64::from(i), u64::from(j)]);
        let first = self.grid().map_or(Ok(first), |grid| grid.least(first))?;
        let unknown = || Error::invalid("an edge with other values in its two directions, which no rank holds");
        first.map(|[i, j]| (i as u32, j as u32)).ok_or_else(unknown)
    }

    /// The numbers that vertices had before [`Renumbering::matrix`](crate::operations::renumbering::Renumbering::matrix) gave them new ones;
    /// `None` if it didn't. Hashes are made of these numbers, so that they are the same.
    pub fn names(&self) -> Option<&Vector<u32>> {
        self.names.as_deref()
    }

    /// The square matrix `renumbered`, which has the entries of this one in another order, with what is known of this one.
    pub(crate) fn known_as(&self, renumbered: Self, names: Vector<u32>) -> Self {
        Self {
            symmetric: self.symmetric,
            simple: self.simple.clone(),
            format: self.format,
            names: Some(Arc::new(names)),
            ..renumbered
        }
    }

    /// Whether the matrix equals its transpose, bit for bit. It is checked where the matrix lies, in O(n + entries) time; of a matrix on ranks it
    /// must be known.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn equals_transpose(&self) -> Result<bool> {
        if self.symmetric || self.shares.is_some() {
            return Ok(self.symmetric);
        }
        match self.only_on() {
            Some(gpu) => {
                let rows = self.on(gpu)?;
                foreign::are_equal(&rows, &build::transpose(&*rows)?)
            }
            None => Ok(self.csr().is_symmetric()),
        }
    }

    /// Whether the diagonal holds an entry.
    fn has_loops(&self) -> Result<bool> {
        if let Some(gpu) = self.only_on() {
            return Ok(build::diagonal(&*self.on(gpu)?)?.nvals()? > 0);
        }
        let is_loop = |&i: &usize| self.csr().get(i, i).is_some();
        Ok(parallel::first(self.nrows(), &|mut rows| rows.find(is_loop)).is_some())
    }

    /// The GPU that holds all that there is of the matrix.
    fn only_on(&self) -> Option<&Gpu> {
        self.gpu().filter(|_| self.rows.get().is_none() && self.columns.get().is_none())
    }

    /// Enters the scope of the matrix' place, if it has one.
    fn entered(&self) -> Option<Entered> {
        self.home().map(|place| Entered::new(Some(place)))
    }

    /// Where the matrix is stored, if not on this process' host alone.
    pub(crate) fn home(&self) -> Option<Place> {
        self.grid().cloned().map(Place::Ranks).or_else(|| self.gpu().cloned().map(Place::Gpu))
    }
}

impl Matrix<()> {
    /// Wraps the adjacency matrix of a simple graph: symmetric, without self-loops, as the readers and generators of
    /// [`io`](crate::io) return it. The caller guarantees both; only debug builds check symmetry.
    pub fn from_simple(rows: Csr<()>) -> Self {
        debug_assert!(rows.nrows() == rows.ncols() && rows.is_symmetric());
        Self { simple: OnceLock::from(true), symmetric: true, ..Self::from_csr(rows) }
    }

    /// The adjacency matrix of a simple undirected graph, from a square matrix of any origin. Self-loops are dropped. O(n + nnz) time.
    ///
    /// ```
    /// use vxm::containers::Symmetrize;
    /// use vxm::formats::Csr;
    /// use vxm::prelude::*;
    ///
    /// // 0 -> 1, and 1 -> 1
    /// let arrows = Csr::try_new(2, 2, vec![0, 1, 2], vec![1, 1], vec![(); 2])?;
    /// let a = Matrix::graph_from(arrows.clone(), Symmetrize::Union)?;
    /// assert_eq!(a, Matrix::undirected(2, &[(0, 1)])?);
    /// let refused = Matrix::graph_from(arrows, Symmetrize::Check).unwrap_err();
    /// assert_eq!(
    ///     refused.to_string(),
    ///     "expected an undirected graph (a symmetric matrix), found entry (0, 1) without entry (1, 0)"
    /// );
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`]: the matrix is not square; or it is not symmetric, and `symmetrize` is [`Symmetrize::Check`].
    pub fn graph_from(rows: Csr<()>, symmetrize: Symmetrize) -> Result<Self> {
        Self::from_csr(rows).symmetrized(symmetrize)
    }

    /// The adjacency matrix of a simple undirected graph, from a square matrix on any device, as [`graph_from`](Self::graph_from). It stays there,
    /// and is checked there.
    ///
    /// # Errors
    /// Those of [`graph_from`](Self::graph_from). The device has too little memory, or is lost.
    pub fn symmetrized(self, symmetrize: Symmetrize) -> Result<Self> {
        self.to_digraph()?;
        let found = match symmetrize {
            Symmetrize::Trust => {
                debug_assert!(matches!((self.equals_transpose(), self.has_loops()), (Ok(true), Ok(false))));
                return Ok(Self { simple: OnceLock::from(true), symmetric: true, ..self });
            }
            Symmetrize::Union => self.ewise_add(&self.transpose(), vxm_semiring::FIRST)?.set_symmetric(true),
            Symmetrize::Check => match self.symmetry()? {
                Some(loops) => Self { simple: OnceLock::from(!loops), symmetric: true, ..self },
                None => {
                    let (i, j) = self.csr().asymmetry().unwrap_or_default();
                    let what = format!("found entry ({i}, {j}) without entry ({j}, {i})");
                    return Err(Error::invalid(format!("expected an undirected graph (a symmetric matrix), {what}")));
                }
            },
        };
        let loopless = match found.simplified()? {
            Cow::Borrowed(_) => None,
            Cow::Owned(loopless) => Some(loopless),
        };
        Ok(loopless.unwrap_or(found))
    }

    /// Whether the diagonal of a symmetric matrix holds an entry; `None` if the matrix doesn't equal its transpose.
    fn symmetry(&self) -> Result<Option<bool>> {
        if self.only_on().is_none() {
            return Ok(self.csr().symmetry());
        }
        Ok(if self.equals_transpose()? { Some(self.has_loops()?) } else { None })
    }

    /// Views the matrix as the adjacency matrix of a simple undirected graph. Self-loops are dropped in a copy. The
    /// check is made once and cached.
    ///
    /// While the returned graph lives, expressions of this thread run on the device of the matrix, even those that read
    /// none of its vectors.
    ///
    /// # Errors
    /// [`Error::Invalid`]: the matrix is not square or not symmetric.
    pub fn to_graph(&self) -> Result<Graph<'_>> {
        let matrix = self.simplified()?;
        Ok(Graph { _entered: self.entered(), matrix })
    }

    /// The matrix itself if it is the adjacency matrix of a simple graph; otherwise a copy without self-loops.
    fn simplified(&self) -> Result<Cow<'_, Self>> {
        if self.simple.get() == Some(&true) {
            return Ok(Cow::Borrowed(self));
        }
        // of shares it must be known
        let checks = self.simple.get().is_none() && self.shares.is_none() && self.nrows() == self.ncols();
        let found = match (checks, self.symmetric) {
            (false, _) => None,
            (true, true) => Some(Some(self.has_loops()?)),
            (true, false) => Some(self.symmetry()?),
        };
        if *self.simple.get_or_init(|| found == Some(Some(false))) {
            return Ok(Cow::Borrowed(self));
        }
        let symmetric = match found {
            Some(found) => found.is_some(),
            None => self.nrows() == self.ncols() && self.equals_transpose()?,
        };
        if !symmetric {
            let shape = format!("{} x {}", self.nrows(), self.ncols());
            let what = format!("expected an undirected graph (a symmetric matrix), found a {shape} matrix that isn't");
            return Err(Error::Invalid { what });
        }
        let names = self.names.clone();
        let loopless =
            Self { symmetric: true, simple: OnceLock::from(true), names, ..self.select(vxm_semiring::OFFDIAG)? };
        Ok(Cow::Owned(loopless.with_format(self.format)))
    }

    /// Builds the adjacency matrix of an undirected graph of `n` vertices. Each edge is stored in both directions;
    /// self-loops and duplicates are dropped.
    ///
    /// # Errors
    /// [`Error::Invalid`]: an endpoint is `n` or more. [`Error::TooManyVertices`]. Also the errors of
    /// [`from_coo`](Self::from_coo).
    pub fn undirected(n: usize, edges: &[(u32, u32)]) -> Result<Self> {
        let mut coo = Coo::new(n, n)?;
        if let Some((i, j)) = edges.iter().find(|(i, j)| (*i).max(*j) as usize >= n) {
            let vertices = if n == 1 { "vertex" } else { "vertices" };
            return Err(Error::invalid(format!("the edge ({i}, {j}) lies outside a graph of {n} {vertices}")));
        }
        for &(i, j) in edges.iter().filter(|(i, j)| i != j) {
            coo.push(i, j, ())?;
            coo.push(j, i, ())?;
        }
        Ok(Self { simple: OnceLock::from(true), symmetric: true, ..Self::from_coo(&coo, First)? })
    }
}

/// The adjacency matrix of a simple undirected graph, returned by [`Matrix::to_graph`].
#[derive(Debug)]
pub struct Graph<'a> {
    matrix: Cow<'a, Matrix>,
    _entered: Option<Entered>,
}

impl Deref for Graph<'_> {
    type Target = Matrix;
    fn deref(&self) -> &Matrix {
        &self.matrix
    }
}

/// The adjacency matrix of a directed or bipartite graph, returned by [`Matrix::to_digraph`], [`Matrix::to_weighted_graph`] and
/// [`Matrix::to_bipartite`].
#[derive(Debug)]
pub struct Digraph<'a, T: Element> {
    matrix: &'a Matrix<T>,
    _entered: Option<Entered>,
}

impl<T: Element> Deref for Digraph<'_, T> {
    type Target = Matrix<T>;
    fn deref(&self) -> &Matrix<T> {
        self.matrix
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// All three ways agree with `undirected` on the same edges.
        #[test]
        fn graphs_come_from_any_matrix(n in 1u32..10, raw in prop::collection::vec((0u32..10, 0u32..10), 0..40)) {
            let edges: Vec<_> = raw.iter().map(|&(i, j)| (i % n, j % n)).collect();
            let expected = Matrix::undirected(n as usize, &edges).unwrap();
            let triples = |both: bool| {
                let back = edges.iter().filter(move |_| both).map(|&(i, j)| (j, i, ()));
                let coo = Coo::from_triples(n as usize, n as usize, edges.iter().map(|&(i, j)| (i, j, ())).chain(back));
                coo.unwrap().to_csr(First).unwrap()
            };
            for (rows, symmetrize) in [
                (triples(false), Symmetrize::Union),
                (triples(true), Symmetrize::Union),
                (triples(true), Symmetrize::Check),
                (expected.csr().clone(), Symmetrize::Trust),
            ] {
                let found = Matrix::graph_from(rows, symmetrize).unwrap();
                prop_assert!(found.is_symmetric() && found.simple.get() == Some(&true));
                prop_assert_eq!(&found, &expected);
            }
            let arrows = triples(false);
            let refused = Matrix::graph_from(arrows.clone(), Symmetrize::Check);
            prop_assert_eq!(refused.err().map(|e| e.to_string()), arrows.asymmetry().map(|(i, j)| format!(
                "expected an undirected graph (a symmetric matrix), found entry ({i}, {j}) without entry ({j}, {i})"
            )));
        }
    }

    #[test]
    fn only_square_matrices_are_graphs() {
        for symmetrize in [Symmetrize::Check, Symmetrize::Union, Symmetrize::Trust] {
            let refused = Matrix::graph_from(Csr::empty(2, 3).unwrap(), symmetrize).unwrap_err();
            assert_eq!(refused.to_string(), "expected a graph (a square matrix), found a 2 x 3 matrix");
        }
        assert_eq!("union".parse::<Symmetrize>().unwrap(), Symmetrize::Union);
        let unknown = "both".parse::<Symmetrize>().unwrap_err();
        assert_eq!(unknown.to_string(), "unknown symmetrization `both`: expected check, union, trust");
    }
}
