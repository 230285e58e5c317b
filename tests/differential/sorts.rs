//! Ranks, compared with the definition and with a comparison sort. Elements may have any bits, and sizes span many tiles of the sort.

use crate::algebra::{Sample, mix};
use crate::harness::{agree, ok, suite};
use crate::shapes::filled;
use half::f16;
use proptest::prelude::*;
use proptest::sample::select;
use std::cmp::Ordering;
use vxm::containers::VectorFormat;
use vxm::operations::sort::Ordered;
use vxm::prelude::*;

#[test]
fn ranks() {
    suite("rank", 500, (0..300usize, filled()), |(n, filled)| {
        let dense = filled.dense::<u32>(n);
        let rank = |i: usize, x: u32| {
            let before = |(j, y): (usize, &Option<u32>)| y.is_some_and(|y| (y, j) < (x, i));
            dense.iter().enumerate().filter(|&pair| before(pair)).count() as u32
        };
        let expected: Vec<_> = dense.iter().enumerate().map(|(i, x)| x.map(|x| rank(i, x))).collect();
        agree("rank", &expected, &ok(filled.vector(&dense).rank())?)
    });
}

/// Compares ranks with a comparison sort by `order`, for elements of any bits or of few different values.
fn check<T: Sample + Ordered>(name: &str, order: impl Fn(T, T) -> Ordering) {
    let len = prop_oneof![4 => 0..70usize, 3 => 2030..2070usize, 3 => 0..9000usize];
    // the bits that may be set: none, some, all
    let bits = select(vec![0, 0xff, 0xf000, 0x8000_0000, 0xff00_0000_0000_0000, u64::MAX, u64::MAX]);
    let fill = prop_oneof![Just(0), Just(20), 0..1000u64, Just(1000), Just(1000)];
    let format = select(vec![VectorFormat::Dense, VectorFormat::Bitmap, VectorFormat::Sparse]);
    suite(
        &format!("rank of {name}"),
        150,
        (len, bits, fill, 0..1u64 << 16, format),
        |(n, bits, fill, seed, format)| {
            let element = |i: u64| {
                let (there, word) = (mix(seed ^ i << 20), mix(seed << 32 ^ i));
                (there % 1000 < fill).then(|| {
                    if there >> 40 & 3 == 0 { T::sample(word) } else { T::from_wide_bits((word & bits).into()) }
                })
            };
            let dense: Vec<Option<T>> = (0..n as u64).map(element).collect();
            let mut places: Vec<(usize, T)> = dense.iter().enumerate().filter_map(|(i, x)| x.map(|x| (i, x))).collect();
            places.sort_by(|&(_, x), &(_, y)| order(x, y));
            let mut expected = vec![None; n];
            for (rank, (i, _)) in (0..).zip(places) {
                expected[i] = Some(rank);
            }
            agree("rank", &expected, &ok(Vector::from_options(&dense).with_format(format).rank())?)
        },
    );
}

/// The order of floats: `-0.0` before `0.0`, NaN last, and all NaNs equal.
macro_rules! floats {
    () => {
        |x, y| if x.is_nan() || y.is_nan() { x.is_nan().cmp(&y.is_nan()) } else { x.total_cmp(&y) }
    };
}

#[test]
fn ranks_of_every_type() {
    check::<bool>("bool", |x, y| x.cmp(&y));
    check::<u8>("u8", |x, y| x.cmp(&y));
    check::<u16>("u16", |x, y| x.cmp(&y));
    check::<u32>("u32", |x, y| x.cmp(&y));
    check::<u64>("u64", |x, y| x.cmp(&y));
    check::<i32>("i32", |x, y| x.cmp(&y));
    check::<i64>("i64", |x, y| x.cmp(&y));
    check::<f16>("f16", floats!());
    check::<f32>("f32", floats!());
    check::<f64>("f64", floats!());
}
