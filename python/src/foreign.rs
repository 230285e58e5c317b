//! Arrays on GPUs that are shared with other packages: by DLPack, and by the CUDA array interface.
//!
//! The Python file `_foreign.py` finds out which arrays lie on a GPU, and reads the CUDA array interface.

use crate::errors::{Class, raise};
use crate::expressions::{Expr, Stored, with_stored};
use crate::graph::{Copies, Graph, Held as Weight, Parts, unweighted, weighted};
use crate::kinds::Kind;
use crate::matrices::{Held, PyMatrix, with_any_type, with_bits};
use crate::runtime::{run, run_through, usable};
use crate::trees::Word;
use dlpark::ffi::{DLDataType, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::Fixed;
use dlpark::python::{ExportAbi, ExportRequest, from_dlpack};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;
use vxm::backend::Device;
use vxm::containers::{DeviceArray, Matrix, Symmetrize, Vector};
use vxm::formats::Csr;
use vxm::prelude::Verbs;
use vxm::semiring::Element;
use vxm::semiring::dynamic::Kind as Number;
use vxm::semiring::operators::MAX;
use vxm::{Error, Result};

/// DLPack's numbers of CUDA's memory: that of a GPU, and that which moves between the host and a GPU.
const CUDA: [DLDeviceType; 2] = [DLDeviceType(2), DLDeviceType(13)];

/// DLPack's names of numbers.
const NAMES: [(DLDataType, Number); 11] = [
    (DLDataType::BOOL, Number::Bool),
    (DLDataType::I8, Number::I8),
    (DLDataType::I16, Number::I16),
    (DLDataType::I32, Number::I32),
    (DLDataType::I64, Number::I64),
    (DLDataType::U8, Number::U8),
    (DLDataType::U16, Number::U16),
    (DLDataType::U32, Number::U32),
    (DLDataType::U64, Number::U64),
    (DLDataType::F32, Number::F32),
    (DLDataType::F64, Number::F64),
];

/// DLPack's name of elements of this kind. Structs have none.
fn name_of(kind: Kind) -> Option<DLDataType> {
    let found = NAMES.iter().find(|(_, number)| kind.layout().is_none() && *number == kind.word);
    found.map(|(name, _)| *name)
}

/// An array of another package on a GPU. It is read while the package holds it.
#[pyclass(frozen, module = "vxm._vxm")]
pub struct Foreign {
    array: DeviceArray,
    /// What keeps the memory, if the array came by DLPack.
    owner: Option<dlpark::AllocationDeleter>,
}

impl Drop for Foreign {
    /// Gives the memory back. That may run Python code of the other package, while an exception is on its way.
    fn drop(&mut self) {
        let Some(owner) = self.owner.take() else { return };
        Python::attach(|py| {
            let raised = PyErr::take(py);
            drop(owner);
            if let Some(raised) = raised {
                raised.restore(py);
            }
        });
    }
}

#[pymethods]
impl Foreign {
    /// An array that the CUDA array interface describes.
    #[staticmethod]
    fn at(py: Python<'_>, address: u64, len: usize, stride: i64, kind: &str) -> PyResult<Self> {
        let (kind, first) = (Kind::named(kind)?.word, usable(py, Device::Cuda(0))?);
        // that of no elements has no address
        let on = if len == 0 { Ok(Some(first)) } else { py.detach(|| Device::of_address(address)) };
        let Some(on) = on.map_err(|error| raise(py, &error))? else {
            let what = format!("an array at address {address:#x}: expected one on a GPU, found none there");
            return Err(Class::Device.error(py, what));
        };
        let array = DeviceArray { device: usable(py, on)?, address, len, stride, kind };
        Ok(Self { array, owner: None })
    }

    /// An array in a capsule of DLPack.
    #[staticmethod]
    fn of_capsule(py: Python<'_>, capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        let given = from_dlpack(capsule.as_borrowed(), None, None)?;
        let wrong = |what: String| Class::Input.error(py, what);
        let tensor = given.validate().map_err(|error| wrong(error.to_string()))?;
        let (on, of) = (tensor.device(), tensor.dtype());
        if !CUDA.contains(&on.device_type) {
            return Err(wrong(format!(
                "expected an array on a GPU, found one on DLPack's device {}",
                on.device_type.0
            )));
        }
        let &[len] = tensor.shape() else {
            return Err(
                Class::Shape.error(py, format!("expected an array with one axis, found {} axes", tensor.ndim()))
            );
        };
        let Some(kind) = NAMES.iter().find(|(name, _)| *name == of).map(|(_, kind)| *kind) else {
            let what = format!("DLPack's type {} of {} bits", of.code.0, of.bits);
            return Err(PyTypeError::new_err(format!(
                "expected an array of bools, integers, float32 or float64, found {what}"
            )));
        };
        let strides = tensor.strides_or_compact().map_err(|error| wrong(error.to_string()))?;
        // as addresses do, it wraps around: CuPy divides a stride of bytes that is below 0 as if it had no sign
        let stride = strides[0].wrapping_mul(kind.size() as i64);
        let address = (tensor.data_ptr() as u64).wrapping_add(tensor.byte_offset());
        let ordinal = usize::try_from(on.device_id).map_err(|_| wrong(format!("a GPU numbered {}", on.device_id)))?;
        let array =
            DeviceArray { device: usable(py, Device::Cuda(ordinal))?, address, len: len as usize, stride, kind };
        Ok(Self { array, owner: Some(given.into_deleter()) })
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.array.kind.name()
    }

    fn __len__(&self) -> usize {
        self.array.len
    }
}

/// The vector of an array, with its bits in words.
fn vector<T: Word>(array: &DeviceArray) -> Result<Stored> {
    // SAFETY: The package that holds the array describes it. `Foreign`, or the object it was made of, keeps it until this returns. The work
    // on it was done when it was taken.
    Ok(T::stored(Arc::new(unsafe { Vector::<T>::from_device_array(array) }?)))
}

/// The matrix of arrays in CSR.
fn matrix<T: Element>(
    shape: (usize, usize),
    (starts, columns): (&DeviceArray, &DeviceArray),
    values: Option<&DeviceArray>,
) -> Result<Matrix<T>> {
    // SAFETY: as in `vector`
    unsafe { Matrix::from_device_arrays(shape, starts, columns, values) }
}

/// The kinds of weights, as which other integers from 0 are taken.
const WEIGHTS: [Number; 4] = [Number::U32, Number::U64, Number::F32, Number::F64];

/// The number of entries.
fn matrix_entries(held: &Held) -> u64 {
    with_any_type!(Held, held, copies => copies.host.nnz())
}

/// Fails if one of `count` signed integers is below 0. `greatest` is the greatest of their words, whose bits are those of a number without a sign.
fn check_signs(kind: Number, count: u64, greatest: impl FnOnce() -> Result<u64>) -> Result<()> {
    let bits = match kind {
        Number::I8 => 8,
        Number::I16 => 16,
        Number::I32 => 32,
        Number::I64 => 64,
        _ => return Ok(()),
    };
    let word = if count == 0 { 0 } else { greatest()? };
    if word >> (bits - 1) == 0 {
        return Ok(());
    }
    let found = (word << (64 - bits)) as i64 >> (64 - bits);
    Err(Error::invalid(format!("data: expected integers from 0, found {found}: convert them to float64")))
}

/// Arrays in CSR: offsets, columns, and values if there are any.
type Arrays<'py> = (PyRef<'py, Foreign>, PyRef<'py, Foreign>, Option<PyRef<'py, Foreign>>);

