//! Elements of 16 bytes: complex numbers, routes with a cost, a parent and hops, and structs of many fields, as all that elements are in.

use crate::algebra::{Sample, mix};
use crate::fixpoint::{case, every_schedule};
use crate::harness::{agree, ok, on_threads, same, suite};
use crate::matrices::agree_matrix;
use crate::shapes::{filled, graph, matrix};
use crate::structs::{DIRECTIONS, products};
use proptest::sample::select;
use vxm::backend::plan::{Forced, force};
use vxm::backend::reference::{self, Dense, Grid};
use vxm::prelude::*;

/// A complex number.
#[scalar]
pub struct Complex {
    re: f64,
    im: f64,
}

/// A way: its cost, the vertex before its end, and its edges.
#[scalar]
pub struct Route {
    cost: u64,
    parent: u32,
    hops: u32,
}

/// Fields of all sizes, with a byte to spare.
#[scalar]
pub struct Many {
    key: i64,
    weight: f32,
    class: i16,
    level: u8,
    open: bool,
}

impl Sample for Complex {
    fn sample(bits: u64) -> Self {
        Complex { re: f64::sample(bits), im: f64::sample(mix(bits)) }
    }
    fn plus(self, other: Self) -> Self {
        sum(self, other)
    }
    fn greater(self, other: Self) -> Self {
        if self.re > other.re { self } else { other }
    }
}
impl Sample for Route {
    fn sample(bits: u64) -> Self {
        Route {
            cost: (bits % 64) << ((bits >> 32 & 1) * 40),
            parent: u32::sample(mix(bits)),
            hops: u32::sample(mix(bits + 1)),
        }
    }
    fn plus(self, other: Self) -> Self {
        Route { cost: self.cost.wrapping_add(other.cost), ..self }
    }
    fn greater(self, other: Self) -> Self {
        cheaper(self, other)
    }
}
impl Sample for Many {
    fn sample(bits: u64) -> Self {
        let (key, weight) = (i64::sample(mix(bits)), f32::sample(mix(bits + 1)));
        Many { key, weight, class: bits as i16, level: u8::sample(bits), open: bits >> 50 & 1 == 1 }
    }
    fn plus(self, other: Self) -> Self {
        last(self, other)
    }
    fn greater(self, other: Self) -> Self {
        last(self, other)
    }
}

/// The sum, which isn't exact.
#[op]
fn sum(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re + b.re, im: a.im + b.im }
}
impl Monoid<Complex> for sum {
    const IDENTITY: Complex = Complex { re: -0.0, im: -0.0 };
    const EXACT: bool = false;
    const COMMUTATIVE: bool = true;
}
#[op]
fn product(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
}
#[op]
fn scaled(a: Complex, x: f64) -> Complex {
    Complex { re: a.re * x, im: a.im * x }
}
#[op]
fn is_real(a: Complex) -> bool {
    a.im == 0.0
}
#[op]
fn turned(i: u32, a: Complex) -> Complex {
    if i % 2u32 == 0u32 { Complex { re: -a.im, im: a.re } } else { a }
}
#[op(EQ_COMPLEX)]
fn eq_complex(a: Complex, b: Complex) -> bool {
    a == b && !(a != b)
}

#[op]
fn double(a: Complex) -> Complex {
    sum(a, a)
}

/// The cheaper route; of equal ones that of fewer hops, and of these that of the lesser parent.
#[op]
fn cheaper(a: Route, b: Route) -> Route {
    if a.cost != b.cost {
        if a.cost < b.cost { a } else { b }
    } else if a.hops != b.hops {
        if a.hops < b.hops { a } else { b }
    } else {
        if a.parent <= b.parent { a } else { b }
    }
}
const NOWHERE: Route = Route { cost: u64::MAX, parent: u32::MAX, hops: u32::MAX };
impl Monoid<Route> for cheaper {
    const IDENTITY: Route = NOWHERE;
    const COMMUTATIVE: bool = true;
}
/// A route, longer by an edge.
#[op]
fn along(route: Route, edge: Route) -> Route {
    if route.cost == u64::MAX {
        NOWHERE
    } else {
        Route { cost: route.cost + edge.cost, parent: edge.parent, hops: route.hops + 1 }
    }
}
#[op]
fn dearer(route: Route, more: u32) -> Route {
    let cost = route.cost.saturating_add(more as u64);
    // costs that are out of range are no routes: otherwise they would differ by their parents alone
    if cost == u64::MAX { NOWHERE } else { Route { cost, ..route } }
}
/// The edge from row `i`, as a route.
#[op(EDGE)]
fn edge(i: u32, _j: u32, weight: u32) -> Route {
    Route { cost: weight as u64 + 1, parent: i, hops: 1 }
}

