//! Push: each element of a sparse vector is multiplied along its row, and the products are folded at their columns.

use crate::backend::cpu::parallel;
use crate::backend::plan;
use crate::backend::view::{Support, VectorView};
use crate::memory;
use crate::formats::bitmap::words;
use crate::formats::{Csr, Sparse, Store};
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring};

/// `w[j] = ⊕ over i of u[i] ⊗ rows[i, j]` by pushing each element of `u` along its row.
///
/// Every column's products are folded in ascending order of `i`, for any number of threads. Takes O(work) time, where work is the number of
/// entries in the rows of `u`'s elements. Little work runs on the calling thread. Otherwise products are first binned by ranges of
/// columns, which takes O(work) memory, so that no two threads write the same place.
///
/// The monoid must be exact. An inexact one is folded over the fixed tree by position in the column, and a push doesn't know positions.
pub fn scatter<X, A, S, U>(u: &U, rows: &Csr<A>, ring: S) -> Store<S::Out>
where
    X: Element,
    A: Element,
    S: Semiring<X, A>,
    U: VectorView<T = X>,
{
    debug_assert!(S::Add::EXACT, "an inexact monoid folds over its fixed tree: pull");
    let support = u.support();
    let list = support.list(rows.nrows());
    let is_listed = matches!(support, Support::List(_));
    let sources: Vec<(u32, X)> = list
        .iter()
        .enumerate()
        .filter_map(|(k, &i)| {
            let value = if is_listed { u.at_listed(k, i as usize) } else { u.at(i as usize) };
            value.map(|value| (i, value))
        })
        .collect();
    let work: u64 = sources.iter().map(|&(i, _)| rows.degree(i as usize) as u64).sum();
    let entry = size_of::<u32>() + size_of::<A>();
    let _reading = memory::read_at_places(rows.offsets(), sources.len(), work * entry as u64);
    let n = rows.ncols();
    let threads = parallel::threads();
    let (touched, values) = with_workspace(n, |places: &mut [S::Out], seen: &mut [u64]| {
        if parallel::is_little(0, work) || threads == 1 {
            let mut columns = Columns::new(0, places, seen, ring.add(), work as usize);
            products(&sources, rows, ring, |j, product| columns.accumulate(j, product));
            return columns.finish();
        }
        // the width is a power of two, so that a shift finds a column's range
        let width = n.div_ceil(threads * 4).next_power_of_two().max(64);
        let ranges = n.div_ceil(width);
        let cuts = chunk_bounds(&sources, rows, work / (threads as u64 * 4));
        let binned = parallel::collect(cuts.len() - 1, &|p| {
            let mut bins: Vec<Vec<(u32, S::Out)>> = vec![Vec::new(); ranges];
            let shift = width.trailing_zeros();
            products(&sources[cuts[p]..cuts[p + 1]], rows, ring, |j, product| {
                bins[(j >> shift) as usize].push((j, product))
            });
            bins
        });
        let mut folded: Vec<(Vec<u32>, Vec<S::Out>)> = vec![Default::default(); ranges];
        let tasks = places.chunks_mut(width).zip(seen.chunks_mut(width / 64)).zip(&mut folded).enumerate().collect();
        parallel::each(tasks, &|(range, ((places, seen), out)): (usize, ((&mut [_], &mut [u64]), &mut _))| {
            // chunks come in order, so that each column's products stay in order of row
            let bins = || binned.iter().map(|bins| &bins[range]);
            let mut columns = Columns::new(range * width, places, seen, ring.add(), bins().map(Vec::len).sum());
            bins().for_each(|bin| bin.iter().for_each(|&(j, product)| columns.accumulate(j, product)));
            *out = columns.finish();
        });
        let (touched, values): (Vec<_>, Vec<_>) = folded.into_iter().unzip();
        (touched.concat(), values.concat())
    });
    let sparse = Store::Sparse(Sparse::new(n, touched, values));
    if plan::is_sparse(sparse.nvals(), n) { sparse } else { Store::Bitmap(sparse.into_bitmap()) }
}

