//! Graphs with answers that are known from their shape, and inputs that are refused.

use super::check::{Effort, check, check_coloring, check_set};
use vxm::algorithms::{ColoringOptions, Method, MisOptions, Order, Priority, color, mis, priorities};
use vxm::certify;
use vxm::formats::Csr;
use vxm::prelude::*;

fn graph(n: u32, edges: impl IntoIterator<Item = (u32, u32)>) -> Matrix {
    Matrix::undirected(n as usize, &edges.into_iter().collect::<Vec<_>>()).unwrap()
}

fn complete(n: u32) -> Matrix {
    graph(n, (0..n).flat_map(|i| (0..i).map(move |j| (i, j))))
}

fn path(n: u32) -> Matrix {
    graph(n, (1..n).map(|i| (i - 1, i)))
}

/// The sizes of the sets of all priorities, each set checked.
fn sizes(name: &str, a: &Matrix) -> Vec<usize> {
    Priority::ALL.iter().map(|&priority| check_set(name, a, priority, 3, Effort::All).set.nvals()).collect()
}

/// The numbers of colours of all methods and orders, each colouring checked.
fn counts(name: &str, a: &Matrix) -> Vec<u32> {
    let pairs = Method::ALL.iter().flat_map(|&method| Order::ALL.iter().map(move |&order| (method, order)));
    pairs.map(|(method, order)| check_coloring(name, a, method, order, 3, Effort::All).count).collect()
}

fn all<T: PartialEq>(found: &[T], one: T) -> bool {
    found.iter().all(|x| *x == one)
}

#[test]
fn graphs_without_edges() {
    for n in [0, 1, 2, 63, 64, 65, 1000] {
        let name = format!("{n} isolated vertices");
        let a = graph(n, []);
        assert!(all(&sizes(&name, &a), n as usize), "{name}");
        assert!(all(&counts(&name, &a), n.min(1)), "{name}");
        check(&name, &a, 0, Effort::All);
    }
}

#[test]
fn complete_graphs() {
    // up to more colours than two 64-bit words have bits
    for n in [2, 3, 16, 17, 65, 140] {
        let a = complete(n);
        let name = format!("the complete graph of {n}");
        assert!(all(&sizes(&name, &a), 1), "{name}");
        assert!(all(&counts(&name, &a), n), "{name}");
    }
    check("the complete graph of 70", &complete(70), 1, Effort::All);
}

/// A vertex waits for higher ones at lesser colours, so rounds are fewer than vertices and colours together. A path by number is the worst case.
#[test]
fn rounds_are_fewer_than_vertices_and_colors() {
    for (n, a) in [(500, path(500)), (40, complete(40)), (71, graph(71, (1..71).map(|leaf| (0, leaf))))] {
        for method in [Method::Mis, Method::Speculative] {
            for &order in Order::ALL {
                let options = ColoringOptions::default().method(method).order(order).seed(3);
                let found = color(&a, &options).unwrap();
                assert!(found.rounds < n + found.count, "{n} vertices: {method:?}, {order:?}: {} rounds", found.rounds);
                if n == 500 && order == Order::Natural {
                    assert_eq!(found.rounds, n + 1);
                }
            }
        }
    }
}

/// In natural order each vertex of such a path waits for the one before it. With a visit of each vertex in each round, this test takes minutes.
#[test]
fn long_chains_end_soon() {
    let by = |a: &Matrix, method| {
        let found = color(a, &ColoringOptions::default().method(method).order(Order::Natural)).unwrap();
        let colors = found.colors.to_dense(0);
        assert_eq!(certify::coloring(a.csr().offsets(), a.csr().columns(), &colors), Ok(found.count), "{method:?}");
        found
    };
    let a = path(200_000);
    let jp = by(&a, Method::Jp);
    for method in [Method::Mis, Method::Speculative] {
        let found = by(&a, method);
        assert_eq!((found.rounds, found.count), (200_001, 2), "{method:?}");
        assert_eq!(found.colors, jp.colors, "{method:?}");
    }
    // other methods end after 64 + sqrt(m) rounds, each of which colours one vertex, or the two ends of what is left
    let a = path(20_000);
    let is = by(&a, Method::Is);
    for method in [Method::MaxTimes, Method::NeighborReduce] {
        assert_eq!(by(&a, method).colors, is.colors, "{method:?}");
    }
    for (method, count) in [(Method::MinMax, 2 * 263), (Method::Hash, 4)] {
        let found = by(&a, method);
        assert!(
            (263..300).contains(&found.rounds) && found.count <= count,
            "{method:?}: {} in {}",
            found.count,
            found.rounds
        );
    }
}

