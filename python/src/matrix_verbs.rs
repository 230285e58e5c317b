//! Verbs of matrices. Each runs at once, and makes a new matrix.

use crate::algorithms::{How, Place};
use crate::expressions::{Expr, Stored, with_stored};
use crate::kinds::Kind;
use crate::matrices::{Entries, Held, PyMatrix, with_entries};
use crate::programs::{self, Monoid, Program};
use crate::runtime::run;
use crate::trees::{Word, invalid};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use vxm::backend::Device;
use vxm::containers::{Matrix, Vector};
use vxm::semiring::dynamic::{self, DynBinary, DynTernary, DynUnary};
use vxm::semiring::{ANY, BinaryOp, Element, semiring};
use vxm::{Error, Result, memory};

/// Calls `$use` with the type `$O` of words that hold values of a kind.
macro_rules! with_words {
    ($kind:expr, $O:ident => $use:expr) => {
        if $kind.size() == 8 {
            type $O = u64;
            $use
        } else {
            type $O = u32;
            $use
        }
    };
}

/// The engine's operator that runs a program.
macro_rules! made_of {
    ($op:expr, $operator:ty) => {
        <$operator>::new($op).map_err(invalid)?
    };
}

/// Two operands of one kind.
enum Alike {
    Pattern(Arc<Matrix>, Arc<Matrix>),
    Narrow(Arc<Matrix<u32>>, Arc<Matrix<u32>>),
    Wide(Arc<Matrix<u64>>, Arc<Matrix<u64>>),
}

impl Alike {
    fn of(one: Entries, other: Entries) -> Result<Self> {
        Ok(match (one, other) {
            (Entries::Pattern(a), Entries::Pattern(b)) => Self::Pattern(a, b),
            (Entries::Narrow(a), Entries::Narrow(b)) => Self::Narrow(a, b),
            (Entries::Wide(a), Entries::Wide(b)) => Self::Wide(a, b),
            _ => return Err(Error::invalid("expected matrices of one kind")),
        })
    }
}

fn mapped<A: Element>(a: &Matrix<A>, op: dynamic::Program) -> Result<Held> {
    with_words!(op.result(), O => Ok(Held::of(a.map(made_of!(op, DynUnary::<A, O>))?)))
}

fn mapped_by_place<A: Element>(a: &Matrix<A>, op: dynamic::Program) -> Result<Held> {
    with_words!(op.result(), O => Ok(Held::of(a.map_index(made_of!(op, DynTernary::<u32, u32, A, O>))?)))
}

fn intersection<A: Element, B: Element>(a: &Matrix<A>, b: &Matrix<B>, op: dynamic::Program) -> Result<Held> {
    with_words!(op.result(), O => Ok(Held::of(a.ewise_mult(b, made_of!(op, DynBinary::<A, B, O>))?)))
}

fn kronecker<A: Element, B: Element>(a: &Matrix<A>, b: &Matrix<B>, op: dynamic::Program) -> Result<Held> {
    with_words!(op.result(), O => Ok(Held::of(a.kronecker(b, made_of!(op, DynBinary::<A, B, O>))?)))
}

/// The union, with a value for the entry that is missing.
fn union<A: Element, B: Element>(
    (a, alpha): (&Matrix<A>, u64),
    (b, beta): (&Matrix<B>, u64),
    op: dynamic::Program,
) -> Result<Held> {
    let (alpha, beta) = (A::from_wide_bits(alpha.into()), B::from_wide_bits(beta.into()));
    with_words!(op.result(), O => Ok(Held::of(a.ewise_union(alpha, b, beta, made_of!(op, DynBinary::<A, B, O>))?)))
}

/// The product of two matrices. The monoid counts as inexact, which folds each sum in ascending order.
fn product<A: Element, B: Element>(
    a: &Matrix<A>,
    b: &Matrix<B>,
    (add, mul): (Monoid, dynamic::Program),
    mask: &Option<(Entries, bool)>,
) -> Result<Held> {
    with_words!(mul.result(), O => {
        let add = add.of::<O, false>().map_err(invalid)?;
        let product = a.mxm(b, semiring(add, made_of!(mul, DynBinary::<A, B, O>)));
        Ok(Held::of(match mask {
            None => product.eval()?,
            Some((mask, complement)) => product.mask(mask.mask(*complement)).eval()?,
        }))
    })
}