/// The one of the greatest key; of equal ones the last.
#[op]
fn last(a: Many, b: Many) -> Many {
    if a.key > b.key { a } else { b }
}
impl Monoid<Many> for last {
    const IDENTITY: Many = Many { key: i64::MIN, weight: 0.0, class: 0, level: 0, open: false };
}
#[op]
fn mixed(a: Many, x: f32) -> Many {
    let class = if a.open { -a.class } else { a.class };
    Many { key: a.key.rotate_left(1), weight: a.weight * x, class, level: a.level.rotate_left(1), open: !a.open }
}

#[test]
fn products_of_wide_elements() {
    products::<Complex, Complex>("complex numbers", 100, semiring(sum, product));
    products::<Complex, f64>("complex numbers over floats", 60, semiring(sum, scaled));
    products::<Route, u32>("routes over lengths", 100, semiring(cheaper, dearer));
    products::<Route, Route>("routes over routes", 60, semiring(cheaper, along));
    products::<Many, f32>("many fields over floats", 60, semiring(last, mixed));
}

/// Products that are cut into parts: pushes by columns, pulls by rows.
#[test]
fn large_products_of_routes() {
    suite("large products of routes", 4, (0..1u64 << 16, 100..1000u64), |(seed, fill)| {
        let n = 1100;
        let bits = |i: usize, j: usize| mix(seed ^ (i * n + j) as u64);
        let grid = reference::grid(n, n, |i, j| (bits(i, j) % 1000 < 80).then(|| bits(i, j) as u32 >> 8));
        let route = |i: usize| (bits(i, n) % 1000 < fill).then(|| Route::sample(bits(n, i)));
        let held: Dense<Route> = (0..n).map(route).collect();
        let (a, u, ring) = (matrix(&grid, false), Vector::from_options(&held), semiring(cheaper, dearer));
        let expected = reference::vxm(&held, &grid, ring);
        for (threads, direction) in [1, 2, 8].into_iter().flat_map(|threads| DIRECTIONS.map(|way| (threads, way))) {
            let way = Forced { direction, ..Forced::default() };
            let found = on_threads(threads, || force(way, || u.vxm(&a, ring).eval()));
            agree((threads, direction), &expected, &ok(found)?)?;
        }
        Ok(())
    });
}

/// Rows of up to 20 entries, of unequal lengths: a GPU stages the products of narrower elements.
#[test]
fn short_rows_of_complex_numbers() {
    suite("short rows of complex numbers", 3, 0..1u64 << 16, |seed| {
        let n = 600;
        let entry = |i: usize, j: usize| Complex::sample(mix(seed ^ (i * n + j) as u64));
        let there = |i: usize, j: usize| (j * 31 + i * 7) % n < i % 21;
        let grid = reference::grid(n, n, |i, j| there(i, j).then(|| entry(i, j)));
        let held: Dense<Complex> = (0..n as u64).map(|i| Some(Complex::sample(mix(seed + i)))).collect();
        let (a, u) = (matrix(&grid, false), Vector::from_options(&held));
        let ring = semiring(sum, product);
        agree("mxv", &reference::mxv(&grid, &held, ring), &ok(a.mxv(&u, ring).eval())?)?;
        let (total, expected) =
            (ok(a.mxv(&u, ring).reduce(sum))?, reference::reduce(&reference::mxv(&grid, &held, ring), sum));
        same("a sum of a product", expected.bits(), total.bits())
    });
}

