//! Push: the products of a sparse vector's elements, scattered to their columns and folded in ascending order of row.

use super::gather::SEQUENTIAL;
use super::share;
use crate::backend::plan;
use crate::backend::view::{At, Support};
use crate::formats::bitmap::{ones, words};
use crate::formats::{Csr, Sparse, Store};
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring};

/// `w[j] = ⊕ over i of u[i] ⊗ rows[i, j]` by pushing each element of `u` along its row.
///
/// Every column's products are folded in ascending order of `i`, whatever the number of threads. O(work) time, where work is the
/// number of entries in the rows of `u`'s elements; a large work also costs O(ncols / 8) bytes.
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
    let ranges = if work < 16 * SEQUENTIAL as u64 || threads == 1 { 1 } else { (threads * 2).min(MOST_RANGES) };
    let width = words(n).div_ceil(ranges).max(1) * 64;
    let (touched, values) = with_workspace(n, |places: &mut [S::Out], seen: &mut [u64]| {
        let ranges: Vec<_> = places.chunks_mut(width).zip(seen.chunks_mut(width / 64)).collect();
        if ranges.len() == 1 {
            return ranges.into_iter().map(|(places, seen)| land(&sources, 0, places, seen, rows, ring)).collect();
        }
        let mut landed: Vec<(Vec<u32>, Vec<S::Out>)> = vec![Default::default(); ranges.len()];
        let tasks = ranges.into_iter().zip(&mut landed).enumerate().collect();
        share::each(tasks, &|(range, ((places, seen), out)): (usize, ((&mut [_], &mut [u64]), &mut _))| {
            *out = land(&sources, range * width, places, seen, rows, ring);
        });
        landed
    })
    .into_iter()
    .reduce(|(mut touched, mut values), (more_touched, more_values)| {
        touched.extend(more_touched);
        values.extend(more_values);
        (touched, values)
    })
    .unwrap_or_default();
    let sparse = Store::Sparse(Sparse::new(n, touched, values));
    if plan::is_sparse(sparse.nvals(), n) { sparse } else { Store::Bitmap(sparse.into_bitmap()) }
}

/// More ranges than this, and walking the sources once for each outweighs the work.
const MOST_RANGES: usize = 16;

/// What lands in one range of columns, from `first`: its places, those `seen` among them, are a workspace. Columns of a row ascend,
/// so each range finds its part of a row by bisection, and no two threads write one place.
fn land<X, A, S>(
    sources: &[(u32, X)],
    first: usize,
    places: &mut [S::Out],
    seen: &mut [u64],
    rows: &Csr<A>,
    ring: S,
) -> (Vec<u32>, Vec<S::Out>)
where
    X: Element,
    A: Element,
    S: Semiring<X, A>,
{
    let whole = places.len() == rows.ncols();
    let mut touched: Vec<u32> = Vec::new();
    for &(i, x) in sources {
        let (mut columns, mut weights) = rows.row(i as usize);
        if !whole {
            let from = columns.partition_point(|&j| (j as usize) < first);
            let upto = from + columns[from..].partition_point(|&j| (j as usize) < first + places.len());
            (columns, weights) = (&columns[from..upto], &weights[from..upto]);
        }
        for (&j, &weight) in columns.iter().zip(weights) {
            let product = ring.mul().call(x, weight);
            let j = j as usize - first;
            let (word, mask) = (j / 64, 1u64 << (j % 64));
            let place = &mut places[j];
            if seen[word] & mask == 0 {
                seen[word] |= mask;
                *place = product;
                touched.push(j as u32);
            } else {
                *place = ring.add().call(*place, product);
            }
        }
    }
    // many: read the bits in order; few: sort what was touched
    if touched.len() > places.len() / 256 {
        touched.clear();
        touched.extend(ones(seen, 0).map(|j| j as u32));
        seen.fill(0);
    } else {
        touched.sort_unstable();
        touched.iter().for_each(|&j| seen[j as usize / 64] = 0);
    }
    let values = touched.iter().map(|&j| places[j as usize]).collect();
    touched.iter_mut().for_each(|j| *j += first as u32);
    (touched, values)
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
