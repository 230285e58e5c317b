//! Ranks of a vector's elements.

use crate::backend::{cpu, cuda, current};
use crate::containers::Vector;
use crate::error::Result;
use crate::formats::{Sparse, Store};
use half::{bf16, f16};
use vxm_semiring::Element;

/// An element with a total order, given as an unsigned key. [`rank`](Vector::rank) sorts by that key.
pub trait Ordered: Element {
    /// The CUDA C++ type with a static function `key` that makes keys of elements.
    const CUDA_ORDER: &'static str;
    /// A number that orders as the element does. Floats order from -inf over -0 and 0 to inf; NaN, which has one bit
    /// pattern, comes last.
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
                // devices differ in the sign of the NaN they return; `bits` gives all NaN one pattern
                let bits = Element::bits(self) as $bits;
                // a negative float has all bits flipped, so that larger magnitudes come first; a positive one is put
                // above all negative ones
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
    /// The rank of each element: its position in ascending order, from 0. Elements that are equal rank by index, so
    /// ranks are distinct. That makes priorities distinct.
    ///
    /// It is a radix sort, in O(nvals) time a pass. There is a pass for each 11 bits in which elements differ; on a
    /// GPU, for each 8 bits.
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
        if let Some(grid) = self.grid() {
            // every rank ranks the whole vector: 16 bytes a vertex there, for a moment
            let (whole, n) = (self.to_all()?, self.len());
            grid.work(0, n * n.max(1).ilog2() as usize);
            return whole.ranked()?.to_grid(grid);
        }
        self.ranked()
    }

    /// The ranks of a vector that isn't spread over ranks of a grid.
    fn ranked(&self) -> Result<Vector<u32>> {
        if let Some(gpu) = self.gpu().cloned().or_else(current) {
            return Ok(Vector::on_device(cuda::sort::rank(&self.on(&gpu)?, T::CUDA_ORDER)?));
        }
        let mut keyed: Vec<(u64, u32)> = self.iter().zip(0..).map(|((_, value), k)| (value.key(), k)).collect();
        cpu::sort::radix(&mut keyed);
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