#[test]
fn verbs_over_wide_elements() {
    let case = (filled(), filled(), filled(), select(vec![1, 2, 8]));
    suite("verbs over wide elements", 100, case, |(x, y, z, threads)| {
        let n = 150;
        let (dx, dy, dz): (Dense<Complex>, Dense<Complex>, Dense<Route>) = (x.dense(n), y.dense(n), z.dense(n));
        let (u, v, routes) = (x.vector(&dx), y.vector(&dy), z.vector(&dz));
        on_threads(threads, || {
            agree("a union", &reference::ewise_add(&dx, &dy, sum), &ok(u.ewise_add(&v, sum).eval())?)?;
            let equal = reference::ewise_mult(&dx, &dy, EQ_COMPLEX);
            agree("an intersection", &equal, &ok(u.ewise_mult(&v, EQ_COMPLEX).eval())?)?;
            agree("select", &reference::select(&dx, is_real), &ok(u.select(is_real).eval())?)?;
            agree("map_index", &reference::map_index(&dx, turned), &ok(u.map_index(turned).eval())?)?;
            let i = Complex { re: -0.0, im: 1.5 };
            agree("or", &reference::or(&dx, i), &ok(u.or(i).eval())?)?;
            agree("a bound number", &reference::map(&dx, product.bind(i)), &ok(u.map(product.bind(i)).eval())?)?;
            let first = reference::map(&dx, sum.bind_first(i));
            agree("a first number", &first, &ok(u.map(sum.bind_first(i)).eval())?)?;
            agree("a constant", &vec![Some(i); n], &ok(fill(i, n).eval())?)?;
            let picked: Vec<u32> = (0..n as u32).rev().step_by(3).collect();
            agree("extract", &reference::extract(&dx, &picked), &ok(u.extract(&picked).eval())?)?;
            // an element counts in a mask of values unless all its fields are zero
            let masked: Dense<Complex> =
                (0..n).map(|k| dy[k].filter(|_| dx[k].is_some_and(|x| x != Complex::ZERO))).collect();
            agree("a mask of values", &masked, &ok(v.mask(u.values()).eval())?)?;
            same("a sum", reference::reduce(&dx, sum).bits(), ok(u.reduce(sum))?.bits())?;
            same("the cheapest", reference::reduce(&dz, cheaper).bits(), ok(routes.reduce(cheaper))?.bits())?;
            let (found, folded) = ok(routes.map(dearer.bind(3)).eval_and_reduce(cheaper))?;
            let more = reference::map(&dz, dearer.bind(3));
            agree("and its elements", &more, &found)?;
            same("a fold with its elements", reference::reduce(&more, cheaper).bits(), folded.bits())?;
            same("a digest", Vector::from_options(&dx).digest(), u.digest())
        })
    });
}

#[test]
fn matrices_of_wide_elements() {
    suite("matrices of wide elements", 60, (graph(), filled(), select(vec![1, 2, 8])), |(graph, u, threads)| {
        let grid: Grid<Complex> = graph.grid();
        let held = u.dense::<Complex>(grid.ncols);
        let (a, u) = (matrix(&grid, graph.symmetric), u.vector(&held));
        let ring = semiring(sum, product);
        on_threads(threads, || {
            agree("rows reduced", &grid.reduce_rows(sum), &ok(a.reduce_rows(sum))?)?;
            let by = Complex { re: 0.5, im: -2.0 };
            let mapped = grid.map(product.bind(by));
            let found = ok(a.map(product.bind(by)))?;
            agree("mxv of a mapped matrix", &reference::mxv(&mapped, &held, ring), &ok(found.mxv(&u, ring).eval())?)?;
            let back = a.transpose();
            let t = reference::vxm(&held, &grid.transpose(), ring);
            agree("of a transpose", &t, &ok(u.vxm(&back, ring).eval())?)?;
            let (square, product_of_two) = (grid.mxm(&grid.transpose(), ring), ok(a.mxm(&back, ring).eval())?);
            agree_matrix("a product of two matrices", &square, &product_of_two)?;
            let picked: Vec<u32> = (0..grid.rows.len() as u32).rev().step_by(2).collect();
            let all: Vec<u32> = (0..grid.ncols as u32).collect();
            agree_matrix("extract", &grid.extract(&picked, &all), &ok(a.extract(&picked, &all))?)?;
            agree_matrix("a union", &grid.ewise_add(&mapped, sum), &ok(a.ewise_add(&found, sum))?)?;
            // entries at one place are joined
            let twice = a.iter().chain(a.iter());
            let joined = ok(Coo::from_triples(grid.rows.len(), grid.ncols, twice)
                .and_then(|coo| Matrix::from_coo(&coo, Combine(sum))))?;
            agree_matrix("entries twice", &grid.map(double), &joined)?;
            agree("the vector as it was", &held, &u)
        })
    });
}

