//! Push: the products of a sparse vector's elements, scattered to their columns and folded in ascending order of row.

use super::gather::SEQUENTIAL;
use super::share;
use crate::backend::plan;
use crate::backend::view::{At, Support};
use crate::formats::bitmap::{Bitmap, ones, words};
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
    if work < 16 * SEQUENTIAL as u64 || rayon::current_num_threads() == 1 {
        scatter_one(&sources, rows, ring)
    } else {
        scatter_many(&sources, work, rows, ring)
    }
}

/// On the calling thread: into a workspace with a place for every column, remembering which were touched.
fn scatter_one<X, A, S>(sources: &[(u32, X)], rows: &Csr<A>, ring: S) -> Store<S::Out>
where
    X: Element,
    A: Element,
    S: Semiring<X, A>,
{
    let n = rows.ncols();
    with_workspace(n, |places: &mut [S::Out], seen: &mut [u64]| {
        let mut touched = Vec::new();
        for &(i, x) in sources {
            let (columns, weights) = rows.row(i as usize);
            for (&j, &weight) in columns.iter().zip(weights) {
                let product = ring.mul().call(x, weight);
                let (word, mask) = (j as usize / 64, 1u64 << (j % 64));
                let place = &mut places[j as usize];
                if seen[word] & mask == 0 {
                    seen[word] |= mask;
                    *place = product;
                    touched.push(j);
                } else {
                    *place = ring.add().call(*place, product);
                }
            }
        }
        // many: read the bits in order; few: sort what was touched
        if touched.len() > n / 256 {
            touched = ones(seen, 0).map(|j| j as u32).collect();
            seen.fill(0);
        } else {
            touched.sort_unstable();
            for &j in &touched {
                seen[j as usize / 64] = 0;
            }
        }
        let values = touched.iter().map(|&j| places[j as usize]).collect();
        let sparse = Store::Sparse(Sparse::new(n, touched, values));
        if plan::is_sparse(sparse.nvals(), n) { sparse } else { Store::Bitmap(sparse.into_bitmap()) }
    })
}

/// On all threads: chunks of sources deal their products into ranges of columns, then each range is folded by one thread, chunk
/// after chunk, so in ascending order of source. No two threads write one place.
fn scatter_many<X, A, S>(sources: &[(u32, X)], work: u64, rows: &Csr<A>, ring: S) -> Store<S::Out>
where
    X: Element,
    A: Element,
    S: Semiring<X, A>,
{
    let n = rows.ncols();
    let threads = rayon::current_num_threads();
    let ranges = (threads * 4).min(words(n)).max(1);
    let width = words(n).div_ceil(ranges) * 64;
    let ranges = n.div_ceil(width);
    let share = work / (threads as u64 * 4) + 1;
    let mut chunks = Vec::new();
    let (mut first, mut sum) = (0, 0);
    for (k, &(i, _)) in sources.iter().enumerate() {
        sum += rows.degree(i as usize) as u64;
        if sum >= share || k + 1 == sources.len() {
            chunks.push(&sources[first..=k]);
            (first, sum) = (k + 1, 0);
        }
    }
    let dealt = share::collect(chunks.len(), &|chunk| {
        let mut hands: Vec<Vec<(u32, S::Out)>> = vec![Vec::new(); ranges];
        for &(i, x) in chunks[chunk] {
            let (columns, weights) = rows.row(i as usize);
            for (&j, &weight) in columns.iter().zip(weights) {
                hands[j as usize / width].push((j, ring.mul().call(x, weight)));
            }
        }
        hands
    });
    let mut values = vec![S::Out::ZERO; n];
    let mut bits = vec![0u64; words(n)];
    let pieces = values.chunks_mut(width).zip(bits.chunks_mut(width / 64)).enumerate().collect();
    share::each(pieces, &|(range, (values, bits)): (usize, (&mut [S::Out], &mut [u64]))| {
        for &(j, product) in dealt.iter().flat_map(|hands| &hands[range]) {
            let j = j as usize - range * width;
            let (word, mask) = (j / 64, 1u64 << (j % 64));
            if bits[word] & mask == 0 {
                bits[word] |= mask;
                values[j] = product;
            } else {
                values[j] = ring.add().call(values[j], product);
            }
        }
    });
    let bitmap = Bitmap::new(values, bits);
    if plan::is_sparse(bitmap.nvals(), n) {
        return Store::Sparse(Store::Bitmap(bitmap).into_sparse());
    }
    Store::Bitmap(bitmap)
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
