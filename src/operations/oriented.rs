//! Oriented matrices: the edges of a graph, filtered by an operator of keys at both ends.

use crate::backend::cuda;
use crate::containers::matrix::{Digraph, Graph};
use crate::containers::{Matrix, Set, Vector, VectorFormat};
use crate::error::{Error, Result};
use crate::operations::entry_filter::{build, filtered};
use crate::operations::expr::Expr;
use crate::operations::product::edge_policy::{ByKey, Whole};
use crate::operations::product::{Flip, Product};
use crate::operations::ranks;
use crate::operations::verbs::Verbs;
use std::borrow::Cow;
use std::panic::Location;
use vxm_semiring::{BinaryOp, Element, Semiring};

/// A view of a square matrix that holds only the entries `(i, j)` for which `op(key[i], key[j])` is true. Returned by
/// [`Matrix::oriented`].
///
/// With distinct keys and `LT`, the edges of an undirected graph become those of an acyclic one: each edge leads to its higher end.
/// The view is lazy: a product tests the keys of an entry as it reads the entry. [`materialize`](Self::materialize) and
/// [`induced_by`](Self::induced_by) make the matrix, and the view then tests no keys. Either way a loop knows the order, and on the CPU
/// it may visit rows in it.
///
/// A product needs a key at every vertex, of a view that was made too; otherwise its terminal returns an error.
///
/// ```
/// use vxm::prelude::*;
///
/// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
/// let (key, weight) = (Vector::from_dense(vec![5u32, 9, 7]), Vector::from_dense(vec![10u32, 20, 30]));
/// let up = a.oriented(LT, &key);
/// // above = A' plus.second weight: the sum over the neighbours with a greater key
/// let above = up.mxv(&weight, PLUS_SECOND).or_identity().eval()?;
/// assert_eq!(above, Vector::from_dense(vec![20, 0, 20]));
/// // below = weight plus.first A': each edge leads from the lower end to the higher
/// let below = weight.vxm(&up, PLUS_FIRST).or_identity().eval()?;
/// assert_eq!(below, Vector::from_dense(vec![0, 40, 0]));
/// # Ok::<(), vxm::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Oriented<'a, A: Element, F, K: Element> {
    matrix: Cow<'a, Matrix<A>>,
    op: F,
    key: Cow<'a, Vector<K>>,
    /// Whether the matrix holds only entries that pass.
    filtered: bool,
    /// Of an induced subgraph, the numbers of its vertices in the graph that it was taken from.
    members: Vec<u32>,
}

impl<A: Element> Matrix<A> {
    /// Views the matrix as [`Oriented`]: only the entries `(i, j)` for which `op(key[i], key[j])` is true. Nothing is computed or copied.
    ///
    /// The matrix must be square, and the key as long as its side; otherwise what uses the view returns a shape error.
    pub fn oriented<'a, F, K>(&'a self, op: F, key: &'a Vector<K>) -> Oriented<'a, A, F, K>
    where
        F: BinaryOp<K, K, Out = bool>,
        K: Element,
    {
        Oriented { matrix: Cow::Borrowed(self), op, key: Cow::Borrowed(key), filtered: false, members: Vec::new() }
    }
}

impl<'a, A: Element, F: BinaryOp<K, K, Out = bool>, K: Element> Oriented<'a, A, F, K> {
    /// The number of rows and of columns.
    pub fn nrows(&self) -> usize {
        self.matrix.nrows()
    }

    /// The product `w[i] = ⊕ over j of A'[i, j] ⊗ u[j]` over the entries of the view; see [`Matrix::mxv`].
    #[track_caller]
    #[must_use = "an expression does nothing until a terminal runs it"]
    pub fn mxv<E: Expr, S: Semiring<A, E::T>>(
        &self,
        u: E,
        ring: S,
    ) -> Product<'_, E, A, Flip<S>, ByKey<'_, F, K, Whole>> {
        let at = Location::caller();
        Product::mxv(&self.matrix, u, ring, at).with_policy(|_| ByKey::new(self.op, &self.key, self.filtered, Whole))
    }

