//! Products over all combinations of semiring, mask, terminal, vector format, matrix format, direction and threads.

use crate::algebra::{Compose, Sample, Tangle, affine, blend};
use crate::harness::{agree, ok, on_threads, same, suite};
use crate::shapes::{Ending, FORMATS, Filled, Graph, ending, filled, graph, matrix};
use half::f16;
use proptest::prelude::*;
use vxm::backend::plan::{Direction, Forced, force};
use vxm::backend::reference;
use vxm::prelude::*;

const DIRECTIONS: [Option<Direction>; 3] = [None, Some(Direction::Push), Some(Direction::Pull)];

/// A case of a product.
#[derive(Debug, Clone)]
struct Case {
    graph: Graph,
    u: Filled,
    end: Ending,
    /// Whether the format is forced on the plan, rather than set on the matrix.
    by_force: bool,
}

fn case() -> impl Strategy<Value = Case> {
    (graph(), filled(), ending(), any::<bool>()).prop_map(|(graph, u, end, by_force)| Case { graph, u, end, by_force })
}

/// Checks `vxm` over one semiring and `mxv` over another, in every format and direction. Both must have the same result type.
fn check<X, A, S, R>(name: &str, cases: u32, vxm: S, mxv: R)
where
    X: Sample,
    A: Sample,
    S: Semiring<X, A>,
    S::Out: Sample,
    R: Semiring<A, X, Out = S::Out>,
{
    let choices = FORMATS
        .into_iter()
        .flat_map(|format| DIRECTIONS.map(|direction| Forced { direction, format, ..Forced::default() }));
    check_ways(&format!("products of {name}"), cases, &choices.collect::<Vec<_>>(), vxm, mxv);
}

/// Checks `vxm` and `mxv`, with each of `ways` forced on the plan.
pub fn check_ways<X, A, S, R>(name: &str, cases: u32, ways: &[Forced], vxm: S, mxv: R)
where
    X: Sample,
    A: Sample,
    S: Semiring<X, A>,
    S::Out: Sample,
    R: Semiring<A, X, Out = S::Out>,
{
    suite(name, cases, (case(), any::<bool>()), |(case, transposed)| {
        let grid = case.graph.grid::<A>();
        let (nrows, ncols) = (grid.rows.len(), grid.ncols);
        let (inner, length) = if transposed { (ncols, nrows) } else { (nrows, ncols) };
        let u = case.u.dense::<X>(inner);
        let t = if transposed { reference::mxv(&grid, &u, mxv) } else { reference::vxm(&u, &grid, vxm) };
        let (mask, w) = (case.end.mask.dense::<u32>(length), case.end.w.dense::<S::Out>(length));
        let expected = case.end.terminal.expected(&w, &t, &case.end.mode.selects(&mask));

        let a = matrix(&grid, case.graph.symmetric);
        let (u, mask, w) = (case.u.vector(&u), case.end.mask.vector(&mask), case.end.w.vector(&w));
        let (mode, terminal) = (case.end.mode, case.end.terminal);
        on_threads(case.end.threads, || {
            for &way in ways {
                let by_matrix = if case.by_force { None } else { way.format };
                let format = if case.by_force { way.format } else { None };
                let a = a.clone().with_format(by_matrix);
                let found = force(Forced { format, ..way }, || {
                    if transposed {
                        terminal.run_masked(a.mxv(&u, mxv), mode.of(&mask), &w)
                    } else {
                        terminal.run_masked(u.vxm(&a, vxm), mode.of(&mask), &w)
                    }
                });
                agree(way, &expected, &ok(found)?)?;
            }
            Ok(())
        })
    });
}

#[test]
fn max_first() {
    check::<u32, (), _, _>("MAX_FIRST of u32 over a pattern", 1200, MAX_FIRST, MAX_SECOND);
}

#[test]
fn max_times() {
    check::<u32, u32, _, _>("MAX_TIMES of u32", 700, MAX_TIMES, MAX_TIMES);
}

#[test]
fn max_of_floats() {
    // NaN, zeros of both signs, and an early exit at infinity
    check::<f32, f32, _, _>("MAX_PLUS of f32", 700, MAX_PLUS, MAX_PLUS);
}

#[test]
fn plus_times_of_integers() {
    check::<u32, u32, _, _>("PLUS_TIMES of u32", 1000, PLUS_TIMES, PLUS_TIMES);
}

#[test]
fn plus_times_of_floats() {
    check::<f32, f32, _, _>("PLUS_TIMES of f32", 1500, PLUS_TIMES, PLUS_TIMES);
}

#[test]
fn plus_first_of_floats() {
    // folds over the fixed tree, over tiles of a pattern
    check::<f32, (), _, _>("PLUS_FIRST of f32 over a pattern", 1000, PLUS_FIRST, PLUS_SECOND);
}

#[test]
fn plus_times_of_weighted_tiles() {
    check::<f16, f16, _, _>("PLUS_TIMES of f16", 1000, PLUS_TIMES, PLUS_TIMES);
}

#[test]
fn max_times_of_weighted_tiles() {
    check::<f16, f16, _, _>("MAX_TIMES of f16", 500, MAX_TIMES, MAX_TIMES);
}

#[test]
fn lor_land() {
    check::<bool, (), _, _>("LOR_LAND over a pattern", 700, LOR_LAND, LOR_LAND);
}

#[test]
fn lor_land_of_sets() {
    check::<(), (), _, _>("LOR_LAND of sets, counted", 700, LOR_LAND, LOR_LAND);
}

