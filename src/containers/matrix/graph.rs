//! Graphs as their adjacency matrices.

use super::Matrix;
use crate::backend::Entered;
use crate::error::{Error, Result};
use crate::formats::{Coo, Csr, First};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::OnceLock;
use vxm_semiring::Element;

impl<T: Element> Matrix<T> {
    /// Views the matrix as the adjacency matrix of a directed graph: entry `(i, j)` is the edge from `i` to `j`.
    ///
    /// While the returned graph lives, expressions of this thread run on the device of the matrix, even those that read
    /// none of its vectors.
    ///
    /// # Errors
    /// [`Error::Invalid`]: the matrix is not square.
    pub fn to_digraph(&self) -> Result<Digraph<'_, T>> {
        if self.nrows() != self.ncols() {
            let (rows, columns) = (self.nrows(), self.ncols());
            return Err(Error::invalid(format!(
                "expected a graph (a square matrix), found a {rows} x {columns} matrix"
            )));
        }
        Ok(Digraph { _entered: self.gpu().cloned().map(|gpu| Entered::new(Some(gpu))), matrix: self })
    }

    /// Views the matrix as the adjacency matrix of an undirected graph with weights: entry `(i, j)` is the weight of the
    /// edge between `i` and `j`, and equals entry `(j, i)`. Self-loops stay.
    ///
    /// While the returned graph lives, expressions of this thread run on the device of the matrix. The check takes
    /// O(nnz log(degree)) time on the host, unless the matrix is known to be symmetric.
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
    pub fn to_weighted_graph(&self) -> Result<Digraph<'_, T>> {
        if self.nrows() == self.ncols() && (self.symmetric || self.csr().is_symmetric()) {
            return self.to_digraph();
        }
        let shape = format!("{} x {}", self.nrows(), self.ncols());
        Err(Error::invalid(format!(
            "expected an undirected graph (a symmetric matrix), found a {shape} matrix that isn't"
        )))
    }
}

impl Matrix<()> {
    /// Wraps the adjacency matrix of a simple graph: symmetric, without self-loops, as the readers and generators of
    /// [`io`](crate::io) return it. The caller guarantees both; only debug builds check symmetry.
    pub fn from_simple(rows: Csr<()>) -> Self {
        debug_assert!(rows.nrows() == rows.ncols() && rows.is_symmetric());
        Self { simple: OnceLock::from(true), symmetric: true, ..Self::from_csr(rows) }
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
        Ok(Graph { _entered: self.gpu().cloned().map(|gpu| Entered::new(Some(gpu))), matrix })
    }

    /// The matrix itself if it is the adjacency matrix of a simple graph; otherwise a copy without self-loops.
    fn simplified(&self) -> Result<Cow<'_, Self>> {
        let simple = *self.simple.get_or_init(|| {
            let loops = (0..self.nrows().min(self.ncols())).into_par_iter().any(|i| self.csr().get(i, i).is_some());
            !loops && (self.symmetric || (self.nrows() == self.ncols() && self.csr().is_symmetric()))
        });
        if simple {
            return Ok(Cow::Borrowed(self));
        }
        if self.nrows() != self.ncols() || !(self.symmetric || self.csr().is_symmetric()) {
            let shape = format!("{} x {}", self.nrows(), self.ncols());
            let what = format!("expected an undirected graph (a symmetric matrix), found a {shape} matrix that isn't");
            return Err(Error::Invalid { what });
        }
        let loopless = Self { symmetric: true, simple: OnceLock::from(true), ..self.select(vxm_semiring::OFFDIAG)? };
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

/// The adjacency matrix of a directed graph, returned by [`Matrix::to_digraph`].
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
