//! Verbs of matrices. They run at once: each returns a fresh matrix or vector.

use crate::backend::cpu::fold::fold_present;
use crate::backend::cuda::Gpu;
use crate::backend::cuda::tiling::VECTORS;
use crate::backend::{cuda, current};
use crate::containers::{Matrix, Set, Vector};
use crate::error::{Error, Result};
use crate::formats::places_of;
use crate::operations::entry_filter::{build, filtered};
use crate::operations::ranks::{self, local};
use crate::operations::verbs::Verbs;
use crate::parallel;
use vxm_semiring::{BinaryOp, Element, IndexOp, KernelText, Monoid, PLUS_PAIR, Source, TernaryOp, UnaryOp};

impl<A: Element> Matrix<A> {
    /// The GPU to run on: the matrix's, or else the scope's.
    fn place(&self) -> Option<Gpu> {
        self.gpu().cloned().or_else(current)
    }

    /// The GPU to run on: the matrix's, or else the vector's, or else the scope's.
    pub(crate) fn place_with<T: Element>(&self, u: &Vector<T>) -> Option<Gpu> {
        self.gpu().or_else(|| u.gpu()).cloned().or_else(current)
    }

    /// `op(a)` of every entry (GraphBLAS: `GrB_apply`). O(nnz) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 2, [(0, 1, 5u32), (1, 0, 7)])?;
    /// assert_eq!(a.map(PLUS.bind(1))?.get(1, 0), Some(8));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn map<F: UnaryOp<A>>(&self, op: F) -> Result<Matrix<F::Out>> {
        if let Some(grid) = self.grid() {
            let mapped = ranks::matrices::mapped(self, grid, |_, _, a| Some(op.call(a)))?;
            return Ok(mapped.set_symmetric(self.is_symmetric()));
        }
        if let Some(gpu) = self.place() {
            let mapped = cuda::entries::map(&*self.on(&gpu)?, op)?;
            return Ok(Matrix::on_device(mapped, None).set_symmetric(self.is_symmetric()));
        }
        let csr = self.csr();
        let values = parallel::table(csr.nnz(), F::Out::ZERO, |k| op.call(csr.values()[k]));
        Ok(Matrix::from_csr(csr.with_values(values)).set_symmetric(self.is_symmetric()))
    }

    /// `op(row, column, a)` of every entry (GraphBLAS: `GrB_apply` with an index operator). O(nnz) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 2)])?;
    /// let numbered = a.map_index(COLINDEX)?;
    /// assert_eq!(numbered.iter().collect::<Vec<_>>(), [(0, 2, 2), (2, 0, 0)]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn map_index<F: IndexOp<A>>(&self, op: F) -> Result<Matrix<F::Out>> {
        if let Some(grid) = self.grid() {
            return ranks::matrices::mapped(self, grid, |i, j, a| Some(op.call(i, j, a)));
        }
        if let Some(gpu) = self.place() {
            return Ok(Matrix::on_device(cuda::entries::map_index(&*self.on(&gpu)?, op)?, None));
        }
        let csr = self.csr();
        Ok(Matrix::from_csr(build(csr.nrows(), csr.ncols(), |i, columns, values| {
            let (js, entries) = csr.row(i);
            columns.extend_from_slice(js);
            values.extend(js.iter().zip(entries).map(|(&j, &a)| op.call(i as u32, j, a)));
        })))
    }

    /// `set plus.pair A` for each of many sets: the number of a column's entries in rows of the set. A column
    /// without such an entry is absent.
    ///
    /// On a GPU with tensor cores, 16 sets are counted at once over tiles. That makes the product tall and skinny
    /// enough to fill the tensor cores.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let (ends, middle) = (Set::from_indices(3, [0, 2])?, Set::from_indices(3, [1])?);
    /// let counts = a.count_many(&[&ends, &middle])?;
    /// assert_eq!(counts[0], Vector::from_pairs(3, [(1, 2)])?);
    /// assert_eq!(counts[1], Vector::from_pairs(3, [(0, 1), (2, 1)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// A set's length is not the matrix's number of rows. A column has more than 2^24 entries, which tensor cores can't
    /// count exactly. The device has too little memory, or is lost.
    #[track_caller]
    pub fn count_many(&self, sets: &[&Set]) -> Result<Vec<Vector<u32>>> {
        if let Some(set) = sets.iter().find(|set| Vector::len(set) != self.nrows()) {
            let matrix = format!("matrix of {} x {}", self.nrows(), self.ncols());
            return Err(Error::shape("count_many", format!("vector of {}", Vector::len(set)), matrix));
        }
        let gpu = self.gpu().or_else(|| sets.iter().find_map(|set| set.gpu())).cloned().or_else(current);
        let Some(gpu) = gpu.filter(|gpu| self.can_tile() && gpu.arch() >= (8, 0)) else {
            return sets.iter().map(|set| set.vxm(self, PLUS_PAIR).eval()).collect();
        };
        let tiles = self.tiles_on(&gpu, true)?;
        let mut counts = Vec::with_capacity(sets.len());
        for sets in sets.chunks(VECTORS) {
            let sets = sets.iter().map(|set| set.on(&gpu)).collect::<Result<Vec<_>>>()?;
            counts.extend(tiles.count_sets(&sets)?.into_iter().map(Vector::on_device));
        }
        Ok(counts)
    }

    /// The entries for which `op(row, column, a)` is true (GraphBLAS: `GrB_select`): `a.select(TRIL)` is the lower
    /// triangle. O(nnz) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// assert_eq!(a.select(TRIL)?.iter().collect::<Vec<_>>(), [(1, 0, ()), (2, 1, ())]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn select<F>(&self, op: F) -> Result<Matrix<A>>
    where
        F: TernaryOp<u32, u32, A, Out = bool>,
    {
        if let Some(grid) = self.grid() {
            return ranks::matrices::mapped(self, grid, |i, j, a| op.call(i, j, a).then_some(a));
        }
        if let Some(gpu) = self.place() {
            return Ok(Matrix::on_device(cuda::entries::select(&*self.on(&gpu)?, op)?, None));
        }
        let csr = self.csr();
        Ok(Matrix::from_csr(filtered(csr, |i| Some(i as u32), |i, j, a| op.call(i, j, a))))
    }

    /// The entries for which `op(a)` is true (GraphBLAS: `GrB_select` by value): `a.select_values(GE.bind(3))`. O(nnz) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 2, [(0, 1, 5u32), (1, 0, 7)])?;
    /// assert_eq!(a.select_values(GT.bind(5))?.iter().collect::<Vec<_>>(), [(1, 0, 7)]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn select_values<F: UnaryOp<A, Out = bool>>(&self, op: F) -> Result<Matrix<A>> {
        Ok(self.select(OfValue(op))?.set_symmetric(self.is_symmetric()))
    }

    /// Folds each row's entries to one element (GraphBLAS: `GrB_reduce` to a vector). A row without entries holds none.
    /// The result's length is `nrows()`. O(n + nnz) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(3, 2, [(0, 0, 5u32), (0, 1, 7), (2, 0, 1)])?;
    /// assert_eq!(a.reduce_rows(PLUS)?, Vector::from_pairs(3, [(0, 12), (2, 1)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn reduce_rows<M: Monoid<A>>(&self, monoid: M) -> Result<Vector<A>> {
        if let Some(grid) = self.grid() {
            return ranks::matrices::reduced(self, grid, monoid);
        }
        if let Some(gpu) = self.place() {
            return Ok(Vector::on_device(cuda::entries::reduce_rows(self.on(&gpu)?, monoid)?));
        }
        let csr = self.csr();
        let rows = parallel::table(csr.nrows(), None, |i| fold(monoid, csr.row(i).1));
        Ok(Vector::from_options(&rows))
    }

    /// Folds all entries to one: first each row, then the rows' results. Returns the monoid's identity if there are no
    /// entries.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    #[inline(never)]
    pub fn reduce<M: Monoid<A>>(&self, monoid: M) -> Result<A> {
        use crate::operations::verbs::Verbs;
        Verbs::reduce(&self.reduce_rows(monoid)?, monoid)
    }

    /// The number of entries in each row, 0 included: the degrees of a graph. The result is full, of length `nrows()`.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    #[inline(never)]
    pub fn degrees(&self) -> Result<Vector<u32>> {
        if let Some(grid) = self.grid() {
            return ranks::matrices::degrees(self, grid);
        }
        if let Some(gpu) = self.place() {
            return Ok(Vector::on_device(cuda::terminals::degrees(&*self.on(&gpu)?)?));
        }
        let csr = self.csr();
        Ok(Vector::from_dense(parallel::table(csr.nrows(), 0, |i| csr.degree(i) as u32)))
    }

    /// The submatrix `b[k, l] = self[rows[k], columns[l]]` (GraphBLAS: `GrB_extract`). Indices may repeat and come in
    /// any order.
    ///
    /// # Errors
    /// An index lies outside the matrix. There are more than `u32::MAX` indices. The device has too little memory, or
    /// is lost.
    #[track_caller]
    pub fn extract(&self, rows: &[u32], columns: &[u32]) -> Result<Matrix<A>> {
        let shape = format!("matrix of {} x {}", self.nrows(), self.ncols());
        for (what, indices, n) in [("row", rows, self.nrows()), ("column", columns, self.ncols())] {
            if let Some(&i) = indices.iter().find(|&&i| i as usize >= n) {
                return Err(Error::shape("extract", shape, format!("{what} {i}")));
            }
            crate::formats::check_vertices("extract", indices.len())?;
        }
        if let Some(grid) = self.grid() {
            return ranks::matrices::extract(self, grid, rows, columns);
        }
        if let Some(gpu) = self.place() {
            let found = cuda::entries::extract(&*self.on(&gpu)?, rows, columns)?;
            return Ok(Matrix::on_device(found, None).with_format(self.format()));
        }
        let csr = self.csr();
        let (starts, places) = places_of(columns, self.ncols());
        let wanted = |j: u32| &places[starts[j as usize] as usize..starts[j as usize + 1] as usize];
        // of ascending columns, the entries of a row come out in order
        let in_order = columns.windows(2).all(|pair| pair[0] < pair[1]);
        let found = Matrix::from_csr(build(rows.len(), columns.len(), |k, out_columns, out_values| {
            let (js, entries) = csr.row(rows[k] as usize);
            let row = js.iter().zip(entries).flat_map(|(&j, &a)| wanted(j).iter().map(move |&l| (l, a)));
            let mut put = |(l, a)| {
                out_columns.push(l);
                out_values.push(a);
            };
            if in_order {
                return row.for_each(put);
            }
            let mut row: Vec<(u32, A)> = row.collect();
            row.sort_unstable_by_key(|&(l, _)| l);
            row.into_iter().for_each(&mut put);
        }));
        Ok(found.with_format(self.format()))
    }

    /// `op(a, b)` at each place where both matrices hold an entry: the intersection (GraphBLAS: `GrB_eWiseMult`). O(n +
    /// entries of both) time.
    ///
    /// # Errors
    /// The shapes differ. The device has too little memory, or is lost.
    #[track_caller]
    pub fn ewise_mult<B: Element, F: BinaryOp<A, B>>(&self, other: &Matrix<B>, op: F) -> Result<Matrix<F::Out>> {
        self.check_same_shape("ewise_mult", other)?;
        let symmetric = self.is_symmetric() && other.is_symmetric();
        if let Some(grid) = self.grid().or(other.grid()) {
            let (share, y) = (local::share(self, grid, "ewise_mult")?, local::rows(other, grid, "ewise_mult")?);
            let made = local::matrix(&share, grid, self.nrows()).and_then(|x| x.ewise_mult(&y, op));
            let both = local::joined_within(grid, self.nrows(), &share, made)?;
            return Ok(both.set_symmetric(symmetric));
        }
        if let Some(gpu) = self.gpu().or(other.gpu()).cloned().or_else(current) {
            let both = cuda::entries::ewise_mult(&*self.on(&gpu)?, &*other.on(&gpu)?, op)?;
            return Ok(Matrix::on_device(both, None).set_symmetric(symmetric));
        }
        let (x, y) = (self.csr(), other.csr());
        let made = Matrix::from_csr(build(x.nrows(), x.ncols(), |i, columns, values| {
            merge(x.row(i), y.row(i), |j, a, b| {
                if let (Some(a), Some(b)) = (a, b) {
                    columns.push(j);
                    values.push(op.call(a, b));
                }
            });
        }));
        Ok(made.set_symmetric(symmetric))
    }

    /// The union of both matrices (GraphBLAS: `GrB_eWiseAdd`): `op(a, b)` where both hold an entry, and the only entry
    /// where one does. O(n + entries of both) time.
    ///
    /// # Errors
    /// The shapes differ. The device has too little memory, or is lost.
    #[track_caller]
    pub fn ewise_add<F: BinaryOp<A, A, Out = A>>(&self, other: &Matrix<A>, op: F) -> Result<Matrix<A>> {
        self.check_same_shape("ewise_add", other)?;
        let symmetric = self.is_symmetric() && other.is_symmetric();
        if let Some(grid) = self.grid().or(other.grid()) {
            let (x, y) = (local::rows(self, grid, "ewise_add")?, local::rows(other, grid, "ewise_add")?);
            return Ok(local::joined(grid, self.nrows(), x.ewise_add(&y, op))?.set_symmetric(symmetric));
        }
        if let Some(gpu) = self.gpu().or(other.gpu()).cloned().or_else(current) {
            let either = cuda::entries::ewise_add(&*self.on(&gpu)?, &*other.on(&gpu)?, op)?;
            return Ok(Matrix::on_device(either, None).set_symmetric(symmetric));
        }
        let (x, y) = (self.csr(), other.csr());
        let made = Matrix::from_csr(build(x.nrows(), x.ncols(), |i, columns, values| {
            merge(x.row(i), y.row(i), |j, a, b| {
                let joined = match (a, b) {
                    (Some(a), Some(b)) => Some(op.call(a, b)),
                    (a, b) => a.or(b),
                };
                columns.extend(joined.map(|_| j));
                values.extend(joined);
            });
        }));
        Ok(made.set_symmetric(symmetric))
    }

    #[track_caller]
    pub(crate) fn check_same_shape<B: Element>(&self, operation: &'static str, other: &Matrix<B>) -> Result<()> {
        if (self.nrows(), self.ncols()) == (other.nrows(), other.ncols()) {
            return Ok(());
        }
        let shape = |nrows, ncols| format!("matrix of {nrows} x {ncols}");
        Err(Error::shape(operation, shape(self.nrows(), self.ncols()), shape(other.nrows(), other.ncols())))
    }
}