/// Calls `f(column, product)` for every product: sources in order, and each source's columns ascending.
#[inline(always)]
fn products<X, A, S>(sources: &[(u32, X)], rows: &Csr<A>, ring: S, mut f: impl FnMut(u32, S::Out))
where
    X: Element,
    A: Element,
    S: Semiring<X, A>,
{
    for &(i, x) in sources {
        let (columns, weights) = rows.row(i as usize);
        for (&j, &weight) in columns.iter().zip(weights) {
            f(j, ring.mul().call(x, weight));
        }
    }
}

/// The bounds that cut the sources into chunks of about `target` products each: indices from 0 to the number of sources.
fn chunk_bounds<X, A: Element>(sources: &[(u32, X)], rows: &Csr<A>, target: u64) -> Vec<usize> {
    let (mut cuts, mut gathered) = (vec![0], 0);
    for (k, &(i, _)) in sources.iter().enumerate() {
        if gathered >= target {
            cuts.push(k);
            gathered = 0;
        }
        gathered += rows.degree(i as usize) as u64;
    }
    cuts.push(sources.len());
    cuts
}

/// A range of columns that accumulates products. It borrows its storage from the workspace.
struct Columns<'w, T, M> {
    /// The first column of the range.
    first: usize,
    /// A value per column. It means something only if the column's bit in `seen` is set.
    places: &'w mut [T],
    /// A bit per column: whether it has got a product.
    seen: &'w mut [u64],
    add: M,
    /// The columns that have got a product, in order of arrival. `None` if many products are expected; the bits are scanned then.
    touched: Option<Vec<u32>>,
}

impl<'w, T: Element, M: Monoid<T>> Columns<'w, T, M> {
    /// A range from column `first` on, with all bits 0. At most `arriving` products will come.
    fn new(first: usize, places: &'w mut [T], seen: &'w mut [u64], add: M, arriving: usize) -> Self {
        // above this number, sorting the columns takes longer than scanning all bits
        let few = arriving <= places.len() / 2048;
        Self { first, places, seen, add, touched: few.then(Vec::new) }
    }

    /// Folds one product into its column.
    #[inline(always)]
    fn accumulate(&mut self, column: u32, product: T) {
        let j = column as usize - self.first;
        let (word, mask) = (j / 64, 1u64 << (j % 64));
        let place = &mut self.places[j];
        if self.seen[word] & mask != 0 {
            *place = self.add.call(*place, product);
            return;
        }
        self.seen[word] |= mask;
        *place = product;
        if let Some(touched) = &mut self.touched {
            touched.push(column);
        }
    }

    /// The columns that have got a product, ascending, and their values. Clears all bits.
    fn finish(self) -> (Vec<u32>, Vec<T>) {
        let Self { first, places, seen, touched, .. } = self;
        if let Some(mut touched) = touched {
            touched.sort_unstable();
            touched.iter().for_each(|&j| seen[(j as usize - first) / 64] = 0);
            let values = touched.iter().map(|&j| places[j as usize - first]).collect();
            return (touched, values);
        }
        let count = seen.iter().map(|word| word.count_ones() as usize).sum();
        let (mut columns, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (w, word) in seen.iter_mut().enumerate() {
            let mut rest = std::mem::take(word);
            while rest != 0 {
                let j = w * 64 + rest.trailing_zeros() as usize;
                columns.push((first + j) as u32);
                values.push(places[j]);
                rest &= rest - 1;
            }
        }
        (columns, values)
    }
}

/// Calls `f` with `n` places and their bits, which are all 0. `f` must leave the bits all 0.
///
/// The workspace is kept per thread and element type. A loop may push thousands of times, and fresh memory can cost more than a push.
fn with_workspace<T: Element, R>(n: usize, f: impl FnOnce(&mut [T], &mut [u64]) -> R) -> R {
    thread_local! {
        static KEPT: RefCell<HashMap<TypeId, Box<dyn Any>>> = RefCell::default();
    }
    let key = TypeId::of::<T>();
    let kept = KEPT.with_borrow_mut(|kept| kept.remove(&key));
    let mut space: Box<(Vec<T>, Vec<u64>)> = kept.and_then(|space| space.downcast().ok()).unwrap_or_default();
    if space.0.len() < n {
        space.0.resize(n, T::ZERO);
        space.1.resize(words(n), 0);
    }
    let result = f(&mut space.0[..n], &mut space.1[..words(n)]);
    KEPT.with_borrow_mut(|kept| kept.insert(key, space));
    result
}