/// Waits for what other packages do with the arrays, then runs `work` on them. It isn't interrupted, since the arrays may be freed later.
fn brought<R: Send>(py: Python<'_>, arrays: &[&DeviceArray], work: impl FnOnce() -> Result<R> + Send) -> PyResult<R> {
    let on: Vec<Device> = arrays.iter().map(|array| array.device).collect();
    run_through(py, None, || {
        on.into_iter().try_for_each(Device::synchronize_all)?;
        work()
    })
}

#[pymethods]
impl Expr {
    /// The vector of an array on a GPU.
    #[staticmethod]
    fn foreign(py: Python<'_>, array: &Foreign) -> PyResult<Self> {
        let array = array.array;
        let stored = brought(py, &[&array], || match array.kind.size() {
            8 => vector::<u64>(&array),
            _ => vector::<u32>(&array),
        });
        Ok(Self::stored(stored?, array.kind.into()))
    }

    /// The address of a full vector on its GPU; `None` on the host.
    fn device_address(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        let stored = self.readable(py)?.clone();
        let found = run_through(py, None, move || match &stored {
            Stored::Set(_) => Err(Error::invalid("the elements of a set have no value".to_owned())),
            Stored::Narrow(vector) => vector.device_address(),
            Stored::Wide(vector) => vector.device_address(),
        });
        // what DLPack and the CUDA array interface can't describe
        found.map_err(|error| match error.is_instance_of::<PyValueError>(py) {
            true => PyBufferError::new_err(error.value(py).to_string()),
            false => error,
        })
    }

