//! The reference implementation: it defines every operation on dense arrays of options, by one obvious loop each.
//!
//! It shares no code with the engine, only the traits of [`vxm_semiring`]. Tests compare every other backend with it, bit for bit. If
//! shapes don't fit, the engine returns an error; this module panics.

use vxm_semiring::{BinaryOp, Element, Monoid, Scalar, Semiring, TernaryOp, UnaryOp};

/// A vector: `None` where no element is present.
pub type Dense<T> = Vec<Option<T>>;

/// A matrix by rows: `None` where no entry is present.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid<T> {
    /// The rows, each `ncols` long.
    pub rows: Vec<Dense<T>>,
    /// The number of columns. A matrix without rows has one too.
    pub ncols: usize,
}

/// `op(a, b)` if both are present; otherwise the one that is.
fn join<T: Element>(op: impl BinaryOp<T, T, Out = T>, a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(op.call(a, b)),
        (Some(a), None) => Some(a),
        (None, b) => b,
    }
}

/// Folds the present items from left to right; `None` if there are none.
fn left_to_right<T: Element>(op: impl BinaryOp<T, T, Out = T>, items: impl Iterator<Item = Option<T>>) -> Option<T> {
    items.fold(None, |sum, item| join(op, sum, item))
}

/// Folds a row of positions, some of which are absent, to one element; `None` if all are absent.
///
/// Exact monoids fold from left to right. Inexact ones fold over the fixed tree. In a segment of 1024 positions, position `p` belongs to
/// lane `p % 32`. Each lane is folded left to right. Then the upper half of the lanes is joined to the lower half, until one is left.
/// Segments are joined in neighbouring pairs, and so are the results, until one is left. Absent positions change nothing.
pub fn fold<T: Element, M: Monoid<T>>(add: M, row: &[Option<T>]) -> Option<T> {
    if M::EXACT {
        return left_to_right(add, row.iter().copied());
    }
    fold_pairs(add, row.chunks(1024).map(|segment| fold_segment(add, segment)).collect())
}

/// Folds one segment: lane by lane, then the lanes.
fn fold_segment<T: Element, M: Monoid<T>>(add: M, segment: &[Option<T>]) -> Option<T> {
    let lane = |l| left_to_right(add, segment.iter().copied().skip(l).step_by(32));
    fold_halves(add, (0..32).map(lane).collect())
}

/// Joins neighbouring pairs, until one is left.
fn fold_pairs<T: Element, M: Monoid<T>>(add: M, parts: Dense<T>) -> Option<T> {
    if parts.len() <= 1 {
        return parts.first().copied().flatten();
    }
    fold_pairs(add, parts.chunks(2).map(|pair| left_to_right(add, pair.iter().copied())).collect())
}

/// Joins the upper half to the lower half, until one is left.
fn fold_halves<T: Element, M: Monoid<T>>(add: M, lanes: Dense<T>) -> Option<T> {
    if lanes.len() == 1 {
        return lanes[0];
    }
    let (lower, upper) = lanes.split_at(lanes.len() / 2);
    fold_halves(add, lower.iter().zip(upper).map(|(&a, &b)| join(add, a, b)).collect())
}

/// `w[j] = ⊕ over i of u[i] ⊗ a[i, j]`. The positions of a fold are the stored entries of column `j`.
pub fn vxm<X: Element, A: Element, S: Semiring<X, A>>(u: &[Option<X>], a: &Grid<A>, ring: S) -> Dense<S::Out> {
    assert_eq!(u.len(), a.rows.len());
    let product = |j: usize| {
        let entries = (0..u.len()).filter_map(|i| a.rows[i][j].map(|entry| (i, entry)));
        let products: Dense<S::Out> = entries.map(|(i, entry)| u[i].map(|x| ring.mul().call(x, entry))).collect();
        fold(ring.add(), &products)
    };
    (0..a.ncols).map(product).collect()
}

