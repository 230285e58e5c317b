//! Sizes at which the engine runs in parallel: pushes split by ranges of columns, chunks of rows, long lists. Most matrices are
//! rectangular, so that the dense reference stays affordable.

use crate::algebra::{Compose, Sample, affine, blend};
use crate::harness::{Mode, Terminal, agree, ok, on_device, on_threads, same, suite};
use crate::matrices::agree_matrix;
use crate::shapes::{Ending, Filled, Graph, Kind, ending, filled, matrix};
use proptest::prelude::*;
use vxm::backend::plan::{Direction, Forced, Format, force};
use vxm::backend::reference::{self, Dense};
use vxm::prelude::*;

const THREADS: [usize; 3] = [1, 2, 8];

/// Wide, tall and square graphs, most of them with tens of thousands of entries or more.
fn graph() -> impl Strategy<Value = Graph> {
    let shape = prop_oneof![
        (24..48usize, 9_000..40_000usize),
        (9_000..40_000usize, 24..48usize),
        (900..1200usize).prop_map(|n| (n, n)),
    ];
    (shape, 120..400u64, any::<bool>(), 0..1u64 << 16).prop_map(|((nrows, ncols), per_mille, symmetric, seed)| Graph {
        nrows,
        ncols,
        kind: Kind::Scattered(per_mille),
        symmetric: symmetric && nrows == ncols,
        seed,
    })
}

/// Checks large products in every direction on every number of threads, over CSR and tiles.
fn check<X, A, S, R>(name: &str, vxm: S, mxv: R)
where
    X: Sample,
    A: Sample,
    S: Semiring<X, A>,
    S::Out: Sample,
    R: Semiring<A, X, Out = S::Out>,
{
    let strategy = (graph(), filled(), ending(), any::<bool>());
    suite(&format!("large products of {name}"), 12, strategy, |(graph, u, end, transposed)| {
        let grid = graph.grid::<A>();
        let (inner, length) = if transposed { (graph.ncols, graph.nrows) } else { (graph.nrows, graph.ncols) };
        let (x, w, mask) = (u.dense::<X>(inner), end.w.dense::<S::Out>(length), end.mask.dense::<u32>(length));
        let t = if transposed { reference::mxv(&grid, &x, mxv) } else { reference::vxm(&x, &grid, vxm) };
        let expected = end.terminal.expected(&w, &t, &end.mode.selects(&mask));
        let (u, w, mask) = (u.vector(&x), end.w.vector(&w), end.mask.vector(&mask));
        let a = matrix(&grid, graph.symmetric);
        for threads in THREADS {
            for direction in [None, Some(Direction::Push), Some(Direction::Pull)] {
                let format = (threads == 2).then_some(Format::Tiles);
                let found = on_threads(threads, || {
                    force(Forced { direction, format, ..Forced::default() }, || match transposed {
                        true => end.terminal.run_masked(a.mxv(&u, mxv), end.mode.of(&mask), &w),
                        false => end.terminal.run_masked(u.vxm(&a, vxm), end.mode.of(&mask), &w),
                    })
                });
                agree((threads, direction), &expected, &ok(found)?)?;
            }
        }
        Ok(())
    });
}

#[test]
fn max_first() {
    check::<u32, (), _, _>("MAX_FIRST of u32 over a pattern", MAX_FIRST, MAX_SECOND);
}

#[test]
fn plus_times() {
    check::<u32, u32, _, _>("PLUS_TIMES of u32", PLUS_TIMES, PLUS_TIMES);
}

#[test]
fn plus_times_of_floats() {
    check::<f32, f32, _, _>("PLUS_TIMES of f32", PLUS_TIMES, PLUS_TIMES);
}

#[test]
fn any_first() {
    check::<u32, (), _, _>("ANY_FIRST of u32 over a pattern", ANY_FIRST, ANY_SECOND);
}

#[test]
fn plus_pair() {
    check::<bool, (), _, _>("PLUS_PAIR over a pattern, counted", PLUS_PAIR, PLUS_PAIR);
}

#[test]
fn a_monoid_that_does_not_commute() {
    let ring = semiring(Compose, affine);
    check::<u16, u16, _, _>("a monoid that doesn't commute", ring, ring);
}