    /// The capsule of DLPack for a vector on a GPU.
    #[pyo3(signature = (stream, max_version, dl_device, copy))]
    fn dlpack(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        let request = ExportRequest::parse(stream, max_version, dl_device, copy)?;
        // read so that a wrong one is an error: the work on the vector is done, so it is ready on any
        request.cuda_stream()?;
        let kind = self.0.kind;
        let Some(name) = name_of(kind) else {
            return Err(PyBufferError::new_err(format!("DLPack has no name for elements of kind {kind}")));
        };
        let is_versioned = request.abi() == ExportAbi::Versioned;
        if copy == Some(false) && !is_versioned {
            let what =
                "expected a consumer of DLPack 1.0: an older protocol can't say that a vector isn't to be written";
            return Err(PyBufferError::new_err(what));
        }
        // what an older consumer gets, it may write
        let lends = is_versioned && copy != Some(true);
        let Some(address) = self.device_address(py)? else {
            return Err(PyBufferError::new_err("expected a vector on a GPU, found one on the host"));
        };
        let on = with_stored!(self.vector()?, vector => vector.device());
        let Device::Cuda(ordinal) = on else { return Err(PyBufferError::new_err("expected a vector on a GPU")) };
        let on = DLDevice::cuda(ordinal as i32);
        if request.device().is_some_and(|asked| asked != on) {
            return Err(PyBufferError::new_err(format!(
                "expected device {:?}, on which the vector lies",
                <(u32, i32)>::from(on)
            )));
        }
        let held = self.vector()?.clone();
        let (owner, address) = if lends { (held, address) } else { copied(py, &held, (ordinal, address))? };
        let word = if kind.size() == 8 { 8 } else { 4 };
        let description = Description { on, name, address, len: self.0.len, stride: word / kind.size().max(1) };
        if !is_versioned {
            let managed: Managed<DLManagedTensor> = description.managed(owner, DlpackFlags::empty())?;
            return Ok(managed.into_pyobject(py)?.into_any().unbind());
        }
        let flags = if lends { DlpackFlags::READ_ONLY } else { DlpackFlags::IS_COPIED };
        let managed: Managed<DLManagedTensorVersioned> = description.managed(owner, flags)?;
        Ok(managed.into_pyobject(py)?.into_any().unbind())
    }
}

