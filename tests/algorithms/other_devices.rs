//! Search trees, ranks, core numbers, triangles, trusses, forests, strong components and matchings on a GPU: the same bits as on the CPU, and kernels
//! that compile.

use super::devices::{SCHEDULES, gpu};
use super::graphs::oriented;
use std::io::Write;
use vxm::algorithms::priority::{column_keys, largest_degree_first, smallest_degree_last};
use vxm::algorithms::{
    Coloring, Mis, MisOptions, Order, PageRankOptions, Priority, aggregates, betweenness, bfs_many, bfs_parents,
    clustering, color_at_distance_2, color_classes, color_columns, communities, core_numbers, decompress,
    decompress_symmetric, dominant_matching, extend_coloring, ktruss, maximal_clique, maximal_matching,
    mis_at_distance_2, mis_many, pagerank, parents_of, propagate_labels, roots, spanning_forest, sssp, sssp_parents,
    star_coloring, strong_components, triangles, vertex_cover, weights,
};
use vxm::backend::cuda::Gpu;
use vxm::backend::plan::force;
use vxm::io::generate;
use vxm::prelude::*;

/// Compares colourings of columns, of stars and of which a part is given, what comes back from them, and aggregates.
fn compare_colorings(name: &str, a: &Matrix, there: &Matrix) {
    let (key, key_there) = (largest_degree_first(a, 5).unwrap(), largest_degree_first(there, 5).unwrap());
    let same = |here: Result<Coloring>, found: Result<Coloring>, what: &str| {
        let (here, found) = (here.unwrap(), found.unwrap());
        assert_eq!((&found.colors, found.count), (&here.colors, here.count), "{name}: {what}");
        (here.colors, found.colors)
    };
    same(color_at_distance_2(a, &key), color_at_distance_2(there, &key_there), "distance 2");
    let (stars, stars_there) = same(star_coloring(a, &key), star_coloring(there, &key_there), "stars");
    let column_key = |a: &Matrix| column_keys(a, Order::SmallestDegreeLast, 5);
    let (here, found) = (color_columns(a, &column_key(a).unwrap()), color_columns(there, &column_key(there).unwrap()));
    let (colors, colors_there) = same(here, found, "columns");
    // the compressed matrices have integers
    let values = |a: &Matrix| a.map_index(PLUS_ENDS).unwrap();
    let compressed = |a: &Matrix, colors: &Vector<u32>| {
        values(a).mxm(&color_classes(colors).unwrap().transpose(), PLUS_FIRST).eval().unwrap()
    };
    let back = decompress(there, &colors_there, &compressed(there, &colors_there)).unwrap();
    assert_eq!(back, values(a), "{name}: columns");
    assert_eq!(back, decompress(a, &colors, &compressed(a, &colors)).unwrap(), "{name}: columns");
    let back = decompress_symmetric(there, &stars_there, &compressed(there, &stars_there)).unwrap();
    assert_eq!(back, decompress_symmetric(a, &stars, &compressed(a, &stars)).unwrap(), "{name}: stars");
    assert_eq!(back, values(a), "{name}: stars");
    for (color, most) in [(2, 2), (33, 33), (40, u32::MAX)] {
        let first = (0..a.nrows() as u32).take(1).map(|v| (v, color));
        let given = Vector::from_pairs(a.nrows(), first).unwrap();
        let here = extend_coloring(a, &key, &given, most).unwrap();
        let found = extend_coloring(there, &key_there, &given.to(there.device()).unwrap(), most).unwrap();
        assert_eq!((found.colors, found.left), (here.colors, here.left), "{name}: at most {most}");
    }
    let (here, found) = (aggregates(a, &key).unwrap(), aggregates(there, &key_there).unwrap());
    assert_eq!((found.aggregate, found.roots), (here.aggregate, here.roots), "{name}: aggregates");
}

/// The sum of an entry's row and column, which is the same for both directions of an edge.
#[op(PLUS_ENDS)]
fn plus_ends(i: u32, j: u32, _edge: ()) -> i64 {
    i as i64 + j as i64 + 1
}

