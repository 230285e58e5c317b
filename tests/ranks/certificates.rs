//! Answers that ranks check together: what they find is what a check of the whole graph finds.

use crate::{graphs, grids, on_grid};
use std::collections::BTreeMap;
use vxm::algorithms::{self, MisOptions};
use vxm::certify::vertex::Nearest;
use vxm::certify::{self, Violation, vertex};
use vxm::prelude::*;
use vxm::ranks::Grid;

/// What ranks find at the least vertex.
fn found<X: Element>(
    a: &Matrix,
    x: &Vector<X>,
    check: impl Fn(u32, Option<X>, &[(u32, Option<X>)]) -> Option<Violation> + Sync,
) -> Vec<Option<Violation>> {
    let check = |v: u32, own: Option<X>, around: &[(u32, (), Option<X>)]| {
        check(v, own, &around.iter().map(|&(other, (), x)| (other, x)).collect::<Vec<_>>())
    };
    let on_ranks = |grid: &Grid| {
        let here = a.to_grid(grid)?.find_vertex(&x.to_grid(grid)?, check)?;
        Ok(grid.least(here.and_then(|(_, violation)| violation.words()))?.and_then(Violation::of_words))
    };
    let whole = a.find_vertex(x, check).unwrap().map(|(_, violation)| violation);
    let spread = grids().map(|(shape, deal)| on_grid(shape, deal, on_ranks).unwrap());
    spread.chain([whole]).collect()
}

/// The answer itself, and the answer with another element at some vertices.
fn spoilt<X: Copy>(right: &[X], others: &[X]) -> Vec<Vec<X>> {
    let n = right.len();
    let places = [0, n / 3, n / 2, n.saturating_sub(1)];
    let wrong = places.into_iter().filter(|&v| v < n).flat_map(|v| {
        others.iter().map(move |&x| {
            let mut wrong = right.to_vec();
            wrong[v] = x;
            wrong
        })
    });
    [right.to_vec()].into_iter().chain(wrong).collect()
}

fn sparse<X: Element>(elements: &[Option<X>]) -> Vector<X> {
    let pairs = (0u32..).zip(elements).filter_map(|(v, x)| x.map(|x| (v, x)));
    Vector::from_pairs(elements.len(), pairs).unwrap()
}

/// That all found what the check of the whole graph found, and the right answer had no fault.
fn agree(what: &str, k: usize, expected: Option<Violation>, found: &[Option<Violation>]) {
    assert!(k > 0 || expected.is_none(), "{what}: {expected:?}");
    for found in found {
        assert_eq!(*found, expected, "{what}, answer {k}");
    }
}

#[test]
fn sets_and_covers() {
    for (name, a) in graphs() {
        let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
        let set = algorithms::mis(&a, &MisOptions::default()).unwrap().set;
        let mut members = vec![false; a.nrows()];
        set.indices().for_each(|v| members[v as usize] = true);
        for (k, member) in spoilt(&members, &[false, true]).into_iter().enumerate() {
            let x = sparse(&member.iter().map(|&member| member.then_some(())).collect::<Vec<_>>());
            let present =
                |around: &[(u32, Option<()>)]| around.iter().map(|&(v, x)| (v, x.is_some())).collect::<Vec<_>>();
            let expected = certify::independent_set(offsets, columns, &member).err();
            let found_here = found(&a, &x, |v, own, around| vertex::set(v, own.is_some(), present(around)));
            agree(&format!("set of {name}"), k, expected, &found_here);

            // what isn't in a maximal set covers all edges
            let rest: Vec<bool> = member.iter().map(|member| !member).collect();
            let no_mates = vec![None; rest.len()];
            let uncovered = certify::vertex_cover(offsets, columns, &rest, &no_mates).err();
            let uncovered = uncovered.filter(|violation| matches!(violation, Violation::NotCovered { .. }));
            let found_here = found(&a, &x, |v, own, around| {
                let rest: Vec<_> = present(around).into_iter().map(|(v, member)| (v, !member)).collect();
                vertex::cover(v, own.is_none(), rest)
            });
            agree(&format!("cover of {name}"), k, uncovered, &found_here);
        }
    }
}

#[test]
fn colors_and_mates() {
    for (name, a) in graphs() {
        let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
        let key = algorithms::priority::order_keys(&a, algorithms::Order::LargestDegreeFirst, 3).unwrap();
        let colors = algorithms::color_in_order(&a, &key).unwrap().colors.to_dense(0);
        for (k, colors) in spoilt(&colors, &[0, 1, 2]).into_iter().enumerate() {
            let expected = certify::coloring(offsets, columns, &colors).err();
            let x = Vector::from_dense(colors);
            let found_here = found(&a, &x, |v, own, around| {
                vertex::color(v, own.unwrap_or(0), around.iter().map(|&(v, color)| (v, color.unwrap_or(0))))
            });
            agree(&format!("colours of {name}"), k, expected, &found_here);
        }
        let mate = algorithms::maximal_matching(&a, 3).unwrap().mate;
        let mut mates = vec![None; a.nrows()];
        mate.iter().for_each(|(v, other)| mates[v as usize] = Some(other));
        for (k, mates) in spoilt(&mates, &[None, Some(0), Some(2), Some(u32::MAX - 1)]).into_iter().enumerate() {
            let expected = certify::maximal_matching(offsets, columns, &mates).err();
            let found_here = found(&a, &sparse(&mates), |v, own, around| vertex::mate(v, own, around.iter().copied()));
            agree(&format!("mates of {name}"), k, expected, &found_here);
        }
    }
}

