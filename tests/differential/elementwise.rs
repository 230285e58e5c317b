//! Elementwise verbs, extraction, regions, masks of every kind, updates and reductions.

use crate::algebra::{Compose, Sample, Tangle, blend, blend3, mix, odd_place, stamp};
use crate::harness::{Mode, Outcome, agree, ok, on_threads, same, suite};
use crate::shapes::{Ending, Filled, ending, filled};
use proptest::prelude::*;
use vxm::backend::reference::{self, Dense};
use vxm::prelude::*;

#[derive(Debug, Clone)]
struct Case {
    len: usize,
    x: Filled,
    y: Filled,
    z: Filled,
    end: Ending,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let len = prop_oneof![1 => Just(0usize), 6 => 1..20usize, 4 => 20..140usize, 2 => 140..400usize];
    (len, filled(), filled(), filled(), ending(), 0..1u64 << 16).prop_map(|(len, x, y, z, end, seed)| Case {
        len,
        x,
        y,
        z,
        end,
        seed,
    })
}

/// The mask and the vector `w` that a result is written to. The mask holds floats: by value, NaN selects and `-0.0` doesn't.
struct Target<T: Element> {
    end: Ending,
    mask: Dense<f32>,
    w: Dense<T>,
    held_mask: Vector<f32>,
    held: Vector<T>,
}

impl<T: Sample> Target<T> {
    fn new(end: &Ending, len: usize) -> Self {
        let (mask, w) = (end.mask.dense(len), end.w.dense(len));
        let (held_mask, held) = (end.mask.vector(&mask), end.w.vector(&w));
        Self { end: end.clone(), mask, w, held_mask, held }
    }

    /// Checks the result of the case's terminal and mask, for an expression that should have the value `t`.
    fn check<E: Expr<T = T>>(&self, what: &str, t: &[Option<T>], expression: E) -> Outcome {
        self.check_region(what, t, &vec![true; t.len()], expression)
    }

    /// Like [`check`](Self::check), for an expression that writes only within `region`.
    fn check_region<E: Expr<T = T>>(&self, what: &str, t: &[Option<T>], region: &[bool], expression: E) -> Outcome {
        let selects = reference::both(region, &self.end.mode.selects(&self.mask));
        let expected = self.end.terminal.expected(&self.w, t, &selects);
        let found = self.end.terminal.run_masked(expression, self.end.mode.of(&self.held_mask), &self.held);
        agree(what, &expected, &ok(found)?)
    }
}

/// Unordered indices below `n`, some of them repeated.
fn indices(seed: u64, count: usize, n: usize) -> Vec<u32> {
    let count = if n == 0 { 0 } else { count };
    (0..count as u64).map(|k| (mix(seed ^ k << 17) % n as u64) as u32).collect()
}

/// `count` different indices below `n`, in random or ascending order.
fn places(seed: u64, count: usize, n: usize) -> Vec<u32> {
    let mut places: Vec<u32> = (0..n as u32).collect();
    places.sort_by_key(|&i| mix(seed ^ u64::from(i)));
    places.truncate(count);
    if seed.is_multiple_of(3) {
        places.sort_unstable();
    }
    places
}

#[test]
fn one_verb() {
    suite("elementwise: one verb", 1500, case(), |case| {
        let n = case.len;
        let (x, y, z) = (case.x.dense::<u32>(n), case.y.dense::<u32>(n), case.z.dense::<u32>(n));
        let (u, v, w) = (case.x.vector(&x), case.y.vector(&y), case.z.vector(&z));
        let target = Target::<u32>::new(&case.end, n);
        on_threads(case.end.threads, || {
            target.check("itself", &x, &u)?;
            target.check("map", &reference::map(&x, PLUS.bind(3)), u.map(PLUS.bind(3)))?;
            target.check("map_index", &reference::map_index(&x, stamp), u.map_index(stamp))?;
            target.check("select", &reference::select(&x, GT.bind(2)), u.select(GT.bind(2)))?;
            target.check("select_index", &reference::select_index(&x, odd_place), u.select_index(odd_place))?;
            target.check("ewise_mult", &reference::ewise_mult(&x, &y, blend), u.ewise_mult(&v, blend))?;
            target.check("ewise_add", &reference::ewise_add(&x, &y, blend), u.ewise_add(&v, blend))?;
            target.check("the lesser", &reference::ewise_add(&x, &y, MIN), u.ewise_add(&v, MIN))?;
            target.check("any", &reference::ewise_add(&x, &y, ANY), u.ewise_add(&v, ANY))?;
            target.check("map3", &reference::map3(&x, &y, &z, blend3), blend3.map3(&u, &v, &w))?;
            target.check("or", &reference::or(&x, 9), u.or(9))?;
            target.check("fill", &vec![Some(7); n], fill(7, n))?;
            let sets = Target::<()>::new(&case.end, n);
            sets.check("pattern", &reference::pattern(&x), u.pattern())
        })
    });
}

