//! Graphs: a pattern, and weights if there are any, with copies on the devices that have used them.

use crate::arrays::{self, Integers, Weight, Weights};
use crate::errors::raise;
use crate::runtime::{run, run_through, usable};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use vxm::backend::Device;
use vxm::backend::plan::Format;
use vxm::containers::{Matrix, Symmetrize};
use vxm::formats::{Combine, Coo, Csr, Directions, First, Index};
use vxm::io::{Columns, FileFormat, Numbering, ReadAs, Report};
use vxm::semiring::MIN;
use vxm::{Error, Result, memory};

/// The weights of a graph's edges, as a matrix.
#[derive(Clone)]
pub enum Weighted {
    U32(Arc<Copies<u32>>),
    U64(Arc<Copies<u64>>),
    F32(Arc<Copies<f32>>),
    F64(Arc<Copies<f64>>),
}

/// A matrix, and its copies on devices and in formats.
pub struct Copies<T: vxm::semiring::Element> {
    /// The matrix where it was made: on the host, but for a result of a GPU.
    pub host: Arc<Matrix<T>>,
    made: Mutex<Made<T>>,
}

/// Copies of a matrix, by device and format.
type Made<T> = HashMap<(Device, Option<Format>), Arc<Matrix<T>>>;

impl<T: vxm::semiring::Element> Copies<T> {
    pub fn of(host: Matrix<T>) -> Arc<Self> {
        Arc::new(Self { host: Arc::new(host), made: Mutex::default() })
    }

    /// The matrix on a device and in a format. A copy is made at the first call.
    pub fn on(&self, device: Device, format: Option<Format>) -> Result<Arc<Matrix<T>>> {
        if device == self.host.device() && format.is_none() {
            return Ok(self.host.clone());
        }
        let made =
            |copies: &Self| copies.made.lock().unwrap_or_else(PoisonError::into_inner).get(&(device, format)).cloned();
        if let Some(copy) = made(self) {
            return Ok(copy);
        }
        let copy = Arc::new(Matrix::clone(&self.host).with_format(format).to(device)?);
        let mut held = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(held.entry((device, format)).or_insert(copy).clone())
    }
}

/// What a graph is made of.
pub struct Parts {
    pattern: Matrix,
    weights: Option<Weighted>,
    name: Option<String>,
    numbering: Numbering,
    report: Option<Report>,
}

impl Parts {
    pub fn of(pattern: Matrix, weights: Option<Weighted>) -> Self {
        Self { pattern, weights, name: None, numbering: Numbering::From(0), report: None }
    }
}

/// A type of weights that [`Weighted`] holds.
pub trait Held: Weight {
    fn held(matrix: Matrix<Self>) -> Weighted;
}

macro_rules! held {
    ($($t:ty: $variant:ident),*) => {$(
        impl Held for $t {
            fn held(matrix: Matrix<Self>) -> Weighted {
                Weighted::$variant(Copies::of(matrix))
            }
        }
    )*};
}
held!(u32: U32, u64: U64, f32: F32, f64: F64);

/// Row offsets and columns.
type Places<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>);

/// A graph. `vxm.Graph` wraps it.
#[pyclass(frozen, module = "vxm._vxm")]
pub struct Graph {
    pub pattern: Arc<Copies<()>>,
    pub weights: Option<Weighted>,
    pub directed: bool,
    name: Option<String>,
    numbering: Numbering,
    report: Option<Report>,
    /// The bits of weights of `f32`, and of `f64`: what operators made at run time read.
    pub narrow: Once<u32>,
    pub wide: Once<u64>,
}

/// Copies of a matrix that are made at the first use.
pub struct Once<T: vxm::semiring::Element>(Mutex<Option<Arc<Copies<T>>>>);

impl<T: vxm::semiring::Element> Once<T> {
    /// The copies, which `make` makes at the first call.
    pub fn get_or_try(&self, make: impl FnOnce() -> Result<Arc<Copies<T>>>) -> Result<Arc<Copies<T>>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copies) = &*held {
            return Ok(copies.clone());
        }
        Ok(held.insert(make()?).clone())
    }
}