/// `w[i] = ⊕ over j of a[i, j] ⊗ u[j]`. The positions of a fold are the stored entries of row `i`.
pub fn mxv<X: Element, A: Element, S: Semiring<A, X>>(a: &Grid<A>, u: &[Option<X>], ring: S) -> Dense<S::Out> {
    assert_eq!(u.len(), a.ncols);
    let product = |row: &Dense<A>| {
        let entries = (0..u.len()).filter_map(|j| row[j].map(|entry| (j, entry)));
        let products: Dense<S::Out> = entries.map(|(j, entry)| u[j].map(|x| ring.mul().call(entry, x))).collect();
        fold(ring.add(), &products)
    };
    a.rows.iter().map(product).collect()
}

/// `op(x, y)` where both are present, the one that is present elsewhere: the union.
pub fn ewise_add<T: Element>(x: &[Option<T>], y: &[Option<T>], op: impl BinaryOp<T, T, Out = T>) -> Dense<T> {
    assert_eq!(x.len(), y.len());
    x.iter().zip(y).map(|(&x, &y)| join(op, x, y)).collect()
}

/// `op(x, y)` where both are present: the intersection.
pub fn ewise_mult<X: Element, Y: Element, F: BinaryOp<X, Y>>(x: &[Option<X>], y: &[Option<Y>], op: F) -> Dense<F::Out> {
    assert_eq!(x.len(), y.len());
    x.iter().zip(y).map(|(x, y)| x.zip(*y).map(|(x, y)| op.call(x, y))).collect()
}

/// `op(x, y, z)` where all three are present.
pub fn map3<X: Element, Y: Element, Z: Element, F: TernaryOp<X, Y, Z>>(
    x: &[Option<X>],
    y: &[Option<Y>],
    z: &[Option<Z>],
    op: F,
) -> Dense<F::Out> {
    assert_eq!((x.len(), x.len()), (y.len(), z.len()));
    (0..x.len()).map(|i| Some(op.call(x[i]?, y[i]?, z[i]?))).collect()
}

/// `op(x)` of every element.
pub fn map<T: Element, F: UnaryOp<T>>(u: &[Option<T>], op: F) -> Dense<F::Out> {
    u.iter().map(|x| x.map(|x| op.call(x))).collect()
}

/// `op(i, u[i])` of every element.
pub fn map_index<T: Element, F: BinaryOp<u32, T>>(u: &[Option<T>], op: F) -> Dense<F::Out> {
    u.iter().enumerate().map(|(i, x)| x.map(|x| op.call(i as u32, x))).collect()
}

/// The elements for which `op(x)` holds.
pub fn select<T: Element>(u: &[Option<T>], op: impl UnaryOp<T, Out = bool>) -> Dense<T> {
    u.iter().map(|x| x.filter(|&x| op.call(x))).collect()
}

/// The elements for which `op(i, u[i])` holds.
pub fn select_index<T: Element>(u: &[Option<T>], op: impl BinaryOp<u32, T, Out = bool>) -> Dense<T> {
    u.iter().enumerate().map(|(i, x)| x.filter(|&x| op.call(i as u32, x))).collect()
}

/// The elements, and `value` where none is present.
pub fn or<T: Element>(u: &[Option<T>], value: T) -> Dense<T> {
    u.iter().map(|x| Some(x.unwrap_or(value))).collect()
}

/// The pattern: `()` where an element is present.
pub fn pattern<T: Element>(u: &[Option<T>]) -> Dense<()> {
    u.iter().map(|x| x.map(|_| ())).collect()
}

/// Folds all elements to one. Indices are the positions of the fold. Returns the identity if there are no elements.
pub fn reduce<T: Element, M: Monoid<T>>(u: &[Option<T>], add: M) -> T {
    fold(add, u).unwrap_or(add.identity())
}

/// `w[k] = u[indices[k]]`.
pub fn extract<T: Element>(u: &[Option<T>], indices: &[u32]) -> Dense<T> {
    indices.iter().map(|&i| u[i as usize]).collect()
}

/// `w[k] = u[index[k]]`, where both hold an element.
pub fn gather<T: Element>(u: &[Option<T>], index: &[Option<u32>]) -> Dense<T> {
    index.iter().map(|i| u.get((*i)? as usize).copied().flatten()).collect()
}

/// `w[i]` is the last of the sequence that begins with `y = u[i]` and goes on with `u[op(y)]` while that is lower than `y`.
pub fn pointer_jump<T: Scalar>(u: &[Option<T>], op: impl UnaryOp<T, Out = u32>) -> Dense<T> {
    let next = |y: T| u.get(op.call(y) as usize).copied().flatten().filter(|&z| z < y);
    u.iter().map(|x| std::iter::successors(*x, |&y| next(y)).last()).collect()
}