/// An operator of an entry's value, as one of its row, column and value.
#[derive(Debug, Clone, Copy)]
struct OfValue<F>(F);

impl<F: Source> Source for OfValue<F> {
    fn source(self, text: &mut KernelText) -> String {
        let inner = self.0.source(text);
        text.define_hashed("of_value", |name| {
            let parameters = "unsigned int, unsigned int, A a";
            format!("template <class A> VXM_FN auto {name}({parameters}) {{ return {inner}(a); }}")
        })
    }
    fn constants(self, bits: &mut Vec<u64>) -> bool {
        self.0.constants(bits)
    }
}

impl<A: Element, F: UnaryOp<A>> TernaryOp<u32, u32, A> for OfValue<F> {
    type Out = F::Out;
    #[inline(always)]
    fn call(self, _: u32, _: u32, a: A) -> F::Out {
        self.0.call(a)
    }
}

/// The entries of a row, folded to one. An exact monoid folds them in order, an inexact one over the fixed tree.
pub(crate) fn fold<A: Element, M: Monoid<A>>(monoid: M, entries: &[A]) -> Option<A> {
    if M::EXACT {
        return entries.iter().copied().reduce(|x, y| monoid.call(x, y));
    }
    fold_present(monoid, entries.len(), entries)
}

/// Merges two rows by column: calls `f` with each column that either holds, ascending, and with the entries there.
pub(crate) fn merge<A: Element, B: Element>(
    (mut xs, mut x): (&[u32], &[A]),
    (mut ys, mut y): (&[u32], &[B]),
    mut f: impl FnMut(u32, Option<A>, Option<B>),
) {
    loop {
        let j = match (xs.first(), ys.first()) {
            (Some(&i), Some(&j)) => i.min(j),
            (Some(&j), None) | (None, Some(&j)) => j,
            (None, None) => return,
        };
        let (in_x, in_y) = (xs.first() == Some(&j), ys.first() == Some(&j));
        f(j, in_x.then(|| x[0]), in_y.then(|| y[0]));
        (xs, x) = (&xs[usize::from(in_x)..], &x[usize::from(in_x)..]);
        (ys, y) = (&ys[usize::from(in_y)..], &y[usize::from(in_y)..]);
    }
}