fn vector<T: Word>(vector: Vector<T>, kind: Kind) -> Expr {
    Expr::stored(T::stored(Arc::new(vector)), kind)
}

/// Fails if there is no room for the arrays of a result: so many rows or columns, and entries.
fn room(verb: &str, sides: usize, entries: u64) -> Result<()> {
    // offsets and what finds places are twice as long at times, entries are copied once
    let bytes = 24 * sides as u128 + 24 * u128::from(entries);
    memory::require(bytes, || format!("{verb}: {sides} rows and columns, {entries} entries"))
}

/// The most entries of a submatrix.
fn extracted<A: Element>(a: &Matrix<A>, rows: &[u32], columns: &[u32]) -> u64 {
    let mut counts = HashMap::new();
    columns.iter().for_each(|j| *counts.entry(j).or_insert(0u64) += 1);
    let repeats = counts.into_values().max().unwrap_or(0);
    let csr = a.csr();
    let row = |&i: &u32| (csr.degree(i as usize) as u64 * repeats).min(columns.len() as u64);
    rows.iter().filter(|&&i| (i as usize) < csr.nrows()).map(row).sum()
}

/// Whether a fold goes over rows or columns.
#[derive(Clone, Copy)]
enum Along {
    Rows,
    Columns,
}

fn folded<T: Word, const EXACT: bool>(a: &Matrix<T>, monoid: Monoid, along: Along) -> Result<Stored> {
    let add = monoid.of::<T, EXACT>().map_err(invalid)?;
    let found = match along {
        Along::Rows => a.reduce_rows(add)?,
        Along::Columns => {
            room("reduce_columns", a.nrows() + a.ncols(), a.nnz())?;
            a.reduce_columns(add)?
        }
    };
    Ok(T::stored(Arc::new(found)))
}

fn total<T: Word>(a: &Matrix<T>, monoid: Monoid) -> Result<u64> {
    Ok(match monoid.exact {
        true => a.reduce(monoid.of::<T, true>().map_err(invalid)?)?.wide_bits() as u64,
        false => a.reduce(monoid.of::<T, false>().map_err(invalid)?)?.wide_bits() as u64,
    })
}

fn no_values<T>() -> Result<T> {
    Err(Error::invalid("the entries of a pattern have no value"))
}

impl PyMatrix {
    /// What `work` makes of the matrix on a device.
    fn run<R: Send + 'static>(
        &self,
        py: Python<'_>,
        place: Place,
        work: impl FnOnce(Entries, Device) -> Result<R> + Send + 'static,
    ) -> PyResult<R> {
        let (How { device, threads, .. }, held) = (How::of(py, place)?, self.held.clone());
        run(py, threads, device, move || {
            let entries = held.on(device)?;
            device.scope(|| work(entries, device))
        })
    }

    /// What `work` makes of two matrices on a device.
    fn run_with<R: Send + 'static>(
        &self,
        py: Python<'_>,
        other: &Self,
        place: Place,
        work: impl FnOnce(Entries, Entries, Device) -> Result<R> + Send + 'static,
    ) -> PyResult<R> {
        let other = other.held.clone();
        self.run(py, place, move |a, device| work(a, other.on(device)?, device))
    }

    fn fold(&self, py: Python<'_>, monoid: &Monoid, along: Along, place: Place) -> PyResult<Expr> {
        let monoid = *monoid;
        let found = self.run(py, place, move |a, _| match (a, monoid.exact) {
            (Entries::Pattern(_), _) => no_values(),
            (Entries::Narrow(a), true) => folded::<_, true>(&a, monoid, along),
            (Entries::Narrow(a), false) => folded::<_, false>(&a, monoid, along),
            (Entries::Wide(a), true) => folded::<_, true>(&a, monoid, along),
            (Entries::Wide(a), false) => folded::<_, false>(&a, monoid, along),
        })?;
        Ok(Expr::stored(found, self.kind))
    }
}

