//! Storage of a vector as a sorted list of its elements.

use vxm_semiring::Element;

/// The present elements of a vector, as sorted indices and their values.
///
/// Invariants: `indices` is strictly ascending and below the vector's length. `values[k]` is the element at
/// `indices[k]`.
#[derive(Debug, Clone)]
pub struct Sparse<T> {
    len: usize,
    indices: Vec<u32>,
    values: Vec<T>,
}

impl<T: Element> Sparse<T> {
    /// Builds the storage of a vector of length `len` from strictly ascending indices and their values.
    pub fn new(len: usize, indices: Vec<u32>, values: Vec<T>) -> Self {
        debug_assert_eq!(indices.len(), values.len());
        debug_assert!(indices.windows(2).all(|w| w[0] < w[1]));
        debug_assert!(indices.last().is_none_or(|&i| (i as usize) < len));
        Self { len, indices, values }
    }

    /// The vector's length.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the vector has length 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of elements.
    pub fn nvals(&self) -> usize {
        self.indices.len()
    }

    /// The indices of the elements, ascending.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The elements, in the order of their indices.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The element at `i`, by binary search; `None` if it is absent.
    pub fn get(&self, i: usize) -> Option<T> {
        let i = u32::try_from(i).ok()?;
        self.indices.binary_search(&i).ok().map(|k| self.values[k])
    }

    /// For each `k`, writes `patch[k]` at `indices[k]`, or removes the element there if it is `None`. The indices must
    /// strictly ascend. O(nvals + patch) time.
    pub fn patch(&mut self, indices: &[u32], patch: &[Option<T>]) {
        let old = core::mem::replace(self, Self::new(self.len, Vec::new(), Vec::new()));
        let room = old.nvals() + indices.len();
        self.indices.reserve(room);
        self.values.reserve(room);
        let mut put = |i: u32, value: T| {
            self.indices.push(i);
            self.values.push(value);
        };
        let mut k = 0;
        for (&i, &value) in indices.iter().zip(patch) {
            while k < old.indices.len() && old.indices[k] < i {
                put(old.indices[k], old.values[k]);
                k += 1;
            }
            if k < old.indices.len() && old.indices[k] == i {
                k += 1;
            }
            if let Some(value) = value {
                put(i, value);
            }
        }
        for k in k..old.indices.len() {
            put(old.indices[k], old.values[k]);
        }
    }
}
