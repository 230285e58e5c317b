//! Folds of the products of one row (pull), and the fixed tree for inexact monoids.

use crate::backend::view::VectorView;
use crate::formats::{Csr, Tiles};
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring};

/// The number of positions in a segment of the fixed tree.
pub const SEGMENT: usize = 1024;
/// The number of lanes of a segment of the fixed tree.
pub const LANES: usize = 32;

/// A fold in progress over the fixed tree. Inexact monoids (float sums) are folded over this tree on every device, in every format and
/// for any number of threads. So answers have the same bits.
///
/// Positions are cut into segments of [`SEGMENT`]. In a segment, position `p` belongs to lane `p % LANES`, and each lane is folded left to
/// right. Lanes are joined by halves: `l` with `l + 16`, then `+ 8`, `+ 4`, `+ 2`, `+ 1`. Segments are joined in pairs: 0 with 1, 2 with
/// 3, and so on; the results are joined in the same way until one is left. An absent position changes nothing, so the result depends on
/// positions and presence alone.
///
/// An exact monoid is folded left to right instead, with one lane. It needs no tree, and some need the order:
/// [`Any`](vxm_semiring::Any) is associative, yet takes the first.
pub struct Tree<T, M> {
    add: M,
    /// The number of lanes that are used: a power of two.
    width: usize,
    /// The current segment's lanes.
    lanes: [Option<T>; LANES],
    /// The current segment's number.
    segment: usize,
    /// The folds of the segments before.
    pairs: Pairs<T, M>,
}

impl<T: Element, M: Monoid<T>> Tree<T, M> {
    /// A tree over `len` positions.
    pub fn new(add: M, len: usize) -> Self {
        let width = if M::EXACT { 1 } else { len.clamp(1, LANES).next_power_of_two() };
        Self { add, width, lanes: [None; LANES], segment: 0, pairs: Pairs::new(add) }
    }

    /// Adds the element at `position`. Positions ascend; absent ones are left out.
    #[inline(always)]
    pub fn push(&mut self, position: usize, value: T) {
        if !M::EXACT && position / SEGMENT != self.segment {
            self.close_segment(position / SEGMENT);
        }
        let lane = if M::EXACT { 0 } else { position % LANES };
        self.lanes[lane] = join(self.add, self.lanes[lane], Some(value));
    }

    /// Ends the current segment and begins segment `next`. All segments between are empty.
    #[cold]
    fn close_segment(&mut self, next: usize) {
        let part = self.join_lanes();
        self.pairs.push(part);
        (self.segment + 1..next).for_each(|_| self.pairs.push(None));
        self.segment = next;
    }

    /// Returns the current segment's fold and empties its lanes.
    #[inline(always)]
    fn join_lanes(&mut self) -> Option<T> {
        let mut step = self.width / 2;
        while step > 0 {
            for lane in 0..step {
                self.lanes[lane] = join(self.add, self.lanes[lane], self.lanes[lane + step].take());
            }
            step /= 2;
        }
        self.lanes[0].take()
    }

    /// The fold of all elements that were pushed; `None` if there are none.
    pub fn finish(mut self) -> Option<T> {
        let part = self.join_lanes();
        if self.segment == 0 {
            return part;
        }
        self.pairs.push(part);
        self.pairs.finish()
    }
}

/// Folds of segments, joined in pairs as they come: a binary counter of partial folds.
pub struct Pairs<T, M> {
    add: M,
    /// The number of segments so far.
    count: usize,
    /// At index `k`, if bit `k` of `count` is set: the fold of 2^k consecutive segments.
    held: Vec<Option<T>>,
}

impl<T: Element, M: Monoid<T>> Pairs<T, M> {
    /// No segments.
    pub fn new(add: M) -> Self {
        Self { add, count: 0, held: Vec::new() }
    }

    /// Adds the next segment's fold; `None` if the segment is empty.
    pub fn push(&mut self, part: Option<T>) {
        let mut sum = part;
        for level in 0..self.count.trailing_ones() as usize {
            sum = join(self.add, self.held[level], sum);
        }
        let level = self.count.trailing_ones() as usize;
        self.held.resize(self.held.len().max(level + 1), None);
        self.held[level] = sum;
        self.count += 1;
    }

    /// The fold of all segments.
    pub fn finish(self) -> Option<T> {
        let held = self.held.iter().enumerate().filter(|(level, _)| self.count >> level & 1 == 1);
        held.fold(None, |sum, (_, &earlier)| join(self.add, earlier, sum))
    }
}

