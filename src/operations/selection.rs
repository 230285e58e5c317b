//! Scattering with a rule for indices that occur more than once, and the places of least and greatest elements.

use crate::backend::tuning::tuning;
use crate::containers::{Matrix, Vector};
use crate::error::{Error, Result};
use crate::operations::ranks::matrices;
use crate::operations::verbs::Verbs;
use crate::parallel;
use std::panic::Location;
use vxm_semiring::{Element, First, Monoid, Ring, Scalar, op, semiring};

impl<T: Element> Vector<T> {
    /// `w[i] = ⊕ over k with indices[k] = i of self[k]`, for a vector of `len` places (GraphBLAS: `GrB_assign` with a rule for duplicates). `w[i]`
    /// is absent where no element arrives.
    ///
    /// Elements that arrive at one place are folded in ascending `k`, as a product folds a row. [`scatter`](Verbs::scatter) takes each index
    /// once, without a rule. To join what a vector holds already, follow it with `.accum(op).assign_to(&mut w)`. O(len + indices) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let u = Vector::from_dense(vec![1u32, 2, 4]);
    /// let w = u.scatter_with(&[3, 0, 3], 4, PLUS)?;
    /// assert_eq!(w, Vector::from_pairs(4, [(0, 2), (3, 5)])?);
    /// // v[i] += u
    /// let mut v = Vector::full(4, 10u32);
    /// w.accum(PLUS).assign_to(&mut v)?;
    /// assert_eq!(v, Vector::from_dense(vec![12, 10, 10, 15]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// There isn't an index for each place, or an index is `len` or more. The device has too little memory, or is lost.
    #[track_caller]
    pub fn scatter_with<M: Monoid<T>>(&self, indices: &[u32], len: usize, monoid: M) -> Result<Self> {
        let at = Location::caller();
        if indices.len() != self.len() {
            let (left, right) = (format!("vector of {}", self.len()), format!("{} indices", indices.len()));
            return Err(Error::Shape { operation: "scatter_with", left, right, at });
        }
        self.scattered(&Vector::from_dense(indices.to_vec()), len, monoid, ("scatter_with", at))
    }

    /// `w[i] = ⊕ over k with index[k] = i of self[k]`: as [`scatter_with`](Self::scatter_with), by the elements of a vector
    /// (GraphBLAS: `GxB_Vector_assign_Vector`). An element goes nowhere if `index` holds nothing at its place.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let u = Vector::from_dense(vec![1u32, 2, 4]);
    /// let index = Vector::from_pairs(3, [(0, 1u32), (2, 1)])?;
    /// assert_eq!(u.scatter_by(&index, 2, MAX)?, Vector::from_pairs(2, [(1, 4)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, or an index is `len` or more. The device has too little memory, or is lost.
    #[track_caller]
    pub fn scatter_by<M: Monoid<T>>(&self, index: &Vector<u32>, len: usize, monoid: M) -> Result<Self> {
        let at = Location::caller();
        if index.len() != self.len() {
            let (left, right) = (format!("vector of {}", self.len()), format!("vector of {} indices", index.len()));
            return Err(Error::Shape { operation: "scatter_by", left, right, at });
        }
        self.scattered(index, len, monoid, ("scatter_by", at))
    }

    /// The product with the matrix that holds an entry `(k, index[k])` for each index.
    fn scattered<M: Monoid<T>>(
        &self,
        index: &Vector<u32>,
        len: usize,
        monoid: M,
        (operation, at): (&'static str, &'static Location<'static>),
    ) -> Result<Self> {
        let index = self.grid().map_or(Ok(index), |grid| index.piece_on(grid))?;
        let sends = Matrix::of_members(index, len, (operation, at))?;
        let ring: Ring<M, First> = semiring(monoid, vxm_semiring::FIRST);
        self.vxm(&sends, ring).eval()
    }
}

impl<T: Scalar> Vector<T> {
    /// The index of the least element and the element; the least index among equals. NaN counts as greater than any number. `None` if there is
    /// no element. O(n) time on the host.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let x = Vector::from_pairs(5, [(1, 7u32), (2, 3), (4, 3)])?;
    /// assert_eq!((x.argmin(), x.argmax()), (Some((2, 3)), Some((1, 7))));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn argmin(&self) -> Option<(u32, T)> {
        self.iter().reduce(|best, next| if precedes(next.1, best.1) { next } else { best })
    }

    /// The index of the greatest element and the element; the least index among equals. NaN counts as less than any number. `None` if there
    /// is no element. O(n) time on the host.
    pub fn argmax(&self) -> Option<(u32, T)> {
        self.iter().reduce(|best, next| if follows(next.1, best.1) { next } else { best })
    }
}

