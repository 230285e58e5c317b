//! Arrays that lie on a GPU and are shared with other libraries of the process: read from them, and lent to them.

use crate::backend::Device;
use crate::backend::cuda::foreign::{self, Foreign};
use crate::containers::{Matrix, Vector};
use crate::error::{Error, Result};
use vxm_semiring::Element;
use vxm_semiring::dynamic::Kind;

/// Numbers that another library of the process holds in a GPU's memory.
///
/// The numbers are copied, on the device. `kind` is their type. A container holds them as such, or as their bits: those of up to 32 bits in a
/// `u32`, others in a `u64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceArray {
    /// The GPU.
    pub device: Device,
    /// The address of the first number.
    pub address: u64,
    /// How many there are.
    pub len: usize,
    /// The bytes from one number to the next; below 0 if the next lies before.
    pub stride: i64,
    /// What they are.
    pub kind: Kind,
}

impl DeviceArray {
    fn foreign(&self) -> Foreign {
        Foreign { address: self.address, len: self.len, stride: self.stride, kind: self.kind }
    }
}

impl<T: Element> Vector<T> {
    /// A full vector of numbers on a GPU, where it lies too. All NaNs get one bit pattern. O(n) time.
    ///
    /// # Errors
    /// [`Error::Invalid`]: a `T` can't hold such numbers, or they lie at addresses that aren't multiples of their size. [`Error::TooManyVertices`].
    /// There is no such GPU, it has too little memory, or is lost.
    ///
    /// # Safety
    /// The GPU can read the numbers at these addresses. The work that writes them is done. Nothing writes them before this call returns.
    pub unsafe fn from_device_array(numbers: &DeviceArray) -> Result<Self> {
        crate::formats::check_vertices("Vector", numbers.len)?;
        let gpu = numbers.device.gpu()?.ok_or_else(|| on_host(numbers.device))?;
        // SAFETY: the caller's
        let vector = unsafe { foreign::vector(&gpu, &numbers.foreign()) }?;
        // the numbers may be written again once this returns
        gpu.synchronize()?;
        Ok(Self::on_device(vector))
    }

    /// The address on its GPU of the values of a vector, one after another, for another library to read. `None` if the vector lies on the host.
    /// All work on it is done when this returns. It is valid for as long as a copy of the vector is neither dropped nor written.
    ///
    /// # Errors
    /// [`Error::Invalid`]: a place holds no element. The GPU is lost.
    pub fn device_address(&self) -> Result<Option<u64>> {
        let Some(gpu) = self.gpu() else { return Ok(None) };
        let held = self.on(gpu)?.nvals()?;
        if held < self.len() {
            let missing = self.len() - held;
            return Err(Error::invalid(format!("{missing} of {} places hold no element: expected all", self.len())));
        }
        self.on(gpu)?.lend().map(Some)
    }
}

impl<T: Element> Matrix<T> {
    /// The matrix of arrays in CSR on a GPU, where it lies too: row `i` has the columns `columns[offsets[i]..offsets[i + 1]]`, ascending.
    /// A pattern has no values. O(rows + entries) time.
    ///
    /// # Errors
    /// [`Error::Invalid`]: what [`Csr::from_arrays`](crate::formats::Csr::from_arrays) refuses; it names the first row that is wrong. Also the
    /// errors of [`Vector::from_device_array`].
    ///
    /// # Safety
    /// As for [`Vector::from_device_array`].
    pub unsafe fn from_device_arrays(
        (nrows, ncols): (usize, usize),
        offsets: &DeviceArray,
        columns: &DeviceArray,
        values: Option<&DeviceArray>,
    ) -> Result<Self> {
        crate::formats::check_vertices("Matrix", nrows.max(ncols))?;
        let gpu = offsets.device.gpu()?.ok_or_else(|| on_host(offsets.device))?;
        // an array of no numbers lies nowhere
        let is_elsewhere = |other: &&DeviceArray| other.len > 0 && other.device != offsets.device;
        if let Some(other) = [Some(columns), values].into_iter().flatten().find(is_elsewhere) {
            let what = format!("arrays on {} and on {}: expected one device", offsets.device, other.device);
            return Err(Error::invalid(what));
        }
        if values.is_none() != (size_of::<T>() == 0) {
            return Err(Error::invalid("a matrix of patterns has no values, and others have some".to_owned()));
        }
        let (starts, places, held) = (offsets.foreign(), columns.foreign(), values.map(DeviceArray::foreign));
        // SAFETY: the caller's
        let rows = unsafe { foreign::csr::<T>(&gpu, (nrows, ncols), (&starts, &places), held.as_ref()) }?;
        gpu.synchronize()?;
        match rows {
            Some(rows) => Ok(Self::on_device(rows, None)),
            // SAFETY: the caller's
            None => Err(unsafe { wrong_row((nrows, ncols), offsets, columns) }),
        }
    }