/// Joins two folds, the earlier one first. If one is absent, the result is the other.
#[inline(always)]
fn join<T: Element, M: Monoid<T>>(add: M, a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add.call(a, b)),
        (a, b) => a.or(b),
    }
}

/// The rows of a matrix in one of its formats, for a pull product.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a, A: Element> {
    /// Compressed sparse rows.
    Csr(&'a Csr<A>),
    /// Compressed sparse rows, read from last entry to first. The monoid must be exact and commutative.
    Reversed(&'a Csr<A>),
    /// Tiles of 16 x 16 entries.
    Tiles(&'a Tiles<A>),
}

impl<A: Element> Rows<'_, A> {
    /// The number of entries in `row`.
    pub fn len(self, row: usize) -> usize {
        match self {
            Self::Csr(csr) | Self::Reversed(csr) => csr.degree(row),
            Self::Tiles(tiles) => tiles.row_len(row),
        }
    }

    /// Calls `f(position, column, value)` for the entries of `row`, in order.
    #[inline(always)]
    fn for_each(self, row: usize, mut f: impl FnMut(usize, u32, A)) {
        match self {
            Self::Csr(csr) | Self::Reversed(csr) => {
                let (columns, values) = csr.row(row);
                columns.iter().zip(values).enumerate().for_each(|(p, (&k, &value))| f(p, k, value));
            }
            Self::Tiles(tiles) => tiles.for_each(row, |p, k, value| {
                f(p, k, value);
                true
            }),
        }
    }
}

/// `⊕ over k of u[k] ⊗ A[row, k]`, over the entries of one row in columns `k` where `u` holds an element; `None` if there are none.
/// Exact monoids stop at a terminal value, and at a partial result for which `until` holds.
#[inline(always)]
pub fn fold_row<X, A, S, U>(
    u: &U,
    rows: Rows<'_, A>,
    row: usize,
    ring: S,
    until: impl Fn(S::Out) -> bool,
) -> Option<S::Out>
where
    X: Element,
    A: Element,
    S: Semiring<X, A>,
    U: VectorView<T = X>,
{
    if !S::Add::EXACT {
        return fold_tree(u, rows, row, ring);
    }
    match rows {
        Rows::Csr(csr) => fold_entries(u, entries(csr, row), ring, until),
        Rows::Reversed(csr) => fold_entries(u, entries(csr, row).rev(), ring, until),
        Rows::Tiles(tiles) => fold_tiles(u, tiles, row, ring, until),
    }
}

/// Folds a row over the fixed tree. Positions are those of the entries in the stored row.
#[inline(always)]
fn fold_tree<X, A, S, U>(u: &U, rows: Rows<'_, A>, row: usize, ring: S) -> Option<S::Out>
where
    X: Element,
    A: Element,
    S: Semiring<X, A>,
    U: VectorView<T = X>,
{
    if let (Rows::Csr(csr), true) = (rows, u.is_full()) {
        let (columns, weights) = csr.row(row);
        // one length for both, so that no entry checks both
        let products = Products { vector: u.clone(), columns, weights: &weights[..columns.len()], ring };
        return fold_present(ring.add(), columns.len(), products);
    }
    let mut tree = Tree::new(ring.add(), rows.len(row));
    rows.for_each(row, |p, k, weight| {
        if let Some(x) = u.at(k as usize) {
            tree.push(p, ring.mul().call(x, weight));
        }
    });
    tree.finish()
}

/// Elements by position, all of them present: what [`fold_present`] folds.
pub trait Elements<T> {
    /// The element at position `p`.
    fn at(&self, p: usize) -> T;
}

impl<T: Copy> Elements<T> for &[T] {
    #[inline(always)]
    fn at(&self, p: usize) -> T {
        self[p]
    }
}

/// The products of a compressed row with a full vector.
struct Products<'a, U, A, S> {
    vector: U,
    columns: &'a [u32],
    /// As many as there are columns.
    weights: &'a [A],
    ring: S,
}

impl<U: VectorView, A: Element, S: Semiring<U::T, A>> Elements<S::Out> for Products<'_, U, A, S> {
    #[inline(always)]
    fn at(&self, p: usize) -> S::Out {
        self.ring.mul().call(self.vector.value(self.columns[p] as usize), self.weights[p])
    }
}

