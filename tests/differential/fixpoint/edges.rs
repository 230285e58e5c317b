//! Loops that judge edges: by their status, and by an orientation. The loops are first-fit colourings.

use super::{Case, SCHEDULES, case, every_schedule, four_or_two, is_four, is_low, lower};
use crate::harness::{agree, dry_run, ok, same, suite};
use proptest::prelude::*;
use vxm::backend::plan::{Forced, force};
use vxm::prelude::*;

/// A state from `COLORS` on is a key plus `COLORS`, of a vertex without a colour. A lower state is a colour.
const COLORS: u64 = 1 << 32;

#[op]
fn precedes(own: u64, other: u64) -> bool {
    other < COLORS || other > own
}
#[op]
fn hue(vertex: u64, _edge: ()) -> u64 {
    if vertex >= COLORS { u64::MAX } else { 1u64 << (vertex as u32) }
}
#[op]
fn first_free(own: u64, taken: u64) -> u64 {
    if taken == u64::MAX { own } else { taken.trailing_ones() as u64 }
}

/// The same as a status: `other` blocks as long as it has no colour.
#[op]
fn first(own: u64, other: u64) -> Edge {
    if other < COLORS {
        Edge::Relevant
    } else if other > own {
        Edge::Blocking
    } else {
        Edge::Irrelevant
    }
}

/// The sequential first-fit colouring in descending order of keys.
fn first_fit(case: &Case) -> Vec<u64> {
    let (keys, near) = (case.keys(), case.neighbors());
    let mut order: Vec<usize> = (0..case.n).collect();
    order.sort_by_key(|&v| std::cmp::Reverse(keys[v]));
    let mut colors = vec![u64::MAX; case.n];
    for v in order {
        let taken: Vec<u64> = near[v].iter().map(|&u| colors[u as usize]).collect();
        colors[v] = (0..).find(|color| !taken.contains(color)).unwrap();
    }
    colors
}

/// The initial state, in which no vertex has a colour.
fn colorless(case: &Case) -> Vector<u64> {
    Vector::from_dense(case.keys().iter().map(|&key| key + COLORS).collect())
}

#[op]
fn half_of(i: u32, j: u32, _edge: ()) -> bool {
    (i ^ j) & 1u32 == 0u32
}
#[op]
fn as_it_was(own: u64, _taken: u64) -> u64 {
    own
}

/// Rows of about equal length, few of them longer than 32 entries: a device keeps a mask of a row's live entries. The first body may
/// read other entries than the second.
#[test]
fn rows_of_about_one_length() {
    let cases = (200..900usize, 9..24usize, any::<u64>()).prop_map(|(n, mean, seed)| {
        let draw = |k: usize| (crate::algebra::mix(seed.wrapping_add(k as u64)) % n as u64) as u32;
        let edges: Vec<(u32, u32)> = (0..n * mean / 2).map(|k| (draw(2 * k), draw(2 * k + 1))).collect();
        Case::new(n, edges, seed)
    });
    suite("fixpoint: rows of about one length", 40, cases, |case| {
        let (a, expected, key) = (case.matrix(), first_fit(&case), colorless(&case));
        let half = ok(a.select(half_of))?;
        let active = || fixpoint(key.clone()).while_active(GE.bind(COLORS)).monotone();
        every_schedule(&expected, || {
            active()
                .step(|v| {
                    let taken = v.vxm(&a, semiring(BOR, hue)).edge_status(first).or_identity();
                    first_free.map2(v, taken)
                })
                .eval()
        })?;
        every_schedule(&expected, || {
            active()
                .step(|v| {
                    let taken = v.vxm(&a, semiring(BOR, hue)).edge_status(first).or_identity();
                    first_free.map2(v, taken)
                })
                .first_round(|v| {
                    let taken = v.vxm(&half, semiring(BOR, hue)).edge_status(first).or_identity();
                    as_it_was.map2(v, taken)
                })
                .eval()
        })
    });
}

