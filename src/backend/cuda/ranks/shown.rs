//! Views of all ranks' pieces, which kernels read in the memory of the ranks' GPUs.

use crate::backend::cuda::{DeviceVector, Gpu};
use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder, Node};
use crate::backend::cuda::compact::launch_over;
use crate::error::Result;
use crate::kernels::sources;
use crate::ranks::Grid;
use vxm_semiring::Element;

/// Shows this rank's piece of a vector with `len` places, and adds a view of all ranks' pieces, by their indices. The kernel must be launched
/// before the call after the next. All ranks call this.
///
/// # Errors
/// The device has too little memory, or is lost. Another rank has failed.
#[inline(never)]
pub(crate) fn shown<T: Element>(
    kernel: &mut KernelBuilder,
    grid: &Grid,
    piece: &DeviceVector<T>,
    len: usize,
) -> Result<Node> {
    let shown = grid.show((len, size_of::<T>()), &piece.values, piece.bits.as_deref())?;
    kernel.push(shown.addresses.address());
    kernel.push(shown.presence as u64);
    grid.owners(len).words(grid.rank()).into_iter().for_each(|word| kernel.push(word));
    kernel.keep_alive(shown.addresses);
    let t = kernel.element::<T>();
    Ok(Node::new(kernel.ty("vxm::Shown", [t, shown.full.into()]), shown.full))
}

/// A view of all indices, at those of this rank's places in a vector of `len`.
pub(crate) fn at_own_indices(kernel: &mut KernelBuilder, grid: &Grid, node: &Node, len: usize) -> Node {
    grid.owners(len).words(grid.rank()).into_iter().for_each(|word| kernel.push(word));
    Node::new(kernel.ty("vxm::AtOwnIndex", [node.ty]), node.full)
}

/// Joins what a round has made of all ranks' elements into those that they name: `piece` holds this rank's, and `before` what they were.
/// `emit` adds the type of the scatter. All ranks call this.
///
/// # Errors
/// The device has too little memory, or is lost. Another rank has failed.
#[inline(never)]
pub(crate) fn scatter_among_peers<T: Element>(
    grid: &Grid,
    len: usize,
    before: &DeviceVector<T>,
    piece: &mut DeviceVector<T>,
    emit: impl Fn(&mut KernelBuilder) -> CppType,
) -> Result<()> {
    piece.own_values()?;
    let builder = |gpu: &Gpu| {
        let mut kernel = KernelBuilder::new(gpu);
        for source in [sources::DIRECT, sources::STATE, sources::CHANGED, sources::RANKS] {
            kernel.include(source);
        }
        kernel
    };
    // each element is joined with what it was
    let mut kernel = builder(piece.gpu());
    let (scatter, t) = (emit(&mut kernel), kernel.element::<T>());
    let ty = kernel.ty("vxm::JoinOwn", [scatter, t]);
    let words = [before.values_address(), piece.values_address(), piece.len() as u64];
    if !piece.is_empty() {
        launch_over(&mut kernel, ty, &words, piece.len())?;
    }
    let mut kernel = builder(piece.gpu());
    let old = shown(&mut kernel, grid, before, len)?;
    let new = shown(&mut kernel, grid, piece, len)?;
    let scatter = emit(&mut kernel);
    let ty = kernel.ty("vxm::JoinNamed", [scatter, old.ty, new.ty]);
    if piece.is_empty() {
        return Ok(());
    }
    launch_over(&mut kernel, ty, &[piece.values_address(), len as u64], len)
}