#[test]
fn stars() {
    for leaves in [2, 40, 5000] {
        let a = graph(leaves + 1, (1..=leaves).map(|leaf| (0, leaf)));
        let name = format!("a star of {leaves}");
        for &priority in Priority::ALL {
            let found = check_set(&name, &a, priority, 3, Effort::All);
            let center = priority == Priority::Random && found.set.contains(0);
            assert_eq!(found.set.nvals(), if center { 1 } else { leaves as usize }, "{name}: {priority:?}");
        }
        check(&name, &a, 5, Effort::All);
        for order in [Order::LargestDegreeFirst, Order::Random, Order::SmallestDegreeLast] {
            assert_eq!(check_coloring(&name, &a, Method::Jp, order, 3, Effort::All).count, 2);
        }
    }
}

#[test]
fn paths_cycles_and_bipartite_graphs() {
    for n in [2, 3, 50, 301] {
        check(&format!("a path of {n}"), &path(n), 2, Effort::All);
    }
    for n in [3, 4, 100, 301] {
        let name = format!("a cycle of {n}");
        let a = graph(n, (0..n).map(|i| (i, (i + 1) % n)));
        check(&name, &a, 2, Effort::All);
        assert!(sizes(&name, &a).iter().all(|&size| (n as usize).div_ceil(3) <= size && size <= n as usize / 2));
        assert!(counts(&name, &a).iter().all(|&count| count >= 2 + n % 2));
    }
    let a = graph(73, (0..33).flat_map(|i| (33..73).map(move |j| (i, j))));
    check("33 x 40, complete", &a, 2, Effort::All);
    assert!(sizes("33 x 40, complete", &a).iter().all(|&size| size == 33 || size == 40));
}

#[test]
fn disconnected_parts() {
    // a triangle, a path, a star and a complete graph of 20, with isolated vertices between them
    let triangle = [(2, 4), (4, 6), (6, 2)];
    let path = (10..30).map(|i| (i, i + 1));
    let star = (41..60).map(|i| (40, i));
    let clique = (70..90).flat_map(|i| (70..i).map(move |j| (i, j)));
    let a = graph(100, triangle.into_iter().chain(path).chain(star).chain(clique));
    for seed in 0..4 {
        check("parts", &a, seed, Effort::All);
    }
    assert!(counts("parts", &a).iter().all(|&count| count >= 20));
}

/// Thirty complete graphs of 40 vertices, one of 110 and one of 20, crossed by paths in steps of 33 over 2800 vertices. Few vertices get
/// colours of a second window, and few of those get colours of a third.
pub fn complete_on_paths() -> Matrix {
    let sizes = [&[40; 30][..], &[110, 20]].concat();
    let (mut first, mut edges) = (0, Vec::new());
    for size in sizes {
        edges.extend((first..first + size).flat_map(|i| (first..i).map(move |j| (i, j))));
        first += size;
    }
    edges.extend((0..2700).map(|i| (i, (i + 33) % 2800)));
    graph(2800, edges.into_iter().filter(|(i, j)| i != j))
}

#[test]
fn few_have_most_colours() {
    let a = complete_on_paths();
    check("complete graphs on paths", &a, 3, Effort::Some);
    let found = color(&a, &ColoringOptions::default().method(Method::Jp)).unwrap();
    assert!(found.count >= 110, "{}", found.count);
}

/// A symmetric pattern of `edges` and self-loops at `loops`.
fn with_loops(edges: &[(u32, u32)], loops: &[u32], n: usize) -> Matrix {
    let mirrored = edges.iter().flat_map(|&(i, j)| [(i, j, ()), (j, i, ())]);
    let triples = mirrored.chain(loops.iter().map(|&i| (i, i, ())));
    Matrix::from_symmetric(Matrix::from_triples(n, n, triples).unwrap().csr().clone()).unwrap()
}

#[test]
fn self_loops_are_no_neighbours() {
    let only = with_loops(&[], &[0, 2, 3], 5);
    assert!(all(&sizes("self-loops only", &only), 5));
    assert!(all(&counts("self-loops only", &only), 1));
    check("self-loops only", &only, 1, Effort::All);

    let edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)];
    let (looped, simple) = (with_loops(&edges, &[0, 1, 2, 3], 5), graph(5, edges));
    check("self-loops too", &looped, 1, Effort::All);
    for &priority in Priority::ALL {
        let options = MisOptions::default().priority(priority);
        assert_eq!(mis(&looped, &options).unwrap().set, mis(&simple, &options).unwrap().set);
    }
    // a symmetric matrix that wasn't declared symmetric
    let undeclared = Matrix::from_triples(2, 2, [(0, 1, ()), (1, 0, ()), (0, 0, ())]).unwrap();
    check("undeclared", &undeclared, 1, Effort::All);
}