#[test]
fn nested_verbs() {
    suite("elementwise: nested verbs", 1500, case(), |case| {
        let n = case.len;
        let (x, y, z) = (case.x.dense::<u32>(n), case.y.dense::<u32>(n), case.z.dense::<u32>(n));
        let (u, v, w) = (case.x.vector(&x), case.y.vector(&y), case.z.vector(&z));
        let target = Target::<u32>::new(&case.end, n);
        on_threads(case.end.threads, || {
            let sum = reference::ewise_add(&x, &y, blend);
            let product = reference::ewise_mult(&x, &y, blend);
            let t = reference::ewise_mult(&sum, &z, MINUS);
            target.check("of a union", &t, u.ewise_add(&v, blend).ewise_mult(&w, MINUS))?;
            let t = reference::ewise_add(&z, &product, MINUS);
            target.check("of an intersection", &t, w.ewise_add(u.ewise_mult(&v, blend), MINUS))?;
            let t = reference::map_index(&reference::select(&sum, GT.bind(2)), stamp);
            target.check("a chain", &t, u.ewise_add(&v, blend).select(GT.bind(2)).map_index(stamp))?;
            let t = reference::ewise_mult(&reference::or(&x, 9), &y, blend);
            target.check("of what is filled", &t, u.or(9).ewise_mult(&v, blend))?;
            let t = reference::map3(&sum, &y, &reference::select_index(&z, odd_place), blend3);
            target.check("map3", &t, blend3.map3(u.ewise_add(&v, blend), &v, w.select_index(odd_place)))?;
            // a mask on an operand keeps the elements that it selects; only the outermost mask determines what is written
            let part = reference::masked(&x, &reference::structural(&y));
            target.check(
                "a masked operand",
                &reference::ewise_add(&part, &z, blend),
                u.mask(&v).ewise_add(&w, blend),
            )?;
            let part = reference::masked(&x, &reference::complement(&reference::by_value(&y)));
            target.check("a mapped mask", &reference::map(&part, PLUS.bind(1)), u.mask(!v.values()).map(PLUS.bind(1)))
        })
    });
}

#[test]
fn masks_of_masks_and_of_expressions() {
    suite("masks that are expressions", 1000, case(), |case| {
        let n = case.len;
        let (x, y, z) = (case.x.dense::<u32>(n), case.y.dense::<u32>(n), case.z.dense::<u32>(n));
        let (u, v, w) = (case.x.vector(&x), case.y.vector(&y), case.z.vector(&z));
        let target = Target::<u32>::new(&case.end, n);
        on_threads(case.end.threads, || {
            let inner = reference::structural(&y);
            target.check_region("two masks", &x, &inner, u.mask(&v))?;
            let inner = reference::complement(&reference::by_value(&y));
            target.check_region("two masks, one a complement", &x, &inner, u.mask(!v.values()))?;
            let inner = reference::structural(&reference::ewise_add(&y, &z, blend));
            target.check_region("a union", &x, &inner, u.mask(v.ewise_add(&w, blend)))?;
            let inner = reference::by_value(&reference::ewise_mult(&y, &z, MINUS));
            target.check_region("values of a difference", &x, &inner, u.mask(v.ewise_mult(&w, MINUS).values()))?;
            let complement = reference::complement(&inner);
            target.check_region("its complement", &x, &complement, u.mask(!v.ewise_mult(&w, MINUS).values()))?;
            let inner = reference::structural(&reference::select(&y, GT.bind(2)));
            target.check_region("a masked fill", &vec![Some(5); n], &inner, fill(5, n).mask(v.select(GT.bind(2))))
        })
    });
}

