//! Dependencies of a loop's body: what an expression reads of the state, and so which elements must be revisited once
//! one has changed.

use crate::backend::cuda::Gpu;
use crate::backend::cuda::ranks::PeerSlots;
use crate::containers::Matrix;
use crate::error::Result;
use crate::ranks::Grid;
use std::any::Any;
use std::sync::Arc;
use vxm_semiring::Element;

/// What one element of an expression reads of a loop's state. By default it reads nothing.
#[derive(Debug, Default)]
pub struct Reads<'a> {
    own: bool,
    all: bool,
    through: Vec<RowsRead<'a>>,
}

impl<'a> Reads<'a> {
    /// Adds the state's element of the same index.
    pub fn own(&mut self) {
        self.own = true;
    }

    /// Adds every element of the state.
    pub fn everything(&mut self) {
        self.all = true;
    }

    /// Adds any element, if `operand` reads the state at all: the expression reads `operand` at computed places.
    pub fn anywhere(&mut self, operand: &Reads<'_>) {
        self.all |= !operand.is_nothing();
    }

    /// Adds the reads of a product: what `operand` reads, at the columns of the element's row of the matrix (`mxv`) or
    /// of its transpose (`vxm`). `transposed` says that the transpose has the rows by the operand's index.
    pub fn through(&mut self, matrix: &'a dyn MatrixPattern, transposed: bool, operand: &Reads<'_>) {
        self.all |= operand.all || !operand.through.is_empty();
        let through = RowsRead { matrix, transposed: transposed && !matrix.is_symmetric() };
        if operand.own && !self.through.iter().any(|other| other.same_rows(&through)) {
            self.through.push(through);
        }
    }

    /// Whether the expression reads nothing of the state.
    pub fn is_nothing(&self) -> bool {
        !(self.own || self.all) && self.through.is_empty()
    }

    /// Whether it reads the element of the same index.
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// Whether it reads the element of the same index at most.
    pub fn is_at_most_own(&self) -> bool {
        !self.all && self.through.is_empty()
    }

    /// Whether it may read any element.
    pub fn is_everything(&self) -> bool {
        self.all
    }

    /// The matrices through which it reads other elements, each once.
    pub fn matrices(&self) -> &[RowsRead<'a>] {
        &self.through
    }
}

/// A matrix through which a product reads the state, with rows by the operand's index.
#[derive(Debug, Clone, Copy)]
pub struct RowsRead<'a> {
    matrix: &'a dyn MatrixPattern,
    transposed: bool,
}

impl<'a> RowsRead<'a> {
    /// Whether both are the same rows.
    fn same_rows(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self.matrix, other.matrix) && self.transposed == other.transposed
    }

    /// The readers of each element: the offsets and columns of the rows. The columns between offsets `i` and `i + 1`
    /// read element `i`.
    ///
    /// # Panics
    /// The matrix lies on a device that is lost.
    pub fn rows(&self) -> (&'a [u64], &'a [u32]) {
        self.matrix.pattern_rows(self.transposed)
    }

    /// The same rows, if they need not be made.
    pub fn known_rows(&self) -> Option<(&'a [u64], &'a [u32])> {
        self.matrix.known_pattern_rows(self.transposed)
    }

    /// The number of a rank's share by the rows of the product, and its slots among peers; `None` if a rank can't have them. All ranks call this.
    ///
    /// # Errors
    /// The device has too little memory, or is lost. Another rank has failed.
    pub(crate) fn peers(&self, grid: &Grid) -> Result<Option<(u64, Arc<PeerSlots>)>> {
        self.matrix.peers(grid, !self.transposed)
    }

    /// The same rows on a GPU.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn rows_on(&self, gpu: &Gpu) -> Result<DeviceRows> {
        self.matrix.pattern_rows_on(gpu, self.transposed)
    }
}

/// The addresses of a matrix's rows on a GPU.
#[derive(Debug)]
pub struct DeviceRows {
    /// The address of the offsets, of 64 bits each.
    pub offsets: u64,
    /// The address of the columns, of 32 bits each.
    pub columns: u64,
    /// Keeps the memory alive.
    pub held: Arc<dyn Any + Send + Sync>,
}

/// The pattern of a matrix, whatever the type of its entries.
pub trait MatrixPattern: Sync + core::fmt::Debug {
    /// The offsets and columns of its rows, or of its transpose's.
    fn pattern_rows(&self, transposed: bool) -> (&[u64], &[u32]);

    /// The same rows, if they are on the host already.
    fn known_pattern_rows(&self, transposed: bool) -> Option<(&[u64], &[u32])>;

    /// The same rows on a GPU.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    fn pattern_rows_on(&self, gpu: &Gpu, transposed: bool) -> Result<DeviceRows>;

    /// The number of a rank's share of the matrix, or of its transpose, and its slots among peers. All ranks call this.
    ///
    /// # Errors
    /// The device has too little memory, or is lost. Another rank has failed.
    #[doc(hidden)]
    fn peers(&self, grid: &Grid, transposed: bool) -> Result<Option<(u64, Arc<PeerSlots>)>>;

    /// Whether it is known to equal its transpose.
    fn is_symmetric(&self) -> bool;
}

impl<A: Element> MatrixPattern for Matrix<A> {
    fn pattern_rows(&self, transposed: bool) -> (&[u64], &[u32]) {
        let rows = if transposed && !self.is_mirrored() { self.csr_transposed() } else { self.csr() };
        (rows.offsets(), rows.columns())
    }

    fn known_pattern_rows(&self, transposed: bool) -> Option<(&[u64], &[u32])> {
        let (rows, columns) = self.known_sides();
        let rows = if transposed && !self.is_mirrored() { columns } else { rows }?;
        Some((rows.offsets(), rows.columns()))
    }

    fn pattern_rows_on(&self, gpu: &Gpu, transposed: bool) -> Result<DeviceRows> {
        let rows = if transposed && !self.is_mirrored() { self.transposed_on(gpu) } else { self.on(gpu) }?;
        let (offsets, columns) = rows.addresses();
        Ok(DeviceRows { offsets, columns, held: rows })
    }

    fn peers(&self, grid: &Grid, transposed: bool) -> Result<Option<(u64, Arc<PeerSlots>)>> {
        let (share, on_gpu) = self.share_on_gpu(grid, transposed, "fixpoint")?;
        Ok(on_gpu.peers(&share)?.map(|peers| (share.id, peers)))
    }

    fn is_symmetric(&self) -> bool {
        Matrix::is_symmetric(self)
    }
}