    /// The view with its entries in a matrix of their own. Entries without a key at one of their ends are dropped. O(n + nnz) time.
    ///
    /// # Errors
    /// The matrix isn't square, or the key isn't as long as its side. The device has too little memory, or is lost.
    #[track_caller]
    pub fn materialize(&self) -> Result<Oriented<'a, A, F, K>> {
        let matrix = match self.filtered {
            true => self.matrix.clone(),
            false => Cow::Owned(filtered_by(&self.matrix, self.op, &self.key)?),
        };
        Ok(Oriented { matrix, key: self.key.clone(), op: self.op, filtered: true, members: self.members.clone() })
    }

    /// The entries of the view as a plain matrix, without their order. O(n + nnz) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let key = Vector::from_dense(vec![5u32, 9, 2]);
    /// // the edges from each vertex to its higher neighbours
    /// let up = a.oriented(LT, &key).into_matrix()?;
    /// assert_eq!(up.iter().collect::<Vec<_>>(), [(0, 1, ()), (2, 1, ())]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`materialize`](Self::materialize).
    #[track_caller]
    #[inline(never)]
    pub fn into_matrix(self) -> Result<Matrix<A>> {
        Ok(self.materialize()?.matrix.into_owned())
    }

    /// The subgraph that a set of vertices induces, in one pass, with its vertices numbered anew in ascending order.
    ///
    /// Let `i` and `j` be the `k`-th and `l`-th member. Then `B[k, l]` is the entry `(i, j)` of this view. Vertex `k` of the result keeps
    /// the key of `i`. O(n + the entries of the members' rows) time. On a GPU a small set costs little: beside the members' rows, only `n`
    /// bits are read.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // a path; the edges among its vertices 1, 2 and 3 that lead to the higher vertex
    /// let a = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
    /// let key = Vector::from_dense(vec![1u32, 5, 9, 2]);
    /// let b = a.oriented(LT, &key).induced_by(&Set::from_indices(4, [1, 2, 3])?)?;
    /// assert_eq!(b.members(), [1, 2, 3]);
    /// let b = b.into_matrix()?;
    /// assert_eq!(b.nrows(), 3);
    /// assert_eq!(b.iter().collect::<Vec<_>>(), [(0, 1, ()), (2, 1, ())]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The matrix isn't square, or the key or the set isn't as long as its side. A member has no key. The device has too little memory, or
    /// is lost.
    #[track_caller]
    pub fn induced_by(&self, set: &Set) -> Result<Oriented<'static, A, F, K>> {
        check_square_with(&self.matrix, "induced_by", &self.key)?;
        check_square_with(&self.matrix, "induced_by", set)?;
        let held = self.key.mask(set).eval()?;
        let members: Vec<u32> = set.to_all()?.indices().collect();
        if held.nvals() < members.len() {
            let (keys, members) = (held.nvals(), members.len());
            return Err(Error::invalid(format!(
                "induced_by: {keys} of the {members} members have a key: expected all"
            )));
        }
        let matrix = Cow::Owned(induced(&self.matrix, self.op, &held)?);
        let key = Cow::Owned(self.key.extract(&members).eval()?);
        Ok(Oriented { matrix, op: self.op, key, filtered: true, members })
    }

    /// Of the result of [`induced_by`](Self::induced_by): the members of the set in ascending order. Vertex `k` is the `k`-th of them.
    /// Empty for any other view.
    pub fn members(&self) -> &[u32] {
        &self.members
    }
}

/// Checks that a matrix is square and that `u` has a place for each row and column.
#[track_caller]
pub(crate) fn check_square_with<A: Element, T: Element>(
    matrix: &Matrix<A>,
    operation: &'static str,
    u: &Vector<T>,
) -> Result<()> {
    if (matrix.nrows(), matrix.ncols()) == (u.len(), u.len()) {
        return Ok(());
    }
    let shape = format!("matrix of {} x {}", matrix.nrows(), matrix.ncols());
    Err(Error::shape(operation, shape, format!("vector of {}", u.len())))
}

/// The entries that pass, as a matrix.
#[track_caller]
fn filtered_by<A, K, F>(matrix: &Matrix<A>, op: F, key: &Vector<K>) -> Result<Matrix<A>>
where
    A: Element,
    K: Element,
    F: BinaryOp<K, K, Out = bool>,
{
    check_square_with(matrix, "oriented", key)?;
    if let Some(grid) = matrix.grid() {
        return ranks::matrices::by_ends(matrix, grid, key, |x, y, a| op.call(x, y).then_some(a));
    }
    if let Some(gpu) = matrix.place_with(key) {
        let (rows, key) = (matrix.on(&gpu)?, key.on(&gpu)?);
        return Ok(Matrix::on_device(cuda::entries::select_ends(&rows, op, &key)?, None).with_format(matrix.format()));
    }
    let key = key.clone().with_format(VectorFormat::Bitmap);
    let keys = key.view();
    let keep = |own, j: u32, _| keys.get(j as usize).is_some_and(|x| op.call(own, x));
    Ok(Matrix::from_csr(filtered(matrix.csr(), |i| keys.get(i), keep)))
}