#[pymethods]
impl PyMatrix {
    fn transposed(&self, py: Python<'_>, place: Place) -> PyResult<Self> {
        let held = self.run(py, place, |a, _| {
            with_entries!(a, a => {
                room("transpose", a.nrows() + a.ncols(), a.nnz())?;
                Ok(Held::of(a.transpose()))
            })
        })?;
        Ok(Self { held, kind: self.kind })
    }

    fn pattern(&self, py: Python<'_>, place: Place) -> PyResult<Self> {
        let held = self.run(py, place, |a, _| with_entries!(a, a => Ok(Held::of(a.pattern()))))?;
        Ok(Self { held, kind: Kind::UNIT })
    }

    fn map(&self, py: Python<'_>, op: &Program, place: Place) -> PyResult<Self> {
        let (op, kind) = (op.code, op.result);
        let held = self.run(py, place, move |a, _| with_entries!(a, a => mapped(&a, op)))?;
        Ok(Self { held, kind })
    }

    fn map_index(&self, py: Python<'_>, op: &Program, place: Place) -> PyResult<Self> {
        let (op, kind) = (op.code, op.result);
        let held = self.run(py, place, move |a, _| with_entries!(a, a => mapped_by_place(&a, op)))?;
        Ok(Self { held, kind })
    }

    fn select(&self, py: Python<'_>, op: &Program, place: Place) -> PyResult<Self> {
        fn kept<A: Word>(a: &Matrix<A>, op: dynamic::Program) -> Result<Held> {
            Ok(Held::of(a.select_values(made_of!(op, DynUnary::<A, bool>))?))
        }
        let op = op.code;
        let held = self.run(py, place, move |a, _| with_entries!(a, a => kept(&a, op)))?;
        Ok(Self { held, kind: self.kind })
    }

    fn select_index(&self, py: Python<'_>, op: &Program, place: Place) -> PyResult<Self> {
        fn kept<A: Word>(a: &Matrix<A>, op: dynamic::Program) -> Result<Held> {
            Ok(Held::of(a.select(made_of!(op, DynTernary::<u32, u32, A, bool>))?))
        }
        let op = op.code;
        let held = self.run(py, place, move |a, _| with_entries!(a, a => kept(&a, op)))?;
        Ok(Self { held, kind: self.kind })
    }

    fn masked(&self, py: Python<'_>, mask: &Self, complement: bool, place: Place) -> PyResult<Self> {
        let held = self.run_with(
            py,
            mask,
            place,
            move |a, mask, _| with_entries!(a, a => Ok(Held::of(a.masked(mask.mask(complement))?))),
        )?;
        Ok(Self { held, kind: self.kind })
    }

    fn ewise_add(&self, py: Python<'_>, other: &Self, op: &Program, place: Place) -> PyResult<Self> {
        let op = op.code;
        let held = self.run_with(py, other, place, move |a, b, _| {
            Ok(match Alike::of(a, b)? {
                Alike::Pattern(a, b) => Held::of(a.ewise_add(&b, ANY)?),
                Alike::Narrow(a, b) => Held::of(a.ewise_add(&b, made_of!(op, DynBinary::<u32, u32, u32>))?),
                Alike::Wide(a, b) => Held::of(a.ewise_add(&b, made_of!(op, DynBinary::<u64, u64, u64>))?),
            })
        })?;
        Ok(Self { held, kind: self.kind })
    }

    fn ewise_mult(&self, py: Python<'_>, other: &Self, op: &Program, place: Place) -> PyResult<Self> {
        let (op, kind) = (op.code, op.result);
        let held = self.run_with(
            py,
            other,
            place,
            move |a, b, _| with_entries!(a, a => with_entries!(b, b => intersection(&a, &b, op))),
        )?;
        Ok(Self { held, kind })
    }

