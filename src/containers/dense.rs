//! Dense matrices, which also serve as batches of vectors.

use crate::backend::cuda::Gpu;
use crate::backend::{Device, cpu, cuda, current};
use crate::containers::{Matrix, Vector};
use crate::error::{Error, Result};
use crate::kernels::Buffer;
use crate::memory;
use core::ops::{Add, Mul};
use std::sync::{Arc, OnceLock};
use vxm_semiring::Scalar;

/// The element types of a [`Dense`]: `f32` and `f64`.
pub trait Real: Scalar + crate::kernels::Real + Add<Output = Self> + Mul<Output = Self> {}

impl Real for f32 {}
impl Real for f64 {}

/// A dense matrix in row-major order. Its columns can serve as a batch of vectors.
///
/// [`mxm`](Self::mxm) multiplies two of them by ordinary addition and multiplication: with cuBLAS on a GPU, with
/// threads on the host. Cloning shares the storage.
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

/// Where the values are stored, with a cached host copy of values on a device.
#[derive(Debug, Clone)]
enum Home<T> {
    Host(Arc<Vec<T>>),
    Device(Arc<Buffer>, OnceLock<Arc<Vec<T>>>),
}

impl<T: Real> Dense<T> {
    /// Builds an `nrows` x `ncols` matrix of `values` in row-major order. O(1) time.
    ///
    /// # Errors
    /// [`Error::Invalid`]: the number of values is not `nrows * ncols`.
    pub fn new(nrows: usize, ncols: usize, values: Vec<T>) -> Result<Self> {
        if nrows.checked_mul(ncols) != Some(values.len()) {
            let what = format!("Dense: {} values in a matrix of {nrows} x {ncols}", values.len());
            return Err(Error::Invalid { what });
        }
        Ok(Self { nrows, ncols, home: Home::Host(Arc::new(values)) })
    }

    /// Returns an `nrows` x `ncols` matrix that holds `value` everywhere. O(nrows * ncols) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// assert_eq!(Dense::full(2, 2, 0.5f64)?.values()?, [0.5; 4]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Memory`]: the matrix does not fit into memory.
    pub fn full(nrows: usize, ncols: usize, value: T) -> Result<Self> {
        Ok(Self { nrows, ncols, home: Home::Host(Arc::new(filled(nrows, ncols, value)?)) })
    }

    /// Builds a matrix with one column per vector, with 0 for absent elements. O(nrows * ncols) time.
    ///
    /// # Errors
    /// [`Error::Shape`]: the lengths differ; the error names the first two that do and the caller's line.
    /// [`Error::Memory`]: the matrix does not fit into memory.
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

    /// Column `j` as a dense vector; `None` if there is no such column. O(nrows) time.
    ///
    /// # Errors
    /// [`Error::Device`]: the matrix is on a device that is lost. [`Error::TooManyVertices`]: there are more rows than
    /// a vector can have elements.
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

    /// The values in row-major order. The first call for a matrix on a device copies them to the host.
    ///
    /// # Errors
    /// [`Error::Device`]: the matrix is on a device that is lost.
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

    /// The value at row `i`, column `j`; `None` if either is out of range.
    ///
    /// # Errors
    /// [`Error::Device`]: the matrix is on a device that is lost.
    pub fn get(&self, i: usize, j: usize) -> Result<Option<T>> {
        if i >= self.nrows || j >= self.ncols {
            return Ok(None);
        }
        Ok(Some(self.values()?[i * self.ncols + j]))
    }

    /// The device that the matrix is stored on.
    pub fn device(&self) -> Device {
        self.gpu().map_or(Device::Cpu, |gpu| Device::Cuda(gpu.ordinal()))
    }

    /// Returns the matrix on another device. If it is there already, the storage is shared.
    ///
    /// # Errors
    /// [`Error::Device`]: there is no such device, it has too little memory, or it is lost.
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

    /// The product of two matrices, `c[i, j] = sum of self[i, k] * other[k, j] over k`. It runs on the device of an
    /// operand; if both are on the host, on the device of the current scope. O(nrows * k * ncols) time.
    ///
    /// On the host, each sum is taken in the order of `k`, beginning with 0, so the bits are the same on any number of
    /// threads. On a GPU, cuBLAS chooses the order, so the last bits of a sum may differ: this product is outside the
    /// promise of equal bits. Infinities and NaN follow the usual rules.
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
    /// [`Error::Shape`]: the columns of `self` do not match the rows of `other`; the error names both shapes and the
    /// caller's line. [`Error::Memory`]: the product does not fit into memory. [`Error::Device`]: on a GPU, there is no
    /// cuBLAS (`vxm doctor` shows it), or the device has too little memory or is lost.
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

    /// The values on `gpu`; copied there unless the matrix is stored there.
    fn on(&self, gpu: &Gpu) -> Result<Arc<Buffer>> {
        Ok(match &self.home {
            Home::Device(buffer, _) if buffer.gpu() == gpu => buffer.clone(),
            _ => Arc::new(gpu.upload_slice(self.values()?)?),
        })
    }
}

impl<T: Real> Matrix<T> {
    /// The product with a dense matrix, `c[i, j] = sum of self[i, k] * x[k, j] over k`; a row without entries gives 0.
    /// It runs on the device of an operand; if both are on the host, on the device of the current scope. O(nnz *
    /// x.ncols()) time.
    ///
    /// Each sum is taken in the order of `k`, beginning with 0, so the bits are the same on every device. They differ
    /// from those of [`mxv`](crate::operations::verbs), which sums over the fixed tree, and from those of
    /// [`Dense::mxm`] on a GPU.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 3, [(0, 0, 2.0f32), (0, 2, 1.0), (1, 1, -1.0)])?;
    /// let x = Dense::new(3, 2, vec![1.0, 10.0, 2.0, 20.0, 3.0, 30.0])?;
    /// assert_eq!(a.mxm_dense(&x)?.values()?, [5.0, 50.0, -2.0, -20.0]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`]: the columns of the matrix do not match the rows of `x`; the error names both shapes and the
    /// caller's line. [`Error::Memory`]: the product does not fit into memory. [`Error::Device`]: the device has too
    /// little memory, or is lost.
    #[track_caller]
    pub fn mxm_dense(&self, x: &Dense<T>) -> Result<Dense<T>> {
        if self.ncols() != x.nrows {
            return Err(Error::shape("mxm_dense", format!("matrix of {} x {}", self.nrows(), self.ncols()), x.shape()));
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

/// Returns `nrows * ncols` copies of `value`.
///
/// # Errors
/// [`Error::Memory`]: they do not fit into the available memory.
fn filled<T: Real>(nrows: usize, ncols: usize, value: T) -> Result<Vec<T>> {
    // asking the system takes longer than filling a small array
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