/// An index that depends on `x`, seldom out of range.
#[op]
fn points_to(x: u32) -> u32 {
    x * 7u32 % 150u32
}
#[op]
fn rounded(x: f32) -> u32 {
    (x * 3f32) as u32
}

#[test]
fn extract_and_regions() {
    suite("extract, gather and scatter", 1500, (case(), 0..300usize), |(case, count)| {
        let (n, x) = (case.len, case.x.dense::<u32>(case.len));
        let u = case.x.vector(&x);
        let from = indices(case.seed, count, n);
        let picked = reference::extract(&x, &from);
        on_threads(case.end.threads, || {
            let target = Target::<u32>::new(&case.end, from.len());
            target.check("extract", &picked, u.extract(&from))?;
            let mapped = reference::map(&picked, PLUS.bind(1));
            target.check("map of extract", &mapped, u.extract(&from).map(PLUS.bind(1)))?;
            let filled = reference::extract(&reference::or(&x, 8), &from);
            target.check("extract of what is filled", &filled, u.or(8).extract(&from))?;

            // indices from another vector, some of them absent or out of range
            let mut index: Dense<u32> = from.iter().copied().map(Some).collect();
            index.iter_mut().skip(1).step_by(5).for_each(|k| *k = None);
            index.iter_mut().skip(2).step_by(7).for_each(|k| *k = k.map(|k| k + n as u32));
            let (held, gathered) = (Vector::from_options(&index), reference::gather(&x, &index));
            target.check("gather", &gathered, u.gather(&held))?;
            let filled = reference::gather(&reference::or(&x, 8), &index);
            target.check("gather of what is filled", &filled, u.or(8).gather(&held))?;
            let mapped = reference::gather(&x, &reference::map(&index, PLUS.bind(1)));
            target.check("gather by a map", &mapped, u.gather(held.map(PLUS.bind(1))))?;

            // pointer jumping: the elements are indices
            let followed = reference::pointer_jump(&x, points_to);
            let target_of_all = Target::<u32>::new(&case.end, n);
            target_of_all.check("pointer_jump", &followed, u.pointer_jump(points_to))?;
            let filled = reference::or(&x, 8);
            target_of_all.check(
                "pointer_jump of filled",
                &reference::pointer_jump(&filled, points_to),
                u.or(8).pointer_jump(points_to),
            )?;
            let mapped = reference::map(&followed, PLUS.bind(1));
            target_of_all.check("map of pointer_jump", &mapped, u.pointer_jump(points_to).map(PLUS.bind(1)))?;
            let y = case.y.dense::<f32>(n);
            let followed = reference::pointer_jump(&y, rounded);
            Target::<f32>::new(&case.end, n).check(
                "pointer_jump of floats",
                &followed,
                case.y.vector(&y).pointer_jump(rounded),
            )?;

            let len = n + count;
            let to = places(case.seed, n, len);
            let (t, region) = (reference::scatter(&x, &to, len), reference::region(&to, len));
            let target = Target::<u32>::new(&case.end, len);
            target.check_region("scatter", &t, &region, u.scatter(&to, len))?;
            // within an operand, `scatter` is an ordinary vector and does not restrict what is written
            let other = case.y.dense::<u32>(len);
            let sum = reference::ewise_add(&t, &other, blend);
            target.check(
                "a union with a region",
                &sum,
                u.scatter(&to, len).ewise_add(&case.y.vector(&other), blend),
            )?;
            let to = places(case.seed, from.len(), len);
            let (t, region) = (reference::scatter(&picked, &to, len), reference::region(&to, len));
            target.check_region("scatter of extract", &t, &region, u.extract(&from).scatter(&to, len))?;
            // lists that may lie on a device: the elements of a vector, and the members of a set, or of all
            let (from, to) = (Vector::from_dense(from.clone()), Vector::from_dense(to));
            let target_of_list = Target::<u32>::new(&case.end, from.len());
            target_of_list.check("extract by a vector", &picked, u.extract(&from))?;
            target.check_region("scatter by a vector", &t, &region, u.extract(&from).scatter(&to, len))?;
            let some = from.iter().map(|(_, i)| i).collect::<std::collections::BTreeSet<_>>();
            for set in [Set::from_indices(n, some).expect("within"), Set::all(n)] {
                let members: Vec<u32> = set.indices().collect();
                let picked = reference::extract(&x, &members);
                let target_of_list = Target::<u32>::new(&case.end, members.len());
                target_of_list.check("extract by a set", &picked, u.extract(&set))?;
                let (t, region) = (reference::scatter(&picked, &members, n), reference::region(&members, n));
                target_of_all.check_region("scatter by a set", &t, &region, u.extract(&set).scatter(&set, n))?;
            }
            let part = reference::masked(&t, &reference::by_value(&other));
            target.check_region(
                "a masked region",
                &part,
                &reference::both(&region, &reference::by_value(&other)),
                u.extract(&from).scatter(&to, len).mask(case.y.vector(&other).values()),
            )
        })
    });
}

