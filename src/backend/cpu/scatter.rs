//! Push: the products of a sparse vector's elements, scattered to their columns and folded in ascending order of row.

use super::gather::SEQUENTIAL;
use super::share;
use crate::backend::plan;
use crate::backend::view::{At, Support};
use crate::formats::bitmap::words;
use crate::formats::{Csr, Sparse, Store};
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring};

/// `w[j] = ⊕ over i of u[i] ⊗ rows[i, j]` by pushing each element of `u` along its row.
///
/// Every column's products are folded in ascending order of `i`, whatever the number of threads. O(work) time, where work is the
/// number of entries in the rows of `u`'s elements. Little work is done on the calling thread; the products of more are dealt to ranges
/// of columns first, which costs O(work) bytes, so that no two threads write one place.
///
/// Exact monoids only: an inexact one needs its fixed tree, which only rows in order of column can give.
pub fn scatter<X, A, S, U>(u: &U, rows: &Csr<A>, ring: S) -> Store<S::Out>
where
    X: Element,
    A: Element,
    S: Semiring<X, A>,
    U: At<T = X>,
{
    debug_assert!(S::Add::EXACT, "an inexact monoid folds over its fixed tree: pull");
    let support = u.support();
    let list = support.list(rows.nrows());
    let own = matches!(support, Support::List(_));
    let sources: Vec<(u32, X)> = list
        .iter()
        .enumerate()
        .filter_map(|(k, &i)| {
            let value = if own { u.drawn(k, i as usize) } else { u.at(i as usize) };
            value.map(|value| (i, value))
        })
        .collect();
    let work: u64 = sources.iter().map(|&(i, _)| rows.degree(i as usize) as u64).sum();
    let n = rows.ncols();
    let threads = rayon::current_num_threads();
    let (touched, values) = with_workspace(n, |places: &mut [S::Out], seen: &mut [u64]| {
        if work < 4 * SEQUENTIAL as u64 || threads == 1 {
            let mut landing = Landing::new(0, places, seen, ring.add(), work as usize);
            products(&sources, rows, ring, |j, product| landing.land(j, product));
            return landing.finish();
        }
        // powers of two, so that a column's range is a shift
        let width = n.div_ceil(threads * 4).next_power_of_two().max(64);
        let ranges = n.div_ceil(width);
        let cuts = pieces(&sources, rows, work / (threads as u64 * 4));
        let dealt = share::collect(cuts.len() - 1, &|p| {
            let mut buckets: Vec<Vec<(u32, S::Out)>> = vec![Vec::new(); ranges];
            let shift = width.trailing_zeros();
            products(&sources[cuts[p]..cuts[p + 1]], rows, ring, |j, product| {
                buckets[(j >> shift) as usize].push((j, product))
            });
            buckets
        });
        let mut landed: Vec<(Vec<u32>, Vec<S::Out>)> = vec![Default::default(); ranges];
        let tasks = places.chunks_mut(width).zip(seen.chunks_mut(width / 64)).zip(&mut landed).enumerate().collect();
        share::each(tasks, &|(range, ((places, seen), out)): (usize, ((&mut [_], &mut [u64]), &mut _))| {
            // pieces in order, so that each column's products stay in order of row
            let arrived = || dealt.iter().map(|buckets| &buckets[range]);
            let mut landing = Landing::new(range * width, places, seen, ring.add(), arrived().map(Vec::len).sum());
            arrived().for_each(|bucket| bucket.iter().for_each(|&(j, product)| landing.land(j, product)));
            *out = landing.finish();
        });
        let (touched, values): (Vec<_>, Vec<_>) = landed.into_iter().unzip();
        (touched.concat(), values.concat())
    });
    let sparse = Store::Sparse(Sparse::new(n, touched, values));
    if plan::is_sparse(sparse.nvals(), n) { sparse } else { Store::Bitmap(sparse.into_bitmap()) }
}

/// Calls `f(column, product)` for every product, sources in order, columns ascending.
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

/// Where to cut the sources into pieces of about `share` products each: from 0 to their number.
fn pieces<X, A: Element>(sources: &[(u32, X)], rows: &Csr<A>, share: u64) -> Vec<usize> {
    let (mut cuts, mut gathered) = (vec![0], 0);
    for (k, &(i, _)) in sources.iter().enumerate() {
        if gathered >= share {
            cuts.push(k);
            gathered = 0;
        }
        gathered += rows.degree(i as usize) as u64;
    }
    cuts.push(sources.len());
    cuts
}

/// A range of columns, from `first`, on which products land: its places and which of them hold something are a workspace.
struct Landing<'w, T, M> {
    first: usize,
    places: &'w mut [T],
    seen: &'w mut [u64],
    add: M,
    /// Where products landed, in order of arrival, if those are few.
    touched: Option<Vec<u32>>,
}

impl<'w, T: Element, M: Monoid<T>> Landing<'w, T, M> {
    /// Expects `arriving` products.
    fn new(first: usize, places: &'w mut [T], seen: &'w mut [u64], add: M, arriving: usize) -> Self {
        // sorting so many takes about as long as reading all bits
        let few = arriving <= places.len() / 2048;
        Self { first, places, seen, add, touched: few.then(Vec::new) }
    }

    #[inline(always)]
    fn land(&mut self, column: u32, product: T) {
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

    /// What landed, by column; the bits are all 0 again.
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

/// Lends at least `n` places and their bits, all 0: kept a thread and type, because a fixpoint pushes thousands of times and
/// fresh memory costs more than the push. The closure leaves the bits all 0.
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
