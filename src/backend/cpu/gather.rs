//! Evaluation of a view into a new vector, and reduction of a view, in parallel.

use crate::backend::cpu::fold::{Pairs, SEGMENT, Tree};
use crate::backend::cpu::dyn_view::DynView;
use crate::backend::cpu::parallel;
use crate::backend::plan;
use crate::backend::tuning::tuning;
use crate::backend::view::{Support, VectorView};
use crate::formats::bitmap::{Bitmap, ones, words};
use crate::formats::{Sparse, Store};
use vxm_semiring::{Element, Monoid};

/// Evaluates `view`, a vector of length `n`. Takes time for the work at the indices of its support, and O(n) unless that is a list.
pub fn gather<V: VectorView>(n: usize, view: &V) -> Store<V::T> {
    match view.fixed() {
        Some(fixed) => gather_view(n, &fixed),
        None => gather_view(n, &DynView::of(view)),
    }
}

/// The same, without a look for a better form of the view.
fn gather_view<V: VectorView>(n: usize, view: &V) -> Store<V::T> {
    match view.support() {
        Support::List(list) => Store::Sparse(gather_list(n, view, list, true)),
        Support::Bits(bits) => {
            let count = Support::Bits(bits).count(n);
            if plan::is_sparse(count, n) {
                let list: Vec<u32> = ones(bits, 0).map(|i| i as u32).collect();
                Store::Sparse(gather_list(n, view, &list, false))
            } else {
                gather_bitmap(n, view, Some(bits))
            }
        }
        Support::All => gather_bitmap(n, view, None),
    }
}

/// Evaluates the elements at the indices of `list`. `is_support` says that the list is the view's own support.
fn gather_list<V: VectorView>(n: usize, view: &V, list: &[u32], is_support: bool) -> Sparse<V::T> {
    let run = |first: usize, list: &[u32]| -> (Vec<u32>, Vec<V::T>) {
        let (mut indices, mut values) = (Vec::with_capacity(list.len()), Vec::with_capacity(list.len()));
        for (k, &i) in (first..).zip(list) {
            if let Some(value) = if is_support { view.at_listed(k, i as usize) } else { view.at(i as usize) } {
                indices.push(i);
                values.push(value);
            }
        }
        (indices, values)
    };
    if is_small(view, list) {
        let (indices, values) = run(0, list);
        return Sparse::new(n, indices, values);
    }
    let chunk = parallel::chunk_size(list.len());
    let runs = parallel::collect(list.len().div_ceil(chunk), &|p| {
        run(p * chunk, &list[p * chunk..((p + 1) * chunk).min(list.len())])
    });
    let (mut indices, mut values) = (Vec::with_capacity(list.len()), Vec::with_capacity(list.len()));
    for (some_indices, some_values) in runs {
        indices.extend(some_indices);
        values.extend(some_values);
    }
    Sparse::new(n, indices, values)
}

/// Whether the work at the indices of `list` is too little to share out among threads.
pub fn is_small<V: VectorView>(view: &V, list: &[u32]) -> bool {
    if list.len() >= tuning().sequential || parallel::threads() == 1 {
        return list.len() < tuning().sequential;
    }
    let cost = |work: &[u64], i: usize| work[i + 1] - work[i];
    match view.work() {
        None => true,
        Some(work) => parallel::is_little(0, list.iter().map(|&i| cost(work, i as usize)).sum()),
    }
}

/// Evaluates the elements at the indices of set bits, or at all indices, into a bitmap. The result is a list if few are present.
fn gather_bitmap<V: VectorView>(n: usize, view: &V, bits: Option<&[u64]>) -> Store<V::T> {
    let mut values = vec![V::T::ZERO; n];
    let mut present = vec![0u64; words(n)];
    let fill = |first: usize, values: &mut [V::T], present: &mut [u64]| {
        for (w, word) in present.iter_mut().enumerate() {
            let base = (first + w) * 64;
            let places = &mut values[w * 64..((w + 1) * 64).min(n - first * 64)];
            match bits {
                Some(bits) => {
                    for i in ones(&bits[first + w..=first + w], 0) {
                        if let Some(value) = view.at(base + i) {
                            places[i] = value;
                            *word |= 1 << i;
                        }
                    }
                }
                None => {
                    // no branch on presence: it is often unpredictable
                    for (i, place) in places.iter_mut().enumerate() {
                        let value = view.at(base + i);
                        *word |= u64::from(value.is_some()) << i;
                        *place = value.unwrap_or(V::T::ZERO);
                    }
                }
            }
        }
    };
    if parallel::is_little(n, view.work().map_or(0, |work| work[n])) {
        fill(0, &mut values, &mut present);
    } else {
        let cuts = chunk_bounds(n, view.work());
        let (mut rest_values, mut rest_present) = (&mut values[..], &mut present[..]);
        let mut chunks = Vec::with_capacity(cuts.len());
        for cut in cuts.windows(2) {
            let (first, end) = (cut[0], cut[1]);
            let (v, rv) = rest_values.split_at_mut((end * 64).min(n) - first * 64);
            let (p, rp) = rest_present.split_at_mut(end - first);
            (rest_values, rest_present) = (rv, rp);
            chunks.push((first, v, p));
        }
        parallel::each(chunks, &|(first, v, p)| fill(first, v, p));
    }
    let bitmap = Bitmap::new(values, present);
    if plan::is_sparse(bitmap.nvals(), n) {
        return Store::Sparse(Store::Bitmap(bitmap).into_sparse());
    }
    Store::Bitmap(bitmap)
}

