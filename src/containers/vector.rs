//! A sparse vector.

use crate::backend::cuda::{DeviceVector, Gpu};
use crate::backend::{Device, plan};
use crate::error::{Error, Result};
use crate::formats::bitmap::{Bitmap, ones};
use crate::formats::{MAX_VERTICES, Sparse, Store, StoreView, check_vertices};
use std::sync::OnceLock;
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
    home: Home<T>,
}

/// Where a vector lies; beside it the copy that was last read elsewhere.
#[derive(Debug, Clone)]
enum Home<T: Element> {
    Host(Store<T>, OnceLock<DeviceVector<T>>),
    Device(DeviceVector<T>, OnceLock<Store<T>>),
}

impl<T: Element> Default for Home<T> {
    fn default() -> Self {
        Self::Host(Store::default(), OnceLock::new())
    }
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
        Self::held(Store::Sparse(Sparse::new(len, Vec::new(), Vec::new())))
    }

    /// A vector that holds `value` at every place.
    pub fn full(len: usize, value: T) -> Self {
        Self::from_dense(vec![value; len])
    }

    /// A vector that holds `values`, one a place.
    pub fn from_dense(values: Vec<T>) -> Self {
        Self::held(Store::Bitmap(Bitmap::dense(values)))
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
        Self::held(store)
    }

    fn held(store: Store<T>) -> Self {
        Self { home: Home::Host(store, OnceLock::new()) }
    }

    /// A vector on a device.
    pub(crate) fn on_device(vector: DeviceVector<T>) -> Self {
        Self { home: Home::Device(vector, OnceLock::new()) }
    }

    /// The device that the vector lies on.
    pub fn device(&self) -> Device {
        self.gpu().map_or(Device::Cpu, |gpu| Device::Cuda(gpu.ordinal()))
    }

    /// The same vector on another device. Where it is there already, storage is shared.
    ///
    /// # Errors
    /// There is no such device, it has too little memory, or it is lost.
    pub fn to(&self, device: Device) -> Result<Self> {
        match device.gpu()? {
            Some(gpu) => Ok(Self::on_device(self.on(&gpu)?.clone())),
            None => match &self.home {
                Home::Host(..) => Ok(self.clone()),
                Home::Device(vector, _) => Ok(Self::of(vector.download()?)),
            },
        }
    }

    pub(crate) fn gpu(&self) -> Option<&Gpu> {
        match &self.home {
            Home::Host(..) => None,
            Home::Device(vector, _) => Some(vector.gpu()),
        }
    }

    /// The vector on `gpu`: its home, or a copy that is kept.
    pub(crate) fn on(&self, gpu: &Gpu) -> Result<DeviceVector<T>> {
        match &self.home {
            Home::Device(vector, _) if vector.gpu() == gpu => Ok(vector.clone()),
            Home::Device(vector, _) => DeviceVector::upload(gpu, &vector.download()?),
            Home::Host(store, copy) => {
                if let Some(copy) = copy.get().filter(|copy| copy.gpu() == gpu) {
                    return Ok(copy.clone());
                }
                let vector = DeviceVector::upload(gpu, store)?;
                Ok(copy.get_or_init(|| vector.clone()).clone())
                    .map(|kept| if kept.gpu() == gpu { kept } else { vector })
            }
        }
    }

    /// Moves the vector to `gpu`, to be written there.
    pub(crate) fn on_mut(&mut self, gpu: &Gpu) -> Result<&mut DeviceVector<T>> {
        let vector = self.on(gpu)?;
        self.home = Home::Device(vector, OnceLock::new());
        match &mut self.home {
            Home::Device(vector, _) => Ok(vector),
            Home::Host(..) => Err(Error::Invalid { what: "a vector that was just moved to a device".to_owned() }),
        }
    }

    /// The vector on the host: its home, or a copy that is kept.
    ///
    /// # Panics
    /// The device is lost: what was computed there can't be read any more.
    fn store(&self) -> &Store<T> {
        match &self.home {
            Home::Host(store, _) => store,
            Home::Device(vector, copy) => copy.get_or_init(|| match vector.download() {
                Ok(store) => Self::of(store).into_store(),
                Err(error) => panic!("a vector on {}: {error}", self.device()),
            }),
        }
    }

    fn into_store(self) -> Store<T> {
        match self.home {
            Home::Host(store, _) => store,
            Home::Device(..) => self.store().clone(),
        }
    }

    /// Moves the vector to the host, to be written there.
    fn store_mut(&mut self) -> &mut Store<T> {
        if let Home::Device(..) = self.home {
            *self = Self::held(self.store().clone());
        }
        if let Home::Host(_, copy) = &mut self.home {
            *copy = OnceLock::new();
        }
        match &mut self.home {
            Home::Host(store, _) => store,
            Home::Device(..) => unreachable!("it was moved"),
        }
    }

    /// The number of places.
    pub fn len(&self) -> usize {
        match &self.home {
            Home::Host(store, _) => store.len(),
            Home::Device(vector, _) => vector.len(),
        }
    }

    /// Whether the vector has no places.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements.
    ///
    /// # Panics
    /// The vector lies on a device that is lost.
    pub fn nvals(&self) -> usize {
        match &self.home {
            Home::Host(store, _) => store.nvals(),
            Home::Device(vector, _) => match vector.nvals() {
                Ok(count) => count,
                Err(error) => panic!("a vector on {}: {error}", self.device()),
            },
        }
    }

    /// The number of elements where telling it takes no work of a device.
    pub(crate) fn known_count(&self) -> Option<usize> {
        match &self.home {
            Home::Host(store, _) => Some(store.nvals()),
            Home::Device(vector, _) => vector.known_count(),
        }
    }

    /// The element at `i`; `None` where there is none, or no such place.
    pub fn get(&self, i: u32) -> Option<T> {
        if i as usize >= self.len() { None } else { self.store().get(i as usize) }
    }

    /// Whether place `i` holds an element.
    pub fn contains(&self, i: u32) -> bool {
        self.get(i).is_some()
    }

    /// The elements and their indices, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, T)> + '_ {
        let (list, values, bits) = match self.store() {
            Store::Sparse(s) => (Some(s.indices()), s.values(), None),
            Store::Bitmap(b) => (None, b.values(), b.bits()),
        };
        let listed = list.into_iter().flatten().copied().zip(values.iter().copied());
        let dense = if list.is_none() && bits.is_none() { values.len() } else { 0 };
        let held = bits.into_iter().flat_map(|bits| ones(bits, 0));
        listed.chain((0..dense).chain(held).map(|i| (i as u32, values[i])))
    }

    /// The indices of the elements, ascending. Of few on a device no more than a list of them is copied.
    pub fn indices(&self) -> impl Iterator<Item = u32> + '_ {
        let listed = match &self.home {
            Home::Device(vector, copy) if copy.get().is_none() => {
                let all = self.len() / 8 + self.len() * size_of::<T>();
                let few = vector.known_count().is_some_and(|count| 4 * count < all);
                few.then(|| vector.indices().ok()).flatten()
            }
            _ => None,
        };
        let held = listed.is_none().then(|| self.iter().map(|(i, _)| i));
        listed.into_iter().flatten().chain(held.into_iter().flatten())
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
        self.store_mut().patch(indices, values);
        let (nvals, n) = (self.nvals(), self.len());
        let flip = match self.store() {
            Store::Sparse(_) => !plan::is_sparse(nvals / 2, n),
            Store::Bitmap(_) => plan::is_sparse(nvals * 2, n),
        };
        if flip {
            *self = Self::of(core::mem::take(self).into_store());
        }
    }

    /// The elements, to be written in place; none unless the vector lies on the host and every place holds one.
    pub(crate) fn dense_mut(&mut self) -> Option<&mut [T]> {
        let dense = matches!(&self.home, Home::Host(Store::Bitmap(bitmap), _) if bitmap.bits().is_none());
        match dense.then(|| self.store_mut()) {
            Some(Store::Bitmap(bitmap)) => Some(bitmap.values_mut()),
            _ => None,
        }
    }

    /// The elements of a vector that holds one at each place.
    pub(crate) fn into_full(self) -> Vec<T> {
        self.into_store().into_bitmap().into_values()
    }

    /// How the vector is stored now.
    pub fn format(&self) -> VectorFormat {
        match self.store() {
            Store::Sparse(_) => VectorFormat::Sparse,
            Store::Bitmap(b) if b.bits().is_none() => VectorFormat::Dense,
            Store::Bitmap(_) => VectorFormat::Bitmap,
        }
    }

    /// The same vector stored as asked; `Dense` is a bitmap where places are absent. For tests and benches.
    pub fn with_format(self, format: VectorFormat) -> Self {
        let store = match format {
            VectorFormat::Sparse => Store::Sparse(self.into_store().into_sparse()),
            VectorFormat::Dense | VectorFormat::Bitmap => Store::Bitmap(self.into_store().into_bitmap()),
        };
        Self::held(store)
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
        self.store().view()
    }
}

impl<T: Element> Default for Vector<T> {
    /// A vector of no places.
    fn default() -> Self {
        Self { home: Home::default() }
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
