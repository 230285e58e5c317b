//! NumPy arrays of the types that the engine takes.

use crate::errors::Class;
use numpy::{Element, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;
use vxm::algorithms::sssp::Distance;
use vxm::{Error, Result};

/// Integers of CSR or COO arrays.
pub enum Integers<'py> {
    I32(PyReadonlyArray1<'py, i32>),
    I64(PyReadonlyArray1<'py, i64>),
}

/// Weights: one for each entry.
pub enum Weights<'py> {
    U32(PyReadonlyArray1<'py, u32>),
    U64(PyReadonlyArray1<'py, u64>),
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
}

/// A type of weights, in NumPy and in the engine.
pub trait Weight: Distance + Element {}
impl Weight for u32 {}
impl Weight for u64 {}
impl Weight for f32 {}
impl Weight for f64 {}

/// The exception for an array of a type that isn't taken.
fn refused(array: &Bound<'_, PyUntypedArray>, expected: &str) -> PyErr {
    let found = format!("{} with {} axes", array.dtype(), array.ndim());
    Class::Input.error(array.py(), format!("expected a contiguous array of {expected}, found {found}"))
}

impl<'a, 'py> FromPyObject<'a, 'py> for Integers<'py> {
    type Error = PyErr;
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.extract::<PyReadonlyArray1<'py, i32>>() {
            return Ok(Self::I32(array));
        }
        let array = object.extract::<PyReadonlyArray1<'py, i64>>();
        array.map(Self::I64).map_err(|_| match object.cast::<PyUntypedArray>() {
            Ok(array) => refused(&array, "int32 or int64"),
            Err(error) => error.into(),
        })
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Weights<'py> {
    type Error = PyErr;
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.extract() {
            return Ok(Self::U32(array));
        }
        if let Ok(array) = object.extract() {
            return Ok(Self::U64(array));
        }
        if let Ok(array) = object.extract() {
            return Ok(Self::F32(array));
        }
        object.extract().map(Self::F64).map_err(|_: PyErr| match object.cast::<PyUntypedArray>() {
            Ok(array) => refused(&array, "uint32, uint64, float32 or float64"),
            Err(error) => error.into(),
        })
    }
}

/// Edges of two arrays of integers, in several lists.
pub fn edges<I: vxm::formats::Index>(rows: &[I], columns: &[I], n: usize) -> Result<Vec<Vec<(u32, u32)>>> {
    if rows.len() != columns.len() {
        return Err(Error::invalid(format!("{} rows but {} columns", rows.len(), columns.len())));
    }
    let vertex = |index: I| index.get().filter(|&index| index < n as u64).map(|index| index as u32);
    let chunk = rows.len().div_ceil(4 * rayon::current_num_threads()).max(1);
    let lists = rows.par_chunks(chunk).zip(columns.par_chunks(chunk)).map(|(rows, columns)| {
        let pairs = rows.iter().zip(columns).map(|(&row, &column)| Some((vertex(row)?, vertex(column)?)));
        pairs.collect::<Option<Vec<_>>>()
    });
    let lists: Option<Vec<_>> = lists.collect();
    lists.ok_or_else(|| {
        let wrong = |&(row, column): &(&I, &I)| vertex(*row).is_none() || vertex(*column).is_none();
        let named = rows.iter().zip(columns).find(wrong).map(|(row, column)| format!("({row}, {column})"));
        let vertices = if n == 1 { "vertex" } else { "vertices" };
        Error::invalid(format!("the edge {} lies outside a graph of {n} {vertices}", named.unwrap_or_default()))
    })
}
