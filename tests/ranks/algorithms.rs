//! Every algorithm on every grid.

use crate::{each_grid, graphs, grids, on_grid, random_graph, shapes};
use vxm::algorithms::*;
use vxm::prelude::{Matrix, PLUS, Set, Vector};
use vxm::ranks::Deal;

#[test]
fn sets() {
    for (name, a) in graphs() {
        for &priority in Priority::ALL {
            for &formulation in Formulation::ALL {
                let options = MisOptions::default().priority(priority).seed(5).formulation(formulation);
                let set = mis(&a, &options).unwrap().set;
                let what = format!("mis of {name} by {}, {}", priority.name(), formulation.name());
                each_grid(&what, &a, &set, |a| Ok(mis(a, &options)?.set));
            }
        }
    }
}

#[test]
fn labels_of_components() {
    for (name, a) in graphs() {
        let labels = components(&a).unwrap();
        each_grid(&format!("components of {name}"), &a, &labels, components);
    }
}

#[test]
fn levels_and_parents() {
    for (name, a) in graphs().into_iter().filter(|(_, a)| a.nrows() > 0) {
        let source = a.nrows() as u32 / 3;
        each_grid(&format!("bfs of {name}"), &a, &bfs(&a, source).unwrap(), |a| bfs(a, source));
        let parents = bfs_parents(&a, source).unwrap();
        each_grid(&format!("parents of {name}"), &a, &parents, |a| bfs_parents(a, source));
    }
}

#[test]
fn colours() {
    for (name, a) in graphs() {
        for &method in Method::ALL {
            let options = ColoringOptions::default().method(method).order(Order::LargestDegreeFirst).seed(1);
            let colors = color(&a, &options).unwrap().colors;
            each_grid(&format!("{} of {name}", method.name()), &a, &colors, |a| Ok(color(a, &options)?.colors));
        }
    }
    // more colours than a window has
    let edges: Vec<(u32, u32)> = (0..90).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
    let complete = Matrix::undirected(100, &edges).unwrap();
    for &order in Order::ALL {
        let options = ColoringOptions::default().order(order);
        let colors = color(&complete, &options).unwrap().colors;
        each_grid(&format!("jp, {}", order.name()), &complete, &colors, |a| Ok(color(a, &options)?.colors));
    }
}

#[test]
fn colours_by_other_rules_and_aggregates() {
    for (k, (name, a)) in graphs().into_iter().enumerate() {
        let key = |a: &Matrix| priority::order_keys(a, Order::LargestDegreeFirst, 3);
        // half of them for each graph: the emulated GPU takes its time
        if k % 2 == 0 {
            let stars = star_coloring(&a, &key(&a).unwrap()).unwrap().colors;
            each_grid(&format!("stars of {name}"), &a, &stars, |a| Ok(star_coloring(a, &key(a)?)?.colors));
            let parts = aggregates(&a, &key(&a).unwrap()).unwrap().aggregate;
            each_grid(&format!("aggregates of {name}"), &a, &parts, |a| Ok(aggregates(a, &key(a)?)?.aggregate));
            continue;
        }
        let near = color_at_distance_2(&a, &key(&a).unwrap()).unwrap().colors;
        each_grid(&format!("distance 2 of {name}"), &a, &near, |a| Ok(color_at_distance_2(a, &key(a)?)?.colors));
        let columns =
            |a: &Matrix| Ok(color_columns(a, &priority::column_keys(a, Order::SmallestDegreeLast, 3)?)?.colors);
        each_grid(&format!("columns of {name}"), &a, &columns(&a).unwrap(), columns);
        let given = Vector::from_pairs(a.nrows(), (0..a.nrows() as u32).take(1).map(|v| (v, 2))).unwrap();
        let extended = extend_coloring(&a, &key(&a).unwrap(), &given, 4).unwrap().colors;
        each_grid(&format!("extension of {name}"), &a, &extended, |a| {
            let given = a.grid().map_or(Ok(given.clone()), |grid| given.to_grid(grid))?;
            Ok(extend_coloring(a, &key(a)?, &given, 4)?.colors)
        });
    }
}

#[test]
fn cores_and_matchings() {
    for (name, a) in graphs() {
        each_grid(&format!("cores of {name}"), &a, &core_numbers(&a).unwrap(), core_numbers);
        let mates = maximal_matching(&a, 3).unwrap().mate;
        each_grid(&format!("matching of {name}"), &a, &mates, |a| Ok(maximal_matching(a, 3)?.mate));
    }
}

