//! Verbs of matrices, and pushes. Sizes span many tiles of the device's sort and scan. Some rows hold most entries.

use crate::algebra::{Compose, Join, Sample, Tangle, mix};
use crate::building::{Triples, agree_entries, triples};
use crate::harness::{agree, ok, on_threads, same, suite};
use crate::shapes::filled;
use half::f16;
use proptest::prelude::*;
use std::collections::BTreeMap;
use vxm::backend::plan::{Direction, Forced, force};
use vxm::backend::reference;
use vxm::formats::{Coo, Refuse};
use vxm::prelude::*;

type Entries<T> = BTreeMap<(u32, u32), T>;

/// A matrix of generated triples, and its entries. Of several triples at one place the last is kept.
fn made<T: Sample>(triples: &Triples) -> (Entries<T>, Matrix<T>) {
    let entries: Entries<T> = triples.list::<T>().into_iter().map(|(i, j, x)| ((i, j), x)).collect();
    let a = by_rows(triples.nrows, triples.ncols, &entries);
    (entries, a)
}

/// A matrix made on the host, so that the lengths of its rows are known in a dry run, too.
fn by_rows<T: Sample>(nrows: usize, ncols: usize, entries: &Entries<T>) -> Matrix<T> {
    let coo = Coo::from_triples(nrows, ncols, entries.iter().map(|(&(i, j), &x)| (i, j, x))).expect("within");
    Matrix::from_csr(coo.to_csr(Refuse).expect("each place once"))
}

fn check<T: Sample>(name: &str) {
    suite(&format!("verbs of large matrices of {name}"), 60, (triples(), 0..9u64), |(triples, other)| {
        let (entries, a) = made::<T>(&triples);
        let (others, b) = made::<T>(&Triples { seed: triples.seed ^ other << 3, count: triples.count / 2, ..triples });
        agree_entries("map", &entries, &ok(a.map(IDENTITY))?)?;
        let columns = entries.keys().map(|&(i, j)| ((i, j), j)).collect();
        agree_entries("map_index", &columns, &ok(a.map_index(COLINDEX))?)?;
        let rows = entries.keys().map(|&(i, j)| ((i, j), i)).collect();
        agree_entries("map_index of rows", &rows, &ok(a.map_index(ROWINDEX))?)?;
        let lower = entries.iter().filter(|((i, j), _)| j <= i).map(|(&place, &x)| (place, x)).collect();
        agree_entries("select", &lower, &ok(a.select(TRIL))?)?;
        let both = |join: Join| {
            let joined = entries.iter().filter_map(|(place, &x)| others.get(place).map(|&y| (*place, join.call(x, y))));
            joined.collect::<Entries<T>>()
        };
        for join in [Join::Plus, Join::Second] {
            agree_entries("ewise_mult", &both(join), &ok(a.ewise_mult(&b, join))?)?;
            let mut either = others.clone();
            either.extend(entries.iter().map(|(&place, &x)| (place, x)));
            either.extend(both(join));
            agree_entries("ewise_add", &either, &ok(a.ewise_add(&b, join))?)?;
        }
        let some = |n: usize, seed: u64| -> Vec<u32> {
            let count = if n == 0 { 0 } else { mix(seed) % 60 };
            (0..count).map(|k| if k % 7 == 0 { n as u64 / 3 } else { mix(seed ^ k << 9) % n as u64 } as u32).collect()
        };
        let (rows, columns) = (some(a.nrows(), triples.seed), some(a.ncols(), !triples.seed));
        let mut picked = Entries::new();
        for (k, &i) in (0..).zip(&rows) {
            let entry = |(l, &j): (u32, &u32)| entries.get(&(i, j)).map(|&x| ((k, l), x));
            picked.extend((0..).zip(&columns).filter_map(entry));
        }
        agree_entries("extract", &picked, &ok(a.extract(&rows, &columns))?)?;
        let n = a.nrows().max(a.ncols());
        let square = by_rows(n, n, &entries);
        for set in [Set::from_indices(n, rows.iter().copied()), Ok(Set::all(n))] {
            let set = ok(set)?;
            let members: Vec<u32> = set.indices().collect();
            let number = |v: u32| members.binary_search(&v).ok().map(|k| k as u32);
            let inside = entries.iter().filter_map(|(&(i, j), &x)| Some(((number(i)?, number(j)?), x)));
            agree_entries("induced_by", &inside.collect(), &ok(square.induced_by(&set))?)?;
        }
        let ends: Vec<(Vector<u32>, Vector<u32>)> = [0, 3, triples.count]
            .into_iter()
            .map(|skipped| entries.keys().skip(skipped).take(1 + skipped * 50).copied().unzip())
            .map(|(from, to): (Vec<u32>, Vec<u32>)| (Vector::from_dense(from), Vector::from_dense(to)))
            .collect();
        let edges = ends.iter().flat_map(|(from, to)| from.iter().map(|(k, i)| (i, to.get(k).unwrap_or(i))));
        let expected = ok(Matrix::undirected(n, &edges.collect::<Vec<_>>()))?;
        let found = ok(Matrix::undirected_from(n, &ends))?;
        agree_entries("undirected_from", &expected.iter().map(|(i, j, ())| ((i, j), ())).collect(), &found)
    });
}