#[test]
fn hops() {
    for (name, a) in graphs().into_iter().filter(|(_, a)| a.nrows() > 0) {
        let source = a.nrows() as u32 / 2;
        let levels = algorithms::bfs(&a, source).unwrap();
        let mut hops = vec![None; a.nrows()];
        levels.iter().for_each(|(v, level)| hops[v as usize] = Some(level));
        for (k, hops) in spoilt(&hops, &[None, Some(0), Some(1), Some(2), Some(u32::MAX)]).into_iter().enumerate() {
            let found_here =
                found(&a, &sparse(&hops), |v, own, around| vertex::hops(v, source, own, around.iter().copied()));
            let wrong = certify::levels(a.csr().offsets(), a.csr().columns(), source as usize, &hops).is_err();
            assert!(k > 0 || !wrong, "{name}");
            assert!(
                found_here.iter().all(|found| found.is_some() == wrong && *found == found_here[0]),
                "{name}, answer {k}"
            );
        }
    }
}

/// Directed edges with weights from `least` on, some of them self-loops.
fn ways(n: u32, least: u32) -> Matrix<u32> {
    let edges = (0..3 * n).map(|k| (k % n, (k * 7 + k / n * k / 3 + 1) % n, least + k * k % 5));
    let distinct: BTreeMap<(u32, u32), u32> = edges.map(|(i, j, weight)| ((i, j), weight)).collect();
    Matrix::from_triples(n as usize, n as usize, distinct.into_iter().map(|((i, j), w)| (i, j, w))).unwrap()
}

#[test]
fn distances_along_directed_edges() {
    for (n, least) in [(1, 1), (40, 1), (150, 1), (150, 0)] {
        let (a, source) = (ways(n, least), n / 2);
        let csr = a.csr();
        let right = certify::dijkstra(csr.offsets(), csr.columns(), csr.values(), source as usize);
        assert!(n == 1 || right.iter().flatten().count() > 20, "{n} vertices");
        for (k, distance) in spoilt(&right, &[None, Some(0), Some(1), Some(7), Some(u32::MAX)]).into_iter().enumerate()
        {
            let check = |v, own, around: &[_]| vertex::distance::<u32>(v, source, own, around.iter().copied());
            let x = sparse(&distance);
            let whole = a.transpose().find_vertex(&x, check).unwrap();
            let wrong = certify::distances(csr.offsets(), csr.columns(), csr.values(), source as usize, &distance);
            assert!(k > 0 || wrong.is_ok());
            // edges of weight 0 may leave it open, others never
            match whole.map(|(_, found)| found) {
                None => assert!(wrong.is_ok(), "{n} vertices, answer {k}: {wrong:?}"),
                Some(Nearest::Wrong(_)) => assert!(wrong.is_err(), "{n} vertices, answer {k}"),
                Some(Nearest::Equal) => assert_eq!(least, 0, "{n} vertices, answer {k}"),
            }
            for (shape, deal) in grids() {
                let found = on_grid(shape, deal, |grid| {
                    let here = a.to_grid(grid)?.transpose().find_vertex(&x.to_grid(grid)?, check)?;
                    grid.least(here.map(|(v, _)| [u64::from(v)]))
                });
                let expected = whole.map(|(v, _)| [u64::from(v)]);
                assert_eq!(found.unwrap(), expected, "{n} vertices, answer {k}, {shape:?}");
            }
        }
    }
    assert_eq!(vertex::distance(7, 7, Some(0.0f64), []), None);
}

#[test]
fn equal_distances_do_not_confirm_each_other() {
    // 1 and 2 reach each other over edges of weight 0, and the source reaches neither
    let around = |v: u32| [(3 - v, 0u32, Some(5))];
    for v in [1, 2] {
        assert_eq!(vertex::distance(v, 0, Some(5), around(v)), Some(Nearest::Equal));
    }
    // a sum that rounds to the distance itself
    assert_eq!(vertex::distance(1, 0, Some(1e9f32), [(2, 1e-9, Some(1e9))]), Some(Nearest::Equal));
    // a sum that doesn't fit is no path, nor is a self-loop
    assert_eq!(vertex::distance(1, 0, None, [(2, 2u32, Some(u32::MAX - 1)), (1, 1, Some(3))]), None);
    let Some(Nearest::Wrong(wrong)) = vertex::distance(1, 0, None, [(2, 0.5f64, Some(1.25))]) else { panic!() };
    let told = "the answer says that 1 is at distance inf, and by its in-neighbours it is at distance 1.75";
    assert_eq!(wrong.to_string(), told);
    assert_eq!(wrong.words().and_then(Violation::of_words), Some(wrong));
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    let (name, a) = graphs().into_iter().find(|(_, a)| a.nrows() > 1).unwrap();
    for (shape, deal) in grids() {
        let refused = on_grid(shape, deal, |grid| {
            let (a, x) = (a.to_grid(grid)?, Vector::full(1, 1u32).to_grid(grid)?);
            a.find_vertex(&x, |_, own, _| own).map(|_| ())
        });
        let told = refused.unwrap_err().to_string();
        assert!(told.contains(&format!("a vector of 1 elements: expected {}", a.nrows())), "{name}: {told}");
        let refused = on_grid(shape, deal, |grid| {
            let x = Vector::full(a.nrows(), 1u32).to_grid(grid)?;
            a.find_vertex(&x, |_, own, _| own).map(|_| x.grid().is_none())
        });
        // on one rank nothing is spread
        match refused {
            Ok(alone) => assert!(alone, "{shape:?}"),
            Err(error) => assert!(error.to_string().contains("expected to_grid() of the matrix"), "{error}"),
        }
    }
}
