//! Each certificate accepts a right answer, and refuses it with one vertex changed, too short, or too long.

use std::fmt::Debug;
use vxm::certify::{self, Violation, Walk};
use vxm::formats::Csr;
use vxm::io::generate;

/// A changed answer of a vertex; `None` if it may be right.
type Change<'a, T> = dyn Fn(usize, &[T]) -> Option<T> + 'a;

/// Checks an answer, and all that differ from it in one vertex or in length.
fn refused<T: Clone + Debug, R: Debug>(
    what: &str,
    answer: &[T],
    change: &Change<'_, T>,
    check: impl Fn(&[T]) -> Result<R, Violation>,
) {
    check(answer).unwrap_or_else(|violation| panic!("{what}: {violation}"));
    let mut changed = 0;
    for vertex in 0..answer.len() {
        let Some(wrong) = change(vertex, answer) else { continue };
        let mut other = answer.to_vec();
        other[vertex] = wrong;
        let found = check(&other);
        assert!(found.is_err(), "{what}: {:?} for {:?} at vertex {vertex}", other[vertex], answer[vertex]);
        changed += 1;
    }
    assert!(changed > 0, "{what}: nothing was changed");
    let (n, longer) = (answer.len(), [answer, &answer[..1]].concat());
    for (answer, length) in [(&answer[..n - 1], n - 1), (&longer, n + 1), (&[], 0)] {
        let found = check(answer).map(|right| format!("{right:?}"));
        assert_eq!(found, Err(Violation::Length { answer: length, vertices: n }), "{what}");
    }
}

/// Graphs with cliques, paths, and vertices without edges.
fn graphs() -> Vec<(&'static str, Csr)> {
    ["er:5:3", "grid:6x5", "rmat:6:5", "kron:5:6", "grid:1x9"]
        .map(|name| (name, generate(name, &()).unwrap().graph))
        .into()
}

/// The colour of a neighbour.
fn of_a_neighbor(graph: &Csr) -> impl Fn(usize, &[u32]) -> Option<u32> {
    |vertex, colors| graph.row(vertex).0.iter().map(|&other| colors[other as usize]).next()
}

fn flipped(vertex: usize, members: &[bool]) -> Option<bool> {
    Some(!members[vertex])
}

/// A path of two edges from the vertex to another that isn't next to it.
fn two_away(graph: &Csr, vertex: usize) -> Option<usize> {
    let around = graph.row(vertex).0;
    let mut others = around.iter().flat_map(|&next| graph.row(next as usize).0).map(|&other| other as usize);
    others.find(|&other| other != vertex && !around.contains(&(other as u32)))
}

#[test]
fn sets_and_cliques() {
    for (name, graph) in graphs() {
        let (n, offsets, columns) = (graph.nrows(), graph.offsets(), graph.columns());
        let order = 0..n as u32;
        let set = certify::greedy_set(offsets, columns, order.clone());
        refused(name, &set, &flipped, |set| certify::independent_set(offsets, columns, set));
        // vertices in order, none of which is two steps or less from an earlier one
        let (mut apart, mut taken) = (vec![false; n], vec![false; n]);
        for vertex in 0..n {
            let around = graph.row(vertex).0;
            apart[vertex] = !taken[vertex] && !around.iter().any(|&next| taken[next as usize]);
            if apart[vertex] {
                taken[vertex] = true;
                around.iter().for_each(|&next| taken[next as usize] = true);
            }
        }
        refused(name, &apart, &flipped, |set| certify::independent_set_at_distance_2(offsets, columns, set));
        // each vertex that is next to all before it
        let mut clique: Vec<bool> = vec![false; n];
        for vertex in 0..n {
            let next_to = |other: usize| graph.row(vertex).0.contains(&(other as u32));
            clique[vertex] = (0..vertex).all(|other| !clique[other] || next_to(other));
        }
        refused(name, &clique, &flipped, |members| certify::maximal_clique(offsets, columns, members));
        // both ends of a matching's edges cover all edges
        let mate = certify::greedy_matching(n, graph_edges(&graph));
        let cover: Vec<bool> = mate.iter().map(Option::is_some).collect();
        let without = |vertex: usize, cover: &[bool]| {
            let alone = graph.row(vertex).0.iter().any(|&other| !cover[other as usize]);
            (cover[vertex] && alone).then_some(false)
        };
        if (0..n).any(|vertex| without(vertex, &cover).is_some()) {
            refused(name, &cover, &without, |cover| certify::vertex_cover(offsets, columns, cover, &mate));
        }
    }
}

