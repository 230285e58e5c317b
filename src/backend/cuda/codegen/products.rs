//! The products of a kernel: which is primary, which has its blockers tracked, and how rows are then distributed to threads.

use crate::backend::cuda::codegen::builder::{Binned, BlockingProduct, CppType, KernelBuilder, Node, PrimaryProduct};
use crate::backend::cuda::layout::row_classes::Classes;
use crate::backend::tuning::{self, LoopConfig, LoopShape, RowStats};
use crate::error::Result;
use crate::formats::bitmap::words;
use std::sync::Arc;
use crate::kernels::sources;

impl KernelBuilder {
    /// Counts a product.
    pub fn count_product(&mut self) {
        self.products.count += 1;
    }

    /// Makes a product of type `ty`, with its words from number `at` on, the primary one: its rows may be staged.
    pub fn set_primary(&mut self, ty: CppType, at: usize) {
        self.products.primary = Some(PrimaryProduct { ty, at, over_tiles: None });
    }

    /// Makes a product over tiles, with its words from number `at` on, the primary one: its rows may be counted over tiles, by 1-bit matrix
    /// units if `bits`.
    pub fn set_primary_over_tiles(&mut self, ty: CppType, at: usize, bits: bool) {
        let over_tiles = Some(if bits { "vxm::TileRowMultiplying" } else { "vxm::TileRowCounting" });
        self.products.primary = Some(PrimaryProduct { ty, at, over_tiles });
    }

    /// Whether the loop can keep a presence bitmap: it has one at most.
    pub(crate) fn may_keep_presence(&self) -> bool {
        self.has_steps && self.presence.is_none()
    }

