//! Products within expressions: as operands of products, as masks, under elementwise verbs, over regions. Also the fused updates that
//! algorithms use in loops.

use crate::algebra::{blend, blend3, decide};
use crate::harness::{Outcome, agree, ok, on_threads, same, suite};
use crate::shapes::{Ending, FORMATS, Filled, Graph, Kind, ending, filled, graph, matrix};
use proptest::prelude::*;
use proptest::sample::select;
use vxm::backend::plan::{Direction, Forced, Format, force};
use vxm::backend::reference::{self, Dense, Grid};
use vxm::prelude::*;

/// Two square matrices of the same size, one weighted and one a pattern; three vectors; a mask and a terminal.
#[derive(Debug, Clone)]
struct Case {
    a: Graph,
    b: Graph,
    vectors: [Filled; 3],
    end: Ending,
    forced: (Option<Direction>, Option<Format>),
}

fn case() -> impl Strategy<Value = Case> {
    let directions = vec![None, Some(Direction::Push), Some(Direction::Pull)];
    let vectors = (filled(), filled(), filled()).prop_map(|(x, y, z)| [x, y, z]);
    let forced = (select(directions), select(FORMATS.to_vec()));
    (graph(), 0..80u64, vectors, ending(), forced).prop_map(|(mut a, per_mille, vectors, end, forced)| {
        a.nrows = a.nrows.min(120);
        a.ncols = a.nrows;
        let b = Graph { kind: Kind::Scattered(per_mille), symmetric: a.seed % 2 == 0, seed: a.seed + 1, ..a.clone() };
        Case { a, b, vectors, end, forced }
    })
}

/// The matrices and vectors of a case, both for the reference and for the engine.
struct Setting {
    case: Case,
    grids: (Grid<u32>, Grid<()>),
    dense: [Dense<u32>; 3],
    w: Dense<u32>,
    mask: Dense<u32>,
    a: Matrix<u32>,
    b: Matrix<()>,
    held: [Vector<u32>; 3],
    held_w: Vector<u32>,
    held_mask: Vector<u32>,
}

impl Setting {
    fn new(case: Case) -> Self {
        let n = case.a.nrows;
        let (grid_a, grid_b) = (case.a.grid(), case.b.grid());
        let (a, b) = (matrix(&grid_a, case.a.symmetric), matrix(&grid_b, case.b.symmetric));
        let dense = [0, 1, 2].map(|k: usize| case.vectors[k].dense(n));
        let held = [0, 1, 2].map(|k: usize| case.vectors[k].vector(&dense[k]));
        let (w, mask) = (case.end.w.dense(n), case.end.mask.dense(n));
        let (held_w, held_mask) = (case.end.w.vector(&w), case.end.mask.vector(&mask));
        Self { case, grids: (grid_a, grid_b), dense, w, mask, a, b, held, held_w, held_mask }
    }

    /// Runs `checks` on the case's number of threads, with its direction and format forced.
    fn run(&self, checks: impl FnOnce() -> Outcome + Send) -> Outcome {
        let (direction, format) = self.case.forced;
        on_threads(self.case.end.threads, || force(Forced { direction, format, ..Forced::default() }, checks))
    }

    fn check<E: Expr<T = u32>>(&self, what: &str, t: &[Option<u32>], expression: E) -> Outcome {
        let Ending { mode, terminal, .. } = self.case.end;
        let expected = terminal.expected(&self.w, t, &mode.selects(&self.mask));
        agree(what, &expected, &ok(terminal.run_masked(expression, mode.of(&self.held_mask), &self.held_w))?)
    }
}

/// An index that depends on `x`, seldom out of range.
#[op]
fn points_to(x: u32) -> u32 {
    x * 7u32 % 60u32
}