impl<A: Scalar> Matrix<A> {
    /// The column of each row's least entry; the least column among equals. NaN counts as greater than any number. A row without entries
    /// holds none. The result lies on the host, or over the ranks of the matrix. O(n + nnz) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(3, 3, [(0, 0, 4u32), (0, 2, 4), (2, 1, 9), (2, 2, 5)])?;
    /// assert_eq!(a.argmin_rows()?, Vector::from_pairs(3, [(0, 0), (2, 2)])?);
    /// assert_eq!(a.argmax_rows()?, Vector::from_pairs(3, [(0, 0), (2, 1)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// Another rank has failed.
    pub fn argmin_rows(&self) -> Result<Vector<u32>> {
        self.best_columns(precedes)
    }

    /// The column of each row's greatest entry; the least column among equals. As [`argmin_rows`](Self::argmin_rows); NaN counts as less
    /// than any number.
    ///
    /// # Errors
    /// As [`argmin_rows`](Self::argmin_rows).
    pub fn argmax_rows(&self) -> Result<Vector<u32>> {
        self.best_columns(follows)
    }

    fn best_columns(&self, better: fn(A, A) -> bool) -> Result<Vector<u32>> {
        if let Some(grid) = self.grid() {
            return matrices::best_columns(self, grid, &better);
        }
        let csr = self.csr();
        let best = |i: usize| {
            let (columns, values) = csr.row(i);
            let entries = columns.iter().zip(values);
            entries.reduce(|best, next| if better(*next.1, *best.1) { next } else { best }).map(|(&j, _)| j)
        };
        let found = parallel::ranges(csr.nrows(), tuning().least_chunk, &|rows| rows.map(best).collect::<Vec<_>>());
        Ok(Vector::from_options(&found.concat()))
    }
}

/// Whether `x` is less than `y`, or a number where `y` is NaN.
fn precedes<T: Scalar>(x: T, y: T) -> bool {
    x < y || (y.partial_cmp(&y).is_none() && x.partial_cmp(&x).is_some())
}

/// Whether `x` is greater than `y`, or a number where `y` is NaN.
fn follows<T: Scalar>(x: T, y: T) -> bool {
    x > y || (y.partial_cmp(&y).is_none() && x.partial_cmp(&x).is_some())
}

/// [`with_index`] as a value.
pub const WITH_INDEX: with_index = with_index;
/// [`value_of`] as a value.
pub const VALUE_OF: value_of = value_of;
/// [`index_of`] as a value.
pub const INDEX_OF: index_of = index_of;
/// [`argmin`] as a value.
pub const ARGMIN: argmin = argmin;
/// [`argmax`] as a value.
pub const ARGMAX: argmax = argmax;

/// A pair of a value and an index in 64 bits, for [`argmin`] and [`argmax`]: the value above, the index below.
///
/// ```
/// use vxm::prelude::*;
///
/// // the nearest vertex of a set and its distance, at each vertex
/// let a = Matrix::from_triples(3, 3, [(0, 2, 7u32), (1, 2, 4)])?;
/// let best = a.mxv(fill((), 3).map_index(FIRST), semiring(ARGMIN, WITH_INDEX)).eval()?;
/// assert_eq!(best.get(0).map(|best| (VALUE_OF.call(best), INDEX_OF.call(best))), Some((7, 2)));
/// # Ok::<(), vxm::Error>(())
/// ```
#[op]
pub fn with_index(value: u32, index: u32) -> u64 {
    ((value as u64) << 32u32) | (index as u64)
}

/// The value of a pair that [`with_index`] made.
#[op]
pub fn value_of(both: u64) -> u32 {
    (both >> 32u32) as u32
}

/// The index of a pair that [`with_index`] made.
#[op]
pub fn index_of(both: u64) -> u32 {
    both as u32
}

/// The pair of the lesser value; of equal values, that of the lesser index. Pairs are made by [`with_index`].
#[op]
pub fn argmin(a: u64, b: u64) -> u64 {
    if b < a { b } else { a }
}

impl Monoid<u64> for argmin {
    const IDENTITY: u64 = u64::MAX;
    const TERMINAL: Option<u64> = Some(0);
    const COMMUTATIVE: bool = true;
}

/// The pair of the greater value; of equal values, that of the lesser index. Pairs are made by [`with_index`].
#[op]
pub fn argmax(a: u64, b: u64) -> u64 {
    let greater: bool = (b >> 32u32) > (a >> 32u32);
    let equal: bool = (b >> 32u32) == (a >> 32u32);
    if greater || (equal && b < a) { b } else { a }
}

impl Monoid<u64> for argmax {
    /// The least value at the greatest index.
    const IDENTITY: u64 = u32::MAX as u64;
    /// The greatest value at index 0.
    const TERMINAL: Option<u64> = Some((u32::MAX as u64) << 32);
    const COMMUTATIVE: bool = true;
}
