//! Matrices of any shape, as Python code holds them. Their elements are words that hold the bits of a kind's values: `u32` for kinds of up
//! to 32 bits, `u64` for wider ones. The kind `()` makes patterns.
//!
//! The Python file `_matrix.py` checks kinds and indices before it calls these functions. `matrix_verbs.rs` has the verbs.

use crate::algorithms::{How, Place};
use crate::arrays::Integers;
use crate::errors::{Class, raise};
use crate::graph::{Copies, Graph, Weighted, pattern, with_integers};
use crate::kinds::Kind;
use crate::programs::{self, Program};
use crate::runtime::{run, run_through, usable};
use crate::trees::{Word, invalid};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use vxm::backend::Device;
use vxm::containers::Matrix;
use vxm::formats::{Combine, Coo, Csr, Duplicates, Index, Refuse};
use vxm::prelude::MatrixMask;
use vxm::semiring::Element;
use vxm::semiring::dynamic::{self, Builder, DynBinary, DynUnary};
use vxm::{Error, Result, memory};

/// A matrix of words, or without values, with its copies on devices.
#[derive(Clone)]
pub enum Held {
    Pattern(Arc<Copies<()>>),
    Narrow(Arc<Copies<u32>>),
    Wide(Arc<Copies<u64>>),
}

/// The copy of such a matrix on a device.
pub enum Entries {
    Pattern(Arc<Matrix>),
    Narrow(Arc<Matrix<u32>>),
    Wide(Arc<Matrix<u64>>),
}

/// Calls `$use` with a copy of any type.
macro_rules! with_entries {
    ($entries:expr, $a:ident => $use:expr) => {
        $crate::matrices::with_any_type!(Entries, $entries, $a => $use)
    };
}

/// Calls `$use` with what `$of` holds, an [`Entries`] or a [`Held`].
macro_rules! with_any_type {
    ($of:ident, $held:expr, $a:ident => $use:expr) => {
        match $held {
            $crate::matrices::$of::Pattern($a) => $use,
            $crate::matrices::$of::Narrow($a) => $use,
            $crate::matrices::$of::Wide($a) => $use,
        }
    };
}
pub(crate) use with_any_type;
pub(crate) use with_entries;

impl Held {
    pub fn of<T: Word>(matrix: Matrix<T>) -> Self {
        T::held(Copies::of(matrix))
    }

    /// The pattern or the weights of a graph.
    pub fn of_graph(graph: &Graph, weighted: bool) -> Result<Self> {
        let Some(weights) = graph.weights.as_ref().filter(|_| weighted) else {
            return Ok(Self::Pattern(graph.pattern.clone()));
        };
        Ok(match weights {
            Weighted::U32(copies) => Self::Narrow(copies.clone()),
            Weighted::U64(copies) => Self::Wide(copies.clone()),
            Weighted::F32(copies) => Self::Narrow(graph.narrow.get_or_try(|| as_words(copies, dynamic::Kind::F32))?),
            Weighted::F64(copies) => Self::Wide(graph.wide.get_or_try(|| as_words(copies, dynamic::Kind::F64))?),
        })
    }

    /// The matrix on a device.
    pub fn on(&self, device: Device) -> Result<Entries> {
        Ok(match self {
            Self::Pattern(copies) => Entries::Pattern(copies.on(device, None)?),
            Self::Narrow(copies) => Entries::Narrow(copies.on(device, None)?),
            Self::Wide(copies) => Entries::Wide(copies.on(device, None)?),
        })
    }

    /// Numbers of rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        with_any_type!(Held, self, copies => (copies.host.nrows(), copies.host.ncols()))
    }
}

impl Entries {
    /// The places that hold an entry; or those that don't.
    pub fn mask(&self, complement: bool) -> MatrixMask<'_> {
        with_entries!(self, a => if complement { !&**a } else { MatrixMask::from(&**a) })
    }
}

/// The matrix of the bits of another one's entries.
fn as_words<A: Element, W: Element>(copies: &Copies<A>, kind: dynamic::Kind) -> Result<Arc<Copies<W>>> {
    Ok(Copies::of(with_bits::<W, A>(copies, kind)?))
}

/// The matrix of the entries whose bits are those of another one's: numbers of this kind.
pub fn with_bits<A: Element, W: Element>(copies: &Copies<W>, kind: dynamic::Kind) -> Result<Matrix<A>> {
    let code = Builder::new("bits", &[kind]).map_err(invalid)?;
    let entry = code.parameter(0).map_err(invalid)?;
    let op = DynUnary::<W, A>::new(code.finish(entry).map_err(invalid)?).map_err(invalid)?;
    copies.host.map(op)
}

