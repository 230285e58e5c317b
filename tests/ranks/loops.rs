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

/// A vertex above all neighbours that it sees joins (the greatest number); one that sees a member leaves (the least).
#[op]
fn decide<T: Ordered>(key: T, best: T) -> T {
    if best == T::GREATEST {
        T::LEAST
    } else if key > best {
        T::GREATEST
    } else {
        key
    }
}

#[op]
fn decide_open(key: u32, closed: u32, best: u32) -> u32 {
    if closed == 0u32 || best == u32::MAX {
        0u32
    } else if key > best {
        u32::MAX
    } else {
        key
    }
}

#[op]
fn undecided<T: Ordered>(key: T) -> bool {
    key != T::LEAST && key != T::GREATEST
}

/// A key that another vector is added to, until the vertex is decided.
#[op]
fn plain_key(salted: u32, salt: u32) -> u32 {
    if salted == 0u32 || salted == u32::MAX { salted } else { salted - salt * 1000u32 }
}

#[op]
fn decide_salted(salted: u32, salt: u32, best: u32) -> u32 {
    if best == u32::MAX {
        0u32
    } else if salted - salt * 1000u32 > best {
        u32::MAX
    } else {
        salted
    }
}

#[op]
fn salted(key: u32, salt: u32) -> u32 {
    key + salt * 1000u32
}

/// The same state as on one process, from a loop that may be run in any order, for elements of each width.
macro_rules! sets_of_width {
    ($a:expr, $keys:expr; $($t:ty)*) => {$({
        let key = Vector::from_dense($keys.iter().map(|&k| k as $t).collect());
        let run = |a: &Matrix, key: &Vector<$t>| {
            let decided = fixpoint(key.clone())
                .while_active(undecided)
                .monotone()
                .step(|key| decide.map2(key, key.vxm(a, MAX_FIRST).or_identity()));
            Ok::<_, Error>(decided.eval()?.state)
        };
        let alone = run(&$a, &key).unwrap();
        crate::each_grid(concat!("sets of ", stringify!($t)), &$a, &alone, |a| run(a, &key));
    })*};
}

#[test]
fn states_of_each_width_are_settled_alike() {
    let a = random_graph(120, 400, 11);
    let keys: Vec<u32> = (0..120u32).map(|v| v * 37 % 120 + 1).collect();
    sets_of_width!(a, keys; u8 u16 u32 u64 i32 f32);
}

