//! A sparse vector.

use crate::backend::plan;
use crate::error::{Error, Result};
use crate::formats::bitmap::{Bitmap, ones};
use crate::formats::{MAX_VERTICES, Sparse, Store, StoreView, check_vertices};
use vxm_semiring::Element;

/// A vector of `len` places, each of which holds an element or nothing.
///
/// Stored dense, as a bitmap or as a sorted list, by fill; equality and [`digest`](Self::digest) see the elements only, by their
/// bits, so NaN equals itself.
///
/// ```
/// use vxm::prelude::*;
///
/// let v = Vector::from_pairs(5, [(3, 2.5f32), (1, 1.0)])?;
/// assert_eq!((v.len(), v.nvals()), (5, 2));
/// assert_eq!((v.get(3), v.get(0)), (Some(2.5), None));
/// # Ok::<(), vxm::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Vector<T: Element = ()> {
    store: Store<T>,
}

/// A set of indices: a vector that holds only a pattern. Masks, frontiers and independent sets are sets.
///
/// ```
/// use vxm::prelude::*;
///
/// let s = Set::from_indices(5, [4, 1])?;
/// assert!(s.contains(4) && !s.contains(0));
/// assert_eq!(s.indices().collect::<Vec<_>>(), [1, 4]);
/// # Ok::<(), vxm::Error>(())
/// ```
pub type Set = Vector<()>;

/// How a vector is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VectorFormat {
    /// A place for every index, all present.
    Dense,
    /// A place for every index, and a bit that says whether it is present.
    Bitmap,
    /// Sorted indices and values.
    Sparse,
}

impl<T: Element> Vector<T> {
    /// A vector of `len` places, none of which holds an element.
    ///
    /// # Panics
    /// There are more places than [`MAX_VERTICES`].
    #[track_caller]
    pub fn new(len: usize) -> Self {
        assert!(len <= MAX_VERTICES, "a vector of {len} places: expected at most {MAX_VERTICES}");
        Self { store: Store::Sparse(Sparse::new(len, Vec::new(), Vec::new())) }
    }

    /// A vector that holds `value` at every place.
    pub fn full(len: usize, value: T) -> Self {
        Self::from_dense(vec![value; len])
    }

    /// A vector that holds `values`, one a place.
    pub fn from_dense(values: Vec<T>) -> Self {
        Self { store: Store::Bitmap(Bitmap::dense(values)) }
    }

    /// A vector that holds `value` at each index, from pairs in any order.
    ///
    /// # Errors
    /// An index is `len` or more, or stands twice; there are too many places to number.
    pub fn from_pairs(len: usize, pairs: impl IntoIterator<Item = (u32, T)>) -> Result<Self> {
        check_vertices("Vector", len)?;
        let mut pairs: Vec<(u32, T)> = pairs.into_iter().collect();
        pairs.sort_by_key(|&(i, _)| i);
        if let Some(&(i, _)) = pairs.last()
            && i as usize >= len
        {
            return Err(Error::Invalid { what: format!("index {i} in a vector of {len} places") });
        }
        if let Some(twice) = pairs.windows(2).find(|w| w[0].0 == w[1].0) {
            return Err(Error::Invalid { what: format!("index {} stands twice in a vector", twice[0].0) });
        }
        let (indices, values) = pairs.into_iter().unzip();
        Ok(Self::of(Store::Sparse(Sparse::new(len, indices, values))))
    }

    /// A vector of `values`, `None` where nothing is held.
    pub fn from_options(values: &[Option<T>]) -> Self {
        let pairs = values.iter().enumerate().filter_map(|(i, v)| v.map(|v| (i as u32, v)));
        let (indices, held) = pairs.unzip();
        Self::of(Store::Sparse(Sparse::new(values.len(), indices, held)))
    }

    /// Wraps storage, in the format its fill asks for.
    pub(crate) fn of(store: Store<T>) -> Self {
        let sparse = plan::is_sparse(store.nvals(), store.len());
        let store = match store {
            Store::Sparse(s) if !sparse => Store::Bitmap(Store::Sparse(s).into_bitmap()),
            Store::Bitmap(b) if sparse => Store::Sparse(Store::Bitmap(b).into_sparse()),
            fitting => fitting,
        };
        Self { store }
    }

    /// The number of places.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Whether the vector has no places.
    pub fn is_empty(&self) -> bool {
        self.store.is_empty()
    }

    /// The number of elements.
    pub fn nvals(&self) -> usize {
        self.store.nvals()
    }

    /// The element at `i`; `None` where there is none, or no such place.
    pub fn get(&self, i: u32) -> Option<T> {
        if i as usize >= self.len() { None } else { self.store.get(i as usize) }
    }