#[test]
fn what_is_no_undirected_graph_is_refused() {
    let rectangular = Matrix::from_triples(2, 3, [(0, 1, ())]).unwrap();
    let one_way = Matrix::from_triples(3, 3, [(0, 1, ())]).unwrap();
    let empty = Matrix::from_csr(Csr::empty(0, 4).unwrap());
    for (a, shape) in [(rectangular, "2 x 3"), (one_way, "3 x 3"), (empty, "0 x 4")] {
        let told = format!("expected an undirected graph (a symmetric matrix), found a {shape} matrix that isn't");
        assert_eq!(mis(&a, &MisOptions::default()).unwrap_err().to_string(), told);
        assert_eq!(color(&a, &ColoringOptions::default()).unwrap_err().to_string(), told);
    }
}

#[test]
fn keys_that_make_no_order_are_refused() {
    let path = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)]).unwrap();
    let refusal =
        |keys: Vec<u32>| vxm::algorithms::color_in_order(&path, &Vector::from_dense(keys)).unwrap_err().to_string();
    let told = refusal(vec![1, 1, 2, 3]);
    assert!(
        told.starts_with("color_in_order: ") && told.ends_with("neighbours have equal keys: expected distinct ones"),
        "{told}"
    );
    let told = refusal(vec![1, 2, 3]);
    assert!(told.contains("color_in_order: graph of 4 vertices does not fit 3 keys at 3 places"), "{told}");
    // the two vertices of equal keys come last, when most colours are settled
    for n in [33u32, 62, 64, 95] {
        let edges: Vec<_> = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v))).collect();
        let all = Matrix::undirected(n as usize, &edges).unwrap();
        let keys = (0..n).map(|i| if i < n - 2 { 1000 - i } else { 1 }).collect();
        let told = vxm::algorithms::color_in_order(&all, &Vector::from_dense(keys)).unwrap_err().to_string();
        assert!(told.contains("neighbours have equal keys"), "{n}: {told}");
    }
    // the vertices of equal keys come first, and block all others
    let edges: Vec<_> = (0..200u32).flat_map(|u| (u + 1..200).map(move |v| (u, v))).collect();
    let all = Matrix::undirected(200, &edges).unwrap();
    let keys = Vector::from_dense((0..200).map(|i| i / 2).collect());
    let told = vxm::algorithms::color_in_order(&all, &keys).unwrap_err().to_string();
    assert!(told.contains("200 active elements: neighbours have equal keys"), "{told}");
    let directed = Matrix::from_triples(2, 2, [(0, 1, ())]).unwrap();
    let told = vxm::algorithms::color_in_order(&directed, &Vector::from_dense(vec![5, 3])).unwrap_err().to_string();
    assert!(told.contains("expected an undirected graph"), "{told}");
    let all_there_are = Vector::from_dense(vec![u32::MAX, 0, 2, 3]);
    let found = vxm::algorithms::color_in_order(&path, &all_there_are).unwrap();
    assert_eq!(found.colors, Vector::from_dense(vec![1, 3, 2, 1]));
}

/// The order of a priority, told by hand: a star around 0, and 4 apart.
#[test]
fn priorities_that_prefer_low_degrees() {
    let a = graph(5, [(0, 1), (0, 2), (0, 3)]);
    for priority in [Priority::Degree, Priority::Resolve, Priority::Sorted, Priority::SortedId] {
        for seed in 0..20 {
            let keys = priorities(&a, priority, seed).unwrap().to_dense(0);
            let mut order: Vec<usize> = (0..5).collect();
            order.sort_by_key(|&v| std::cmp::Reverse(keys[v]));
            assert_eq!((order[0], order[4]), (4, 0), "{priority:?}, seed {seed}: {keys:?}");
            if priority == Priority::SortedId {
                assert_eq!(order, [4, 3, 2, 1, 0], "seed {seed}");
            }
        }
    }
}

/// A matrix with more rows than memory allows is refused with an error, without ending the process. If memory suffices, only a small matrix
/// is made.
#[test]
fn rows_that_do_not_fit_are_refused() {
    let rows = u32::MAX as usize - 1;
    if u128::from(vxm::memory::available()) < 16 * rows as u128 {
        let error = Matrix::from_triples(rows, 2, [(7, 1, 1u8)]).unwrap_err().to_string();
        assert!(error.starts_with("Matrix: 4294967294 rows: needs 64.0 GiB of memory, "), "{error}");
    }
    assert_eq!(Matrix::from_triples(1 << 21, 2, [(7, 1, 1u8)]).unwrap().nnz(), 1);
}
