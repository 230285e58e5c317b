//! Operands of a kernel: vectors, and the matrix of a product.

use crate::backend::cuda::budget::alloc_spare;
use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder, Node};
use crate::backend::cuda::{DeviceCsr, DeviceTiles, DeviceVector};
use crate::error::{Error, Result};
use std::sync::Arc;
use crate::kernels::sources;
use vxm_semiring::Element;

impl KernelBuilder {
    /// A stored vector.
    #[inline(never)]
    pub fn stored<T: Element>(&mut self, vector: &DeviceVector<T>) -> Node {
        let full = vector.bits_address() == 0;
        let t = self.element::<T>();
        let ty = self.ty("vxm::Stored", [t, full.into()]);
        self.push(vector.values_address());
        self.push(vector.bits_address());
        self.keep_alive(vector.clone());
        Node { ty, full, bits: Some(vector.bits_address()), count: vector.count.get().copied() }
    }

    /// The state of a loop, as the body reads it. The loop itself keeps it alive, because the loop also writes it.
    pub fn state<T: Element>(&mut self, vector: &DeviceVector<T>) -> Node {
        self.push(vector.values_address());
        let t = self.element::<T>();
        Node::new(self.ty("vxm::State", [t]), true)
    }

    /// Adds the words of a product's matrix, and returns the C++ type of its offsets. If `hot_columns`, these are the renumbered columns.
    /// The first product's row classes decide how the terminal distributes rows to groups of threads.
    #[inline(never)]
    pub fn rows<A: Element>(&mut self, rows: Arc<DeviceCsr<A>>, hot_columns: bool) -> CppType {
        let (offsets, ty) = rows.device_offsets();
        let renumbered = rows.hot_columns.get().and_then(Option::as_ref).filter(|_| hot_columns);
        let columns = renumbered.map_or(&*rows.columns, |hot_columns| &hot_columns.columns);
        self.words.extend([offsets, columns.address(), rows.values.address()]);
        self.classes.get_or_insert_with(|| rows.classes.clone());
        self.row_offsets.get_or_insert((offsets, ty.into(), rows.nnz() as u64));
        self.kept_alive.push(rows);
        ty.into()
    }

    /// Adds the words of rows with their weights, which no terminal folds, and returns the C++ type of their offsets.
    pub(crate) fn edges<A: Element>(&mut self, rows: Arc<DeviceCsr<A>>) -> CppType {
        let weights = rows.values.address();
        let ty = self.rest(rows);
        self.push(weights);
        ty
    }

    /// Adds the words of rows without weights, which no terminal folds, and returns the C++ type of their offsets.
    pub(crate) fn rest<A: Element>(&mut self, rows: Arc<DeviceCsr<A>>) -> CppType {
        let (offsets, ty) = rows.device_offsets();
        self.words.extend([offsets, rows.columns.address()]);
        self.kept_alive.push(rows);
        ty.into()
    }

    /// Takes the offsets of the first product since the last call: address, C++ type, and the number of entries.
    pub(crate) fn take_row_offsets(&mut self) -> Option<(u64, CppType, u64)> {
        self.row_offsets.take()
    }

    /// Adds the words of a product's tiles without their weights. Otherwise as [`rows`](Self::rows).
    #[inline(never)]
    pub fn tiles<A: Element>(&mut self, tiles: Arc<DeviceTiles<A>>) {
        self.include(sources::TILES);
        self.words.extend([tiles.offsets.address(), tiles.columns.address(), tiles.bits.address()]);
        self.classes.get_or_insert_with(|| tiles.classes.clone());
        self.kept_alive.push(tiles);
    }

    /// A full view's elements in the order of the renumbered columns of `rows`; none if the view isn't full or no columns are renumbered.
    #[inline(never)]
    pub fn gather_hot<A: Element>(&mut self, node: &Node, rows: &Arc<DeviceCsr<A>>) -> Option<Node> {
        let hot_columns = rows.hot_columns.get()?.as_ref().filter(|_| node.full)?;
        self.push(hot_columns.order.address());
        self.keep_alive(rows.clone());
        Some(Node::new(self.ty("vxm::Extract", [node.ty]), true))
    }

    /// Reserves storage for row compaction, and adds its words: a copy of `entries` columns, and the number of live entries of each of
    /// `rows` rows. All bits of a number are set until its row is compacted.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn reserve_compaction(&mut self, entries: usize, rows: usize) -> Result<()> {
        let columns = alloc_spare(&self.gpu, entries * 4, rows)?;
        let mut live_counts = self.gpu.alloc(rows * 4)?;
        live_counts.fill(u8::MAX)?;
        self.include(sources::ROW_COMPACTION);
        self.words.extend([columns.address(), live_counts.address()]);
        self.keep_alive([columns, live_counts]);
        Ok(())
    }

    /// Whether rows of the tracked product are compacted.
    pub(crate) fn compacts_rows(&self) -> bool {
        self.library.contains(&sources::ROW_COMPACTION)
    }

    /// Samples whether neighbouring entries of `rows` read elements that lie far apart, and notes it for a loop's configuration. Only
    /// uniform rows that aren't short are sampled; for others it makes no difference.
    ///
    /// # Errors
    /// The device is lost.
    #[inline(never)]
    pub fn note_locality<A: Element>(&mut self, rows: &DeviceCsr<A>) -> Result<()> {
        let stats = rows.classes.stats();
        if self.resident && !self.in_auxiliary && stats.uniform && stats.is_long() {
            self.scattered = match rows.scattered() {
                // without the sample the loop is only slower: too little memory is no reason to fail
                Err(Error::Device(crate::kernels::Error::DeviceMemory { .. })) => false,
                found => found?,
            };
        }
        Ok(())
    }
}
