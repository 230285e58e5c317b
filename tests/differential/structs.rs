//! Elements that are structs, which `#[scalar]` makes: products, verbs, terminals, masks, matrices and loops, against the definition.

use crate::algebra::{Sample, mix};
use crate::fixpoint::every_schedule;
use crate::harness::{Terminal, agree, ok, on_threads, same, suite};
use crate::shapes::{FORMATS, ending, filled, graph, matrix};
use proptest::sample::select;
use vxm::backend::plan::{Direction, Forced, force};
use vxm::backend::reference::{self, Dense, Grid};
use vxm::prelude::*;

/// A path: its length, and the vertex before its end.
#[scalar]
pub struct Path {
    length: u32,
    parent: u32,
}

/// A sum of numbers of one byte, and how many they are: two bytes.
#[scalar]
pub struct Mean {
    sum: u8,
    count: u8,
}

/// A float, a number of 16 bits and a truth value, with a byte to spare.
#[scalar]
pub struct Mixed {
    weight: f32,
    class: i16,
    level: u8,
    open: bool,
}

impl Sample for Path {
    fn sample(bits: u64) -> Self {
        Path { length: u32::sample(bits), parent: u32::sample(mix(bits)) }
    }
    fn plus(self, other: Self) -> Self {
        together(self, other)
    }
    fn greater(self, other: Self) -> Self {
        shorter(self, other)
    }
}
impl Sample for Mean {
    fn sample(bits: u64) -> Self {
        Mean { sum: u8::sample(bits), count: u8::sample(mix(bits)) }
    }
    fn plus(self, other: Self) -> Self {
        add_means(self, other)
    }
    fn greater(self, other: Self) -> Self {
        if self.sum > other.sum { self } else { other }
    }
}
impl Sample for Mixed {
    fn sample(bits: u64) -> Self {
        let (class, level) = (i32::sample(mix(bits)) as i16, u8::sample(mix(bits + 1)));
        Mixed { weight: f32::sample(bits), class, level, open: bits >> 50 & 1 == 1 }
    }
    fn plus(self, other: Self) -> Self {
        sum_mixed(self, other)
    }
    fn greater(self, other: Self) -> Self {
        best_mixed(self, other)
    }
}

/// The sum of both fields.
#[op]
fn together(a: Path, b: Path) -> Path {
    Path { parent: a.parent + b.parent, length: a.length + b.length }
}

/// The shorter path; of equal ones that of the lesser parent.
#[op]
fn shorter(a: Path, b: Path) -> Path {
    match (a, b) {
        (Path { length: x, .. }, Path { length: y, .. }) if x < y => a,
        (Path { length: x, .. }, Path { length: y, .. }) if x > y => b,
        _ if a.parent <= b.parent => a,
        _ => b,
    }
}
const NONE: Path = Path { length: u32::MAX, parent: u32::MAX };
impl Monoid<Path> for shorter {
    const IDENTITY: Path = NONE;
    const COMMUTATIVE: bool = true;
}

/// A path, longer by an edge.
#[op]
fn lengthened(path: Path, weight: u32) -> Path {
    let length = path.length.saturating_add(weight);
    // lengths that are out of range are no paths: otherwise they would differ by their parents alone
    if length == u32::MAX { NONE } else { Path { length, ..path } }
}

/// A path of edges that are paths, as a matrix holds them.
#[op]
fn joined(path: Path, edge: Path) -> Path {
    let length = path.length.saturating_add(edge.length);
    Path { length, parent: edge.parent }
}

#[op]
fn add_means(a: Mean, b: Mean) -> Mean {
    Mean { sum: a.sum + b.sum, count: a.count + b.count }
}
impl Monoid<Mean> for add_means {
    const IDENTITY: Mean = Mean { sum: 0, count: 0 };
    const COMMUTATIVE: bool = true;
}
#[op]
fn mean_of(a: Mean, x: u8) -> Mean {
    Mean { sum: a.sum * x, count: a.count }
}

/// The floats' sum, so the monoid isn't exact.
#[op]
fn sum_mixed(a: Mixed, b: Mixed) -> Mixed {
    Mixed { weight: a.weight + b.weight, class: a.class + b.class, level: a.level + b.level, open: a.open ^ b.open }
}
impl Monoid<Mixed> for sum_mixed {
    const IDENTITY: Mixed = Mixed { weight: -0.0, class: 0, level: 0, open: false };
    const EXACT: bool = false;
}
#[op]
fn scale_mixed(a: Mixed, x: f32) -> Mixed {
    let class = if a.open { -a.class } else { a.class };
    Mixed { weight: a.weight * x, class, level: a.level.rotate_left(1), open: !a.open }
}