    /// Row offsets, columns and values as vectors, which lie where the matrix does.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 3, [(0, 2, 1.5f32), (1, 0, 2.0)])?;
    /// let (offsets, columns, values) = a.to_vectors()?;
    /// assert_eq!((offsets.to_dense(0), columns.to_dense(0), values.to_dense(0.0)), (vec![0, 1, 2], vec![2, 0], vec![1.5, 2.0]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooManyVertices`]: there are more entries than a vector has places. The device has too little memory, or is lost.
    pub fn to_vectors(&self) -> Result<(Vector<u64>, Vector<u32>, Vector<T>)> {
        crate::formats::check_vertices("Vector", self.nnz() as usize)?;
        if let Some(gpu) = self.gpu() {
            let (offsets, columns, values) = self.on(gpu)?.vectors()?;
            return Ok((Vector::on_device(offsets), Vector::on_device(columns), Vector::on_device(values)));
        }
        let csr = self.csr();
        let (offsets, columns) = (csr.offsets().to_vec(), csr.columns().to_vec());
        Ok((Vector::from_dense(offsets), Vector::from_dense(columns), Vector::from_dense(csr.values().to_vec())))
    }
}

fn on_host(device: Device) -> Error {
    Error::invalid(format!("an array on {device}: expected one on a GPU"))
}

/// What is wrong with arrays that a GPU has refused: the error of [`Csr::from_arrays`](crate::formats::Csr::from_arrays) for them.
///
/// # Safety
/// As for [`Vector::from_device_array`].
unsafe fn wrong_row((nrows, ncols): (usize, usize), offsets: &DeviceArray, columns: &DeviceArray) -> Error {
    /// Integers, on the host.
    ///
    /// # Safety
    /// As for [`Vector::from_device_array`].
    unsafe fn integers(of: &DeviceArray) -> Result<Vec<i64>> {
        if of.kind.size() == 8 {
            // SAFETY: the caller's
            let wide = unsafe { Vector::<u64>::from_device_array(of) }?;
            // what is beyond an `i64` is as wrong as the greatest one
            let fitting = |x| if of.kind == Kind::I64 { x as i64 } else { i64::try_from(x).unwrap_or(i64::MAX) };
            return Ok(wide.into_dense(0).into_iter().map(fitting).collect());
        }
        let wide = |x: u32| match of.kind {
            Kind::I8 => i64::from(x as i8),
            Kind::I16 => i64::from(x as i16),
            Kind::I32 => i64::from(x as i32),
            _ => i64::from(x),
        };
        // SAFETY: the caller's
        Ok(unsafe { Vector::<u32>::from_device_array(of) }?.into_dense(0).into_iter().map(wide).collect())
    }
    // SAFETY: the caller's
    let arrays = || unsafe {
        crate::memory::require(32 * columns.len as u128, || "arrays that a GPU has refused".to_owned())?;
        Ok((integers(offsets)?, integers(columns)?))
    };
    let refused: Result<_> = arrays().and_then(|(offsets, columns)| {
        crate::formats::Csr::from_arrays(nrows, ncols, &offsets, &columns, vec![(); columns.len()])
    });
    match refused {
        Err(error @ Error::Invalid { .. }) => error,
        // they are too long to be looked at, or were changed meanwhile
        _ => Error::invalid(format!("{} columns in {nrows} rows: expected ascending ones below {ncols}", columns.len)),
    }
}