/// Each edge once.
fn graph_edges(graph: &Csr) -> Vec<(u32, u32)> {
    let of = |i: u32| graph.row(i as usize).0.iter().map(move |&j| (i, j));
    (0..graph.nrows() as u32).flat_map(of).filter(|(i, j)| i < j).collect()
}

#[test]
fn colourings() {
    for (name, graph) in graphs() {
        let (n, offsets, columns) = (graph.nrows(), graph.offsets(), graph.columns());
        let colors = certify::greedy_coloring(offsets, columns, 0..n as u32);
        refused(name, &colors, &of_a_neighbor(&graph), |colors| certify::coloring(offsets, columns, colors));
        refused(name, &colors, &|_, _| Some(0), |colors| certify::coloring(offsets, columns, colors));
        let given = vec![0; n];
        refused(name, &colors, &of_a_neighbor(&graph), |colors| {
            certify::extension(offsets, columns, &given, 99, colors)
        });
        let colors = certify::greedy_coloring_at_distance_2(offsets, columns, 0..n as u32);
        let near = |vertex: usize, colors: &[u32]| two_away(&graph, vertex).map(|other| colors[other]);
        refused(name, &colors, &near, |colors| certify::coloring_at_distance_2(offsets, columns, colors));
        refused(name, &colors, &of_a_neighbor(&graph), |colors| {
            certify::coloring_at_distance_2(offsets, columns, colors)
        });
        let colors = certify::greedy_star_coloring(offsets, columns, 0..n as u32);
        refused(name, &colors, &of_a_neighbor(&graph), |colors| certify::star_coloring(offsets, columns, colors));
    }
}

