//! Ranking a vector's elements.

use crate::backend::{cuda, current};
use crate::containers::Vector;
use crate::error::Result;
use crate::formats::{Sparse, Store};
use half::{bf16, f16};
use rayon::prelude::*;
use vxm_semiring::Element;

/// An element with a total order, as an unsigned key: what [`rank`](Vector::rank) sorts by.
pub trait Ordered: Element {
    /// What makes keys of elements in CUDA C++: a type with a static `key`.
    const CUDA_ORDER: &'static str;
    /// A number that orders as the element does. Floats order from -inf, .., -0, 0, .., to inf and NaN, which is one value.
    fn key(self) -> u64;
}

macro_rules! ordered {
    (unsigned: $($u:ty),*; signed: $($i:ty),*; floats: $($f:ty as $bits:ty),*;) => {
        $(impl Ordered for $u {
            const CUDA_ORDER: &'static str = "vxm::Unsigned";
            fn key(self) -> u64 {
                u64::from(self)
            }
        })*
        $(impl Ordered for $i {
            const CUDA_ORDER: &'static str = "vxm::Signed";
            fn key(self) -> u64 {
                (i64::from(self) as u64) ^ (1 << 63)
            }
        })*
        $(impl Ordered for $f {
            const CUDA_ORDER: &'static str = "vxm::Floating";
            fn key(self) -> u64 {
                // processors differ in the sign of the NaN they return
                let bits = Element::bits(self) as $bits;
                // negative: all bits flip, so that the larger magnitude comes first; positive: above all negatives
                let sign = 1 << (<$bits>::BITS - 1);
                u64::from(if bits & sign != 0 { !bits } else { bits | sign })
            }
        })*
    };
}
ordered! {
    unsigned: bool, u8, u16, u32, u64;
    signed: i8, i16, i32, i64;
    floats: f16 as u16, bf16 as u16, f32 as u32, f64 as u64;
}

impl<T: Ordered> Vector<T> {
    /// Each element's place in ascending order, from 0; equal elements rank by index. What makes priorities distinct.
    ///
    /// A radix sort, on a device too: O(nvals) time, a pass for each 11 bits in which elements differ (8 on a device).
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let v = Vector::from_pairs(4, [(0, 7u64), (2, 3), (3, 7)])?;
    /// assert_eq!(v.rank()?, Vector::from_pairs(4, [(0, 1), (2, 0), (3, 2)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn rank(&self) -> Result<Vector<u32>> {
        if let Some(gpu) = self.gpu().cloned().or_else(current) {
            return Ok(Vector::on_device(cuda::sort::rank(&self.on(&gpu)?, T::CUDA_ORDER)?));
        }
        let mut keyed: Vec<(u64, u32)> = self.iter().zip(0..).map(|((_, value), k)| (value.key(), k)).collect();
        radix_sort(&mut keyed);
        let mut ranks = vec![0u32; keyed.len()];
        for (rank, &(_, k)) in (0..).zip(&keyed) {
            ranks[k as usize] = rank;
        }
        if self.nvals() == self.len() {
            return Ok(Vector::from_dense(ranks));
        }
        Ok(Vector::of(Store::Sparse(Sparse::new(self.len(), self.indices().collect(), ranks))))
    }
}

/// Bits a pass sorts by.
const DIGIT: u32 = 11;

/// Sorts by key, stably, least digit first; digits that no keys differ in are passed over.
fn radix_sort(items: &mut Vec<(u64, u32)>) {
    if items.len() < 1 << DIGIT {
        items.sort_unstable();
        return;
    }
    let (all, any) =
        items.par_iter().map(|&(key, _)| (key, key)).reduce(|| (u64::MAX, 0), |(all, any), (x, y)| (all & x, any | y));
    let differing = all ^ any;
    let mut spare = vec![(0, 0); items.len()];
    for shift in (0..u64::BITS).step_by(DIGIT as usize) {
        if differing >> shift & ((1 << DIGIT) - 1) != 0 {
            pass(items, &mut spare, shift);
            std::mem::swap(items, &mut spare);
        }
    }
}

/// One stable pass: each thread counts its chunk's digits, and then owns a slice of every digit's range to deal into.
fn pass(items: &[(u64, u32)], out: &mut [(u64, u32)], shift: u32) {
    let digit = |key: u64| (key >> shift) as usize & ((1 << DIGIT) - 1);
    let chunk = items.len().div_ceil(rayon::current_num_threads());
    let counts: Vec<Vec<usize>> = items
        .par_chunks(chunk)
        .map(|chunk| {
            let mut counts = vec![0; 1 << DIGIT];
            chunk.iter().for_each(|&(key, _)| counts[digit(key)] += 1);
            counts
        })
        .collect();
    let mut hands: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(1 << DIGIT)).collect();
    let mut rest = out;
    for d in 0..1 << DIGIT {
        for (hand, counts) in hands.iter_mut().zip(&counts) {
            let (slice, tail) = rest.split_at_mut(counts[d]);
            hand.push(slice.iter_mut());
            rest = tail;
        }
    }
    items.par_chunks(chunk).zip(hands).for_each(|(chunk, mut hand)| {
        for &item in chunk {
            if let Some(place) = hand[digit(item.0)].next() {
                *place = item;
            }
        }
    });
}
