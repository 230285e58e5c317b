//! Evaluation of a view into a new vector, and reduction of a view, in parallel.

use crate::backend::cpu::fold::{Pairs, SEGMENT, Tree};
use crate::backend::cpu::dyn_view::DynView;
use crate::backend::cpu::parallel;
use crate::backend::plan;
use crate::backend::tuning::tuning;
use crate::backend::view::{Support, VectorView};
use crate::formats::bitmap::{Bitmap, places, words};
use crate::formats::{Sparse, Store};
use vxm_semiring::{Element, Monoid};

/// Evaluates `view`, a vector of length `n`. Takes time for the work at the indices of its support, and O(n) unless that is a list.
#[inline(never)]
pub fn gather<V: VectorView>(n: usize, view: &V) -> Store<V::T> {
    match view.fixed() {
        Some(fixed) => gather_view(n, &fixed),
        None => gather_view(n, &DynView::of(view)),
    }
}

/// The same, without a look for a better form of the view.
#[inline(never)]
fn gather_view<V: VectorView>(n: usize, view: &V) -> Store<V::T> {
    match view.support() {
        Support::List(list) => Store::Sparse(gather_list(n, view, list, true)),
        Support::Bits(bits) => {
            let count = Support::Bits(bits).count(n);
            if plan::is_sparse(count, n) {
                Store::Sparse(gather_list(n, view, &places(bits), false))
            } else {
                gather_bitmap(n, view, Some(bits))
            }
        }
        Support::All => gather_bitmap(n, view, None),
    }
}

/// Evaluates the elements at the indices of `list`. `is_support` says that the list is the view's own support.
fn gather_list<V: VectorView>(n: usize, view: &V, list: &[u32], is_support: bool) -> Sparse<V::T> {
    gather_parts(n, list, is_small(view, list), &|first, list, indices, values| {
        for (k, &i) in list.iter().enumerate() {
            let i = i as usize;
            if let Some(value) = if is_support { view.at_listed(first + k, i) } else { view.at(i) } {
                indices.push(i as u32);
                values.push(value);
            }
        }
    })
}

/// Appends the indices and elements of a part of a list that begins at a place of it.
type GatherPart<'g, T> = &'g (dyn Fn(usize, &[u32], &mut Vec<u32>, &mut Vec<T>) + Sync);

/// Gathers parts of a list in parallel, or all at once if it is small. Compiled once for all views of a type of elements.
#[inline(never)]
fn gather_parts<T: Element>(n: usize, list: &[u32], small: bool, part: GatherPart<'_, T>) -> Sparse<T> {
    let run = |first: usize, list: &[u32]| {
        let (mut indices, mut values) = (Vec::with_capacity(list.len()), Vec::with_capacity(list.len()));
        part(first, list, &mut indices, &mut values);
        (indices, values)
    };
    if small {
        let (indices, values) = run(0, list);
        return Sparse::new(n, indices, values);
    }
    let chunk = parallel::chunk_size(list.len());
    let runs = parallel::collect(list.len().div_ceil(chunk), &|p| {
        run(p * chunk, &list[p * chunk..((p + 1) * chunk).min(list.len())])
    });
    let (mut indices, mut values) = (Vec::with_capacity(list.len()), Vec::with_capacity(list.len()));
    for (some_indices, some_values) in runs {
        indices.extend_from_slice(&some_indices);
        values.extend_from_slice(&some_values);
    }
    Sparse::new(n, indices, values)
}

/// Whether the work at the indices of `list` is too little to share out among threads.
#[inline(never)]
pub fn is_small<V: VectorView>(view: &V, list: &[u32]) -> bool {
    if list.len() >= tuning().sequential || parallel::threads() == 1 {
        return list.len() < tuning().sequential;
    }
    view.work().is_none_or(|work| is_little_work(work, list))
}

/// Whether the work of the rows of `list` is too little to share out.
fn is_little_work(work: &[u64], list: &[u32]) -> bool {
    parallel::is_little(0, list.iter().map(|&i| work[i as usize + 1] - work[i as usize]).sum())
}

