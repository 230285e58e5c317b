//! Sparse vectors and sets.

mod spread;

use crate::backend::cuda::{DeviceVector, Gpu};
use crate::backend::{Device, plan};
use crate::error::{Error, Result};
use crate::formats::bitmap::{Bitmap, ones};
use crate::formats::{MAX_VERTICES, Sparse, Store, StoreView, check_vertices};
use spread::{Other, Spread};
use std::sync::OnceLock;
use vxm_semiring::Element;

/// A sparse vector of length `len`: each index holds an element or nothing.
///
/// The storage is dense, a bitmap or a sorted list, chosen by the fraction of elements present. Equality and
/// [`digest`](Self::digest) depend on the elements only. They compare bits, so NaN equals itself.
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
    /// Of a vector that is spread over ranks, this rank's piece.
    home: Home<T>,
    spread: Option<Box<Spread>>,
    /// Of a vector that isn't spread its pieces, of one that is the whole, where it was read so. Writing invalidates them.
    other: OnceLock<Box<Other<T>>>,
}

/// Where a vector is stored, with a cached copy in the other memory. Writing invalidates the copy.
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

/// A set of indices: a vector without values. Masks, frontiers and independent sets are sets.
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

/// The storage format of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VectorFormat {
    /// One slot per index; every element is present.
    Dense,
    /// One slot per index, and a bit that says whether the element is present.
    Bitmap,
    /// Sorted indices and values.
    Sparse,
}

impl<T: Element> Vector<T> {
    /// Returns a vector of length `len` without elements.
    ///
    /// # Panics
    /// `len` exceeds [`MAX_VERTICES`].
    #[track_caller]
    pub fn new(len: usize) -> Self {
        assert!(len <= MAX_VERTICES, "a vector of {len} places: expected at most {MAX_VERTICES}");
        Self::held(Store::Sparse(Sparse::new(len, Vec::new(), Vec::new())))
    }

    /// Returns a vector that holds `value` at every index.
    pub fn full(len: usize, value: T) -> Self {
        Self::from_dense(vec![value; len])
    }

    /// Returns a dense vector of `values`.
    #[inline(never)]
    pub fn from_dense(values: Vec<T>) -> Self {
        Self::held(Store::Bitmap(Bitmap::dense(values)))
    }