/// The bounds that cut `n` indices into chunks of about equal work. Bounds are numbers of bitmap words, ascending from 0 to `words(n)`, so
/// that chunks begin at multiples of 64 indices. `work` is [`VectorView::work`].
pub(super) fn chunk_bounds(n: usize, work: Option<&[u64]>) -> Vec<usize> {
    let total_words = words(n);
    let count = (parallel::threads() * 16).min(total_words).max(1);
    // an index costs its work, and a constant for the index itself
    let cost = |word: usize| {
        let i = (word * 64).min(n);
        i as u64 * 2 + work.map_or(0, |work| work[i])
    };
    let total = cost(total_words);
    let mut cuts = vec![0];
    for chunk in 1..count {
        let target = total / count as u64 * chunk as u64;
        let last = cuts[cuts.len() - 1];
        let (mut low, mut high) = (last, total_words);
        while low < high {
            let middle = (low + high) / 2;
            if cost(middle) < target { low = middle + 1 } else { high = middle }
        }
        if low > last {
            cuts.push(low);
        }
    }
    if cuts[cuts.len() - 1] < total_words || total_words == 0 {
        cuts.push(total_words);
    }
    cuts
}

/// Folds the results of all segments of `n` positions in pairs, as the fixed tree does. An exact monoid is associative, so pairs are as
/// good as left to right.
fn fold_segments<T: Element, M: Monoid<T>>(add: M, n: usize, mut part: impl FnMut(usize) -> Option<T>) -> Option<T> {
    let mut pairs = Pairs::new(add);
    (0..n.div_ceil(SEGMENT)).for_each(|s| pairs.push(part(s)));
    pairs.finish()
}

/// Folds all elements of `view`, a vector of length `n`. Returns the identity if there are none.
///
/// Segments of the fixed tree run in parallel, so the answer has the same bits for any number of threads.
pub fn reduce<V: VectorView, M: Monoid<V::T>>(n: usize, view: &V, add: M) -> V::T {
    match view.fixed() {
        Some(fixed) => reduce_view(n, &fixed, add),
        None => reduce_view(n, &DynView::of(view), add),
    }
}

/// The same, without a look for a better form of the view.
fn reduce_view<V: VectorView, M: Monoid<V::T>>(n: usize, view: &V, add: M) -> V::T {
    // folds the elements at the positions of one segment
    let segment = |first: usize| {
        let end = (first + SEGMENT).min(n);
        let mut tree = Tree::new(add, end - first);
        let mut push = |i: usize, value: Option<V::T>| {
            if let Some(value) = value {
                tree.push(i - first, value);
            }
        };
        match view.support() {
            Support::All => (first..end).for_each(|i| push(i, view.at(i))),
            Support::Bits(bits) => {
                ones(&bits[first / 64..words(end)], first / 64).for_each(|i| push(i, view.at(i)));
            }
            Support::List(list) => {
                let from = list.partition_point(|&i| (i as usize) < first);
                for (k, &i) in list.iter().enumerate().skip(from).take_while(|&(_, &i)| (i as usize) < end) {
                    push(i as usize, view.at_listed(k, i as usize));
                }
            }
        }
        tree.finish()
    };
    let total = if let Support::List(list) = view.support() {
        // only the segments that hold an element are visited
        let mut held: Vec<usize> = list.iter().map(|&i| i as usize / SEGMENT).collect();
        held.dedup();
        let parts: Vec<_> = if is_small(view, list) {
            held.iter().map(|&s| segment(s * SEGMENT)).collect()
        } else {
            parallel::collect(held.len(), &|k| segment(held[k] * SEGMENT))
        };
        let mut parts = held.into_iter().zip(parts).peekable();
        fold_segments(add, n, |s| parts.next_if(|&(held, _)| held == s).and_then(|(_, part)| part))
    } else if n <= SEGMENT {
        segment(0)
    } else {
        let parts = parallel::collect(n.div_ceil(SEGMENT), &|s| segment(s * SEGMENT));
        fold_segments(add, n, |s| parts[s])
    };
    total.unwrap_or(add.identity())
}
