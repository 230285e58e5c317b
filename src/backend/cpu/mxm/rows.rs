//! Gustavson's algorithm (ACM TOMS 4(3), 1978): row `i` of the product is the sum of the rows of `B` that row `i` of `A` names.

use super::accumulator::{Dense, Hash, List, path};
use super::{Places, Pool, blocks, prefetch_rows, seek};
use crate::backend::plan::RowPath;
use crate::backend::tuning::tuning;
use crate::error::Result;
use crate::formats::{Csr, split_rows};
use crate::stop;
use crate::backend::cpu::parallel;
use vxm_semiring::{BinaryOp, Element, Semiring};

/// The accumulators of a thread.
struct Scratch<T> {
    list: List<T>,
    hash: Hash<T>,
    dense: Dense<T>,
}

impl<T: Element> Scratch<T> {
    fn new() -> Self {
        Self { list: List::new(), hash: Hash::new(), dense: Dense::new() }
    }
}

/// Calls `put(column, product)` for each product of row `i`, in ascending `k` and then in ascending order of column.
#[inline(always)]
fn each_product<A, B, S>(a: &Csr<A>, b: &Csr<B>, ring: S, i: usize, mut put: impl FnMut(u32, S::Out))
where
    A: Element,
    B: Element,
    S: Semiring<A, B>,
{
    let (ks, entries) = a.row(i);
    let (first, ahead) = (a.offsets()[i] as usize, tuning().rows_ahead);
    for (at, (&k, &entry)) in (first..).zip(ks.iter().zip(entries)) {
        prefetch_rows(b, a.columns(), at, ahead);
        let (columns, values) = b.row(k as usize);
        for (&j, &value) in columns.iter().zip(values) {
            put(j, ring.mul().call(entry, value));
        }
    }
}

/// Hands out the entries of row `i` of the product in ascending order of column. It has at most `products` products.
#[inline(always)]
fn row<A, B, S>(
    (a, b, ring): (&Csr<A>, &Csr<B>, S),
    (i, products, forced): (usize, u64, Option<RowPath>),
    scratch: &mut Scratch<S::Out>,
    mut put: impl FnMut(u32, S::Out),
) where
    A: Element,
    B: Element,
    S: Semiring<A, B>,
{
    let (ks, ncols, add) = (a.row(i).0, b.ncols(), ring.add());
    if ks.len() <= 1 {
        // a row of B, multiplied
        each_product(a, b, ring, i, put);
        return;
    }
    match forced.unwrap_or_else(|| path(products, ncols, size_of::<S::Out>())) {
        RowPath::List | RowPath::Dots => {
            each_product(a, b, ring, i, |j, product| scratch.list.put(j, product));
            scratch.list.drain(add, &mut put);
        }
        RowPath::Hash => {
            let hash = &mut scratch.hash;
            let bits = hash.reserve(ncols.min(products as usize));
            each_product(a, b, ring, i, |j, product| hash.put(add, bits, j, product));
            hash.drain(&mut put);
        }
        RowPath::Dense => {
            let dense = &mut scratch.dense;
            dense.reserve(ncols);
            each_product(a, b, ring, i, |j, product| dense.put(add, j, product));
            dense.drain(&mut put);
        }
    }
}

