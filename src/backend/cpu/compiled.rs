//! Rows by machine code, for semirings that were made at run time.

use crate::backend::cpu::fold::{LANES, Pairs, Rows, SEGMENT};
use crate::backend::tuning::{PUSHED_ENTRIES, tuning};
use crate::backend::view::VectorView;
use crate::formats::{Csr, Shared};
use vxm_semiring::dynamic::jit::{self, RowFold, RowPush};
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring};

const _: () = assert!(LANES == jit::LANES && SEGMENT == jit::SEGMENT, "one tree for interpreted and compiled programs");

/// Makes code for the rows of a product that folds so many entries, if that pays. `reversed` says that rows are read from their ends.
pub fn prepare<X: Element, A: Element, S: Semiring<X, A>>(ring: S, entries: usize, reversed: bool) {
    if S::Mul::IS_PROGRAM && entries >= tuning().compiled_entries {
        jit::prepare(ring, reversed);
        told("fold", RowFold::of(ring, reversed).is_some());
    }
}

/// As [`prepare`], for a loop that pushes along the rows of a matrix.
pub fn prepare_push<X: Element, A: Element, S: Semiring<X, A>>(ring: S, entries: usize) {
    if S::Mul::IS_PROGRAM && entries >= tuning().compiled_entries {
        jit::prepare_push(ring);
        told("push", RowPush::of(ring, true).is_some());
    }
}

/// Tells the log whether rows run machine code.
fn told(rows: &str, compiled: bool) {
    tracing::debug!(rows, compiled, "programs");
}

/// The fold of a row, if there is code for it and the vector's elements lie in memory.
#[inline(always)]
pub fn fold_row<U, A, S>(u: &U, rows: Rows<'_, A>, row: usize, ring: S) -> Option<Option<S::Out>>
where
    U: VectorView,
    A: Element,
    S: Semiring<U::T, A>,
{
    let (csr, reversed) = match rows {
        Rows::Csr(csr) => (csr, false),
        Rows::Reversed(csr) => (csr, true),
        Rows::Tiles(_) => return None,
    };
    let (elements, code) = (u.elements()?, RowFold::of(ring, reversed)?);
    if elements.len() < csr.ncols() {
        return None;
    }
    let (columns, weights) = csr.row(row);
    let fold = |columns: &[u32], weights: &[A]| {
        // SAFETY: columns of a matrix are below their number, and there are as many elements
        unsafe { code.fold(columns, weights, elements.cast()) }
    };
    if S::Add::EXACT || columns.len() <= SEGMENT {
        return Some(fold(columns, weights));
    }
    let mut pairs = Pairs::new(ring.add());
    columns.chunks(SEGMENT).zip(weights.chunks(SEGMENT)).for_each(|(columns, weights)| pairs.push(fold(columns, weights)));
    Some(pairs.finish())
}

/// Joins the products of `x` along the entries of a row into the elements at the other ends, as
/// [`Relax::push`](crate::backend::cpu::relax::Relax::push) does. Returns false if there is no code for that.
#[inline(always)]
pub fn push<X: Element, A: Element, S: Semiring<X, A>>(
    ring: S,
    x: X,
    (rows, row): (&Csr<A>, usize),
    (state, alone): (&Shared<S::Out>, bool),
    changed: &mut Vec<(u32, S::Out)>,
) -> bool {
    let code = RowPush::<X, A, S::Out>::of(ring, alone);
    let (Some(code), Some(elements)) = (code, state.view().elements()) else { return false };
    if elements.len() < rows.ncols() {
        return false;
    }
    let (columns, weights) = rows.row(row);
    let (mut found, mut before) = ([0; PUSHED_ENTRIES], [S::Out::ZERO; PUSHED_ENTRIES]);
    let mut first = 0;
    while first < columns.len() {
        let part = first..(first + PUSHED_ENTRIES).min(columns.len());
        let (columns, weights) = (&columns[part.clone()], &weights[part]);
        // SAFETY: columns of a matrix are below their number, and there are as many elements. They are atomic words, so threads may write
        // them through a shared reference; `alone` is the caller's promise
        let number = unsafe { code.push(columns, weights, x, elements.cast_mut().cast(), (&mut found, &mut before)) };
        for at in 0..number {
            changed.push((columns[found[at] as usize], before[at]));
        }
        first += PUSHED_ENTRIES;
    }
    true
}
