//! Renumbered graphs: orders bring entries together, and answers are the same in the old numbers.

use super::graphs::hash;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use vxm::algorithms::priority::{hashes, order_keys};
use vxm::algorithms::{
    ColoringOptions, Formulation, Method, MisOptions, Order, Priority, bfs, clustering, color, components,
    core_numbers, mis, mis_many, sssp, triangles, weights,
};
use vxm::io::generate;
use vxm::prelude::*;

/// Checks everything that is the same at other places.
fn agree(spec: &str, a: &Matrix, order: &Renumbering, seed: u64) {
    let b = order.matrix(a).unwrap();
    assert_eq!((b.nnz(), b.is_symmetric()), (a.nnz(), a.is_symmetric()), "{spec}");
    let same = |what: &str, found: &Vector<u32>, expected: &Vector<u32>| {
        assert_eq!(&order.undo(found).unwrap(), expected, "{spec}, {what}");
    };
    for &priority in Priority::ALL {
        for &formulation in Formulation::ALL {
            let options = MisOptions::default().priority(priority).formulation(formulation).seed(seed);
            let (found, expected) = (mis(&b, &options).unwrap(), mis(a, &options).unwrap());
            assert_eq!(order.undo(&found.set).unwrap(), expected.set, "{spec}, {options:?}");
        }
        let (options, seeds) = (MisOptions::default().priority(priority), [seed, seed + 1, 7]);
        let (found, expected) = (mis_many(&b, &options, &seeds).unwrap(), mis_many(a, &options, &seeds).unwrap());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(order.undo(&found.set).unwrap(), expected.set, "{spec}, many sets by {}", priority.name());
        }
    }
    for &by in Order::ALL {
        same(by.name(), &order_keys(&b, by, seed).unwrap(), &order_keys(a, by, seed).unwrap());
        for &method in Method::ALL {
            let options = ColoringOptions::default().method(method).order(by).seed(seed);
            let (found, expected) = (color(&b, &options).unwrap(), color(a, &options).unwrap());
            same(&format!("{options:?}"), &found.colors, &expected.colors);
        }
    }
    same("core numbers", &core_numbers(&b).unwrap(), &core_numbers(a).unwrap());
    assert_eq!(order.undo(&triangles(&b).unwrap()).unwrap(), triangles(a).unwrap(), "{spec}");
    assert_eq!(order.undo(&clustering(&b).unwrap()).unwrap(), clustering(a).unwrap(), "{spec}");
    // the names of components differ, and not what they name
    let (found, expected) = (order.undo(&components(&b).unwrap()).unwrap(), components(a).unwrap());
    let names = order.old_numbers();
    for (v, name) in found.iter() {
        assert_eq!(expected.get(names.get(name).unwrap()), expected.get(v), "{spec}, component of {v}");
    }
    let Some(last) = (a.nrows() as u32).checked_sub(1) else { return };
    let place = order.new_numbers().get(last).unwrap();
    same("levels", &bfs(&b, place).unwrap(), &bfs(a, last).unwrap());
    let weighted = weights(a, 1, 9, seed).unwrap();
    same("distances", &sssp(&order.matrix(&weighted).unwrap(), place).unwrap(), &sssp(&weighted, last).unwrap());
    // numbers given twice lead back to the same names
    let again = Renumbering::of(&b, Reorder::Degree).unwrap();
    let twice = again.matrix(&b).unwrap();
    let options = MisOptions::default().priority(Priority::Random).seed(seed);
    let found = again.undo(&mis(&twice, &options).unwrap().set).unwrap();
    assert_eq!(order.undo(&found).unwrap(), mis(a, &options).unwrap().set, "{spec}, numbered twice");
}

#[test]
fn answers_are_the_same_in_the_old_numbers() {
    for spec in ["grid:13x11", "er:9:4", "rmat:9:8", "kron:8:16", "road:12", "delaunay:1", "er:0:3"] {
        let a = Matrix::from_simple(generate(spec, &()).unwrap().graph);
        for &by in Reorder::ALL {
            agree(spec, &a, &Renumbering::of(&a, by).unwrap(), 3);
        }
    }
}

#[test]
fn any_numbers_do() {
    let mut runner = TestRunner::new(Config { cases: Config::default().cases.min(24), ..Config::default() });
    let graphs = (1usize..40).prop_flat_map(|n| {
        let numbers = Just((0..n as u32).collect::<Vec<_>>()).prop_shuffle();
        (prop::collection::vec((0..n as u32, 0..n as u32), 0..4 * n), numbers, 0..u64::MAX - 1)
    });
    let test = |(edges, numbers, seed): (Vec<(u32, u32)>, Vec<u32>, u64)| {
        let a = Matrix::undirected(numbers.len(), &edges).unwrap();
        agree("random", &a, &Renumbering::from_old(numbers).unwrap(), seed);
        Ok(())
    };
    runner.run(&graphs, test).unwrap();
}