/// Folds `len` elements, all of them present, over the fixed tree. The bits are those of [`Tree`]. Short rows take straight code of their
/// own length; longer ones fold their lanes by vector instructions. `None` if `len` is 0.
#[inline(always)]
pub fn fold_present<T: Element, M: Monoid<T>>(add: M, len: usize, elements: impl Elements<T>) -> Option<T> {
    Some(match len {
        0 => return None,
        1 => elements.at(0),
        2 => add.call(elements.at(0), elements.at(1)),
        3 => add.call(add.call(elements.at(0), elements.at(2)), elements.at(1)),
        4 => add.call(add.call(elements.at(0), elements.at(2)), add.call(elements.at(1), elements.at(3))),
        _ => return fold_longer(add, len, &elements),
    })
}

/// [`fold_present`] of more than 4 elements, out of line so that the loop over short rows stays small.
#[inline(never)]
fn fold_longer<T: Element, M: Monoid<T>>(add: M, len: usize, elements: &impl Elements<T>) -> Option<T> {
    Some(match len {
        0..=8 => fold_short::<T, M, 4>(add, len, elements),
        9..=16 => fold_short::<T, M, 8>(add, len, elements),
        17..LANES => fold_short::<T, M, 16>(add, len, elements),
        LANES..=SEGMENT => fold_segment(add, 0, len, elements),
        _ => {
            let mut pairs = Pairs::new(add);
            for first in (0..len).step_by(SEGMENT) {
                let end = (first + SEGMENT).min(len);
                pairs.push(match end - first {
                    rest @ 0..LANES => fold_rest(add, first, rest, elements),
                    _ => Some(fold_segment(add, first, end, elements)),
                });
            }
            return pairs.finish();
        }
    })
}

/// Folds the `len` elements from position `first` on: fewer than [`LANES`], the last segment of a long row.
#[inline(never)]
fn fold_rest<T: Element, M: Monoid<T>>(add: M, first: usize, len: usize, elements: &impl Elements<T>) -> Option<T> {
    let mut tree = Tree::new(add, LANES);
    (0..len).for_each(|p| tree.push(p, elements.at(first + p)));
    tree.finish()
}

/// Folds `HALF + 1` to `2 * HALF` elements: the second half of the lanes into the first, then the first by halves.
#[inline(always)]
fn fold_short<T: Element, M: Monoid<T>, const HALF: usize>(add: M, len: usize, elements: &impl Elements<T>) -> T {
    let mut lanes = [T::ZERO; HALF];
    for (lane, held) in lanes.iter_mut().enumerate() {
        *held = elements.at(lane);
    }
    for p in HALF..len {
        lanes[p - HALF] = add.call(lanes[p - HALF], elements.at(p));
    }
    join_halves(add, lanes)
}

/// Folds the elements at positions `first..end` of one segment, at least [`LANES`].
#[inline(always)]
fn fold_segment<T: Element, M: Monoid<T>>(add: M, first: usize, end: usize, elements: &impl Elements<T>) -> T {
    let mut lanes = [T::ZERO; LANES];
    for (lane, held) in lanes.iter_mut().enumerate() {
        *held = elements.at(first + lane);
    }
    let mut at = first + LANES;
    while at + LANES <= end {
        for (lane, held) in lanes.iter_mut().enumerate() {
            *held = add.call(*held, elements.at(at + lane));
        }
        at += LANES;
    }
    for p in at..end {
        lanes[p - at] = add.call(lanes[p - at], elements.at(p));
    }
    join_halves(add, lanes)
}

/// Joins lanes by halves: `l` with `l + W / 2`, then `+ W / 4`, and so on.
#[inline(always)]
fn join_halves<T: Element, M: Monoid<T>, const W: usize>(add: M, mut lanes: [T; W]) -> T {
    let mut step = W / 2;
    while step > 0 {
        for lane in 0..step {
            lanes[lane] = add.call(lanes[lane], lanes[lane + step]);
        }
        step /= 2;
    }
    lanes[0]
}

/// The entries of a compressed row: columns and weights.
#[inline(always)]
fn entries<A: Element>(csr: &Csr<A>, row: usize) -> impl DoubleEndedIterator<Item = (&u32, &A)> {
    let (columns, weights) = csr.row(row);
    columns.iter().zip(weights)
}