/// The words of entries.
#[derive(FromPyObject)]
pub enum Words<'py> {
    Narrow(PyReadonlyArray1<'py, u32>),
    Wide(PyReadonlyArray1<'py, u64>),
}

/// A matrix. `vxm.Matrix` wraps it.
#[pyclass(frozen, name = "Matrix", module = "vxm._vxm")]
pub struct PyMatrix {
    pub held: Held,
    pub kind: Kind,
}

/// A matrix of triples, in the order given.
fn of_triples<T: Word>(
    (m, n): (usize, usize),
    (rows, columns): (&[u32], &[u32]),
    words: impl Iterator<Item = T>,
    duplicates: impl Duplicates<T>,
) -> Result<Held> {
    // triples, pairs sorted by row, and the result
    let bytes = 3 * rows.len() as u128 * (8 + size_of::<T>() as u128) + 24 * m as u128;
    memory::require(bytes, || format!("Matrix: {} entries", rows.len()))?;
    let triples = rows.iter().zip(columns).zip(words).map(|((&i, &j), word)| (i, j, word));
    Ok(Held::of(Matrix::from_csr(Coo::from_triples(m, n, triples)?.to_csr(duplicates)?)))
}

/// A matrix of triples with values.
fn of_words<T: Word>(
    shape: (usize, usize),
    places: (&[u32], &[u32]),
    words: &[T],
    duplicates: Option<dynamic::Program>,
) -> Result<Held> {
    let words = words.iter().copied();
    match duplicates {
        None => of_triples(shape, places, words, Refuse),
        Some(op) => of_triples(shape, places, words, Combine(DynBinary::<T, T, T>::new(op).map_err(invalid)?)),
    }
}

/// A matrix of the arrays of CSR.
fn of_arrays<T: Word, O: Index, C: Index>(
    (m, n): (usize, usize),
    starts: &[O],
    columns: &[C],
    words: &[T],
) -> Result<Held> {
    Ok(Held::of(Matrix::from_csr(Csr::from_arrays(m, n, starts, columns, words.to_vec())?)))
}

/// Row offsets, columns and values.
type Arrays<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>, Option<Bound<'py, PyAny>>);

impl PyMatrix {
    /// The device that the matrix lies on, if this process can use it.
    pub fn usable(&self, py: Python<'_>) -> PyResult<Device> {
        usable(py, with_any_type!(Held, &self.held, copies => copies.host.device()))
    }
}

#[pymethods]
impl PyMatrix {
    /// A matrix of triples.
    #[staticmethod]
    fn from_coo(
        py: Python<'_>,
        kind: &str,
        shape: (usize, usize),
        rows: PyReadonlyArray1<'_, u32>,
        columns: PyReadonlyArray1<'_, u32>,
        words: Option<Words<'_>>,
        duplicates: Option<&Program>,
    ) -> PyResult<Self> {
        let (places, duplicates) = ((rows.as_slice()?, columns.as_slice()?), duplicates.map(|op| op.code));
        let held = match &words {
            None => {
                let units = std::iter::repeat_n((), places.0.len());
                run_through(py, None, || of_triples(shape, places, units, vxm::formats::First))
            }
            Some(Words::Narrow(words)) => {
                let words = words.as_slice()?;
                run_through(py, None, || of_words(shape, places, words, duplicates))
            }
            Some(Words::Wide(words)) => {
                let words = words.as_slice()?;
                run_through(py, None, || of_words(shape, places, words, duplicates))
            }
        };
        Ok(Self { held: held?, kind: Kind::named(kind)? })
    }

    /// A matrix of the arrays of CSR.
    #[staticmethod]
    fn from_csr(
        py: Python<'_>,
        kind: &str,
        shape: (usize, usize),
        indptr: Integers<'_>,
        indices: Integers<'_>,
        words: Option<Words<'_>>,
    ) -> PyResult<Self> {
        let held = match &words {
            None => Held::of(Matrix::from_csr(pattern(py, None, shape, &indptr, &indices)?)),
            Some(Words::Narrow(words)) => {
                let words = words.as_slice()?;
                with_integers!(py, indptr, indices, |r, c| run_through(py, None, || of_arrays(shape, r, c, words))?)
            }
            Some(Words::Wide(words)) => {
                let words = words.as_slice()?;
                with_integers!(py, indptr, indices, |r, c| run_through(py, None, || of_arrays(shape, r, c, words))?)
            }
        };
        Ok(Self { held, kind: Kind::named(kind)? })
    }

    /// The matrix of a file, with values of `f64`.
    #[staticmethod]
    fn from_file(py: Python<'_>, path: PathBuf, input: Option<&str>) -> PyResult<Self> {
        let asked: Option<vxm::io::FileFormat> =
            input.map(str::parse).transpose().map_err(|error: Error| raise(py, &error))?;
        let held = run(py, None, Device::Cpu, move || {
            let rows = match asked {
                Some(format) => vxm::io::read_matrix_as::<f64>(&path, format, &())?,
                None => vxm::io::read_matrix::<f64>(&path, &())?,
            };
            Ok(Held::Wide(as_words(&*Copies::of(Matrix::from_csr(rows)), dynamic::Kind::F64)?))
        });
        Ok(Self { held: held?, kind: dynamic::Kind::F64.into() })
    }

    /// The pattern of a graph, or the matrix of its weights, which have this kind.
    #[staticmethod]
    fn of_graph(py: Python<'_>, graph: Py<Graph>, kind: &str) -> PyResult<Self> {
        let kind = Kind::named(kind)?;
        let held = run(py, None, Device::Cpu, move || Held::of_graph(graph.get(), kind != Kind::UNIT))?;
        Ok(Self { held, kind })
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.held.shape()
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.kind.name()
    }

    #[getter]
    fn nvals(&self) -> u64 {
        with_any_type!(Held, &self.held, copies => copies.host.nnz())
    }

    /// The device that the matrix lies on.
    #[getter]
    fn device(&self) -> String {
        with_any_type!(Held, &self.held, copies => copies.host.device().to_string())
    }

    /// Row offsets, columns and words.
    fn csr<'py>(&self, py: Python<'py>) -> PyResult<Arrays<'py>> {
        fn arrays<'py, T: Element>(
            py: Python<'py>,
            a: &Matrix<T>,
        ) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>) {
            let offsets: Vec<i64> = a.csr().offsets().iter().map(|&offset| offset as i64).collect();
            (offsets.into_pyarray(py), a.csr().columns().to_vec().into_pyarray(py))
        }
        self.usable(py)?;
        let entries = self.held.on(Device::Cpu).map_err(|error| raise(py, &error))?;
        let (offsets, columns) = with_entries!(&entries, a => arrays(py, a));
        let words = match &entries {
            Entries::Pattern(_) => None,
            Entries::Narrow(a) => Some(a.csr().values().to_vec().into_pyarray(py).into_any()),
            Entries::Wide(a) => Some(a.csr().values().to_vec().into_pyarray(py).into_any()),
        };
        Ok((offsets, columns, words))
    }

    /// The entry at a place, as a Python object; `None` if there is none. Of a pattern, whether there is one.
    fn get(&self, py: Python<'_>, row: u32, column: u32) -> PyResult<Py<PyAny>> {
        let (m, n) = self.held.shape();
        if row as usize >= m || column as usize >= n {
            let what = format!("place ({row}, {column}) lies outside a matrix of {m} x {n}");
            return Err(Class::Input.error(py, what));
        }
        self.usable(py)?;
        let found = match self.held.on(Device::Cpu).map_err(|error| raise(py, &error))? {
            Entries::Pattern(a) => {
                return Ok(a.get(row, column).is_some().into_pyobject(py)?.to_owned().into_any().unbind());
            }
            Entries::Narrow(a) => a.get(row, column).map(u64::from),
            Entries::Wide(a) => a.get(row, column),
        };
        found.map_or(Ok(py.None()), |bits| programs::value(py, self.kind, bits))
    }

    /// Whether both have the same shape and the same entries, bit for bit.
    fn equals(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        if self.kind != other.kind {
            return Ok(false);
        }
        self.usable(py)?;
        other.usable(py)?;
        let (one, another) = (self.held.clone(), other.held.clone());
        run(py, None, Device::Cpu, move || {
            Ok(match (one.on(Device::Cpu)?, another.on(Device::Cpu)?) {
                (Entries::Pattern(a), Entries::Pattern(b)) => a == b,
                (Entries::Narrow(a), Entries::Narrow(b)) => a == b,
                (Entries::Wide(a), Entries::Wide(b)) => a == b,
                _ => false,
            })
        })
    }

    /// The matrix on a device.
    fn to_device(&self, py: Python<'_>, place: Place) -> PyResult<Self> {
        let (how, held) = (How::of(py, place)?, self.held.clone());
        let moved = run(py, how.threads, how.device, move || {
            Ok(with_entries!(held.on(how.device)?, a => Held::of(Matrix::clone(&a))))
        })?;
        Ok(Self { held: moved, kind: self.kind })
    }
}