/// Cheapest routes with their parents and hops: as rounds of the definition find them.
#[test]
fn loops_over_routes() {
    suite("loops over routes", 40, graph(), |mut graph| {
        graph.nrows = graph.nrows.clamp(1, 120);
        graph.ncols = graph.nrows;
        let grid: Grid<u32> = graph.grid();
        let edges = grid.map(MIN.bind(9u32)).map_index(EDGE);
        let (a, n) = (matrix(&edges, false), edges.rows.len());
        let home = Route { cost: 0, parent: 0, hops: 0 };
        let start: Vec<Route> = (0..n).map(|v| if v == 0 { home } else { NOWHERE }).collect();
        let mut state: Dense<Route> = start.iter().copied().map(Some).collect();
        loop {
            let longer = reference::vxm(&state, &edges, semiring(cheaper, along));
            let next = reference::ewise_add(&state, &longer, cheaper);
            if next == state {
                break;
            }
            state = next;
        }
        let expected: Vec<Route> = state.iter().map(|route| route.unwrap_or(NOWHERE)).collect();
        let start = Vector::from_dense(start);
        every_schedule(&expected, || {
            fixpoint(start.clone())
                .while_changed()
                .monotone()
                .step(|route| route.ewise_add(route.vxm(&a, semiring(cheaper, along)), cheaper))
                .eval()
        })?;
        // in rounds, all of which see the states of the round before
        let settled = ok(fixpoint(start.clone())
            .while_changed()
            .step(|route| route.ewise_add(route.vxm(&a, semiring(cheaper, along)), cheaper))
            .eval())?;
        agree("in rounds", &expected.iter().copied().map(Some).collect::<Vec<_>>(), &settled.state)
    });
}

/// A vertex with a key until it has a colour, and its number.
#[scalar]
pub struct Painted {
    key: u64,
    number: u32,
    color: u32,
}

const BARE: u32 = 999;

#[op]
fn is_bare(v: Painted) -> bool {
    v.color == 999u32
}
#[op]
fn hue(v: Painted, _edge: ()) -> u64 {
    if v.color == 999u32 { u64::MAX } else { 1u64 << v.color }
}
#[op]
fn hue_of(_edge: (), v: Painted) -> u64 {
    if v.color == 999u32 { u64::MAX } else { 1u64 << v.color }
}
#[op]
fn first_free(own: Painted, taken: u64) -> Painted {
    if taken == u64::MAX { own } else { Painted { color: taken.trailing_ones(), ..own } }
}
#[op]
fn comes_first(own: Painted, other: Painted) -> Edge {
    if other.color != 999u32 {
        Edge::Relevant
    } else if other.key > own.key {
        Edge::Blocking
    } else {
        Edge::Irrelevant
    }
}
#[op]
fn is_above(own: Painted, other: Painted) -> bool {
    other.key > own.key
}

/// First-fit colourings by descending keys.
#[test]
fn loops_over_active_wide_elements() {
    suite("loops over active wide elements", 30, case(), |case| {
        let (keys, near, a) = (case.keys(), case.neighbors(), case.matrix());
        let mut order: Vec<usize> = (0..case.n).collect();
        order.sort_by_key(|&v| std::cmp::Reverse(keys[v]));
        let painted = |v: usize, color| Painted { key: keys[v] + (1 << 40), number: v as u32, color };
        let mut expected: Vec<Painted> = (0..case.n).map(|v| painted(v, BARE)).collect();
        let start = Vector::from_dense(expected.clone());
        for v in order {
            let taken: Vec<u32> = near[v].iter().map(|&u| expected[u as usize].color).collect();
            expected[v].color = (0..).find(|color| !taken.contains(color)).unwrap();
        }
        every_schedule(&expected, || {
            fixpoint(start.clone())
                .while_active(is_bare)
                .monotone()
                .step(|v| first_free.map2(v, v.vxm(&a, semiring(BOR, hue)).edge_status(comes_first).or_identity()))
                .eval()
        })?;
        let up = ok(start.map(is_bare).eval())?;
        same("all are bare", case.n, up.nvals())?;
        let oriented = a.oriented(is_above, &start);
        every_schedule(&expected, || {
            fixpoint(start.clone())
                .while_active(is_bare)
                .monotone()
                .step(|v| first_free.map2(v, oriented.mxv(v, semiring(BOR, hue_of)).or_identity()))
                .eval()
        })
    });
}

