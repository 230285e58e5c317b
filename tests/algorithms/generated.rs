//! Generated graphs: every generator at small scale, and random graphs.

use super::check::{Effort, check, check_coloring};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use vxm::algorithms::priority::largest_degree_first;
use vxm::algorithms::{Method, Order};
use vxm::certify;
use vxm::io::generate;
use vxm::prelude::*;

#[test]
fn every_generator() {
    let specs =
        ["grid:1x1", "grid:1x77", "grid:23x31", "er:9:4", "er:7:0", "rmat:9:8", "kron:9:16", "rgg:9", "road:16"];
    for spec in specs.into_iter().chain(["delaunay:9", "delaunay:1", "er:0:3", "kron:7:60", "rmat:10:2:77"]) {
        let a = Matrix::from_simple(generate(spec, &()).unwrap().graph);
        for seed in [0, 0x9e37_79b9_7f4a_7c15] {
            check(spec, &a, seed, Effort::All);
        }
    }
}

/// Graphs of which loops visit those first who are waited for.
#[test]
fn graphs_that_are_visited_in_order() {
    for spec in ["er:11:8", "rmat:12:8", "kron:10:24", "rgg:12", "delaunay:12", "grid:70x70"] {
        let a = Matrix::from_simple(generate(spec, &()).unwrap().graph);
        let (graph, key) = (a.to_graph().unwrap(), largest_degree_first(&a, 3).unwrap().to_dense(0));
        let mut order: Vec<u32> = (0..a.nrows() as u32).collect();
        order.sort_unstable_by_key(|&v| std::cmp::Reverse(key[v as usize]));
        let greedy = certify::greedy_coloring(graph.csr().offsets(), graph.csr().columns(), order);
        let found = check_coloring(spec, &a, Method::Jp, Order::LargestDegreeFirst, 3, Effort::All);
        assert_eq!(found.colors.to_dense(0), greedy, "{spec}");
        check_coloring(spec, &a, Method::Jp, Order::Random, 3, Effort::All);
    }
}

#[test]
fn random_graphs() {
    let edges = |n: u32| prop::collection::vec((0..n, 0..n), 0..(4 * n as usize));
    // few vertices give dense graphs, many give sparse ones and vectors stored as lists
    let graphs = prop_oneof![4 => 1u32..12, 3 => 12u32..60, 1 => 200u32..700]
        .prop_flat_map(move |n| (Just(n), edges(n), any::<u64>()));
    let mut runner = TestRunner::new(Config { cases: 96, failure_persistence: None, ..Config::default() });
    let run = runner.run(&graphs, |(n, edges, seed)| {
        let a = Matrix::undirected(n as usize, &edges).unwrap();
        check(&format!("{n} vertices, edges {edges:?}"), &a, seed, Effort::All);
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
}
