//! Matrices made of vectors: as a diagonal, as columns or as rows.
//!
//! They are made where the vectors lie, but those of several vectors on the host. The result lies where the vectors do.

use crate::backend::{cuda, current};
use crate::containers::{Matrix, Vector};
use crate::error::{Error, Result};
use crate::formats::{Csr, check_vertices};
use crate::operations::entry_filter::build;
use crate::operations::index_list::Indices;
use crate::operations::ranks;
use crate::operations::verbs::Verbs;
use std::panic::Location;
use vxm_semiring::{Element, MAX, OFFDIAG};

impl Matrix {
    /// The adjacency matrix of an undirected graph of `n` vertices, from vectors of the ends of edges: `ends[k].0` and `ends[k].1` hold those of
    /// some edges each, at the same places. Self-loops and duplicates are dropped. O(n + m log m) time for m edges; on a device, a sort of 2m
    /// keys. Of vectors that are spread over ranks each rank gets the whole graph; all ranks call this.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let (from, to) = (Vector::from_dense(vec![0u32, 3]), Vector::from_dense(vec![1u32, 2]));
    /// assert_eq!(Matrix::undirected_from(4, &[(from, to)])?, Matrix::undirected(4, &[(0, 1), (2, 3)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// Two vectors differ in length, or one isn't full. An end is `n` or more. The device has too little memory, or is lost.
    #[track_caller]
    pub fn undirected_from(n: usize, ends: &[(Vector<u32>, Vector<u32>)]) -> Result<Self> {
        check_vertices("undirected_from", n)?;
        let at = Location::caller();
        for (from, to) in ends {
            if from.len() != to.len() {
                let (left, right) = (format!("vector of {}", from.len()), format!("vector of {}", to.len()));
                return Err(Error::Shape { operation: "undirected_from", left, right, at });
            }
            from.listed().within("undirected_from", n, at)?;
            to.listed().within("undirected_from", n, at)?;
        }
        let gpu = ends.iter().find_map(|(from, to)| from.gpu().or(to.gpu()).cloned()).or_else(current);
        if let Some(gpu) = gpu.filter(|_| ends.iter().all(|(from, to)| from.grid().is_none() && to.grid().is_none())) {
            let there = ends.iter().map(|(from, to)| Ok((from.on(&gpu)?, to.on(&gpu)?))).collect::<Result<Vec<_>>>()?;
            let made = Matrix::on_device(cuda::build::undirected(&gpu, n, &there)?, None);
            return Ok(made.select(OFFDIAG)?.set_symmetric(true));
        }
        let mut edges = Vec::new();
        for (from, to) in ends {
            let (from, to) = (from.listed().host()?, to.listed().host()?);
            edges.extend(from.iter().copied().zip(to.iter().copied()));
        }
        Self::undirected(n, &edges)
    }
}

impl Matrix {
    /// The matrix of `ncols` columns with an entry at `(k, index[k])` for each index: which group each vertex is a member of. Products with it
    /// sum over groups. A place of `index` without an element gives an empty row. O(n) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // vertices 0 and 2 in group 1, vertex 1 in group 0
    /// let s = Matrix::membership(&Vector::from_dense(vec![1u32, 0, 1]), 2)?;
    /// let sizes = fill(1u32, 3).vxm(&s, PLUS_FIRST).eval()?;
    /// assert_eq!(sizes, Vector::from_dense(vec![1, 2]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index is `ncols` or more. The vector is spread over ranks and isn't as long as there are columns. The device has too little memory,
    /// or is lost.
    #[track_caller]
    pub fn membership(index: &Vector<u32>, ncols: usize) -> Result<Self> {
        Self::of_members(index, ncols, ("membership", Location::caller()))
    }

