//! Elements of 16 bytes: complex numbers, routes with a cost, a parent and hops, and structs of many fields, as all that elements are in.

mod loops;

use crate::algebra::{Sample, mix};
use crate::elements::{Complex, Label, NOWHERE, Route, along, cheaper, lesser, product, sum};
use crate::harness::{agree, ok, on_threads, same, suite};
use crate::matrices::agree_matrix;
use crate::shapes::{filled, graph, matrix};
use crate::structs::{DIRECTIONS, products};
use proptest::sample::select;
use vxm::backend::plan::{Forced, force};
use vxm::backend::reference::{self, Dense, Grid};
use vxm::prelude::*;

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

#[op]
fn dearer(route: Route, more: u32) -> Route {
    let cost = route.cost.saturating_add(more as u64);
    // costs that are out of range are no routes: otherwise they would differ by their parents alone
    if cost == u64::MAX { NOWHERE } else { Route { cost, ..route } }
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

#[test]
fn laws_hold_over_wide_elements() {
    assert!(laws::check_monoid::<Route, _>(cheaper).is_ok());
    assert!(laws::check_monoid::<Label, _>(lesser).is_err(), "labels of one root may differ: not commutative");
    assert!(laws::check::<Route, u32, _>(semiring(cheaper, dearer)).is_ok());
}
