//! Storage of a vector: one slot per index, or a sorted list. The container chooses by the fraction of elements
//! present.

use crate::formats::bitmap::{Bitmap, bit, places, words};
use crate::formats::sparse::Sparse;
use vxm_semiring::Element;

/// Storage of a vector, in one of two formats.
#[derive(Debug, Clone)]
pub enum Store<T> {
    /// One slot per index, with presence bits unless all elements are present.
    Bitmap(Bitmap<T>),
    /// Sorted indices and their values.
    Sparse(Sparse<T>),
}

impl<T: Element> Default for Store<T> {
    /// A vector of length 0.
    fn default() -> Self {
        Self::Sparse(Sparse::new(0, Vec::new(), Vec::new()))
    }
}

impl<T: Element> Store<T> {
    /// The vector's length.
    pub fn len(&self) -> usize {
        match self {
            Self::Bitmap(b) => b.len(),
            Self::Sparse(s) => s.len(),
        }
    }

    /// Whether the vector has length 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements.
    pub fn nvals(&self) -> usize {
        match self {
            Self::Bitmap(b) => b.nvals(),
            Self::Sparse(s) => s.nvals(),
        }
    }

    /// The element at `i`; `None` if it is absent.
    pub fn get(&self, i: usize) -> Option<T> {
        match self {
            Self::Bitmap(b) => b.get(i),
            Self::Sparse(s) => s.get(i),
        }
    }

    /// A borrowed view for kernels.
    pub fn view(&self) -> StoreView<'_, T> {
        match self {
            Self::Bitmap(b) => match b.bits() {
                None => StoreView::Dense(b.values()),
                Some(bits) => StoreView::Bitmap(b.values(), bits),
            },
            Self::Sparse(s) => StoreView::Sparse(s.indices(), s.values()),
        }
    }

    /// For each `k`, writes `patch[k]` at `indices[k]`, or removes the element there if it is `None`. The indices must
    /// strictly ascend.
    pub fn patch(&mut self, indices: &[u32], patch: &[Option<T>]) {
        match self {
            Self::Bitmap(b) => {
                for (&i, &value) in indices.iter().zip(patch) {
                    b.put(i as usize, value);
                }
            }
            Self::Sparse(s) => s.patch(indices, patch),
        }
    }

    /// Converts to one slot per index.
    #[inline(never)]
    pub fn into_bitmap(self) -> Bitmap<T> {
        match self {
            Self::Bitmap(b) => b,
            Self::Sparse(s) => {
                let mut values = vec![T::ZERO; s.len()];
                let mut bits = vec![0u64; words(s.len())];
                for (&i, &value) in s.indices().iter().zip(s.values()) {
                    values[i as usize] = value;
                    bits[i as usize / 64] |= 1 << (i % 64);
                }
                Bitmap::new(values, bits)
            }
        }
    }

    /// Converts to sorted indices and values.
    #[inline(never)]
    pub fn into_sparse(self) -> Sparse<T> {
        match self {
            Self::Sparse(s) => s,
            Self::Bitmap(b) => {
                let n = b.len();
                let indices: Vec<u32> = match b.bits() {
                    None => (0..n as u32).collect(),
                    Some(bits) => places(bits),
                };
                let values = indices.iter().map(|&i| b.values()[i as usize]).collect();
                Sparse::new(n, indices, values)
            }
        }
    }
}

/// A borrowed vector. Its format is a run-time value that loops match on once.
#[derive(Debug, Clone, Copy)]
pub enum StoreView<'a, T> {
    /// Values of all indices; every element is present.
    Dense(&'a [T]),
    /// Values of all indices, and the presence bits.
    Bitmap(&'a [T], &'a [u64]),
    /// Ascending indices, and their values.
    Sparse(&'a [u32], &'a [T]),
}

impl<T: Element> StoreView<'_, T> {
    /// The element at `i`; `None` if it is absent.
    #[inline(always)]
    pub fn get(&self, i: usize) -> Option<T> {
        match self {
            Self::Dense(values) => Some(values[i]),
            Self::Bitmap(values, bits) => bit(bits, i).then(|| values[i]),
            Self::Sparse(indices, values) => indices.binary_search(&(i as u32)).ok().map(|k| values[k]),
        }
    }
}
