//! A dense matrix, and batches of vectors.

use super::{Matrix, Vector};
use crate::backend::cuda::Gpu;
use crate::backend::{Device, cpu, cuda, current};
use crate::error::{Error, Result};
use crate::io::memory;
use core::ops::{Add, Mul};
use std::sync::{Arc, OnceLock};
use vxm_kernels::Buffer;
use vxm_semiring::Scalar;

/// What a [`Dense`] holds: `f32` or `f64`.
pub trait Real: Scalar + vxm_kernels::Real + Add<Output = Self> + Mul<Output = Self> {}

impl Real for f32 {}
impl Real for f64 {}

/// A dense matrix: a value at every place, row by row. Its columns are a batch of vectors, if you like.
///
/// [`mxm`](Self::mxm) multiplies two by ordinary addition and multiplication: on a GPU by cuBLAS, on the host by threads. Cloning
/// shares the storage.
///
/// ```
/// use vxm::prelude::*;
///
/// let a = Dense::new(2, 3, vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let b = Dense::from_columns(&[Vector::full(3, 1.0f32), Vector::from_pairs(3, [(1, 10.0)])?])?;
/// let c = a.mxm(&b)?;
/// assert_eq!((c.nrows(), c.ncols()), (2, 2));
/// assert_eq!(c.values()?, [6.0, 20.0, 15.0, 50.0]);
/// # Ok::<(), vxm::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dense<T: Real> {
    nrows: usize,
    ncols: usize,
    home: Home<T>,
}

/// Where the values lie; beside a device's the copy that was read.
#[derive(Debug, Clone)]
enum Home<T> {
    Host(Arc<Vec<T>>),
    Device(Arc<Buffer>, OnceLock<Arc<Vec<T>>>),
}

impl<T: Real> Dense<T> {
    /// A matrix of `values`, row by row. O(1).
    ///
    /// # Errors
    /// There are not `nrows * ncols` of them.
    pub fn new(nrows: usize, ncols: usize, values: Vec<T>) -> Result<Self> {
        if nrows.checked_mul(ncols) != Some(values.len()) {
            let what = format!("Dense: {} values in a matrix of {nrows} x {ncols}", values.len());
            return Err(Error::Invalid { what });
        }
        Ok(Self { nrows, ncols, home: Home::Host(Arc::new(values)) })
    }

    /// A matrix that holds `value` at every place. O(nrows * ncols).
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// assert_eq!(Dense::full(2, 2, 0.5f64)?.values()?, [0.5; 4]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// It doesn't fit into memory.
    pub fn full(nrows: usize, ncols: usize, value: T) -> Result<Self> {
        Ok(Self { nrows, ncols, home: Home::Host(Arc::new(filled(nrows, ncols, value)?)) })
    }

    /// A batch of vectors, one a column; 0 where one holds no element. O(nrows * ncols).
    ///
    /// # Errors
    /// Their lengths differ, which names the first two that do and the caller's line; it doesn't fit into memory.
    #[track_caller]
    pub fn from_columns(columns: &[Vector<T>]) -> Result<Self> {
        let nrows = columns.first().map_or(0, Vector::len);
        if let Some(other) = columns.iter().find(|column| column.len() != nrows) {
            let vector = |len| format!("vector of {len}");
            return Err(Error::shape("from_columns", vector(nrows), vector(other.len())));
        }
        let ncols = columns.len();
        let mut values = filled(nrows, ncols, T::ZERO)?;
        for (j, column) in columns.iter().enumerate() {
            column.iter().for_each(|(i, value)| values[i as usize * ncols + j] = value);
        }
        Self::new(nrows, ncols, values)
    }

    /// Column `j` as a vector that holds an element at every place; `None` where there is no such column. O(nrows).
    ///
    /// # Errors
    /// The device that the matrix lies on is lost, or there are more rows than a vector has places.
    pub fn column(&self, j: usize) -> Result<Option<Vector<T>>> {
        crate::formats::check_vertices("Dense", self.nrows)?;
        if j >= self.ncols {
            return Ok(None);
        }
        Ok(Some(Vector::from_dense(self.values()?.iter().skip(j).step_by(self.ncols).copied().collect())))
    }

    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// The number of columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// The values, row by row; copied from a device at first use.
    ///
    /// # Errors
    /// The device is lost.
    pub fn values(&self) -> Result<&[T]> {
        match &self.home {
            Home::Host(values) => Ok(values),
            Home::Device(buffer, copy) => {
                if let Some(copy) = copy.get() {
                    return Ok(copy);
                }
                let values = buffer.download(self.nrows * self.ncols)?;
                Ok(copy.get_or_init(|| Arc::new(values)))
            }
        }
    }

    /// The value at row `i`, column `j`; `None` where there is no such place.
    ///
    /// # Errors
    /// The device is lost.
    pub fn get(&self, i: usize, j: usize) -> Result<Option<T>> {
        if i >= self.nrows || j >= self.ncols {
            return Ok(None);
        }
        Ok(Some(self.values()?[i * self.ncols + j]))
    }

    /// The device that the matrix lies on.
    pub fn device(&self) -> Device {
        self.gpu().map_or(Device::Cpu, |gpu| Device::Cuda(gpu.ordinal()))
    }

    /// The same matrix on another device. Where it is there already, storage is shared.
    ///
    /// # Errors
    /// There is no such device, it has too little memory, or it is lost.
    pub fn to(&self, device: Device) -> Result<Self> {
        let home = match (device.gpu()?, &self.home) {
            (Some(gpu), _) => Home::Device(self.on(&gpu)?, OnceLock::new()),
            (None, Home::Host(values)) => Home::Host(values.clone()),
            (None, Home::Device(buffer, copy)) => Home::Host(match copy.get() {
                Some(copy) => copy.clone(),
                None => Arc::new(buffer.download(self.nrows * self.ncols)?),
            }),
        };
        Ok(Self { home, ..*self })
    }