    /// Lets the loop keep the presence bitmap of `operand`, a view of `n` elements with its words from number `at` on. Returns the bitmap's
    /// address.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub(crate) fn keep_presence(&mut self, operand: &Node, at: usize, n: usize) -> Result<u64> {
        let bits = self.gpu.alloc(words(n) * 8)?;
        let address = bits.address();
        let mut moved = self.words.split_off(at);
        moved.push(address);
        self.keep_alive(bits);
        self.presence = Some((self.ty("vxm::Presence", [operand.ty]), moved));
        Ok(address)
    }

    /// Takes the presence bitmap that the loop keeps: its C++ type. Its words are added behind the others.
    pub(crate) fn take_presence(&mut self) -> Option<CppType> {
        let (ty, mut words) = self.presence.take()?;
        self.words.append(&mut words);
        Some(ty)
    }

    /// Notes a product of type `ty`, with its words from number `at` on, that a loop counts for a warp's rows together.
    pub(crate) fn set_counted(&mut self, ty: CppType, at: usize) {
        self.include(sources::BIT_TENSOR);
        self.counted = Some((ty, at));
    }

    /// The type of a step with the view `ty`, which has the product that was noted last, if any.
    pub(crate) fn step_type(&mut self, ty: CppType) -> CppType {
        match self.counted.take() {
            Some((product, at)) => self.ty("vxm::CountedStep", [ty, product, at.into()]),
            None => ty,
        }
    }

    /// Lets propagation blocking compute the primary product.
    pub fn set_binned(&mut self, binned: Binned) {
        self.binned = Some(Box::new(binned));
    }

    /// Tracks the blockers of a product of type `ty`, with its words from number `at` on. Then a loop remembers one or two entries that
    /// block a row, and reads no other entry of the row while they block. `prefilters` says that entries are filtered by key.
    ///
    /// This has an effect only if the kernel has no other product.
    pub fn track_blockers(&mut self, ty: CppType, at: usize, prefilters: bool) {
        self.products.blocking = Some(BlockingProduct { ty, at, prefilters });
    }

    /// Notes that a visit may skip a part of the view.
    pub fn note_skippable(&mut self) {
        self.products.skippable = true;
    }

    /// Notes that a mask leaves out some indices of the result.
    pub fn note_masked(&mut self) {
        self.products.masked = true;
    }

    /// Whether a mask leaves out some indices of the result.
    pub fn is_masked(&self) -> bool {
        self.products.masked
    }

    /// Emits a mask. A visit may evaluate a mask twice, so the blockers of products in it can't be tracked.
    ///
    /// # Errors
    /// Those of `emit`.
    pub fn emit_mask(&mut self, emit: impl FnOnce(&mut Self) -> Result<Node>) -> Result<Node> {
        let before = std::mem::replace(&mut self.in_mask, true);
        let node = emit(self);
        self.in_mask = before;
        node
    }

    /// Whether a mask is being emitted.
    pub fn in_mask(&self) -> bool {
        self.in_mask
    }

    /// Emits the body of a loop's first round. Its products are neither primary nor tracked: those of the main body stay so.
    ///
    /// # Errors
    /// Those of `emit`.
    pub fn emit_auxiliary(&mut self, emit: impl FnOnce(&mut Self) -> Result<Node>) -> Result<Node> {
        let before = self.products;
        self.in_auxiliary = true;
        let node = emit(self);
        self.products = before;
        self.in_auxiliary = false;
        node
    }

    /// Whether the body of a loop's first round is being emitted.
    pub fn in_auxiliary(&self) -> bool {
        self.in_auxiliary
    }

    /// The product with tracked blockers. A kernel tracks blockers only if it has a single product.
    pub(crate) fn blocking_product(&self) -> Option<&BlockingProduct> {
        self.products.blocking.as_ref().filter(|_| self.products.count == 1)
    }

    /// Whether the tracked product's entries are filtered by key before the first visit. They are not if a visit may skip the product,
    /// because a row that skips it has no blocker.
    pub(crate) fn prefilters(&self) -> bool {
        !self.products.skippable && self.blocking_product().is_some_and(|product| product.prefilters)
    }

    /// The shape of the rows of the first product.
    pub(super) fn row_stats(&self) -> RowStats {
        let stats = self.classes.as_deref().map_or(RowStats::UNKNOWN, Classes::stats);
        RowStats { scattered: self.scattered, ..stats }
    }

    /// The configuration of a loop over the view emitted so far.
    pub(crate) fn loop_config(&self) -> LoopConfig {
        let shape = LoopShape { blocks: self.blocking_product().is_some(), prefilters: self.prefilters() };
        tuning::loop_config(&self.row_stats(), shape, self.gpu().multiprocessors())
    }

    /// Sets the number of blocks per multiprocessor that a loop's kernel is compiled for; none for the default.
    pub(crate) fn set_blocks(&mut self, blocks: Option<u32>) {
        self.blocks = blocks;
    }

    /// Sets the number of threads of a block that a loop's kernel is compiled for.
    pub(crate) fn set_block_threads(&mut self, threads: u32) {
        self.block_threads = Some(threads);
    }

    /// Whether a product has already decided how rows are distributed to threads.
    pub fn has_primary(&self) -> bool {
        self.classes.is_some()
    }

    /// The row classes of the first product.
    pub(crate) fn classes(&self) -> Option<Arc<Classes>> {
        self.classes.clone()
    }

    /// The primary product, if all of its rows are wanted.
    pub(crate) fn unmasked_primary(&self) -> Option<&PrimaryProduct> {
        self.products.primary.as_ref().filter(|_| !self.products.masked)
    }

    /// Takes what the primary product needs for propagation blocking, if it has that and all of its rows are wanted.
    pub(crate) fn take_binned(&mut self) -> Option<(PrimaryProduct, Binned)> {
        let primary = *self.unmasked_primary()?;
        Some((primary, *self.binned.take()?))
    }

    /// The primary product, if its short rows are staged. Over tiles: if all of its rows are counted by one kernel, as uniform rows are.
    pub(crate) fn staged(&self) -> Option<&PrimaryProduct> {
        let classes = self.classes.as_deref()?;
        self.unmasked_primary().filter(|primary| match primary.over_tiles.is_some() {
            true => classes.uniform_class.is_some(),
            false => classes.pays_to_stage(),
        })
    }

    /// An upper bound of the number of entries of the primary product's rows, if all of them are so short that a thread needs no loop.
    pub(crate) fn few_entries_bound(&self) -> Option<usize> {
        let longest = self.classes.as_deref().filter(|_| self.unmasked_primary().is_some())?.longest;
        tuning::few_entries(longest)
    }

    /// Whether all staged rows are short and have few entries.
    pub(super) fn staged_are_few(&self) -> bool {
        tuning::staged_are_few(&self.row_stats())
    }

    /// Whether the first kernel that is launched visits all indices.
    pub(crate) fn first_visits_all(&self) -> bool {
        let binned = self.binned.is_some() && self.unmasked_primary().is_some();
        let is_uniform = || self.classes.as_deref().is_none_or(|classes| classes.uniform_class.is_some());
        !binned && (self.staged().is_some() || is_uniform())
    }
}
