//! Lists of indices: what `extract` takes, and where `scatter` puts.

use crate::backend::cuda::Gpu;
use crate::backend::cuda::compact;
use crate::containers::{Set, Vector};
use crate::error::{Error, Result};
use crate::operations::verbs::Verbs;
use core::any::Any;
use std::borrow::Cow;
use std::panic::Location;
use vxm_semiring::MAX;

/// A list of indices. It is an array, the members of a set in ascending order, or the elements of a vector that holds one at each place.
///
/// A set or a vector may lie on a device: their indices stay there. Those that are spread over ranks are collected on each rank.
///
/// ```
/// use vxm::prelude::*;
///
/// let v = Vector::from_dense(vec![30u32, 10, 20]);
/// assert_eq!(v.extract(&[2, 0]).eval()?, Vector::from_dense(vec![20, 30]));
/// // the members of a set, numbered anew
/// let set = Set::from_indices(3, [0, 2])?;
/// assert_eq!(v.extract(&set).eval()?, Vector::from_dense(vec![30, 20]));
/// // and back to their places
/// assert_eq!(v.extract(&set).scatter(&set, 3).eval()?, Vector::from_pairs(3, [(0, 30), (2, 20)])?);
/// # Ok::<(), vxm::Error>(())
/// ```
pub trait Indices {
    /// The list.
    #[doc(hidden)]
    fn listed(&self) -> Listed<'_>;
}

impl Indices for [u32] {
    fn listed(&self) -> Listed<'_> {
        Listed::Array(self)
    }
}

impl Indices for Vec<u32> {
    fn listed(&self) -> Listed<'_> {
        Listed::Array(self)
    }
}

impl<const N: usize> Indices for [u32; N] {
    fn listed(&self) -> Listed<'_> {
        Listed::Array(self)
    }
}

impl Indices for Set {
    fn listed(&self) -> Listed<'_> {
        Listed::Members(self)
    }
}

impl Indices for Vector<u32> {
    fn listed(&self) -> Listed<'_> {
        Listed::Elements(self)
    }
}

/// A list of indices by its kind.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub enum Listed<'a> {
    Array(&'a [u32]),
    Members(&'a Set),
    Elements(&'a Vector<u32>),
}

impl<'a> Listed<'a> {
    /// The number of indices.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Array(list) => list.len(),
            Self::Members(set) => set.nvals(),
            Self::Elements(list) => list.len(),
        }
    }

    /// Whether no index is less than the one before it, or equal, by the kind of list.
    pub(crate) fn ascends(self) -> bool {
        matches!(self, Self::Members(_))
    }

    /// The indices on the host. Of a spread set or vector all ranks call this.
    pub(crate) fn host(self) -> Result<Cow<'a, [u32]>> {
        Ok(match self {
            Self::Array(list) => list.into(),
            Self::Members(set) => set.to_all()?.indices().collect::<Vec<_>>().into(),
            Self::Elements(list) => list.to_all()?.to_dense(0).into(),
        })
    }

    /// The address of the indices on a device, and what holds them there. The address 0 stands for all numbers in order.
    pub(crate) fn on(self, gpu: &Gpu) -> Result<(u64, Box<dyn Any + Send + Sync>)> {
        Ok(match self {
            Self::Array(list) => {
                let list = gpu.upload_slice(list)?;
                (list.address(), Box::new(list))
            }
            Self::Members(set) => match compact::indices(&*set.on(gpu)?)?.0 {
                Some(list) => (list.address(), Box::new(list)),
                None => (0, Box::new(())),
            },
            Self::Elements(list) => {
                let list = list.on(gpu)?;
                (list.values_address(), Box::new(list))
            }
        })
    }

    /// Fails if an index lies outside a vector of `n` places, or if a vector of indices isn't full.
    pub(crate) fn within(self, operation: &'static str, n: usize, at: &'static Location<'static>) -> Result<()> {
        let outside = |left: String, right: String| Err(Error::Shape { operation, left, right, at });
        match self {
            Self::Members(set) if set.len() == n => Ok(()),
            Self::Members(set) => outside(format!("{n} places"), format!("set of {}", set.len())),
            Self::Elements(list) if list.nvals() < list.len() => {
                outside(format!("vector of {} indices", list.len()), format!("{} elements", list.nvals()))
            }
            Self::Elements(list) if list.is_empty() || (list.reduce(MAX)? as usize) < n => Ok(()),
            _ => match self.host()?.iter().position(|&i| i as usize >= n) {
                None => Ok(()),
                Some(k) => outside(format!("{n} places"), format!("index {} at position {k}", self.host()?[k])),
            },
        }
    }
}