/// `w[indices[k]] = u[k]`, for a vector of length `len`. Indices are distinct.
pub fn scatter<T: Element>(u: &[Option<T>], indices: &[u32], len: usize) -> Dense<T> {
    assert_eq!(u.len(), indices.len());
    let mut w = vec![None; len];
    for (k, &i) in indices.iter().enumerate() {
        w[i as usize] = u[k];
    }
    w
}

/// `w[i] = ⊕ over k with index[k] = i of u[k]`, for a vector of length `len`. The positions of a fold are the `k` with `index[k] = i`.
pub fn scatter_by<T: Element, M: Monoid<T>>(u: &[Option<T>], index: &[Option<u32>], len: usize, add: M) -> Dense<T> {
    assert_eq!(u.len(), index.len());
    let arriving = |i: usize| (0..u.len()).filter(move |&k| index[k] == Some(i as u32)).map(|k| u[k]);
    (0..len).map(|i| fold(add, &arriving(i).collect::<Dense<T>>())).collect()
}

/// `op(x, y)` where either holds an element, with `alpha` or `beta` for a missing one.
pub fn ewise_union<X: Element, Y: Element, F: BinaryOp<X, Y>>(
    x: &[Option<X>],
    alpha: X,
    y: &[Option<Y>],
    beta: Y,
    op: F,
) -> Dense<F::Out> {
    let row = |v: &[Option<X>]| Grid { rows: vec![v.to_vec()], ncols: v.len() };
    row(x).ewise_union(alpha, &Grid { rows: vec![y.to_vec()], ncols: y.len() }, beta, op).rows.remove(0)
}

/// A mask that selects `indices`: where an assignment to a region writes.
pub fn region(indices: &[u32], len: usize) -> Vec<bool> {
    (0..len).map(|i| indices.contains(&(i as u32))).collect()
}

/// A structural mask: true where an element is present.
pub fn structural<T: Element>(u: &[Option<T>]) -> Vec<bool> {
    u.iter().map(Option::is_some).collect()
}

/// A mask by value: true where an element is present that isn't zero. A pattern's elements count as 1.
pub fn by_value<T: Element>(u: &[Option<T>]) -> Vec<bool> {
    u.iter().map(|x| x.is_some_and(|x| T::NAME == "()" || x != T::ZERO)).collect()
}

/// The complement of a mask.
pub fn complement(mask: &[bool]) -> Vec<bool> {
    mask.iter().map(|yes| !yes).collect()
}

/// A mask that is true where both are.
pub fn both(x: &[bool], y: &[bool]) -> Vec<bool> {
    x.iter().zip(y).map(|(&x, &y)| x && y).collect()
}

/// The elements where the mask is true.
pub fn masked<T: Element>(u: &[Option<T>], mask: &[bool]) -> Dense<T> {
    assert_eq!(u.len(), mask.len());
    u.iter().zip(mask).map(|(&x, &yes)| if yes { x } else { None }).collect()
}

/// `w<mask> = t`: where the mask is true, `w` becomes `t`, absence included; elsewhere `w` is kept.
pub fn write<T: Element>(w: &[Option<T>], t: &[Option<T>], mask: &[bool]) -> Dense<T> {
    assert_eq!((w.len(), w.len()), (t.len(), mask.len()));
    (0..w.len()).map(|i| if mask[i] { t[i] } else { w[i] }).collect()
}

/// `w<mask> ⊙= t`: where the mask is true, `w` becomes the union of `w` and `t`; elsewhere `w` is kept.
pub fn accumulate<T: Element>(
    w: &[Option<T>],
    t: &[Option<T>],
    mask: &[bool],
    accum: impl BinaryOp<T, T, Out = T>,
) -> Dense<T> {
    write(w, &ewise_add(w, t, accum), mask)
}

/// A matrix of `nrows` x `ncols`. Its entry at row `i`, column `j` is `entry(i, j)`.
pub fn grid<T: Element>(nrows: usize, ncols: usize, entry: impl Fn(usize, usize) -> Option<T>) -> Grid<T> {
    Grid { rows: (0..nrows).map(|i| (0..ncols).map(|j| entry(i, j)).collect()).collect(), ncols }
}