/// The one of the greatest class; of equal ones the first.
#[op]
fn best_mixed(a: Mixed, b: Mixed) -> Mixed {
    if b.class > a.class { b } else { a }
}

#[op]
fn is_open(a: Mixed) -> bool {
    a.open
}
#[op]
fn classed(i: u32, a: Mixed) -> Mixed {
    let mut a = a;
    a.class = i as i16;
    a
}

pub const DIRECTIONS: [Option<Direction>; 3] = [None, Some(Direction::Push), Some(Direction::Pull)];

/// Checks products over a semiring of structs with every terminal and mask, in every direction and format.
pub fn products<T: Sample, A: Sample>(name: &str, cases: u32, ring: impl Semiring<T, A, Out = T>) {
    let case = (graph(), filled(), ending());
    suite(&format!("products of {name}"), cases, case, |(graph, u, end)| {
        let grid: Grid<A> = graph.grid();
        let (held, length) = (u.dense::<T>(grid.rows.len()), grid.ncols);
        let (w, mask) = (end.w.dense::<T>(length), end.mask.dense::<u32>(length));
        let t = reference::vxm(&held, &grid, ring);
        let selects = end.mode.selects(&mask);
        let expected = match end.terminal {
            // the harness' accumulators are those of numbers
            Terminal::Accum(_) => reference::accumulate(&w, &t, &selects, ring.add()),
            other => other.expected(&w, &t, &selects),
        };
        let (a, u) = (matrix(&grid, graph.symmetric), u.vector(&held));
        let (w, mask) = (end.w.vector(&w), end.mask.vector(&mask));
        on_threads(end.threads, || {
            for (format, direction) in FORMATS.into_iter().flat_map(|format| DIRECTIONS.map(|way| (format, way))) {
                let way = Forced { format, direction, ..Forced::default() };
                force(way, || {
                    let found = match (end.terminal, end.mode.of(&mask)) {
                        (Terminal::Accum(_), chosen) => {
                            let mut w = w.clone();
                            match chosen {
                                None => u.vxm(&a, ring).accum(ring.add()).assign_to(&mut w),
                                Some(mask) => u.vxm(&a, ring).mask(mask).accum(ring.add()).assign_to(&mut w),
                            }
                            .map(|()| w)
                        }
                        (terminal, chosen) => terminal.run_masked(u.vxm(&a, ring), chosen, &w),
                    };
                    agree(way, &expected, &ok(found)?)
                })?;
            }
            Ok(())
        })
    });
}

#[test]
fn products_of_structs() {
    products::<Path, u32>("paths over lengths", 150, semiring(shorter, lengthened));
    products::<Path, Path>("paths over paths", 100, semiring(shorter, joined));
    products::<Mean, u8>("means over bytes", 100, semiring(add_means, mean_of));
    products::<Mixed, f32>("mixed fields over floats", 100, semiring(sum_mixed, scale_mixed));
}

#[test]
fn verbs_over_structs() {
    let case = (filled(), filled(), filled(), select(vec![1, 2, 8]));
    suite("verbs over structs", 200, case, |(x, y, z, threads)| {
        let n = 150;
        let (dx, dy, dz): (Dense<Mixed>, Dense<Mixed>, Dense<Path>) = (x.dense(n), y.dense(n), z.dense(n));
        let (u, v, paths) = (x.vector(&dx), y.vector(&dy), z.vector(&dz));
        on_threads(threads, || {
            agree("a union", &reference::ewise_add(&dx, &dy, best_mixed), &ok(u.ewise_add(&v, best_mixed).eval())?)?;
            agree(
                "an intersection",
                &reference::ewise_mult(&dx, &dy, EQ_MIXED),
                &ok(u.ewise_mult(&v, EQ_MIXED).eval())?,
            )?;
            agree("select", &reference::select(&dx, is_open), &ok(u.select(is_open).eval())?)?;
            agree("map_index", &reference::map_index(&dx, classed), &ok(u.map_index(classed).eval())?)?;
            let least = Mixed { weight: 0.5, class: -3, level: 7, open: true };
            agree("or", &reference::or(&dx, least), &ok(u.or(least).eval())?)?;
            agree(
                "a bound struct",
                &reference::map(&dx, best_mixed.bind(least)),
                &ok(u.map(best_mixed.bind(least)).eval())?,
            )?;
            let picked: Vec<u32> = (0..n as u32).rev().step_by(3).collect();
            agree("extract", &reference::extract(&dx, &picked), &ok(u.extract(&picked).eval())?)?;
            same("a sum", reference::reduce(&dx, sum_mixed).bits(), ok(u.reduce(sum_mixed))?.bits())?;
            same("the shortest", reference::reduce(&dz, shorter).bits(), ok(paths.reduce(shorter))?.bits())
        })
    });
}