    /// The product of two matrices, `c[i, j] = sum of self[i, k] * other[k, j] over k`, where either lies, or where the scope says if
    /// both lie on the host. O(nrows * k * ncols) time.
    ///
    /// On the host each place adds up its products in the order of `k`, beginning with 0: the same bits on any number of threads. On a GPU
    /// cuBLAS has an order of its own, so the last bits of a sum may differ: this product is outside the promise of equal bits. Infinities and NaN
    /// are multiplied and added as everything else.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let row = Dense::new(1, 2, vec![3.0f64, 4.0])?;
    /// let column = Dense::new(2, 1, vec![3.0, 4.0])?;
    /// assert_eq!(row.mxm(&column)?.values()?, [25.0]);
    /// assert_eq!(column.mxm(&row)?.values()?, [9.0, 12.0, 12.0, 16.0]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` has not as many columns as `other` has rows, which names both shapes and the caller's line; the product doesn't fit
    /// into memory; on a GPU there is no cuBLAS (`vxm doctor` tells), or the device is lost.
    #[track_caller]
    pub fn mxm(&self, other: &Self) -> Result<Self> {
        if self.ncols != other.nrows {
            return Err(Error::shape("mxm", self.shape(), other.shape()));
        }
        let (nrows, ncols, sizes) = (self.nrows, other.ncols, [self.nrows, self.ncols, other.ncols]);
        let home = match self.gpu().or(other.gpu()).cloned().or_else(current) {
            Some(gpu) => {
                let product = gpu.multiply::<T>(sizes, &*self.on(&gpu)?, &*other.on(&gpu)?)?;
                Home::Device(Arc::new(product), OnceLock::new())
            }
            None => {
                let mut product = filled(nrows, ncols, T::ZERO)?;
                cpu::dense::multiply(sizes, self.values()?, other.values()?, &mut product);
                Home::Host(Arc::new(product))
            }
        };
        Ok(Self { nrows, ncols, home })
    }

    fn shape(&self) -> String {
        format!("dense matrix of {} x {}", self.nrows, self.ncols)
    }

    fn gpu(&self) -> Option<&Gpu> {
        match &self.home {
            Home::Host(_) => None,
            Home::Device(buffer, _) => Some(buffer.gpu()),
        }
    }

    /// The values on `gpu`.
    fn on(&self, gpu: &Gpu) -> Result<Arc<Buffer>> {
        Ok(match &self.home {
            Home::Device(buffer, _) if buffer.gpu() == gpu => buffer.clone(),
            _ => Arc::new(gpu.upload_slice(self.values()?)?),
        })
    }
}

impl<T: Real> Matrix<T> {
    /// The product with a dense matrix, a batch of vectors: `c[i, j] = sum of self[i, k] * x[k, j] over k`, 0 for a row without
    /// entries, where either lies, or where the scope says if both lie on the host. O(nnz * x.ncols()) time.
    ///
    /// Each place adds up its products in the order of `k`, beginning with 0, on every device: the same bits everywhere. They are those of
    /// neither [`mxv`](crate::operations::verbs), whose sums run over the fixed tree, nor of [`Dense::mxm`] on a GPU.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 3, [(0, 0, 2.0f32), (0, 2, 1.0), (1, 1, -1.0)])?;
    /// let x = Dense::new(3, 2, vec![1.0, 10.0, 2.0, 20.0, 3.0, 30.0])?;
    /// assert_eq!(a.mxm(&x)?.values()?, [5.0, 50.0, -2.0, -20.0]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The matrix has not as many columns as `x` has rows, which names both shapes and the caller's line; the product doesn't fit into
    /// memory; the device is lost.
    #[track_caller]
    pub fn mxm(&self, x: &Dense<T>) -> Result<Dense<T>> {
        if self.ncols() != x.nrows {
            return Err(Error::shape("mxm", format!("matrix of {} x {}", self.nrows(), self.ncols()), x.shape()));
        }
        let (nrows, ncols) = (self.nrows(), x.ncols);
        let home = match self.gpu().or(x.gpu()).cloned().or_else(current) {
            Some(gpu) => {
                let product = cuda::dense::multiply(&*self.on(&gpu)?, &*x.on(&gpu)?, ncols)?;
                Home::Device(Arc::new(product), OnceLock::new())
            }
            None => {
                let mut product = filled(nrows, ncols, T::ZERO)?;
                cpu::dense::multiply_sparse(self.csr(), x.values()?, ncols, &mut product);
                Home::Host(Arc::new(product))
            }
        };
        Ok(Dense { nrows, ncols, home })
    }
}

/// `nrows * ncols` times `value`, if there is memory for so many.
fn filled<T: Real>(nrows: usize, ncols: usize, value: T) -> Result<Vec<T>> {
    // asking takes longer than filling a small one
    const SMALL: u128 = 1 << 20;
    let bytes = (nrows as u128 * ncols as u128).saturating_mul(size_of::<T>() as u128);
    if bytes > SMALL {
        let available = memory::available().min(isize::MAX as u64);
        if bytes > u128::from(available) {
            let place = format!("Dense: a matrix of {nrows} x {ncols}");
            return Err(Error::Memory { place, needed: bytes, available });
        }
    }
    Ok(vec![value; nrows * ncols])
}
