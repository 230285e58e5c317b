//! Graphs with other numbers for their vertices.

use crate::errors::raise;
use crate::graph::{Graph, Parts, Weighted};
use crate::runtime::run;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use vxm::backend::Device;
use vxm::operations::renumbering::{Renumbering, Reorder};
use vxm::{Error, Result};

/// An order: by its name, or the old number of each new one.
#[derive(FromPyObject)]
pub enum Asked<'py> {
    Name(String),
    Old(PyReadonlyArray1<'py, u32>),
}

impl Graph {
    /// The graph in an order, with its weights: vertex `k` is the old vertex `order[k]`.
    fn by(&self, order: &Renumbering) -> Result<Self> {
        macro_rules! weights {
            ($($variant:ident),*) => {
                match &self.weights {
                    None => None,
                    $(Some(Weighted::$variant(held)) => {
                        Some(crate::graph::Held::held(order.matrix(&held.host)?))
                    })*
                }
            };
        }
        let weights = weights!(U32, U64, F32, F64);
        Ok(Self::of(Parts::of(order.matrix(&self.pattern.host)?, weights), self.directed))
    }
}

#[pymethods]
impl Graph {
    /// The numbers that vertices had before they got others, by which hashes break ties; `None` if they didn't.
    fn old_numbers<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u32>>> {
        self.pattern.host.names().map(|names| names.to_dense(0).into_pyarray(py))
    }

    /// The graph in an order of its vertices, and the old number of each vertex.
    fn renumbered<'py>(
        slf: PyRef<'py, Self>,
        py: Python<'py>,
        by: Asked<'py>,
    ) -> PyResult<(Self, Bound<'py, PyArray1<u32>>)> {
        let graph: Py<Self> = slf.into();
        let made = match by {
            Asked::Name(name) => {
                let by: Reorder = name.parse().map_err(|error: Error| raise(py, &error))?;
                run(py, None, Device::Cpu, move || {
                    let order = Renumbering::of(&graph.get().pattern.host, by)?;
                    Ok((graph.get().by(&order)?, order))
                })
            }
            Asked::Old(old) => {
                let old = old.as_slice()?.to_vec();
                run(py, None, Device::Cpu, move || {
                    let order = Renumbering::from_old(old)?;
                    Ok((graph.get().by(&order)?, order))
                })
            }
        };
        let (graph, order) = made?;
        Ok((graph, order.old_numbers().to_dense(0).into_pyarray(py)))
    }
}