impl Graph {
    pub fn of(parts: Parts, directed: bool) -> Self {
        let Parts { pattern, weights, name, numbering, report } = parts;
        let (narrow, wide) = (Once(Mutex::default()), Once(Mutex::default()));
        Self { pattern: Copies::of(pattern), weights, directed, name, numbering, report, narrow, wide }
    }
}

/// A graph of a matrix with weights. Undirected graphs: symmetric, of two weights the lesser.
pub fn weighted<T: Held>(found: Matrix<T>, directed: bool, symmetrize: Symmetrize) -> Result<Parts> {
    found.to_digraph()?;
    if directed {
        return Ok(Parts::of(found.pattern(), Some(T::held(found))));
    }
    let symmetric = match symmetrize {
        Symmetrize::Union => found.ewise_add(&found.transpose(), MIN)?,
        _ => found,
    };
    if !symmetric.equals_transpose()? {
        let (i, j) = symmetric.csr().asymmetry().unwrap_or_default();
        let what = format!("found entry ({i}, {j}) without an equal entry ({j}, {i})");
        return Err(Error::invalid(format!("expected an undirected graph (a symmetric matrix), {what}")));
    }
    let pattern = symmetric.pattern().symmetrized(Symmetrize::Check)?;
    Ok(Parts::of(pattern, Some(T::held(symmetric))))
}

/// The formats of lists of edges, which are no matrices.
const LISTS: [FileFormat; 5] =
    [FileFormat::Edges, FileFormat::Names, FileFormat::GraphMl, FileFormat::Parquet, FileFormat::Arrow];

/// The columns of both ends, and perhaps that of weights.
fn chosen(names: &[String]) -> Result<Columns> {
    match names {
        [from, to] => Ok(Columns::new(from, to)),
        [from, to, weight] => Ok(Columns::new(from, to).weighted(weight)),
        _ => Err(Error::invalid(format!("columns: expected two or three, found {}", names.len()))),
    }
}

/// A matrix of integers as real numbers.
fn in_reals(rows: Csr<u32>) -> Result<Csr<f64>> {
    let (nrows, ncols, offsets, columns, values) = rows.into_parts();
    Csr::try_new(nrows, ncols, offsets, columns, values.into_iter().map(f64::from).collect())
}

/// A graph of a matrix without weights.
pub fn unweighted(found: Matrix, directed: bool, symmetrize: Symmetrize) -> Result<Parts> {
    if directed {
        found.to_digraph()?;
        return Ok(Parts::of(found, None));
    }
    Ok(Parts::of(found.symmetrized(symmetrize)?, None))
}

/// A graph of edges without weights. Duplicates and, if it is undirected, self-loops are dropped.
fn of_edges<I: Index>(n: usize, rows: &[I], columns: &[I], directed: bool) -> Result<Parts> {
    memory::require(40 * n as u128 + 24 * rows.len() as u128, || format!("Graph: {} edges", rows.len()))?;
    let edges = arrays::edges(rows, columns, n)?;
    if directed {
        let triples = edges.into_iter().flatten().map(|(i, j)| (i, j, ()));
        return Ok(Parts::of(Matrix::from_coo(&Coo::from_triples(n, n, triples)?, First)?, None));
    }
    let cleaned = vxm::formats::undirected(n, edges, Directions::Ignored)?;
    let report = Some(Report::from(&cleaned));
    Ok(Parts { report, ..Parts::of(Matrix::from_simple(cleaned.graph), None) })
}

