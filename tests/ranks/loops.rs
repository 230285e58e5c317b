//! Loops on ranks: states, rounds and errors.

use crate::{on_grid, random_graph, shapes};
use vxm::prelude::*;
use vxm::ranks::Deal;

#[test]
fn rounds_are_those_of_synchronous_loops() {
    // label = label min (label min.first A): as many rounds as the greatest distance from the least label, and one
    let path = Matrix::undirected(40, &(0..39).map(|v| (v, v + 1)).collect::<Vec<_>>()).unwrap();
    for shape in shapes() {
        let rounds = on_grid(shape, Deal::Hashed, |grid| {
            let a = path.to_grid(grid)?;
            let labels = Vector::from_dense((0..40u32).collect()).to_grid(grid)?;
            let settled = fixpoint(labels).while_changed().step(|l| l.ewise_add(l.vxm(&a, MIN_FIRST), MIN)).eval()?;
            assert_eq!(settled.state.reduce(MAX)?, 0);
            Ok(settled.rounds)
        });
        assert_eq!(rounds.unwrap(), 40);
    }
}

#[test]
fn loops_that_do_not_settle_fail_on_all_ranks() {
    let a = random_graph(200, 500, 2);
    for shape in shapes() {
        let told = on_grid(shape, Deal::Cyclic, |grid| {
            let x = Vector::full(200, 5u32).to_grid(grid)?;
            let stalled = fixpoint(x.clone()).while_active(GT.bind(1)).step(|x| x).eval().unwrap_err();
            let endless = fixpoint(x.clone()).while_active(GT.bind(1)).at_most(7).step(|x| x.map(PLUS.bind(1))).eval();
            let changing = fixpoint(x).while_changed().at_most(3).step(|x| x.map(PLUS.bind(1))).eval();
            let a = a.to_grid(grid)?;
            let key = Vector::full(200, 9u32);
            let equal = vxm::algorithms::mis_in_order(&a, key).unwrap_err();
            Ok([stalled, endless.unwrap_err(), changing.unwrap_err(), equal].map(|error| error.to_string()))
        });
        let [stalled, endless, changing, equal] = told.unwrap();
        assert!(stalled.contains("stalled after 1 round: 200 active elements, no change"), "{stalled}");
        assert!(endless.ends_with("did not converge: round 7 still changed some of 200 elements"), "{endless}");
        assert!(changing.ends_with("did not converge: round 3 still changed 200 elements"), "{changing}");
        assert!(equal.contains("stalled"), "{equal}");
    }
}

#[test]
fn a_first_round_leaves_no_results_behind() {
    // the first body reads along other entries, and by another operator, so that only its claim makes both alike
    let a = random_graph(200, 700, 8);
    let x = Vector::from_dense((0..200u32).map(|v| v * 37 % 199 + 1).collect());
    #[op]
    fn greater(own: u32, other: u32) -> u32 {
        if other > own { other } else { own }
    }
    let run = |a: &Matrix, x: Vector<u32>| {
        let key = x.clone();
        let up = a.oriented(LT, &key);
        let settled = fixpoint(x)
            .while_active(LT.bind(190))
            .monotone()
            .step(|x| greater.map2(x, a.mxv(x, MAX_SECOND).or_identity()))
            .first_round(|x| greater.map2(x, up.mxv(x, MIN_SECOND).or(0)))
            .eval();
        settled
            .map(|settled| settled.state)
            .map_err(|error| Error::invalid(error.to_string().split(": ").last().unwrap_or("")))
    };
    let connected = vxm::algorithms::components(&a).unwrap();
    let giant = connected.select(EQ.bind(connected.get(0).unwrap())).pattern().eval().unwrap();
    // vertices outside of the giant component are settled from the start
    let x = fill(199, 200).mask(!&giant).or(0).eval().unwrap().ewise_add(&x, MAX).eval().unwrap();
    let expected = run(&a, x.clone()).unwrap();
    for shape in shapes() {
        let found = on_grid(shape, Deal::Cyclic, |grid| run(&a.to_grid(grid)?, x.to_grid(grid)?)?.to_root());
        let found = found.unwrap().unwrap();
        // which greater element a vertex has once it is settled depends on the schedule; that all are settled doesn't
        assert_eq!(found.select(LT.bind(190)).eval().unwrap().nvals(), 0);
        assert_eq!(found.nvals(), expected.nvals());
    }
}

#[test]
fn a_loop_may_begin_with_a_whole_state_and_read_whole_vectors() {
    let a = random_graph(300, 900, 6);
    let key = Vector::from_dense((1..=300u32).map(|v| v * 7919 % 311 + 1).collect::<Vec<_>>());
    let rank = key.rank().unwrap().map(PLUS.bind(1)).eval().unwrap();
    let alone = vxm::algorithms::mis_in_order(&a, rank.clone()).unwrap().set;
    for shape in shapes() {
        let set = on_grid(shape, Deal::Hashed, |grid| {
            vxm::algorithms::mis_in_order(&a.to_grid(grid)?, rank.clone())?.set.to_root()
        });
        assert_eq!(set.unwrap().as_ref(), Some(&alone));
        let colors = on_grid(shape, Deal::Hashed, |grid| {
            vxm::algorithms::color_in_order(&a.to_grid(grid)?, &rank)?.colors.to_root()
        });
        assert_eq!(colors.unwrap(), Some(vxm::algorithms::color_in_order(&a, &rank).unwrap().colors));
    }
}