/// Compares search trees, ranks, core numbers, forests, strong components and matchings of `a` on the CPU and on `device`. Directed
/// answers are of `a` with some of its edges in one direction only.
pub fn compare_others(name: &str, a: &Matrix, device: Device) {
    let (weighted, one_way) = (weights(a, 1, 100, 7).unwrap(), oriented(a, 3));
    let (there, weighted_there) = (a.to(device).unwrap(), weighted.to(device).unwrap());
    let one_way_there = one_way.to(device).unwrap();
    assert_eq!(weights(&there, 1, 100, 7).unwrap(), weighted, "{name}: drawn weights");
    assert_eq!(core_numbers(&there).unwrap(), core_numbers(a).unwrap(), "{name}: core numbers");
    let sources: Vec<u32> = (0..a.nrows() as u32).take(3).collect();
    assert_eq!(betweenness(&there, &sources).unwrap(), betweenness(a, &sources).unwrap(), "{name}: betweenness");
    assert_eq!(communities(&there, 1e-6).unwrap(), communities(a, 1e-6).unwrap(), "{name}: communities");
    let last = smallest_degree_last(a, 7).unwrap();
    let (here, found) = (maximal_clique(a, &last), maximal_clique(&there, &smallest_degree_last(&there, 7).unwrap()));
    assert_eq!(found.unwrap(), here.unwrap(), "{name}: clique");
    let options = MisOptions::default().seed(7);
    let (here, found) = (vertex_cover(a, &options), vertex_cover(&there, &options));
    assert_eq!(found.unwrap(), here.unwrap(), "{name}: cover");
    let key = largest_degree_first(a, 7).unwrap();
    let key_there = largest_degree_first(&there, 7).unwrap();
    let (here, found) = (mis_at_distance_2(a, &key), mis_at_distance_2(&there, &key_there));
    assert_eq!(found.unwrap(), here.unwrap(), "{name}: a set at distance 2");
    // a row of d entries is read d times: dense graphs take as long as their rows squared
    if (0..a.nrows()).map(|v| a.csr().degree(v).pow(2)).sum::<usize>() < 20_000_000 {
        compare_colorings(name, a, &there);
    }
    assert_eq!(propagate_labels(&there, 20).unwrap(), propagate_labels(a, 20).unwrap(), "{name}: labels");
    assert_eq!(triangles(&there).unwrap(), triangles(a).unwrap(), "{name}: triangles");
    assert_eq!(clustering(&there).unwrap(), clustering(a).unwrap(), "{name}: clustering");
    assert_eq!(ktruss(&there, 4).unwrap(), ktruss(a, 4).unwrap(), "{name}: truss");
    assert_eq!(maximal_matching(&there, 7).unwrap(), maximal_matching(a, 7).unwrap(), "{name}: matching");
    let (here, found) = (dominant_matching(&weighted, 7), dominant_matching(&weighted_there, 7));
    assert_eq!(found.unwrap(), here.unwrap(), "{name}: dominant matching");
    let (some, source) = (Set::from_indices(a.nrows(), (0..a.nrows() as u32).take(3)).unwrap(), a.nrows() as u32 / 2);
    for sources in [None, Some(some).filter(|_| a.nrows() > 0)] {
        let options = PageRankOptions::default().tolerance(1e-4).sources(sources);
        let (here, found) = (pagerank::<f32>(&one_way, &options), pagerank::<f32>(&one_way_there, &options));
        assert_eq!(found.unwrap(), here.unwrap(), "{name}: ranks");
        let (here, found) = (pagerank::<f64>(a, &options), pagerank::<f64>(&there, &options));
        assert_eq!(found.unwrap(), here.unwrap(), "{name}: ranks");
    }
    for priority in [Priority::Resolve, Priority::Degree] {
        let options = MisOptions::default().priority(priority);
        let seeds: Vec<u64> = (0..19).collect();
        let (here, found) = (mis_many(a, &options, &seeds).unwrap(), mis_many(&there, &options, &seeds).unwrap());
        let sets = |found: &[Mis]| found.iter().map(|found| found.set.clone()).collect::<Vec<_>>();
        assert_eq!(sets(&found), sets(&here), "{name}: many sets by {priority:?}");
    }
    let forest = halves(a.nrows());
    let forest_there = forest.to(device).unwrap();
    for schedule in SCHEDULES {
        let (here, found) = (spanning_forest(&weighted), force(schedule, || spanning_forest(&weighted_there)));
        assert_eq!(found.unwrap(), here.unwrap(), "{name}: forest, {schedule:?}");
        let (here, found) = (strong_components(&one_way), force(schedule, || strong_components(&one_way_there)));
        assert_eq!(found.unwrap(), here.unwrap(), "{name}: strong components, {schedule:?}");
        let found = force(schedule, || roots(&parents_of(&forest_there)?));
        assert_eq!(found.unwrap(), roots(&parents_of(&forest).unwrap()).unwrap(), "{name}: roots, {schedule:?}");
        if a.nrows() > 0 {
            let (here, found) =
                (sssp_parents(&weighted, source), force(schedule, || sssp_parents(&weighted_there, source)));
            assert_eq!(found.unwrap(), here.unwrap(), "{name}: shortest paths' parents, {schedule:?}");
            let (here, found) =
                (bfs_parents(&one_way, source), force(schedule, || bfs_parents(&one_way_there, source)));
            assert_eq!(found.unwrap(), here.unwrap(), "{name}: parents, {schedule:?}");
        }
    }
    if a.nrows() > 0 {
        let sources = [source, 0, source];
        let (here, found) = (bfs_many(&one_way, &sources).unwrap(), bfs_many(&one_way_there, &sources).unwrap());
        for k in 0..sources.len() {
            assert_eq!(found.levels(k).unwrap(), here.levels(k).unwrap(), "{name}: search {k} of several");
        }
    }
}

