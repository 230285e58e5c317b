//! The values that laws are checked with.

use half::{bf16, f16};
use proptest::prelude::any;
use proptest::prop_oneof;
use proptest::sample::select;
use proptest::strategy::{BoxedStrategy, Just, Strategy};

use crate::Element;

/// An element type that laws can be checked with: its extreme values, and a generator of any value.
pub trait Sample: Element {
    /// The values most likely to break a law, simple ones first. All combinations of them are tried.
    fn extremes() -> Vec<Self>;
    /// A strategy that generates any value and shrinks to simpler ones.
    fn strategy() -> BoxedStrategy<Self>;
}

impl Sample for () {
    fn extremes() -> Vec<Self> {
        vec![()]
    }
    fn strategy() -> BoxedStrategy<Self> {
        Just(()).boxed()
    }
}

impl Sample for bool {
    fn extremes() -> Vec<Self> {
        vec![false, true]
    }
    fn strategy() -> BoxedStrategy<Self> {
        any::<bool>().boxed()
    }
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Sample for $t {
            fn extremes() -> Vec<Self> {
                let (min, max) = (<$t>::MIN, <$t>::MAX);
                let mut values = vec![0, 1, 2, 3, max, max - 1, max / 2, max / 2 + 1, min, min + 1, min / 2];
                values.push((0 as $t).wrapping_sub(1));
                values
            }
            fn strategy() -> BoxedStrategy<Self> {
                prop_oneof![1 => select(Self::extremes()), 1 => 0..16 as $t, 2 => any::<$t>()].boxed()
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

/// Implements [`Sample`] for float types: for each, a constructor from `f32` and a strategy for any value.
macro_rules! floats {
    ($($t:ident, $number:expr, $any:expr;)*) => {$(
        impl Sample for $t {
            fn extremes() -> Vec<Self> {
                let number = $number;
                let plain = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 0.1];
                let mut values: Vec<$t> = plain.into_iter().map(number).collect();
                values.extend([$t::MAX, $t::MIN, $t::MIN_POSITIVE, $t::from_bits(1), $t::EPSILON]);
                values.extend([$t::INFINITY, $t::NEG_INFINITY, $t::NAN]);
                values
            }
            fn strategy() -> BoxedStrategy<Self> {
                let small = (-8i8..8).prop_map(|n| $number(f32::from(n)));
                prop_oneof![1 => select(Self::extremes()), 1 => small, 2 => $any].boxed()
            }
        }
    )*};
}
floats! {
    f16, f16::from_f32, any::<u16>().prop_map(f16::from_bits);
    bf16, bf16::from_f32, any::<u16>().prop_map(bf16::from_bits);
    f32, core::convert::identity::<f32>, proptest::num::f32::ANY;
    f64, f64::from, proptest::num::f64::ANY;
}

/// About as many values as one struct has in [`Sample::extremes`]: laws try all triples of them.
const STRUCTS: f64 = 30.0;

/// The structs `all` with extreme values in one more field, which `set` sets, of `fields` fields. The values are evenly spaced among all
/// extremes. Each struct gets each of them, or one if the structs would be too many.
#[doc(hidden)]
pub fn with_field<S: Copy, T: Sample>(all: &[S], fields: usize, set: impl Fn(&mut S, T)) -> Vec<S> {
    let extremes = T::extremes();
    let count = (STRUCTS.powf(1.0 / fields as f64) as usize).clamp(2, extremes.len());
    let spaced = |at: usize| extremes[at * (extremes.len() - 1) / (count - 1)];
    let with = |at: usize, of: &S| {
        let mut next = *of;
        set(&mut next, spaced(at % count));
        next
    };
    if all.len() * count > 2 * STRUCTS as usize {
        // neighbours differ in the other fields already
        return all.iter().enumerate().map(|(k, of)| with(k / 2 + k, of)).collect();
    }
    all.iter().flat_map(|of| (0..count).map(move |at| with(at, of))).collect()
}

/// Implements [`Sample`] for a struct that `#[scalar]` makes an element.
#[doc(hidden)]
#[macro_export]
macro_rules! __sample {
    ($name:ident { $($field:ident $local:ident $t:ty),* }) => {
        impl $crate::laws::Sample for $name {
            fn extremes() -> ::std::vec::Vec<Self> {
                let fields = [$(stringify!($field)),*].len();
                let mut all = ::std::vec![<Self as $crate::Element>::ZERO];
                $(
                    all = $crate::laws::with_field(&all, fields, |so_far, $local: $t| so_far.$field = $local);
                )*
                all
            }
            fn strategy() -> $crate::laws::BoxedStrategy<Self> {
                let all = $crate::laws::Strategy::boxed($crate::laws::Just(<Self as $crate::Element>::ZERO));
                $(
                    let fields = (all, <$t as $crate::laws::Sample>::strategy());
                    let set = |(mut all, $local): (Self, $t)| { all.$field = $local; all };
                    let all = $crate::laws::Strategy::boxed($crate::laws::Strategy::prop_map(fields, set));
                )*
                all
            }
        }
    };
}