#[test]
fn products_under_verbs() {
    suite("verbs over products", 1000, case(), |case| {
        let s = Setting::new(case);
        let (([x, y, z], [u, v, w]), (ga, gb)) = ((&s.dense, &s.held), (&s.grids.0, &s.grids.1));
        let (weighted, best) = (reference::vxm(x, ga, PLUS_TIMES), reference::vxm(y, gb, MAX_FIRST));
        s.run(|| {
            let product = || u.vxm(&s.a, PLUS_TIMES);
            let neighbours = || v.vxm(&s.b, MAX_FIRST);
            s.check("or_identity", &reference::or(&best, 0), neighbours().or_identity())?;
            let t = reference::ewise_mult(y, &reference::or(&best, 0), decide);
            s.check("map2", &t, decide.map2(v, neighbours().or_identity()))?;
            s.check("map3", &reference::map3(&weighted, z, &best, blend3), blend3.map3(product(), w, neighbours()))?;
            s.check(
                "a union",
                &reference::ewise_add(&weighted, &best, blend),
                product().ewise_add(neighbours(), blend),
            )?;
            let t = reference::ewise_add(z, &best, blend);
            s.check("a union with a vector", &t, w.ewise_add(neighbours(), blend))?;
            let t = reference::ewise_add(z, &best, MIN);
            s.check("a union that may skip its right side", &t, w.ewise_add(neighbours(), MIN))?;
            let t = reference::ewise_add(z, &reference::vxm(y, gb, PLUS_PAIR), MIN);
            s.check("a union that may skip a count", &t, w.ewise_add(v.vxm(&s.b, PLUS_PAIR), MIN))?;
            s.check("followed", &reference::pointer_jump(&best, points_to), neighbours().pointer_jump(points_to))?;
            let t = reference::ewise_mult(z, &reference::masked(&best, &reference::by_value(x)), blend);
            s.check("a masked product", &t, blend.map2(w, neighbours().mask(u.values())))?;
            let t = reference::or(&reference::masked(&best, &reference::by_value(x)), 0);
            s.check("a masked product filled", &t, neighbours().mask(u.values()).or_identity())?;
            let sum = reference::reduce(&weighted, PLUS);
            same("reduced", sum, ok(product().reduce(PLUS))?)
        })
    });
}

#[test]
fn products_of_expressions() {
    suite("products of expressions", 1000, case(), |case| {
        let s = Setting::new(case);
        let (([x, y, z], [u, v, w]), (ga, gb)) = ((&s.dense, &s.held), (&s.grids.0, &s.grids.1));
        let n = x.len();
        s.run(|| {
            let t = reference::vxm(&reference::vxm(x, ga, PLUS_TIMES), gb, MAX_FIRST);
            s.check("of a product", &t, u.vxm(&s.a, PLUS_TIMES).vxm(&s.b, MAX_FIRST))?;
            let t = reference::mxv(ga, &reference::mxv(ga, x, PLUS_TIMES), MIN_PLUS);
            s.check("mxv of mxv", &t, s.a.mxv(s.a.mxv(u, PLUS_TIMES), MIN_PLUS))?;
            let t = reference::vxm(&reference::ewise_add(x, y, blend), gb, ANY_FIRST);
            s.check("of a union", &t, u.ewise_add(v, blend).vxm(&s.b, ANY_FIRST))?;
            let t = reference::vxm(&reference::select(x, GT.bind(2)), gb, ANY_FIRST);
            s.check("of a selection", &t, u.select(GT.bind(2)).vxm(&s.b, ANY_FIRST))?;
            let t = reference::vxm(&reference::masked(x, &reference::by_value(y)), gb, PLUS_PAIR);
            s.check("of a masked vector, counted", &t, u.mask(v.values()).vxm(&s.b, PLUS_PAIR))?;
            let t = reference::vxm(&vec![Some(3); n], ga, PLUS_TIMES);
            s.check("of a fill", &t, fill(3, n).vxm(&s.a, PLUS_TIMES))?;
            let reversed: Vec<u32> = (0..n as u32).rev().collect();
            let t = reference::vxm(&reference::extract(x, &reversed), gb, MAX_FIRST);
            s.check("of an extraction", &t, u.extract(&reversed).vxm(&s.b, MAX_FIRST))?;
            s.check("of a region", &t, u.scatter(&reversed, n).vxm(&s.b, MAX_FIRST))?;
            let t = reference::extract(&reference::vxm(z, gb, MAX_FIRST), &reversed);
            s.check("extracted", &t, w.vxm(&s.b, MAX_FIRST).extract(&reversed))?;
            let few = &reversed[..n / 2];
            agree("few extracted", &t[..n / 2], &ok(w.vxm(&s.b, MAX_FIRST).extract(few).eval())?)
        })
    });
}