#[test]
fn updates() {
    suite("update", 1000, case(), |case| {
        let (n, mode) = (case.len, case.end.mode);
        let (w, x, m) = (case.x.dense::<u32>(n), case.y.dense::<u32>(n), case.end.mask.dense::<u32>(n));
        let (held, u, mask) = (case.x.vector(&w), case.y.vector(&x), case.end.mask.vector(&m));
        let sum = reference::ewise_add(&w, &x, blend);
        on_threads(case.end.threads, || {
            let mut v = held.clone();
            let expected = match mode.of(&mask) {
                None => {
                    ok(v.update(|w| w.ewise_add(&u, blend)))?;
                    sum.clone()
                }
                Some(mask) => {
                    ok(v.update(|w| w.ewise_add(&u, blend).mask(mask)))?;
                    reference::write(&w, &sum, &mode.selects(&m))
                }
            };
            agree("through a mask", &expected, &v)?;
            let mut v = held.clone();
            ok(v.update(|w| u.mask(w.values())))?;
            agree("masked by itself", &reference::write(&w, &x, &reference::by_value(&w)), &v)?;
            let mut v = held.clone();
            ok(v.update(|w| u.mask(!w)))?;
            agree("by its complement", &reference::write(&w, &x, &Mode::Complement.selects(&w)), &v)?;
            let (mut v, mut inner) = (held.clone(), u.clone());
            let nested = v.update(|w| {
                let misused = inner.update(|_| w.map(PLUS.bind(1)));
                assert_eq!(misused.unwrap_err().to_string(), "a state reference used outside its loop or update body");
                w.map(PLUS.bind(1))
            });
            ok(nested)?;
            same("the other vector", &u, &inner)?;
            agree("a nested update", &reference::map(&w, PLUS.bind(1)), &v)
        })
    });
}

/// Checks `reduce` of a vector, of a masked vector and of a union.
fn check_reduce<T: Sample, M: Monoid<T>>(name: &str, cases: u32, add: M) {
    let len = prop_oneof![6 => 0..70usize, 2 => 4060..4160usize, 2 => 0..9500usize];
    let strategy = (len, filled(), filled(), ending());
    suite(&format!("reduce by {name}"), cases, strategy, |(n, x, y, end)| {
        let (a, b) = (x.dense::<T>(n), y.dense::<T>(n));
        let (u, v) = (x.vector(&a), y.vector(&b));
        on_threads(end.threads, || {
            let found = ok(u.reduce(add))?;
            same("bare", reference::reduce(&a, add).bits(), found.bits())?;
            let part = reference::masked(&a, &reference::structural(&b));
            same("masked", reference::reduce(&part, add).bits(), ok(u.mask(&v).reduce(add))?.bits())?;
            let part = reference::masked(&a, &reference::complement(&reference::by_value(&b)));
            same("complement", reference::reduce(&part, add).bits(), ok(u.mask(!v.values()).reduce(add))?.bits())?;
            let union = reference::ewise_add(&a, &b, add);
            same("union", reference::reduce(&union, add).bits(), ok(u.ewise_add(&v, add).reduce(add))?.bits())
        })
    });
}

#[test]
fn reductions() {
    check_reduce::<u32, _>("PLUS of u32", 300, PLUS);
    check_reduce::<f32, _>("PLUS of f32", 500, PLUS);
    check_reduce::<f32, _>("MAX of f32", 300, MAX);
    check_reduce::<u32, _>("a fold that shows its tree", 300, Tangle);
    check_reduce::<u64, _>("ANY of u64", 300, ANY);
    check_reduce::<u16, _>("a monoid that doesn't commute", 300, Compose);
}
