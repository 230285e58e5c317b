//! The compiled part of the Python package `vxm`: graphs, algorithms and certificates over NumPy arrays.
//!
//! The Python files in `python/vxm` give these functions their defaults and docstrings. They also bring arrays into the types that are
//! taken here.

mod algorithms;
mod arrays;
mod certificates;
mod errors;
mod graph;
mod runtime;

use pyo3::prelude::*;

/// The compiled part of the package `vxm`. Use `vxm` instead.
#[pymodule]
fn _vxm(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<graph::Graph>()?;
    module.add_function(wrap_pyfunction!(algorithms::mis, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::mis_in_order, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::mis_many, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::color, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::color_in_order, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::components, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::bfs, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::sssp, module)?)?;
    module.add_function(wrap_pyfunction!(certificates::check_mis, module)?)?;
    module.add_function(wrap_pyfunction!(certificates::check_coloring, module)?)?;
    module.add_function(wrap_pyfunction!(certificates::check_components, module)?)?;
    module.add_function(wrap_pyfunction!(certificates::check_bfs, module)?)?;
    module.add_function(wrap_pyfunction!(runtime::devices, module)?)?;
    Ok(())
}