#[test]
fn products_as_masks() {
    suite("products as masks", 700, case(), |case| {
        let s = Setting::new(case);
        let ([x, y, _], [u, v, _]) = (&s.dense, &s.held);
        let reached = reference::vxm(y, &s.grids.1, MAX_FIRST);
        s.run(|| {
            let frontier = || v.vxm(&s.b, MAX_FIRST);
            let write = |what: &str, selects: &[bool], found: Vector<u32>| {
                agree(what, &reference::write(&s.w, x, selects), &found)
            };
            let mut w = s.held_w.clone();
            ok(u.mask(frontier()).assign_to(&mut w))?;
            write("structural", &reference::structural(&reached), w)?;
            let mut w = s.held_w.clone();
            ok(u.mask(frontier().values()).assign_to(&mut w))?;
            write("by value", &reference::by_value(&reached), w)?;
            let mut w = s.held_w.clone();
            ok(u.mask(!frontier().values()).assign_to(&mut w))?;
            write("complement by value", &reference::complement(&reference::by_value(&reached)), w)?;
            // a product masked by a product, with a masked operand
            let masked = reference::masked(x, &reference::by_value(&reached));
            let t =
                reference::masked(&reference::vxm(&masked, &s.grids.0, MAX_TIMES), &reference::structural(&reached));
            let found = u.mask(frontier().values()).vxm(&s.a, MAX_TIMES).mask(frontier()).eval();
            agree("a product by a product", &t, &ok(found)?)
        })
    });
}

#[test]
fn loops_of_updates() {
    suite("loops of updates", 500, case(), |case| {
        let s = Setting::new(case);
        let (grid, mut key, mut held) = (&s.grids.1, s.dense[0].clone(), s.held[0].clone());
        let (mut seen, mut held_seen) = (s.dense[1].clone(), s.held[1].clone());
        s.run(|| {
            for round in 0..4 {
                // key<!seen> = decide(key, key max.first B)
                let best = reference::or(&reference::vxm(&key, grid, MAX_FIRST), 0);
                let t = reference::ewise_mult(&key, &best, decide);
                key = reference::write(&key, &t, &reference::complement(&reference::structural(&seen)));
                ok(held.update(|k| decide.map2(k, k.vxm(&s.b, MAX_FIRST).or_identity()).mask(!&held_seen)))?;
                agree(("update", round), &key, &held)?;
                // seen += (key any.first B)<!seen>
                let reached = reference::vxm(&key, grid, ANY_FIRST);
                let unseen = reference::complement(&reference::structural(&seen));
                let after = reference::accumulate(&seen, &reached, &unseen, FIRST);
                let before = held_seen.clone();
                ok(held.vxm(&s.b, ANY_FIRST).mask(!&before).accum(FIRST).assign_to(&mut held_seen))?;
                seen = after;
                agree(("accumulate", round), &seen, &held_seen)?;
            }
            Ok(())
        })
    });
}