#[test]
fn forests_and_paths() {
    for (name, a) in graphs() {
        let weighted = weights(&a, 1, 50, 7).unwrap();
        let ends = |found: SpanningForest| {
            let ends = found.forest.iter().map(|(i, j, ())| u64::from(i) << 32 | u64::from(j));
            Vector::from_dense(ends.collect::<Vec<_>>())
        };
        let forest = ends(spanning_forest(&weighted).unwrap());
        for shape in shapes() {
            let found = on_grid(shape, Deal::Hashed, |grid| Ok(ends(spanning_forest(&weighted.to_grid(grid)?)?)));
            assert_eq!(found.unwrap(), forest, "forest of {name} on {shape:?}");
        }
        if a.nrows() > 0 {
            let distances = sssp(&weighted, 0).unwrap();
            each_grid(&format!("paths of {name}"), &weighted, &distances, |a| sssp(a, 0));
            // weights that are drawn on ranks are the same
            each_grid(&format!("drawn paths of {name}"), &a, &distances, |a| sssp(&weights(a, 1, 50, 7)?, 0));
        }
    }
}

/// A directed graph: the edges of an undirected one in one direction each, and some in both.
fn directed(n: u32, seed: u64) -> Matrix {
    let a = random_graph(n, n as usize * 3, seed);
    let arrows = a.iter().filter(|&(i, j, ())| (i * 7 + j * 3) % 5 < 3);
    Matrix::from_triples(n as usize, n as usize, arrows.collect::<Vec<_>>()).unwrap()
}

#[test]
fn strong_components_of_directed_graphs() {
    for n in [1, 5, 100, 400] {
        let a = directed(n, 11);
        let labels = strong_components(&a).unwrap().labels;
        each_grid(&format!("scc of {n}"), &a, &labels, |a| Ok(strong_components(a)?.labels));
        each_grid(&format!("directed bfs of {n}"), &a, &bfs(&a, 0).unwrap(), |a| bfs(a, 0));
    }
}

#[test]
fn roots_of_forests() {
    for n in [1, 2, 100, 400u32] {
        let edges = (1..n).map(|v| (v, (v * 7 + n) % 31 % v, ()));
        let a = Matrix::from_triples(n as usize, n as usize, edges).unwrap();
        let found = roots(&parents_of(&a).unwrap()).unwrap().roots;
        each_grid(&format!("roots of {n}"), &a, &found, |a| Ok(roots(&parents_of(a)?)?.roots));
    }
    // errors are the same on all ranks
    let ring = Matrix::from_triples(9, 9, (0..9).map(|v| (v, (v + 1) % 9, ()))).unwrap();
    let split = Matrix::from_triples(9, 9, [(4, 1, ()), (4, 2, ())]).unwrap();
    for (a, told) in [
        (&ring, "roots: vertex 0 lies on a cycle: expected parents without one"),
        (&split, "roots: vertex 4 has 2 out-edges: expected at most one from each vertex, to its parent"),
    ] {
        for shape in shapes() {
            let found = on_grid(shape, Deal::Cyclic, |grid| Ok(roots(&parents_of(&a.to_grid(grid)?)?)?.rounds));
            assert_eq!(found.unwrap_err().to_string(), told, "{shape:?}");
        }
    }
}

#[test]
fn ranks_have_the_same_bits_in_a_column() {
    let graphs = [directed(500, 2), random_graph(3000, 9000, 4), directed(2, 1)];
    for a in &graphs {
        let sources = Set::from_indices(a.nrows(), [0, 1]).unwrap();
        for options in
            [PageRankOptions::default(), PageRankOptions::default().tolerance(1e-4).rounds(30).sources(Some(sources))]
        {
            let (single, double) = (pagerank::<f32>(a, &options).unwrap(), pagerank::<f64>(a, &options).unwrap());
            for (shape, deal) in grids() {
                let found = on_grid(shape, deal, |grid| {
                    let a = a.to_grid(grid)?;
                    let (single, double) = (pagerank::<f32>(&a, &options)?, pagerank::<f64>(&a, &options)?);
                    assert!(single.change == f32::INFINITY || single.change > 0.0);
                    Ok((single.ranks.to_root()?, double.ranks.to_root()?, double.rounds, double.change))
                });
                if shape.1 > 1 {
                    let told = found.unwrap_err().to_string();
                    let (rows, columns) = shape;
                    let expected = format!(
                        "vxm: a monoid that isn't exact, on a grid of {rows}x{columns}: expected one column of ranks, {}x1",
                        rows * columns
                    );
                    assert!(told.ends_with(&expected), "{told}");
                    continue;
                }
                let found = found.unwrap();
                assert_eq!(found.0.as_ref(), Some(&single.ranks), "{shape:?}, {deal:?}");
                assert_eq!(found.1.as_ref(), Some(&double.ranks), "{shape:?}, {deal:?}");
                assert_eq!((found.2, found.3.to_bits()), (double.rounds, double.change.to_bits()));
            }
        }
    }
}

