//! Answers that ranks check together: what they find is what a check of the whole graph finds.

use crate::{graphs, grids, on_grid};
use vxm::algorithms::{self, MisOptions};
use vxm::certify::{self, Violation, vertex};
use vxm::prelude::*;
use vxm::ranks::Grid;

/// What ranks find at the least vertex.
fn found<X: Element>(
    a: &Matrix,
    x: &Vector<X>,
    check: impl Fn(u32, Option<X>, &[(u32, Option<X>)]) -> Option<Violation> + Sync,
) -> Vec<Option<Violation>> {
    let on_ranks = |grid: &Grid| {
        let here = a.to_grid(grid)?.find_vertex(&x.to_grid(grid)?, &check)?;
        Ok(grid.least(here.and_then(|(_, violation)| violation.words()))?.and_then(Violation::of_words))
    };
    let whole = a.find_vertex(x, &check).unwrap().map(|(_, violation)| violation);
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