#[test]
fn rows_that_stop_early() {
    suite("until", 700, case(), |case| {
        let s = Setting::new(case);
        let (([x, ..], [u, ..]), (ga, gb)) = ((&s.dense, &s.held), (&s.grids.0, &s.grids.1));
        s.run(|| {
            // a test whether the row stopped has the same result wherever it stopped
            let t = reference::ewise_mult(x, &reference::or(&reference::vxm(x, gb, MAX_FIRST), 0), GT);
            let found = u.ewise_mult(u.vxm(&s.b, MAX_FIRST).until(LT).or_identity(), GT).eval();
            agree("asked", &t, &ok(found)?)?;
            let t = reference::ewise_mult(x, &reference::mxv(ga, x, MAX_TIMES), GE);
            let found = u.ewise_mult(s.a.mxv(u, MAX_TIMES).until(LT), GE).eval();
            agree("asked of mxv", &t, &ok(found)?)?;
            // a row that did not stop has the whole result; one that did has a partial result for which the operator holds
            let whole = reference::vxm(x, ga, PLUS_TIMES);
            let found = ok(u.vxm(&s.a, PLUS_TIMES).until(LT).eval())?;
            for (i, whole) in whole.into_iter().enumerate() {
                let found = found.get(i as u32);
                let stopped = x[i].zip(found).is_some_and(|(own, partial)| own < partial);
                same("is whole or stopped", true, stopped || found == whole)?;
            }
            Ok(())
        })
    });
}

/// By definition, a product in which entry (i, j) takes part if `x[i] < x[j]`: row `i` is computed over the elements above `x[i]`.
fn among<X: Element + PartialOrd, T>(x: &Dense<X>, product: impl Fn(&Dense<X>) -> Dense<T>) -> Dense<T> {
    let left = |i: usize| x.iter().map(|y| y.filter(|y| x[i].is_some_and(|own| own < *y))).collect();
    (0..x.len()).map(|i| product(&left(i)).swap_remove(i)).collect()
}

/// Like [`among`], but entry (i, j) takes part if `key[i] < key[j]`.
fn of_ends<X: Copy, T>(key: &[u32], x: &Dense<X>, product: impl Fn(&Dense<X>) -> Dense<T>) -> Dense<T> {
    let left = |i: usize| (0..x.len()).map(|j| x[j].filter(|_| key[i] < key[j])).collect();
    (0..x.len()).map(|i| product(&left(i)).swap_remove(i)).collect()
}

/// A third of `x`. Sums of thirds are rounded, so they depend on their order.
#[op]
fn third(x: u32) -> f32 {
    (x as f32) / 3.0f32
}

/// A status that takes part where `LT` holds.
#[op]
fn greater_takes_part(own: u32, other: u32) -> Edge {
    if own >= other {
        Edge::Irrelevant
    } else if other % 3u32 == 0u32 {
        Edge::Blocking
    } else if other % 3u32 == 1u32 {
        Edge::Final
    } else {
        Edge::Relevant
    }
}