    fn ewise_union(
        &self,
        py: Python<'_>,
        other: &Self,
        missing: (Bound<'_, PyAny>, Bound<'_, PyAny>),
        op: &Program,
        place: Place,
    ) -> PyResult<Self> {
        let (alpha, beta) = (programs::bits(self.kind, &missing.0)?, programs::bits(other.kind, &missing.1)?);
        let (op, kind) = (op.code, op.result);
        let held = self.run_with(py, other, place, move |a, b, _| match (a, b) {
            (Entries::Narrow(a), Entries::Narrow(b)) => union((&*a, alpha), (&*b, beta), op),
            (Entries::Narrow(a), Entries::Wide(b)) => union((&*a, alpha), (&*b, beta), op),
            (Entries::Wide(a), Entries::Narrow(b)) => union((&*a, alpha), (&*b, beta), op),
            (Entries::Wide(a), Entries::Wide(b)) => union((&*a, alpha), (&*b, beta), op),
            _ => no_values(),
        })?;
        Ok(Self { held, kind })
    }

    fn kronecker(&self, py: Python<'_>, other: &Self, op: &Program, place: Place) -> PyResult<Self> {
        let (op, kind) = (op.code, op.result);
        let held = self.run_with(
            py,
            other,
            place,
            move |a, b, _| with_entries!(a, a => with_entries!(b, b => kronecker(&a, &b, op))),
        )?;
        Ok(Self { held, kind })
    }