/// A graph of edges with weights. Of parallel edges the lightest counts.
fn of_weighted_edges<I: Index, T: Held>(
    n: usize,
    rows: &[I],
    columns: &[I],
    values: &[T],
    directed: bool,
) -> Result<Parts> {
    if values.len() != rows.len() {
        return Err(Error::invalid(format!("{} edges but {} values", rows.len(), values.len())));
    }
    memory::require(40 * n as u128 + 64 * rows.len() as u128, || format!("Graph: {} edges", rows.len()))?;
    let edges = arrays::edges(rows, columns, n)?;
    let there = edges.iter().flatten().zip(values).map(|(&(i, j), &value)| (i, j, value));
    let back = edges.iter().flatten().zip(values).map(|(&(i, j), &value)| (j, i, value));
    let triples = there.chain(back.take(if directed { 0 } else { values.len() }));
    let rows = Coo::from_triples(n, n, triples)?.to_csr(Combine(MIN))?;
    weighted(Matrix::from_csr(rows), directed, Symmetrize::Check)
}

/// Calls `$run` with the slices of two arrays of integers, if they have one type.
macro_rules! with_integers {
    ($py:expr, $rows:expr, $columns:expr, |$r:ident, $c:ident| $run:expr) => {
        match (&$rows, &$columns) {
            (Integers::I32(r), Integers::I32(c)) => {
                let ($r, $c) = (r.as_slice()?, c.as_slice()?);
                $run
            }
            (Integers::I64(r), Integers::I64(c)) => {
                let ($r, $c) = (r.as_slice()?, c.as_slice()?);
                $run
            }
            _ => {
                let error = Error::invalid("expected two arrays of one type of integers, found int32 and int64");
                return Err(raise($py, &error));
            }
        }
    };
}

pub(crate) use with_integers;

/// The pattern of a matrix in CSR.
pub fn pattern(
    py: Python<'_>,
    threads: Option<usize>,
    (m, n): (usize, usize),
    starts: &Integers<'_>,
    columns: &Integers<'_>,
) -> PyResult<Csr<()>> {
    Ok(with_integers!(py, starts, columns, |r, c| run_through(py, threads, || {
        Csr::from_arrays(m, n, r, c, vec![(); c.len()])
    })?))
}

/// Calls `$run` with a slice of weights of any type.
macro_rules! with_weights {
    ($weights:expr, |$w:ident| $run:expr) => {
        match $weights {
            Weights::U32(w) => {
                let $w = w.as_slice()?;
                $run
            }
            Weights::U64(w) => {
                let $w = w.as_slice()?;
                $run
            }
            Weights::F32(w) => {
                let $w = w.as_slice()?;
                $run
            }
            Weights::F64(w) => {
                let $w = w.as_slice()?;
                $run
            }
        }
    };
}

#[pymethods]
impl Graph {
    /// A graph of the arrays of a matrix in CSR.
    #[staticmethod]
    fn from_csr(
        py: Python<'_>,
        shape: (usize, usize),
        indptr: Integers<'_>,
        indices: Integers<'_>,
        data: Option<Weights<'_>>,
        directed: bool,
        symmetrize: &str,
    ) -> PyResult<Self> {
        let how: Symmetrize = symmetrize.parse().map_err(|error| raise(py, &error))?;
        let (m, n) = shape;
        let parts = match data {
            None => {
                let rows = pattern(py, None, shape, &indptr, &indices)?;
                run(py, None, Device::Cpu, move || unweighted(Matrix::from_csr(rows), directed, how))?
            }
            Some(data) => with_weights!(data, |w| {
                let rows = with_integers!(py, indptr, indices, |r, c| run_through(py, None, || {
                    Csr::from_arrays(m, n, r, c, w.to_vec())
                })?);
                run(py, None, Device::Cpu, move || weighted(Matrix::from_csr(rows), directed, how))?
            }),
        };
        Ok(Self::of(parts, directed))
    }

    /// A graph of `n` vertices with the given edges.
    #[staticmethod]
    fn from_coo(
        py: Python<'_>,
        n: usize,
        rows: Integers<'_>,
        columns: Integers<'_>,
        values: Option<Weights<'_>>,
        directed: bool,
    ) -> PyResult<Self> {
        let parts = match values {
            None => with_integers!(py, rows, columns, |r, c| run_through(py, None, || of_edges(n, r, c, directed))?),
            Some(values) => with_weights!(values, |w| with_integers!(py, rows, columns, |r, c| {
                run_through(py, None, || of_weighted_edges(n, r, c, w, directed))?
            })),
        };
        Ok(Self::of(parts, directed))
    }

