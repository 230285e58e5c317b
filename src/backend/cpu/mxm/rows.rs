//! Gustavson's algorithm (ACM TOMS 4(3), 1978): row `i` of the product is the sum of the rows of `B` that row `i` of `A` names.

use super::accumulator::{Dense, Hash, List, path};
use super::{Places, Pool, blocks};
use crate::backend::plan::RowPath;
use crate::formats::Csr;
use rayon::prelude::*;
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
    for (&k, &entry) in ks.iter().zip(entries) {
        let (columns, values) = b.row(k as usize);
        for (&j, &value) in columns.iter().zip(values) {
            put(j, ring.mul().call(entry, value));
        }
    }
}

/// Appends row `i` of the product. It has at most `products` products.
#[inline(always)]
fn row<A, B, S>(
    (a, b, ring): (&Csr<A>, &Csr<B>, S),
    (i, products, forced): (usize, u64, Option<RowPath>),
    scratch: &mut Scratch<S::Out>,
    columns: &mut Vec<u32>,
    values: &mut Vec<S::Out>,
) where
    A: Element,
    B: Element,
    S: Semiring<A, B>,
{
    let (ks, ncols, add) = (a.row(i).0, b.ncols(), ring.add());
    let path = forced.unwrap_or_else(|| path(products, ncols, size_of::<S::Out>()));
    if ks.len() <= 1 {
        // a row of B, multiplied
        each_product(a, b, ring, i, |j, product| {
            columns.push(j);
            values.push(product);
        });
        return;
    }
    match path {
        RowPath::List | RowPath::Dots => {
            each_product(a, b, ring, i, |j, product| scratch.list.put(j, product));
            scratch.list.drain(add, columns, values);
        }
        RowPath::Hash => {
            let hash = &mut scratch.hash;
            let bits = hash.reserve(ncols.min(products as usize));
            each_product(a, b, ring, i, |j, product| hash.put(add, bits, j, product));
            hash.drain(columns, values);
        }
        RowPath::Dense => {
            let dense = &mut scratch.dense;
            dense.reserve(ncols);
            each_product(a, b, ring, i, |j, product| dense.put(add, j, product));
            dense.drain(columns, values);
        }
    }
}

/// Drops the entries from `start` on whose columns are among `dropped`.
fn drop_columns<T: Element>(dropped: &[u32], start: usize, columns: &mut Vec<u32>, values: &mut Vec<T>) {
    let (mut kept, mut next) = (start, 0);
    for at in start..columns.len() {
        next = super::seek(dropped, next, columns[at]);
        if dropped.get(next) != Some(&columns[at]) {
            columns[kept] = columns[at];
            values[kept] = values[at];
            kept += 1;
        }
    }
    columns.truncate(kept);
    values.truncate(kept);
}

/// The product of `a` and `b`, without the places of `except`. `ends` holds the running sums of the products of the rows.
pub fn multiply<A, B, S>(
    (a, b, ring): (&Csr<A>, &Csr<B>, S),
    except: Option<Places<'_>>,
    ends: &[u64],
    forced: Option<RowPath>,
) -> Csr<S::Out>
where
    A: Element,
    B: Element,
    S: Semiring<A, B>,
{
    let pool = Pool::new();
    let blocks = blocks(ends).into_par_iter().map(|rows| {
        pool.with(Scratch::new, |scratch| {
            let (mut lengths, mut columns, mut values) = (Vec::with_capacity(rows.len()), Vec::new(), Vec::new());
            for i in rows {
                let start = columns.len();
                row((a, b, ring), (i, ends[i + 1] - ends[i], forced), scratch, &mut columns, &mut values);
                if let Some(dropped) = except.map(|places| places.row(i)).filter(|dropped| !dropped.is_empty()) {
                    drop_columns(dropped, start, &mut columns, &mut values);
                }
                lengths.push(columns.len() as u64);
            }
            (lengths, columns, values)
        })
    });
    Csr::from_blocks(a.nrows(), b.ncols(), blocks.collect())
}

/// The exact number of entries of the product of two patterns. It takes about as long as the product.
pub fn count<A: Element, B: Element>(a: &Csr<A>, b: &Csr<B>, ends: &[u64]) -> u64 {
    let pool = Pool::new();
    let counts = blocks(ends).into_par_iter().map(|rows| {
        pool.with(Dense::<()>::new, |dense| {
            dense.reserve(b.ncols());
            let (mut columns, mut units, mut sum) = (Vec::new(), Vec::new(), 0u64);
            for i in rows {
                match a.row(i).0 {
                    [] => {}
                    &[k] => sum += b.degree(k as usize) as u64,
                    ks => {
                        for &k in ks {
                            b.row(k as usize).0.iter().for_each(|&j| dense.put(vxm_semiring::ANY, j, ()));
                        }
                        dense.drain(&mut columns, &mut units);
                        sum += columns.len() as u64;
                        columns.clear();
                        units.clear();
                    }
                }
            }
            sum
        })
    });
    counts.sum()
}