impl<T: Element> Grid<T> {
    /// `b[i, j] = a[j, i]`.
    pub fn transpose(&self) -> Self {
        grid(self.ncols, self.rows.len(), |i, j| self.rows[j][i])
    }

    /// `op(a)` of every entry.
    pub fn map<F: UnaryOp<T>>(&self, op: F) -> Grid<F::Out> {
        grid(self.rows.len(), self.ncols, |i, j| self.rows[i][j].map(|a| op.call(a)))
    }

    /// `op(row, column, a)` of every entry.
    pub fn map_index<F: TernaryOp<u32, u32, T>>(&self, op: F) -> Grid<F::Out> {
        grid(self.rows.len(), self.ncols, |i, j| self.rows[i][j].map(|a| op.call(i as u32, j as u32, a)))
    }

    /// The entries for which `op(row, column, a)` holds.
    pub fn select(&self, op: impl TernaryOp<u32, u32, T, Out = bool>) -> Self {
        grid(self.rows.len(), self.ncols, |i, j| self.rows[i][j].filter(|&a| op.call(i as u32, j as u32, a)))
    }

    /// The entries for which `op(u[row], u[column])` holds. An entry is dropped unless `u` has elements at both ends.
    pub fn select_ends<X: Element>(&self, op: impl BinaryOp<X, X, Out = bool>, u: &[Option<X>]) -> Self {
        let keep = |i: usize, j: usize| u[i].zip(u[j]).is_some_and(|(x, y)| op.call(x, y));
        grid(self.rows.len(), self.ncols, |i, j| self.rows[i][j].filter(|_| keep(i, j)))
    }

    /// The induced submatrix of the indices where `u` has an element, with the entries for which `op(u[row], u[column])` holds.
    pub fn induced<X: Element>(&self, op: impl BinaryOp<X, X, Out = bool>, u: &[Option<X>]) -> Self {
        let places: Vec<u32> = (0..).zip(u).filter(|(_, x)| x.is_some()).map(|(i, _)| i).collect();
        self.select_ends(op, u).extract(&places, &places)
    }

    /// `op(u[row], u[column])` of every entry. An entry is dropped unless `u` has elements at both ends.
    pub fn map_ends<X: Element, F: BinaryOp<X, X>>(&self, op: F, u: &[Option<X>]) -> Grid<F::Out> {
        let mapped = |i: usize, j: usize| u[i].zip(u[j]).map(|(x, y)| op.call(x, y));
        grid(self.rows.len(), self.ncols, |i, j| self.rows[i][j].and_then(|_| mapped(i, j)))
    }

    /// Each row's entries folded to one element. Entries are the positions of the fold. A row without entries has no element.
    pub fn reduce_rows<M: Monoid<T>>(&self, add: M) -> Dense<T> {
        let entries = |row: &Dense<T>| row.iter().copied().filter(Option::is_some).collect::<Dense<T>>();
        self.rows.iter().map(|row| fold(add, &entries(row))).collect()
    }

    /// All entries folded to one element: each row, then the rows' results.
    pub fn reduce<M: Monoid<T>>(&self, add: M) -> T {
        reduce(&self.reduce_rows(add), add)
    }

    /// `w[i]` is the value that occurs most often among `u[j]` over the entries of row `i`, the least among equals.
    pub fn mode(&self, u: &[Option<u32>]) -> Dense<u32> {
        let of_row = |row: &Dense<T>| {
            let mut values: Vec<u32> = row.iter().zip(u).filter_map(|(entry, &x)| entry.and(x)).collect();
            values.sort_unstable();
            let runs = values.chunk_by(|x, y| x == y);
            runs.max_by_key(|run| (run.len(), core::cmp::Reverse(run[0]))).map(|run| run[0])
        };
        self.rows.iter().map(of_row).collect()
    }

    /// The number of entries in each row.
    pub fn degrees(&self) -> Dense<u32> {
        self.rows.iter().map(|row| Some(row.iter().flatten().count() as u32)).collect()
    }