impl<A: Element> Matrix<A> {
    /// The submatrix that a set of vertices induces, with the vertices numbered anew in ascending order: `b[k, l] = self[i, j]` for the `k`-th
    /// member `i` and the `l`-th member `j`. O(n + the entries of the members' rows) time. The set isn't copied from a device.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let path = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
    /// let b = path.induced_by(&Set::from_indices(4, [0, 2, 3])?)?;
    /// assert_eq!(b, Matrix::undirected(3, &[(1, 2)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The matrix isn't square, or the set isn't as long as its side. The device has too little memory, or is lost.
    #[track_caller]
    pub fn induced_by(&self, set: &Set) -> Result<Matrix<A>> {
        check_square_with(self, "induced_by", set)?;
        Ok(induced(self, vxm_semiring::Pair::<bool>::new(), set)?.set_symmetric(self.is_symmetric()))
    }
}

/// The entries that pass among the vertices that hold a key. These are numbered anew.
fn induced<A, K, F>(matrix: &Matrix<A>, op: F, held: &Vector<K>) -> Result<Matrix<A>>
where
    A: Element,
    K: Element,
    F: BinaryOp<K, K, Out = bool>,
{
    if let Some(grid) = matrix.grid() {
        return ranks::matrices::induced(matrix, grid, op, held);
    }
    if let Some(gpu) = matrix.place_with(held) {
        let (rows, held) = (matrix.on(&gpu)?, held.on(&gpu)?);
        return Ok(Matrix::on_device(cuda::entries::induced(&rows, op, &held)?, None).with_format(matrix.format()));
    }
    let (csr, n) = (matrix.csr(), matrix.nrows());
    let members: Vec<(u32, K)> = held.iter().collect();
    // at each member: its number in the subgraph, and its key
    let mut ends = vec![None; n];
    (0u32..).zip(&members).for_each(|(k, &(i, x))| ends[i as usize] = Some((k, x)));
    Ok(Matrix::from_csr(build(members.len(), members.len(), |k, columns, values| {
        let (i, own) = members[k];
        let (js, entries) = csr.row(i as usize);
        for (&j, &a) in js.iter().zip(entries) {
            let Some((l, _)) = ends[j as usize].filter(|&(_, x)| op.call(own, x)) else { continue };
            columns.push(l);
            values.push(a);
        }
    })))
}

/// What a vector can be multiplied with: a [`Matrix`], a graph, or an [`Oriented`] view.
pub trait Multiplicand<'a> {
    /// The type of the entries.
    type Entry: Element;
    /// Which entries of a column take part.
    type Policy;
    /// The matrix and the policy of a product over its columns.
    fn parts(self) -> (&'a Matrix<Self::Entry>, Self::Policy);
}

impl<'a, A: Element> Multiplicand<'a> for &'a Matrix<A> {
    type Entry = A;
    type Policy = Whole;
    fn parts(self) -> (&'a Matrix<A>, Whole) {
        (self, Whole)
    }
}

impl<'a> Multiplicand<'a> for &'a Graph<'_> {
    type Entry = ();
    type Policy = Whole;
    fn parts(self) -> (&'a Matrix, Whole) {
        (self, Whole)
    }
}

impl<'a, A: Element> Multiplicand<'a> for &'a Digraph<'_, A> {
    type Entry = A;
    type Policy = Whole;
    fn parts(self) -> (&'a Matrix<A>, Whole) {
        (self, Whole)
    }
}

impl<'a, A: Element, F: BinaryOp<K, K, Out = bool>, K: Element> Multiplicand<'a> for &'a Oriented<'_, A, F, K> {
    type Entry = A;
    /// A row of the product is a column of the matrix, so the own key is the second.
    type Policy = ByKey<'a, Flip<F>, K, Whole>;
    fn parts(self) -> (&'a Matrix<A>, Self::Policy) {
        (&self.matrix, ByKey::new(Flip(self.op), &self.key, self.filtered, Whole))
    }
}