/// First-fit colouring with an edge filter. Entries of long rows are filtered before the loop, those of other rows at every visit.
#[test]
fn neighbours_that_come_first() {
    suite("fixpoint: first fit", 60, case(), |case| {
        let (a, expected, key) = (case.matrix(), first_fit(&case), colorless(&case));
        every_schedule(&expected, || {
            fixpoint(key.clone())
                .while_active(GE.bind(COLORS))
                .monotone()
                .step(|v| first_free.map2(v, v.vxm(&a, semiring(BOR, hue)).edge_status(precedes).or_identity()))
                .eval()
        })?;
        // with blockers, which the loop remembers
        every_schedule(&expected, || {
            fixpoint(key.clone())
                .while_active(GE.bind(COLORS))
                .monotone()
                .step(|v| {
                    let taken = v.vxm(&a, semiring(BOR, hue)).edge_status(first).or_identity();
                    first_free.map2(v, taken)
                })
                .eval()
        })?;
        // not declared monotone: all elements see the states of the round before
        let settled = ok(fixpoint(key.clone())
            .while_active(GE.bind(COLORS))
            .step(|v| {
                let taken = v.vxm(&a, semiring(BOR, hue)).edge_status(first).or_identity();
                first_free.map2(v, taken)
            })
            .eval())?;
        agree("in rounds", &expected.iter().copied().map(Some).collect::<Vec<_>>(), &settled.state)?;
        // over a weighted matrix
        let weighted = ok(a.map_index(from_to))?;
        let (most, _) = ok(fixpoint(key.clone())
            .while_active(GE.bind(COLORS))
            .monotone()
            .step(|v| {
                let taken = v.vxm(&weighted, semiring(BOR, weighted_hue)).edge_status(first);
                first_free.map2(v, taken.or_identity())
            })
            .eval_then(|v| v.reduce(MAX)))?;
        same("the number of colours, with weights", expected.iter().copied().max().unwrap_or(0), most)?;
        // with `until` as well
        let (most, _) = ok(fixpoint(key)
            .while_active(GE.bind(COLORS))
            .monotone()
            .step(|v| first_free.map2(v, v.vxm(&a, semiring(BOR, hue)).until(is_open).edge_status(first).or_identity()))
            .eval_then(|v| v.reduce(MAX)))?;
        same("the number of colours", expected.iter().copied().max().unwrap_or(0), most)
    });
}

/// An arbitrary weight, which is not 0 since `i` and `j` differ.
#[op]
fn from_to(i: u32, j: u32, _edge: ()) -> u32 {
    i ^ j
}
/// [`hue`] for a weighted edge. No edge has weight 0.
#[op]
fn weighted_hue(vertex: u64, weight: u32) -> u64 {
    if weight == 0u32 || vertex >= COLORS { u64::MAX } else { 1u64 << (vertex as u32) }
}

/// Whether a neighbour has no colour yet.
#[op]
fn is_open(_own: u64, taken: u64) -> bool {
    taken == u64::MAX
}

/// First-fit colouring with sets of bits as states: the colours that a vertex may still have, and the highest bit until it has its
/// colour. The order of vertices is in another vector, not in the state.
macro_rules! colors_in_bits {
    ($($name:ident: $t:ident, $open:ident, $one:expr, $zero:expr, $may:ident, $seen:ident, $narrow:ident, $status:ident,
       $taken:ident;)*) => {$(
        const $open: $t = !($t::MAX >> 1);
        #[op]
        fn $may(v: $t) -> bool {
            v & $open != $zero
        }
        #[op]
        fn $seen(v: $t, _edge: ()) -> $t {
            if v & $open != $zero { $open } else { v }
        }
        #[op]
        fn $narrow(own: $t, seen: $t) -> $t {
            let left: $t = own & (!seen | $open);
            if seen & $open != $zero { left } else { left & ($zero - left) }
        }
        #[op]
        fn $status(own: $t, other: $t) -> Edge {
            if own & other & !$open == $zero {
                Edge::Irrelevant
            } else if other & $open != $zero {
                Edge::Blocking
            } else {
                Edge::Final
            }
        }
        #[op]
        fn $taken(_own: $t, seen: $t) -> bool {
            seen & $open != $zero
        }

        /// Checks a loop with blocking and final edges. A device does not use the first body here.
        fn $name(case: &Case) -> crate::harness::Outcome {
            let (a, keys) = (case.matrix(), Vector::from_dense(case.keys()));
            let expected: Vec<$t> = first_fit(case).iter().map(|&color| $one << color).collect();
            let upwards = a.oriented(GT, &keys);
            every_schedule(&expected, || {
                let others = |v: StateRef<$t>| v.vxm(&upwards, semiring(BOR, $seen)).edge_status($status);
                fixpoint(Vector::full(case.n, $t::MAX))
                    .while_active($may)
                    .monotone()
                    .step(|v| $narrow.map2(v, others(v).or_identity()))
                    .first_round(|v| $narrow.map2(v, others(v).until($taken).or_identity()))
                    .eval()
            })
        }
    )*};
}

colors_in_bits! {
    in_a_word: u32, OPEN_WORD, 1u32, 0u32, word_may_change, word_seen, word_narrow, word_status, word_taken;
    in_two_words: u64, OPEN_WORDS, 1u64, 0u64, words_may_change, words_seen, words_narrow, words_status, words_taken;
}