#[test]
fn loops_in_any_order_read_what_they_need() {
    let a = random_graph(400, 1100, 12);
    let b = random_graph(400, 700, 13);
    let n = a.nrows();
    let key = Vector::from_dense((0..400u32).map(|v| v * 149 % 400 + 1).collect::<Vec<_>>());
    let open = Vector::from_dense((0..400u32).map(|v| v % 5).collect::<Vec<_>>());
    let few = Set::from_indices(n, (0..400).filter(|v| v % 3 > 0)).unwrap();
    type Run<'r> = Box<dyn Fn(&Matrix, &Matrix) -> Result<Vector<u32>> + Sync + 'r>;
    let settled = |what: &str, run: Run<'_>| {
        let alone = run(&a, &b).unwrap();
        for (shape, deal) in crate::grids() {
            let found = on_grid(shape, deal, |grid| run(&a.to_grid(grid)?, &b.to_grid(grid)?)?.to_root());
            assert_eq!(found.unwrap().as_ref(), Some(&alone), "{what} on {shape:?}, {deal:?}");
        }
    };
    macro_rules! state {
        (|$key:ident| $body:expr) => {
            Ok(fixpoint(key.clone()).while_active(undecided).monotone().step(|$key| $body).eval()?.state)
        };
    }
    settled(
        "an own element of another vector",
        Box::new(|a, _| state!(|key| decide_open.map3(key, &open, key.vxm(a, MAX_FIRST).or_identity()))),
    );
    let turned = Vector::from_dense((0..400u32).map(|v| v * 7 % 400).collect::<Vec<_>>());
    let places: Vec<u32> = (0..400u32).map(|v| v * 7 % 400).collect();
    /// Keys that `salt` is added to, until they are decided.
    macro_rules! salted_state {
        ($salt:expr) => {
            Box::new(|a, _| {
                let decided = fixpoint(salted.map2(&key, $salt).eval()?).while_active(undecided).monotone();
                let settled = decided.step(|key| {
                    let best = plain_key.map2(key, $salt).vxm(a, MAX_FIRST).or_identity();
                    decide_salted.map3(key, $salt, best)
                });
                Ok(settled.eval()?.state)
            })
        };
    }
    settled("an operand of two vectors", salted_state!(&open));
    settled("an operand that is gathered", salted_state!(open.gather(&turned)));
    settled("an operand that is extracted", salted_state!(open.extract(&places)));
    settled(
        "a masked operand",
        Box::new(|a, _| {
            // what the mask leaves out has left from the start
            let decided = fixpoint(key.mask(&few).or(0).eval()?).while_active(undecided).monotone();
            Ok(decided.step(|key| decide.map2(key, key.mask(&few).vxm(a, MAX_FIRST).or_identity())).eval()?.state)
        }),
    );
    settled(
        "a masked body",
        Box::new(|a, _| {
            // what the mask leaves out is settled from the start
            let key = key.mask(&few).or(u32::MAX).eval()?;
            let decided = fixpoint(key).while_active(undecided).monotone();
            Ok(decided.step(|key| decide.map2(key, key.vxm(a, MAX_FIRST).or_identity()).mask(&few)).eval()?.state)
        }),
    );
    settled(
        "a product without the state",
        Box::new(|a, b| {
            state!(|key| decide_open.map3(
                key,
                open.vxm(b, PLUS_FIRST).or_identity(),
                key.vxm(a, MAX_FIRST).or_identity()
            ))
        }),
    );
    settled(
        "two matrices",
        Box::new(|a, b| {
            state!(|key| decide
                .map2(key, key.vxm(a, MAX_FIRST).or_identity().ewise_mult(key.vxm(b, MAX_FIRST).or_identity(), MAX)))
        }),
    );
    settled(
        "an operand that knows its index",
        Box::new(|a, _| {
            let decided = fixpoint(key.select_index(even_index).or(0).eval()?).while_active(undecided).monotone();
            let settled =
                decided.step(|key| decide.map2(key, key.select_index(even_index).vxm(a, MAX_FIRST).or_identity()));
            Ok(settled.eval()?.state)
        }),
    );
    settled(
        "neighbours with higher keys",
        Box::new(|a, _| {
            let up = a.oriented(LT, &key);
            state!(|state| decide.map2(state, up.mxv(state, MAX_SECOND).edge_status(waits).or_identity()))
        }),
    );
}

#[op]
fn even_index(index: u32, _key: u32) -> bool {
    index % 2u32 == 0u32
}

/// A higher neighbour that isn't decided yet blocks.
#[op]
fn waits(_own: u32, other: u32) -> Edge {
    if other == 0u32 {
        Edge::Irrelevant
    } else if other == u32::MAX {
        Edge::Relevant
    } else {
        Edge::Blocking
    }
}

#[test]
fn directed_loops_read_along_rows_and_columns() {
    // a vertex holds its key, above 100, until it holds its level: one more than the highest of those that it reads
    #[op]
    fn above(own: u32, highest: u32) -> u32 {
        if highest > 100u32 { own } else { highest + 1u32 }
    }
    let edges = (0..300u32).flat_map(|v| [(v, v * 7 % 300), (v, (v * 31 + 1) % 300)]).filter(|(v, w)| v < w);
    let a = Matrix::from_triples(300, 300, edges.map(|(v, w)| (v, w, ()))).unwrap();
    let key = Vector::full(300, 101u32);
    for forward in [true, false] {
        let run = |a: &Matrix, key: &Vector<u32>| {
            let levels = fixpoint(key.clone()).while_active(GT.bind(100)).monotone();
            let levels = if forward {
                levels.step(|v| above.map2(v, v.vxm(a, MAX_FIRST).or_identity())).eval()?
            } else {
                levels.step(|v| above.map2(v, a.mxv(v, MAX_SECOND).or_identity())).eval()?
            };
            Ok::<_, Error>(levels.state)
        };
        let alone = run(&a, &key).unwrap();
        crate::each_grid("levels", &a, &alone, |a| run(a, &key));
    }
}
