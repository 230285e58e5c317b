//! Colourings by other rules than that neighbours differ, colourings of a matrix' columns, and aggregates.

use crate::algorithms::{Colors, How, Place, colored};
use crate::arrays::Integers;
use crate::certificates::raised;
use crate::errors::{Class, raise};
use crate::graph::{Graph, pattern};
use crate::runtime::run;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::str::FromStr;
use vxm::algorithms::priority::{column_keys, order_keys, priorities};
use vxm::algorithms::{self, Order, Priority};
use vxm::backend::Device;
use vxm::certify;
use vxm::containers::{Matrix, Vector};
use vxm::{Error, Result};

/// An order: a name and a seed, or keys of which the highest comes first.
pub type Asked<'py> = (String, u64, Option<PyReadonlyArray1<'py, u32>>);
/// The number of each vertex' aggregate, the roots, and the number of rounds.
type Parts<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, u32);

/// An order that doesn't hold on to Python: a name and a seed, or keys.
pub enum Keys<N> {
    Named(N, u64),
    Own(Vec<u32>),
}

impl<N: FromStr<Err = Error>> Keys<N> {
    pub fn of(py: Python<'_>, (name, seed, keys): Asked<'_>) -> PyResult<Self> {
        match keys {
            Some(keys) => Ok(Self::Own(keys.as_slice()?.to_vec())),
            None => Ok(Self::Named(name.parse().map_err(|error| raise(py, &error))?, seed)),
        }
    }

    /// The keys, on the device of the matrix; `named` gives those of a name.
    pub fn on(self, a: &Matrix, named: impl Fn(&Matrix, N, u64) -> Result<Vector<u32>>) -> Result<Vector<u32>> {
        match self {
            Self::Named(name, seed) => named(a, name, seed),
            Self::Own(keys) => Vector::from_dense(keys).to(a.device()),
        }
    }
}

/// A colouring at distance 2 (`distance-2`) or a star colouring (`star`): colours, their number, and rounds.
#[pyfunction]
pub fn color_by<'py>(
    py: Python<'py>,
    graph: &Graph,
    rule: &str,
    order: Asked<'py>,
    place: Place,
) -> PyResult<Colors<'py>> {
    let star = match rule {
        "star" => true,
        "distance-2" => false,
        _ => return Err(raise(py, &Error::unknown("rule", rule, &["neighbors", "distance-2", "star"]))),
    };
    let keys: Keys<Order> = Keys::of(py, order)?;
    colored(py, graph, place, move |a| {
        let key = keys.on(a, algorithms::keys_at_distance_2)?;
        if star { algorithms::star_coloring(a, &key) } else { algorithms::color_at_distance_2(a, &key) }
    })
}

/// Extends a colouring, 0 where there is none, with the colours up to `most`: colours, how many vertices have none, and rounds.
#[pyfunction]
pub fn extend_coloring<'py>(
    py: Python<'py>,
    graph: &Graph,
    given: PyReadonlyArray1<'py, u32>,
    most: u32,
    order: Asked<'py>,
    place: Place,
) -> PyResult<Colors<'py>> {
    let (keys, given) = (Keys::of(py, order)?, given.as_slice()?.to_vec());
    let (colors, left, rounds) = How::of(py, place)?.run(py, graph, move |a| {
        let key = keys.on(a, order_keys)?;
        let held = (0..).zip(given.iter().copied()).filter(|&(_, color)| color > 0);
        let held = Vector::from_pairs(given.len(), held)?.to(a.device())?;
        let found = algorithms::extend_coloring(a, &key, &held, most)?;
        Ok((found.colors.into_dense(0), found.left.nvals() as u32, found.rounds))
    })?;
    Ok((colors.into_pyarray(py), left, rounds))
}

/// Aggregates: the number of each vertex', the roots, and rounds.
#[pyfunction]
pub fn aggregates<'py>(py: Python<'py>, graph: &Graph, order: Asked<'py>, place: Place) -> PyResult<Parts<'py>> {
    let keys: Keys<Priority> = Keys::of(py, order)?;
    let (parts, roots, rounds) = How::of(py, place)?.run(py, graph, move |a| {
        let key = keys.on(a, priorities)?;
        let found = algorithms::aggregates(a, &key)?;
        Ok((found.aggregate.into_dense(u32::MAX), found.roots.indices().collect::<Vec<u32>>(), found.rounds))
    })?;
    Ok((parts.into_pyarray(py), roots.into_pyarray(py), rounds))
}

/// Colours the columns of a matrix in CSR: colours, their number, and rounds.
#[pyfunction]
pub fn color_columns<'py>(
    py: Python<'py>,
    shape: (usize, usize),
    starts: Integers<'py>,
    columns: Integers<'py>,
    order: Asked<'py>,
    place: Place,
) -> PyResult<Colors<'py>> {
    let (keys, how): (Keys<Order>, _) = (Keys::of(py, order)?, How::of(py, place)?);
    let rows = pattern(py, how.threads, shape, &starts, &columns)?;
    let (colors, count, rounds) = run(py, how.threads, how.device, move || {
        let a = Matrix::from_csr(rows);
        let key = keys.on(&a, column_keys)?.to(how.device)?;
        let found = algorithms::color_columns(&a.to(how.device)?, &key)?;
        Ok((found.colors.into_dense(0), found.count, found.rounds))
    })?;
    Ok((colors.into_pyarray(py), count, rounds))
}

/// Checks that columns with an entry in the same row differ. Returns the number of colours.
#[pyfunction]
pub fn check_column_coloring<'py>(
    py: Python<'py>,
    shape: (usize, usize),
    starts: Integers<'py>,
    columns: Integers<'py>,
    colors: PyReadonlyArray1<'py, u32>,
) -> PyResult<u32> {
    let ((_, n), colors) = (shape, colors.as_slice()?.to_vec());
    if colors.len() != n {
        let what = format!("colors: expected one for each of {n} columns, found {}", colors.len());
        return Err(Class::Shape.error(py, what));
    }
    let rows = pattern(py, None, shape, &starts, &columns)?;
    let checked =
        run(py, None, Device::Cpu, move || Ok(certify::column_coloring(rows.offsets(), rows.columns(), &colors)))?;
    raised(py, checked)
}