/// A forest of `n` vertices: half of its number is each vertex' parent.
fn halves(n: usize) -> Matrix {
    Matrix::from_triples(n, n, (1..n as u32).map(|v| (v, v / 2, ()))).unwrap()
}

/// Compiles kernels of the algorithms that [`compare_others`] compares, where no GPU is needed for that: all but those of forests, which go
/// on with a matrix of as many rows as a vector has elements. In a dry run the two numbers differ.
#[test]
fn kernels_of_the_other_algorithms_compile() {
    if std::env::var("VXM_TEST_DEVICE").as_deref() != Ok("dry-run") {
        let _ = writeln!(std::io::stderr(), "skipped: VXM_TEST_DEVICE=dry-run asks for kernels that don't run");
        return;
    }
    let archs = std::env::var("VXM_TEST_ARCHS").unwrap_or_else(|_| "sm_90".to_owned());
    let gpu = Gpu::dry_run(&archs.split(',').collect::<Vec<_>>()).unwrap();
    let a = Matrix::from_simple(generate("rmat:10:8", &()).unwrap().graph);
    let (weighted, one_way, forest) = (weights(&a, 1, 100, 7).unwrap(), oriented(&a, 3), halves(a.nrows()));
    gpu.dry_run_ones(30);
    Device::dry_run(&gpu, || {
        let all = Set::all(a.nrows());
        let options = PageRankOptions::default().tolerance(1e-4).sources(Some(all));
        weights(&a, 1, 100, 7).unwrap();
        core_numbers(&a).unwrap();
        maximal_clique(&a, &largest_degree_first(&a, 7).unwrap()).unwrap();
        vertex_cover(&a, &MisOptions::default()).unwrap();
        propagate_labels(&a, 3).unwrap();
        betweenness(&a, &[0]).unwrap();
        for priority in [Priority::Resolve, Priority::Sorted] {
            mis_many(&a, &MisOptions::default().priority(priority), &[1, 2, 3]).unwrap();
        }
        clustering(&a).unwrap();
        ktruss(&a, 3).unwrap();
        maximal_matching(&a, 7).unwrap();
        dominant_matching(&weighted, 7).unwrap();
        pagerank::<f32>(&one_way, &options).unwrap();
        pagerank::<f64>(&a, &options).unwrap();
        sssp(&weighted, 0).unwrap();
        sssp_parents(&weighted, 0).unwrap();
        for schedule in SCHEDULES {
            force(schedule, || strong_components(&one_way)).unwrap();
            force(schedule, || roots(&parents_of(&forest)?)).unwrap();
            force(schedule, || bfs_parents(&one_way, 0)).unwrap();
        }
    });
}

/// The same on small graphs, for devices that take their time, such as the emulated one.
#[test]
fn small_graphs_are_those_of_the_host() {
    let Some(device) = gpu() else { return };
    for spec in ["grid:0x0", "grid:1x1", "er:4:0", "grid:9x11", "rmat:7:6", "road:8"] {
        let a = Matrix::from_simple(generate(spec, &()).unwrap().graph);
        compare_others(spec, &a, device);
    }
    let star = Matrix::undirected(70, &(0..69).map(|v| (v, 69)).collect::<Vec<_>>()).unwrap();
    compare_others("star", &star, device);
}
