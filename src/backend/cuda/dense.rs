//! A sparse matrix times a dense one, on a device.

use crate::backend::cuda::DeviceCsr;
use crate::backend::cuda::codegen::builder::KernelBuilder;
use crate::backend::cuda::terminals::{blocks, launch};
use crate::backend::tuning::THREADS;
use crate::error::Result;
use crate::kernels::{Buffer, Launch, Real, sources};
use vxm_semiring::Element;

/// `csr` times a dense matrix of `width` columns, in row-major order. Each element sums its products in the order of the row's entries.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn multiply<T: Element + Real>(csr: &DeviceCsr<T>, factor: &Buffer, width: usize) -> Result<Buffer> {
    let gpu = csr.gpu();
    let places = csr.nrows().saturating_mul(width);
    let product = gpu.alloc(places.saturating_mul(size_of::<T>()))?;
    let mut builder = KernelBuilder::new(gpu).with(sources::DENSE);
    let t = builder.element::<T>();
    let ty = builder.ty("vxm::RowsTimesDense", [t]);
    let program = builder.program(ty, &[("rows_times_dense", "")])?;
    let rows = [csr.offsets.address(), csr.columns.address(), csr.values.address()];
    let parameter =
        builder.parameter(&[&rows[..], &[factor.address(), width as u64, places as u64, product.address()]].concat());
    launch(&program, "rows_times_dense", Launch::linear(blocks(gpu, places, THREADS as usize), THREADS), &parameter)?;
    Ok(product)
}
