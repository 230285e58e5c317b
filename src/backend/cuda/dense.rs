//! A sparse matrix times a dense one, on a device.

use super::DeviceCsr;
use super::compose::Composer;
use super::run::{THREADS, blocks, launch};
use crate::error::Result;
use vxm_kernels::{Buffer, Launch, Real, sources};
use vxm_semiring::Element;

/// `csr` times a dense matrix of `width` columns, row by row; each place adds up its products in the row's order.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn multiply<T: Element + Real>(csr: &DeviceCsr<T>, factor: &Buffer, width: usize) -> Result<Buffer> {
    let gpu = csr.gpu();
    let places = csr.nrows().saturating_mul(width);
    let product = gpu.alloc(places.saturating_mul(size_of::<T>()))?;
    let mut composer = Composer::new(gpu).with(sources::DENSE);
    let t = composer.element::<T>();
    let ty = composer.ty("vxm::RowsTimesDense", [t]);
    let program = composer.program(ty, &[("rows_times_dense", "")])?;
    let rows = [csr.offsets.address(), csr.columns.address(), csr.values.address()];
    let parameter =
        composer.parameter(&[&rows[..], &[factor.address(), width as u64, places as u64, product.address()]].concat());
    launch(&program, "rows_times_dense", Launch::linear(blocks(gpu, places, THREADS as usize), THREADS), &parameter)?;
    Ok(product)
}