#[test]
fn elementwise() {
    let strategy = (30_000..70_000usize, filled(), filled(), ending());
    suite("large vectors", 40, strategy, |(n, x, y, end): (usize, Filled, Filled, Ending)| {
        let (a, b, m, w) = (x.dense::<u32>(n), y.dense::<u32>(n), end.mask.dense::<u32>(n), end.w.dense::<u32>(n));
        let (u, v, mask, held) = (x.vector(&a), y.vector(&b), end.mask.vector(&m), end.w.vector(&w));
        let selects = end.mode.selects(&m);
        let (sum, product) = (reference::ewise_add(&a, &b, blend), reference::ewise_mult(&a, &b, blend));
        let (after_sum, after_product) =
            (end.terminal.expected(&w, &sum, &selects), end.terminal.expected(&w, &product, &selects));
        // extract and scatter with descending indices
        let to: Vec<u32> = (0..n as u32).rev().collect();
        let reversed = reference::extract(&a, &to);
        for threads in THREADS {
            on_threads(threads, || {
                let found = end.terminal.run_masked(u.ewise_add(&v, blend), end.mode.of(&mask), &held);
                agree("union", &after_sum, &ok(found)?)?;
                let found = end.terminal.run_masked(u.ewise_mult(&v, blend), end.mode.of(&mask), &held);
                agree("intersection", &after_product, &ok(found)?)?;
                agree("extract", &reversed, &ok(u.extract(&to).eval())?)?;
                agree("scatter", &reversed, &ok(Terminal::Assign.run(u.scatter(&to, n), &held))?)
            })?;
        }
        Ok(())
    });
}

#[test]
fn sums() {
    let strategy = (30_000..70_000usize, filled(), filled());
    suite("large sums", 40, strategy, |(n, x, y)| {
        let (a, m) = (x.dense::<f32>(n), y.dense::<u32>(n));
        let (u, mask) = (x.vector(&a), y.vector(&m));
        let part = reference::masked(&a, &Mode::Structural.selects(&m));
        for threads in THREADS {
            on_threads(threads, || {
                same("sum", reference::reduce(&a, PLUS).bits(), ok(u.reduce(PLUS))?.bits())?;
                same("masked", reference::reduce(&part, PLUS).bits(), ok(u.mask(&mask).reduce(PLUS))?.bits())
            })?;
        }
        Ok(())
    });
}

#[test]
fn evaluated_and_reduced() {
    // sizes around those of warps, blocks and segments, and sizes of several chunks
    let n = prop_oneof![0..70usize, 1000..1100usize, 30_000..70_000usize];
    let strategy = (n, filled(), any::<bool>());
    suite("vectors evaluated and reduced", 60, strategy, |(n, x, full)| {
        let held = x.dense::<u32>(n);
        let a: Dense<u32> = if full { held.iter().map(|&x| Some(x.unwrap_or(7))).collect() } else { held };
        let b: Dense<f32> = a.iter().map(|x| x.map(|x| x as f32 / 3.0)).collect();
        let (u, v) = (x.vector(&a), x.vector(&b));
        let mapped: Dense<u32> = a.iter().map(|x| x.map(|x| x.wrapping_add(5))).collect();
        let doubled: Dense<f32> = b.iter().map(|x| x.map(|x| x + x)).collect();
        let third: Dense<u32> = (0..n).map(|i| (i % 3 == 0).then_some(1)).collect();
        let few = x.vector(&third);
        let part = reference::masked(&mapped, &Mode::Structural.selects(&third));
        // a graph of one edge, between the first and the last vertex
        let edges: Vec<(u32, u32)> = (n > 1).then(|| (0, n as u32 - 1)).into_iter().collect();
        let edge = ok(Matrix::undirected(n, &edges))?;
        let mut ends: Dense<u32> = vec![Some(0); n];
        if n > 1 {
            (ends[0], ends[n - 1]) = (a[n - 1].or(Some(0)), a[0].or(Some(0)));
        }
        for threads in THREADS {
            on_threads(threads, || {
                let (found, most) = ok(u.map(PLUS.bind(5)).eval_and_reduce(MAX))?;
                agree("mapped", &mapped, &found)?;
                same("most", reference::reduce(&mapped, MAX), most)?;
                // a monoid that stops at the first element
                let (found, first) = ok(u.map(PLUS.bind(5)).eval_and_reduce(ANY))?;
                agree("mapped, any", &mapped, &found)?;
                same("any", reference::reduce(&mapped, ANY), first)?;
                // a monoid that stops at its terminal value
                let (found, all) = ok(u.map(PLUS.bind(5)).eval_and_reduce(BOR))?;
                agree("mapped, bor", &mapped, &found)?;
                same("bor", reference::reduce(&mapped, BOR), all)?;
                let (found, least) = ok(u.map(PLUS.bind(5)).mask(&few).eval_and_reduce(MIN))?;
                agree("masked", &part, &found)?;
                same("least", reference::reduce(&part, MIN), least)?;
                // a product is evaluated before it is reduced
                let (found, most) = ok(u.vxm(&edge, MAX_FIRST).or_identity().eval_and_reduce(MAX))?;
                agree("product", &ends, &found)?;
                same("most of a product", reference::reduce(&ends, MAX), most)?;
                let (found, sum) = ok(v.ewise_mult(&v, PLUS).eval_and_reduce(PLUS))?;
                agree("doubled", &doubled, &found)?;
                same("sum", reference::reduce(&doubled, PLUS).bits(), sum.bits())
            })?;
        }
        Ok(())
    });
}