/// A copy of a vector on its GPU, and where it lies.
fn copied(py: Python<'_>, held: &Stored, (ordinal, address): (usize, u64)) -> PyResult<(Stored, u64)> {
    let array = |len, size, kind| DeviceArray { device: Device::Cuda(ordinal), address, len, stride: size, kind };
    let held = held.clone();
    run_through(py, None, move || {
        let copy = match &held {
            Stored::Narrow(words) => vector::<u32>(&array(words.len(), 4, Number::U32))?,
            Stored::Wide(words) => vector::<u64>(&array(words.len(), 8, Number::U64))?,
            Stored::Set(_) => return Err(Error::invalid("the elements of a set have no value".to_owned())),
        };
        let at = match &copy {
            Stored::Narrow(words) => words.device_address()?,
            Stored::Wide(words) => words.device_address()?,
            Stored::Set(_) => None,
        };
        Ok((copy, at.unwrap_or_default()))
    })
}

/// A vector as DLPack describes it.
struct Description {
    on: DLDevice,
    name: DLDataType,
    address: u64,
    len: usize,
    /// From one element to the next, counted in elements.
    stride: usize,
}

impl Description {
    /// The tensor, which keeps its owner.
    fn managed<M: ManagedTensorBase>(&self, owner: Stored, flags: DlpackFlags) -> PyResult<Managed<M>> {
        let refused = |error: &dyn std::fmt::Display| PyBufferError::new_err(error.to_string());
        let prepared = Fixed::new([self.len as i64], [self.stride as i64]).prepare_as::<M>();
        let mut made = prepared.map_err(|error| refused(&error))?.initialize(Box::new(owner));
        made.set_device(self.on).set_dtype(self.name).set_data(self.address as *mut _);
        // SAFETY: A copy has no other owner, and only what is lent is marked as not to be written. The owner keeps the memory, and the vector is
        // never written.
        unsafe {
            made.set_flags_unchecked(flags);
            Ok(made.finish())
        }
    }
}

#[pymethods]
impl PyMatrix {
    /// The matrix of arrays in CSR on a GPU.
    #[staticmethod]
    fn foreign(py: Python<'_>, shape: (usize, usize), arrays: Arrays<'_>) -> PyResult<Self> {
        let (starts, columns) = (arrays.0.array, arrays.1.array);
        let values = arrays.2.as_ref().map(|values| values.array);
        let held = brought(py, &[&starts, &columns], || {
            let places = (&starts, &columns);
            Ok(match values {
                None => Held::Pattern(Copies::of(matrix::<()>(shape, places, None)?)),
                Some(values) if values.kind.size() == 8 => Held::of(matrix::<u64>(shape, places, Some(&values))?),
                Some(values) => Held::of(matrix::<u32>(shape, places, Some(&values))?),
            })
        });
        Ok(Self { held: held?, kind: values.map_or(Kind::UNIT, |values| values.kind.into()) })
    }

    /// Row offsets, columns and values as vectors, where the matrix lies.
    fn vectors(&self, py: Python<'_>) -> PyResult<(Expr, Expr, Option<Expr>)> {
        fn of<T: Element>(a: &Matrix<T>) -> Result<(Stored, Stored, Vector<T>)> {
            let (starts, columns, values) = a.to_vectors()?;
            Ok((Stored::Wide(Arc::new(starts)), Stored::Narrow(Arc::new(columns)), values))
        }
        let (held, device) = (self.held.clone(), self.usable(py)?);
        let (starts, columns, values) = run(py, None, device, move || {
            Ok(match held {
                Held::Pattern(copies) => {
                    let (starts, columns, _) = of(&copies.host)?;
                    (starts, columns, None)
                }
                Held::Narrow(copies) => {
                    let (starts, columns, values) = of(&copies.host)?;
                    (starts, columns, Some(Stored::Narrow(Arc::new(values))))
                }
                Held::Wide(copies) => {
                    let (starts, columns, values) = of(&copies.host)?;
                    (starts, columns, Some(Stored::Wide(Arc::new(values))))
                }
            })
        })?;
        let values = values.map(|values| Expr::stored(values, self.kind));
        Ok((Expr::stored(starts, Number::U64.into()), Expr::stored(columns, Number::U32.into()), values))
    }
}