#[test]
fn verbs_of_every_size() {
    check::<()>("nothing");
    check::<u8>("u8");
    check::<u16>("u16");
    check::<f16>("f16");
    check::<f32>("f32");
    check::<u64>("u64");
}

/// Checks `map_ends`, over full and partial vectors.
fn check_ends<T: Sample>(name: &str) {
    let strategy = (triples(), filled(), 0..3usize);
    suite(&format!("ends of large matrices, of {name}"), 60, strategy, |(triples, filled, join)| {
        let (n, join) = (triples.nrows.max(triples.ncols), [Join::Plus, Join::First, Join::Second][join]);
        let (entries, a) = made::<()>(&Triples { nrows: n, ncols: n, ..triples });
        let dense = filled.dense::<T>(n);
        let joined = |&(i, j): &(u32, u32)| {
            let ends = dense[i as usize].zip(dense[j as usize]);
            ends.map(|(own, other)| ((i, j), join.call(own, other)))
        };
        let expected: Entries<T> = entries.keys().filter_map(joined).collect();
        agree_entries("map_ends", &expected, &ok(a.map_ends(join, &filled.vector(&dense)))?)
    });
}

/// Checks `map_ends_many`, over full and partial vectors, from none to as many as there can be.
fn check_many_ends<T: Sample, F: BinaryOp<T, T, Out = bool>>(name: &str, op: F) {
    let strategy = (triples(), proptest::collection::vec(filled(), 0..33));
    suite(&format!("many ends of large matrices, of {name}"), 30, strategy, |(triples, filled)| {
        let n = triples.nrows.max(triples.ncols);
        let (entries, a) = made::<()>(&Triples { nrows: n, ncols: n, ..triples });
        let dense: Vec<_> = filled.iter().map(|filled| filled.dense::<T>(n)).collect();
        let answers = |&(i, j): &(u32, u32)| {
            let holds = |u: &Vec<Option<T>>| u[i as usize].zip(u[j as usize]).is_some_and(|(x, y)| op.call(x, y));
            ((i, j), (0..).zip(&dense).fold(0, |word, (k, u)| word | u32::from(holds(u)) << k))
        };
        let expected: Entries<u32> = entries.keys().map(answers).collect();
        let us: Vec<_> = filled.iter().zip(&dense).map(|(filled, dense)| filled.vector(dense)).collect();
        agree_entries("map_ends_many", &expected, &ok(a.map_ends_many(op, &us))?)
    });
}

#[test]
fn many_ends() {
    check_many_ends::<(), _>("nothing", Pair::<bool>::new());
    check_many_ends::<u8, _>("u8", LT);
    check_many_ends::<f16, _>("f16", GE);
    check_many_ends::<u32, _>("u32", LT);
    check_many_ends::<f64, _>("f64", LE);
}

#[test]
fn ends_of_every_size() {
    check_ends::<()>("nothing");
    check_ends::<bool>("bool");
    check_ends::<u8>("u8");
    check_ends::<f16>("f16");
    check_ends::<u32>("u32");
    check_ends::<f64>("f64");
}

fn check_rows<T: Sample, M: Monoid<T>>(name: &str, add: M) {
    suite(&format!("rows of large matrices folded by {name}"), 80, triples(), |triples| {
        let (entries, a) = made::<T>(&triples);
        let mut rows = vec![Vec::new(); triples.nrows];
        entries.iter().for_each(|(&(i, _), &x)| rows[i as usize].push(Some(x)));
        let folded: Vec<_> = rows.iter().map(|row| reference::fold(add, row)).collect();
        agree("rows", &folded, &ok(a.reduce_rows(add))?)?;
        same("all", reference::reduce(&folded, add).bits(), ok(a.reduce(add))?.bits())
    });
}

#[test]
fn rows_of_every_size() {
    check_rows::<u8, _>("PLUS of u8", PLUS);
    check_rows::<u16, _>("a monoid that doesn't commute", Compose);
    check_rows::<f16, _>("PLUS of f16", PLUS);
    check_rows::<u32, _>("a fold that shows its tree", Tangle);
    check_rows::<u64, _>("MAX of u64", MAX);
    check_rows::<(), _>("ANY of nothing", ANY);
}

