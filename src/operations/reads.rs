//! What of a loop's state an expression reads: who is to be visited again once an element has changed.

use crate::backend::cuda::Gpu;
use crate::containers::Matrix;
use crate::error::Result;
use std::any::Any;
use std::sync::Arc;
use vxm_semiring::Element;

/// What of a loop's state an element of an expression reads; nothing, to begin with.
#[derive(Debug, Default)]
pub struct Reads<'a> {
    own: bool,
    all: bool,
    through: Vec<Through<'a>>,
}

impl<'a> Reads<'a> {
    /// It reads the state's element of its own index.
    pub fn own(&mut self) {
        self.own = true;
    }

    /// It may read any element.
    pub fn everything(&mut self) {
        self.all = true;
    }

    /// It reads any element that `operand` reads.
    pub fn anywhere(&mut self, operand: &Reads<'_>) {
        self.all |= !operand.is_nothing();
    }

    /// It reads what `operand` reads, at the columns of its row of the matrix (`mxv`) or of its transpose (`vxm`). `transposed` says that
    /// the rows by the operand's index are those of the transpose.
    pub fn through(&mut self, matrix: &'a dyn Links, transposed: bool, operand: &Reads<'_>) {
        self.all |= operand.all || !operand.through.is_empty();
        let through = Through { matrix, transposed: transposed && !matrix.is_symmetric() };
        if operand.own && !self.through.iter().any(|other| other.is(&through)) {
            self.through.push(through);
        }
    }

    /// Whether no element of the state is read.
    pub fn is_nothing(&self) -> bool {
        !(self.own || self.all) && self.through.is_empty()
    }

    /// Whether the element of the same index is.
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// Whether any element may be.
    pub fn is_everything(&self) -> bool {
        self.all
    }

    /// Through which matrices others are read, each once.
    pub fn matrices(&self) -> &[Through<'a>] {
        &self.through
    }
}

/// A matrix through which a product reads the state, by the operand's index.
#[derive(Debug, Clone, Copy)]
pub struct Through<'a> {
    matrix: &'a dyn Links,
    transposed: bool,
}

impl<'a> Through<'a> {
    /// Whether both are the same rows.
    fn is(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self.matrix, other.matrix) && self.transposed == other.transposed
    }

    /// Who reads element `i`: the columns from the `i`-th offset to the next.
    ///
    /// # Panics
    /// The matrix lies on a device that is lost.
    pub fn rows(&self) -> (&'a [u64], &'a [u32]) {
        self.matrix.links(self.transposed)
    }

    /// The same on a device.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn rows_on(&self, gpu: &Gpu) -> Result<DeviceRows> {
        self.matrix.links_on(gpu, self.transposed)
    }
}

/// Where a matrix' rows lie on a device.
#[derive(Debug)]
pub struct DeviceRows {
    /// The address of the offsets, of 64 bits each.
    pub offsets: u64,
    /// The address of the columns, of 32 bits each.
    pub columns: u64,
    /// What keeps them there.
    pub held: Arc<dyn Any + Send + Sync>,
}

/// A matrix, whatever its entries are.
pub trait Links: Sync + core::fmt::Debug {
    /// Offsets and columns of its rows, or of its transpose's.
    fn links(&self, transposed: bool) -> (&[u64], &[u32]);

    /// The same on a device.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    fn links_on(&self, gpu: &Gpu, transposed: bool) -> Result<DeviceRows>;

    /// Whether it is known to equal its transpose.
    fn is_symmetric(&self) -> bool;
}

impl<A: Element> Links for Matrix<A> {
    fn links(&self, transposed: bool) -> (&[u64], &[u32]) {
        let rows = if transposed { self.csr_transposed() } else { self.csr() };
        (rows.offsets(), rows.columns())
    }

    fn links_on(&self, gpu: &Gpu, transposed: bool) -> Result<DeviceRows> {
        let rows = if transposed { self.transposed_on(gpu) } else { self.on(gpu) }?;
        let (offsets, columns) = rows.addresses();
        Ok(DeviceRows { offsets, columns, held: rows })
    }

    fn is_symmetric(&self) -> bool {
        Matrix::is_symmetric(self)
    }
}