/// The least vertex of a component, with what is told of it.
#[scalar]
pub struct Label {
    root: u32,
    weight: u32,
    told: u64,
}
#[op]
fn root_of(label: Label) -> u32 {
    label.root
}
#[op]
fn lesser(a: Label, b: Label) -> Label {
    if a.root <= b.root { a } else { b }
}
impl Monoid<Label> for lesser {
    const IDENTITY: Label = Label { root: u32::MAX, weight: u32::MAX, told: u64::MAX };
    const COMMUTATIVE: bool = true;
}
#[op]
fn kept(label: Label, _edge: ()) -> Label {
    label
}

/// Labels of components, where each label is also joined into that of the vertex that it names.
#[test]
fn scatter_reduce_over_wide_elements() {
    suite("scatter_reduce over wide elements", 30, case(), |case| {
        let label = |v: usize| Label { root: v as u32, weight: (v * 7) as u32, told: !(v as u64) << 7 };
        let near = case.neighbors();
        let mut least: Vec<usize> = (0..case.n).collect();
        loop {
            let of = |v: usize| near[v].iter().map(|&u| least[u as usize]).fold(least[v], Ord::min);
            let next: Vec<usize> = (0..case.n).map(of).collect();
            if next == least {
                break;
            }
            least = next;
        }
        let expected: Vec<Label> = least.into_iter().map(label).collect();
        let (a, start) = (case.matrix(), Vector::from_dense((0..case.n).map(label).collect()));
        let joined = || {
            fixpoint(start.clone())
                .while_changed()
                .monotone()
                .step(|l| l.ewise_add(l.vxm(&a, semiring(lesser, kept)), lesser))
        };
        every_schedule(&expected, || joined().eval())?;
        every_schedule(&expected, || joined().scatter_reduce(root_of, lesser).eval())
    });
}

/// A vertex that may be in a set.
#[scalar]
pub struct Candidate {
    key: u64,
    number: u32,
    state: u32,
}
#[op]
fn is_open(v: Candidate) -> bool {
    v.state == 0u32
}
#[op]
fn is_chosen(v: Candidate) -> bool {
    v.state == 1u32
}
#[op]
fn stays(v: Candidate) -> bool {
    v.state != 2u32
}
#[op]
fn key_of(v: Candidate, _edge: ()) -> u64 {
    v.key
}
#[op]
fn elect(v: Candidate, greatest: u64) -> Candidate {
    if v.state == 0u32 && v.key > greatest { Candidate { state: 1, ..v } } else { v }
}
#[op]
fn leave(v: Candidate, chosen: u32) -> Candidate {
    if v.state == 0u32 && chosen > 0u32 { Candidate { state: 2, ..v } } else { v }
}

/// An independent set in rounds of two steps: the greatest among its neighbours is chosen, and these leave.
#[test]
fn steps_over_wide_elements() {
    suite("steps over wide elements", 30, case(), |case| {
        let (near, keys, a) = (case.neighbors(), case.keys(), case.matrix());
        let candidate = |v: usize, state| Candidate { key: keys[v] << 8 | 1, number: !(v as u32), state };
        let mut order: Vec<usize> = (0..case.n).collect();
        order.sort_by_key(|&v| std::cmp::Reverse(keys[v]));
        let mut state = vec![0; case.n];
        for v in order {
            state[v] = if near[v].iter().any(|&u| state[u as usize] == 1) { 2 } else { 1 };
        }
        let expected: Vec<Candidate> = (0..case.n).map(|v| candidate(v, state[v])).collect();
        let start = Vector::from_dense((0..case.n).map(|v| candidate(v, 0)).collect());
        every_schedule(&expected, || {
            fixpoint(start.clone())
                .while_active(is_open)
                .monotone()
                .step(|v| elect.map2(v, v.select(stays).vxm(&a, semiring(MAX, key_of)).or_identity()))
                .then(|v| leave.map2(v, v.select(is_chosen).vxm(&a, PLUS_PAIR)))
                .eval()
        })
    });
}

#[test]
fn laws_hold_over_wide_elements() {
    assert!(laws::check_monoid::<Route, _>(cheaper).is_ok());
    assert!(laws::check_monoid::<Label, _>(lesser).is_err(), "labels of one root may differ: not commutative");
    assert!(laws::check::<Route, u32, _>(semiring(cheaper, dearer)).is_ok());
}