#[test]
fn edges_by_their_ends() {
    let strategy = (1100..1400usize, filled(), any::<bool>(), 0..1u64 << 16);
    suite("large oriented and map_ends", 8, strategy, |(n, filled, symmetric, seed)| {
        let graph = Graph { nrows: n, ncols: n, kind: Kind::Scattered(20), symmetric, seed };
        let (grid, dense) = (graph.grid::<u32>(), filled.dense::<u32>(n));
        let key = filled.vector(&dense);
        let kept = ok(matrix(&grid, symmetric).oriented(LT, &key).into_matrix())?;
        let expected = grid.select_ends(LT, &dense);
        agree_matrix("kept", &expected, &kept)?;
        agree_matrix("transposed", &expected.transpose(), &kept.transpose())?;
        let members = ok(key.pattern().eval())?;
        let kept = ok(ok(matrix(&grid, symmetric).oriented(LT, &key).induced_by(&members))?.into_matrix())?;
        let expected = grid.induced(LT, &dense);
        agree_matrix("induced", &expected, &kept)?;
        agree_matrix("induced, transposed", &expected.transpose(), &kept.transpose())?;
        let mapped = ok(matrix(&grid, symmetric).map_ends(blend, &filled.vector(&dense)))?;
        let expected = grid.map_ends(blend, &dense);
        agree_matrix("mapped", &expected, &mapped)?;
        agree_matrix("mapped, transposed", &expected.transpose(), &mapped.transpose())
    });
}