#[test]
fn triangles_and_cliques() {
    for (name, a) in graphs() {
        each_grid(&format!("triangles of {name}"), &a, &triangles(&a).unwrap(), triangles);
        let count = count_triangles(&a).unwrap();
        each_grid(&format!("the number of {name}"), &a, &Vector::full(a.nrows(), count), |a| {
            Ok(Vector::full(a.nrows(), count_triangles(a)?))
        });
        each_grid(&format!("clustering of {name}"), &a, &clustering(&a).unwrap(), clustering);
        let support = |a: &Matrix| ktruss(a, 4)?.support.reduce_rows(PLUS);
        each_grid(&format!("truss of {name}"), &a, &support(&a).unwrap(), support);
        let clique = |a: &Matrix| {
            let found = maximal_clique(a, &priority::smallest_degree_last(a, 0)?)?;
            Ok::<_, vxm::Error>((found.members, found.sizes))
        };
        let (members, sizes) = clique(&a).unwrap();
        each_grid(&format!("clique of {name}"), &a, &members, |a| Ok(clique(a)?.0));
        each_grid(&format!("cliques of {name}"), &a, &sizes, |a| Ok(clique(a)?.1));
    }
}

#[test]
fn many_sets_and_trees_of_shortest_paths() {
    for (name, a) in graphs() {
        for priority in [Priority::Sorted, Priority::Resolve] {
            let options = MisOptions::default().priority(priority);
            let last =
                |a: &Matrix| Ok(mis_many(a, &options, &[3, 4, 5])?.pop().map(|found| found.set).unwrap_or_default());
            each_grid(&format!("sets of {name}"), &a, &last(&a).unwrap(), last);
        }
        if a.nrows() > 0 {
            let weighted = weights(&a, 0, 9, 7).unwrap();
            each_grid(&format!("trees of {name}"), &weighted, &sssp_parents(&weighted, 0).unwrap(), |a| {
                sssp_parents(a, 0)
            });
        }
    }
}

#[test]
fn communities_by_labels() {
    for (name, a) in graphs() {
        for rounds in [1, 20] {
            let labels = propagate_labels(&a, rounds).unwrap();
            each_grid(&format!("labels of {name}"), &a, &labels.labels, |a| {
                let found = propagate_labels(a, rounds)?;
                assert_eq!(found.rounds, labels.rounds);
                Ok(found.labels)
            });
        }
    }
}

#[test]
fn sums_of_floats_have_the_same_bits_in_a_column() {
    // the largest takes its time without optimisation
    for (name, a) in graphs().into_iter().filter(|(_, a)| a.nnz() < 3000) {
        let sources: Vec<u32> = (0..a.nrows() as u32).step_by(a.nrows() / 5 + 1).collect();
        let (share, found) = (betweenness(&a, &sources).unwrap(), communities(&a, 1e-6).unwrap());
        for (shape, deal) in grids().filter(|(shape, _)| shape.1 == 1) {
            let (ours, parts) = on_grid(shape, deal, |grid| {
                let a = a.to_grid(grid)?;
                let parts = communities(&a, 1e-6)?;
                Ok((betweenness(&a, &sources)?.to_root()?, (parts.labels.to_root()?, parts.modularity, parts.rounds)))
            })
            .unwrap_or_else(|error| panic!("{name} on {shape:?}, {deal:?}: {error}"));
            assert_eq!(ours.as_ref(), Some(&share), "betweenness of {name} on {shape:?}, {deal:?}");
            let expected = (Some(found.labels.clone()), found.modularity, found.rounds);
            assert_eq!(parts, expected, "communities of {name} on {shape:?}, {deal:?}");
        }
    }
}