    /// `b[k, l] = a[rows[k], columns[l]]`.
    pub fn extract(&self, rows: &[u32], columns: &[u32]) -> Self {
        grid(rows.len(), columns.len(), |k, l| self.rows[rows[k] as usize][columns[l] as usize])
    }

    /// `C[i, j] = ⊕ over k of a[i, k] ⊗ b[k, j]`, folded from left to right in ascending `k`.
    pub fn mxm<B: Element, S: Semiring<T, B>>(&self, other: &Grid<B>, ring: S) -> Grid<S::Out> {
        assert_eq!(self.ncols, other.rows.len());
        let product =
            |i: usize, j: usize, k: usize| self.rows[i][k].zip(other.rows[k][j]).map(|(a, b)| ring.mul().call(a, b));
        grid(self.rows.len(), other.ncols, |i, j| left_to_right(ring.add(), (0..self.ncols).map(|k| product(i, j, k))))
    }

    /// The places where a mask of this grid is true: by structure or by value, or the complement of either.
    pub fn mask(&self, values: bool, complement: bool) -> Vec<Vec<bool>> {
        let places = |row: &Dense<T>| if values { by_value(row) } else { structural(row) };
        self.rows.iter().map(|row| if complement { self::complement(&places(row)) } else { places(row) }).collect()
    }

    /// The entries where the mask is true.
    pub fn masked(&self, mask: &[Vec<bool>]) -> Self {
        grid(self.rows.len(), self.ncols, |i, j| self.rows[i][j].filter(|_| mask[i][j]))
    }

    /// `C<mask> = t`, as [`write()`] of each row.
    pub fn write(&self, t: &Self, mask: &[Vec<bool>]) -> Self {
        Grid { rows: (0..self.rows.len()).map(|i| write(&self.rows[i], &t.rows[i], &mask[i])).collect(), ..*self }
    }

    /// `C<mask> ⊙= t`, as [`accumulate`] of each row.
    pub fn accumulate(&self, t: &Self, mask: &[Vec<bool>], accum: impl BinaryOp<T, T, Out = T>) -> Self {
        let row = |i: usize| accumulate(&self.rows[i], &t.rows[i], &mask[i], accum);
        Grid { rows: (0..self.rows.len()).map(row).collect(), ..*self }
    }