/// The numbers below `n` in no order.
fn shuffled(n: u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..n).collect();
    numbers.sort_by_key(|&v| hash(v, 0, 5));
    numbers
}

/// The greatest difference of the numbers of two neighbours.
fn bandwidth(a: &Matrix) -> u32 {
    a.iter().map(|(i, j, ())| i.abs_diff(j)).max().unwrap_or(0)
}

#[test]
fn reverse_cuthill_mckee_brings_neighbours_together() {
    // a path has bandwidth 1, a grid that of its shorter side, whatever their numbers were
    for (spec, most) in [("grid:1x5000", 1), ("grid:40x50", 41), ("grid:7x900", 8)] {
        let a = Matrix::from_simple(generate(spec, &()).unwrap().graph);
        let badly = Renumbering::from_old(shuffled(a.nrows() as u32)).unwrap().matrix(&a).unwrap();
        let order = Renumbering::of(&badly, Reorder::ReverseCuthillMcKee).unwrap();
        let found = bandwidth(&order.matrix(&badly).unwrap());
        assert!(bandwidth(&badly) > 20 * most && found <= most, "{spec}: {found}");
    }
}

/// Time that grew with the square of the number of components would not end here.
#[test]
fn many_components_take_no_longer() {
    let n = 1 << 20;
    let pairs: Vec<(u32, u32)> = (0..n / 4).map(|k| (2 * k, 2 * k + 1)).collect();
    let a = Matrix::undirected(n as usize, &pairs).unwrap();
    let order = Renumbering::of(&a, Reorder::ReverseCuthillMcKee).unwrap();
    assert_eq!(bandwidth(&order.matrix(&a).unwrap()), 1);
}

/// Edges count in both directions, and distances along them don't change.
#[test]
fn directed_graphs_have_orders() {
    for (spec, a) in super::graphs::directed() {
        let weighted = weights(&a, 1, 20, 3).unwrap();
        for &by in Reorder::ALL {
            let order = Renumbering::of(&weighted, by).unwrap();
            let place = order.new_numbers().get(0);
            let Some(place) = place else { continue };
            let found = sssp(&order.matrix(&weighted).unwrap(), place).unwrap();
            assert_eq!(order.undo(&found).unwrap(), sssp(&weighted, 0).unwrap(), "{spec} by {}", by.name());
        }
    }
    // a path of arrows in both directions
    let numbers = shuffled(500);
    let arrows = numbers.windows(2).enumerate().map(|(k, ends)| (ends[k % 2], ends[(k + 1) % 2], ()));
    let a = Matrix::from_triples(500, 500, arrows).unwrap();
    let order = Renumbering::of(&a, Reorder::ReverseCuthillMcKee).unwrap();
    assert_eq!(bandwidth(&order.matrix(&a).unwrap()), 1);
}

#[test]
fn high_degrees_come_first() {
    let a = Matrix::from_simple(generate("rmat:10:8", &()).unwrap().graph);
    let order = Renumbering::of(&a, Reorder::Degree).unwrap();
    let degrees = order.vector(&a.degrees().unwrap()).unwrap().to_dense(0);
    assert!(degrees.is_sorted_by_key(|&degree| std::cmp::Reverse(degree)));
    assert_eq!(order.matrix(&a).unwrap().degrees().unwrap().to_dense(0), degrees);
}

#[test]
fn what_does_not_fit_is_told() {
    let told = |found: Result<()>| found.unwrap_err().to_string();
    let order = Renumbering::from_old(vec![1, 0]).unwrap();
    assert_eq!(
        told(Renumbering::from_old(vec![0, 0]).map(drop)),
        "renumbering: place 1 has number 0: expected each number below 2 once"
    );
    assert_eq!(
        told(Renumbering::from_old(vec![7]).map(drop)),
        "renumbering: place 0 has number 7: expected each number below 1 once"
    );
    let longer = told(order.vector(&hashes(3, 0).unwrap()).map(drop));
    assert!(longer.contains("vector of 3") && longer.contains("numbers of 2"), "{longer}");
    let wide = Matrix::from_triples(2, 3, [(0, 1, ())]).unwrap();
    let refused = told(order.matrix(&wide).map(drop));
    assert!(refused.contains("matrix of 2 x 3"), "{refused}");
    assert!(told(Renumbering::of(&wide, Reorder::Degree).map(drop)).contains("found a 2 x 3 matrix"));
    let arrow = Matrix::from_triples(2, 2, [(0, 1, ())]).unwrap();
    assert_eq!(Renumbering::of(&arrow, Reorder::Degree).unwrap().old_numbers().to_dense(9), [0, 1]);
    assert_eq!("rmc".parse::<Reorder>().unwrap_err().to_string(), "unknown order `rmc`: expected none, rcm, degree");
}