    /// Whether place `i` holds an element.
    pub fn contains(&self, i: u32) -> bool {
        self.get(i).is_some()
    }

    /// The elements and their indices, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, T)> + '_ {
        let (list, values, bits) = match &self.store {
            Store::Sparse(s) => (Some(s.indices()), s.values(), None),
            Store::Bitmap(b) => (None, b.values(), b.bits()),
        };
        let listed = list.into_iter().flatten().copied().zip(values.iter().copied());
        let dense = if list.is_none() && bits.is_none() { values.len() } else { 0 };
        let held = bits.into_iter().flat_map(|bits| ones(bits, 0));
        listed.chain((0..dense).chain(held).map(|i| (i as u32, values[i])))
    }

    /// The indices of the elements, ascending.
    pub fn indices(&self) -> impl Iterator<Item = u32> + '_ {
        self.iter().map(|(i, _)| i)
    }

    /// All places, `absent` where nothing is held.
    pub fn to_dense(&self, absent: T) -> Vec<T> {
        let mut dense = vec![absent; self.len()];
        self.iter().for_each(|(i, value)| dense[i as usize] = value);
        dense
    }

    /// Writes `value` at `i`.
    ///
    /// # Errors
    /// There is no such place.
    pub fn set(&mut self, i: u32, value: T) -> Result<()> {
        self.put(i, Some(value))
    }

    /// Removes the element at `i`, if there is one.
    ///
    /// # Errors
    /// There is no such place.
    pub fn remove(&mut self, i: u32) -> Result<()> {
        self.put(i, None)
    }

    fn put(&mut self, i: u32, value: Option<T>) -> Result<()> {
        if i as usize >= self.len() {
            return Err(Error::Invalid { what: format!("index {i} in a vector of {} places", self.len()) });
        }
        self.patch(&[i], &[value]);
        Ok(())
    }

    /// Writes or removes at strictly ascending indices; the format follows the fill, with a margin so that it doesn't flip.
    pub(crate) fn patch(&mut self, indices: &[u32], values: &[Option<T>]) {
        self.store.patch(indices, values);
        let (nvals, n) = (self.nvals(), self.len());
        let flip = match &self.store {
            Store::Sparse(_) => !plan::is_sparse(nvals / 2, n),
            Store::Bitmap(_) => plan::is_sparse(nvals * 2, n),
        };
        if flip {
            *self = Self::of(core::mem::take(&mut self.store));
        }
    }

    /// How the vector is stored now.
    pub fn format(&self) -> VectorFormat {
        match &self.store {
            Store::Sparse(_) => VectorFormat::Sparse,
            Store::Bitmap(b) if b.bits().is_none() => VectorFormat::Dense,
            Store::Bitmap(_) => VectorFormat::Bitmap,
        }
    }

    /// The same vector stored as asked; `Dense` is a bitmap where places are absent. For tests and benches.
    pub fn with_format(self, format: VectorFormat) -> Self {
        let store = match format {
            VectorFormat::Sparse => Store::Sparse(self.store.into_sparse()),
            VectorFormat::Dense | VectorFormat::Bitmap => Store::Bitmap(self.store.into_bitmap()),
        };
        Self { store }
    }

    /// A number that is equal for equal vectors, on every device and for every format: FNV-1a of the length, the indices and the
    /// elements' bits.
    pub fn digest(&self) -> u64 {
        let step = |hash: u64, word: u64| {
            word.to_le_bytes().iter().fold(hash, |h, &byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
        };
        let start = step(0xcbf2_9ce4_8422_2325, self.len() as u64);
        self.iter().fold(start, |hash, (i, value)| step(step(hash, u64::from(i)), value.bits()))
    }

    pub(crate) fn view(&self) -> StoreView<'_, T> {
        self.store.view()
    }
}

impl Set {
    /// The set of `indices`, in any order, each as often as it likes.
    ///
    /// # Errors
    /// An index is `len` or more.
    pub fn from_indices(len: usize, indices: impl IntoIterator<Item = u32>) -> Result<Self> {
        let mut indices: Vec<u32> = indices.into_iter().collect();
        indices.sort_unstable();
        indices.dedup();
        Self::from_pairs(len, indices.into_iter().map(|i| (i, ())))
    }

    /// The set of all indices below `len`.
    pub fn all(len: usize) -> Self {
        Self::full(len, ())
    }
}

impl<T: Element> PartialEq for Vector<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.nvals() == other.nvals()
            && self.iter().zip(other.iter()).all(|((i, x), (j, y))| i == j && x.bits() == y.bits())
    }
}