/// `induced_by` of all vertices, of some, of all but the hub, of the hub alone and of none. The hub's row is longer than one chunk, and other
/// rows share words of bits.
#[test]
fn induced_around_a_hub() {
    let n = 10_007u32;
    let spokes = (0..n).filter(|&j| j != 5).flat_map(|j| [(5, j, j), (j, 5, 2 * j + 1)]);
    let ring = (6..n - 1).flat_map(|j| [(j, j + 1, 3 * j), (j + 1, j, 7)]);
    let triples: Vec<(u32, u32, u32)> = spokes.chain(ring).collect();
    let a = Matrix::from_triples(n as usize, n as usize, triples.clone()).expect("no entry stands twice");
    let key = |i: u32| i.wrapping_mul(0x9e37_79b9) >> 7;
    type Chosen = fn(u32) -> bool;
    let chosen: [Chosen; 6] =
        [|_| true, |i| i % 3 == 2, |i| i != 5, |i| i == 5, |_| false, |i| !(5..=9000).contains(&i)];
    on_device(|| {
        for held in chosen {
            let pairs: Vec<(u32, u32)> = (0..n).filter(|&i| held(i)).map(|i| (i, key(i))).collect();
            let number = |i: u32| pairs.binary_search_by_key(&i, |&(at, _)| at).ok().map(|k| k as u32);
            let mut expected: Vec<_> =
                triples.iter().filter_map(|&(i, j, x)| Some((number(i)?, number(j)?, x, key(i) <= key(j)))).collect();
            expected.sort_unstable();
            let u = ok(Vector::from_pairs(n as usize, pairs.iter().copied()))?;
            let members = ok(u.pattern().eval())?;
            let found = ok(ok(a.oriented(LE, &u).induced_by(&members))?.into_matrix())?;
            same("shape", (pairs.len(), pairs.len()), (found.nrows(), found.ncols()))?;
            let up: Vec<(u32, u32, u32)> =
                expected.iter().filter(|entry| entry.3).map(|&(k, l, x, _)| (k, l, x)).collect();
            same("by keys", up, found.iter().collect())?;
            let pattern = a.pattern();
            let found = ok(ok(pattern.oriented(Pair::<bool>::new(), &members).induced_by(&members))?.into_matrix())?;
            let all: Vec<_> = expected.iter().map(|&(k, l, ..)| (k, l, ())).collect();
            same("without values", all, found.iter().collect())?;
        }
        Ok(())
    })
    .unwrap_or_else(|error: TestCaseError| panic!("{error}"));
}

/// The columns of row `i`, scattered over the matrix. There are rows of each length that is folded in its own way, and many empty rows.
fn columns_of(i: u32, ncols: u32) -> Vec<u32> {
    let hash = |k: u32| (i.wrapping_mul(0x9e37_79b9) ^ k.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0xc2b2_ae35);
    let length = match i % 1024 {
        _ if i % 7 == 3 || i > 58_000 => 0,
        17 => 9000,
        18..22 => 1500,
        22..45 => 129,
        45..80 => 128,
        80..140 => 33,
        140..200 => 32,
        _ => hash(0) % 16,
    };
    let mut columns: Vec<u32> = (1..=length).map(|k| (hash(k) >> 3) % ncols).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Products with a matrix of scattered entries. After some products a device uses propagation blocking.
#[test]
fn products_that_are_used_often() {
    let (nrows, ncols) = (60_000, 140_000);
    let value = |i: u32, j: u32| ((i ^ j) & 255) as f32 / 3.0 - 40.0;
    let rows: Vec<Vec<u32>> = (0..nrows).map(|i| columns_of(i, ncols)).collect();
    let x: Vec<f32> = (0..ncols).map(|j| (j % 97) as f32 / 7.0).collect();
    let expected = |scale: f32| -> Vec<Option<f32>> {
        let row = |(i, columns): (u32, &Vec<u32>)| {
            let product = |&j: &u32| Some(value(i, j) * (x[j as usize] * scale));
            reference::fold(PLUS, &columns.iter().map(product).collect::<Vec<_>>())
        };
        (0..).zip(&rows).map(row).collect()
    };
    let triples = (0..).zip(&rows).flat_map(|(i, columns)| columns.iter().map(move |&j| (i, j, value(i, j))));
    let a = Matrix::from_triples(nrows as usize, ncols as usize, triples).expect("no entry stands twice");
    let u = Vector::from_dense(x.clone());
    let (once, thrice) = (expected(1.0), expected(3.0));
    let sums = reference::ewise_add(&once, &thrice, PLUS);
    on_device(|| {
        // of two products in one expression, one is staged at first, and later uses propagation blocking
        for _ in 0..6 {
            let (left, right) = (a.mxv(&u, PLUS_TIMES), a.mxv(u.map(TIMES.bind(3.0)), PLUS_TIMES));
            agree("two", &sums, &ok(left.ewise_add(right, PLUS).eval())?)?;
        }
        for _ in 0..4 {
            agree("one", &once, &ok(a.mxv(&u, PLUS_TIMES).eval())?)?;
            agree("of an expression", &thrice, &ok(a.mxv(u.map(TIMES.bind(3.0)), PLUS_TIMES).eval())?)?;
        }
        Ok(())
    })
    .unwrap_or_else(|error: TestCaseError| panic!("{error}"));
}