/// `word_seen` in `mxv`.
#[op]
fn word_seen_after(_edge: (), v: u32) -> u32 {
    if v & OPEN_WORD != 0u32 { OPEN_WORD } else { v }
}

/// `word_seen` for a weighted edge. No edge has weight 0.
#[op]
fn weighted_seen(v: u32, weight: u32) -> u32 {
    if weight == 0u32 || v & OPEN_WORD != 0u32 { OPEN_WORD } else { v }
}

/// The status of a higher neighbour, whatever colours it may have.
#[op]
fn word_settles(_own: u32, other: u32) -> Edge {
    if other & OPEN_WORD != 0u32 { Edge::Blocking } else { Edge::Final }
}
#[op]
fn word_blocks(_own: u32, other: u32) -> Edge {
    if other & OPEN_WORD != 0u32 { Edge::Blocking } else { Edge::Relevant }
}

/// Other formulations of the same loop: without statuses, with fewer of them, with `until`, over a matrix that has only the selected
/// entries, and with weights.
fn in_other_words(case: &Case) -> crate::harness::Outcome {
    let (a, keys) = (case.matrix(), Vector::from_dense(case.keys()));
    let expected: Vec<u32> = first_fit(case).iter().map(|&color| 1u32 << color).collect();
    let open = || fixpoint(Vector::full(case.n, u32::MAX)).while_active(word_may_change).monotone();
    let seen = semiring(BOR, word_seen);
    let upwards = a.oriented(GT, &keys);
    every_schedule(&expected, || open().step(|v| word_narrow.map2(v, v.vxm(&upwards, seen).or_identity())).eval())?;
    every_schedule(&expected, || {
        let others = |v: StateRef<u32>| v.vxm(&upwards, seen).edge_status(word_settles);
        open().step(|v| word_narrow.map2(v, others(v).until(word_taken).or_identity())).eval()
    })?;
    let made = ok(upwards.materialize())?;
    every_schedule(&expected, || {
        open().step(|v| word_narrow.map2(v, v.vxm(&made, seen).edge_status(word_settles).or_identity())).eval()
    })?;
    // a row of the transposed product
    let rows = a.oriented(LT, &keys);
    every_schedule(&expected, || {
        open()
            .step(|v| {
                word_narrow.map2(v, rows.mxv(v, semiring(BOR, word_seen_after)).edge_status(word_blocks).or_identity())
            })
            .eval()
    })?;
    let weighted = ok(a.map_index(from_to))?;
    let weighted = weighted.oriented(GT, &keys);
    every_schedule(&expected, || {
        let others = |v: StateRef<u32>| v.vxm(&weighted, semiring(BOR, weighted_seen)).edge_status(word_settles);
        open().step(|v| word_narrow.map2(v, others(v).or_identity())).eval()
    })
}

/// Oriented edges over graphs with and without hubs.
#[test]
fn oriented_edges() {
    suite("fixpoint: oriented in one word", 20, case(), |case| in_a_word(&case));
    suite("fixpoint: oriented in two words", 20, case(), |case| in_two_words(&case));
    suite("fixpoint: oriented in other words", 12, case(), |case| in_other_words(&case));
}

/// Oriented edges over rows of every length class, with a few hubs that many vertices wait for one after the other.
#[test]
fn oriented_edges_of_rows_of_every_length() {
    let cases = || {
        (2100..5000usize, 1..4usize, 4..14u32, any::<u64>()).prop_map(|(n, mean, hubs, seed)| {
            let draw = |k: usize| (crate::algebra::mix(seed.wrapping_add(k as u64)) % n as u64) as u32;
            let mut edges: Vec<(u32, u32)> = (0..n * mean / 2).map(|k| (draw(2 * k), draw(2 * k + 1))).collect();
            // the first hub is next to all vertices, the others to every second one, every fourth and so on
            let others = |hub: u32| (hub..n as u32).step_by(1 << (hub % 7)).map(move |other| (hub, other));
            edges.extend((0..hubs).flat_map(others));
            Case::new(n, edges, seed)
        })
    };
    suite("fixpoint: oriented of rows of every length in one word", 12, cases(), |case| in_a_word(&case));
    suite("fixpoint: oriented of rows of every length in two words", 6, cases(), |case| in_two_words(&case));
    suite("fixpoint: oriented of rows of every length in other words", 6, cases(), |case| in_other_words(&case));
}

