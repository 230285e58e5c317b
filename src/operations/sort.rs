//! Ranking a vector's elements.

use crate::containers::Vector;
use crate::formats::{Sparse, Store};
use rayon::prelude::*;
use vxm_semiring::Element;

impl<T: Element + Ord> Vector<T> {
    /// Each element's place in ascending order, from 0; equal elements rank by index. What makes priorities distinct.
    ///
    /// O(nvals log nvals) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let v = Vector::from_pairs(4, [(0, 7u64), (2, 3), (3, 7)])?;
    /// assert_eq!(v.rank(), Vector::from_pairs(4, [(0, 1), (2, 0), (3, 2)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn rank(&self) -> Vector<u32> {
        let (indices, values): (Vec<u32>, Vec<T>) = self.iter().unzip();
        let mut order: Vec<(T, u32)> = values.into_iter().zip(0..).collect();
        order.par_sort_unstable();
        let mut ranks = vec![0u32; indices.len()];
        for (rank, &(_, k)) in (0..).zip(&order) {
            ranks[k as usize] = rank;
        }
        Vector::of(Store::Sparse(Sparse::new(self.len(), indices, ranks)))
    }
}