#[test]
fn lxor_land() {
    check::<bool, bool, _, _>("LXOR_LAND", 500, LXOR_LAND, LXOR_LAND);
}

#[test]
fn min_plus() {
    check::<i32, i32, _, _>("MIN_PLUS of i32", 700, MIN_PLUS, MIN_PLUS);
}

#[test]
fn any_pair() {
    check::<(), (), _, _>("ANY_PAIR of sets, counted", 1000, ANY_PAIR, ANY_PAIR);
}

#[test]
fn any_first() {
    check::<u32, (), _, _>("ANY_FIRST of u32 over a pattern", 1000, ANY_FIRST, ANY_SECOND);
}

#[test]
fn any_second() {
    check::<f32, u32, _, _>("ANY_SECOND of u32", 500, ANY_SECOND, ANY_FIRST);
}

#[test]
fn plus_pair() {
    check::<bool, (), _, _>("PLUS_PAIR over a pattern, counted", 1000, PLUS_PAIR, PLUS_PAIR);
}

#[test]
fn plus_pair_that_wraps() {
    let ring = semiring(PLUS, Pair::<u8>::new());
    check::<u32, (), _, _>("PLUS_PAIR of u8, counted", 700, ring, ring);
}

#[test]
fn plus_pair_of_floats() {
    // a product that could be counted, but sums of floats are folded over the fixed tree
    let ring = semiring(PLUS, Pair::<f32>::new());
    check::<u32, (), _, _>("PLUS_PAIR of f32", 500, ring, ring);
}

#[test]
fn bxor_pair() {
    let ring = semiring(BXOR, Pair::<u32>::new());
    check::<u32, (), _, _>("BXOR_PAIR, counted", 500, ring, ring);
}

#[test]
fn bor_first() {
    check::<u64, (), _, _>("BOR_FIRST of u64 over a pattern", 700, BOR_FIRST, BOR_SECOND);
}

#[test]
fn times_first_of_floats() {
    check::<f64, (), _, _>("TIMES_FIRST of f64 over a pattern", 500, TIMES_FIRST, TIMES_SECOND);
}

#[test]
fn times_second_of_integers() {
    // stops early at 0
    check::<u32, u32, _, _>("TIMES_SECOND of u32", 500, TIMES_SECOND, TIMES_FIRST);
}

#[test]
fn users_own_multiplication() {
    check::<u32, u32, _, _>("PLUS and an #[op]", 700, semiring(PLUS, blend), semiring(PLUS, blend));
}

#[test]
fn users_own_monoid_keeps_its_order() {
    let ring = semiring(Compose, affine);
    check::<u16, u16, _, _>("a monoid that doesn't commute", 1200, ring, ring);
}

#[test]
fn the_fixed_tree_shows() {
    let ring = semiring(Tangle, blend);
    check::<u32, u32, _, _>("a fold that shows its tree", 1000, ring, ring);
    let (vxm, mxv) = (semiring(Tangle, FIRST), semiring(Tangle, SECOND));
    check::<u32, (), _, _>("a fold that shows its tree, over a pattern", 500, vxm, mxv);
}

/// Checks matrices with rows of at most 1 to 18 entries. Kernels are specialised for some of these maxima.
fn rows_of_few<T: Sample, S: Semiring<T, T, Out = T>>(name: &str, ring: S) {
    let strategy = (1..=18usize, 0..150usize, filled(), 0..1u64 << 16);
    suite(&format!("rows of few entries, {name}"), 300, strategy, |(most, nrows, filled, seed)| {
        let ncols = 40;
        // row i has entries at the first few columns of its own order
        let entry = |i: usize, j: usize| {
            let mixed = |k: u64| (k ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let (count, place) = (mixed(i as u64) as usize % (most + 1), (j * 7 + i) % ncols);
            (place < count).then(|| T::sample(mixed((i * ncols + j) as u64)))
        };
        let grid = reference::grid(nrows, ncols, entry);
        let x = filled.dense::<T>(ncols);
        let (a, u) = (matrix(&grid, false), filled.vector(&x));
        agree(most, &reference::mxv(&grid, &x, ring), &ok(a.mxv(&u, ring).eval())?)?;
        // an operand with an element at every index
        let full = reference::or(&x, T::sample(seed));
        agree(("full", most), &reference::mxv(&grid, &full, ring), &ok(a.mxv(u.or(T::sample(seed)), ring).eval())?)
    });
}

#[test]
fn rows_of_few_entries() {
    rows_of_few::<f32, _>("sums of floats", PLUS_TIMES);
    rows_of_few::<u32, _>("a fold that shows its tree", semiring(Tangle, blend));
}

#[test]
fn a_symmetric_matrix_is_its_transpose() {
    suite("vxm and mxv of a symmetric matrix", 400, case(), |mut case| {
        case.graph.nrows = case.graph.nrows.min(100);
        case.graph.ncols = case.graph.nrows;
        case.graph.symmetric = true;
        let a = matrix(&case.graph.grid::<u32>(), true);
        let u = case.u.vector(&case.u.dense::<u32>(a.nrows()));
        let (by_columns, by_rows) = (ok(u.vxm(&a, MIN_PLUS).eval())?, ok(a.mxv(&u, MIN_PLUS).eval())?);
        same("vxm and mxv", &by_columns, &by_rows)?;
        same("the transpose", &by_columns, &ok(u.vxm(&a.transpose(), MIN_PLUS).eval())?)
    });
}
