//! Arrays that are shared, or that lie in a mapped file.

use core::fmt;
use core::ops::{Deref, Range};
use core::ptr::NonNull;
use memmap2::Mmap;
use std::sync::Arc;
use zerocopy::{Immutable, KnownLayout, TryFromBytes};

/// An array of numbers that can't be changed. It is a vector, or a part of a mapped file; clones share either.
///
/// It dereferences to a slice. The slice's address is stored, so that reading an element costs the same in both cases.
pub struct Buffer<T> {
    slice: NonNull<[T]>,
    owner: Owner<T>,
}

/// What keeps the slice alive.
enum Owner<T> {
    Vector(Arc<Vec<T>>),
    File(Arc<Mmap>),
}

// SAFETY: the slice is only read, and its owner can be sent where `T` can
unsafe impl<T: Send + Sync> Send for Buffer<T> {}
// SAFETY: as above
unsafe impl<T: Send + Sync> Sync for Buffer<T> {}

impl<T> Buffer<T> {
    /// Whether the array lies in a mapped file.
    pub fn is_mapped(&self) -> bool {
        matches!(self.owner, Owner::File(_))
    }

    /// Copies the array, unless it is a vector without clones.
    pub fn into_vec(self) -> Vec<T>
    where
        T: Clone,
    {
        match self.owner {
            Owner::Vector(vector) => Arc::unwrap_or_clone(vector),
            Owner::File(ref map) => {
                let _kept = Arc::clone(map);
                self.to_vec()
            }
        }
    }
}

impl<T: TryFromBytes + Immutable + KnownLayout> Buffer<T> {
    /// The elements in the bytes `range` of a mapped file; `None` if the file has no such bytes, or if they are not aligned or no elements of
    /// `T`. Takes O(1) time where all bytes are valid elements, as they are for integers and floats.
    ///
    /// The bytes of the file must not change while it is mapped. Whoever maps a file promises that.
    pub fn mapped(map: &Arc<Mmap>, range: Range<usize>) -> Option<Self> {
        let slice = <[T]>::try_ref_from_bytes(map.get(range)?).ok()?;
        Some(Self { slice: NonNull::from(slice), owner: Owner::File(Arc::clone(map)) })
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(vector: Vec<T>) -> Self {
        Arc::new(vector).into()
    }
}

impl<T> From<Arc<Vec<T>>> for Buffer<T> {
    fn from(vector: Arc<Vec<T>>) -> Self {
        Self { slice: NonNull::from(vector.as_slice()), owner: Owner::Vector(vector) }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the slice lies in a vector's allocation or in a mapped file. The owner beside it keeps either, unchanged and in its place,
        // as long as the buffer lives
        unsafe { self.slice.as_ref() }
    }
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        let owner = match &self.owner {
            Owner::Vector(vector) => Owner::Vector(Arc::clone(vector)),
            Owner::File(map) => Owner::File(Arc::clone(map)),
        };
        Self { slice: self.slice, owner }
    }
}

impl<T: PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_part_of_a_file_is_read_as_a_vector_is() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1, 0, 0, 0, 2, 0, 0, 0, 9, 1]).unwrap();
        // SAFETY: the file has no name, and is not written to again
        let map = Arc::new(unsafe { Mmap::map(&file) }.unwrap());
        let mapped = Buffer::<u32>::mapped(&map, 0..8).unwrap();
        let owned = Buffer::from(vec![1u32, 2]);
        assert_eq!((&*mapped, &mapped), (&[1, 2][..], &owned));
        let (twin, one_more) = (mapped.clone(), owned.clone());
        drop((map, mapped, owned));
        assert_eq!((twin.into_vec(), one_more.into_vec()), (vec![1, 2], vec![1, 2]));
    }

    #[test]
    fn what_is_no_element_is_refused() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
        // SAFETY: as above
        let map = Arc::new(unsafe { Mmap::map(&file) }.unwrap());
        assert!(Buffer::<bool>::mapped(&map, 0..4).is_some() && Buffer::<bool>::mapped(&map, 0..5).is_none());
        assert!(Buffer::<u32>::mapped(&map, 1..5).is_none() && Buffer::<u32>::mapped(&map, 0..6).is_none());
        assert!(Buffer::<u64>::mapped(&map, 0..16).is_none());
    }
}