#[test]
fn numbers_of_vertices() {
    let more = |vertex: usize, answer: &[u32]| Some(answer[vertex] + 1);
    for (name, graph) in graphs() {
        let (n, offsets, columns) = (graph.nrows(), graph.offsets(), graph.columns());
        let cores = certify::core_numbers(offsets, columns);
        refused(name, &cores, &more, |cores| certify::cores(offsets, columns, cores));
        let labels = certify::propagated_labels(offsets, columns, 3);
        refused(name, &labels, &more, |labels| certify::labels(offsets, columns, 3, labels));
        let strong = certify::tarjan(offsets, columns);
        refused(name, &strong, &more, |labels| certify::strong_components(offsets, columns, labels));
        refused(name, &strong, &more, |labels| certify::components(offsets, columns, labels));
        let triangles = certify::triangle_counts(offsets, columns);
        refused(name, &triangles, &|vertex, answer| Some(answer[vertex] + 1), |counts| {
            certify::triangles(offsets, columns, counts)
        });
        let centrality = certify::brandes(offsets, columns, &[0, 1]);
        refused(name, &centrality, &|vertex, answer| Some(answer[vertex] + 0.5), |answer| {
            certify::betweenness(offsets, columns, &[0, 1], answer, 1e-9)
        });
        let walk = || Walk { damping: 0.85, rounds: 4, sources: &[] };
        let ranks = certify::page_ranks(offsets, columns, walk());
        refused(name, &ranks, &|vertex, answer| Some(answer[vertex] + 0.01), |answer| {
            certify::ranks(offsets, columns, walk(), answer, 1e-9)
        });
        let none = |vertex: usize, answer: &[Option<u32>]| answer[vertex].map(|_| None);
        let weights: Vec<u32> = graph_weights(&graph);
        let distances = certify::dijkstra(offsets, columns, &weights, 0);
        refused(name, &distances, &none, |answer| certify::distances(offsets, columns, &weights, 0, answer));
        refused(name, &distances, &|vertex, answer| Some(answer[vertex].map_or(Some(3), |x| Some(x + 1))), |answer| {
            certify::distances(offsets, columns, &weights, 0, answer)
        });
        let hops = certify::dijkstra(offsets, columns, &vec![1u32; columns.len()], 0);
        refused(name, &hops, &none, |answer| certify::levels(offsets, columns, 0, answer));
        // the least neighbour a hop before
        let before = |v: usize| {
            let nearer = |&&next: &&u32| hops[v].is_some() && hops[next as usize].map(|x| x + 1) == hops[v];
            if v == 0 { Some(0) } else { graph.row(v).0.iter().find(nearer).copied() }
        };
        let parents: Vec<Option<u32>> = (0..n).map(before).collect();
        refused(name, &parents, &none, |answer| certify::parents(offsets, columns, 0, answer));
        // each vertex points to its parent
        let held: Vec<u32> = (0..n).filter_map(|v| parents[v].filter(|&parent| parent as usize != v)).collect();
        let mut starts = vec![0u64];
        for (v, parent) in parents.iter().enumerate() {
            starts.push(starts[v] + u64::from(parent.is_some_and(|parent| parent as usize != v)));
        }
        let roots: Vec<u32> = certify::followed(&starts, &held).into_iter().map(Option::unwrap).collect();
        refused(name, &roots, &more, |roots| certify::roots(&starts, &held, roots));
        let told = certify::modularity(offsets, columns, &strong);
        refused(name, &strong, &more, |labels| certify::communities(offsets, columns, labels, told, 1e-9));
        let coefficient = |v: usize| match graph.row(v).0.len() {
            0 | 1 => 0.0,
            degree => 2.0 * triangles[v] as f64 / (degree * (degree - 1)) as f64,
        };
        let coefficients: Vec<f64> = (0..n).map(coefficient).collect();
        refused(name, &coefficients, &|v, answer| Some(answer[v] + 0.25), |answer| {
            certify::clustering(offsets, columns, answer)
        });
        // of shortest paths those with the fewest edges: the nearer vertices are done before
        let mut order: Vec<usize> = (0..n).filter(|&v| distances[v].is_some()).collect();
        order.sort_by_key(|&v| distances[v]);
        let (mut edges, mut shortest) = (vec![0; n], vec![None; n]);
        for v in order {
            let ends = |next: &u32| distances[*next as usize].map(|x| x + weight(v as u32, *next)) == distances[v];
            let last = graph.row(v).0.iter().copied().filter(|next| v != 0 && ends(next));
            shortest[v] = last.min_by_key(|&next| (edges[next as usize], next)).or(Some(0));
            edges[v] = shortest[v].map_or(0, |last| edges[last as usize] + 1);
        }
        refused(name, &shortest, &none, |answer| certify::shortest_parents(offsets, columns, &weights, 0, answer));
        let mate = certify::greedy_matching(n, graph_edges(&graph));
        refused(name, &mate, &none, |mate| certify::maximal_matching(offsets, columns, mate));
        // the heaviest edges first
        let mut edges = graph_edges(&graph);
        edges.sort_by_key(|&(i, j)| std::cmp::Reverse(weight(i, j)));
        let mate = certify::greedy_matching(n, edges);
        refused(name, &mate, &none, |mate| certify::dominant_matching(offsets, columns, &weights, mate));
    }
}

/// The weight of an edge, which is the same in both directions.
fn weight(i: u32, j: u32) -> u32 {
    1 + (i ^ j) * 7 % 5
}

/// The weights of all entries.
fn graph_weights(graph: &Csr) -> Vec<u32> {
    let of = |i: u32| graph.row(i as usize).0.iter().map(move |&j| weight(i, j));
    (0..graph.nrows() as u32).flat_map(of).collect()
}

#[test]
fn forests_and_trusses_lack_no_edge() {
    for (name, graph) in graphs() {
        let (offsets, columns, weights) = (graph.offsets(), graph.columns(), graph_weights(&graph));
        let edges: Vec<(u32, u32)> =
            certify::kruskal(offsets, columns, &weights).iter().map(|&(_, i, j)| (i, j)).collect();
        let check = |edges: &[(u32, u32)]| certify::spanning_forest(offsets, columns, &weights, edges);
        check(&edges).unwrap();
        assert!(check(&edges[1..]).is_err(), "{name}: an edge is left out");
        assert!(check(&[&edges[..], &edges[..1]].concat()).is_err(), "{name}: an edge is there twice");
        let edges = certify::truss_edges(offsets, columns, 3);
        let check = |edges: &[(u32, u32)]| certify::truss(offsets, columns, 3, edges);
        check(&edges).unwrap();
        assert!(edges.is_empty() || check(&edges[1..]).is_err(), "{name}: an edge is left out of a truss");
    }
}