#[test]
fn edges_by_their_status() {
    suite("edge_status", 300, case(), |mut case| {
        case.a.nrows = case.a.nrows.min(40);
        case.a.ncols = case.a.nrows;
        case.b.nrows = case.a.nrows;
        case.b.ncols = case.a.nrows;
        let s = Setting::new(case);
        let (([x, ..], [u, ..]), (ga, gb)) = ((&s.dense, &s.held), (&s.grids.0, &s.grids.1));
        s.run(|| {
            let t = among(x, |x| reference::vxm(x, gb, PLUS_PAIR));
            agree("counted", &t, &ok(u.vxm(&s.b, PLUS_PAIR).edge_status(LT).eval())?)?;
            // outside loops blocking and final edges are relevant ones
            agree(
                "counted, of four statuses",
                &t,
                &ok(u.vxm(&s.b, PLUS_PAIR).edge_status(greater_takes_part).eval())?,
            )?;
            let t = among(x, |x| reference::mxv(ga, x, MAX_TIMES));
            agree("of mxv", &t, &ok(s.a.mxv(u, MAX_TIMES).edge_status(LT).eval())?)?;
            agree("of mxv, of four statuses", &t, &ok(s.a.mxv(u, MAX_TIMES).edge_status(greater_takes_part).eval())?)?;
            // entries that take no part keep their positions in the fixed tree
            let thirds: Dense<f32> = x.iter().map(|x| x.map(|x| third.call(x))).collect();
            let t = among(&thirds, |x| reference::vxm(x, gb, PLUS_FIRST));
            agree("sums", &t, &ok(u.map(third).vxm(&s.b, PLUS_FIRST).edge_status(LT).eval())?)?;
            // `until` sees only the entries that take part
            let t = among(x, |x| reference::vxm(x, gb, MAX_FIRST));
            let t = reference::ewise_mult(x, &reference::or(&t, 0), GE);
            let found = u.ewise_mult(u.vxm(&s.b, MAX_FIRST).until(LT).edge_status(LT).or_identity(), GE).eval();
            agree("asked", &t, &ok(found)?)?;
            // two statuses: both must let an edge take part
            let t = among(x, |x| reference::vxm(x, gb, PLUS_TIMES));
            agree("twice", &t, &ok(u.vxm(&s.b, PLUS_TIMES).edge_status(NE).edge_status(greater_takes_part).eval())?)
        })
    });
}

#[test]
fn oriented_edges() {
    suite("oriented", 300, (case(), any::<u64>()), |(mut case, seed)| {
        case.a.nrows = case.a.nrows.min(40);
        case.a.ncols = case.a.nrows;
        case.b.nrows = case.a.nrows;
        case.b.ncols = case.a.nrows;
        let key: Vec<u32> =
            (0..case.a.nrows as u64).map(|i| (crate::algebra::mix(seed.wrapping_add(i)) % 16) as u32).collect();
        let s = Setting::new(case);
        let (([x, ..], [u, ..]), (ga, gb)) = ((&s.dense, &s.held), (&s.grids.0, &s.grids.1));
        let keys = Vector::from_dense(key.clone());
        s.run(|| {
            // a row of `vxm` is a column of the matrix: `GT` keeps its entries with the greater key
            let (rows, columns) = (s.a.oriented(LT, &keys), s.b.oriented(GT, &keys));
            // entries take part whether or not the row has an element of its own
            let t = of_ends(&key, x, |x| reference::vxm(x, gb, PLUS_PAIR));
            agree("counted", &t, &ok(u.vxm(&columns, PLUS_PAIR).eval())?)?;
            agree("counted, made", &t, &ok(u.vxm(&ok(columns.materialize())?, PLUS_PAIR).eval())?)?;
            let t = of_ends(&key, x, |x| reference::mxv(ga, x, MAX_TIMES));
            agree("of mxv", &t, &ok(rows.mxv(u, MAX_TIMES).eval())?)?;
            agree("made", &t, &ok(ok(rows.materialize())?.mxv(u, MAX_TIMES).eval())?)?;
            agree("a plain matrix", &t, &ok(ok(rows.into_matrix())?.mxv(u, MAX_TIMES).eval())?)?;
            // entries that take no part keep their positions in the fixed tree
            let thirds: Dense<f32> = x.iter().map(|x| x.map(|x| third.call(x))).collect();
            let t = of_ends(&key, &thirds, |x| reference::vxm(x, gb, PLUS_FIRST));
            agree("sums", &t, &ok(u.map(third).vxm(&columns, PLUS_FIRST).eval())?)?;
            let t = among(x, |x| of_ends(&key, x, |x| reference::vxm(x, gb, MAX_FIRST)));
            agree("and by status", &t, &ok(u.vxm(&columns, MAX_FIRST).edge_status(greater_takes_part).eval())?)?;
            agree("and by LT", &t, &ok(u.vxm(&columns, MAX_FIRST).edge_status(LT).eval())?)
        })
    });
}