#[pymethods]
impl Graph {
    /// The graph of arrays in CSR on a GPU.
    #[staticmethod]
    fn foreign(
        py: Python<'_>,
        shape: (usize, usize),
        arrays: Arrays<'_>,
        directed: bool,
        symmetrize: &str,
    ) -> PyResult<Self> {
        fn of<T: Weight>(
            shape: (usize, usize),
            places: (&DeviceArray, &DeviceArray),
            values: &DeviceArray,
            (directed, how): (bool, Symmetrize),
        ) -> Result<Parts> {
            weighted(matrix::<T>(shape, places, Some(values))?, directed, how)
        }
        let how: Symmetrize = symmetrize.parse().map_err(|error| raise(py, &error))?;
        let (starts, columns) = (arrays.0.array, arrays.1.array);
        let values = arrays.2.as_ref().map(|values| values.array);
        let parts = brought(py, &[&starts, &columns], || {
            let (places, asked) = ((&starts, &columns), (directed, how));
            if let Some(values) = &values {
                // SAFETY: as in `vector`
                let greatest = || unsafe {
                    Ok(match values.kind.size() {
                        8 => Vector::<u64>::from_device_array(values)?.reduce(MAX)?,
                        _ => Vector::<u32>::from_device_array(values)?.reduce(MAX)?.into(),
                    })
                };
                check_signs(values.kind, values.len as u64, greatest)?;
            }
            match values {
                None => unweighted(matrix::<()>(shape, places, None)?, directed, how),
                // as on the host, where an empty array has no type
                Some(values) if values.len == 0 && !WEIGHTS.contains(&values.kind) => {
                    of::<f64>(shape, places, &DeviceArray { kind: Number::F64, ..values }, asked)
                }
                Some(values) => match values.kind {
                    Number::F32 => of::<f32>(shape, places, &values, asked),
                    Number::F64 => of::<f64>(shape, places, &values, asked),
                    // of what isn't below 0, the bits are those of a number without a sign
                    Number::U64 | Number::I64 => of::<u64>(shape, places, &values, asked),
                    _ => of::<u32>(shape, places, &values, asked),
                },
            }
        });
        Ok(Self::of(parts?, directed))
    }

    /// The graph of a matrix with entries of a kind that can be weights, or none. It lies where the matrix does, and shares its arrays.
    #[staticmethod]
    fn of_matrix(py: Python<'_>, matrix: &PyMatrix, directed: bool, symmetrize: &str) -> PyResult<Self> {
        let how: Symmetrize = symmetrize.parse().map_err(|error| raise(py, &error))?;
        let (held, kind) = (matrix.held.clone(), matrix.kind);
        let device = matrix.usable(py)?;
        let parts = run(py, None, device, move || {
            let nnz = matrix_entries(&held);
            if nnz == 0 && kind.word != Number::Unit && !WEIGHTS.contains(&kind.word) {
                let (m, n) = held.shape();
                return weighted(Matrix::<f64>::from_csr(Csr::empty(m, n)?), directed, how);
            }
            match (held, kind.word) {
                (Held::Pattern(copies), _) => unweighted(Matrix::clone(&copies.host), directed, how),
                (Held::Narrow(copies), Number::F32) => {
                    weighted(with_bits::<f32, u32>(&copies, kind.word)?, directed, how)
                }
                (Held::Wide(copies), Number::F64) => {
                    weighted(with_bits::<f64, u64>(&copies, kind.word)?, directed, how)
                }
                (Held::Narrow(copies), _) => {
                    check_signs(kind.word, nnz, || Ok(copies.host.reduce(MAX)?.into()))?;
                    weighted(Matrix::clone(&copies.host), directed, how)
                }
                (Held::Wide(copies), _) => {
                    check_signs(kind.word, nnz, || copies.host.reduce(MAX))?;
                    weighted(Matrix::clone(&copies.host), directed, how)
                }
            }
        });
        Ok(Self::of(parts?, directed))
    }
}