/// Folds a compressed row's entries in the order given, for an exact monoid.
#[inline(always)]
fn fold_entries<'a, X, A, S, U>(
    u: &U,
    mut entries: impl Iterator<Item = (&'a u32, &'a A)>,
    ring: S,
    until: impl Fn(S::Out) -> bool,
) -> Option<S::Out>
where
    X: Element,
    A: Element,
    S: Semiring<X, A>,
    U: VectorView<T = X>,
{
    let (add, mul, u) = (ring.add(), ring.mul(), u.clone());
    if u.is_full() {
        // the common case has no presence test in the loop
        let (&k, &weight) = entries.next()?;
        let mut sum = mul.call(u.value(k as usize), weight);
        for (&k, &weight) in entries {
            if add.is_terminal(sum) || until(sum) {
                break;
            }
            sum = add.call(sum, mul.call(u.value(k as usize), weight));
        }
        return Some(sum);
    }
    let mut sum = None;
    for (&k, &weight) in entries {
        if let Some(x) = u.at(k as usize) {
            let product = mul.call(x, weight);
            let joined = sum.map_or(product, |sum| add.call(sum, product));
            sum = Some(joined);
            if add.is_terminal(joined) || until(joined) {
                break;
            }
        }
    }
    sum
}

/// [`fold_row`] with an edge filter, for a full vector, an exact monoid and compressed rows. An entry is folded if
/// `takes(column, element)` holds.
#[inline(always)]
pub fn fold_filtered<X, A, S, U>(
    u: &U,
    csr: &Csr<A>,
    row: usize,
    ring: S,
    takes: impl Fn(usize, X) -> bool,
    until: impl Fn(S::Out) -> bool,
) -> Option<S::Out>
where
    X: Element,
    A: Element,
    S: Semiring<X, A>,
    U: VectorView<T = X>,
{
    let (columns, weights) = csr.row(row);
    let (add, mul, u) = (ring.add(), ring.mul(), u.clone());
    let (mut sum, mut some) = (add.identity(), false);
    for (&k, &weight) in columns.iter().zip(weights) {
        let x = u.value(k as usize);
        // No branch depends on the filter. It is often unpredictable, and a misprediction would discard the loads of the next elements.
        let (takes, product) = (takes(k as usize, x), mul.call(x, weight));
        let joined = if some { add.call(sum, product) } else { product };
        sum = if takes { joined } else { sum };
        some |= takes;
        if some && (add.is_terminal(sum) || until(sum)) {
            break;
        }
    }
    some.then_some(sum)
}

/// Folds a row of tiles, for an exact monoid.
#[inline(always)]
fn fold_tiles<X, A, S, U>(
    u: &U,
    tiles: &Tiles<A>,
    row: usize,
    ring: S,
    until: impl Fn(S::Out) -> bool,
) -> Option<S::Out>
where
    X: Element,
    A: Element,
    S: Semiring<X, A>,
    U: VectorView<T = X>,
{
    let (add, mul) = (ring.add(), ring.mul());
    let mut sum: Option<S::Out> = None;
    tiles.for_each(row, |_, k, weight| {
        let Some(x) = u.at(k as usize) else { return true };
        let product = mul.call(x, weight);
        let joined = sum.map_or(product, |sum| add.call(sum, product));
        sum = Some(joined);
        !add.is_terminal(joined) && !until(joined)
    });
    sum
}

/// The entries of a matrix that are counted: those of tiles, and those of rows.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'s, A: Element> {
    /// Entries in tiles.
    pub tiles: Option<&'s Tiles<A>>,
    /// Entries that are in no tile.
    pub rows: Option<&'s Csr<A>>,
}

/// A counting product over one row: `constant`, the value of every product, folded once per entry in a column where the operand
/// holds an element. `present` is the operand's presence bitmap. If `constant` is terminal, one such entry is enough.
#[inline(always)]
pub fn count_row<A: Element, T: Element, M: Monoid<T>>(
    present: &[u64],
    counted: &Counted<'_, A>,
    row: usize,
    add: M,
    constant: T,
) -> Option<T> {
    let (mut count, one_decides) = (0u64, add.is_terminal(constant));
    for (tile_column, bits) in counted.tiles.into_iter().flat_map(|tiles| tiles.row(row)) {
        let slice = (present[tile_column / 4] >> (16 * (tile_column % 4))) as u16;
        count += u64::from((bits & slice).count_ones());
        if one_decides && count > 0 {
            return Some(constant);
        }
    }
    let columns = counted.rows.map_or(&[][..], |rows| rows.row(row).0);
    let bit = |column: u32| present[column as usize / 64] >> (column % 64) & 1;
    if one_decides {
        return columns.iter().any(|&column| bit(column) > 0).then_some(constant);
    }
    // without a branch, since whether an element is present can't be foretold
    count += columns.iter().map(|&column| bit(column)).sum::<u64>();
    (count > 0).then(|| add.repeat(constant, count))
}