/// Evaluates the elements at the indices of set bits, or at all indices, into a bitmap. The result is a list if few are present.
fn gather_bitmap<V: VectorView>(n: usize, view: &V, bits: Option<&[u64]>) -> Store<V::T> {
    fill_words(n, view.work(), &|first, values, present| {
        for (w, word) in present.iter_mut().enumerate() {
            let base = (first + w) * 64;
            let places = &mut values[w * 64..((w + 1) * 64).min(n - first * 64)];
            match bits {
                Some(bits) => {
                    let mut rest = bits[first + w];
                    while rest != 0 {
                        let i = rest.trailing_zeros() as usize;
                        rest &= rest - 1;
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
    })
}

/// Writes the elements and presence bits from a word on.
type FillWords<'f, T> = &'f (dyn Fn(usize, &mut [T], &mut [u64]) + Sync);

/// Fills a bitmap in chunks of about equal work, in parallel. Compiled once for all views of a type of elements.
#[inline(never)]
fn fill_words<T: Element>(n: usize, work: Option<&[u64]>, fill: FillWords<'_, T>) -> Store<T> {
    let mut values = vec![T::ZERO; n];
    let mut present = vec![0u64; words(n)];
    if parallel::is_little(n, work.map_or(0, |work| work[n])) {
        fill(0, &mut values, &mut present);
    } else {
        let cuts = chunk_bounds(n, work);
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

/// Folds all elements of `view`, a vector of length `n`. Returns the identity if there are none.
///
/// Segments of the fixed tree run in parallel, so the answer has the same bits for any number of threads.
#[inline(never)]
pub fn reduce<V: VectorView, M: Monoid<V::T>>(n: usize, view: &V, add: M) -> V::T {
    match view.fixed() {
        Some(fixed) => reduce_view(n, &fixed, add),
        None => reduce_view(n, &DynView::of(view), add),
    }
}

/// The same, without a look for a better form of the view.
#[inline(never)]
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
            Support::All => {
                for i in first..end {
                    push(i, view.at(i));
                }
            }
            Support::Bits(bits) => {
                for (w, &word) in bits.iter().enumerate().take(words(end)).skip(first / 64) {
                    let mut rest = word;
                    while rest != 0 {
                        let i = w * 64 + rest.trailing_zeros() as usize;
                        rest &= rest - 1;
                        push(i, view.at(i));
                    }
                }
            }
            Support::List(list) => {
                let from = list.partition_point(|&i| (i as usize) < first);
                for (k, &i) in list.iter().enumerate().skip(from) {
                    if i as usize >= end {
                        break;
                    }
                    push(i as usize, view.at_listed(k, i as usize));
                }
            }
        }
        tree.finish()
    };
    let support = view.support();
    let small = matches!(support, Support::List(list) if is_small(view, list));
    let mut pairs = Pairs::new(add);
    segments(n, support, small, &segment, &mut |part| pairs.push(part));
    pairs.finish().unwrap_or(add.identity())
}

/// Calls `push` for each segment of `n` positions, in order, with what `segment(first)` makes of it. Segments are folded in parallel, or by
/// this thread if they are `small`; those of a list that hold no element aren't visited. Pairs join as the fixed tree does. An exact monoid is
/// associative, so pairs are as good as left to right. Compiled once for all views of a type of elements.
#[inline(never)]
fn segments<T: Element>(
    n: usize,
    support: Support<'_>,
    small: bool,
    segment: &(dyn Fn(usize) -> Option<T> + Sync),
    push: &mut dyn FnMut(Option<T>),
) {
    let count = n.div_ceil(SEGMENT);
    let Support::List(list) = support else {
        if count <= 1 {
            return (0..count).for_each(|_| push(segment(0)));
        }
        return parallel::collect(count, &|s| segment(s * SEGMENT)).into_iter().for_each(push);
    };
    let mut held: Vec<usize> = list.iter().map(|&i| i as usize / SEGMENT).collect();
    held.dedup();
    let parts = parallel::alone_if(small, || parallel::collect(held.len(), &|k| segment(held[k] * SEGMENT)));
    let mut next = 0;
    for (&s, part) in held.iter().zip(parts) {
        (next..s).for_each(|_| push(None));
        push(part);
        next = s + 1;
    }
    (next..count).for_each(|_| push(None));
}