/// Whether two structs are equal, field by field: NaN isn't equal to itself.
#[op(EQ_MIXED)]
fn eq_mixed(a: Mixed, b: Mixed) -> bool {
    a == b && !(a != b)
}

#[test]
fn matrices_of_structs() {
    suite("matrices of structs", 100, (graph(), filled(), select(vec![1, 2, 8])), |(graph, u, threads)| {
        let grid: Grid<Path> = graph.grid();
        let held = u.dense::<Path>(grid.ncols);
        let (a, u) = (matrix(&grid, graph.symmetric), u.vector(&held));
        on_threads(threads, || {
            let rows = reference::Grid::reduce_rows(&grid, shorter);
            agree("rows reduced", &rows, &ok(a.reduce_rows(shorter))?)?;
            let doubled = grid.map(together.bind(Path { length: 1, parent: 2 }));
            let found = ok(a.map(together.bind(Path { length: 1, parent: 2 })))?;
            let t = reference::mxv(&doubled, &held, semiring(shorter, joined));
            agree("mxv of a mapped matrix", &t, &ok(found.mxv(&u, semiring(shorter, joined)).eval())?)?;
            let transposed = a.transpose();
            let t = reference::vxm(&held, &grid.transpose(), semiring(shorter, joined));
            agree("of a transpose", &t, &ok(u.vxm(&transposed, semiring(shorter, joined)).eval())?)
        })
    });
}

/// Shortest paths with their parents, by a loop over structs: as rounds of the definition find them.
#[test]
fn loops_over_structs() {
    suite("loops over structs", 60, graph(), |mut graph| {
        graph.nrows = graph.nrows.clamp(1, 120);
        graph.ncols = graph.nrows;
        // an edge is a path of its own, from its row
        let grid: Grid<u32> = graph.grid();
        let edges = grid.map(MIN.bind(9u32)).map_index(EDGE);
        let (a, n) = (matrix(&edges, false), edges.rows.len());
        let start: Vec<Path> = (0..n).map(|v| if v == 0 { Path { length: 0, parent: 0 } } else { NONE }).collect();
        let mut state: Dense<Path> = start.iter().copied().map(Some).collect();
        loop {
            let longer = reference::vxm(&state, &edges, semiring(shorter, extended));
            let next = reference::ewise_add(&state, &longer, shorter);
            if next == state {
                break;
            }
            state = next;
        }
        let expected: Vec<Path> = state.iter().map(|path| path.unwrap_or(NONE)).collect();
        let start = Vector::from_dense(start);
        every_schedule(&expected, || {
            fixpoint(start.clone())
                .while_changed()
                .monotone()
                .step(|path| path.ewise_add(path.vxm(&a, semiring(shorter, extended)), shorter))
                .eval()
        })
    });
}

/// The edge from row `i`, as a path.
#[op(EDGE)]
fn edge(i: u32, _j: u32, weight: u32) -> Path {
    Path { length: weight + 1, parent: i }
}
/// A path, and an edge behind it.
#[op]
fn extended(path: Path, edge: Path) -> Path {
    if path == NONE { NONE } else { joined(path, edge) }
}

#[test]
fn laws_hold_over_structs() {
    assert!(laws::check_monoid::<Path, _>(shorter).is_ok());
    assert!(laws::check_monoid::<Mean, _>(add_means).is_ok());
    assert!(laws::check::<Path, u32, _>(semiring(shorter, lengthened)).is_ok());
    // the first of equal classes: a monoid needs an identity
    let broken = laws::check_monoid::<Path, _>(longest).unwrap_err();
    assert_eq!(broken.law(), laws::Law::Identity);
}

/// Keeps the longer path, and claims an identity that it doesn't have.
#[op]
fn longest(a: Path, b: Path) -> Path {
    if a.length >= b.length { a } else { b }
}
impl Monoid<Path> for longest {
    const IDENTITY: Path = Path { length: 1, parent: 0 };
}
