//! Expressions on all ranks of a grid: each rank evaluates them at its own places.
//!
//! What needs elements of other ranks (products, gathers, pointer jumps, regions) is evaluated when its view is made, which all ranks do in
//! the same order. The rest of an expression is a view over pieces, as on one process.

pub(crate) mod assembly;
mod context;
pub(crate) mod local;
pub(crate) mod matrices;
pub(crate) mod mode;
pub(crate) mod on_gpu;
mod ordered;
mod pull;
mod visited;

pub(crate) use context::{AmongPeers, Kept, OnRanks};
pub(crate) use pull::{Pull, Sources, fold_rows};
pub(crate) use visited::Visited;

use crate::backend::cpu::dyn_view::DynView;
use crate::backend::cpu::{gather, parallel};
use crate::backend::cuda::codegen::builder::KernelBuilder;
use crate::backend::cuda::ranks::shown;
use crate::backend::cuda::terminals;
use crate::backend::view::VectorView;
use crate::containers::Vector;
use crate::error::Result;
use crate::formats::bitmap::bit;
use crate::formats::{Bitmap, Sparse, Store, bytes};
use crate::operations::expr::{Env, Expr};
use crate::ranks::{Grid, fetch};
use vxm_semiring::{Element, Monoid, Scalar};

/// This rank's piece of an expression, on the host.
#[inline(never)]
pub(crate) fn piece<E: Expr>(expression: &E, env: &Env<'_>) -> Result<Store<E::T>> {
    if let Some((grid, gpu)) = env.grid().and_then(|grid| Some((grid, grid.gpu()?))) {
        return on_gpu::piece(expression, env, grid, gpu)?.download();
    }
    let n = expression.len(env)?;
    let places = env.grid().map_or(n, |grid| grid.count(n));
    if let Some(grid) = env.grid() {
        grid.work(0, places);
    }
    let mut view = expression.view(env)?;
    let evaluated = view.take();
    Ok(evaluated.unwrap_or_else(|| gather::gather(places, &DynView::of(&view))))
}

/// The vector that an expression makes on all ranks.
pub(crate) fn evaluated<E: Expr>(expression: &E, env: &Env<'_>, grid: &Grid) -> Result<Vector<E::T>> {
    let (n, env) = (expression.len(env)?, env.on_ranks(OnRanks::of(grid)));
    match grid.gpu() {
        Some(gpu) => Ok(Vector::of_device_piece(on_gpu::piece(expression, &env, grid, gpu)?, grid, n)),
        None => Ok(Vector::of_piece(piece(expression, &env)?, grid, n)),
    }
}

/// A vector of `len` places that holds `found[k]` at `places[k]`. Places ascend.
pub(crate) fn held<T: Element>(len: usize, places: &[u32], found: &[Option<T>]) -> Store<T> {
    let pairs = places.iter().zip(found).filter_map(|(&place, &x)| Some((place, x?)));
    let (places, values) = pairs.unzip();
    Store::Bitmap(Store::Sparse(Sparse::new(len, places, values)).into_bitmap())
}

/// A loop's state from this rank's elements.
pub(crate) fn full<T: Element>(values: &[T], grid: &Grid, n: usize) -> Vector<T> {
    Vector::of_piece(Store::Bitmap(Bitmap::dense(values.to_vec())), grid, n)
}

/// A bit for each element, which says whether `holds` does.
pub(crate) fn bits<T: Element>(values: &[T], holds: impl Fn(T) -> bool) -> Vec<u64> {
    let word = |values: &[T]| (0u32..).zip(values).map(|(k, &x)| u64::from(holds(x)) << k).sum();
    values.chunks(64).map(word).collect()
}