    /// The graph of a file, or a generated one.
    #[staticmethod]
    fn from_file(
        py: Python<'_>,
        path: PathBuf,
        weights: bool,
        directed: bool,
        symmetrize: &str,
        input: Option<&str>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let how: Symmetrize = symmetrize.parse().map_err(|error| raise(py, &error))?;
        let asked: Option<FileFormat> = input.map(str::parse).transpose().map_err(|error: Error| raise(py, &error))?;
        let columns: Option<Columns> =
            columns.map(|names| chosen(&names)).transpose().map_err(|error: Error| raise(py, &error))?;
        let parts = run(py, None, Device::Cpu, move || {
            let read_as = ReadAs::from(asked);
            let read_as = columns.as_ref().map_or(read_as, |columns| read_as.columns(columns));
            if !weights && !directed {
                let loaded = vxm::io::read_as(&path, read_as, &())?;
                let parts = Parts::of(Matrix::from_simple(loaded.graph), None);
                let (name, report) = (Some(loaded.name), Some(loaded.report));
                return Ok(Parts { name, numbering: loaded.numbering, report, ..parts });
            }
            if !weights {
                let loaded = vxm::io::read_digraph_as(&path, read_as, &())?;
                let (name, report) = (Some(loaded.name), Some(loaded.report));
                let parts = Parts::of(Matrix::from_csr(loaded.graph), None);
                return Ok(Parts { name, numbering: loaded.numbering, report, ..parts });
            }
            // a pipe can't be looked at before it is read
            let format = match asked {
                None if path.is_file() => Some(FileFormat::of_file(&path)?),
                asked => asked,
            };
            if columns.is_some() || format.is_some_and(|format| LISTS.contains(&format)) {
                let (rows, name, report, numbering) = match vxm::io::read_weighted_as(&path, read_as, &())? {
                    vxm::io::Weighted::Real(loaded) => (loaded.graph, loaded.name, loaded.report, loaded.numbering),
                    vxm::io::Weighted::Integer(loaded) => {
                        (in_reals(loaded.graph)?, loaded.name, loaded.report, loaded.numbering)
                    }
                    vxm::io::Weighted::None(loaded) => {
                        let expected = "no weights: expected columns=(FROM, TO, WEIGHT)";
                        return Err(Error::invalid(format!("{}: {expected}", loaded.name)));
                    }
                };
                let parts = weighted(Matrix::from_csr(rows), directed, how)?;
                return Ok(Parts { name: Some(name), numbering, report: Some(report), ..parts });
            }
            let rows = vxm::io::read_matrix_as::<f64>(&path, asked, &())?;
            let parts = weighted(Matrix::from_csr(rows), directed, how)?;
            let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            Ok(Parts { name, numbering: Numbering::From(1), ..parts })
        })?;
        Ok(Self::of(parts, directed))
    }

    #[getter]
    fn vertices(&self) -> usize {
        self.pattern.host.nrows()
    }

    #[getter]
    fn entries(&self) -> u64 {
        self.pattern.host.nnz()
    }

    /// The device that the graph lies on.
    #[getter]
    fn device(&self) -> String {
        self.pattern.host.device().to_string()
    }

    #[getter]
    fn directed(&self) -> bool {
        self.directed
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What was changed to make the graph simple; `None` if nothing was, or if nothing was counted.
    #[getter]
    fn report(&self) -> Option<String> {
        self.report.filter(|report| !report.is_clean()).map(|report| report.to_string())
    }

    #[getter]
    fn dtype(&self) -> Option<&'static str> {
        self.weights.as_ref().map(|weights| match weights {
            Weighted::U32(_) => "uint32",
            Weighted::U64(_) => "uint64",
            Weighted::F32(_) => "float32",
            Weighted::F64(_) => "float64",
        })
    }