/// Oriented edges over rows of about equal length: of few entries, of more, and of so many that some rows have more than a live-edge mask has bits.
#[test]
fn oriented_edges_of_rows_of_about_one_length() {
    let cases = || {
        (200..900usize, prop_oneof![1..4usize, 5..9usize, 9..28usize], any::<u64>()).prop_map(|(n, mean, seed)| {
            let draw = |k: usize| (crate::algebra::mix(seed.wrapping_add(k as u64)) % n as u64) as u32;
            let edges: Vec<(u32, u32)> = (0..n * mean / 2).map(|k| (draw(2 * k), draw(2 * k + 1))).collect();
            Case::new(n, edges, seed)
        })
    };
    suite("fixpoint: oriented of even rows in one word", 20, cases(), |case| in_a_word(&case));
    suite("fixpoint: oriented of even rows in two words", 20, cases(), |case| in_two_words(&case));
    suite("fixpoint: oriented of even rows in other words", 12, cases(), |case| in_other_words(&case));
}

/// The state of a vertex is its number of higher neighbours plus one. It becomes 0 once `heard`, the number of those that are 0, is
/// complete.
#[op]
fn heard(own: u32, heard: u32) -> u32 {
    if heard + 1u32 == own { 0u32 } else { own }
}
/// Neighbours that are 0 are final. Others block.
#[op]
fn has_spoken(own: u32, other: u32) -> Edge {
    if other == 0u32 {
        Edge::Final
    } else if own != 0u32 {
        Edge::Blocking
    } else {
        Edge::Relevant
    }
}

/// An entry that an orientation keeps may be irrelevant by its status, its element may be absent at first, or a visit may not need its product. No
/// row may wait for such an entry forever, and no product may be lost.
#[test]
fn oriented_edges_and_what_else_is_said() {
    suite("fixpoint: oriented and what else is said", 20, case(), |case| {
        let (a, expected, key) = (case.matrix(), first_fit(&case), colorless(&case));
        let same_for_all = Vector::full(case.n, 3i8);
        let all = a.oriented(LE, &same_for_all);
        every_schedule(&expected, || {
            fixpoint(key.clone())
                .while_active(GE.bind(COLORS))
                .monotone()
                .step(|v| first_free.map2(v, v.vxm(&all, semiring(BOR, hue)).edge_status(first).or_identity()))
                .eval()
        })?;
        // an operand that gains elements during the loop
        let keys = Vector::from_dense(case.keys());
        let upwards = a.oriented(GT, &keys);
        let above = ok(keys.vxm(&upwards, semiring(PLUS, PAIR)).or_identity().map(PLUS.bind(1u32)).eval())?;
        let above = ok(above.select(GT.bind(1u32)).or(0).eval())?;
        every_schedule(&vec![0u32; case.n], || {
            let those = |v: StateRef<u32>| v.select(EQ.bind(0u32)).vxm(&upwards, semiring(PLUS, PAIR));
            fixpoint(above.clone())
                .while_active(NE.bind(0u32))
                .monotone()
                .step(|v| heard.map2(v, those(v).or_identity()))
                .eval()
        })
    });
    crate::harness::on_device(|| {
        let n = 5;
        let a = Matrix::undirected(n, &[(0, 4), (1, 4), (2, 4), (3, 4)]).unwrap();
        let (zeros, keys) = (Vector::full(n, 0u32), Vector::from_dense(vec![0u32, 1, 2, 3, 9]));
        let (all, upwards) = (a.oriented(LE, &zeros), a.oriented(GT, &keys));
        for schedule in SCHEDULES {
            let forced = Forced { schedule, ..Forced::default() };
            // a product that only some visits need
            let start = Vector::from_dense(vec![4u32, 3, 2, 4, 9]);
            let falls = fixpoint(start).while_active(is_low).monotone().step(|v| {
                let seen = v.vxm(&all, MAX_FIRST).edge_status(four_or_two).mask(v.select(is_four));
                v.map(lower).ewise_add(seen, FIRST)
            });
            // a product in a mask, which may be evaluated twice
            let start = Vector::from_dense(vec![1u32, 1, 1, 1, 0]);
            let hears = fixpoint(start).while_active(EQ.bind(1u32)).monotone().step(|v| {
                let spoken = v.vxm(&upwards, MIN_FIRST).edge_status(has_spoken);
                v.map(lower).mask(spoken.select(EQ.bind(0u32)))
            });
            let expected = [vec![0u32, 0, 0, 0, 9], vec![0u32; 5]];
            for (found, expected) in
                [force(forced, || falls.eval()), force(forced, || hears.eval())].into_iter().zip(expected)
            {
                if dry_run().is_none() {
                    assert_eq!(found.unwrap().state, Vector::from_dense(expected), "{schedule:?}");
                }
            }
        }
    });
}