/// The number of set bits.
pub(crate) fn count(bits: &[u64]) -> u64 {
    bits.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Writes a loop's body to the due elements. Returns how many changed.
#[inline(never)]
pub(crate) fn visit<T: Element>(body: &DynView<'_, T>, due: &[u64], values: &mut [T]) -> u64 {
    let chunk = parallel::chunk_size(values.len()).next_multiple_of(64);
    let changed = std::sync::atomic::AtomicU64::new(0);
    let visit = |(c, part): (usize, &mut [T])| {
        let mut count = 0;
        for (k, value) in part.iter_mut().enumerate() {
            let place = c * chunk + k;
            if bit(due, place) && body.selects(place) {
                let new = body.at(place).unwrap_or(*value);
                count += u64::from(new.bits() != value.bits());
                *value = new;
            }
        }
        changed.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
    };
    parallel::each(values.chunks_mut(chunk).enumerate().collect(), &visit);
    changed.into_inner()
}

/// Folds the elements of an expression on all ranks to one: the same bits as on one process.
#[inline(never)]
pub(crate) fn fold<E: Expr, M: Monoid<E::T>>(expression: &E, env: &Env<'_>, grid: &Grid, add: M) -> Result<E::T> {
    let (n, env) = (expression.len(env)?, env.on_ranks(OnRanks::of(grid)));
    if !(M::EXACT && add.is_commutative()) {
        if let Some(gpu) = grid.gpu().filter(|_| grid.shows()) {
            // each rank folds all elements, and so in the same order
            let piece = on_gpu::piece(expression, &env, grid, gpu)?;
            let mut kernel = KernelBuilder::new(gpu);
            let all = shown(&mut kernel, grid, &piece, n)?;
            return terminals::fold(kernel, &all, n, add);
        }
        return ordered::fold(grid, n, piece(expression, &env)?, add);
    }
    let mine = match grid.gpu() {
        Some(gpu) => {
            let mut kernel = KernelBuilder::new(gpu);
            let node = expression.emit(&env, &mut kernel)?;
            terminals::fold(kernel, &node, grid.count(n), add)?
        }
        None => {
            let piece = piece(expression, &env)?;
            grid.work(0, piece.len());
            gather::reduce(piece.len(), &piece.view(), add)
        }
    };
    let mut told = Vec::new();
    bytes::append(&mut told, mine);
    let found = grid.exchange(vec![told; grid.size()])?;
    let parts = found.iter().filter(|part| part.len() == size_of::<E::T>()).map(|part| bytes::element(part));
    Ok(parts.reduce(|x, y| add.call(x, y)).unwrap_or(add.identity()))
}

/// The ends of chains of pointers over all ranks; see [`Verbs::pointer_jump`](crate::operations::verbs::Verbs::pointer_jump).
///
/// An element's chain goes on as that of the place it points to, so in each step an element takes over how far that place has come. Chains of `k`
/// values take `log2(k)` steps, each of up to five exchanges.
pub(crate) fn chain_ends<T: Scalar>(
    grid: &Grid,
    len: usize,
    piece: Bitmap<T>,
    op: impl Fn(T) -> u32,
) -> Result<Store<T>> {
    let mut ends = piece.clone();
    let mut open: Vec<u32> =
        (0..piece.len() as u32).filter(|&k| piece.get(k as usize).is_some_and(|y| T::LEAST < y)).collect();
    let mut is_first = true;
    while grid.sum(&[open.len() as u64])?[0] > 0 {
        let pointed: Vec<u32> = open.iter().map(|&k| ends.get(k as usize).map_or(u32::MAX, &op)).collect();
        let next = fetch(grid, len, &piece, &pointed)?;
        let goes_on =
            |k: u32, next: Option<T>| Some((k, next?)).filter(|&(_, z)| ends.get(k as usize).is_some_and(|y| z < y));
        let moving: Vec<_> =
            open.iter().zip(next).zip(pointed).filter_map(|((&k, z), to)| Some((goes_on(k, z)?, to))).collect();
        // no place has come further than its first value at first
        let far = if std::mem::take(&mut is_first) {
            moving.iter().map(|((_, z), _)| Some(*z)).collect()
        } else {
            fetch(grid, len, &ends, &moving.iter().map(|&(_, to)| to).collect::<Vec<_>>())?
        };
        open.clear();
        for (((k, z), _), far) in moving.into_iter().zip(far) {
            let far = far.unwrap_or(z);
            ends.put(k as usize, Some(far));
            if T::LEAST < far {
                open.push(k);
            }
        }
    }
    Ok(Store::Bitmap(ends))
}