/// The product of `a` and `b`, without the places of `except`. `ends` holds the running sums of the products of the rows, and `offsets`
/// those of their entries.
///
/// # Errors
/// It is stopped.
pub fn multiply<A, B, S>(
    (a, b, ring): (&Csr<A>, &Csr<B>, S),
    except: Option<Places<'_>>,
    (ends, offsets): (&[u64], Vec<u64>),
    forced: Option<RowPath>,
) -> Result<Csr<S::Out>>
where
    A: Element,
    B: Element,
    S: Semiring<A, B>,
{
    let entries = offsets.last().map_or(0, |&end| end as usize);
    let (mut columns, mut values) = (vec![0u32; entries], vec![S::Out::ZERO; entries]);
    let blocks = blocks(ends);
    let (column_parts, value_parts) = (
        split_rows(&mut columns, &offsets, &blocks),
        split_rows(&mut values, &offsets, &blocks),
    );
    let (pool, stop) = (Pool::new(), stop::current());
    let parts = blocks.iter().zip(column_parts.into_iter().zip(value_parts)).collect();
    parallel::each(parts, &|(rows, (columns, values))| {
        if stop::is_asked(&stop) {
            return;
        }
        pool.with(Scratch::new, |scratch| {
            let mut filled = 0;
            for i in rows.clone() {
                let mut put = |j: u32, value: S::Out| {
                    columns[filled] = j;
                    values[filled] = value;
                    filled += 1;
                };
                let which = (i, ends[i + 1] - ends[i], forced);
                match except.map(|places| places.row(i)).filter(|dropped| !dropped.is_empty()) {
                    None => row((a, b, ring), which, scratch, put),
                    Some(dropped) => {
                        let mut next = 0;
                        row((a, b, ring), which, scratch, |j, value| {
                            next = seek(dropped, next, j);
                            if dropped.get(next) != Some(&j) {
                                put(j, value);
                            }
                        });
                    }
                }
            }
        });
    });
    stop::check()?;
    Ok(Csr::from_parts(a.nrows(), b.ncols(), offsets, columns, values))
}

/// Counts the entries of row `i` of the product that aren't among `except`. `held` has a bit for each column, none of them set; `touched`
/// is empty, and so they are afterwards.
fn count_row<A: Element, B: Element>(
    (a, b): (&Csr<A>, &Csr<B>),
    (i, products): (usize, u64),
    except: &[u32],
    (held, touched): &mut (Vec<u64>, Vec<usize>),
) -> u64 {
    let ks = a.row(i).0;
    if ks.len() <= 1 && except.is_empty() {
        return products;
    }
    let mut set = |j: u32| {
        let (place, bit) = (j as usize / 64, j % 64);
        let word = held[place];
        if word == 0 {
            touched.push(place);
        }
        held[place] = word | 1 << bit;
        word >> bit & 1 == 0
    };
    except.iter().for_each(|&j| _ = set(j));
    let mut count = 0;
    let (first, ahead) = (a.offsets()[i] as usize, tuning().rows_ahead);
    for (at, &k) in (first..).zip(ks) {
        prefetch_rows(b, a.columns(), at, ahead);
        b.row(k as usize).0.iter().for_each(|&j| count += u64::from(set(j)));
    }
    touched.drain(..).for_each(|place| held[place] = 0);
    count
}

/// The running sums of the entries of the rows of the product, beginning with 0: its offsets. It takes less than half the time of the
/// product, since no values are read.
///
/// # Errors
/// It is stopped.
pub fn offsets<A: Element, B: Element>(
    a: &Csr<A>,
    b: &Csr<B>,
    except: Option<Places<'_>>,
    ends: &[u64],
) -> Result<Vec<u64>> {
    let (pool, stop) = (Pool::new(), stop::current());
    let mut offsets = vec![0u64; ends.len()];
    let blocks = blocks(ends);
    let mut parts = Vec::with_capacity(blocks.len());
    let mut rest = &mut offsets[1..];
    for rows in &blocks {
        let (part, others) = rest.split_at_mut(rows.len());
        parts.push(part);
        rest = others;
    }
    parallel::each(blocks.iter().zip(parts).collect(), &|(rows, counts)| {
        if stop::is_asked(&stop) {
            return;
        }
        pool.with(
            || (vec![0u64; b.ncols().div_ceil(64)], Vec::new()),
            |scratch| {
                for (i, count) in rows.clone().zip(counts) {
                    let except = except.map_or(&[][..], |places| places.row(i));
                    *count = count_row((a, b), (i, ends[i + 1] - ends[i]), except, scratch);
                }
            },
        );
    });
    let mut sum = 0;
    for offset in &mut offsets {
        sum += *offset;
        *offset = sum;
    }
    stop::check()?;
    Ok(offsets)
}