    /// `self (add.mul) other`, at the places of a mask.
    fn mxm(
        &self,
        py: Python<'_>,
        other: &Self,
        add: &Monoid,
        mul: &Program,
        mask: Option<(PyRef<'_, Self>, bool)>,
        place: Place,
    ) -> PyResult<Self> {
        let (add, mul, kind) = (*add, mul.code, mul.result);
        let mask = mask.map(|(mask, complement)| (mask.held.clone(), complement));
        let held = self.run_with(py, other, place, move |a, b, device| {
            let mask = match mask {
                Some((mask, complement)) => Some((mask.on(device)?, complement)),
                None => None,
            };
            with_entries!(a, a => with_entries!(b, b => product(&a, &b, (add, mul), &mask)))
        })?;
        Ok(Self { held, kind })
    }

    fn reduce_rows(&self, py: Python<'_>, monoid: &Monoid, place: Place) -> PyResult<Expr> {
        self.fold(py, monoid, Along::Rows, place)
    }

    fn reduce_columns(&self, py: Python<'_>, monoid: &Monoid, place: Place) -> PyResult<Expr> {
        self.fold(py, monoid, Along::Columns, place)
    }

    fn reduce(&self, py: Python<'_>, monoid: &Monoid, place: Place) -> PyResult<Py<PyAny>> {
        let monoid = *monoid;
        let bits = self.run(py, place, move |a, _| match a {
            Entries::Pattern(_) => no_values(),
            Entries::Narrow(a) => total(&a, monoid),
            Entries::Wide(a) => total(&a, monoid),
        })?;
        programs::value(py, self.kind, bits)
    }

    fn degrees(&self, py: Python<'_>, place: Place) -> PyResult<Expr> {
        Ok(vector(self.run(py, place, |a, _| with_entries!(a, a => a.degrees()))?, dynamic::Kind::U32.into()))
    }

    fn diagonal(&self, py: Python<'_>, place: Place) -> PyResult<Expr> {
        let found = self.run(py, place, |a, _| with_entries!(a, a => Ok(Word::stored(Arc::new(a.diagonal()?)))))?;
        Ok(Expr::stored(found, self.kind))
    }

    #[staticmethod]
    fn from_diagonal(py: Python<'_>, diagonal: &Expr, place: Place) -> PyResult<Self> {
        let (how, stored) = (How::of(py, place)?, diagonal.vector()?.clone());
        let held = run(py, how.threads, how.device, move || {
            let stored = stored.on(how.device)?;
            how.device.scope(|| {
                with_stored!(&stored, v => {
                    room("from_diagonal", v.len(), v.nvals() as u64)?;
                    Ok(Held::of(Matrix::from_diagonal(v)?))
                })
            })
        })?;
        Ok(Self { held, kind: diagonal.0.kind })
    }

    fn extract(
        &self,
        py: Python<'_>,
        rows: PyReadonlyArray1<'_, u32>,
        columns: PyReadonlyArray1<'_, u32>,
        place: Place,
    ) -> PyResult<Self> {
        let (rows, columns) = (rows.as_slice()?.to_vec(), columns.as_slice()?.to_vec());
        let held = self.run(py, place, move |a, _| {
            with_entries!(a, a => {
                if a.device() == Device::Cpu {
                    room("extract", rows.len() + columns.len() + a.ncols(), extracted(&a, &rows, &columns))?;
                }
                Ok(Held::of(a.extract(&rows, &columns)?))
            })
        })?;
        Ok(Self { held, kind: self.kind })
    }

    /// The matrix with a region replaced by another matrix, or joined with it by an operator.
    fn assign(
        &self,
        py: Python<'_>,
        rows: PyReadonlyArray1<'_, u32>,
        columns: PyReadonlyArray1<'_, u32>,
        other: &Self,
        accum: Option<&Program>,
        place: Place,
    ) -> PyResult<Self> {
        fn assigned<T: Word, F: BinaryOp<T, T, Out = T>>(
            a: &Matrix<T>,
            (rows, columns): (&[u32], &[u32]),
            b: &Matrix<T>,
            accum: Option<F>,
        ) -> Result<Held> {
            let mut made = a.clone();
            room("assign", a.nrows() + a.ncols(), a.nnz() + b.nnz())?;
            match accum {
                None => made.assign(rows, columns, b)?,
                Some(op) => made.assign_accum(rows, columns, b, op)?,
            }
            Ok(Held::of(made))
        }
        fn joining<T: Element>(accum: Option<dynamic::Program>) -> Result<Option<DynBinary<T, T, T>>> {
            accum.map(|op| DynBinary::new(op).map_err(invalid)).transpose()
        }
        let (rows, columns) = (rows.as_slice()?.to_vec(), columns.as_slice()?.to_vec());
        let accum = accum.map(|op| op.code);
        let held = self.run_with(py, other, place, move |a, b, _| {
            let region = (&rows[..], &columns[..]);
            match Alike::of(a, b)? {
                Alike::Pattern(a, b) => assigned(&a, region, &b, accum.map(|_| ANY)),
                Alike::Narrow(a, b) => assigned(&a, region, &b, joining(accum)?),
                Alike::Wide(a, b) => assigned(&a, region, &b, joining(accum)?),
            }
        })?;
        Ok(Self { held, kind: self.kind })
    }

    fn resized(&self, py: Python<'_>, shape: (usize, usize), place: Place) -> PyResult<Self> {
        let held = self.run(py, place, move |a, _| {
            with_entries!(a, a => {
                room("resized", shape.0, a.nnz())?;
                Ok(Held::of(a.resized(shape.0, shape.1)?))
            })
        })?;
        Ok(Self { held, kind: self.kind })
    }

    /// One matrix of tiles of one kind.
    #[staticmethod]
    fn concat(py: Python<'_>, tiles: Vec<Vec<PyRef<'_, Self>>>, place: Place) -> PyResult<Self> {
        fn joined<T: Word>(tiles: &[Vec<Entries>]) -> Result<Held> {
            let typed = |tile| T::entries(tile).ok_or_else(|| Error::invalid("concat: expected tiles of one kind"));
            let rows: Vec<Vec<&Matrix<T>>> =
                tiles.iter().map(|row| row.iter().map(typed).collect()).collect::<Result<_>>()?;
            let below: usize = rows.iter().filter_map(|row| row.first()).map(|tile| tile.nrows()).sum();
            room("concat", below, rows.iter().flatten().map(|tile| tile.nnz()).sum())?;
            Ok(Held::of(Matrix::concat(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())?))
        }
        let how = How::of(py, place)?;
        let kind = tiles.first().and_then(|row| row.first()).map_or(Kind::UNIT, |tile| tile.kind);
        let held: Vec<Vec<Held>> = tiles.iter().map(|row| row.iter().map(|tile| tile.held.clone()).collect()).collect();
        let held = run(py, how.threads, how.device, move || {
            let here: Vec<Vec<Entries>> =
                held.iter().map(|row| row.iter().map(|tile| tile.on(how.device)).collect()).collect::<Result<_>>()?;
            how.device.scope(|| match kind.size() {
                0 => joined::<()>(&here),
                8 => joined::<u64>(&here),
                _ => joined::<u32>(&here),
            })
        })?;
        Ok(Self { held, kind })
    }
}