    #[getter]
    fn nbytes(&self) -> usize {
        /// The bytes of a matrix with weights, without the arrays that it shares with the pattern.
        fn beside<T: Weight>(pattern: &Matrix, a: &Matrix<T>) -> usize {
            let here = a.device() == Device::Cpu && pattern.device() == Device::Cpu;
            let shares = here && std::ptr::eq(a.csr().columns(), pattern.csr().columns());
            let shared = if shares { size_of_val(a.csr().offsets()) + size_of_val(a.csr().columns()) } else { 0 };
            a.heap_bytes() - shared
        }
        let pattern = &self.pattern.host;
        let weights = self.weights.as_ref().map_or(0, |weights| match weights {
            Weighted::U32(w) => beside(pattern, &w.host),
            Weighted::U64(w) => beside(pattern, &w.host),
            Weighted::F32(w) => beside(pattern, &w.host),
            Weighted::F64(w) => beside(pattern, &w.host),
        });
        pattern.heap_bytes() + weights
    }

    /// The number in the file of each of `vertices`.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        vertices: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let n = self.pattern.host.nrows();
        let number = |&vertex: &i64| {
            let found = u32::try_from(vertex).ok().filter(|&vertex| (vertex as usize) < n);
            let what = || Error::invalid(format!("the vertex {vertex} lies outside a graph of {n} vertices"));
            found.map(|vertex| self.numbering.number(vertex)).ok_or_else(what)
        };
        let numbers: Result<Vec<u64>> = vertices.as_slice()?.iter().map(number).collect();
        Ok(numbers.map_err(|error| raise(py, &error))?.into_pyarray(py))
    }

    /// What the file calls each of `vertices`: its name, or its number as text.
    fn names(&self, py: Python<'_>, vertices: PyReadonlyArray1<'_, i64>) -> PyResult<Vec<String>> {
        let n = self.pattern.host.nrows();
        let name = |&vertex: &i64| {
            let found = u32::try_from(vertex).ok().filter(|&vertex| (vertex as usize) < n);
            let what = || Error::invalid(format!("the vertex {vertex} lies outside a graph of {n} vertices"));
            found.map(|vertex| self.numbering.label(vertex).to_string()).ok_or_else(what)
        };
        vertices.as_slice()?.iter().map(name).collect::<Result<_>>().map_err(|error| raise(py, &error))
    }

    /// The vertex that the file calls so.
    fn vertex(&self, name: &str) -> Option<u32> {
        self.numbering.find(name, self.pattern.host.nrows())
    }

    /// Row offsets and columns of the pattern.
    fn csr<'py>(&self, py: Python<'py>) -> PyResult<Places<'py>> {
        usable(py, self.pattern.host.device())?;
        let csr = self.pattern.host.csr();
        let offsets: Vec<i64> = csr.offsets().iter().map(|&offset| offset as i64).collect();
        Ok((offsets.into_pyarray(py), csr.columns().to_vec().into_pyarray(py)))
    }

    /// Row offsets, columns and values of the matrix with weights.
    fn weighted_csr<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, pyo3::types::PyTuple>>> {
        fn arrays<'py, T: Weight>(py: Python<'py>, held: &Copies<T>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
            let csr = held.host.csr();
            let offsets: Vec<i64> = csr.offsets().iter().map(|&offset| offset as i64).collect();
            let (columns, values) = (csr.columns().to_vec().into_pyarray(py), csr.values().to_vec().into_pyarray(py));
            (offsets.into_pyarray(py), columns, values).into_pyobject(py)
        }
        let arrays = self.weights.as_ref().map(|weights| match weights {
            Weighted::U32(held) => arrays(py, held),
            Weighted::U64(held) => arrays(py, held),
            Weighted::F32(held) => arrays(py, held),
            Weighted::F64(held) => arrays(py, held),
        });
        arrays.transpose()
    }

    /// The number of entries in each row of the pattern.
    fn degrees<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let offsets = self.pattern.host.csr().offsets();
        let degrees: Vec<i64> = offsets.windows(2).map(|bounds| (bounds[1] - bounds[0]) as i64).collect();
        degrees.into_pyarray(py)
    }
}
