//! The compiled part of the Python package `vxm`: graphs, algorithms and certificates over NumPy arrays.
//!
//! The Python files in `python/vxm` give these functions their defaults and docstrings. They also bring arrays into the types that are
//! taken here.

mod algorithms;
mod analytics;
mod arrays;
mod certificates;
mod colorings;
mod errors;
mod evaluate;
mod expressions;
mod foreign;
mod graph;
mod kinds;
mod laws;
mod matrices;
mod matrix_verbs;
mod programs;
mod renumbered;
mod runtime;
mod trees;

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
    module.add_function(wrap_pyfunction!(colorings::color_by, module)?)?;
    module.add_function(wrap_pyfunction!(colorings::extend_coloring, module)?)?;
    module.add_function(wrap_pyfunction!(colorings::aggregates, module)?)?;
    module.add_function(wrap_pyfunction!(colorings::color_columns, module)?)?;
    module.add_function(wrap_pyfunction!(colorings::check_column_coloring, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::components, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::bfs, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::sssp, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::bfs_parents, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::bfs_many, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::sssp_parents, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::pagerank, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::core_numbers, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::triangles, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::clustering, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::ktruss, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::strong_components, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::spanning_forest, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::matching, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::betweenness, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::drawn, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::communities, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::labels, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::roots, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::mis_at_distance_2, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::clique, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::vertex_cover, module)?)?;
    module.add_function(wrap_pyfunction!(certificates::check_mis, module)?)?;
    module.add_function(wrap_pyfunction!(certificates::check_coloring, module)?)?;
    module.add_function(wrap_pyfunction!(certificates::check_components, module)?)?;
    module.add_function(wrap_pyfunction!(certificates::check_bfs, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::checks::check_cores, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::checks::check_triangles, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::checks::check_strong_components, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::checks::check_matching, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::checks::check_parents, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::checks::check_clique, module)?)?;
    module.add_function(wrap_pyfunction!(analytics::checks::check_cover, module)?)?;
    module.add_function(wrap_pyfunction!(runtime::devices, module)?)?;
    module.add_class::<programs::Builder>()?;
    module.add_class::<programs::Program>()?;
    module.add_class::<programs::Monoid>()?;
    module.add_class::<expressions::Expr>()?;
    module.add_class::<matrices::PyMatrix>()?;
    module.add_class::<foreign::Foreign>()?;
    module.add_function(wrap_pyfunction!(evaluate::eval, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::reduce, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::run_loop, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::to_device, module)?)?;
    Ok(())
}