/// Checks rows of lengths around those at which the number of threads that fold a row changes.
fn check_lengths<T: Sample, M: Monoid<T>>(name: &str, add: M) {
    const LENGTHS: [u32; 12] = [0, 1, 7, 8, 16, 32, 33, 1024, 1025, 8191, 8192, 20_000];
    suite(&format!("rows of every length folded by {name}"), 8, 0..1u64 << 16, |seed| {
        let row = |(i, len): (u32, u32)| {
            (0..len).map(move |k| ((i, k * (20_000 / len)), T::sample(mix(seed ^ u64::from(k)))))
        };
        let entries: Entries<T> = (0..).zip(LENGTHS).flat_map(row).collect();
        let mut rows = vec![Vec::new(); LENGTHS.len()];
        entries.iter().for_each(|(&(i, _), &x)| rows[i as usize].push(Some(x)));
        let folded: Vec<_> = rows.iter().map(|row| reference::fold(add, row)).collect();
        agree("rows", &folded, &ok(by_rows(LENGTHS.len(), 20_000, &entries).reduce_rows(add))?)
    });
}

#[test]
fn rows_of_every_length() {
    check_lengths::<f32, _>("PLUS of f32", PLUS);
    check_lengths::<u16, _>("a monoid that doesn't commute", Compose);
    check_lengths::<u32, _>("a fold that shows its tree", Tangle);
    check_lengths::<u8, _>("BOR of u8", BOR);
    check_lengths::<(), _>("ANY of nothing", ANY);
}

/// Compares products in every direction with a loop over the entries, with `vxm` and `mxv`. `multiply` and `fold` define the semiring.
fn check_push<X, A, S, R>(
    name: &str,
    vxm: S,
    mxv: R,
    multiply: impl Fn(X, A) -> S::Out,
    fold: impl Fn(S::Out, S::Out) -> S::Out,
) where
    X: Sample,
    A: Sample,
    S: Semiring<X, A>,
    S::Out: Sample,
    R: Semiring<A, X, Out = S::Out>,
{
    let fill = prop_oneof![Just(0), Just(5), 0..1000u64, Just(1000)];
    suite(&format!("large pushes of {name}"), 60, (triples(), fill, any::<bool>()), |(triples, fill, counted)| {
        let (entries, a) = made::<A>(&triples);
        let element = |i: u64| {
            let bits = mix(triples.seed ^ i << 24);
            (bits % 1000 < fill).then(|| X::sample(mix(bits) & !1 | triples.seed & 1))
        };
        for transposed in [false, true] {
            let (inner, length) = if transposed { (a.ncols(), a.nrows()) } else { (a.nrows(), a.ncols()) };
            let dense: Vec<Option<X>> = (0..inner as u64).map(element).collect();
            let mut expected: Vec<Option<S::Out>> = vec![None; length];
            for (&(i, j), &entry) in &entries {
                let (from, to) = if transposed { (j, i) } else { (i, j) };
                if let Some(x) = dense[from as usize] {
                    let (product, place) = (multiply(x, entry), &mut expected[to as usize]);
                    *place = Some(place.map_or(product, |held| fold(held, product)));
                }
            }
            // evaluated on the case's device, so that the number of elements is known only if `nvals` counts them below
            let u = ok(Vector::from_options(&dense).map(IDENTITY).eval())?;
            if counted {
                same("nvals", dense.iter().flatten().count(), u.nvals())?;
            }
            for direction in [None, Some(Direction::Push), Some(Direction::Pull)] {
                for threads in [1, 8] {
                    let forced = Forced { direction, ..Forced::default() };
                    let found = on_threads(threads, || {
                        force(forced, || if transposed { a.mxv(&u, mxv).eval() } else { u.vxm(&a, vxm).eval() })
                    });
                    agree((transposed, direction, threads), &expected, &ok(found)?)?;
                }
            }
        }
        Ok(())
    });
}

#[test]
fn pushes_of_every_size() {
    check_push::<u32, (), _, _>("ANY_PAIR of sets", ANY_PAIR, ANY_PAIR, |_, ()| (), |x, ()| x);
    let pairs = semiring(PLUS, Pair::<u8>::new());
    check_push::<u32, (), _, _>("PLUS_PAIR of u8", pairs, pairs, |_, ()| 1, u8::wrapping_add);
    check_push::<u16, u16, _, _>("MAX_PLUS of u16", MAX_PLUS, MAX_PLUS, u16::wrapping_add, u16::max);
    check_push::<i32, i32, _, _>("MIN_PLUS of i32", MIN_PLUS, MIN_PLUS, i32::wrapping_add, i32::min);
    check_push::<u64, u64, _, _>("PLUS_TIMES of u64", PLUS_TIMES, PLUS_TIMES, u64::wrapping_mul, u64::wrapping_add);
    let (plus, max) = (|x: f32, y: f32| PLUS.call(x, y), |x: f32, y: f32| MAX.call(x, y));
    check_push::<f32, f32, _, _>("MAX_PLUS of f32", MAX_PLUS, MAX_PLUS, plus, max);
    let (plus, min) = (|x: f64, y: f64| PLUS.call(x, y), |x: f64, y: f64| MIN.call(x, y));
    check_push::<f64, f64, _, _>("MIN_PLUS of f64, which is pulled", MIN_PLUS, MIN_PLUS, plus, min);
}