    /// The same for the verb `operation` at `at`.
    pub(crate) fn of_members(
        index: &Vector<u32>,
        ncols: usize,
        (operation, at): (&'static str, &'static Location<'static>),
    ) -> Result<Self> {
        check_vertices(operation, ncols)?;
        if let Some(grid) = index.grid() {
            return ranks::matrices::membership(index, grid, ncols, (operation, at));
        }
        let gpu = index.gpu().cloned().or_else(current);
        let inside = || match index.gpu() {
            Some(_) => Ok(index.nvals() == 0 || (index.reduce(MAX)? as usize) < ncols),
            None => Ok::<_, Error>(index.iter().all(|(_, i)| (i as usize) < ncols)),
        };
        if let Some(gpu) = &gpu
            && inside()?
        {
            return Ok(Matrix::on_device(cuda::build::membership(&index.on(gpu)?, ncols)?, None));
        }
        let (mut offsets, mut columns) = (vec![0u64; index.len() + 1], Vec::with_capacity(index.nvals()));
        for (k, i) in index.iter() {
            if i as usize >= ncols {
                return Err(outside(k, i, ncols, (operation, at)));
            }
            offsets[k as usize + 1] = 1;
            columns.push(i);
        }
        (0..index.len()).for_each(|k| offsets[k + 1] += offsets[k]);
        let units = vec![(); columns.len()];
        let made = Self::from_csr(Csr::from_parts(index.len(), ncols, offsets, columns, units));
        made.placed(gpu)
    }
}

/// The error of an index that no column has.
pub(crate) fn outside(
    position: u32,
    index: u32,
    ncols: usize,
    (operation, at): (&'static str, &'static Location<'static>),
) -> Error {
    let (left, right) = (format!("{ncols} places"), format!("index {index} at position {position}"));
    Error::Shape { operation, left, right, at }
}

impl<A: Element> Matrix<A> {
    /// The square matrix with a vector as its diagonal; places without an element hold no entry (GraphBLAS: `GrB_Matrix_diag`). O(n) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let v = Vector::from_pairs(3, [(0, 5u32), (2, 7)])?;
    /// let d = Matrix::from_diagonal(&v)?;
    /// assert_eq!(d.iter().collect::<Vec<_>>(), [(0, 0, 5), (2, 2, 7)]);
    /// assert_eq!(d.diagonal()?, v);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn from_diagonal(v: &Vector<A>) -> Result<Self> {
        if let Some(grid) = v.grid() {
            return ranks::matrices::from_diagonal(v, grid);
        }
        if let Some(gpu) = v.gpu().cloned().or_else(current) {
            let made = Matrix::on_device(cuda::build::from_diagonal(&v.on(&gpu)?)?, None);
            return Ok(made.set_symmetric(true));
        }
        let (mut offsets, mut columns, mut values) = (vec![0u64; v.len() + 1], Vec::new(), Vec::new());
        for (i, value) in v.iter() {
            offsets[i as usize + 1] = 1;
            columns.push(i);
            values.push(value);
        }
        (0..v.len()).for_each(|i| offsets[i + 1] += offsets[i]);
        let csr = Csr::from_parts(v.len(), v.len(), offsets, columns, values);
        Ok(Matrix::from_csr(csr).set_symmetric(true))
    }

    /// The entries of the main diagonal, as a vector of `min(nrows, ncols)` places (GraphBLAS: `GxB_Vector_diag`). O(n log(row)) time.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn diagonal(&self) -> Result<Vector<A>> {
        if let Some(grid) = self.grid() {
            return ranks::matrices::diagonal(self, grid);
        }
        if let Some(gpu) = self.gpu() {
            return Ok(Vector::on_device(cuda::build::diagonal(&*self.on(gpu)?)?));
        }
        let n = self.nrows().min(self.ncols());
        let held: Vec<Option<A>> = (0..n).map(|i| self.csr().get(i, i)).collect();
        Ok(Vector::from_options(&held))
    }

    /// The matrix with these vectors as its columns; places without an element hold no entry. O(rows + columns + entries) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let (u, v) = (Vector::from_dense(vec![5u32, 7]), Vector::from_pairs(2, [(1, 9)])?);
    /// let a = Matrix::from_columns(&[&u, &v])?;
    /// assert_eq!(a.iter().collect::<Vec<_>>(), [(0, 0, 5), (1, 0, 7), (1, 1, 9)]);
    /// assert_eq!(Matrix::from_rows(&[&u, &v])?, a.transpose());
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no vectors, or they differ in length. [`Error::TooManyVertices`]. The device has too little memory, or is lost.
    #[track_caller]
    pub fn from_columns(columns: &[&Vector<A>]) -> Result<Self> {
        Ok(Self::of_vectors("from_columns", columns)?.transpose())
    }

    /// The matrix with these vectors as its rows; places without an element hold no entry. See [`from_columns`](Self::from_columns). O(rows +
    /// columns + entries) time.
    ///
    /// # Errors
    /// As [`from_columns`](Self::from_columns).
    #[track_caller]
    pub fn from_rows(rows: &[&Vector<A>]) -> Result<Self> {
        Self::of_vectors("from_rows", rows)
    }

    /// The matrix with these vectors as its rows. `what` names the verb.
    #[track_caller]
    fn of_vectors(what: &'static str, vectors: &[&Vector<A>]) -> Result<Self> {
        let Some(first) = vectors.first() else {
            return Err(Error::invalid(format!("{what}: no vectors: expected at least one")));
        };
        check_vertices(what, vectors.len())?;
        if vectors.iter().any(|v| v.grid().is_some()) {
            return Err(Error::invalid(format!("{what}: not built for a vector that is spread over ranks")));
        }
        if let Some(other) = vectors.iter().find(|v| v.len() != first.len()) {
            return Err(Error::shape(what, format!("vector of {}", other.len()), format!("vector of {}", first.len())));
        }
        let gpu = vectors.iter().find_map(|v| v.gpu()).cloned().or_else(current);
        let made = build(vectors.len(), first.len(), |i, columns, values| {
            for (j, value) in vectors[i].iter() {
                columns.push(j);
                values.push(value);
            }
        });
        Matrix::from_csr(made).placed(gpu)
    }
}