    /// Builds a vector of length `len` from `(index, value)` pairs in any order. O(p log p) time for `p` pairs.
    ///
    /// # Errors
    /// [`Error::Invalid`]: an index is `len` or more, or occurs twice. [`Error::TooManyVertices`]: `len` exceeds
    /// [`MAX_VERTICES`].
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
            return Err(Error::Invalid { what: format!("index {} occurs twice", twice[0].0) });
        }
        let (indices, values) = pairs.into_iter().unzip();
        Ok(Self::of(Store::Sparse(Sparse::new(len, indices, values))))
    }

    /// Builds a vector of `values`; `None` is an absent element.
    pub fn from_options(values: &[Option<T>]) -> Self {
        let pairs = values.iter().enumerate().filter_map(|(i, v)| v.map(|v| (i as u32, v)));
        let (indices, held) = pairs.unzip();
        Self::of(Store::Sparse(Sparse::new(values.len(), indices, held)))
    }

    /// Wraps storage, converted to the format that suits the fraction of elements present.
    pub(crate) fn of(store: Store<T>) -> Self {
        let sparse = plan::is_sparse(store.nvals(), store.len());
        let store = match store {
            Store::Sparse(s) if !sparse => Store::Bitmap(Store::Sparse(s).into_bitmap()),
            Store::Bitmap(b) if sparse => Store::Sparse(Store::Bitmap(b).into_sparse()),
            fitting => fitting,
        };
        Self::held(store)
    }

    /// Wraps storage in the format it has.
    fn held(store: Store<T>) -> Self {
        Self { home: Home::Host(store, OnceLock::new()), spread: None, other: OnceLock::new() }
    }

    /// Wraps a vector on a device.
    pub(crate) fn on_device(vector: DeviceVector<T>) -> Self {
        Self { home: Home::Device(vector, OnceLock::new()), spread: None, other: OnceLock::new() }
    }

    /// The device that the vector is stored on.
    pub fn device(&self) -> Device {
        self.gpu().map_or(Device::Cpu, |gpu| Device::Cuda(gpu.ordinal()))
    }

    /// Returns the vector on another device. If it is there already, the storage is shared.
    ///
    /// # Errors
    /// [`Error::Device`]: there is no such device, it has too little memory, or it is lost.
    pub fn to(&self, device: Device) -> Result<Self> {
        match device.gpu()? {
            Some(_) if self.spread.is_some() => Err(self.stays()),
            None if self.spread.is_some() => Ok(self.clone()),
            Some(gpu) => Ok(Self::on_device(self.on(&gpu)?.clone())),
            None => match &self.home {
                Home::Host(..) => Ok(self.clone()),
                Home::Device(vector, _) => Ok(Self::of(vector.download()?)),
            },
        }
    }

    /// The GPU that the vector is stored on; `None` on the host.
    pub(crate) fn gpu(&self) -> Option<&Gpu> {
        match &self.home {
            Home::Host(..) => None,
            Home::Device(vector, _) => Some(vector.gpu()),
        }
    }

    /// The vector on `gpu`: its own storage, or a copy. The copy of a vector on the host is cached.
    pub(crate) fn on(&self, gpu: &Gpu) -> Result<DeviceVector<T>> {
        if self.spread.is_some() { Err(self.stays()) } else { self.held_on(gpu) }
    }

    /// What this process holds of the vector, on `gpu`: of a vector that is spread over ranks, its piece.
    #[inline(never)]
    pub(crate) fn held_on(&self, gpu: &Gpu) -> Result<DeviceVector<T>> {
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

    /// Moves the vector to `gpu` and returns it for writing. Cached copies are dropped.
    #[inline(never)]
    pub(crate) fn on_mut(&mut self, gpu: &Gpu) -> Result<&mut DeviceVector<T>> {
        let vector = self.held_on(gpu)?;
        self.forget_copies();
        self.home = Home::Device(vector, OnceLock::new());
        match &mut self.home {
            Home::Device(vector, _) => Ok(vector),
            Home::Host(..) => Err(Error::Invalid { what: "a vector that was just moved to a device".to_owned() }),
        }
    }

    /// The vector on the host: its own storage, or a cached copy.
    ///
    /// # Panics
    /// The device is lost, so its results can't be read any more.
    fn store(&self) -> &Store<T> {
        match &self.home {
            Home::Host(store, _) => store,
            Home::Device(vector, copy) => copy.get_or_init(|| match vector.download() {
                Ok(store) => Self::of(store).into_store(),
                Err(error) => panic!("a vector on {}: {error}", self.device()),
            }),
        }
    }

    /// Takes the storage on the host; a copy if the vector is on a device.
    fn into_store(self) -> Store<T> {
        match self.home {
            Home::Host(store, _) => store,
            Home::Device(..) => self.store().clone(),
        }
    }

    /// Moves the vector to the host and returns its storage for writing. Cached copies are dropped.
    fn store_mut(&mut self) -> &mut Store<T> {
        self.forget_copies();
        if let Home::Device(..) = self.home {
            self.home = Home::Host(self.store().clone(), OnceLock::new());
        }
        if let Home::Host(_, copy) = &mut self.home {
            *copy = OnceLock::new();
        }
        match &mut self.home {
            Home::Host(store, _) => store,
            Home::Device(..) => unreachable!("it was moved"),
        }
    }

    /// Forgets copies in other forms, and the number of elements on all ranks: the vector is about to change.
    fn forget_copies(&mut self) {
        self.other = OnceLock::new();
        if let Some(spread) = &mut self.spread {
            spread.count = OnceLock::new();
        }
    }

    /// The length of the vector, absent elements included.
    pub fn len(&self) -> usize {
        self.spread.as_ref().map_or_else(|| self.places(), |spread| spread.len)
    }

    /// The number of places held here: of a vector that is spread over ranks, those of this rank.
    pub(crate) fn places(&self) -> usize {
        match &self.home {
            Home::Host(store, _) => store.len(),
            Home::Device(vector, _) => vector.len(),
        }
    }

    /// Whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements present. On a device it is counted at the first call, with a readback. Of a vector that is spread over
    /// ranks it is the number on all of them, and all ranks make the first call.
    ///
    /// # Panics
    /// The vector is on a device that is lost, or another rank has failed.
    pub fn nvals(&self) -> usize {
        match &self.spread {
            Some(spread) => spread.count(self.held_here()),
            None => self.held_here(),
        }
    }

    /// The number of elements held here.
    fn held_here(&self) -> usize {
        match &self.home {
            Home::Host(store, _) => store.nvals(),
            Home::Device(vector, _) => match vector.nvals() {
                Ok(count) => count,
                Err(error) => panic!("a vector on {}: {error}", self.device()),
            },
        }
    }

    /// The number of elements present, if it is known without device work.
    pub(crate) fn known_count(&self) -> Option<usize> {
        match &self.home {
            _ if self.spread.is_some() => None,
            Home::Host(store, _) => Some(store.nvals()),
            Home::Device(vector, _) => vector.known_count(),
        }
    }

    /// The element at `i`; `None` if it is absent, or if `i` is out of range. The first read of a vector on a device
    /// copies it to the host.
    ///
    /// # Panics
    /// The vector is spread over ranks: [`to_root`](Self::to_root) or [`to_all`](Self::to_all) make it whole.
    pub fn get(&self, i: u32) -> Option<T> {
        if i as usize >= self.len() { None } else { self.whole().store().get(i as usize) }
    }

    /// Whether the element at `i` is present.
    pub fn contains(&self, i: u32) -> bool {
        self.get(i).is_some()
    }

    /// The `(index, element)` pairs, in ascending order of index.
    ///
    /// # Panics
    /// The vector is spread over ranks: [`to_root`](Self::to_root) or [`to_all`](Self::to_all) make it whole.
    pub fn iter(&self) -> impl Iterator<Item = (u32, T)> + '_ {
        let (list, values, bits) = match self.whole().store() {
            Store::Sparse(s) => (Some(s.indices()), s.values(), None),
            Store::Bitmap(b) => (None, b.values(), b.bits()),
        };
        let listed = list.into_iter().flatten().copied().zip(values.iter().copied());
        let dense = if list.is_none() && bits.is_none() { values.len() } else { 0 };
        let held = bits.into_iter().flat_map(|bits| ones(bits, 0));
        listed.chain((0..dense).chain(held).map(|i| (i as u32, values[i])))
    }

    /// The indices of the elements, ascending. If a vector on a device has few elements, only their indices are copied
    /// to the host.
    pub fn indices(&self) -> impl Iterator<Item = u32> + '_ {
        let listed = match &self.home {
            Home::Device(vector, copy) if copy.get().is_none() && self.spread.is_none() => {
                let all = self.len() / 8 + self.len() * size_of::<T>();
                let few = vector.known_count().is_some_and(|count| 4 * count < all);
                few.then(|| vector.indices().ok()).flatten()
            }
            _ => None,
        };
        let held = listed.is_none().then(|| self.iter().map(|(i, _)| i));
        listed.into_iter().flatten().chain(held.into_iter().flatten())
    }

    /// All elements in a dense array, with `absent` for each absent one.
    pub fn to_dense(&self, absent: T) -> Vec<T> {
        let mut dense = vec![absent; self.len()];
        self.iter().for_each(|(i, value)| dense[i as usize] = value);
        dense
    }

    /// The same, without a copy of a vector that is full.
    pub fn into_dense(self, absent: T) -> Vec<T> {
        match self.home {
            Home::Host(Store::Bitmap(bitmap), _) if bitmap.bits().is_none() && self.spread.is_none() => {
                bitmap.into_values()
            }
            _ => self.to_dense(absent),
        }
    }

    /// Writes `value` at index `i`.
    ///
    /// # Errors
    /// [`Error::Invalid`]: `i` is out of range.
    pub fn set(&mut self, i: u32, value: T) -> Result<()> {
        self.put(i, Some(value))
    }

    /// Removes the element at index `i`, if there is one.
    ///
    /// # Errors
    /// [`Error::Invalid`]: `i` is out of range.
    pub fn remove(&mut self, i: u32) -> Result<()> {
        self.put(i, None)
    }

    fn put(&mut self, i: u32, value: Option<T>) -> Result<()> {
        if i as usize >= self.len() {
            return Err(Error::Invalid { what: format!("index {i} in a vector of {} places", self.len()) });
        }
        match self.own_place(i) {
            Some(place) => self.patch(&[place], &[value]),
            // another rank writes it
            None => self.patch(&[], &[]),
        }
        Ok(())
    }

    /// Writes or removes elements at strictly ascending indices. The format follows the fraction of elements present,
    /// with a margin, so that it does not switch back and forth.
    pub(crate) fn patch(&mut self, indices: &[u32], values: &[Option<T>]) {
        self.store_mut().patch(indices, values);
        let (nvals, n) = (self.held_here(), self.places());
        let flip = match self.store() {
            Store::Sparse(_) => !plan::is_sparse(nvals / 2, n),
            Store::Bitmap(_) => plan::is_sparse(nvals * 2, n),
        };
        if flip {
            let spread = self.spread.take();
            *self = Self { spread, ..Self::of(core::mem::take(self).into_store()) };
        }
    }

    /// Takes other elements, in as many places. The vector stays spread if it is.
    pub(crate) fn replace(&mut self, elements: Self) {
        let spread = self.spread.take();
        *self = Self { spread, ..elements };
        if let Some(spread) = &mut self.spread {
            spread.count = OnceLock::new();
        }
    }

    /// The elements for writing in place; `None` unless the vector is dense and on the host.
    pub(crate) fn dense_mut(&mut self) -> Option<&mut [T]> {
        let dense = matches!(&self.home, Home::Host(Store::Bitmap(bitmap), _) if bitmap.bits().is_none());
        match dense.then(|| self.store_mut()) {
            Some(Store::Bitmap(bitmap)) => Some(bitmap.values_mut()),
            _ => None,
        }
    }

    /// Takes the elements of a vector in which every element is present.
    pub(crate) fn into_full(self) -> Vec<T> {
        self.into_store().into_bitmap().into_values()
    }

    /// The current storage format on the host. The first call for a vector on a device copies it.
    pub fn format(&self) -> VectorFormat {
        match self.store() {
            Store::Sparse(_) => VectorFormat::Sparse,
            Store::Bitmap(b) if b.bits().is_none() => VectorFormat::Dense,
            Store::Bitmap(_) => VectorFormat::Bitmap,
        }
    }

    /// Returns the vector on the host in the given format, for tests and benchmarks. `Dense` gives a bitmap if elements
    /// are absent.
    pub fn with_format(mut self, format: VectorFormat) -> Self {
        let spread = self.spread.take();
        let store = match format {
            VectorFormat::Sparse => Store::Sparse(self.into_store().into_sparse()),
            VectorFormat::Dense | VectorFormat::Bitmap => Store::Bitmap(self.into_store().into_bitmap()),
        };
        Self { spread, ..Self::held(store) }
    }

    /// A 64-bit FNV-1a hash of the length, the indices and the bits of the elements. Equal vectors have equal digests,
    /// on every device and in every format.
    pub fn digest(&self) -> u64 {
        let step = |hash: u64, word: u64| {
            word.to_le_bytes().iter().fold(hash, |h, &byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
        };
        let start = step(0xcbf2_9ce4_8422_2325, self.len() as u64);
        self.iter().fold(start, |hash, (i, value)| value.words().fold(step(hash, u64::from(i)), step))
    }

    /// A borrowed view of the storage on the host.
    pub(crate) fn view(&self) -> StoreView<'_, T> {
        self.store().view()
    }
}

impl<T: Element> Default for Vector<T> {
    /// A vector of length 0.
    fn default() -> Self {
        Self { home: Home::default(), spread: None, other: OnceLock::new() }
    }
}

impl Set {
    /// Builds a set of indices below `len`, given in any order; repeated ones count once.
    ///
    /// # Errors
    /// [`Error::Invalid`]: an index is `len` or more. [`Error::TooManyVertices`]: `len` exceeds [`MAX_VERTICES`].
    pub fn from_indices(len: usize, indices: impl IntoIterator<Item = u32>) -> Result<Self> {
        let mut indices: Vec<u32> = indices.into_iter().collect();
        indices.sort_unstable();
        indices.dedup();
        Self::from_pairs(len, indices.into_iter().map(|i| (i, ())))
    }

    /// Returns the set of all indices below `len`.
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
