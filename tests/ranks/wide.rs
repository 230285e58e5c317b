//! Elements of 16 bytes on ranks: parcels, folds, matrices and loops.

use crate::elements::{Complex, Label, NOWHERE, Route, along, cheaper, kept, lesser, product, root_of, sum};
use crate::{each_grid, graphs, on_grid, random_graph, shapes};
use vxm::prelude::*;
use vxm::ranks::Deal;

#[op(SIZE)]
fn size(a: Complex, b: Complex) -> u32 {
    (a.re * b.re + a.im * b.im).abs() as u32
}
#[op(SCALE)]
fn scale(x: f64, a: Complex) -> Complex {
    Complex { re: a.re * x, im: a.im }
}
/// An entry's value, which differs between rows and columns.
#[op(ENTRY)]
fn entry(i: u32, j: u32, _entry: ()) -> Complex {
    Complex { re: 1.0 / (1u32 + i % 7u32) as f64, im: 0.1 * (j % 5u32) as f64 }
}
#[op(POINT)]
fn point(i: u32, x: u32) -> Complex {
    Complex { re: 0.3 * (x % 11u32) as f64, im: (i % 3u32) as f64 - 1.5 }
}

#[test]
fn products_and_folds_of_complex_numbers() {
    for (name, a) in graphs() {
        let weighted = a.map_index(ENTRY).unwrap();
        let program = |a: &Matrix<Complex>| {
            let n = a.nrows();
            let x = fill(1u32, n).map_index(PLUS).map_index(POINT).eval()?;
            let y = x.vxm(a, semiring(sum, product)).eval()?;
            // a fold that isn't exact: in the order of one process
            let total = y.reduce(sum)?;
            let most = y.ewise_mult(&y, SIZE).reduce(MAX)?;
            fill(most as f64, n).ewise_mult(y.or(total), SCALE).eval()
        };
        let expected = program(&weighted).unwrap();
        // a product that isn't exact needs whole rows
        for shape in shapes().filter(|shape| shape.1 == 1) {
            let found = on_grid(shape, Deal::Hashed, |grid| program(&weighted.to_grid(grid)?)?.to_root());
            assert_eq!(found.unwrap(), Some(expected.clone()), "{name} on {shape:?}");
        }
    }
}

#[op(EDGE)]
fn edge(i: u32, j: u32, _entry: ()) -> Route {
    Route { cost: ((1u32 + (i * 7u32 + j * 3u32) % 9u32) as u64) << 33, parent: i, hops: 1 }
}
#[op(HOME)]
fn home(i: u32, route: Route) -> Route {
    if i == 0u32 { Route { cost: 0, parent: 0, hops: 0 } } else { route }
}
#[op]
fn parent(route: Route) -> u32 {
    route.parent
}

#[test]
fn loops_over_routes() {
    for (name, a) in graphs() {
        let weighted = a.map_index(EDGE).unwrap();
        for monotone in [true, false] {
            let program = |a: &Matrix<Route>| {
                let start = fill(NOWHERE, a.nrows()).map_index(HOME).eval()?;
                let looped = fixpoint(start).while_changed();
                let step = if monotone { looped.monotone() } else { looped };
                Ok(step.step(|r| r.ewise_add(r.vxm(a, semiring(cheaper, along)), cheaper)).eval()?.state)
            };
            let expected = program(&weighted).unwrap();
            each_grid(&name, &weighted, &expected, program);
        }
    }
}

#[op(LABEL)]
fn label(i: u32, _one: u32) -> Label {
    Label { root: i, weight: i * 7u32, told: !(i as u64) << 7 }
}
#[op(IS_ROOT)]
fn is_root(i: u32, label: Label) -> bool {
    label.root == i
}
#[op(ABOVE)]
fn above(own: Label, other: Label) -> bool {
    own.root < other.root
}

#[test]
fn labels_that_are_joined_into_those_they_name() {
    for (name, a) in graphs() {
        let program = |a: &Matrix| {
            let start = fill(1u32, a.nrows()).map_index(LABEL).eval()?;
            let labels = fixpoint(start)
                .while_changed()
                .monotone()
                .step(|l| l.ewise_add(l.vxm(a, semiring(lesser, kept)), lesser))
                .scatter_reduce(root_of, lesser)
                .eval()?;
            Ok(labels.state)
        };
        let expected = program(&a).unwrap();
        each_grid(&name, &a, &expected, program);
    }
}

#[test]
fn verbs_that_fetch_and_deliver() {
    let a = random_graph(300, 800, 4);
    let program = |a: &Matrix| {
        let labels = fill(1u32, a.nrows()).map_index(LABEL).eval()?;
        let picked = labels.gather(labels.map(root_of).map(MINUS.bind_first(299))).eval()?;
        let some = picked.select_index(IS_ROOT).eval()?;
        // entries with values of both ends, built on ranks
        let ends = a.map_ends(ABOVE, &labels)?;
        assert_eq!(ends.nnz(), a.nnz());
        let all = picked.to_all()?;
        assert_eq!(all.len(), 300);
        picked.ewise_add(&some, lesser).eval()
    };
    let expected = program(&a).unwrap();
    each_grid("labels", &a, &expected, program);
    for shape in shapes() {
        let digest = on_grid(shape, Deal::Hashed, |grid| {
            let found = program(&a.to_grid(grid)?)?;
            let least = fill(NOWHERE, 300).map_index(HOME).eval()?.to_grid(grid)?.map(parent).reduce(MIN)?;
            assert_eq!(least, 0);
            found.to_root()
        });
        assert_eq!(digest.unwrap().unwrap().digest(), expected.digest());
    }
}
