//! What a loop that relaxes edges asks of its body, on each device.

use crate::backend::cpu::relax::Relax;
use crate::backend::cuda::codegen::builder::KernelBuilder;
use crate::backend::cuda::loops::relaxed::EdgesOnGpu;
use crate::error::Result;
use vxm_semiring::Element;

/// The edges of a loop `x = x ⊕ (x ⊕.⊗ A)`, where ⊕ is exact and commutative.
pub trait RelaxedEdges<T: Element> {
    /// The edges for a loop on the CPU.
    fn on_host(&self) -> Box<dyn Relax<T> + '_>;

    /// Emits the edges for a loop on a GPU. Returns nothing if they can't be relaxed there.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    fn emit(&self, kernel: &mut KernelBuilder) -> Result<Option<EdgesOnGpu>>;
}