    /// `op(a, b)` where either holds an entry, with `alpha` or `beta` for a missing one.
    pub fn ewise_union<B: Element, F: BinaryOp<T, B>>(
        &self,
        alpha: T,
        other: &Grid<B>,
        beta: B,
        op: F,
    ) -> Grid<F::Out> {
        let joined = |a: Option<T>, b: Option<B>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(op.call(a.unwrap_or(alpha), b.unwrap_or(beta))),
        };
        grid(self.rows.len(), self.ncols, |i, j| joined(self.rows[i][j], other.rows[i][j]))
    }

    /// The entries of the main diagonal.
    pub fn diagonal(&self) -> Dense<T> {
        (0..self.rows.len().min(self.ncols)).map(|i| self.rows[i][i]).collect()
    }

    /// `op(a, b)` at `(i1 * b.nrows + i2, j1 * b.ncols + j2)` for entries `a` at `(i1, j1)` and `b` at `(i2, j2)`.
    pub fn kronecker<B: Element, F: BinaryOp<T, B>>(&self, other: &Grid<B>, op: F) -> Grid<F::Out> {
        let (m, n) = (other.rows.len(), other.ncols);
        grid(self.rows.len() * m, self.ncols * n, |i, j| {
            self.rows[i / m][j / n].zip(other.rows[i % m][j % n]).map(|(a, b)| op.call(a, b))
        })
    }

    /// `C[rows[k], columns[l]] = b[k, l]`, or joined with what is there by `accum`. Indices are distinct.
    pub fn assign<F>(&self, rows: &[u32], columns: &[u32], b: &Self, accum: Option<F>) -> Self
    where
        F: BinaryOp<T, T, Out = T>,
    {
        let place = |list: &[u32], i: usize| list.iter().position(|&x| x as usize == i);
        grid(self.rows.len(), self.ncols, |i, j| match place(rows, i).zip(place(columns, j)) {
            None => self.rows[i][j],
            Some((k, l)) => accum.map_or(b.rows[k][l], |op| join(op, self.rows[i][j], b.rows[k][l])),
        })
    }

    /// `op(a, b)` where both hold an entry, the one entry where only one does: the union.
    pub fn ewise_add(&self, other: &Self, op: impl BinaryOp<T, T, Out = T>) -> Self {
        grid(self.rows.len(), self.ncols, |i, j| join(op, self.rows[i][j], other.rows[i][j]))
    }

    /// `op(a, b)` where both hold an entry: the intersection.
    pub fn ewise_mult<B: Element, F: BinaryOp<T, B>>(&self, other: &Grid<B>, op: F) -> Grid<F::Out> {
        let combine = |a: Option<T>, b: Option<B>| a.zip(b).map(|(a, b)| op.call(a, b));
        grid(self.rows.len(), self.ncols, |i, j| combine(self.rows[i][j], other.rows[i][j]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vxm_semiring::{MAX, MAX_TIMES, PLUS, PLUS_TIMES};

    /// The reference has nothing to be compared with, so expected values are worked out by hand.
    #[test]
    fn small_cases_by_hand() {
        let a = Grid { rows: vec![vec![Some(10u32), None, Some(20)], vec![None, None, Some(1)]], ncols: 3 };
        assert_eq!(vxm(&[Some(1), Some(7)], &a, PLUS_TIMES), [Some(10), None, Some(27)]);
        assert_eq!(vxm(&[None, Some(7)], &a, PLUS_TIMES), [None, None, Some(7)]);
        assert_eq!(mxv(&a, &[Some(1), Some(1), Some(7)], MAX_TIMES), [Some(140), Some(7)]);
        let (w, t) = ([Some(1u32), Some(2), None, None], [None, Some(5), Some(6), None]);
        let mask = [true, true, false, true];
        assert_eq!(write(&w, &t, &mask), [None, Some(5), None, None]);
        assert_eq!(accumulate(&w, &t, &mask, PLUS), [Some(1), Some(7), None, None]);
        assert_eq!(ewise_add(&w, &t, MAX), [Some(1), Some(5), Some(6), None]);
        assert_eq!(scatter(&[Some(7u32), None], &[2, 0], 3), [None, None, Some(7)]);
        assert_eq!(region(&[2, 0], 3), [true, false, true]);
        assert_eq!(by_value(&[Some(0.0f32), Some(f32::NAN), None]), [false, true, false]);
        assert_eq!(a.transpose().rows, [[Some(10), None], [None, None], [Some(20), Some(1)]]);
    }

    #[test]
    fn the_tree_by_hand() {
        // 1e8 + 1 rounds to 1e8, so the sum shows whether ones were added to each other first
        let mut row = vec![Some(1.0f32); 64];
        row[0] = Some(1e8);
        // lane 0 is 1e8 + 1 = 1e8, the other 31 lanes are 2 each; lanes 16, 8, 4, 2, 1 are then joined to lane 0: 2, 4, 8, 16, 32
        let halves = ((((1e8f32 + 2.0) + 4.0) + 8.0) + 16.0) + 32.0;
        assert_eq!(fold(PLUS, &row), Some(halves));
        assert_ne!(row.iter().flatten().sum::<f32>(), halves);
        // 32 positions, one per lane: lane 0 is joined with 1, 2, 4, 8, 16
        assert_eq!(fold(PLUS, &row[..32]), Some(((((1e8f32 + 1.0) + 2.0) + 4.0) + 8.0) + 16.0));
        // an absent position keeps its place: if later ones moved up, position 33 would fall into lane 0
        row[5] = None;
        assert_eq!(fold(PLUS, &row), Some((((1e8f32 + 2.0) + 4.0) + 8.0) + 16.0 + 31.0));
        assert_eq!(fold(PLUS, &[None::<f32>; 70]), None);
        // three segments of 1024 positions and one of 2, joined in pairs
        let mut long = vec![Some(1.0f32); 3 * 1024 + 2];
        long[0] = Some(1e8);
        let part = |s: usize| fold(PLUS, &long[s * 1024..long.len().min((s + 1) * 1024)]);
        assert_eq!(fold(PLUS, &long), join(PLUS, join(PLUS, part(0), part(1)), join(PLUS, part(2), Some(2.0))));
    }
}
